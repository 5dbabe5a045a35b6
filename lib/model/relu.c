/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/relu.h"

#include "lib/hot.h"

ISO_HOT void iso_relu(float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] > 0 ? values[i] : 0;
}

ISO_HOT void iso_relu_backward(const float *restrict values, float *restrict residuals,
			       size_t count)
{
	for (size_t i = 0; i < count; i++)
		residuals[i] = values[i] > 0 ? residuals[i] : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/probe.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Products with the Hessian: of images, where one eigenvalue stands out, three are enough. */
#define PROBES 6u

/* What the curvature may grow by on the way. */
#define MARGIN 2.0

/* Of a step of gradient descent: small, and yet far above the rounding of floats. */
#define LENGTH 0.01

int probe_open(uint32_t params, double bound, struct probe *ret_probe)
{
	struct probe probe = {
		.params = params,
		.bound = bound,
		.base = calloc(params, sizeof(double)),
		.point = calloc(params, sizeof(double)),
		.left = PROBES,
	};

	assert(bound > 0);
	if (probe.base == NULL || probe.point == NULL) {
		probe_close(&probe);
		return -ENOMEM;
	}
	*ret_probe = probe;
	return 0;
}

void probe_close(struct probe *probe)
{
	free(probe->base);
	free(probe->point);
	*probe = (struct probe){ 0 };
}

static double norm(const double *vector, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += vector[i] * vector[i];
	return sqrt(sum);
}

static const double *end(struct probe *probe)
{
	probe->is_done = true;
	return NULL;
}

/* point = y + length * direction / |direction|; direction is in point. */
static const double *aim(struct probe *probe)
{
	double size = norm(probe->point, probe->params);

	if (!(size > 0) || !isfinite(size))
		return end(probe);
	for (uint32_t i = 0; i < probe->params; i++)
		probe->point[i] = probe->y[i] + probe->length / size * probe->point[i];
	return probe->point;
}

const double *probe_begin(struct probe *probe, const double *y, const double *gradient, double loss)
{
	assert(!probe->is_done);
	probe->y = y;
	probe->base_loss = loss;
	memcpy(probe->base, gradient, probe->params * sizeof(*gradient));
	memcpy(probe->point, gradient, probe->params * sizeof(*gradient));
	probe->length = LENGTH * norm(gradient, probe->params) / probe->bound;
	return probe->length > 0 && isfinite(probe->length) ? aim(probe) : end(probe);
}

const double *probe_next(struct probe *probe, const double *gradient)
{
	assert(probe->left > 0);
	for (uint32_t i = 0; i < probe->params; i++)
		probe->point[i] = gradient[i] - probe->base[i];
	probe->largest = fmax(probe->largest, norm(probe->point, probe->params) / probe->length);
	return --probe->left > 0 ? aim(probe) : end(probe);
}

double probe_curvature(const struct probe *probe)
{
	double curvature = MARGIN * probe->largest;

	assert(probe->is_done);
	/* What was not found, or cannot be. */
	return curvature > 0 && curvature < probe->bound ? curvature : probe->bound;
}

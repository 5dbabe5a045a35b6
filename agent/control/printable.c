/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/printable.h"

#include <stdbool.h>

/* Jansson's strings are UTF-8 without surrogates: C1 is 0xc2 0x80 to 0xc2 0x9f. */
static bool is_control(const unsigned char *at)
{
	return *at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

const char *printable(const json_t *string)
{
	const char *value = json_string_value(string);

	if (value == NULL)
		return NULL;
	for (const char *p = value; *p != '\0'; p++)
		if (is_control((const unsigned char *)p))
			return "(unprintable)";
	return value;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/confplace.h"

#include <errno.h>

int confplace_line(const struct confplace *place, const char *section, const char *option)
{
	return confutil_line(place->schema, place->lines, section, option);
}

int confplace_at_line(const struct confplace *place, int line)
{
	if (line > 0)
		error_wrap(place->reterr, "line %d", line);
	error_wrap(place->reterr, "%s", place->name);
	return -EINVAL;
}

int confplace_at_option(const struct confplace *place, const char *section, const char *option)
{
	return confplace_at_line(place, confplace_line(place, section, option));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>

#include "agent/conf/confcheck.h"

/*
 * How far neighbours are trusted.  What is safe depends on the neighbour's endowment and
 * on how many others trust it, which this node cannot know: so there is no default, and
 * whoever writes the configuration decides.
 */

uint64_t conf_limit_ucpu(const struct conf *conf, uint64_t id)
{
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		if (conf->neighbours[i].id == id && conf->neighbours[i].limit_ucpu != 0)
			return conf->neighbours[i].limit_ucpu;
	return conf->trading.limit_ucpu;
}

int confcheck_limits(struct confcheck *check)
{
	const struct conf *conf = check->conf;

	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		const struct conf_neighbour *neighbour = &conf->neighbours[i];

		if (conf_limit_ucpu(conf, neighbour->id) != 0)
			continue;
		error_set(check->place.reterr, -EINVAL,
			  "neighbour %s: limit is set neither here nor in section trading: write "
			  "its endowment less its floor, divided by the number of its neighbours, "
			  "or none to trust it as this host itself",
			  neighbour->name);
		return confplace_at_line(&check->place, neighbour->line);
	}
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/train_world.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/confutil.h"
#include "lib/ata/score.h"

/* Some ten million times. */
#define TRACE_MIB_MAX 256

static enum iso_law_kind kind_of(int law)
{
	switch ((enum scenario_law)law) {
	case SCENARIO_CONSTANT: return ISO_LAW_CONSTANT;
	case SCENARIO_EXPONENTIAL:
	case SCENARIO_SHIFTED_EXPONENTIAL: return ISO_LAW_EXPONENTIAL;
	case SCENARIO_UNIFORM: return ISO_LAW_UNIFORM;
	case SCENARIO_HALF_NORMAL: return ISO_LAW_HALF_NORMAL;
	case SCENARIO_LOGNORMAL: return ISO_LAW_LOGNORMAL;
	case SCENARIO_GAMMA: return ISO_LAW_GAMMA;
	case SCENARIO_TRACE: return ISO_LAW_TRACE;
	case SCENARIO_MIXED: break;
	}
	return ISO_LAW_CONSTANT;
}

/* A shifted exponential is half fixed unless it is said otherwise, as in ATA. */
static double shift_of(int law, double shift)
{
	return law == SCENARIO_SHIFTED_EXPONENTIAL && shift == 0 ? 1 : shift;
}

static int parse_trace(char *text, double *times, uint32_t *ret_count, struct error *reterr)
{
	uint32_t count = 0;
	int line = 1;

	for (char *next; text != NULL; text = next, line++) {
		next = strchr(text, '\n');
		if (next != NULL)
			*next++ = '\0';
		text[strcspn(text, "#")] = '\0';
		char *end;
		double time = strtod(text, &end);
		bool empty = end == text;
		while (isspace((unsigned char)*end))
			end++;
		if (*end != '\0' || (!empty && !iso_ata_time_valid(time)))
			return error_set(reterr, -EINVAL,
					 "line %d: '%.40s' is no time; expected one number "
					 "from %g to %g a line",
					 line, text, ISO_ATA_TIME_MIN, ISO_ATA_TIME_MAX);
		if (!empty)
			times[count++] = time;
	}
	if (count == 0)
		return error_set(reterr, -EINVAL, "no times in it");
	*ret_count = count;
	return 0;
}

int train_trace_read(const char *path, double **ret_times, uint32_t *ret_count,
		     struct error *reterr)
{
	char *text;
	int r = confutil_read_text(path, TRACE_MIB_MAX, &text, reterr);

	if (r < 0)
		return r;
	/* At most one number for two characters. */
	double *times = calloc(strlen(text) / 2 + 1, sizeof(*times));
	if (times == NULL)
		r = error_errno(reterr, -ENOMEM, "%s", path);
	else
		r = parse_trace(text, times, ret_count, reterr);
	free(text);
	if (r < 0) {
		free(times);
		return error_wrap(reterr, "%s", path);
	}
	*ret_times = times;
	return 0;
}

/* Beside the scenario, unless the path is absolute; kept in place. */
static int open_trace(struct train_world *world, size_t place, const char *trace,
		      struct iso_law *law, struct error *reterr)
{
	const char *slash = strrchr(world->scenario->path, '/');
	char path[PATH_MAX];
	int folder = slash != NULL ? (int)(slash + 1 - world->scenario->path) : 0;
	int length = snprintf(path, sizeof(path), "%.*s%s", trace[0] == '/' ? 0 : folder,
			      world->scenario->path, trace);

	if (length >= (int)sizeof(path))
		return error_set(reterr, -ENAMETOOLONG, "%s: path is too long", trace);
	int r = train_trace_read(path, &world->traces[place], &law->trace_count, reterr);
	law->trace = world->traces[place];
	return r;
}

/*
 * Times that an allocation would ignore, as none that was ever measured, teach it
 * nothing; without one any mean that is a number will do.
 */
static int check_mean(const struct train_world *world, uint32_t w, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	double mean = world->means[w];
	bool allocated = false;

	for (unsigned c = 0; c < scenario->curve_count; c++)
		allocated |= scenario->curves[c].allocation != 0;
	if (allocated ? iso_ata_time_valid(mean) : mean > 0 && mean < HUGE_VAL)
		return 0;
	return error_set(reterr, -EINVAL, "worker %u: a mean of %g s; an allocation takes %g to %g",
			 w + 1, mean, ISO_ATA_TIME_MIN, ISO_ATA_TIME_MAX);
}

/* Workers that share a trace are each elsewhere in it. */
static void set_law(struct train_world *world, uint32_t w, const struct iso_law *law)
{
	struct iso_rng rng = { world->seed + w };

	world->laws[w] = *law;
	if (law->kind == ISO_LAW_TRACE)
		world->laws[w].trace_from = (uint32_t)iso_rng_below(&rng, law->trace_count);
}

static int make_group(struct train_world *world, unsigned g, struct error *reterr)
{
	const struct scenario_group *group = &world->scenario->groups[g];
	double shift = shift_of(group->law, group->shift);
	struct iso_law law = { .kind = ISO_LAW_TRACE, .scale = group->mean };
	uint32_t first, last;

	if (scenario_range(group->range, world->scenario->workers, &first, &last, reterr) < 0)
		return -EINVAL;
	if (group->law == SCENARIO_TRACE) {
		int r = open_trace(world, g, group->trace, &law, reterr);

		if (r < 0)
			return r;
		law.base = shift * iso_law_mean(&law);
	} else if (iso_law_of_mean(kind_of(group->law), shift * group->mean, group->mean,
				   group->shape, &law) != ISO_OK) {
		return error_set(reterr, -EINVAL, "line %d: group %s: mean and shape make no law",
				 group->line, group->range);
	}
	if (!iso_law_valid(&law))
		return error_set(reterr, -EINVAL, "line %d: group %s: mean and shift make no law",
				 group->line, group->range);
	for (uint32_t w = first; w <= last; w++)
		set_law(world, w, &law);
	return 0;
}

/* A trace for everybody, scaled as the rule says. */
static int make_traced(struct train_world *world, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	struct iso_law law = { .kind = ISO_LAW_TRACE, .scale = 1 };
	int r = open_trace(world, scenario->group_count, scenario->times.trace, &law, reterr);

	if (r < 0)
		return r;
	double mean = iso_law_mean(&law);
	for (uint32_t w = 0; w < (uint32_t)scenario->workers; w++) {
		/* The law that is there is a constant: the mean by the rule. */
		double wanted = iso_law_mean(&world->laws[w]);

		law.scale = wanted;
		law.base = scenario->times.shift * wanted * mean;
		if (!iso_law_valid(&law))
			return error_set(reterr, -EINVAL,
					 "section times: scale, power and shift give worker %u no "
					 "times",
					 w + 1);
		set_law(world, w, &law);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int make_laws(struct train_world *world, uint64_t seed, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	uint32_t n = (uint32_t)scenario->workers;
	struct iso_times_rule rule = {
		.growth =
		    scenario->times.growth == SCENARIO_GROUPS ? ISO_TIMES_GROUPS : ISO_TIMES_POWER,
		.scale = scenario->times.scale,
		.power = scenario->times.power,
		.kind = kind_of(scenario->times.law),
		.mixed = scenario->times.law == SCENARIO_MIXED,
		.shift = shift_of(scenario->times.law, scenario->times.shift),
		.shape = scenario->times.shape,
		.shuffled = scenario->times.shuffled,
		.seed = seed,
	};
	bool traced = scenario->times.law == SCENARIO_TRACE;
	uint32_t *order = calloc(n, sizeof(*order));
	enum iso_status status;
	int r = 0;

	if (order == NULL)
		return error_errno(reterr, -ENOMEM, "%u workers", n);
	if (traced) {
		rule.kind = ISO_LAW_CONSTANT;
		rule.shift = 0;
	}
	status = iso_times_fill(&rule, n, order, world->laws);
	free(order);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL,
				 "section times: scale, power, shape and law give some worker no "
				 "times");
	if (traced)
		r = make_traced(world, reterr);
	for (unsigned g = 0; g < scenario->group_count && r == 0; g++)
		r = make_group(world, g, reterr);
	for (uint32_t w = 0; w < n && r == 0; w++) {
		world->sorted[w] = world->means[w] = iso_law_mean(&world->laws[w]);
		r = check_mean(world, w, reterr);
	}
	qsort(world->sorted, n, sizeof(*world->sorted), by_value);
	return r;
}

static int make_changes(struct train_world *world, struct error *reterr)
{
	static const enum iso_speed_change_kind kinds[] = {
		[SCENARIO_SPEED] = ISO_SPEED_SPEED,
		[SCENARIO_SHARE] = ISO_SPEED_SHARE,
		[SCENARIO_LEAVE] = ISO_SPEED_LEAVE,
		[SCENARIO_JOIN] = ISO_SPEED_JOIN,
	};
	const struct scenario *scenario = world->scenario;

	for (unsigned i = 0; i < scenario->event_count; i++) {
		const struct scenario_event *event = &scenario->events[i];
		struct iso_speed_change change = { .kind = kinds[event->what],
						   .at_s = event->at,
						   .value = event->value };
		unsigned place = i;

		if (scenario_range(event->workers, scenario->workers, &change.first, &change.last,
				   reterr) < 0)
			return -EINVAL;
		/* In the order of time; those of one time as the file has them. */
		for (; place > 0 && world->changes[place - 1].at_s > change.at_s; place--)
			world->changes[place] = world->changes[place - 1];
		world->changes[place] = change;
	}
	world->change_count = scenario->event_count;
	return 0;
}

static int make_sizes(struct train_world *world, struct error *reterr)
{
	int law = world->scenario->size.law;
	double fixed = law == SCENARIO_SHIFTED_EXPONENTIAL ? 0.5 : 0;

	if (law == SCENARIO_CONSTANT)
		return 0;
	if (iso_law_of_mean(kind_of(law), fixed, 1 - fixed, world->scenario->size.shape,
			    &world->size) != ISO_OK)
		return error_set(reterr, -EINVAL,
				 "section size: no such law of mean 1; set its shape");
	return 0;
}

static int fill_world(struct train_world *world, struct error *reterr)
{
	const struct scenario *scenario = world->scenario;
	size_t n = (size_t)scenario->workers;
	struct iso_rng rng = { world->seed };
	uint64_t shuffle_seed = iso_rng_next(&rng);
	int r;

	world->times_seed = iso_rng_next(&rng);
	world->speeds_seed = iso_rng_next(&rng);
	world->strategy_seed = iso_rng_next(&rng);
	world->prior_seed = iso_rng_next(&rng);
	world->laws = calloc(n, sizeof(*world->laws));
	world->means = calloc(n, sizeof(*world->means));
	world->sorted = calloc(n, sizeof(*world->sorted));
	world->changes = calloc(scenario->event_count + 1, sizeof(*world->changes));
	world->traces = calloc(scenario->group_count + 1, sizeof(*world->traces));
	if (world->laws == NULL || world->means == NULL || world->sorted == NULL ||
	    world->changes == NULL || world->traces == NULL)
		return error_errno(reterr, -ENOMEM, "%zu workers", n);
	r = make_sizes(world, reterr);
	if (r == 0)
		r = make_laws(world, shuffle_seed, reterr);
	if (r == 0)
		r = make_changes(world, reterr);
	if (r == 0)
		r = train_problem_open(scenario, world->seed, &world->problem, reterr);
	return r;
}

int train_open(const struct scenario *scenario, uint64_t seed, struct train_world **ret_world,
	       struct error *reterr)
{
	struct train_world *world = calloc(1, sizeof(*world));
	int r;

	if (world == NULL)
		return error_errno(reterr, -ENOMEM, "%s", scenario->path);
	world->scenario = scenario;
	world->seed = seed;
	r = fill_world(world, reterr);
	if (r < 0) {
		train_close(world);
		return error_wrap(reterr, "%s", scenario->path);
	}
	*ret_world = world;
	return 0;
}

struct train_world *train_close(struct train_world *world)
{
	if (world == NULL)
		return NULL;
	for (unsigned i = 0; world->traces != NULL && i <= world->scenario->group_count; i++)
		free(world->traces[i]);
	train_problem_close(&world->problem);
	free(world->traces);
	free(world->changes);
	free(world->means);
	free(world->sorted);
	free(world->laws);
	free(world);
	return NULL;
}

const struct iso_law *train_laws(const struct train_world *world)
{
	return world->laws;
}

const double *train_means(const struct train_world *world)
{
	return world->means;
}

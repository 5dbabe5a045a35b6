/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_COURSE_H
#define ISO_TESTS_COURSE_H

#include <check.h>

#include "tests/system/crew.h"

/*
 * A training run with a crew, watched: whatever the coordinator answers must
 * account for every gradient.
 */

#define COURSE_BATCH	  16
#define COURSE_SHARE_UCPU 1000000u

/* Every method and allocation there is. */
struct combination {
	const char *name;
	const char *training;	/* what section training says of it */
	const char *allocation; /* section allocation */
	unsigned extra;		/* tasks that may start in a round besides the batch */
	double delay_max;	/* that a gradient may have; 0: any */
	bool knows_means;	/* before the first task: by a profile */
	bool allots;		/* no more than the batch, and the extra, start in a round */
	bool leaves_out;	/* may leave a worker without work for good */
};
extern const struct combination course_combinations[];
extern const int course_combinations_count;

struct course {
	const struct combination *combination;
	struct crew crew;
};

/*
 * Tests that each have this course to themselves, with its folder and groups;
 * the whole program is skipped where there can be none.
 */
extern struct course course_shared;
TCase *course_tcase_create(const char *name);

/* Writes the configuration for the combination, and `more` in section training. */
void course_configure(struct course *course, int combination, const char *more);

/* Method minibatch with this strategy, which learns into that profile or goes by it. */
void course_configure_allocation(struct course *course, const char *strategy,
				 const char *profile_path);

/* The coordinator's status, checked; the caller owns it. */
json_t *course_look(struct course *course);
/* The same for its last word: ends it and reads its report. */
json_t *course_end(struct course *course);

/* Numbers of a status; one that is not there fails the test. */
double course_number(const json_t *object, const char *key);
const json_t *course_worker(const json_t *status, unsigned index);
/* Gradients that x has moved by. */
double course_used(const json_t *status);

/* Waits until so many more gradients have been used: nothing hangs. */
void course_goes_on(struct course *course, double gradients, const char *when);

/* Tasks that the coordinator has taken from this worker; waits until they are more than that. */
double course_tasks(struct course *course, unsigned index);
void course_takes_part(struct course *course, unsigned index, double before);

/* The loss has fallen. */
void course_check_learnt(const json_t *report);

#endif

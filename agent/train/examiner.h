/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_EXAMINER_H
#define ISO_EXAMINER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * The coordinator's end of agent/train/exam.h: a child process that knows a
 * user's task, asked for first parameters and evaluations.  It may crash, hang or
 * lie; then it is ended, that is logged, and another one starts at the next question,
 * after a pause that doubles; after EXAMINER_FAILURES_MAX in a row none does.
 * Training goes on without.
 */
struct examiner;

#define EXAMINER_FAILURES_MAX 5u

struct examiner_config {
	const char *executable; /* isobar-worker; all are borrowed until examiner_close() */
	const char *task;	/* the shared object */
	const char *data;	/* of whose test set it evaluates */
	uint64_t limit_ns;	/* CPU time of one call of the task */
};

/* Starts the child and waits until it knows the task. */
int examiner_open(const struct examiner_config *config, struct examiner **ret_examiner,
		  struct error *reterr);
/* Ends the child.  Takes NULL; returns NULL. */
struct examiner *examiner_close(struct examiner *examiner);

uint32_t examiner_params(const struct examiner *examiner);
uint64_t examiner_checksum(const struct examiner *examiner);
const char *examiner_name(const struct examiner *examiner);

/* The first parameters; waits for them.  Checked to be finite. */
int examiner_init(struct examiner *examiner, uint64_t seed, float *ret_params,
		  struct error *reterr);

/* Asks for an evaluation of a copy of these parameters; false: not now. */
bool examiner_start(struct examiner *examiner, const float *params, uint64_t now_ns);

enum examiner_answer {
	EXAMINER_BUSY = 1, /* ask again at examiner_wake_ns() */
	EXAMINER_DONE,
	EXAMINER_FAILED, /* this evaluation will not come */
};
enum examiner_answer examiner_poll(struct examiner *examiner, uint64_t now_ns, double *ret_loss,
				   double *ret_accuracy);

/* When to poll. */
uint64_t examiner_wake_ns(const struct examiner *examiner, uint64_t now_ns);

/* Waits up to wait_ms for an answer; then poll. */
void examiner_wait(const struct examiner *examiner, int wait_ms);

/* "running", "failed: WHY", "given up: WHY"; valid until the next call. */
const char *examiner_state(struct examiner *examiner);

#endif

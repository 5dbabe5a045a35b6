/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISOBAR_TASK_H
#define ISOBAR_TASK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A training task of your own: a shared object that defines `isobar_task`, as
 * isobar-task(3) explains.  isobar-worker loads it and calls it in place of a
 * built-in model; a crash or an endless loop in it ends that worker only.
 *
 * The layout below never changes for one number of ISOBAR_TASK_ABI.  A later
 * isobar may know more numbers, and may append fields to the shape.
 */
#define ISOBAR_TASK_ABI 1u

/* Samples in one call of gradient() or loss() at most; a mini-batch comes in such pieces. */
#define ISOBAR_TASK_SAMPLES_MAX 256u

/* Parameters at most. */
#define ISOBAR_TASK_PARAMS_MAX (16u * 1024 * 1024)

/* What the data look like; the same in all calls of one run. */
struct isobar_task_shape {
	uint32_t features; /* floats of one sample, >= 1 */
	uint32_t classes;  /* targets are 0 .. classes - 1; 0: targets are values */
};

/*
 * Rules for all functions: the same arguments give the same result, on every
 * machine and at every call, since a task may be computed again elsewhere;
 * gradient() and loss() are called by several threads at once, each with its own
 * workspace and results, so nothing may be kept between calls; nothing but the
 * results and the workspace is written; no thread is started, no signal handled,
 * nothing waited for.
 */
struct isobar_task {
	uint32_t abi;	  /* ISOBAR_TASK_ABI */
	const char *name; /* for messages: printable, at most 63 characters */

	/*
	 * Whether the task can learn from such data: 0, or anything else and
	 * why in text, a string of less than text_bytes.
	 */
	int (*check)(const struct isobar_task_shape *shape, char *text, size_t text_bytes);

	/* Number of parameters, 1 .. ISOBAR_TASK_PARAMS_MAX. */
	uint32_t (*params)(const struct isobar_task_shape *shape);

	/* Where training starts: fills params[params()]. */
	void (*init)(const struct isobar_task_shape *shape, uint64_t seed, float *params);

	/*
	 * Bytes of scratch memory for a call with at most `count` samples.
	 * NULL: none is needed; workspace below is then NULL.
	 */
	size_t (*workspace)(const struct isobar_task_shape *shape, uint32_t count);

	/*
	 * x[count][features], y[count] targets, 1 <= count <= ISOBAR_TASK_SAMPLES_MAX.
	 * Returns the mean loss of these samples, any penalty included, and fills
	 * gradient[params()] with its gradient.  Both must be finite.  The workspace
	 * is aligned to 64 bytes and holds whatever the last call left in it.
	 */
	double (*gradient)(const struct isobar_task_shape *shape, const float *params,
			   const float *x, const float *y, uint32_t count, void *workspace,
			   float *gradient);

	/*
	 * The mean loss of these samples without penalty, for the test set;
	 * *ret_correct counts those that were predicted right (0 where that has no
	 * meaning).
	 */
	double (*loss)(const struct isobar_task_shape *shape, const float *params, const float *x,
		       const float *y, uint32_t count, void *workspace, uint32_t *ret_correct);
};

/* The one symbol that the shared object must export. */
extern const struct isobar_task isobar_task __attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif

#endif

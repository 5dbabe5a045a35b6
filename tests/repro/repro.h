/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REPRO_H
#define ISO_REPRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/gnuplot.h"

/*
 * An experiment of a paper, run again with the code that isobar ships.  It is a
 * program: one file that defines `repro_experiment`, and its name in local.mk.
 *
 * Without options it runs its short form and speaks TAP, a line a row, for
 * `make check`.  --full is the whole of it, as a table; --json FILE adds the
 * rows to an array of {name, published, ours, ratio, tolerance, met};
 * --figures DIRECTORY draws.  Exit status 1: a row is not met of which that is not known.
 */
struct repro;

struct repro_experiment {
	const char *name;  /* before the name of each row and figure */
	const char *about; /* paper, section, and what is compared: one line */
	void (*run)(struct repro *repro);
};

extern const struct repro_experiment repro_experiment;

/* false: seconds only, for `make check`. */
bool repro_full(const struct repro *repro);

/* ISO_SEED, else a fixed one. */
uint64_t repro_seed(const struct repro *repro);

/*
 * A row: met if neither ours / published nor published / ours is above
 * 1 + tolerance.  So 0.01 is one per cent, and 9 one order of magnitude.
 * Both are positive; ours may be NaN or infinite, which is not met.
 */
__attribute__((format(printf, 5, 6))) void repro_row(struct repro *repro, double published,
						     double ours, double tolerance,
						     const char *name, ...);

/* Rows with a bound instead: met if ours <= bound, or >= bound.  The name says which. */
__attribute__((format(printf, 4, 5))) void repro_at_most(struct repro *repro, double bound,
							 double ours, const char *name, ...);
__attribute__((format(printf, 4, 5))) void repro_at_least(struct repro *repro, double bound,
							  double ours, const char *name, ...);

/*
 * The next row is a claim that is known not to be met, and README.md says why: it is shown and
 * counted as what it is, and does not end `make repro` with a failure.
 */
void repro_known_unmet(struct repro *repro);

/*
 * A row that is shown and not judged: what is published is of other data, which cannot be had.
 * Its tolerance and `met` are null in the JSON; a TAP line is not printed for it.
 */
__attribute__((format(printf, 4, 5))) void repro_unlike(struct repro *repro, double published,
							double ours, const char *name, ...);

/* A line that is shown and not judged. */
__attribute__((format(printf, 2, 3))) void repro_note(struct repro *repro, const char *text, ...);

/*
 * work(index, part of `parts`, result) for each of count parts, in a process
 * each, as many at a time as there are CPUs, in order: so put the long ones
 * first.  results: count times `size` bytes, zero at the start of each.  A part
 * that fails (ends otherwise than by returning) ends the experiment with exit
 * status 99.
 */
typedef void repro_work_fn(const void *part, void *result);
void repro_each(struct repro *repro, repro_work_fn *work, const void *parts, size_t part_size,
		size_t count, void *results, size_t result_size);

/* Draws DIRECTORY/<experiment>[-suffix].svg with --figures; a failure is said, and is one row. */
void repro_draw(struct repro *repro, const char *suffix, const char *title,
		const struct chart *charts, size_t count, size_t columns);

/* For what is no row but must hold: prints the text and exits with status 99. */
__attribute__((format(printf, 1, 2))) _Noreturn void repro_die(const char *text, ...);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_OPTION_H
#define ISO_SIM_OPTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Values of the options of isobar-sim.  Each says on standard error what is wrong
 * with `text` and returns false, or returns true and sets *ret.  option: without dashes.
 */

/* "'TEXT' is no WANT"; returns false. */
bool option_refuse(const char *option, const char *text, const char *want);

/* One of count names, as its place from 0. */
bool option_name(const char *option, const char *text, const char *const names[], int count,
		 int *ret_index);

/* Both ends included. */
bool option_real(const char *option, const char *text, double low, double high, double *ret);
bool option_number(const char *option, const char *text, uint64_t low, uint64_t high,
		   uint64_t *ret);

/* Calls fn for each part between commas, until one is refused. */
typedef bool option_part_fn(void *context, const char *part);
bool option_parts(const char *option, const char *text, option_part_fn *fn, void *context);

#endif

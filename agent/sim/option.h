/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_OPTION_H
#define ISO_SIM_OPTION_H

#include <getopt.h>
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
bool option_small(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *ret);

/* A path that a drawing can have, of --plot. */
bool option_plot(const char *text, const char **ret);

/* Calls fn for each part between commas, until one is refused. */
typedef bool option_part_fn(void *context, const char *part);
bool option_parts(const char *option, const char *text, option_part_fn *fn, void *context);

/*
 * Gives each option of a command to fn, until one is refused; arguments begin at optind
 * then.  argv[0] is the command's name, and is replaced by the program's.
 */
typedef bool option_fn(void *context, int option, const char *text);
bool option_read(int argc, char **argv, const struct option *options, option_fn *fn,
		 void *context);
/* Likewise of a command that takes no arguments. */
bool option_read_all(int argc, char **argv, const struct option *options, option_fn *fn,
		     void *context);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TEST_H
#define ISO_TEST_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/rng.h"
#include "lib/status.h"

/* The suite of one test program; test.c has the only main(). */
Suite *test_suite(void);

/*
 * Property tests: run the body for many seeds.  A failure prints the seed;
 * ISO_SEED=n ISO_RUNS=1 replays it, ISO_RUNS=n sets how many are tried.
 */
uint64_t test_seed_base(void);
int test_runs(int otherwise);

/* Ends the program as one skipped TAP test, saying why. */
_Noreturn void test_skip_all(const char *why);

/*
 * One test as skipped, from inside it: what could not be judged has not passed.  Check
 * knows no such thing, so a suite that does this says so while it is made.
 */
void test_may_skip(void);
void test_skip(const char *why);

/* A zombie is gone: whoever has to reap it may be stopped, or reap no orphans. */
bool test_is_there(pid_t pid);

#define ck_assert_ok(status) ck_assert_int_eq((status), ISO_OK)

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t test_seed_base(void)
{
	const char *text = getenv("ISO_SEED");

	return text != NULL ? strtoull(text, NULL, 0) : 1;
}

int test_runs(int otherwise)
{
	const char *text = getenv("ISO_RUNS");

	return text != NULL ? (int)strtol(text, NULL, 10) : otherwise;
}

void test_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(EXIT_SUCCESS);
}

int main(void)
{
	SRunner *runner = srunner_create(test_suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

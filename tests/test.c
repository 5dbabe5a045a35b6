/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP_MARK "# skipped: "

static pid_t filter;

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

/* The mark goes before the line in which Check says that the test has passed. */
static void copy(FILE *in)
{
	char *line = NULL, *why = NULL;
	size_t size = 0;

	while (getline(&line, &size, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, SKIP_MARK, strlen(SKIP_MARK)) == 0) {
			free(why);
			why = strdup(line + strlen(SKIP_MARK));
		} else if (why != NULL && strncmp(line, "ok ", 3) == 0) {
			printf("%s # SKIP %s\n", line, why);
			free(why);
			why = NULL;
		} else {
			puts(line);
		}
		fflush(stdout);
	}
	free(line);
	free(why);
}

void test_may_skip(void)
{
	int ends[2];

	fflush(stdout);
	if (pipe(ends) != 0 || (filter = fork()) < 0)
		abort();
	if (filter == 0) {
		FILE *in = fdopen(ends[0], "r");

		close(ends[1]);
		copy(in);
		fclose(in);
		_exit(EXIT_SUCCESS);
	}
	if (dup2(ends[1], STDOUT_FILENO) < 0)
		abort();
	close(ends[0]);
	close(ends[1]);
}

void test_skip(const char *why)
{
	printf(SKIP_MARK "%s\n", why);
	fflush(stdout);
}

bool test_is_there(pid_t pid)
{
	char path[64], line[512];
	const char *end;
	FILE *file;
	bool there;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	there = fgets(line, sizeof(line), file) != NULL && (end = strrchr(line, ')')) != NULL &&
		end[2] != 'Z' && end[2] != 'X';
	fclose(file);
	return there;
}

static void end_filter(void)
{
	if (filter <= 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	waitpid(filter, NULL, 0);
}

int main(void)
{
	SRunner *runner = srunner_create(test_suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	end_filter();
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/stage.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/test.h"

struct groups stage_groups;

static void open_groups(void)
{
	struct error error;

	ck_assert_msg(groups_create(&stage_groups, &error) == 0, "%s", error.text);
}

static void close_groups(void)
{
	struct error error;

	(void)groups_kill(&stage_groups);
	if (groups_remove(&stage_groups, &error) < 0)
		printf("# %s\n", error.text);
}

Suite *stage_suite_create(const char *name)
{
	struct error error;

	if (geteuid() != 0)
		test_skip_all("needs root");
	if (groups_find(&stage_groups, &error) < 0)
		test_skip_all(error.text);
	(void)groups_sweep(&stage_groups);
	return suite_create(name);
}

void stage_suite_add(Suite *suite, const char *name, int timeout_s, const TTest *test)
{
	TCase *tcase = tcase_create(name);

	/* Outside of the forked test: what it leaves when it fails is removed all the same. */
	tcase_add_unchecked_fixture(tcase, open_groups, close_groups);
	tcase_set_timeout(tcase, timeout_s);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

void stage_pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L },
		  NULL);
}

/*
 * Below those that the kernel gives to who connects: while an agent is down,
 * nobody may get its port by chance, and a connection attempt from a random
 * port must not meet itself.
 */
unsigned stage_free_port(void)
{
	static unsigned next;

	if (next == 0)
		next = 10000 + (unsigned)getpid() * 16 % 20000;
	for (unsigned tries = 0; tries < 1000; tries++, next++) {
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					       .sin_port = htons((uint16_t)next) };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int r = bind(fd, (struct sockaddr *)&address, sizeof(address));

		close(fd);
		if (r == 0)
			return next++;
	}
	ck_abort_msg("no free port");
}

const char *stage_build_path(const char *file, char ret_path[DEMO_PATH_BYTES])
{
	const char *builddir = getenv("top_builddir");

	path_join(ret_path, builddir != NULL ? builddir : ".", file);
	return ret_path;
}

unsigned stage_log_count(const char *directory, const char *words)
{
	char path[DEMO_PATH_BYTES], line[1024];
	unsigned count = 0;

	path_join(path, directory, "log");
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, words) != NULL;
	fclose(file);
	return count;
}

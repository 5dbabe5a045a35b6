/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/single.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control/control.h"
#include "agent/net/curve.h"
#include "tests/fs/group.h"
#include "tests/test.h"

struct single single;

void single_begin(const char *name)
{
	group_make("job");
	group_directory("job", single.job);
	group_write_limit("job", SINGLE_BEFORE_US, 100000);
	snprintf(single.folder, sizeof(single.folder), "/tmp/isobar-%s-XXXXXX", name);
	ck_assert_ptr_nonnull(mkdtemp(single.folder));
	snprintf(single.conf, sizeof(single.conf), "%s/conf", single.folder);
	snprintf(single.control, sizeof(single.control), "%s/run/control", single.folder);
	snprintf(single.isobard, sizeof(single.isobard), "%s/agent/isobard",
		 getenv("top_builddir"));
}

void single_end(void)
{
	char command[128];

	group_clean();
	snprintf(command, sizeof(command), "rm -rf '%s'", single.folder);
	ck_assert_int_eq(system(command), 0);
}

void single_configure(const char *more)
{
	FILE *file = fopen(single.conf, "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"cluster = lab\nnode = a\nbudget = 0.3cpu\nendowment = 0.3cpu\ncgroup = %s\n"
		"state-directory = %s/state\nrun-directory = %s/run\n"
		"trading { tick = 50ms\n fresh = 1s }\n%s",
		group_path("job"), single.folder, single.folder, more);
	ck_assert_int_eq(fclose(file), 0);
}

void single_init(const char *more)
{
	single_configure(more);
	ck_assert_int_eq(single_says("--init"), 0);
}

void single_make_keys(void)
{
	struct curve_keypair keys;
	char secret[96], public[96];

	snprintf(secret, sizeof(secret), "%s/a.key", single.folder);
	snprintf(public, sizeof(public), "%s/a.pub", single.folder);
	ck_assert_int_eq(curve_keypair_new(&keys, NULL), 0);
	ck_assert_int_eq(curve_keypair_write(&keys, secret, public, NULL), 0);
}

pid_t single_run(const char *option, int log)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (log >= 0)
			dup2(log, STDERR_FILENO);
		execl(single.isobard, "isobard", "-f", single.conf, option, (char *)NULL);
		_exit(127);
	}
	return pid;
}

int single_says(const char *option)
{
	return group_wait(single_run(option, -1));
}

json_t *single_ask(const char *command)
{
	json_t *request = json_pack("{s:s}", "command", command), *reply = NULL;

	(void)control_call(single.control, request, 2000000000u, &reply, NULL);
	json_decref(request);
	return reply;
}

json_t *single_status(pid_t agent)
{
	json_t *status;

	for (unsigned ms = 0; (status = single_ask("status")) == NULL; ms += 20) {
		ck_assert_int_eq(waitpid(agent, NULL, WNOHANG), 0);
		ck_assert_uint_lt(ms, SINGLE_PATIENCE_MS);
		usleep(20000);
	}
	return status;
}

void single_assert_limit(int64_t quota_us)
{
	group_assert_limit(single.job, quota_us, 100000);
}

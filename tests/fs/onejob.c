/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/onejob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fs/group.h"
#include "tests/test.h"

char onejob_state[32];

void onejob_begin(struct conf *ret_conf)
{
	group_clean();
	memset(ret_conf, 0, sizeof(*ret_conf));
	snprintf(onejob_state, sizeof(onejob_state), "/tmp/isobar-job-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(onejob_state));
	snprintf(ret_conf->state_directory, sizeof(ret_conf->state_directory), "%s", onejob_state);
	ret_conf->period_ns = 100000000;
	ret_conf->floor_ucpu = 10000;
	ret_conf->ceiling_ucpu = 1000000;
	ret_conf->on_exit = CONF_ON_EXIT_KEEP;
	ret_conf->trading.tick_ns = 1000000000;
	group_make("job");
}

void onejob_end(void)
{
	static const char *const saved[] = { "limit-before", "unit-before" };
	char path[64];

	group_clean();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", onejob_state, saved[i]);
		(void)unlink(path);
	}
	(void)rmdir(onejob_state);
}

struct job *onejob_open(const struct conf *conf)
{
	struct error error = { 0 };
	struct job *job = NULL;

	ck_assert_msg(job_open(conf, conf->floor_ucpu, &job, &error) == 0, "%s", error.text);
	return job;
}

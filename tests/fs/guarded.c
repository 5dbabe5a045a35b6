/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "tests/fs/group.h"
#include "tests/fs/tree.h"
#include "tests/test.h"

#define MS_NS	    1000000ull
#define SAMPLES_MAX 30000
#define PERIOD_US   100000

/*
 * Without real-time precedence, or on a machine that stands still, the guard is
 * late by what the machine is: an observer as an ordinary process measures that.
 */
#define LATE_NS (40 * MS_NS)

struct sample {
	uint64_t before_ns, after_ns; /* the reading */
	long quota_us;
};

struct guarded_shared *guarded;
struct guard_client_config guarded_config;

static struct {
	bool real;
	const char *root; /* of plain files; NULL on the host */
	char directory[PATH_MAX];
	char run[64];
	char executable[PATH_MAX];
	pid_t agents[8];
	unsigned agent_count;
	pthread_t observer;
	volatile bool observing;
	struct sample samples[SAMPLES_MAX];
	volatile unsigned sample_count;
} state;

void guarded_begin_program(void)
{
	const char *builddir = getenv("top_builddir");
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/agent/isobar-guard",
		     builddir != NULL ? builddir : ".") >= (int)sizeof(path) ||
	    realpath(path, state.executable) == NULL)
		test_skip_all("there is no agent/isobar-guard");
}

static void make_config(void)
{
	guarded_config = (struct guard_client_config){
		.executable = state.executable,
		.run_directory = state.run,
		.watchdog = "",
		.priority = 10,
		.floor_ucpu = GUARDED_FLOOR_US * 10,
		.lease_ns = GUARDED_LEASE_NS,
		.guard_ns = GUARDED_EARLY_NS,
	};
}

void guarded_start(bool real)
{
	state.real = real;
	state.agent_count = 0;
	state.sample_count = 0;
	state.root = NULL;
	if (real) {
		group_clean();
		group_make("job");
		group_directory("job", state.directory);
		group_write_limit("job", GUARDED_SHARE_US, PERIOD_US);
	} else {
		state.root = tree_start();
		tree_v2_host();
		tree_file("/sys/fs/cgroup/job/cpu.max", "30000 100000\n");
		tree_file("/sys/fs/cgroup/job/cpu.stat", "usage_usec 0\n");
		snprintf(state.directory, sizeof(state.directory), "%s/sys/fs/cgroup/job",
			 state.root);
	}
	snprintf(state.run, sizeof(state.run), "/tmp/isobar-guard-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state.run));
	guarded = mmap(NULL, sizeof(*guarded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	ck_assert_ptr_ne(guarded, MAP_FAILED);
	make_config();
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

/* Whoever holds the guard's lock in our run directory is one of ours. */
static void end_guards(void)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | "
		 "grep -q '^isobar-guard .*%s' && kill -9 ${p#/proc/}; done; :", state.run);
	ck_assert_int_eq(system(command), 0);
}

void guarded_end(void)
{
	if (state.observing)
		guarded_stop();
	for (unsigned i = 0; i < state.agent_count; i++)
		if (state.agents[i] > 0)
			guarded_kill(state.agents[i]);
	end_guards();
	(void)nftw(state.run, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (state.real)
		group_clean();
	else
		tree_end();
	(void)munmap(guarded, sizeof(*guarded));
}

const char *guarded_run_directory(void)
{
	return state.run;
}

void guarded_group_directory(char *ret_directory, size_t size)
{
	snprintf(ret_directory, size, "%s", state.directory);
}

static int open_group(const struct cgroup_writer *writer, struct cgroup **ret_cgroup,
		      struct error *error)
{
	struct cgroup_config config = {
		.root = state.root,
		.path = state.real ? group_path("job") : "/job",
		.period_us = PERIOD_US,
		.first_quota_us = GUARDED_FLOOR_US,
		.on_exit = CGROUP_KEEP,
		.writer = writer,
	};

	return cgroup_open(&config, ret_cgroup, error);
}

static void publish(struct guard_client *client, struct cgroup *cgroup)
{
	const struct guard_status *status = guard_client_status(client);

	guarded->state = (int)status->state;
	guarded->guard = status->pid;
	guarded->restarts = status->restarts;
	guarded->lowered = status->lowered;
	guarded->watchdog = (int)status->watchdog;
	guarded->watchdog_s = status->watchdog_s;
	guarded->auto_burial = status->auto_burial;
	guarded->deadline_ns = status->deadline_ns;
	guarded->drifts = (uint32_t)cgroup_drift_count(cgroup);
	memcpy(guarded->reason, status->reason, sizeof(guarded->reason));
	guarded->turns++;
}

/* As isobard goes about it, in short. */
static void turn(struct guard_client *client, struct cgroup **cgroup, uint64_t *deadline_ns)
{
	struct cgroup_limit present;
	struct error error;

	if (cgroup_state(*cgroup) == CGROUP_GONE) {
		struct cgroup *anew;

		if (open_group(guard_client_writer(client), &anew, &error) == 0) {
			cgroup_close(*cgroup);
			*cgroup = anew;
		}
	}
	if (guarded->granting)
		*deadline_ns = clock_boot_ns() + GUARDED_LEASE_NS;
	guarded->asked_ns = *deadline_ns;
	guard_client_renew(client, *deadline_ns);
	(void)cgroup_check(*cgroup, clock_now_ns(), &error);
	uint64_t wanted_us = guard_client_floor_only(client) ? GUARDED_FLOOR_US : GUARDED_SHARE_US;
	if (cgroup_read(*cgroup, &present, &error) == 0 && present.quota_us != wanted_us)
		(void)cgroup_write(*cgroup, wanted_us, &error);
	publish(client, *cgroup);
}

_Noreturn static void be_agent(void)
{
	struct guard_client *client;
	struct cgroup *cgroup;
	struct error error;
	uint64_t deadline_ns;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_init(getenv("ISO_TEST_LOG") != NULL ? LOG_DEBUG : LOG_EMERG, false);
	if (guard_client_open(&guarded_config, &client, &error) < 0 ||
	    open_group(guard_client_writer(client), &cgroup, &error) < 0) {
		fprintf(stderr, "# %s\n", error.text);
		_exit(1);
	}
	deadline_ns = guarded->found_ns = guard_client_status(client)->deadline_ns;
	for (;;) {
		turn(client, &cgroup, &deadline_ns);
		usleep(10000);
	}
}

pid_t guarded_agent(void)
{
	uint64_t turns = guarded->turns;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		be_agent();
	ck_assert_uint_lt(state.agent_count, 8);
	state.agents[state.agent_count++] = pid;
	for (int i = 0; guarded->turns < turns + 3; i++) {
		ck_assert_msg(i < 1000 && waitpid(pid, NULL, WNOHANG) == 0, "the agent is stuck");
		usleep(10000);
	}
	return pid;
}

pid_t guarded_with_share(void)
{
	pid_t agent;

	guarded->granting = true;
	agent = guarded_agent();
	guarded_await(GUARD_OK, GUARDED_SHARE_US);
	return agent;
}

void guarded_kill(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	for (unsigned i = 0; i < state.agent_count; i++)
		if (state.agents[i] == pid)
			state.agents[i] = 0;
}

bool guarded_gone(pid_t guard, unsigned timeout_ms)
{
	for (unsigned i = 0; i <= timeout_ms / 5; i++) {
		if (!test_is_there(guard))
			return true;
		usleep(5000);
	}
	return false;
}

void guarded_await(enum guard_state wanted, long quota_us)
{
	for (int i = 0; i < 1000; i++) {
		if (guarded->state == (int)wanted && guarded_quota() == quota_us)
			return;
		usleep(5000);
	}
	ck_abort_msg("state %d, quota %ld, reason '%s'", guarded->state, guarded_quota(),
		     guarded->reason);
}

long guarded_quota(void)
{
	char path[PATH_MAX], text[64] = "";
	long quota_us;
	ssize_t count;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", state.directory,
		     state.real && group_version() == 1 ? "cpu.cfs_quota_us" : "cpu.max") >=
	    (int)sizeof(path))
		return -2;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -2;
	count = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (count <= 0)
		return -2;
	if (strncmp(text, "max", 3) == 0)
		return -1;
	return sscanf(text, "%ld", &quota_us) == 1 ? quota_us : -2;
}

static void *observe(void *context)
{
	struct timespec next;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (state.observing && state.sample_count < SAMPLES_MAX) {
		struct sample *sample = &state.samples[state.sample_count];

		sample->before_ns = clock_boot_ns();
		sample->quota_us = guarded_quota();
		sample->after_ns = clock_boot_ns();
		state.sample_count++;
		next.tv_nsec += (long)MS_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

void guarded_watch(void)
{
	state.sample_count = 0;
	state.observing = true;
	ck_assert_int_eq(pthread_create(&state.observer, NULL, observe, NULL), 0);
}

void guarded_stop(void)
{
	state.observing = false;
	ck_assert_int_eq(pthread_join(state.observer, NULL), 0);
	ck_assert_uint_lt(state.sample_count, SAMPLES_MAX);
}

unsigned guarded_range(uint64_t from_ns, uint64_t to_ns, long *ret_least, long *ret_greatest)
{
	unsigned count = 0;

	*ret_least = LONG_MAX;
	*ret_greatest = LONG_MIN;
	for (unsigned i = 0; i < state.sample_count; i++) {
		const struct sample *sample = &state.samples[i];
		long quota_us = sample->quota_us == -1 ? LONG_MAX : sample->quota_us;

		/* Read wholly within. */
		if (sample->before_ns < from_ns || sample->after_ns >= to_ns)
			continue;
		count++;
		if (quota_us < *ret_least)
			*ret_least = quota_us;
		if (quota_us > *ret_greatest)
			*ret_greatest = quota_us;
	}
	return count;
}

void guarded_sleep_until(uint64_t boot_ns)
{
	uint64_t now_ns = clock_boot_ns();

	if (boot_ns > now_ns)
		usleep((useconds_t)((boot_ns - now_ns) / 1000));
}

void guarded_check_end(uint64_t since_ns, uint64_t least_ns, uint64_t deadline_ns)
{
	long least, greatest;

	ck_assert_uint_gt(guarded_range(since_ns, least_ns - GUARDED_EARLY_NS, &least,
					&greatest), 10 * GUARDED_SAMPLES_MIN);
	ck_assert_int_eq(least, GUARDED_SHARE_US);
	ck_assert_int_eq(greatest, GUARDED_SHARE_US);
	ck_assert_uint_gt(guarded_range(deadline_ns - GUARDED_EARLY_NS + LATE_NS, UINT64_MAX,
					&least, &greatest), GUARDED_SAMPLES_MIN);
	ck_assert_int_eq(greatest, GUARDED_FLOOR_US);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/crew.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/quantity.h"
#include "lib/wire/worker.h"
#include "tests/fs/group.h"
#include "tests/test.h"

#define PERIOD_US 100000u

static const char *group_of(unsigned index)
{
	static const char *const names[CLUSTER_WORKERS] = { "w0", "w1", "w2" };

	return names[index];
}

void crew_prepare(void)
{
	if (access("/usr/share/datasets/fashion-mnist", R_OK) != 0)
		test_skip_all("needs the data set (dataset-fashion-mnist)");
	group_start();
}

void crew_finish(void)
{
	group_end();
}

void crew_open(struct crew *crew)
{
	memset(crew, 0, sizeof(*crew));
	crew->period_us = PERIOD_US;
	cluster_open(&crew->cluster);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		crew->workers[i].child = (struct spawn_child)SPAWN_NO_CHILD;
		group_make(group_of(i));
	}
}

void crew_close(struct crew *crew)
{
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_end(crew, i, SIGKILL);
	cluster_close(&crew->cluster);
}

void crew_outweigh(void)
{
	char directory[PATH_MAX];

	group_directory("", directory);
	ck_assert(group_version() == 2 ? group_write_file(directory, "cpu.weight", "10000")
				       : group_write_file(directory, "cpu.shares", "262144"));
}

static int enter_group(void *context, pid_t pid, struct error *reterr)
{
	const unsigned *index = context;
	char directory[PATH_MAX], text[16];

	group_directory(group_of(*index), directory);
	snprintf(text, sizeof(text), "%d", (int)pid);
	if (!group_write_file(directory, "cgroup.procs", text))
		return error_errno(reterr, -errno, "enter %.200s", directory);
	return 0;
}

static void tell(const struct crew_worker *worker, const struct iso_worker_record *record)
{
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];

	iso_worker_encode(record, bytes);
	/* One that has just been killed hears nothing. */
	(void)send(worker->child.link_fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void crew_limit(struct crew *crew, unsigned index, uint64_t ucpu)
{
	group_write_limit(group_of(index), (int64_t)(ucpu * crew->period_us / ISO_UCPU_PER_CPU),
			  crew->period_us);
}

void crew_set_share(struct crew *crew, unsigned index, uint64_t share_ucpu)
{
	const struct iso_worker_record record = { .type = ISO_WORKER_SHARE,
						  .share = { share_ucpu, 1 } };

	crew_limit(crew, index, share_ucpu);
	tell(&crew->workers[index], &record);
}

void crew_start(struct crew *crew, unsigned index, uint64_t share_ucpu)
{
	struct crew_worker *worker = &crew->workers[index];
	char path[256];
	const char *const *arguments = cluster_worker_arguments(&crew->cluster, index, path);
	struct spawn_config config = {
		.executable = path, .clock_fd = -1, .attach = enter_group, .context = &index
	};
	struct error error;

	ck_assert_int_eq(worker->child.pid, 0);
	memcpy(&config.argv, &arguments, sizeof(config.argv));
	ck_assert_msg(spawn_worker(&config, &worker->child, &error) == 0, "%s", error.text);
	crew_set_share(crew, index, share_ucpu);
}

void crew_end(struct crew *crew, unsigned index, int signal)
{
	struct crew_worker *worker = &crew->workers[index];
	char text[SPAWN_TEXT_BYTES];
	siginfo_t info;

	if (worker->child.pid == 0)
		return;
	(void)kill(worker->child.pid, signal);
	/* It stays to be reaped: that closes its socket, which has its last words. */
	ck_assert_int_eq(waitid(P_PID, (id_t)worker->child.pid, &info, WEXITED | WNOWAIT), 0);
	crew_listen(crew);
	ck_assert_int_eq(spawn_reap(&worker->child, text), 0);
	worker->told_before += worker->told;
	worker->told = 0;
}

static void take(struct crew_worker *worker, const uint8_t *bytes, size_t size)
{
	struct iso_worker_record record;

	ck_assert_ok(iso_worker_decode(bytes, size, &record));
	if (record.type == ISO_WORKER_PROGRESS)
		worker->told = record.progress.tasks_done;
	if (record.type == ISO_WORKER_REGISTER)
		tell(worker, &(struct iso_worker_record){
				 .type = ISO_WORKER_SLOT,
				 .slot = { record.enrol.tid, ISO_WORKER_NO_SLOT } });
}

void crew_listen(struct crew *crew)
{
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++) {
		struct crew_worker *worker = &crew->workers[i];
		ssize_t size;

		while (worker->child.link_fd >= 0 &&
		       (size = recv(worker->child.link_fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			take(worker, bytes, (size_t)size);
	}
}

uint64_t crew_done(const struct crew *crew, unsigned index)
{
	return crew->workers[index].told_before + crew->workers[index].told;
}

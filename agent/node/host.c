/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/host.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/cgroup/cgroup.h"
#include "agent/meter/meter.h"
#include "agent/node/host_arguments.h"
#include "agent/node/job.h"
#include "agent/train/spawn.h"
#include "agent/train/taskfault.h"
#include "agent/train/workerlink.h"

#define PAUSE_NS_MIN  1000000000u
#define PAUSE_NS_MAX  60000000000u
/* A worker that lived this long did not end early: the pause starts anew. */
#define SETTLED_NS    60000000000u
#define GRACE_MS      1000u
/* Workers in a row that a user's task ended early, after which none is started. */
#define FAULTS_MAX    5u

/* By which a task's file is known to have changed. */
struct stamp {
	dev_t device;
	ino_t inode;
	struct timespec changed; /* its content, owner or mode */
};

struct host {
	struct host_config config;
	struct spawn_user user;
	bool has_user;
	struct spawn_child child;
	struct loop_source exit_source; /* the child's pidfd */
	struct workerlink *link;
	uint64_t started_ns;
	uint64_t start_at_ns;
	uint64_t pause_ns;
	int64_t restarts;
	bool ever_started;
	bool is_paused;
	bool told;
	uint64_t share_ucpu; /* last told */
	uint32_t cpus;
	bool connected;
	uint32_t threads;
	uint64_t tasks_done;
	/* Of a plan. */
	bool has_training;
	uint64_t round;
	uint32_t live;
	enum iso_worker_phase phase;
	double measures[ISO_WORKER_MEASURES];
	bool clock_refused; /* said so of this worker */
	/* A user's task. */
	char fault[TASKFAULT_TEXT_BYTES]; /* of the last worker; empty: none */
	bool is_unusable;
	unsigned faults; /* in a row */
	bool is_given_up;
	struct stamp stamp; /* of the file that was given up */
	char state[TASKFAULT_TEXT_BYTES + 64];
};

static void forget_training(struct host *host)
{
	host->has_training = false;
	for (unsigned i = 0; i < ISO_WORKER_MEASURES; i++)
		host->measures[i] = (double)NAN;
}

int host_open(const struct host_config *config, struct host **ret_host, struct error *reterr)
{
	const struct conf *conf = config->conf;
	struct host *host;
	int r;

	if (access(conf->training.executable, X_OK) < 0)
		return error_errno(reterr, -errno, "worker program %s", conf->training.executable);
	host = calloc(1, sizeof(*host));
	if (host == NULL)
		return error_errno(reterr, -ENOMEM, "worker");
	host->config = *config;
	host->child = (struct spawn_child)SPAWN_NO_CHILD;
	host->pause_ns = PAUSE_NS_MIN;
	forget_training(host);
	/* Not being root we cannot become anybody else: the worker runs as whom we are. */
	if (geteuid() == 0) {
		r = spawn_user_find(conf->training.user, &host->user, reterr);
		if (r < 0) {
			free(host);
			return r;
		}
		host->has_user = true;
	}
	*ret_host = host;
	return 0;
}

static void forget_child(struct host *host)
{
	pid_t pid = host->child.pid;

	loop_remove(host->config.loop, &host->exit_source);
	host->link = workerlink_close(host->link);
	host->child = (struct spawn_child)SPAWN_NO_CHILD;
	host->connected = false;
	host->told = false;
	host->clock_refused = false;
	host->threads = 0;
	forget_training(host);
	job_watch(host->config.job, 0);
	if (job_meter(host->config.job) != NULL && pid > 0)
		meter_release_process(job_meter(host->config.job), pid);
}

static struct stamp stamp_of(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return (struct stamp){ 0 };
	return (struct stamp){ status.st_dev, status.st_ino, status.st_ctim };
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/*
 * Whether it was the user's task that ended this worker: it said so, or it went
 * with an exit status that no worker of ours has.
 */
static bool is_tasks_doing(struct host *host, const char *how)
{
	int status;

	if (host->config.conf->training.task[0] == '\0')
		return false;
	if (host->fault[0] != '\0')
		return true;
	if (sscanf(how, "exit status %d", &status) != 1 || status == 1 || status == 2 ||
	    status == 127)
		return false;
	snprintf(host->fault, sizeof(host->fault), "%s, without a word", how);
	return true;
}

/* A task that ends each worker is not tried for ever. */
static void blame_task(struct host *host, pid_t pid, const char *how)
{
	const char *task = host->config.conf->training.task;

	host->faults++;
	host->is_given_up = host->faults >= FAULTS_MAX || host->is_unusable;
	if (host->is_given_up) {
		host->stamp = stamp_of(task);
		log_error("worker: pid %d ended, %s; its task '%s' is given up after %u worker%s: "
			  "%s; trying again when the file changes",
			  (int)pid, how, task, host->faults, host->faults == 1 ? "" : "s",
			  host->fault);
		return;
	}
	log_warn("worker: pid %d ended, %s, by its task '%s': %s; the next starts in %u s",
		 (int)pid, how, task, host->fault, (unsigned)(host->pause_ns / 1000000000u));
}

/* The worker has ended: another one starts after a pause. */
static void on_exit_fd(struct loop_source *source, short revents)
{
	struct host *host = (struct host *)((char *)source - offsetof(struct host, exit_source));
	uint64_t now_ns = clock_now_ns();
	char how[SPAWN_TEXT_BYTES];
	pid_t pid = host->child.pid;

	(void)revents;
	loop_remove(host->config.loop, &host->exit_source);
	/* What it said last may still be unread. */
	if (host->link != NULL)
		workerlink_drain(host->link);
	if (spawn_reap(&host->child, how) == -EAGAIN) {
		(void)loop_add(host->config.loop, source); /* there is room: it was just there */
		return;
	}
	host->child.pid = pid;
	forget_child(host);
	/* The tick that started it may have been late in its turn: never less than nothing. */
	if (now_ns > host->started_ns && now_ns - host->started_ns >= SETTLED_NS) {
		host->pause_ns = PAUSE_NS_MIN;
		host->faults = 0;
	}
	host->start_at_ns = now_ns + host->pause_ns;
	if (is_tasks_doing(host, how)) {
		blame_task(host, pid, how);
	} else {
		host->faults = 0;
		log_warn("worker: pid %d ended, %s; the next starts in %u s", (int)pid, how,
			 (unsigned)(host->pause_ns / 1000000000u));
	}
	host->pause_ns = host->pause_ns * 2 < PAUSE_NS_MAX ? host->pause_ns * 2 : PAUSE_NS_MAX;
	host->restarts++;
}

/* -1: there are no on-CPU clocks. */
static int clock_fd(const struct host *host)
{
	const struct meter *meter = job_meter(host->config.job);
	int fd = meter != NULL ? meter_clock_fd(meter) : -1;

	return fd >= 0 ? fd : -1;
}

static void enrol(struct host *host, uint32_t tid)
{
	struct meter *meter = job_meter(host->config.job);
	struct error error = { 0 };
	uint32_t slot = ISO_WORKER_NO_SLOT;

	if (clock_fd(host) < 0) {
		log_debug("worker: thread %u: no on-CPU clocks, it uses the kernel's", tid);
	} else if (meter_register_thread(meter, host->child.pid, (pid_t)tid, &slot, &error) < 0) {
		/* Once: it may ask as often as it likes. */
		if (!host->clock_refused)
			log_warn("worker: thread %u gets no on-CPU clock, it uses the kernel's: %s",
				 tid, error.text);
		host->clock_refused = true;
		slot = ISO_WORKER_NO_SLOT;
	}
	(void)workerlink_send_slot(host->link, tid, slot); /* gone is seen at the pidfd */
}

static void on_record(void *context, const struct iso_worker_record *record)
{
	struct host *host = context;

	if (record == NULL)
		return; /* the pidfd says how it ended */
	switch (record->type) {
	case ISO_WORKER_REGISTER:
		enrol(host, record->enrol.tid);
		break;
	case ISO_WORKER_PROGRESS:
		host->connected = record->progress.connected;
		host->threads = record->progress.threads;
		host->tasks_done = record->progress.tasks_done;
		break;
	case ISO_WORKER_ROUND:
		host->has_training = true;
		host->round = record->round.round;
		host->live = record->round.live;
		host->phase = record->round.phase;
		break;
	case ISO_WORKER_MEASURE:
		host->measures[record->measure.what - 1] = record->measure.value;
		break;
	case ISO_WORKER_FAULT:
		host->is_unusable = record->fault.what == ISO_WORKER_UNUSABLE;
		taskfault_text(record->fault.what, record->fault.call, record->fault.number,
			       host->fault);
		break;
	case ISO_WORKER_SLOT:
	case ISO_WORKER_SHARE:
		assert(!"the link takes only what belongs to this end");
	}
}

static int attach(void *context, pid_t pid, struct error *reterr)
{
	return cgroup_attach(context, pid, reterr);
}

static int start(struct host *host, struct error *reterr)
{
	struct host_arguments *arguments = calloc(1, sizeof(*arguments));
	struct spawn_config config = {
		.executable = host->config.conf->training.executable,
		.user = host->has_user ? &host->user : NULL,
		.clock_fd = clock_fd(host),
		.attach = attach,
		.context = job_cgroup(host->config.job),
	};
	int r;

	if (arguments == NULL)
		return error_errno(reterr, -ENOMEM, "worker");
	host_arguments_make(host->config.conf, arguments);
	/* exec takes char *const[] and changes nothing. */
	memcpy(&config.argv, &(const char **){ arguments->argv }, sizeof(config.argv));
	r = spawn_worker(&config, &host->child, reterr);
	free(arguments);
	if (r < 0)
		return r;
	int link_fd = host->child.link_fd;
	host->child.link_fd = -1;
	r = workerlink_open(link_fd, WORKERLINK_AGENT, host->config.loop, on_record, host,
			    &host->link, reterr);
	host->exit_source = (struct loop_source){
		.fd = host->child.pidfd, .events = ZMQ_POLLIN, .fn = on_exit_fd,
	};
	if (r == 0)
		r = loop_add(host->config.loop, &host->exit_source);
	if (r < 0) {
		spawn_kill(&host->child, 0);
		forget_child(host);
	}
	return r;
}

/* A task that was given up, and whose file is still the same. */
static bool is_waiting_for_file(struct host *host)
{
	const char *task = host->config.conf->training.task;

	if (!host->is_given_up)
		return false;

	struct stamp stamp = stamp_of(task);
	if (is_same(&stamp, &host->stamp))
		return true;
	log_info("worker: task '%s' has changed and is tried again", task);
	host->is_given_up = false;
	host->faults = 0;
	host->pause_ns = PAUSE_NS_MIN;
	return false;
}

static void start_if_due(struct host *host, uint64_t now_ns)
{
	struct error error = { 0 };

	if (host->child.pid > 0 || now_ns < host->start_at_ns || is_waiting_for_file(host))
		return;
	host->started_ns = now_ns;
	host->fault[0] = '\0';
	host->is_unusable = false;
	if (start(host, &error) == 0) {
		log_info("worker: started, pid %d, as %s, in cgroup %s", (int)host->child.pid,
			 host->has_user ? host->config.conf->training.user : "ourselves",
			 conf_job(host->config.conf));
		host->ever_started = true;
		job_watch(host->config.job, host->child.pid);
		return;
	}
	host->start_at_ns = now_ns + host->pause_ns;
	log_error("worker: cannot start: %s; trying again in %u s", error.text,
		  (unsigned)(host->pause_ns / 1000000000u));
	host->pause_ns = host->pause_ns * 2 < PAUSE_NS_MAX ? host->pause_ns * 2 : PAUSE_NS_MAX;
}

void host_step(struct host *host, uint64_t now_ns, uint64_t share_ucpu, uint32_t cpus)
{
	host->is_paused = false;
	start_if_due(host, now_ns);
	if (host->link == NULL)
		return;
	workerlink_tick(host->link);
	if (host->told && host->share_ucpu == share_ucpu && host->cpus == cpus)
		return;
	if (workerlink_send_share(host->link, share_ucpu, cpus) < 0)
		return; /* told at the next tick */
	host->told = true;
	host->share_ucpu = share_ucpu;
	host->cpus = cpus;
}

static void end_worker(struct host *host)
{
	pid_t pid = host->child.pid;

	if (pid <= 0)
		return;
	host->link = workerlink_close(host->link); /* the worker ends at that, too */
	loop_remove(host->config.loop, &host->exit_source);
	spawn_kill(&host->child, GRACE_MS);
	host->child.pid = pid;
	forget_child(host);
}

void host_pause(struct host *host)
{
	if (host->child.pid > 0)
		log_info("worker: ended, since this node has no share to train with");
	end_worker(host);
	host->start_at_ns = 0;
	host->is_paused = true;
}

struct host_status host_status(struct host *host)
{
	const char *state = "running";

	if (host->is_paused) {
		state = "paused: no share";
	} else if (host->child.pid <= 0 && host->fault[0] != '\0') {
		snprintf(host->state, sizeof(host->state), "%s: task: %s",
			 host->is_given_up ? "given up" : "restarting", host->fault);
		state = host->state;
	} else if (host->child.pid <= 0) {
		state = host->ever_started ? "restarting" : "not started";
	} else if (host->has_training && host->phase == ISO_WORKER_DONE) {
		state = "done";
	} else if (!host->connected) {
		state = host->config.conf->training.plan[0] != '\0' ? "waiting for neighbours"
								   : "waiting for coordinator";
	}
	struct host_status status = {
		.state = state,
		.pid = host->child.pid > 0 ? host->child.pid : 0,
		.restarts = host->restarts,
		.threads = host->threads,
		.tasks_done = host->tasks_done,
		.has_training = host->has_training,
		.round = host->round,
		.live = host->live,
	};
	memcpy(status.measures, host->measures, sizeof(status.measures));
	return status;
}

struct host *host_close(struct host *host)
{
	if (host == NULL)
		return NULL;
	end_worker(host);
	free(host);
	return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"
#include "agent/base/user.h"
#include "agent/net/curve.h"
#include "agent/track/track.h"
#include "agent/train/blas.h"
#include "agent/train/dataset.h"
#include "agent/train/exam.h"
#include "agent/train/taskwatch.h"
#include "agent/train/usertask.h"
#include "agent/train/worker_options.h"
#include "agent/train/worker_pool.h"
#include "agent/train/worker_session.h"
#include "agent/train/workerlink.h"
#include "lib/quantity.h"
#include "lib/threads.h"

/*
 * isobar-worker: hosts the training threads of one node inside its job's
 * cgroup.  This thread owns every socket; the threads of the pool compute.
 * It ends when its agent does; it waits for a coordinator, or for neighbours,
 * for ever.
 */

#define PROGRESS_INTERVAL_NS 1000000000ull
#define TASK_GRACE_S	     3

struct worker {
	struct worker_options options;
	struct loop loop;
	struct loop_source signals, results, timer;
	void *context;
	struct curve_keypair keypair;
	struct dataset data;
	struct usertask task;
	struct cpuclock_map *map;
	struct pool *pool;
	/* One of these two. */
	struct session *session;
	struct track *track;
	char neighbour_keys[LINK_NEIGHBOURS_MAX][CURVE_KEY_BYTES];
	struct workerlink *link; /* NULL: nobody started us, or our agent is gone */
	uint32_t threads_max;
	struct iso_train_speed speed;
	struct session_view told; /* the agent */
};

static uint32_t count_cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < (int)POOL_THREADS_MAX ? (uint32_t)count : POOL_THREADS_MAX;
}

/* Applies a share: the threads follow it unless their number is given. */
static void set_share(struct worker *worker, uint64_t share_ucpu, uint32_t cpus)
{
	uint32_t max = worker->threads_max;
	struct iso_train_speed speed = { .threads = max, .share_ucpu = share_ucpu };

	if (worker->options.threads == 0)
		speed.threads = iso_threads_for(share_ucpu, worker->speed.threads,
						cpus != 0 && cpus < max ? cpus : max);
	if (speed.threads != worker->speed.threads)
		log_info("computing with %u thread%s, share %.3f CPU", speed.threads,
			 speed.threads == 1 ? "" : "s", (double)share_ucpu / ISO_UCPU_PER_CPU);
	worker->speed = speed;
	if (worker->pool != NULL)
		pool_set_active(worker->pool, speed.threads);
	if (worker->session != NULL)
		session_set_speed(worker->session, speed);
}

static void on_link(void *context, const struct iso_worker_record *record)
{
	struct worker *worker = context;

	if (record == NULL) {
		log_info("the agent is gone; ending");
		loop_quit(&worker->loop);
		return;
	}
	if (record->type == ISO_WORKER_SHARE)
		set_share(worker, record->share.share_ucpu, record->share.cpus);
	else if (record->type == ISO_WORKER_SLOT && worker->pool != NULL)
		pool_set_slot(worker->pool, record->slot.tid, record->slot.slot);
}

static void on_results(struct loop_source *source, short revents)
{
	struct worker *worker =
	    (struct worker *)(void *)((char *)source - offsetof(struct worker, results));
	uint32_t tid;

	(void)revents;
	if (worker->track != NULL)
		track_on_results(worker->track);
	else
		session_send_results(worker->session);
	while (pool_take_enrolment(worker->pool, &tid))
		if (worker->link != NULL &&
		    workerlink_send(worker->link,
				    &(struct iso_worker_record){ .type = ISO_WORKER_REGISTER,
								 .enrol = { tid } }) < 0)
			log_warn(
			    "thread %u: the agent does not listen; it keeps the kernel's clock",
			    tid);
}

static void on_progress(struct loop_source *source, short revents)
{
	struct worker *worker =
	    (struct worker *)(void *)((char *)source - offsetof(struct worker, timer));

	(void)revents;
	timer_consume(source->fd);
	(void)timer_arm(source->fd, clock_now_ns() + PROGRESS_INTERVAL_NS);
	if (worker->track != NULL) {
		track_report(worker->track, worker->link, worker->speed.threads);
		return;
	}
	struct session_view view = session_view(worker->session);
	if (worker->link == NULL ||
	    (view.joined == worker->told.joined && view.tasks_done == worker->told.tasks_done))
		return;
	if (workerlink_send(worker->link, &(struct iso_worker_record){
					      .type = ISO_WORKER_PROGRESS,
					      .progress = { view.tasks_done, worker->speed.threads,
							    view.joined } }) == 0)
		worker->told = view;
}

static void on_signal(struct loop_source *source, short revents)
{
	struct worker *worker =
	    (struct worker *)(void *)((char *)source - offsetof(struct worker, signals));

	(void)revents;
	while (signals_consume(source->fd) != 0)
		loop_quit(&worker->loop);
}

/* What the agent handed down, if there is an agent. */
static int open_link(struct worker *worker, struct error *reterr)
{
	int r = workerlink_open(WORKERLINK_FD, WORKERLINK_WORKER, &worker->loop, on_link, worker,
				&worker->link, reterr);

	if (r == -ENOTSOCK || r == -EBADF) {
		log_info("no agent: running alone, with the kernel's thread clock");
		return 0;
	}
	if (r < 0 || fcntl(WORKERLINK_CLOCK_FD, F_GETFD) < 0)
		return r;
	if (cpuclock_map_open(WORKERLINK_CLOCK_FD, &worker->map, reterr) < 0)
		log_warn("%s; using the kernel's thread clock", reterr->text);
	close(WORKERLINK_CLOCK_FD);
	return 0;
}

/* Key as text, or the file that holds it. */
static int read_key(const char *text, char ret_key[CURVE_KEY_BYTES], struct error *reterr)
{
	if (!curve_key_valid(text))
		return curve_public_read(text, ret_key, reterr);
	memcpy(ret_key, text, CURVE_KEY_BYTES);
	return 0;
}

static int read_neighbours(struct worker *worker, struct error *reterr)
{
	struct worker_options *options = &worker->options;
	int r = curve_endpoint_check(options->listen, reterr);

	if (r < 0)
		return error_wrap(reterr, "listen");
	for (uint32_t i = 0; i < options->neighbours_count; i++) {
		struct link_neighbour *neighbour = &options->neighbours[i];

		r = read_key(neighbour->public_key, worker->neighbour_keys[i], reterr);
		if (r == 0)
			r = curve_endpoint_check(neighbour->address, reterr);
		if (r < 0)
			return error_wrap(reterr, "neighbour %.64s", neighbour->name);
		neighbour->public_key = worker->neighbour_keys[i];
	}
	return 0;
}

static int read_inputs(struct worker *worker, char ret_server_key[CURVE_KEY_BYTES],
		       struct error *reterr)
{
	const struct worker_options *options = &worker->options;
	int r;

	if (options->plan != NULL) {
		r = read_neighbours(worker, reterr);
	} else {
		r = curve_endpoint_check(options->coordinator, reterr);
		if (r == 0)
			r = read_key(options->coordinator_key, ret_server_key, reterr);
	}
	if (r == 0 && strlen(options->name) >= ISO_TRAIN_NAME_BYTES)
		r = error_set(reterr, -EINVAL, "name '%.80s' is too long", options->name);
	if (r == 0)
		r = curve_secret_read(options->key, &worker->keypair, reterr);
	if (r == 0)
		r = dataset_open(options->data, DATASET_TRAIN, &worker->data, reterr);
	if (r == 0) {
		char text[256];

		dataset_describe(&worker->data, text, sizeof(text));
		log_info("data: %s", text);
	}
	return r;
}

/*
 * From here on code runs that is not ours: what it does to this process is said
 * before the process ends of it, and the agent hears of it, too.
 */
static int open_task(struct worker *worker, int report_fd, struct error *reterr)
{
	struct taskwatch_config config = {
		.what = worker->options.task,
		.report_fd = report_fd,
		.limit_ns = worker->options.task_limit_ns,
		.with_prefix = getenv("JOURNAL_STREAM") != NULL,
	};

	char name[400];

	if (worker->options.task == NULL)
		return 0;
	int r = taskwatch_open(&config, reterr);
	if (r < 0)
		return r;
	r = usertask_open(worker->options.task, &worker->task, reterr);
	if (r < 0)
		taskwatch_fault(ISO_WORKER_UNUSABLE, ISO_WORKER_NO_CALL, 0, reterr->text);
	snprintf(name, sizeof(name), "'%s' (%s)", worker->task.task->name, worker->options.task);
	taskwatch_name(name);
	log_info("task '%s' from %s, checksum %016llx", worker->task.task->name,
		 worker->options.task, (unsigned long long)worker->task.checksum);
	return 0;
}

static int add_source(struct worker *worker, struct loop_source *source, int fd, loop_fn *fn,
		      struct error *reterr)
{
	*source = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = fn };
	int r = fd < 0 ? fd : loop_add(&worker->loop, source);

	return r < 0 ? error_errno(reterr, r, "event loop") : 0;
}

/* Whom it learns with: a coordinator, or the neighbours of a plan. */
static int open_training(struct worker *worker, const char server_key[CURVE_KEY_BYTES],
			 struct error *reterr)
{
	const struct worker_options *options = &worker->options;
	struct session_config session = {
		.endpoint = options->coordinator,
		.name = options->name,
		.keypair = &worker->keypair,
		.data = &worker->data,
		.task = &worker->task,
		.pool = worker->pool,
		.speed = worker->speed,
	};
	const struct track_config track = {
		.plan = options->plan,
		.name = options->name,
		.listen = options->listen,
		.keypair = &worker->keypair,
		.neighbours = options->neighbours,
		.neighbours_count = options->neighbours_count,
		.data = &worker->data,
		.data_spec = options->data,
		.state_directory = options->state_directory,
		.pool = worker->pool,
		.ends = worker->link == NULL,
	};

	if (options->plan != NULL)
		return track_open(worker->context, &worker->loop, &track, &worker->track, reterr);
	memcpy(session.server_key, server_key, sizeof(session.server_key));
	return session_open(worker->context, &worker->loop, &session, &worker->session, reterr);
}

static int open_all(struct worker *worker, struct error *reterr)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP, 0 };
	char server_key[CURVE_KEY_BYTES];
	/* First, before another library takes descriptor 3. */
	int r = open_link(worker, reterr);

	if (r == 0)
		r = add_source(worker, &worker->signals, signals_open(ending), on_signal, reterr);
	if (r == 0)
		r = read_inputs(worker, server_key, reterr);
	if (r == 0)
		r = open_task(worker, worker->link != NULL ? WORKERLINK_FD : -1, reterr);
	if (r == 0)
		r = pool_open(worker->threads_max, worker->map, &worker->pool, reterr);
	if (r < 0)
		return r;
	pool_set_active(worker->pool, worker->speed.threads);
	worker->context = zmq_ctx_new();
	r = add_source(worker, &worker->results, pool_fd(worker->pool), on_results, reterr);
	if (r == 0)
		r = add_source(worker, &worker->timer, timer_open(), on_progress, reterr);
	if (r == 0)
		r = open_training(worker, server_key, reterr);
	if (r == 0)
		(void)timer_arm(worker->timer.fd, clock_now_ns() + PROGRESS_INTERVAL_NS);
	return r;
}

static void on_alarm(int number)
{
	(void)number;
	_exit(EXIT_SUCCESS);
}

static void close_all(struct worker *worker)
{
	/* A user's task may not come back for a long time, and nobody waits for what it does. */
	if (worker->task.task != NULL) {
		(void)signal(SIGALRM, on_alarm);
		(void)alarm(TASK_GRACE_S);
	}
	worker->session = session_close(worker->session);
	worker->track = track_close(worker->track);
	if (worker->context != NULL)
		zmq_ctx_term(worker->context);
	worker->pool = pool_close(worker->pool);
	worker->link = workerlink_close(worker->link);
	worker->map = cpuclock_map_close(worker->map);
	usertask_close(&worker->task);
	dataset_close(&worker->data);
	curve_keypair_wipe(&worker->keypair);
	if (worker->signals.fd > 0)
		close(worker->signals.fd);
	if (worker->timer.fd > 0)
		close(worker->timer.fd);
}

/* For a coordinator, which runs no task itself. */
static int evaluate(struct worker *worker, struct error *reterr)
{
	int r;

	if (fcntl(WORKERLINK_FD, F_GETFD) < 0 || fcntl(EXAM_MEMORY_FD, F_GETFD) < 0)
		return error_set(reterr, -EBADF, "--evaluate: only isobar-coordinator starts it");
	r = dataset_open(worker->options.data, DATASET_TEST, &worker->data, reterr);
	if (r == 0)
		r = open_task(worker, WORKERLINK_FD, reterr);
	if (r == 0)
		r = exam_serve(WORKERLINK_FD, EXAM_MEMORY_FD, &worker->task, &worker->data, reterr);
	return r;
}

/*
 * The sequential OpenBLAS gives wrong numbers when two threads are in it at once (seen with
 * Debian's libopenblas0-serial), and which one is loaded is the machine's choice.
 */
static uint32_t bearable(uint32_t threads)
{
	if (threads == 1 || openblas_get_parallel() != OPENBLAS_SEQUENTIAL)
		return threads;
	log_warn("computing with one thread: this machine's OpenBLAS is the sequential one, which "
		 "several must not use at once; install libopenblas0-pthread");
	return 1;
}

static int host(struct worker *worker, struct error *reterr)
{
	worker->threads_max =
	    bearable(worker->options.threads != 0 ? worker->options.threads : count_cpus());
	worker->speed.threads = worker->threads_max;
	/* Alone, all CPUs are ours unless told; an agent says otherwise at once. */
	set_share(worker,
		  worker->options.share_ucpu != 0
		      ? worker->options.share_ucpu
		      : (uint64_t)worker->threads_max * ISO_UCPU_PER_CPU,
		  0);
	int r = open_all(worker, reterr);
	if (r == 0)
		r = loop_run(&worker->loop);
	return r == 0 && worker->track != NULL ? track_outcome(worker->track, reterr) : r;
}

/* By hand: isobard and isobar-coordinator start it as whom it is to be. */
static int become_user(const struct worker_options *options, struct error *reterr)
{
	if (options->user != NULL)
		return user_become("--user", options->user, reterr);
	if (geteuid() == 0 && !options->evaluate)
		log_warn("running as root, which nothing here needs: give --user NAME, or start it "
			 "as another user");
	return 0;
}

/* Before the first thread and the first byte from elsewhere; a user's task is bound by it, too. */
static void give_up_privileges(const struct worker_options *options)
{
	const struct sandbox_config config = {
		.program = SANDBOX_WORKER, .audits = options->verbose,
	};
	struct error error = { 0 };

	if (!options->no_sandbox && sandbox_enter(&config, &error) < 0)
		log_warn("sandbox: %s; going on without that protection", error.text);
}

int main(int argc, char **argv)
{
	static struct worker worker;
	struct error error = { 0 };

	blas_without_threads(argv);
	log_prepare();
	log_init(LOG_INFO, getenv("JOURNAL_STREAM") != NULL);
	int status = worker_options_parse(argc, argv, &worker.options);
	if (status != 0)
		return status - 1;
	if (worker.options.verbose)
		log_init(LOG_DEBUG, getenv("JOURNAL_STREAM") != NULL);
	int r = become_user(&worker.options, &error);
	if (r == 0) {
		give_up_privileges(&worker.options);
		/* The threads are ours: BLAS must not bring more. */
		openblas_set_num_threads(1);
		r = worker.options.evaluate ? evaluate(&worker, &error) : host(&worker, &error);
	}
	if (r < 0)
		log_error("isobar-worker: %s", error.text[0] != '\0' ? error.text : strerror(-r));
	close_all(&worker);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

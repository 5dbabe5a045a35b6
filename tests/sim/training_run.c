/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/log.h"
#include "agent/train/coordinator_run.h"
#include "lib/rng.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The coordinator's run and its workers under a simulated clock and network, with every
 * method and allocation: messages are lost, doubled, delayed and so reordered;
 * workers die, come back, slow down, one may go silent for good, and the coordinator is
 * killed and goes on from its checkpoint.  Whatever happens, training goes on, and every
 * task that was started is accounted for.
 */
#define WORKERS 5
#define BATCH   7
#define DELAY   6
#define MS      1000000ull
#define QUEUE   8192
#define HELD    64

enum event_type { ORDER = 1, CANCEL, RESULT, CRASH, RETURN, RATE };

struct event {
	uint64_t at_ns;
	uint64_t sequence; /* ties by age: replays bit for bit */
	enum event_type type;
	uint32_t worker;
	uint32_t life;     /* of the worker it was meant for, or from */
	uint64_t term, version, oldest;
	bool with_params;
	struct iso_train_task task;
	uint64_t on_cpu_ns;
};

struct worker {
	bool up;
	bool silent;       /* takes orders and never answers */
	uint32_t life;
	uint64_t newest;   /* version it was given last */
	bool has_newest;
	uint64_t free_at_ns;
	double task_ms;
	uint32_t threads;
	uint64_t share_ucpu;
};

struct world {
	struct iso_rng rng;
	uint64_t now_ns;
	uint64_t sequence;
	double loss;
	bool is_calm; /* all have whole CPUs, nobody goes or changes */
	struct cconf conf;
	struct dataset test;
	struct run *run;
	struct worker workers[WORKERS];
	struct event queue[QUEUE];
	uint32_t queued;
	char folder[64];
};

static double unit(struct world *world)
{
	return iso_rng_unit(&world->rng);
}

static void push(struct world *world, struct event event)
{
	ck_assert_uint_lt(world->queued, QUEUE);
	event.sequence = world->sequence++;
	world->queue[world->queued++] = event;
}

static uint32_t first_event(const struct world *world)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < world->queued; i++) {
		const struct event *a = &world->queue[i], *b = &world->queue[first];

		if (a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->sequence < b->sequence))
			first = i;
	}
	return first;
}

/* Over the network: lost, on time, late or twice. */
static void post(struct world *world, struct event event)
{
	uint64_t sent_ns = event.at_ns;

	for (int copies = unit(world) < world->loss ? 2 : 1; copies > 0; copies--) {
		event.at_ns = sent_ns + (uint64_t)(MS * (0.1 + 3 * unit(world)));
		if (unit(world) < world->loss)
			event.at_ns += (uint64_t)(400 * MS * unit(world));
		if (unit(world) >= world->loss)
			push(world, event);
	}
}

/* What the network part of the coordinator does. */
static void send_orders(struct world *world)
{
	struct iso_train_task tasks[4];
	struct iso_dispatch_order order;
	struct iso_dispatch_cancel cancel;

	/* These workers do not care for cancels; nothing may depend on them. */
	while (run_next_cancel(world->run, &cancel))
		ck_assert_uint_lt(cancel.worker, WORKERS);
	while (run_next_order(world->run, world->now_ns, tasks, 4, &order)) {
		ck_assert(world->workers[order.worker].up);
		ck_assert_uint_le(order.version, run_version(world->run));
		ck_assert(run_needs_point(world->run, order.point, order.version));
		for (uint32_t t = 0; t < order.count; t++)
			post(world, (struct event){ .at_ns = world->now_ns, .type = ORDER,
						    .worker = order.worker,
						    .life = world->workers[order.worker].life,
						    .term = run_term(world->run),
						    .version = order.version, .task = tasks[t],
						    .with_params = order.with_params });
	}
}

static void work(struct world *world, const struct event *order)
{
	struct worker *worker = &world->workers[order->worker];

	if (!worker->up || worker->life != order->life)
		return;
	bool is_known = order->with_params ||
			(worker->has_newest && worker->newest == order->version);
	if (order->with_params) {
		worker->newest = order->version;
		worker->has_newest = true;
	}
	/* Without the parameters nothing can be done. */
	if (!is_known || worker->silent)
		return;
	double on_cpu_ns = worker->task_ms * MS * (0.5 + unit(world));
	double rate = (double)worker->share_ucpu / 1e6 / worker->threads;
	uint64_t start_ns = world->now_ns > worker->free_at_ns ? world->now_ns : worker->free_at_ns;

	/* Threads take turns here: only who is done when matters. */
	worker->free_at_ns =
		start_ns + (uint64_t)(on_cpu_ns / (rate < 1 ? rate : 1) / worker->threads);
	post(world, (struct event){ .at_ns = worker->free_at_ns, .type = RESULT,
				    .worker = order->worker, .life = worker->life,
				    .term = order->term, .version = order->version,
				    .task = order->task, .on_cpu_ns = (uint64_t)on_cpu_ns });
}

static void deliver(struct world *world, const struct event *event)
{
	float gradient[64];
	const struct iso_train_result result = {
		.term = event->term, .model_version = event->version, .task = event->task.task,
		.attempt = event->task.attempt, .worker = event->worker,
		.samples = event->task.samples, .on_cpu_ns = event->on_cpu_ns,
		.wall_ns = event->on_cpu_ns, .loss = 1,
	};

	/* As the network part does: results of who is not joined are not passed on. */
	if (!world->workers[event->worker].up || world->workers[event->worker].life != event->life)
		return;
	for (uint32_t p = 0; p < run_params_count(world->run); p++)
		gradient[p] = unit(world) < 0.001 ? (float)NAN : (float)(unit(world) - 0.5);
	run_result(world->run, world->now_ns, event->worker, &result, gradient);
}

static void crash(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	if (!worker->up)
		return;
	worker->up = false;
	worker->life++;
	worker->has_newest = false;
	run_leave(world->run, world->now_ns, index);
	run_advance(world->run, world->now_ns);
	push(world, (struct event){ .at_ns = world->now_ns + (uint64_t)(2000 * MS * unit(world)),
				    .type = RETURN, .worker = index });
}

static struct iso_train_speed speed_of(const struct worker *worker)
{
	return (struct iso_train_speed){ worker->threads, worker->share_ucpu };
}

static void come(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	if (worker->up)
		return;
	worker->up = true;
	worker->free_at_ns = world->now_ns;
	worker->threads = 1 + (uint32_t)iso_rng_below(&world->rng, 2);
	worker->share_ucpu = 200000 + iso_rng_below(&world->rng, 1200000);
	if (world->is_calm)
		worker->share_ucpu = worker->threads * 1000000;
	run_join(world->run, world->now_ns, index, speed_of(worker));
	run_advance(world->run, world->now_ns);
}

static void change_rate(struct world *world, uint32_t index)
{
	struct worker *worker = &world->workers[index];

	worker->share_ucpu = 50000 + iso_rng_below(&world->rng, 1500000);
	worker->threads = worker->share_ucpu > 1000000 ? 2 : 1;
	if (unit(world) < 0.2)
		worker->task_ms = 2 + 100 * unit(world);
	if (worker->up)
		run_set_speed(world->run, world->now_ns, index, speed_of(worker));
	run_advance(world->run, world->now_ns);
}

static void disturb(struct world *world)
{
	struct event event = { .at_ns = world->now_ns + 1,
			       .worker = (uint32_t)iso_rng_below(&world->rng, WORKERS) };

	event.type = unit(world) < 0.3 ? CRASH : RATE;
	push(world, event);
}

/* The next thing that happens: an event, or a lease that ends before it. */
static void advance(struct world *world)
{
	uint64_t wake_ns = run_wake_ns(world->run, world->now_ns);
	uint32_t first = first_event(world);

	ck_assert_msg(world->queued > 0 || wake_ns < UINT64_MAX, "nothing will ever happen again");
	if (world->queued == 0 || wake_ns < world->queue[first].at_ns) {
		world->now_ns = wake_ns > world->now_ns ? wake_ns : world->now_ns;
		run_advance(world->run, world->now_ns);
		send_orders(world);
		run_evaluate(world->run, world->now_ns);
		return;
	}
	struct event event = world->queue[first];
	world->queue[first] = world->queue[--world->queued];
	world->now_ns = event.at_ns > world->now_ns ? event.at_ns : world->now_ns;
	switch (event.type) {
	case ORDER: work(world, &event); break;
	case RESULT: deliver(world, &event); break;
	case CRASH: crash(world, event.worker); break;
	case RETURN: come(world, event.worker); break;
	case RATE: change_rate(world, event.worker); break;
	case CANCEL: break;
	}
	send_orders(world);
	if (unit(world) < 0.02 && !world->is_calm)
		disturb(world);
	run_evaluate(world->run, world->now_ns);
}

/* Every task that was started is somewhere, by the method's books and by the workers'. */
static void check_books(const struct world *world)
{
	struct iso_method_totals tasks = run_view(world->run, world->now_ns).tasks;
	uint64_t started = 0, held = 0;

	ck_assert_uint_eq(tasks.started, tasks.used + tasks.buffered + tasks.ignored +
						 tasks.stopped + tasks.lost + tasks.in_flight);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct run_worker_view worker = run_worker_view(world->run, i);
		const struct checkpoint_ledger *ledger = &worker.ledger;

		ck_assert_msg(ledger->started == ledger->used + ledger->buffered + ledger->ignored +
							 ledger->stopped + ledger->lost +
							 worker.dispatch.tasks,
			      "worker %u: a task is missing", i);
		started += ledger->started;
		held += worker.dispatch.tasks;
	}
	ck_assert_uint_eq(started, tasks.started);
	ck_assert_uint_eq(held, tasks.in_flight);
}

static void open_run(struct world *world, bool resume)
{
	struct run_options options = { .resume = resume };
	struct error error;

	ck_assert_msg(run_open(&world->conf, &world->test, options, &world->run, &error) == 0,
		      "%s", error.text);
}

static const char *const keys[WORKERS] = {
	"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "sq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
	"tq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "uq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
	"vq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
};

static void configure(struct world *world, const char *method, const char *strategy)
{
	struct error error;
	char text[4096];
	int size = snprintf(text, sizeof(text),
			    "run = r\nlisten = tcp://127.0.0.1:7500\nsecret-key = /k\n"
			    "state-directory = %s\n"
			    "evaluation-interval = 86400s\ncheckpoint-interval = 86400s\n"
			    "training { method = %s tasks-per-round = %d learning-rate = 0.01\n"
			    "decay = 0 samples-per-task = 2 start-after = 1s seed = 3\n"
			    "%s }\n"
			    "allocation { strategy = %s alpha = 10ms }\n"
			    "lease { first = 500ms least = 20ms }\n",
			    world->folder, method, BATCH,
			    strncmp(method, "ringmaster", 10) == 0 ? "delay-max = 6" : "",
			    strategy);

	for (int i = 0; i < WORKERS; i++)
		size += snprintf(text + size, sizeof(text) - (size_t)size,
				 "worker w%d { public-key = '%s' }\n", i, keys[i]);
	ck_assert_msg(cconf_parse("sim", text, &world->conf, &error) == 0, "%s", error.text);
}

/* A small set of images: only their shape matters. */
static uint8_t pixels[4 * 3], labels[4] = { 0, 1, 1, 0 };

static void setup(struct world *world, uint64_t seed, const char *method, const char *strategy)
{
	memset(world, 0, sizeof(*world));
	world->rng.state = seed;
	world->loss = 0.3 * unit(world);
	world->now_ns = 1000 * MS;
	world->test = (struct dataset){ .samples = 4, .features = 3, .classes = 2,
					.pixels = pixels, .labels = labels };
	strcpy(world->folder, "/tmp/isobar-sim-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world->folder));
	configure(world, method, strategy);
	open_run(world, false);
	for (uint32_t i = 0; i < WORKERS; i++) {
		world->workers[i].task_ms = 2 + 40 * unit(world);
		push(world, (struct event){ .at_ns = world->now_ns +
						     (uint64_t)(500 * MS * unit(world)),
					    .type = RETURN, .worker = i });
	}
	/* In every third world one worker takes work and never answers; the others must do. */
	world->workers[0].silent = seed % 3 == 0;
}

/* The checkpoint; how many bytes. */
static size_t read_file(const struct world *world, uint8_t bytes[65536])
{
	char path[128];

	snprintf(path, sizeof(path), "%s/checkpoint", world->folder);
	FILE *file = fopen(path, "rb");
	ck_assert_ptr_nonnull(file);
	size_t size = fread(bytes, 1, 65536, file);
	fclose(file);
	ck_assert_uint_lt(size, 65536);
	return size;
}

/* Going on from it and writing it again gives the same, but for checksum and term. */
static void check_file(struct world *world)
{
	static uint8_t before[65536], after[65536];
	struct error error;
	size_t size = read_file(world, before);

	ck_assert_int_eq(run_checkpoint(world->run, world->now_ns, true, &error), 0);
	ck_assert_uint_eq(read_file(world, after), size);
	ck_assert_mem_eq(before, after, 16);
	ck_assert_mem_eq(before + 32, after + 32, size - 32);
}

/* Killed after a checkpoint: what went on in between is lost, and nothing else. */
static void restart(struct world *world)
{
	static float before[64], after[64];
	struct run_view old = run_view(world->run, world->now_ns);
	struct checkpoint_ledger ledgers[WORKERS];
	struct error error;

	ck_assert_int_eq(run_checkpoint(world->run, world->now_ns, true, &error), 0);
	run_point(world->run, before);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct run_worker_view worker = run_worker_view(world->run, i);

		ledgers[i] = worker.ledger;
		ledgers[i].lost += worker.dispatch.tasks;
	}
	world->run = run_close(world->run);
	open_run(world, true);
	check_file(world);
	struct run_view now = run_view(world->run, world->now_ns);
	run_point(world->run, after);
	ck_assert_mem_eq(before, after, run_params_count(world->run) * sizeof(float));
	ck_assert_uint_eq(now.term, old.term + 1);
	ck_assert_uint_eq(now.steps, old.steps);
	ck_assert_uint_eq(now.tasks.started, old.tasks.started);
	ck_assert_uint_eq(now.tasks.used, old.tasks.used);
	ck_assert_uint_eq(now.tasks.in_flight, 0);
	ck_assert_mem_eq(&now.results, &old.results, sizeof(now.results));
	ck_assert_uint_eq(now.greedy_cpu_ns, old.greedy_cpu_ns);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct run_worker_view worker = run_worker_view(world->run, i);

		ck_assert_mem_eq(&worker.ledger, &ledgers[i], sizeof(ledgers[i]));
		if (!world->workers[i].up)
			continue;
		/* The workers go on and say hello: it is a new life to them. */
		world->workers[i].life++;
		world->workers[i].has_newest = false;
		run_join(world->run, world->now_ns, i, speed_of(&world->workers[i]));
	}
	run_advance(world->run, world->now_ns);
	send_orders(world);
}

static void close_world(struct world *world)
{
	char path[128];

	world->run = run_close(world->run);
	snprintf(path, sizeof(path), "%s/checkpoint", world->folder);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/state.lock", world->folder);
	(void)unlink(path);
	ck_assert_int_eq(rmdir(world->folder), 0);
}

static void train(uint64_t seed, const char *method, const char *strategy)
{
	static struct world world;
	uint64_t goal = 0;

	setup(&world, seed, method, strategy);
	for (int part = 0; part < 3; part++) {
		goal += 25;
		for (int events = 0; run_view(world.run, world.now_ns).steps < goal; events++) {
			ck_assert_msg(events < 60000, "seed %llu, %s with %s: hangs at step %llu",
				      (unsigned long long)seed, method, strategy,
				      (unsigned long long)run_view(world.run, world.now_ns).steps);
			advance(&world);
			if (events % 16 == 0)
				check_books(&world);
		}
		if (strncmp(method, "ringmaster", 10) == 0)
			ck_assert_uint_lt(run_view(world.run, world.now_ns).tasks.delay_max, DELAY);
		if (part < 2)
			restart(&world);
		check_books(&world);
	}
	close_world(&world);
}

static const struct {
	const char *method, *strategy;
} pairs[] = {
	{ "minibatch", "ata" },	      { "minibatch", "ata-empirical" },
	{ "minibatch", "ata-pooled" }, { "minibatch", "uta" },
	{ "minibatch", "gta" },	      { "rennala", "none" },
	{ "malenia", "none" },	      { "sgd-ata", "ata-pooled" },
	{ "sgd-ata", "uta" },	      { "asgd", "none" },
	{ "asgd", "ata-empirical" },  { "delay-adaptive", "none" },
	{ "naive-optimal", "none" },  { "ringmaster", "none" },
	{ "ringmaster", "ata-pooled" }, { "ringmaster-stops", "none" },
	{ "ringmaster-stops", "ata" }, { "ringleader", "none" },
	{ "ringleader", "ata-pooled" }, { "ia2sgd", "none" },
};

START_TEST(training_goes_on_whatever_happens)
{
	log_init(LOG_ERR, false);
	for (int i = 0; i < test_runs(6); i++)
		train(test_seed_base() + (uint64_t)i, pairs[_i].method, pairs[_i].strategy);
}
END_TEST

/* The model and all counts are kept, and the steps go on being numbered. */
START_TEST(another_method_goes_on_from_the_parameters)
{
	static const char *const methods[] = { "ringleader", "minibatch", "ringmaster", "ia2sgd" };
	static struct world world;
	float before[64], after[64];
	struct error error;

	log_init(LOG_ERR, false);
	setup(&world, test_seed_base() + 1, "rennala", "none");
	for (uint64_t goal = 20; goal <= 100; goal += 20) {
		for (int events = 0; run_view(world.run, world.now_ns).steps < goal; events++) {
			ck_assert_int_lt(events, 60000);
			advance(&world);
		}
		struct run_view old = run_view(world.run, world.now_ns);
		run_point(world.run, before);
		ck_assert_int_eq(run_checkpoint(world.run, world.now_ns, true, &error), 0);
		world.run = run_close(world.run);
		if (goal == 100)
			break;
		configure(&world, methods[goal / 20 - 1], "auto");
		open_run(&world, true);
		struct run_view now = run_view(world.run, world.now_ns);
		run_point(world.run, after);
		ck_assert_mem_eq(before, after, sizeof(float) * run_params_count(world.run));
		ck_assert_uint_eq(now.steps, old.steps);
		ck_assert_uint_eq(now.tasks.started, old.tasks.started);
		ck_assert_uint_eq(now.tasks.buffered + now.tasks.in_flight, 0);
		ck_assert_uint_eq(now.tasks.started,
				  now.tasks.used + now.tasks.ignored + now.tasks.stopped +
					  now.tasks.lost);
		for (uint32_t i = 0; i < WORKERS; i++)
			if (world.workers[i].up) {
				world.workers[i].life++;
				world.workers[i].has_newest = false;
				run_join(world.run, world.now_ns, i, speed_of(&world.workers[i]));
			}
		run_advance(world.run, world.now_ns);
		send_orders(&world);
	}
	close_world(&world);
}
END_TEST

static void until_admitted(struct world *world, uint32_t worker, bool wanted)
{
	for (int events = 0; run_worker_view(world->run, worker).is_admitted != wanted; events++) {
		ck_assert_msg(events < 60000, "worker %u is %sadmitted", worker,
			      wanted ? "not " : "");
		advance(world);
	}
}

/* Messages are lost and late all the while; only the speeds are ours. */
START_TEST(naive_optimal_follows_the_speeds)
{
	static struct world world;

	log_init(LOG_ERR, false);
	for (int i = 0; i < test_runs(3); i++) {
		setup(&world, 3 * test_seed_base() + 1 + 3 * (uint64_t)i, "naive-optimal", "none");
		world.is_calm = true;
		for (uint32_t w = 0; w < WORKERS; w++)
			world.workers[w].task_ms = w == 1 ? 20000 : 200;
		until_admitted(&world, 1, false);
		/* It is tried, and found as slow as before. */
		uint64_t started = run_worker_view(world.run, 1).ledger.started;
		until_admitted(&world, 1, true);
		until_admitted(&world, 1, false);
		ck_assert_uint_le(run_worker_view(world.run, 1).ledger.started,
				  started + world.workers[1].threads);
		world.workers[1].task_ms = 200;
		world.workers[2].task_ms = 20000;
		until_admitted(&world, 2, false);
		until_admitted(&world, 1, true);
		/* For good: it is not only a trial. */
		for (int events = 0; events < 1000; events++)
			advance(&world);
		ck_assert(run_worker_view(world.run, 1).is_admitted);
		check_books(&world);
		close_world(&world);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("training_run");
	TCase *tcase = tcase_create("lossy network");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, training_goes_on_whatever_happens, 0,
			    (int)(sizeof(pairs) / sizeof(pairs[0])));
	tcase_add_test(tcase, naive_optimal_follows_the_speeds);
	tcase_add_test(tcase, another_method_goes_on_from_the_parameters);
	suite_add_tcase(suite, tcase);
	return suite;
}

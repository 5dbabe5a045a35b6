/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/worker_session.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/net/zap.h"
#include "agent/train/trainmsg.h"
#include "tests/test.h"

/* A worker's session and its pool, and the test as the coordinator, all in one loop. */

#define SAMPLES	 2000u
#define FEATURES 100u
#define CLASSES	 4u
#define PARAMS	 (CLASSES * (FEATURES + 1))
#define BATCH	 1000u
#define WAIT_NS	 20000000000ull
#define PING_NS	 200000000ull
#define DOMAIN	 "test"

static struct loop loop;
static void *context, *router;
static struct zap *zap;
static struct curve_keypair server_keys, worker_keys;
static struct loop_source source, tick, results;
static struct pool *pool;
static struct session *session;
static struct trainmsg_peer peer;
static uint8_t pixels[SAMPLES * FEATURES], labels[SAMPLES];
static const struct dataset data = {
	.samples = SAMPLES,
	.features = FEATURES,
	.classes = CLASSES,
	.pixels = pixels,
	.labels = labels,
	.checksum = 77,
};

/* What the worker said, last and in sum. */
static struct {
	struct iso_train_hello hello;
	struct iso_train_ping ping;
	struct iso_train_bye bye;
	uint32_t hellos, pings, byes, results, abandoned;
	struct iso_train_result all[512];
} heard;
/* Whether the test answers as a coordinator that is alive does. */
static bool is_mute;

static void say(struct iso_train_message message, const float *floats)
{
	zmq_msg_t block;

	message.floats = floats != NULL ? PARAMS : 0;
	if (floats != NULL)
		ck_assert_int_eq(trainmsg_block(floats, PARAMS, &block), 0);
	ck_assert_int_eq(trainmsg_send(router, &peer, &message, floats != NULL ? &block : NULL), 0);
	if (floats != NULL)
		zmq_msg_close(&block);
}

static void hear(const struct trainmsg *message)
{
	const struct iso_train_message *body = &message->message;

	switch (body->type) {
	case ISO_TRAIN_HELLO:
		peer = message->peer;
		heard.hello = body->hello;
		heard.hellos++;
		break;
	case ISO_TRAIN_RESULT:
		ck_assert_uint_lt(heard.results, 512);
		heard.all[heard.results++] = body->result;
		heard.abandoned += (body->result.flags & ISO_TRAIN_ABANDONED) != 0;
		break;
	case ISO_TRAIN_PING:
		heard.ping = body->ping;
		heard.pings++;
		if (!is_mute)
			say((struct iso_train_message){ .type = ISO_TRAIN_PONG,
							.ping = { .term = body->ping.term } },
			    NULL);
		break;
	case ISO_TRAIN_BYE:
		heard.bye = body->bye;
		heard.byes++;
		break;
	case ISO_TRAIN_PONG: break;
	case ISO_TRAIN_WELCOME:
	case ISO_TRAIN_WORK:
	case ISO_TRAIN_CANCEL: ck_abort_msg("not a worker's to say");
	}
}

static void on_router(struct loop_source *from, short revents)
{
	struct trainmsg message;

	(void)revents;
	while (trainmsg_receive(from->socket, true, &message) == 0) {
		hear(&message);
		trainmsg_release(&message);
	}
}

static void on_pool(struct loop_source *from, short revents)
{
	uint32_t tid;

	(void)from;
	(void)revents;
	session_send_results(session);
	while (pool_take_enrolment(pool, &tid))
		;
}

static void on_tick(struct loop_source *from, short revents)
{
	(void)revents;
	timer_consume(from->fd);
	loop_quit(&loop);
}

/* Turns of the loop until the condition holds. */
#define wait_for(condition)                                                                        \
	do {                                                                                       \
		uint64_t until_ns = clock_now_ns() + WAIT_NS;                                      \
		while (!(condition)) {                                                             \
			ck_assert_msg(clock_now_ns() < until_ns, "never: " #condition);            \
			turn();                                                                    \
		}                                                                                  \
	} while (0)

static void turn(void)
{
	ck_assert_int_eq(timer_arm(tick.fd, clock_now_ns() + 2000000u), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
}

static void turns_for(uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns;

	while (clock_now_ns() < until_ns)
		turn();
}

static void add(struct loop_source *to, struct loop_source from)
{
	*to = from;
	to->events = ZMQ_POLLIN;
	ck_assert_int_eq(loop_add(&loop, to), 0);
}

static void open_all(void)
{
	const struct curve_limits limits = { 1 << 20, 1000 };
	struct zap_peer known = { .name = "alder" };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	char endpoint[64];
	struct error error;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	log_init(LOG_CRIT, false);
	for (uint32_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 37 % 251);
	for (uint32_t i = 0; i < SAMPLES; i++)
		labels[i] = (uint8_t)(i % CLASSES);
	/* A port that was free a moment ago. */
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", ntohs(address.sin_port));

	ck_assert_int_eq(curve_keypair_new(&server_keys, &error), 0);
	ck_assert_int_eq(curve_keypair_new(&worker_keys, &error), 0);
	memcpy(known.public_key, worker_keys.public_key, sizeof(known.public_key));
	context = zmq_ctx_new();
	ck_assert_int_eq(zap_open(context, &loop, DOMAIN, &known, 1, &zap, &error), 0);
	router = zmq_socket(context, ZMQ_ROUTER);
	ck_assert_int_eq(curve_server(router, &server_keys, DOMAIN, &limits, &error), 0);
	ck_assert_int_eq(curve_bind(router, endpoint, &error), 0);
	add(&source, (struct loop_source){ .socket = router, .fd = -1, .fn = on_router });
	add(&tick, (struct loop_source){ .fd = timer_open(), .fn = on_tick });
	ck_assert_int_eq(pool_open(2, NULL, &pool, &error), 0);
	add(&results, (struct loop_source){ .fd = pool_fd(pool), .fn = on_pool });

	struct session_config config = {
		.endpoint = endpoint,
		.name = "alder",
		.keypair = &worker_keys,
		.data = &data,
		.pool = pool,
		.speed = { 1, 500000 },
	};
	memcpy(config.server_key, server_keys.public_key, sizeof(config.server_key));
	ck_assert_int_eq(session_open(context, &loop, &config, &session, &error), 0);
	wait_for(heard.hellos > 0);
}

static void close_all(void)
{
	session = session_close(session);
	pool = pool_close(pool);
	zmq_close(router);
	zap = zap_close(zap);
	zmq_ctx_term(context);
	close(tick.fd);
}

static struct iso_train_message welcome(uint64_t term)
{
	return (struct iso_train_message){
		.type = ISO_TRAIN_WELCOME,
		.welcome = { .term = term,
			     .workers = 1,
			     .model = ISO_TRAIN_SOFTMAX,
			     .params = PARAMS,
			     .features = FEATURES,
			     .classes = CLASSES,
			     .samples_max = BATCH,
			     .partition = 1,
			     .ping_ns = PING_NS },
	};
}

static void join(uint64_t term)
{
	say(welcome(term), NULL);
	wait_for(session_view(session).joined);
}

/* `count` tasks from number `first` on at this version. */
static void order(uint64_t term, uint64_t version, uint64_t oldest, uint64_t first, uint32_t count,
		  const float *params)
{
	struct iso_train_task tasks[64];

	ck_assert_uint_le(count, 64);
	for (uint32_t i = 0; i < count; i++)
		tasks[i] = (struct iso_train_task){
			.task = first + i, .attempt = 1, .samples = BATCH, .seed = 5
		};
	say((struct iso_train_message){ .type = ISO_TRAIN_WORK,
					.work = { .term = term,
						  .model_version = version,
						  .oldest = oldest,
						  .count = count,
						  .tasks = tasks } },
	    params);
}

static const float zero[PARAMS];
static float other[PARAMS];

START_TEST(says_who_it_is_and_joins)
{
	ck_assert_str_eq(heard.hello.name, "alder");
	ck_assert_uint_eq(heard.hello.samples, SAMPLES);
	ck_assert_uint_eq(heard.hello.classes, CLASSES);
	ck_assert_uint_eq(heard.hello.data_checksum, 77);
	ck_assert_uint_eq(heard.hello.user_task, 0);
	ck_assert_uint_eq(heard.hello.speed.share_ucpu, 500000);
	join(3);
	/* The share may have changed since the hello. */
	wait_for(heard.pings > 0);
	ck_assert_uint_eq(heard.ping.speed.threads, 1);
}
END_TEST

START_TEST(a_newer_order_leaves_the_older_tasks_where_they_stand)
{
	uint32_t at[3] = { 0 };

	for (uint32_t i = 0; i < PARAMS; i++)
		other[i] = (float)(i % 7) - 3;
	join(1);
	order(1, 1, 0, 10, 20, other);
	order(1, 2, 0, 30, 5, zero);
	wait_for(heard.results == 25);
	ck_assert_uint_eq(heard.abandoned, 0);
	for (uint32_t i = 0; i < 25; i++) {
		const struct iso_train_result *result = &heard.all[i];
		bool is_newer = result->task >= 30;

		ck_assert_uint_eq(result->model_version, is_newer ? 2 : 1);
		ck_assert_uint_eq(result->samples, BATCH);
		ck_assert_uint_eq(result->term, 1);
		/* At zero every class is as likely as the others; at the other point not. */
		ck_assert(is_newer == (fabs(result->loss - log(CLASSES)) < 1e-5));
		at[result->model_version]++;
	}
	ck_assert_uint_eq(at[1], 20);
	ck_assert_uint_eq(pool_points(pool), 1);
}
END_TEST

START_TEST(what_is_older_than_the_order_says_is_in_vain)
{
	uint32_t newer = 0, done = 200;

	join(1);
	/* Some may be done before the word comes; all, if the host is busy just then. */
	for (uint64_t k = 1; k < 20 && done > 50; k++) {
		uint64_t version = 3 * k;

		memset(&heard, 0, sizeof(heard));
		order(1, version, 0, 1000 * k, 60, zero);
		order(1, version + 1, version + 1, 1000 * k + 100, 2, zero);
		for (newer = 0, done = 0; newer < 2;) {
			uint32_t seen = heard.results;

			wait_for(heard.results > seen);
			newer = done = 0;
			for (uint32_t i = 0; i < heard.results; i++) {
				newer += heard.all[i].model_version == version + 1;
				done += heard.all[i].model_version == version &&
					heard.all[i].flags == 0;
			}
		}
	}
	ck_assert_uint_le(done, 50);
	/* And so with a cancel of its own, down to the last task. */
	memset(&heard, 0, sizeof(heard));
	order(1, 1000, 0, 1, 60, zero);
	say((struct iso_train_message){ .type = ISO_TRAIN_CANCEL,
					.cancel = { .term = 1, .oldest = UINT64_MAX } },
	    NULL);
	order(1, 1000, 0, 100, 1, NULL);
	wait_for(heard.results > 0 && heard.all[heard.results - 1].task == 100);
	ck_assert_uint_eq(pool_points(pool), 1);
}
END_TEST

START_TEST(an_order_without_parameters_stands_on_those_that_came)
{
	join(1);
	order(1, 4, 0, 1, 1, zero);
	order(1, 4, 0, 2, 1, NULL);
	wait_for(heard.results == 2);
	ck_assert_double_eq_tol(heard.all[1].loss, log(CLASSES), 1e-5);
	uint64_t dropped = session_view(session).dropped;
	/* A version that was never here, and a term that is over. */
	order(1, 5, 0, 3, 1, NULL);
	order(2, 4, 0, 4, 1, zero);
	order(1, 4, 0, 5, 1, NULL);
	wait_for(heard.results == 3);
	ck_assert_uint_eq(heard.all[2].task, 5);
	ck_assert_uint_eq(session_view(session).dropped, dropped + 2);
}
END_TEST

START_TEST(a_changed_share_is_told_at_once)
{
	join(1);
	wait_for(heard.pings > 0);
	uint32_t before = heard.pings;
	/* Slowed down while it computes: tasks go on, the coordinator plans anew. */
	order(1, 1, 0, 1, 10, zero);
	session_set_speed(session, (struct iso_train_speed){ 1, 100000 });
	wait_for(heard.pings > before && heard.ping.speed.share_ucpu == 100000);
	wait_for(heard.results == 10);
	pool_set_active(pool, 2);
	session_set_speed(session, (struct iso_train_speed){ 2, 2000000 });
	wait_for(heard.ping.speed.threads == 2);
	order(1, 1, 0, 20, 10, NULL);
	wait_for(heard.results == 20);
	ck_assert_uint_eq(heard.abandoned, 0);
	ck_assert_uint_eq(heard.all[19].speed.threads, 2);
}
END_TEST

START_TEST(a_coordinator_that_was_away_starts_from_nothing)
{
	join(1);
	order(1, 9, 0, 1, 60, zero);
	is_mute = true;
	wait_for(!session_view(session).joined);
	uint32_t hellos = heard.hellos;
	wait_for(heard.hellos > hellos);
	is_mute = false;
	/* Nothing of the old term is computed or sent in the new one, not even its point. */
	memset(&heard, 0, sizeof(heard));
	join(2);
	order(2, 9, 0, 1, 1, NULL);
	order(2, 1, 0, 2, 1, zero);
	wait_for(heard.results > 0);
	ck_assert_uint_eq(heard.all[0].term, 2);
	ck_assert_uint_eq(heard.all[0].task, 2);
	ck_assert_uint_eq(session_view(session).dropped, 1);
}
END_TEST

START_TEST(one_that_was_told_to_say_hello_does_so)
{
	join(1);
	uint32_t hellos = heard.hellos;
	say((struct iso_train_message){ .type = ISO_TRAIN_BYE,
					.bye = { .term = 2, .reason = ISO_TRAIN_UNKNOWN } },
	    NULL);
	wait_for(heard.hellos > hellos);
	/* A late one of the term that it has joined since is void. */
	struct iso_train_message slow = welcome(2);
	slow.welcome.ping_ns = WAIT_NS;
	say(slow, NULL);
	wait_for(session_view(session).joined);
	say((struct iso_train_message){ .type = ISO_TRAIN_BYE,
					.bye = { .term = 2, .reason = ISO_TRAIN_UNKNOWN } },
	    NULL);
	turns_for(50000000u);
	ck_assert(session_view(session).joined);
}
END_TEST

/* Whoever begins anew after it has lost its state may be in the term that it was in. */
START_TEST(one_that_was_told_so_in_its_own_term_obeys_after_a_while)
{
	join(1);
	uint32_t hellos = heard.hellos;
	for (uint32_t i = 0; i < 1000 && heard.hellos == hellos; i++) {
		say((struct iso_train_message){ .type = ISO_TRAIN_BYE,
						.bye = { .term = 1,
							 .reason = ISO_TRAIN_UNKNOWN } },
		    NULL);
		turns_for(10000000u);
	}
	ck_assert_uint_gt(heard.hellos, hellos);
	join(1);
}
END_TEST

START_TEST(numbers_that_are_none_are_told_and_after_a_while_it_rests)
{
	other[0] = INFINITY;
	join(1);
	order(1, 1, 0, 1, 19, other);
	wait_for(heard.results == 19);
	/* Whole, so that nobody waits for them. */
	ck_assert_uint_eq(heard.abandoned, 0);
	for (uint32_t i = 0; i < 19; i++)
		ck_assert(!isfinite(heard.all[i].loss));
	ck_assert_uint_gt(heard.all[0].on_cpu_ns, 0);
	ck_assert_uint_eq(session_view(session).tasks_done, 0);
	ck_assert(session_view(session).joined);
	/* One that is fine, and the count starts anew. */
	order(1, 2, 0, 50, 1, zero);
	order(1, 3, 0, 60, 20, other);
	wait_for(heard.byes > 0);
	ck_assert_uint_eq(heard.bye.reason, ISO_TRAIN_FAILED);
	ck_assert_str_eq(heard.bye.text, "losses or gradients are not finite");
	ck_assert_uint_eq(heard.results, 40);
	ck_assert(!session_view(session).joined);
}
END_TEST

START_TEST(a_run_of_a_task_that_is_not_here_is_refused)
{
	struct iso_train_message user = welcome(1);

	user.welcome.model = ISO_TRAIN_USER;
	user.welcome.user_task = 4711;
	say(user, NULL);
	wait_for(heard.byes > 0);
	ck_assert_uint_eq(heard.bye.reason, ISO_TRAIN_REFUSED);
	ck_assert_str_eq(heard.bye.text, "the run trains a user's task, and the worker has none");
	ck_assert(!session_view(session).joined);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("session");
	TCase *tcase = tcase_create("session");

	tcase_add_checked_fixture(tcase, open_all, close_all);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, says_who_it_is_and_joins);
	tcase_add_test(tcase, a_newer_order_leaves_the_older_tasks_where_they_stand);
	tcase_add_test(tcase, what_is_older_than_the_order_says_is_in_vain);
	tcase_add_test(tcase, an_order_without_parameters_stands_on_those_that_came);
	tcase_add_test(tcase, a_changed_share_is_told_at_once);
	tcase_add_test(tcase, a_coordinator_that_was_away_starts_from_nothing);
	tcase_add_test(tcase, one_that_was_told_to_say_hello_does_so);
	tcase_add_test(tcase, one_that_was_told_so_in_its_own_term_obeys_after_a_while);
	tcase_add_test(tcase, numbers_that_are_none_are_told_and_after_a_while_it_rests);
	tcase_add_test(tcase, a_run_of_a_task_that_is_not_here_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/admin.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/net/admin_call.h"
#include "agent/net/curve.h"
#include "agent/net/zap.h"
#include "tests/test.h"

#define S_NS 1000000000ull

/* A node in a process of its own: control socket and administrators' endpoint, one table. */

static char directory[64], control_endpoint[96], endpoint[128];
static struct curve_keypair node_keys, alice, neighbour, stranger;
static pid_t server;
static void *context;
static struct error error;

/* The server's side; lives in the child only. */
static struct {
	struct loop loop;
	struct control_token tokens[64];
	unsigned waiting;
	unsigned served;
	struct zap *zap;
} node;

static json_t *on_ask(void *with, const json_t *request)
{
	(void)with;
	node.served++;
	return json_pack("{s:O?}", "you", json_object_get(request, "you"));
}

static json_t *on_later(void *with, const json_t *request, const struct control_token *token)
{
	(void)with;
	(void)request;
	node.tokens[node.waiting++] = *token;
	return NULL;
}

/* Answers all who wait with what their tokens call them. */
static json_t *on_release(void *with, const json_t *request)
{
	unsigned count = node.waiting;

	(void)with;
	(void)request;
	node.waiting = 0;
	for (unsigned i = 0; i < count; i++)
		control_answer(&node.tokens[i], json_pack("{s:s}", "who", node.tokens[i].who));
	return json_pack("{s:i}", "released", count);
}

static json_t *on_counters(void *with, const json_t *request)
{
	const struct zap_counters *zap = zap_counters(node.zap, ADMIN_DOMAIN);

	(void)with;
	(void)request;
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "served", node.served, "waiting",
			 node.waiting, "accepted", (int)zap->accepted, "keys",
			 (int)zap->refused_key, "greetings", (int)zap->refused_greeting);
}

static json_t *on_large(void *with, const json_t *request)
{
	size_t bytes = (size_t)json_integer_value(json_object_get(request, "bytes"));
	char *text = malloc(bytes + 1);

	(void)with;
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	json_t *reply = json_pack("{s:s}", "text", text);
	free(text);
	return reply;
}

/* Alice has another key from now on: the stranger's. */
static json_t *on_rekey(void *with, const json_t *request)
{
	struct zap_peer peer = { .name = "alice" };

	(void)with;
	(void)request;
	memcpy(peer.public_key, stranger.public_key, sizeof(peer.public_key));
	return json_pack("{s:i}", "set", zap_set_peers(node.zap, ADMIN_DOMAIN, &peer, 1, NULL));
}

static const struct control_command commands[] = {
	{ .name = "rekey", .fn = on_rekey },
	{ .name = "ask", .changes_state = true, .fn = on_ask },
	{ .name = "later", .changes_state = true, .later = on_later },
	{ .name = "release", .fn = on_release },
	{ .name = "counters", .fn = on_counters },
	{ .name = "large", .fn = on_large },
};

_Noreturn static void serve(int ready)
{
	struct zap_peer peer = { .name = "b" };
	struct admin_peer administrator = { .name = "alice", .public_key = alice.public_key };
	void *zmq_context = zmq_ctx_new();
	struct control *control;
	struct admin *admin;

	log_init(LOG_ERR, false);
	memcpy(peer.public_key, neighbour.public_key, sizeof(peer.public_key));
	int r = zap_open(zmq_context, &node.loop, "isobar", &peer, 1, &node.zap, &error);
	struct admin_config admin_config = {
		.listen = "tcp://127.0.0.1:*",
		.keys = &node_keys,
		.administrators = &administrator,
		.administrator_count = 1,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.zap = node.zap,
	};
	struct control_config control_config = {
		.directory = directory,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.idle_ns = S_NS / 5,
	};
	if (r == 0)
		r = control_open(&control_config, &node.loop, &control, &error);
	if (r == 0)
		r = admin_open(&admin_config, zmq_context, &node.loop, &admin, &error);
	if (r < 0) {
		fprintf(stderr, "%s\n", error.text);
		_exit(1);
	}
	if (write(ready, admin_address(admin), strlen(admin_address(admin)) + 1) < 0)
		_exit(1);
	loop_run(&node.loop);
	_exit(1);
}

static void setup(void)
{
	struct curve_keypair *all[] = { &node_keys, &alice, &neighbour, &stranger };
	int ready[2];

	snprintf(directory, sizeof(directory), "/tmp/isobar-admin-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(control_endpoint, sizeof(control_endpoint), "unix:%s/control", directory);
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ck_assert_int_eq(curve_keypair_new(all[i], &error), 0);
	ck_assert_int_eq(pipe(ready), 0);
	server = fork();
	if (server == 0)
		serve(ready[1]);
	close(ready[1]);
	ck_assert_int_gt(read(ready[0], endpoint, sizeof(endpoint)), 0);
	close(ready[0]);
	context = zmq_ctx_new();
}

static void teardown(void)
{
	char command[96];
	int status;

	zmq_ctx_term(context);
	kill(server, SIGKILL);
	ck_assert_int_eq(waitpid(server, &status, 0), server);
	/* It was alive until we ended it. */
	ck_assert(WIFSIGNALED(status));
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static struct admin_target as(const struct curve_keypair *who)
{
	return (struct admin_target){
		.endpoint = endpoint,
		.keys = who,
		.server_key = node_keys.public_key,
	};
}

static int ask(const struct admin_target *target, const char *text, json_t **ret_reply)
{
	json_t *request = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(request);
	int r = admin_call(target, context, request, 10 * S_NS, ret_reply, &error);
	json_decref(request);
	return r;
}

static void answers(const struct admin_target *target, const char *request, const char *expected)
{
	json_t *reply = NULL;
	int r = ask(target, request, &reply);

	ck_assert_msg(r == 0, "%s", error.text);
	char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	ck_assert_str_eq(text, expected);
	free(text);
	json_decref(reply);
}

static int counter(const char *name)
{
	struct admin_target target = as(&alice);
	json_t *reply = NULL;

	int r = ask(&target, "{\"command\": \"counters\"}", &reply);
	ck_assert_msg(r == 0, "%s", error.text);
	int value = (int)json_integer_value(json_object_get(reply, name));
	json_decref(reply);
	return value;
}

/* A client that does not wait: its socket, with one request under way. */
static void *begin(const struct curve_keypair *who, const void *bytes, size_t size)
{
	static const struct curve_limits limits = { .message_bytes_max = 1 << 20,
						    .queue_messages_max = 10 };
	void *socket = zmq_socket(context, ZMQ_DEALER);
	int no_immediate = 0;

	ck_assert_int_eq(curve_client(socket, who, node_keys.public_key, &limits, &error), 0);
	ck_assert_int_eq(zmq_setsockopt(socket, ZMQ_IMMEDIATE, &no_immediate, sizeof(int)), 0);
	ck_assert_int_eq(curve_connect(socket, endpoint, &error), 0);
	ck_assert_int_eq(zmq_send(socket, bytes, size, 0), (int)size);
	return socket;
}

/* Its answer within ten seconds, or NULL. */
static const char *answer_to(void *socket)
{
	static char text[1024];
	zmq_pollitem_t item = { .socket = socket, .events = ZMQ_POLLIN };

	if (zmq_poll(&item, 1, 10000) != 1)
		return NULL;
	int size = zmq_recv(socket, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(size, 0);
	text[size < (int)sizeof(text) ? size : (int)sizeof(text) - 1] = '\0';
	return text;
}

static void until_waiting(int count)
{
	for (int i = 0; i < 500 && counter("waiting") != count; i++)
		usleep(10000);
	ck_assert_int_eq(counter("waiting"), count);
}

START_TEST(an_administrator_is_answered_as_on_the_control_socket)
{
	struct admin_target over_tcp = as(&alice), here = { .endpoint = control_endpoint };
	const struct admin_target *both[] = { &over_tcp, &here };

	for (int i = 0; i < 2; i++) {
		answers(both[i], "{\"command\": \"ask\", \"you\": 7}", "{\"ok\":true,\"you\":7}");
		answers(both[i], "{\"command\": \"dance\"}",
			"{\"error\":\"there is no command 'dance'\",\"ok\":false}");
		answers(both[i], "[1]", "{\"error\":\"the request has no command\",\"ok\":false}");
	}
	ck_assert_int_eq(counter("served"), 2);
}
END_TEST

START_TEST(a_context_of_its_own_will_do)
{
	struct admin_target target = as(&alice);
	json_t *request = json_pack("{s:s}", "command", "ask"), *reply = NULL;

	ck_assert_int_eq(admin_call(&target, NULL, request, 10 * S_NS, &reply, &error), 0);
	ck_assert(json_is_true(json_object_get(reply, "ok")));
	json_decref(request);
	json_decref(reply);
}
END_TEST

static void is_refused(const struct curve_keypair *who)
{
	struct admin_target target = as(who);
	json_t *reply = (json_t *)&target;

	ck_assert_int_eq(ask(&target, "{\"command\": \"ask\"}", &reply), -EACCES);
	ck_assert_ptr_eq(reply, (json_t *)&target);
	ck_assert_ptr_nonnull(strstr(error.text, "the node refuses this key"));
	ck_assert_ptr_nonnull(strstr(error.text, endpoint));
	ck_assert_int_eq(counter("served"), 0);
}

START_TEST(an_unknown_key_is_refused)
{
	is_refused(&stranger);
	ck_assert_int_ge(counter("keys"), 1);
}
END_TEST

START_TEST(a_neighbours_key_opens_nothing_here)
{
	is_refused(&neighbour);
	ck_assert_int_ge(counter("keys"), 1);
}
END_TEST

/* By hand: libzmq's client hangs up as soon as it reads CURVE, perhaps before it was heard. */
START_TEST(a_client_without_curve_is_refused)
{
	static const char greeting[64] = { '\xff', 0,	 0, 0, 0,   0,	 0,   0,
					   1,	   0x7f, 3, 0, 'N', 'U', 'L', 'L' };
	struct sockaddr_in address = { .sin_family = AF_INET };
	char end;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(write(fd, greeting, sizeof(greeting)), (ssize_t)sizeof(greeting));
	for (int i = 0; i < 500 && counter("greetings") == 0; i++)
		usleep(10000);
	ck_assert_int_eq(counter("greetings"), 1);
	/* Its greeting, and the end. */
	while (read(fd, &end, 1) > 0)
		;
	ck_assert_int_eq(counter("served"), 0);
	close(fd);
}
END_TEST

START_TEST(another_nodes_key_is_noticed)
{
	struct admin_target target = as(&alice);
	json_t *reply = NULL;

	target.server_key = stranger.public_key;
	ck_assert_int_eq(ask(&target, "{\"command\": \"ask\"}", &reply), -EACCES);
	ck_assert_int_eq(counter("served"), 0);
}
END_TEST

START_TEST(where_nobody_listens_the_call_ends_at_once)
{
	struct admin_target target = as(&alice);
	uint64_t before_ns = clock_now_ns();
	json_t *reply = NULL;

	target.endpoint = "tcp://127.0.0.1:1";
	ck_assert_int_eq(ask(&target, "{\"command\": \"ask\"}", &reply), -ECONNREFUSED);
	ck_assert_str_eq(error.text, "tcp://127.0.0.1:1: nobody listens there");
	ck_assert_uint_lt(clock_now_ns() - before_ns, 8 * S_NS);
	target.endpoint = "unix:/tmp/no/such/socket";
	ck_assert_int_eq(ask(&target, "{\"command\": \"ask\"}", &reply), -ENOENT);
}
END_TEST

START_TEST(who_does_not_answer_is_waited_for_only_so_long)
{
	struct admin_target target = as(&alice);
	json_t *request = json_pack("{s:s}", "command", "later"), *reply = NULL;

	ck_assert_int_eq(admin_call(&target, context, request, S_NS / 2, &reply, &error),
			 -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(error.text, "did not answer in time"));
	json_decref(request);
}
END_TEST

START_TEST(endpoints_are_of_two_kinds)
{
	ck_assert_int_eq(admin_endpoint_check("tcp://192.0.2.1:7401", &error), 0);
	ck_assert_int_eq(admin_endpoint_check("unix:/run/isobar/a/control", &error), 0);
	ck_assert_int_eq(admin_endpoint_check("unix:run", &error), -EINVAL);
	ck_assert_str_eq(error.text, "'unix:run' is not unix:/PATH");
	ck_assert_int_eq(admin_endpoint_check("tcp://node-a:7401", &error), -EINVAL);
	ck_assert_int_eq(admin_endpoint_check("ipc:///run/x", &error), -EINVAL);
}
END_TEST

START_TEST(garbage_is_answered_with_the_reason)
{
	static const char nested[] = "[[[[[[[[";
	void *socket = begin(&alice, nested, sizeof(nested) - 1);
	const char *text = answer_to(socket);

	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(strstr(text, "the request is no JSON object"));
	zmq_close(socket);
	socket = begin(&alice, "", 0);
	text = answer_to(socket);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_nonnull(strstr(text, "the request is no JSON object"));
	zmq_close(socket);
	ck_assert_int_eq(counter("served"), 0);
}
END_TEST

/* By its name alone it would be let through. */
START_TEST(a_connection_does_not_outlive_its_key)
{
	struct admin_target here = { .endpoint = control_endpoint }, renewed = as(&stranger);
	void *socket = begin(&alice, "{\"command\":\"ask\"}", 17);

	ck_assert_str_eq(answer_to(socket), "{\"ok\":true,\"you\":null}");
	answers(&here, "{\"command\": \"rekey\"}", "{\"ok\":true,\"set\":0}");
	ck_assert_int_ge(zmq_send(socket, "{\"command\":\"ask\"}", 17, 0), 0);
	ck_assert_str_eq(answer_to(socket),
			 "{\"error\":\"this key may give no commands any more\",\"ok\":false}");
	answers(&renewed, "{\"command\": \"ask\", \"you\": 3}", "{\"ok\":true,\"you\":3}");
	zmq_close(socket);
}
END_TEST

START_TEST(a_message_of_two_frames_is_dropped)
{
	void *socket = begin(&alice, "{\"command\":\"ask\"}", 17);

	ck_assert_ptr_nonnull(answer_to(socket));
	ck_assert_int_ge(zmq_send(socket, "{\"command\":\"ask\"}", 17, ZMQ_SNDMORE), 0);
	ck_assert_int_ge(zmq_send(socket, "more", 4, 0), 0);
	ck_assert_int_ge(zmq_send(socket, "{\"command\":\"ask\",\"you\":2}", 25, 0), 0);
	ck_assert_str_eq(answer_to(socket), "{\"ok\":true,\"you\":2}");
	ck_assert_int_eq(counter("served"), 2);
	zmq_close(socket);
}
END_TEST

START_TEST(a_request_that_is_too_long_costs_the_connection)
{
	size_t size = 2 * CONTROL_PACKET_BYTES_MAX;
	char *bytes = malloc(size);

	memset(bytes, ' ', size);
	memcpy(bytes, "{\"command\":\"ask\"}", 17);
	void *socket = begin(&alice, bytes, size);
	zmq_pollitem_t item = { .socket = socket, .events = ZMQ_POLLIN };
	ck_assert_int_eq(zmq_poll(&item, 1, 500), 0);
	/* Whoever comes later is served. */
	ck_assert_int_eq(counter("served"), 0);
	zmq_close(socket);
	free(bytes);
}
END_TEST

START_TEST(a_reply_that_is_too_long_is_replaced)
{
	struct admin_target target = as(&alice);
	json_t *reply = NULL;

	ck_assert_int_eq(ask(&target, "{\"command\": \"large\", \"bytes\": 250000}", &reply), 0);
	ck_assert_uint_eq(json_string_length(json_object_get(reply, "text")), 250000);
	json_decref(reply);
	answers(&target, "{\"command\": \"large\", \"bytes\": 300000}",
		"{\"error\":\"the reply is too large\",\"ok\":false}");
}
END_TEST

START_TEST(the_answer_may_come_later)
{
	struct admin_target target = as(&alice);
	void *first = begin(&alice, "{\"command\":\"later\"}", 19);
	void *second = begin(&alice, "{\"command\":\"later\"}", 19);

	until_waiting(2);
	answers(&target, "{\"command\": \"release\"}", "{\"ok\":true,\"released\":2}");
	ck_assert_str_eq(answer_to(first), "{\"ok\":true,\"who\":\"administrator alice\"}");
	ck_assert_str_eq(answer_to(second), "{\"ok\":true,\"who\":\"administrator alice\"}");
	zmq_close(first);
	zmq_close(second);
}
END_TEST

START_TEST(a_client_that_disappears_before_its_answer_is_harmless)
{
	struct admin_target target = as(&alice);

	zmq_close(begin(&alice, "{\"command\":\"later\"}", 19)); /* perhaps before it was sent */
	void *gone = begin(&alice, "{\"command\":\"later\"}", 19);
	until_waiting(1);
	zmq_close(gone);
	usleep(200000);
	answers(&target, "{\"command\": \"release\"}", "{\"ok\":true,\"released\":1}");
	answers(&target, "{\"command\": \"ask\"}", "{\"ok\":true,\"you\":null}");
}
END_TEST

START_TEST(only_so_many_may_wait)
{
	struct admin_target target = as(&alice);
	void *sockets[ADMIN_WAITING_MAX];

	for (unsigned i = 0; i < ADMIN_WAITING_MAX - 1; i++)
		sockets[i] = begin(&alice, "{\"command\":\"later\"}", 19);
	until_waiting((int)ADMIN_WAITING_MAX - 1);
	sockets[ADMIN_WAITING_MAX - 1] = begin(&alice, "{\"command\":\"later\"}", 19);
	usleep(300000);
	/* Full: whoever asks now, be it for something short, is turned away, and may come again. */
	answers(&target, "{\"command\": \"release\"}",
		"{\"error\":\"16 requests wait for their answers: ask again later\",\"ok\":false}");
	target.endpoint = control_endpoint;
	answers(&target, "{\"command\": \"release\"}", "{\"ok\":true,\"released\":16}");
	for (unsigned i = 0; i < ADMIN_WAITING_MAX; i++) {
		ck_assert_ptr_nonnull(answer_to(sockets[i]));
		zmq_close(sockets[i]);
	}
	target.endpoint = endpoint;
	answers(&target, "{\"command\": \"ask\"}", "{\"ok\":true,\"you\":null}");
}
END_TEST

/* Longer than the control socket's idle time: who waits for us is not silent. */
START_TEST(on_the_control_socket_as_well)
{
	struct admin_target here = { .endpoint = control_endpoint };
	char expected[64];
	int status;

	snprintf(expected, sizeof(expected), "{\"ok\":true,\"who\":\"uid %u\"}",
		 (unsigned)getuid());
	pid_t child = fork();
	if (child == 0) {
		json_t *request = json_pack("{s:s}", "command", "later"), *reply = NULL;
		int r = admin_call(&here, NULL, request, 10 * S_NS, &reply, &error);

		if (r < 0)
			_exit(1);
		char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
		_exit(strcmp(text, expected) == 0 ? 0 : 2);
	}
	until_waiting(1);
	usleep(600000);
	answers(&here, "{\"command\": \"release\"}", "{\"ok\":true,\"released\":1}");
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("admin");
	TCase *who = tcase_create("who"), *what = tcase_create("what");
	TCase *later = tcase_create("later");

	tcase_add_checked_fixture(who, setup, teardown);
	tcase_add_test(who, an_administrator_is_answered_as_on_the_control_socket);
	tcase_add_test(who, a_context_of_its_own_will_do);
	tcase_add_test(who, an_unknown_key_is_refused);
	tcase_add_test(who, a_neighbours_key_opens_nothing_here);
	tcase_add_test(who, a_client_without_curve_is_refused);
	tcase_add_test(who, another_nodes_key_is_noticed);
	tcase_add_test(who, where_nobody_listens_the_call_ends_at_once);
	tcase_add_test(who, who_does_not_answer_is_waited_for_only_so_long);
	tcase_add_test(who, endpoints_are_of_two_kinds);
	tcase_set_timeout(who, 60);
	suite_add_tcase(suite, who);
	tcase_add_checked_fixture(what, setup, teardown);
	tcase_add_test(what, garbage_is_answered_with_the_reason);
	tcase_add_test(what, a_connection_does_not_outlive_its_key);
	tcase_add_test(what, a_message_of_two_frames_is_dropped);
	tcase_add_test(what, a_request_that_is_too_long_costs_the_connection);
	tcase_add_test(what, a_reply_that_is_too_long_is_replaced);
	tcase_set_timeout(what, 60);
	suite_add_tcase(suite, what);
	tcase_add_checked_fixture(later, setup, teardown);
	tcase_add_test(later, the_answer_may_come_later);
	tcase_add_test(later, a_client_that_disappears_before_its_answer_is_harmless);
	tcase_add_test(later, only_so_many_may_wait);
	tcase_add_test(later, on_the_control_socket_as_well);
	tcase_set_timeout(later, 60);
	suite_add_tcase(suite, later);
	return suite;
}

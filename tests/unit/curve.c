/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/curve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/net/zap.h"
#include "tests/test.h"

#define WAIT_MS 5000

/* A silence that is expected; long enough for what should not come. */
#define SILENCE_MS 300

static const struct curve_limits limits = { .message_bytes_max = 1000, .queue_messages_max = 8 };

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/isobar-curve.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, mode_t mode, const char *text)
{
	FILE *file = fopen(in_folder(name), "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(chmod(in_folder(name), mode), 0);
}

START_TEST(reads_back_the_keys_it_writes)
{
	struct curve_keypair made, read;
	char public_key[CURVE_KEY_BYTES];
	struct error error;
	struct stat stat_secret, stat_public;

	umask(0);
	ck_assert_int_eq(curve_keypair_new(&made, &error), 0);
	ck_assert_int_eq(curve_keypair_write(&made, in_folder("a.key"), in_folder("a.pub"), &error),
			 0);
	ck_assert_int_eq(stat(in_folder("a.key"), &stat_secret), 0);
	ck_assert_int_eq(stat(in_folder("a.pub"), &stat_public), 0);
	ck_assert_uint_eq(stat_secret.st_mode & 07777, 0600);
	ck_assert_uint_eq(stat_public.st_mode & 07777, 0644);
	ck_assert_int_eq(curve_secret_read(in_folder("a.key"), &read, &error), 0);
	ck_assert_str_eq(read.secret_key, made.secret_key);
	ck_assert_str_eq(read.public_key, made.public_key);
	ck_assert_int_eq(curve_public_read(in_folder("a.pub"), public_key, &error), 0);
	ck_assert_str_eq(public_key, made.public_key);
	curve_keypair_wipe(&read);
	ck_assert_int_eq(read.secret_key[0], '\0');
}
END_TEST

START_TEST(never_overwrites_a_key)
{
	struct curve_keypair keypair;
	struct error error;

	ck_assert_int_eq(curve_keypair_new(&keypair, &error), 0);
	put("old.pub", 0644, "mine\n");
	ck_assert_int_eq(
	    curve_keypair_write(&keypair, in_folder("new.key"), in_folder("old.pub"), &error),
	    -EEXIST);
	ck_assert_ptr_nonnull(strstr(error.text, "old.pub"));
	/* No half of a pair is left behind. */
	ck_assert_int_eq(access(in_folder("new.key"), F_OK), -1);
	put("old.key", 0600, "mine\n");
	ck_assert_int_eq(
	    curve_keypair_write(&keypair, in_folder("old.key"), in_folder("new.pub"), &error),
	    -EEXIST);
	ck_assert_int_eq(access(in_folder("new.pub"), F_OK), -1);
}
END_TEST

#define GOOD "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

START_TEST(refuses_what_is_no_secret_key)
{
	static const struct {
		mode_t mode;
		int code;
		const char *text, *said;
	} cases[] = {
		{ 0640, -EPERM, "secret-key " GOOD "\n", "chmod 600" },
		{ 0604, -EPERM, "secret-key " GOOD "\n", "chmod 600" },
		{ 0600, -EINVAL, "", "no line 'secret-key KEY'" },
		{ 0600, -EINVAL, "# only a comment\n", "no line" },
		{ 0600, -EINVAL, "# x\npublic-key " GOOD "\n", "line 2: expected 'secret-key'" },
		{ 0600, -EINVAL, GOOD "\n", "line 1: expected" },
		{ 0600, -EINVAL, "secret-key short\n", "line 1: the key is not forty" },
		{ 0600, -EINVAL, "secret-key " GOOD " \n", "line 1: the key is not forty" },
		{ 0600, -EINVAL, "secret-key ########################################\n",
		  "line 1: the key is not forty" },
		{ 0600, -EINVAL, "secret-key " GOOD "\nsecret-key " GOOD "\n", "line 2: a second" },
	};
	struct curve_keypair keypair;
	struct error error;

	memset(&keypair, 'u', sizeof(keypair));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put("k", cases[i].mode, cases[i].text);
		ck_assert_int_eq(curve_secret_read(in_folder("k"), &keypair, &error),
				 cases[i].code);
		ck_assert_msg(strstr(error.text, cases[i].said) != NULL, "%s", error.text);
		ck_assert_ptr_nonnull(strstr(error.text, in_folder("k")));
		ck_assert_int_eq(keypair.secret_key[0], 'u');
	}
	ck_assert_int_eq(curve_secret_read(in_folder("absent"), &keypair, &error), -ENOENT);
	put("k", 0600, "# fine\n\nsecret-key " GOOD "\n");
	ck_assert_int_eq(curve_secret_read(in_folder("k"), &keypair, &error), 0);
	ck_assert_str_eq(keypair.secret_key, GOOD);
}
END_TEST

START_TEST(wants_numeric_endpoints)
{
	static const char *const good[] = { "tcp://192.0.2.1:7400", "tcp://[::1]:1",
					    "tcp://0.0.0.0:65535" };
	static const char *const bad[] = {
		"192.0.2.1:7400",	 "ipc:///run/x",	"tcp://localhost:7400",
		"tcp://192.0.2.1",	 "tcp://192.0.2.1:",	"tcp://192.0.2.1:0",
		"tcp://192.0.2.1:65536", "tcp://::1:7400",	"tcp://[192.0.2.1]:7400",
		"tcp://*:7400",		 "tcp://192.0.2.1:7 ",	"tcp://:7400",
		"tcp://[]:7400",	 "tcp://192.0.2.1:74x", "tcp://",
	};
	struct error error;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(curve_endpoint_check(good[i], &error) == 0, "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(curve_endpoint_check(bad[i], &error) == -EINVAL, "%s", bad[i]);
}
END_TEST

/* A ROUTER on a loopback port, its ZAP handler and one allowed key. */
static struct server {
	void *context;
	void *socket;
	struct loop loop;
	struct zap *zap;
	struct loop_source source, timer;
	struct curve_keypair keypair, allowed;
	char endpoint[64];
	/* What came in during run(). */
	unsigned received;
	char user[64], text[64];
} server;

static void on_message(struct loop_source *source, short revents)
{
	zmq_msg_t message;

	(void)revents;
	zmq_msg_init(&message);
	while (zmq_msg_recv(&message, source->socket, ZMQ_DONTWAIT) >= 0) {
		if (zmq_msg_more(&message))
			continue;
		const char *user = curve_user_id(&message);

		server.received++;
		snprintf(server.user, sizeof(server.user), "%s", user != NULL ? user : "");
		snprintf(server.text, sizeof(server.text), "%.*s", (int)zmq_msg_size(&message),
			 (const char *)zmq_msg_data(&message));
		loop_quit(&server.loop);
	}
	zmq_msg_close(&message);
}

static void on_timer(struct loop_source *source, short revents)
{
	(void)revents;
	timer_consume(source->fd);
	loop_quit(&server.loop);
}

/* Serves until a message is here or the time is over. */
static void run(unsigned ms)
{
	ck_assert_int_eq(timer_arm(server.timer.fd, clock_now_ns() + ms * 1000000ull), 0);
	ck_assert_int_eq(loop_run(&server.loop), 0);
}

/* Serves until the counter moves or WAIT_MS are over. */
static void run_until_counted(const uint64_t *counter)
{
	for (unsigned waited_ms = 0; *counter == 0 && waited_ms < WAIT_MS; waited_ms += 20)
		run(20);
	ck_assert_uint_gt(*counter, 0);
}

static void bind_server(void)
{
	struct error error;
	size_t size = sizeof(server.endpoint);

	ck_assert_int_eq(curve_server(server.socket, &server.keypair, "test", &limits, &error), 0);
	if (server.zap != NULL)
		ck_assert_int_eq(zap_watch(server.zap, "test", server.socket, &error), 0);
	ck_assert_int_eq(curve_bind(server.socket, "tcp://127.0.0.1:*", &error), 0);
	ck_assert_int_eq(zmq_getsockopt(server.socket, ZMQ_LAST_ENDPOINT, server.endpoint, &size),
			 0);
}

static void start_server(void)
{
	struct zap_peer peer = { .name = "node-a" };
	struct error error;

	memset(&server, 0, sizeof(server));
	server.context = zmq_ctx_new();
	ck_assert_int_eq(curve_keypair_new(&server.keypair, &error), 0);
	ck_assert_int_eq(curve_keypair_new(&server.allowed, &error), 0);
	memcpy(peer.public_key, server.allowed.public_key, sizeof(peer.public_key));
	ck_assert_int_eq(
	    zap_open(server.context, &server.loop, "test", &peer, 1, &server.zap, &error), 0);
	server.socket = zmq_socket(server.context, ZMQ_ROUTER);
	bind_server();
	server.source = (struct loop_source){
		.socket = server.socket, .fd = -1, .events = ZMQ_POLLIN, .fn = on_message
	};
	server.timer =
	    (struct loop_source){ .fd = timer_open(), .events = ZMQ_POLLIN, .fn = on_timer };
	ck_assert_int_eq(loop_add(&server.loop, &server.source), 0);
	ck_assert_int_eq(loop_add(&server.loop, &server.timer), 0);
}

static void stop_server(void)
{
	close(server.timer.fd);
	zap_unwatch(server.socket);
	zmq_close(server.socket);
	server.zap = zap_close(server.zap);
	zmq_ctx_term(server.context);
}

static void *connect_with(const struct curve_keypair *keypair, const char *server_key)
{
	void *socket = zmq_socket(server.context, ZMQ_DEALER);
	struct error error;
	int timeout_ms = 2000, linger_ms = 0;

	if (keypair != NULL)
		ck_assert_int_eq(curve_client(socket, keypair, server_key, &limits, &error), 0);
	/* So that messages wait in the pipe of a connection that is not up. */
	int immediate = 0;
	zmq_setsockopt(socket, ZMQ_IMMEDIATE, &immediate, sizeof(immediate));
	zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout_ms, sizeof(timeout_ms));
	zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	ck_assert_int_eq(curve_connect(socket, server.endpoint, &error), 0);
	return socket;
}

START_TEST(known_key_passes_with_its_name)
{
	void *client = connect_with(&server.allowed, server.keypair.public_key);

	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	run(WAIT_MS);
	ck_assert_uint_eq(server.received, 1);
	ck_assert_str_eq(server.user, "node-a");
	ck_assert_str_eq(server.text, "hello");
	ck_assert_uint_eq(zap_counters(server.zap, "test")->accepted, 1);
	zmq_close(client);
}
END_TEST

static int option_of(void *socket, int option)
{
	int value = -1;
	size_t size = sizeof(value);

	ck_assert_int_eq(zmq_getsockopt(socket, option, &value, &size), 0);
	return value;
}

/* Or libzmq stops reading, and can abort if the connection ends then. */
START_TEST(more_fits_where_it_is_received_than_a_peer_may_send)
{
	void *client = connect_with(&server.allowed, server.keypair.public_key);

	ck_assert_int_eq(option_of(client, ZMQ_SNDHWM), limits.queue_messages_max);
	ck_assert_int_ge(option_of(client, ZMQ_RCVHWM), limits.queue_messages_max + 4);
	ck_assert_int_ge(option_of(server.socket, ZMQ_RCVHWM), limits.queue_messages_max + 4);
	zmq_close(client);
}
END_TEST

/* From here on the log goes to a file; each test is a process of its own. */
static void listen_to_the_log(void)
{
	ck_assert_ptr_nonnull(freopen(in_folder("log"), "we", stderr));
	ck_assert_int_eq(setvbuf(stderr, NULL, _IONBF, 0), 0);
}

static const char *logged(void)
{
	static char text[1024];
	FILE *file = fopen(in_folder("log"), "re");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

START_TEST(unknown_key_is_refused_and_counted)
{
	struct curve_keypair stranger;
	struct error error;

	ck_assert_int_eq(curve_keypair_new(&stranger, &error), 0);
	void *client = connect_with(&stranger, server.keypair.public_key);
	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	listen_to_the_log();
	run_until_counted(&zap_counters(server.zap, "test")->refused_key);
	run(SILENCE_MS);
	ck_assert_uint_eq(server.received, 0);
	ck_assert_uint_eq(zap_counters(server.zap, "test")->accepted, 0);
	zmq_close(client);
	/* Of a TCP connection, ZAP tells the host without the port. */
	ck_assert_str_eq(logged(), "refused a connection from '127.0.0.1': "
				   "its key is in no peer's entry; refused so far: 1\n");
}
END_TEST

START_TEST(null_client_is_refused_and_counted)
{
	void *client = connect_with(NULL, NULL);
	char expected[160];

	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	listen_to_the_log();
	run_until_counted(&zap_counters(server.zap, "test")->refused_greeting);
	run(SILENCE_MS);
	ck_assert_uint_eq(server.received, 0);
	zmq_close(client);
	/* The address known here is the server's own. */
	snprintf(expected, sizeof(expected), "refused a connection at '%s': no CURVE handshake",
		 server.endpoint);
	ck_assert_int_eq(strncmp(logged(), expected, strlen(expected)), 0);
}
END_TEST

START_TEST(wrong_server_key_fails)
{
	struct curve_keypair other;
	struct error error;

	ck_assert_int_eq(curve_keypair_new(&other, &error), 0);
	void *client = connect_with(&server.allowed, other.public_key);
	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	run(SILENCE_MS);
	ck_assert_uint_eq(server.received, 0);
	ck_assert_uint_eq(zap_counters(server.zap, "test")->accepted, 0);
	zmq_close(client);
}
END_TEST

START_TEST(oversized_message_is_dropped)
{
	void *client = connect_with(&server.allowed, server.keypair.public_key);
	char big[4000] = { 0 };

	ck_assert_int_eq(zmq_send(client, big, sizeof(big), 0), sizeof(big));
	run(SILENCE_MS);
	ck_assert_uint_eq(server.received, 0);
	ck_assert_uint_ge(zap_counters(server.zap, "test")->accepted, 1);
	/* It may come back and behave; what it says before it knows of the break is lost. */
	for (unsigned waited_ms = 0; server.received == 0 && waited_ms < WAIT_MS;
	     waited_ms += 100) {
		(void)zmq_send(client, "small", 5, ZMQ_DONTWAIT);
		run(100);
	}
	ck_assert_str_eq(server.text, "small");
	zmq_close(client);
}
END_TEST

START_TEST(nobody_gets_in_without_a_handler)
{
	server.zap = zap_close(server.zap);
	void *client = connect_with(&server.allowed, server.keypair.public_key);

	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	run(SILENCE_MS);
	ck_assert_uint_eq(server.received, 0);
	zmq_close(client);
}
END_TEST

START_TEST(a_key_that_was_removed_is_refused)
{
	struct error error;

	ck_assert_int_eq(zap_set_peers(server.zap, "test", NULL, 0, &error), 0);
	void *client = connect_with(&server.allowed, server.keypair.public_key);
	ck_assert_int_eq(zmq_send(client, "hello", 5, 0), 5);
	run_until_counted(&zap_counters(server.zap, "test")->refused_key);
	ck_assert_uint_eq(server.received, 0);
	zmq_close(client);
}
END_TEST

START_TEST(two_peers_need_two_keys_and_two_names)
{
	struct zap_peer peers[2] = { { .name = "a" }, { .name = "b" } };
	struct error error;

	memcpy(peers[0].public_key, server.allowed.public_key, CURVE_KEY_BYTES);
	memcpy(peers[1].public_key, server.allowed.public_key, CURVE_KEY_BYTES);
	ck_assert_int_eq(zap_set_peers(server.zap, "test", peers, 2, &error), -EEXIST);
	memcpy(peers[1].public_key, server.keypair.public_key, CURVE_KEY_BYTES);
	ck_assert_int_eq(zap_set_peers(server.zap, "test", peers, 2, &error), 0);
	peers[1].name[0] = 'a';
	ck_assert_int_eq(zap_set_peers(server.zap, "test", peers, 2, &error), -EEXIST);
	peers[1].name[0] = 'b';
	peers[1].public_key[0] = '\0';
	ck_assert_int_eq(zap_set_peers(server.zap, "test", peers, 2, &error), -EINVAL);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("curve");
	TCase *files = tcase_create("files");
	TCase *sockets = tcase_create("sockets");

	tcase_add_checked_fixture(files, make_folder, remove_folder);
	tcase_add_test(files, reads_back_the_keys_it_writes);
	tcase_add_test(files, never_overwrites_a_key);
	tcase_add_test(files, refuses_what_is_no_secret_key);
	tcase_add_test(files, wants_numeric_endpoints);
	suite_add_tcase(suite, files);
	tcase_add_checked_fixture(sockets, make_folder, remove_folder);
	tcase_add_checked_fixture(sockets, start_server, stop_server);
	tcase_set_timeout(sockets, 60);
	tcase_add_test(sockets, known_key_passes_with_its_name);
	tcase_add_test(sockets, unknown_key_is_refused_and_counted);
	tcase_add_test(sockets, null_client_is_refused_and_counted);
	tcase_add_test(sockets, wrong_server_key_fails);
	tcase_add_test(sockets, oversized_message_is_dropped);
	tcase_add_test(sockets, nobody_gets_in_without_a_handler);
	tcase_add_test(sockets, a_key_that_was_removed_is_refused);
	tcase_add_test(sockets, two_peers_need_two_keys_and_two_names);
	tcase_add_test(sockets, more_fits_where_it_is_received_than_a_peer_may_send);
	suite_add_tcase(suite, sockets);
	return suite;
}

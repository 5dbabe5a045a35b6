/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/control_server.h"

START_TEST(answers_one_packet_with_one_packet)
{
	struct control_config config = server_configure();

	server_start(&config);
	server_reply_is(server_call("{\"command\": \"ask\", \"you\": \"me\"}"),
			"{\"ok\":true,\"who\":\"server\",\"you\":\"me\"}");
	server_reply_is(server_call("{\"command\": \"ask\"}"),
			"{\"ok\":true,\"who\":\"server\",\"you\":null}");
	/* Several questions over one connection. */
	int fd = server_connect();
	for (int i = 0; i < 100; i++)
		ck_assert_str_eq(server_raw_call(fd, "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	close(fd);
}
END_TEST

START_TEST(bad_requests_get_a_reason)
{
	struct control_config config = server_configure();

	server_start(&config);
	server_reply_is(server_call("{\"command\": \"dance\"}"),
			"{\"error\":\"there is no command 'dance'\",\"ok\":false}");
	server_reply_is(server_call("{\"commands\": \"ask\"}"),
			"{\"error\":\"the request has no command\",\"ok\":false}");
	server_reply_is(server_call("{\"command\": 5}"),
			"{\"error\":\"the request has no command\",\"ok\":false}");
	server_reply_is(server_call("[\"ask\"]"),
			"{\"error\":\"the request has no command\",\"ok\":false}");
	server_reply_is(server_call("{\"command\": \"broken\"}"),
			"{\"error\":\"internal error\",\"ok\":false}");
	server_reply_is(server_call("{\"command\": \"refuse\"}"),
			"{\"error\":\"not ? today\",\"ok\":false}");
	int fd = server_connect();
	ck_assert_str_eq(server_raw_call(fd, "{\"command\":", 11),
			 "{\"error\":\"the request is no JSON object: "
			 "unexpected token near end of file\",\"ok\":false}");
	close(fd);
}
END_TEST

START_TEST(a_second_request_before_the_answer_ends_the_client)
{
	struct control_config config = server_configure();

	server_start(&config);
	int fd = server_connect();
	ck_assert_int_eq(send(fd, "{\"command\":\"later\"}", 19, MSG_NOSIGNAL), 19);
	ck_assert_ptr_null(server_raw_call(fd, "{\"command\":\"set\"}", 17));
	close(fd);
	server_reply_is(server_call("{\"command\": \"set\"}"), "{\"ok\":true}");
}
END_TEST

START_TEST(refuses_packets_that_are_too_long_and_goes_on)
{
	struct control_config config = server_configure();
	size_t size = CONTROL_PACKET_BYTES_MAX + 1;
	char *bytes = malloc(size);

	server_start(&config);
	memset(bytes, ' ', size);
	int fd = server_connect();
	ck_assert_str_eq(server_raw_call(fd, bytes, size),
			 "{\"error\":\"the request is longer than 262144 bytes\",\"ok\":false}");
	memcpy(bytes, "{\"command\":\"set\"}", 17);
	ck_assert_str_eq(server_raw_call(fd, bytes, size - 1), "{\"ok\":true}");
	close(fd);
	free(bytes);
}
END_TEST

START_TEST(sends_large_replies_and_says_when_one_is_too_large)
{
	struct control_config config = server_configure();

	server_start(&config);
	json_t *reply = server_call("{\"command\": \"large\", \"bytes\": 250000}");
	ck_assert_uint_eq(json_string_length(json_object_get(reply, "text")), 250000);
	json_decref(reply);
	server_reply_is(server_call("{\"command\": \"large\", \"bytes\": 5000000}"),
			"{\"error\":\"the reply is too large\",\"ok\":false}");
}
END_TEST

START_TEST(a_client_that_never_reads_holds_nobody_up)
{
	struct control_config config = server_configure();
	static const char request[] = "{\"command\":\"large\",\"bytes\":100000}";
	int fd;

	server_start(&config);
	fd = server_connect();
	for (int i = 0; i < 1000; i++)
		if (send(fd, request, sizeof(request) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	for (int i = 0; i < 20; i++)
		json_decref(server_call("{\"command\": \"ask\"}"));
	close(fd);
	json_decref(server_call("{\"command\": \"ask\"}"));
}
END_TEST

START_TEST(takes_sixteen_clients_and_tells_the_next)
{
	struct control_config config = server_configure();
	int fds[CONTROL_CLIENTS_MAX];

	server_start(&config);
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = server_connect();
		ck_assert_str_eq(server_raw_call(fds[i], "{\"command\":\"set\"}", 17),
				 "{\"ok\":true}");
	}
	server_reply_is(server_call("{\"command\": \"ask\"}"),
			"{\"error\":\"too many clients, try again\",\"ok\":false}");
	/* All of them are still served. */
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		ck_assert_str_eq(server_raw_call(fds[i], "{\"command\":\"set\"}", 17),
				 "{\"ok\":true}");
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close(fds[i]);
	for (int i = 0; i < 100; i++) {
		json_t *reply = server_call("{\"command\": \"ask\"}");
		bool is_in = json_is_true(json_object_get(reply, "ok"));

		json_decref(reply);
		if (is_in)
			return;
		usleep(10000);
	}
	ck_abort_msg("the places are not free again");
}
END_TEST

START_TEST(drops_clients_that_stay_silent)
{
	struct control_config config = server_configure();
	char byte;

	config.idle_ns = SECOND_NS / 10;
	server_start(&config);
	int fd = server_connect();
	struct pollfd item = { .fd = fd, .events = POLLIN };
	ck_assert_int_eq(poll(&item, 1, 10000), 1);
	ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
	close(fd);
}
END_TEST

START_TEST(says_why_nobody_answers)
{
	json_t *request = json_pack("{s:s}", "command", "ask"), *reply = NULL;
	char expected[200];

	ck_assert_int_eq(control_call(server.path, request, SECOND_NS, &reply, &server.error),
			 -ENOENT);
	snprintf(expected, sizeof(expected), "connect to '%s': No such file or directory",
		 server.path);
	ck_assert_str_eq(server.error.text, expected);

	/* Listens, but never answers. */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, server.path, strlen(server.path) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(control_call(server.path, request, SECOND_NS, &reply, &server.error),
			 -ECONNREFUSED);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(control_call(server.path, request, SECOND_NS / 20, &reply, &server.error),
			 -ETIMEDOUT);
	close(fd);
	ck_assert_ptr_null(reply);
	json_decref(request);
}
END_TEST

/* Whatever comes, there is an answer or an end, and the next client is served. */
START_TEST(survives_random_packets)
{
	struct control_config config = server_configure();
	static const char seed[] = "{\"command\":\"ask\",\"you\":[1,2.5,{\"a\":null}]}";
	struct iso_rng rng = { test_seed_base() };

	server_start(&config);
	int fd = server_connect();
	for (int i = 0; i < test_runs(2000); i++) {
		uint8_t bytes[300];
		size_t size = sizeof(seed) - 1;

		memcpy(bytes, seed, size);
		if (iso_rng_below(&rng, 4) == 0)
			size = 1 + iso_rng_below(&rng, sizeof(bytes));
		for (uint64_t flips = iso_rng_below(&rng, 5); flips > 0; flips--)
			bytes[iso_rng_below(&rng, size)] = (uint8_t)iso_rng_next(&rng);
		if (server_raw_call(fd, bytes, size) == NULL) {
			close(fd);
			fd = server_connect();
		}
	}
	close(fd);
	json_decref(server_call("{\"command\": \"ask\"}"));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("socket");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, server_set_up, server_tear_down);
	tcase_add_test(tcase, answers_one_packet_with_one_packet);
	tcase_add_test(tcase, bad_requests_get_a_reason);
	tcase_add_test(tcase, a_second_request_before_the_answer_ends_the_client);
	tcase_add_test(tcase, refuses_packets_that_are_too_long_and_goes_on);
	tcase_add_test(tcase, sends_large_replies_and_says_when_one_is_too_large);
	tcase_add_test(tcase, a_client_that_never_reads_holds_nobody_up);
	tcase_add_test(tcase, takes_sixteen_clients_and_tells_the_next);
	tcase_add_test(tcase, drops_clients_that_stay_silent);
	tcase_add_test(tcase, says_why_nobody_answers);
	tcase_add_test(tcase, survives_random_packets);
	suite_add_tcase(suite, tcase);
	return suite;
}

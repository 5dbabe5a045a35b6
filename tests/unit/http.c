/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "tests/test.h"

#define MS 1000000u

/* A server whose answers are what the test says, and the loop that it runs in. */
struct fixture {
	struct loop_source timer; /* first: on_timer() gets it */
	struct loop loop;
	struct http *http;
	unsigned made;	   /* so many answers */
	size_t size;	   /* of each */
	uint64_t fresh_ns; /* each stays so for as long */
};

static void on_timer(struct loop_source *source, short revents)
{
	(void)revents;
	(void)timer_consume(source->fd);
	loop_quit(&((struct fixture *)(void *)source)->loop);
}

static void answer(void *context, const char *path, struct http_reply *ret_reply)
{
	struct fixture *fixture = context;

	ck_assert_int_eq(path[0], '/');
	ret_reply->type = "text/plain";
	ret_reply->size = fixture->size;
	ret_reply->body = malloc(fixture->size);
	ck_assert_ptr_nonnull(ret_reply->body);
	if (fixture->fresh_ns != 0)
		ret_reply->fresh_until_ns = clock_now_ns() + fixture->fresh_ns;
	memset(ret_reply->body, 'a' + (int)(fixture->made++ % 26), fixture->size);
}

static void open_fixture(struct fixture *fixture, size_t size, uint64_t patience_ns)
{
	const struct http_config config = {
		.listen = "127.0.0.1:0",
		.fn = answer,
		.context = fixture,
		.patience_ns = patience_ns,
	};
	struct error error;

	*fixture = (struct fixture){ .size = size };
	fixture->timer = (struct loop_source){
		.fd = timer_open(),
		.events = ZMQ_POLLIN,
		.fn = on_timer,
	};
	ck_assert_int_ge(fixture->timer.fd, 0);
	ck_assert_int_eq(loop_add(&fixture->loop, &fixture->timer), 0);
	ck_assert_msg(http_open(&config, &fixture->loop, &fixture->http, &error) == 0, "%s",
		      error.text);
}

static void close_fixture(struct fixture *fixture)
{
	fixture->http = http_close(fixture->http);
	close(fixture->timer.fd);
}

/* The server at work for so long. */
static void serve(struct fixture *fixture, uint64_t for_ns)
{
	ck_assert_int_eq(timer_arm(fixture->timer.fd, clock_now_ns() + for_ns), 0);
	ck_assert_int_eq(loop_run(&fixture->loop), 0);
}

/* A client with a small buffer, who does not block. */
static int dial_from(const struct fixture *fixture, in_addr_t from)
{
	static const int bytes = 4096;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(from) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	const char *port = strrchr(http_address(fixture->http), ':') + 1;
	address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int dial(const struct fixture *fixture)
{
	return dial_from(fixture, INADDR_LOOPBACK);
}

static void say(int fd, const char *text)
{
	/* It may have been hung up on. */
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void ask(int fd, const char *path)
{
	char request[128];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	say(fd, request);
}

/* What has come and fits; -1: nothing yet, 0: it was hung up. */
static ssize_t hear(int fd, char *text, size_t size)
{
	ssize_t n = recv(fd, text, size - 1, MSG_DONTWAIT);

	if (n < 0)
		n = errno == EAGAIN ? -1 : 0;
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* The same, with the server at work until then. */
static ssize_t hear_soon(struct fixture *fixture, int fd, char *text, size_t size)
{
	uint64_t start_ns = clock_now_ns();
	ssize_t n;

	while ((n = hear(fd, text, size)) < 0) {
		ck_assert_uint_lt(clock_now_ns() - start_ns, 20000ull * MS);
		serve(fixture, 5 * MS);
	}
	return n;
}

/* Each 20 ms a little of a request: that it never falls silent does not help. */
START_TEST(who_dawdles_with_a_request_is_hung_up_on)
{
	struct fixture fixture;
	char text[512];

	open_fixture(&fixture, 3, 300 * MS);
	uint64_t start_ns = clock_now_ns();
	int fd = dial(&fixture);
	say(fd, "GET / HTTP/1.1\r\nX: ");
	while (hear(fd, text, sizeof(text)) != 0) {
		ck_assert_uint_lt(clock_now_ns() - start_ns, 20000ull * MS);
		say(fd, "x");
		serve(&fixture, 20 * MS);
	}
	ck_assert_uint_ge(clock_now_ns() - start_ns, 300 * MS);
	ck_assert_uint_eq(fixture.made, 0);
	close(fd);
	close_fixture(&fixture);
}
END_TEST

/* Each 20 ms a little of the answer: it gets what was sent by the end of its time, not all. */
START_TEST(who_dawdles_with_an_answer_does_not_get_all)
{
	struct fixture fixture;
	static char text[65536];
	size_t got = 0;
	ssize_t n;

	open_fixture(&fixture, 32u << 20, 300 * MS);
	uint64_t start_ns = clock_now_ns();
	int fd = dial(&fixture);
	ask(fd, "/");
	while (clock_now_ns() - start_ns < 600 * MS) {
		serve(&fixture, 20 * MS);
		n = hear(fd, text, 512);
		got += n > 0 ? (size_t)n : 0;
	}
	ck_assert_uint_gt(got, 0);
	while ((n = hear(fd, text, sizeof(text))) != 0) {
		ck_assert_uint_lt(clock_now_ns() - start_ns, 20000ull * MS);
		got += n > 0 ? (size_t)n : 0;
		if (n < 0)
			serve(&fixture, 1 * MS);
	}
	ck_assert_uint_lt(got, fixture.size);
	close(fd);
	close_fixture(&fixture);
}
END_TEST

START_TEST(who_is_quick_may_stay)
{
	struct fixture fixture;
	char text[512];

	open_fixture(&fixture, 3, 2000 * MS);
	int fd = dial(&fixture);
	for (unsigned i = 0; i < 25; i++) {
		ask(fd, "/");
		ck_assert_int_gt(hear_soon(&fixture, fd, text, sizeof(text)), 0);
		ck_assert_ptr_nonnull(strstr(text, "200 OK"));
		ck_assert_uint_eq(fixture.made, i + 1);
		serve(&fixture, 100 * MS);
	}
	close(fd);
	close_fixture(&fixture);
}
END_TEST

/* Who asks while it is fresh gets the same; another path, or a later time, has its own. */
START_TEST(what_is_fresh_is_made_once)
{
	struct fixture fixture;
	int fds[3];
	char text[512];

	open_fixture(&fixture, 3, 0);
	fixture.fresh_ns = 3600000ull * MS;
	for (int i = 0; i < 3; i++) {
		fds[i] = dial(&fixture);
		ask(fds[i], "/");
		ck_assert_int_gt(hear_soon(&fixture, fds[i], text, sizeof(text)), 0);
		ck_assert_ptr_nonnull(strstr(text, "200 OK"));
		ck_assert_ptr_nonnull(strstr(text, "\r\n\r\naaa"));
	}
	ck_assert_uint_eq(fixture.made, 1);
	fixture.fresh_ns = 1;
	for (unsigned i = 0; i < 2; i++) {
		ask(fds[i], "/other");
		ck_assert_int_gt(hear_soon(&fixture, fds[i], text, sizeof(text)), 0);
		ck_assert_ptr_nonnull(strstr(text, i == 0 ? "\r\n\r\nbbb" : "\r\n\r\nccc"));
	}
	ask(fds[0], "/");
	ck_assert_int_gt(hear_soon(&fixture, fds[0], text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "\r\n\r\naaa"));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close_fixture(&fixture);
}
END_TEST

/* Three of 20 MiB fit; a fourth does not, shared or not, until one of them has gone. */
START_TEST(slow_readers_do_not_take_all_memory)
{
	struct fixture fixture;
	int fds[3], late;
	char text[512];

	open_fixture(&fixture, 20u << 20, 0);
	for (int i = 0; i < 3; i++) {
		fds[i] = dial(&fixture);
		ask(fds[i], "/");
		ck_assert_int_gt(hear_soon(&fixture, fds[i], text, sizeof(text)), 0);
		ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	}
	late = dial(&fixture);
	ask(late, "/");
	ck_assert_int_gt(hear_soon(&fixture, late, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "503 "));
	ck_assert_ptr_nonnull(strstr(text, "Retry-After: 1\r\n"));
	close(fds[1]);
	fixture.fresh_ns = 3600000ull * MS;
	do { /* it may ask before the other has been seen to go */
		close(late);
		late = dial(&fixture);
		ask(late, "/");
		ck_assert_int_gt(hear_soon(&fixture, late, text, sizeof(text)), 0);
	} while (strstr(text, "503 ") != NULL);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	unsigned made = fixture.made;
	fds[1] = dial(&fixture);
	ask(fds[1], "/");
	ck_assert_int_gt(hear_soon(&fixture, fds[1], text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	ck_assert_uint_eq(fixture.made, made);
	close(late);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close_fixture(&fixture);
}
END_TEST

/* Who holds connections keeps out neither others there nor those elsewhere. */
START_TEST(one_address_does_not_take_all)
{
	struct fixture fixture;
	int fds[HTTP_SAME_MAX], elsewhere, late;
	char text[512];

	open_fixture(&fixture, 3, 0);
	elsewhere = dial_from(&fixture, INADDR_LOOPBACK + 1);
	for (unsigned i = 0; i < HTTP_SAME_MAX; i++) {
		fds[i] = dial(&fixture);
		ask(fds[i], "/");
		ck_assert_int_gt(hear_soon(&fixture, fds[i], text, sizeof(text)), 0);
	}
	late = dial(&fixture);
	ask(late, "/");
	ck_assert_int_gt(hear_soon(&fixture, late, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	/* In the place of who was answered longest ago. */
	ck_assert_int_eq(hear_soon(&fixture, fds[0], text, sizeof(text)), 0);
	ask(fds[1], "/");
	ck_assert_int_gt(hear_soon(&fixture, fds[1], text, sizeof(text)), 0);
	ask(elsewhere, "/");
	ck_assert_int_gt(hear_soon(&fixture, elsewhere, text, sizeof(text)), 0);
	close(late);
	close(elsewhere);
	for (unsigned i = 0; i < HTTP_SAME_MAX; i++)
		close(fds[i]);
	close_fixture(&fixture);
}
END_TEST

/* Nor do two addresses together, each with fewer than it may have. */
START_TEST(two_addresses_do_not_take_all)
{
	struct fixture fixture;
	int fds[HTTP_CLIENTS_MAX], early, late;
	char text[512];

	open_fixture(&fixture, 3, 0);
	early = dial(&fixture);
	ask(early, "/");
	ck_assert_int_gt(hear_soon(&fixture, early, text, sizeof(text)), 0);
	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++) {
		fds[i] = dial_from(&fixture, INADDR_LOOPBACK + 1 + i % 2);
		serve(&fixture, 5 * MS);
	}
	late = dial(&fixture);
	ask(late, "/");
	ck_assert_int_gt(hear_soon(&fixture, late, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	/* At the cost of those that hold most, not of who came first. */
	ask(early, "/");
	ck_assert_int_gt(hear_soon(&fixture, early, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	ck_assert_int_eq(hear_soon(&fixture, fds[0], text, sizeof(text)), 0);
	ck_assert_int_eq(hear(fds[HTTP_CLIENTS_MAX - 1], text, sizeof(text)), -1);
	close(late);
	close(early);
	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++)
		close(fds[i]);
	close_fixture(&fixture);
}
END_TEST

/* More at once than there may be: some are not let in, and who comes after them is. */
START_TEST(a_flood_passes)
{
	struct fixture fixture;
	int fds[2 * HTTP_CLIENTS_MAX], late = -1;
	char text[512];

	open_fixture(&fixture, 3, 0);
	for (unsigned i = 0; i < 2 * HTTP_CLIENTS_MAX; i++)
		fds[i] = dial(&fixture);
	do { /* it may come before the others have been seen to go */
		if (late >= 0)
			close(late);
		serve(&fixture, 5 * MS);
		late = dial(&fixture);
		ask(late, "/");
	} while (hear_soon(&fixture, late, text, sizeof(text)) == 0);
	ck_assert_ptr_nonnull(strstr(text, "200 OK"));
	close(late);
	for (unsigned i = 0; i < 2 * HTTP_CLIENTS_MAX; i++)
		close(fds[i]);
	close_fixture(&fixture);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("http");
	TCase *tcase = tcase_create("clients");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, who_dawdles_with_a_request_is_hung_up_on);
	tcase_add_test(tcase, who_dawdles_with_an_answer_does_not_get_all);
	tcase_add_test(tcase, who_is_quick_may_stay);
	tcase_add_test(tcase, what_is_fresh_is_made_once);
	tcase_add_test(tcase, slow_readers_do_not_take_all_memory);
	tcase_add_test(tcase, one_address_does_not_take_all);
	tcase_add_test(tcase, two_addresses_do_not_take_all);
	tcase_add_test(tcase, a_flood_passes);
	suite_add_tcase(suite, tcase);
	return suite;
}

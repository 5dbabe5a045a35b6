/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "tests/test.h"
#include "tests/unit/link_ends.h"

static struct error error;

static void a_and_b_send(void)
{
	(void)link_send(ends.a.link, 0, "ok from a", 9);
	(void)link_send(ends.b.link, 0, "ok from b", 9);
}

static bool both_got_one(void)
{
	return ends.a.got.count > 0 && ends.b.got.count > 0;
}

START_TEST(messages_arrive_with_the_name_of_their_key)
{
	ends_open(&ends.a, true, &ends.b, NULL);
	ends_open(&ends.b, true, &ends.c, &ends.a);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, 1);
	ck_assert_uint_eq(ends.b.got.size, 9);
	ck_assert_mem_eq(ends.b.got.bytes, "ok from a", 9);
	ck_assert(link_peer(ends.b.link, 1).up);
	ck_assert(!link_peer(ends.b.link, 0).up);
	ck_assert_uint_eq(link_counters(ends.b.link).received, ends.b.got.count);
	ck_assert_uint_ge(link_counters(ends.a.link).sent, ends.b.got.count);
	ck_assert_uint_eq(link_counters(ends.b.link).refused, 0);
}
END_TEST

START_TEST(tcp_binds_a_free_port_and_says_which)
{
	snprintf(ends.b.address, sizeof(ends.b.address), "tcp://127.0.0.1:*");
	ends_open(&ends.b, true, &ends.a, NULL);
	ck_assert_msg(strncmp(link_address(ends.b.link), "tcp://127.0.0.1:", 16) == 0, "%s",
		      link_address(ends.b.link));
	snprintf(ends.b.address, sizeof(ends.b.address), "%s", link_address(ends.b.link));
	ends_open(&ends.a, true, &ends.b, NULL);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, 0);
}
END_TEST

START_TEST(without_keys_anybody_may_speak)
{
	ends_open(&ends.a, false, &ends.b, NULL);
	ends_open(&ends.b, false, &ends.a, NULL);
	ck_assert(ends_run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, LINK_ANYBODY);
	/* Only what the message says can tell: the link itself marks nobody as up. */
	ck_assert(!link_peer(ends.b.link, 0).up);
	link_heard(ends.b.link, 0, clock_now_ns());
	ck_assert(link_peer(ends.b.link, 0).up);
}
END_TEST

START_TEST(a_neighbour_that_is_not_there_never_blocks)
{
	ends_open(&ends.a, true, &ends.b, NULL);
	uint64_t before_ns = clock_now_ns();

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(link_send(ends.a.link, 0, "ok", 2), -EAGAIN);
	ck_assert_uint_lt(clock_now_ns() - before_ns, 5 * S_NS);
	ck_assert_uint_eq(link_counters(ends.a.link).dropped[LINK_DROP_BUSY], 1000);
	ck_assert_uint_eq(link_peer(ends.a.link, 0).busy, 1000);
	ck_assert_uint_eq(link_counters(ends.a.link).sent, 0);
}
END_TEST

static uint32_t number;

static void a_sends_numbers(void)
{
	uint8_t bytes[6] = { 'o', 'k' };

	for (int i = 0; i < 50 && number < 20000; i++) {
		number++;
		memcpy(bytes + 2, &number, sizeof(number));
		(void)link_send(ends.a.link, 0, bytes, sizeof(bytes));
	}
}

static bool b_got_the_newest(void)
{
	uint32_t got;

	memcpy(&got, ends.b.got.bytes + 2, sizeof(got));
	return ends.b.got.count > 0 && got == 20000;
}

START_TEST(the_newest_message_always_arrives)
{
	ends_open(&ends.b, true, &ends.a, NULL);
	ends_open(&ends.a, true, &ends.b, NULL);
	number = 0;
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert(ends_run_until(b_got_the_newest, a_sends_numbers, 6 * GIVE_UP_NS));
}
END_TEST

/* stderr from here on, to be counted. */
static unsigned lines_of(int fd)
{
	unsigned lines = 0;
	char byte;

	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	while (read(fd, &byte, 1) == 1)
		lines += byte == '\n';
	return lines;
}

/* That somebody is away is news once, however long it lasts and whatever is tried. */
START_TEST(who_stays_silent_is_told_once)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	log_init(LOG_DEBUG, false);
	ends_open(&ends.a, true, &ends.b, NULL);
	uint64_t now_ns = clock_now_ns();
	unsigned before = lines_of(fd);

	for (int i = 0; i < 3600; i++) {
		now_ns += S_NS;
		(void)link_send(ends.a.link, 0, "ok", 2);
		link_tick(ends.a.link, now_ns);
	}
	ck_assert_uint_eq(lines_of(fd), before + 1);
	/* That it is back is news as well, and so is its next end. */
	link_heard(ends.a.link, 0, now_ns);
	link_heard(ends.a.link, 0, now_ns);
	ck_assert_uint_eq(lines_of(fd), before + 2);
	for (int i = 0; i < 60; i++)
		link_tick(ends.a.link, now_ns += S_NS);
	ck_assert_uint_eq(lines_of(fd), before + 3);
}
END_TEST

START_TEST(a_neighbour_that_restarts_is_found_again)
{
	ends_open(&ends.a, true, &ends.b, NULL);
	ends_open(&ends.b, true, &ends.a, NULL);
	ck_assert(ends_run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert(link_peer(ends.a.link, 0).up);

	ends.b.link = link_close(ends.b.link);
	/* Three in a row can be in flight or on their way; after that there is nobody. */
	uint64_t heard_ns = link_peer(ends.a.link, 0).heard_ns;
	link_tick(ends.a.link, heard_ns + S_NS / 2);
	ck_assert(link_peer(ends.a.link, 0).up);
	link_tick(ends.a.link, heard_ns + 2 * S_NS);
	ck_assert(!link_peer(ends.a.link, 0).up);
	ck_assert_uint_eq(link_peer(ends.a.link, 0).changed_ns, heard_ns);

	ends.a.got.count = ends.b.got.count = 0;
	zmq_ctx_term(ends.b.context);
	ends.b.context = zmq_ctx_new();
	ends_open(&ends.b, true, &ends.a, NULL);
	ck_assert(ends_run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert(link_peer(ends.a.link, 0).up);
}
END_TEST

START_TEST(says_what_cannot_be_opened)
{
	struct link_neighbour nobody = { "one", "tcp://127.0.0.1:1", ends.a.keys.public_key };
	struct link_config config = {
		.listen = "ipc:///nonexistent/directory/socket",
		.keys = &ends.a.keys,
		.neighbours = &nobody,
		.neighbour_count = 1,
		.fn = ends_on_message,
	};
	struct link *poisoned = (struct link *)&config, *link = poisoned;

	ck_assert_int_lt(link_open(&config, ends.a.context, &ends.loop, 0, &link, &error), 0);
	ck_assert_ptr_eq(link, poisoned);
	ck_assert_str_eq(error.text, "bind ipc:///nonexistent/directory/socket: "
				     "No such file or directory");
	config.listen = ends.a.address;
	nobody.address = "ftp://127.0.0.1:1";
	ck_assert_int_lt(link_open(&config, ends.b.context, &ends.loop, 0, &link, &error), 0);
	ck_assert_str_eq(error.text,
			 "neighbour one: connect ftp://127.0.0.1:1: Protocol not supported");
	/* Nothing of the failed attempts is left; libzmq frees the allow-list a little later. */
	ck_assert_uint_eq(ends.loop.count, 0);
	nobody.address = "tcp://127.0.0.1:1";
	ends_open_as(&ends.c, &config);
}
END_TEST

START_TEST(a_node_alone_needs_no_address)
{
	struct link_config config = { .keys = &ends.a.keys, .fn = ends_on_message };

	ends_open_as(&ends.a, &config);
	ck_assert_str_eq(link_address(ends.a.link), "");
	link_tick(ends.a.link, S_NS);
}
END_TEST

/* Longer than what agents send, and several at once. */
#define LONG_BYTES    100000u
#define LONG_MESSAGES 5u

static unsigned long_count;

static bool on_long_message(void *context, uint32_t neighbour, const struct link_part *parts,
			    unsigned count)
{
	(void)context;
	ck_assert_uint_eq(neighbour, 0);
	/* In the order in which they were sent, and whole. */
	ck_assert_uint_eq(count, LINK_PARTS_MAX);
	ck_assert_uint_eq(parts[0].size, sizeof(long_count));
	ck_assert_mem_eq(parts[0].bytes, &long_count, sizeof(long_count));
	ck_assert_uint_eq(parts[1].size, LONG_BYTES);
	const uint8_t *bytes = parts[1].bytes;
	ck_assert_uint_eq(bytes[0], long_count);
	ck_assert_uint_eq(bytes[LONG_BYTES - 1], long_count);
	long_count++;
	return true;
}

/* As config says where it says something, with one neighbour. */
static void open_beside(struct end *end, const struct end *one, struct link_config config)
{
	const struct link_neighbour neighbour = {
		.name = "one", .address = one->address, .public_key = one->keys.public_key
	};

	config.listen = end->address;
	config.keys = &end->keys;
	config.neighbours = &neighbour;
	config.neighbour_count = 1;
	config.down_after_ns = S_NS;
	ends_open_as(end, &config);
}

static unsigned long_sent;

static void send_long(void)
{
	static uint8_t bytes[LONG_BYTES];

	/* The first when it is connected, and then all at once. */
	for (; long_sent < LONG_MESSAGES; long_sent++) {
		memset(bytes, (int)long_sent, sizeof(bytes));
		const struct link_part parts[] = { { &long_sent, sizeof(long_sent) },
						   { bytes, sizeof(bytes) } };

		if (link_send_parts(ends.a.link, 0, parts, 2) < 0)
			return;
	}
}

static bool all_long_came(void)
{
	return long_count >= LONG_MESSAGES;
}

START_TEST(with_a_queue_long_messages_in_parts_all_arrive_in_order)
{
	const struct link_config config = {
		.limits = { .message_bytes_max = LONG_BYTES, .queue_messages = LONG_MESSAGES },
		.parts_fn = on_long_message,
	};

	long_count = long_sent = 0;
	open_beside(&ends.a, &ends.b, config);
	open_beside(&ends.b, &ends.a, config);
	ck_assert(ends_run_until(all_long_came, send_long, GIVE_UP_NS));
	ck_assert_uint_eq(link_counters(ends.a.link).sent, LONG_MESSAGES);
	ck_assert_uint_eq(link_counters(ends.b.link).received, LONG_MESSAGES);
}
END_TEST

static unsigned line_accepted;

static void fill_line(void)
{
	uint8_t bytes[2] = { 0 };

	while (line_accepted < 100000 && link_send(ends.a.link, 0, bytes, sizeof(bytes)) == 0)
		line_accepted++;
}

static bool is_line_full(void)
{
	return line_accepted > 0;
}

START_TEST(a_line_that_is_full_takes_no_more)
{
	const struct link_config config = {
		.limits = { .message_bytes_max = 16, .queue_messages = 2 },
		.fn = ends_on_message,
		.context = &ends.a.got,
	};

	line_accepted = 0;
	ends_open(&ends.b, true, &ends.a, NULL);
	open_beside(&ends.a, &ends.b, config);
	ck_assert(ends_run_until(is_line_full, fill_line, GIVE_UP_NS));
	/* Faster than anything is sent, and yet not all were taken. */
	ck_assert_uint_lt(line_accepted, 100000);
}
END_TEST

#define TURNS 1000u

static unsigned turns, turns_refused;
static bool turns_begun;

/* Nothing of what was sent before is waiting any more. */
static bool on_turn(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	(void)context;
	(void)neighbour;
	(void)bytes;
	(void)size;
	if (++turns < TURNS)
		turns_refused += link_send(ends.a.link, 0, "ok", 2) < 0;
	return true;
}

static void send_first(void)
{
	if (!turns_begun)
		turns_begun = link_send(ends.a.link, 0, "ok", 2) == 0;
}

static bool turns_are_over(void)
{
	return turns >= TURNS || turns_refused > 0;
}

/* However fast one is after the other: what has arrived does not wait in line. */
START_TEST(a_line_whose_messages_have_arrived_is_not_full)
{
	const struct link_config config = {
		.limits = { .message_bytes_max = 16, .queue_messages = 2 },
		.fn = on_turn,
	};

	turns = turns_refused = 0;
	turns_begun = false;
	open_beside(&ends.a, &ends.b, config);
	open_beside(&ends.b, &ends.a, config);
	ck_assert(ends_run_until(turns_are_over, send_first, GIVE_UP_NS));
	ck_assert_msg(turns_refused == 0, "message %u finds a full line", turns);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("link");
	TCase *tcase = tcase_create("sockets");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, ends_set_up, ends_tear_down);
	tcase_add_test(tcase, messages_arrive_with_the_name_of_their_key);
	tcase_add_test(tcase, tcp_binds_a_free_port_and_says_which);
	tcase_add_test(tcase, without_keys_anybody_may_speak);
	tcase_add_test(tcase, a_neighbour_that_is_not_there_never_blocks);
	tcase_add_test(tcase, the_newest_message_always_arrives);
	tcase_add_test(tcase, who_stays_silent_is_told_once);
	tcase_add_test(tcase, a_neighbour_that_restarts_is_found_again);
	tcase_add_test(tcase, says_what_cannot_be_opened);
	tcase_add_test(tcase, a_node_alone_needs_no_address);
	tcase_add_test(tcase, with_a_queue_long_messages_in_parts_all_arrive_in_order);
	tcase_add_test(tcase, a_line_that_is_full_takes_no_more);
	tcase_add_test(tcase, a_line_whose_messages_have_arrived_is_not_full);
	suite_add_tcase(suite, tcase);
	return suite;
}

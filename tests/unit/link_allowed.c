/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who is let in over a link: strangers, traitors, and neighbours that come and go. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "tests/test.h"
#include "tests/unit/link_ends.h"

static struct error error;

static bool b_refused_someone(void)
{
	return link_counters(ends.b.link).refused > 0;
}

START_TEST(an_unknown_key_is_refused_at_the_handshake)
{
	/* b knows c's key; a comes with its own. */
	ends_open(&ends.b, true, &ends.c, NULL);
	ends_open(&ends.a, true, &ends.b, NULL);
	ck_assert(ends_run_until(b_refused_someone, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.count, 0);
	ck_assert_uint_eq(link_counters(ends.b.link).received, 0);
}
END_TEST

static void *stranger;

static void stranger_sends(void)
{
	(void)zmq_send(stranger, "ok I am one", 11, ZMQ_DONTWAIT);
}

static void *open_stranger(void)
{
	int linger_ms = 0, immediate = 1;
	void *socket = zmq_socket(ends.a.context, ZMQ_PUSH);

	ck_assert_ptr_nonnull(socket);
	zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms));
	zmq_setsockopt(socket, ZMQ_IMMEDIATE, &immediate, sizeof(immediate));
	return socket;
}

/*
 * Says that it speaks NULL and waits.  A client of libzmq would hang up as
 * soon as it reads that the server wants CURVE, often before the server has read
 * a word.
 */
static int open_plain_client(void)
{
	static const uint8_t greeting[64] = {
		0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L',
	};
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/b", ends.directory);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(write(fd, greeting, sizeof(greeting)), sizeof(greeting));
	return fd;
}

START_TEST(a_client_without_keys_is_refused_at_the_handshake)
{
	ends_open(&ends.b, true, &ends.a, NULL);
	int fd = open_plain_client();
	stranger = open_stranger();
	ck_assert_int_eq(zmq_connect(stranger, ends.b.address), 0);
	ck_assert(ends_run_until(b_refused_someone, stranger_sends, GIVE_UP_NS));
	ck_assert(!ends_run_until(b_got_one, stranger_sends, S_NS / 5));
	zmq_close(stranger);
	close(fd);
	ck_assert_uint_eq(link_counters(ends.b.link).received, 0);
}
END_TEST

/* Has the keys of a, but sends what an agent would not. */
static void *open_traitor(void)
{
	struct curve_limits limits = { .message_bytes_max = 1 << 20, .queue_messages_max = 100 };
	void *socket = zmq_socket(ends.a.context, ZMQ_PUSH);

	ck_assert_ptr_nonnull(socket);
	ck_assert_int_eq(curve_client(socket, &ends.a.keys, ends.b.keys.public_key, &limits,
				      &error), 0);
	ck_assert_int_eq(zmq_connect(socket, ends.b.address), 0);
	return socket;
}

static int bad_size;

static void traitor_sends(void)
{
	static char bytes[100000];

	(void)zmq_send(stranger, bytes, (size_t)bad_size, ZMQ_DONTWAIT);
}

static bool b_dropped_oversize(void)
{
	return link_counters(ends.b.link).dropped[LINK_DROP_OVERSIZE] > 2;
}

static bool b_dropped_rejected(void)
{
	return link_counters(ends.b.link).dropped[LINK_DROP_REJECTED] > 2;
}

static void traitor_sends_parts(void)
{
	if (zmq_send(stranger, "ok", 2, ZMQ_DONTWAIT | ZMQ_SNDMORE) == 2)
		(void)zmq_send(stranger, "ok", 2, ZMQ_DONTWAIT);
}

START_TEST(garbage_and_oversize_are_dropped_and_counted)
{
	ends_open(&ends.b, true, &ends.a, NULL);
	stranger = open_traitor();
	bad_size = LINK_MESSAGE_BYTES_MAX + 1;
	ck_assert(ends_run_until(b_dropped_oversize, traitor_sends, GIVE_UP_NS));
	ck_assert_uint_eq(link_counters(ends.b.link).dropped[LINK_DROP_REJECTED], 0);
	bad_size = LINK_MESSAGE_BYTES_MAX;
	ck_assert(ends_run_until(b_dropped_rejected, traitor_sends, GIVE_UP_NS));
	bad_size = 0;
	uint64_t rejected = link_counters(ends.b.link).dropped[LINK_DROP_REJECTED];
	traitor_sends();
	while (link_counters(ends.b.link).dropped[LINK_DROP_REJECTED] == rejected)
		ck_assert(ends_run_until(b_dropped_rejected, traitor_sends, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(ends.b.got.count, 0);
	/* Sent under a's key, but nothing of it shows that a is well. */
	ck_assert(!link_peer(ends.b.link, 0).up);
}
END_TEST

START_TEST(several_parts_are_dropped_whole)
{
	ends_open(&ends.b, true, &ends.a, NULL);
	stranger = open_traitor();
	ck_assert(ends_run_until(b_dropped_oversize, traitor_sends_parts, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(ends.b.got.count, 0);
}
END_TEST

static unsigned huge_sent;

/* One that libzmq itself refuses, then good ones. */
static void traitor_sends_huge_once(void)
{
	static char bytes[100000];

	if (huge_sent == 0) {
		huge_sent += zmq_send(stranger, bytes, sizeof(bytes), ZMQ_DONTWAIT) >= 0;
		return;
	}
	stranger_sends();
}

START_TEST(a_huge_message_costs_the_sender_its_connection_and_nothing_else)
{
	ends_open(&ends.b, true, &ends.a, NULL);
	stranger = open_traitor();
	huge_sent = 0;
	ck_assert(ends_run_until(b_got_one, traitor_sends_huge_once, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(ends.b.got.size, 11);
	ck_assert_uint_eq(link_counters(ends.b.link).dropped[LINK_DROP_OVERSIZE], 0);
}
END_TEST

/* Listens, and knows nobody yet. */
static void open_alone(struct end *end)
{
	struct link_config config = {
		.listen = end->address,
		.keys = &end->keys,
		.down_after_ns = S_NS,
		.fn = ends_on_message,
		.context = &end->got,
	};

	ends_open_as(end, &config);
}

static uint32_t add(struct end *end, const char *name, const struct end *other)
{
	struct link_neighbour neighbour = {
		.name = name,
		.address = other->address,
		.public_key = other->keys.public_key,
	};
	uint32_t index = UINT32_MAX;

	int r = link_add(end->link, &neighbour, clock_now_ns(), &index, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	return index;
}

START_TEST(a_neighbour_that_is_added_later_is_one_like_any_other)
{
	open_alone(&ends.a);
	open_alone(&ends.b);
	ck_assert_uint_eq(add(&ends.b, "c", &ends.c), 0);
	ck_assert_uint_eq(add(&ends.b, "a", &ends.a), 1);
	ck_assert_uint_eq(add(&ends.a, "b", &ends.b), 0);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, 1);
	ck_assert(link_peer(ends.b.link, 1).up);
	ck_assert(!link_peer(ends.b.link, 0).up);
}
END_TEST

static bool b_dropped_one(void)
{
	return link_counters(ends.b.link).dropped[LINK_DROP_UNKNOWN] > 0;
}

START_TEST(who_is_removed_is_not_listened_to_and_its_place_is_used_again)
{
	open_alone(&ends.a);
	ends_open(&ends.b, true, &ends.c, &ends.a);
	ck_assert_uint_eq(add(&ends.a, "b", &ends.b), 0);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, 1);
	link_remove(ends.b.link, 1);
	ends.b.got.count = 0;
	/* Still connected: its name is nobody's any more. */
	ck_assert(ends_run_until(b_dropped_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.count, 0);
	link_tick(ends.b.link, clock_now_ns() + 10 * S_NS);
	link_remove(ends.b.link, 0);
	ck_assert_uint_eq(add(&ends.b, "first", &ends.c), 0);
	ck_assert_uint_eq(add(&ends.b, "again", &ends.a), 1);
	/* A new name needs a new handshake. */
	link_remove(ends.a.link, 0);
	ck_assert_uint_eq(add(&ends.a, "b", &ends.b), 0);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(ends.b.got.neighbour, 1);
	/* And after its removal no handshake succeeds. */
	link_remove(ends.b.link, 1);
	link_remove(ends.a.link, 0);
	add(&ends.a, "b", &ends.b);
	uint64_t before = link_counters(ends.b.link).refused;
	ends.b.got.count = 0;
	for (int i = 0; i < 200 && link_counters(ends.b.link).refused == before; i++)
		(void)ends_run_until(b_got_one, a_sends, S_NS / 20);
	ck_assert_uint_gt(link_counters(ends.b.link).refused, before);
	ck_assert_uint_eq(ends.b.got.count, 0);
}
END_TEST

START_TEST(a_neighbour_that_cannot_be_added_changes_nothing)
{
	struct link_neighbour neighbour = { "one", ends.c.address, ends.c.keys.public_key };
	uint32_t index = 7;

	ends_open(&ends.b, true, &ends.a, NULL);
	ck_assert_int_eq(link_add(ends.b.link, &neighbour, 0, &index, &error), -EEXIST);
	ck_assert_str_eq(error.text, "neighbour one: 'one' has two keys");
	neighbour = (struct link_neighbour){ "two", ends.c.address, ends.a.keys.public_key };
	ck_assert_int_eq(link_add(ends.b.link, &neighbour, 0, &index, &error), -EEXIST);
	neighbour = (struct link_neighbour){ "two", "ftp://1", ends.c.keys.public_key };
	ck_assert_int_lt(link_add(ends.b.link, &neighbour, 0, &index, &error), 0);
	neighbour = (struct link_neighbour){ "two", ends.c.address, "short" };
	ck_assert_int_eq(link_add(ends.b.link, &neighbour, 0, &index, &error), -EINVAL);
	ck_assert_uint_eq(index, 7);
	/* Nothing of it is left: the same name and key go in now, and the old one speaks. */
	ck_assert_uint_eq(add(&ends.b, "two", &ends.c), 1);
	ends_open(&ends.a, true, &ends.b, NULL);
	ck_assert(ends_run_until(b_got_one, a_sends, GIVE_UP_NS));
	for (unsigned i = 2; i < LINK_NEIGHBOURS_MAX; i++) {
		struct curve_keypair keys;
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		ck_assert_int_eq(curve_keypair_new(&keys, &error), 0);
		neighbour = (struct link_neighbour){ name, ends.c.address, keys.public_key };
		ck_assert_int_eq(link_add(ends.b.link, &neighbour, 0, &index, &error), 0);
	}
	neighbour = (struct link_neighbour){ "more", ends.c.address, ends.b.keys.public_key };
	ck_assert_int_eq(link_add(ends.b.link, &neighbour, 0, &index, &error), -ENOSPC);
}
END_TEST

static void a_sends_and_ticks(void)
{
	a_sends();
	link_tick(ends.a.link, clock_now_ns());
}

START_TEST(who_was_refused_gets_in_once_the_other_knows_him)
{
	open_alone(&ends.a);
	open_alone(&ends.b);
	ck_assert_uint_eq(add(&ends.a, "b", &ends.b), 0);
	ck_assert(ends_run_until(b_refused_someone, a_sends_and_ticks, GIVE_UP_NS));
	ck_assert_uint_eq(add(&ends.b, "a", &ends.a), 0);
	ck_assert(ends_run_until(b_got_one, a_sends_and_ticks, 3 * GIVE_UP_NS));
}
END_TEST

START_TEST(who_listens_nowhere_gets_no_neighbours)
{
	struct link_config config = { .keys = &ends.a.keys, .fn = ends_on_message };
	struct link_neighbour neighbour = { "c", ends.c.address, ends.c.keys.public_key };
	uint32_t index;

	ends_open_as(&ends.a, &config);
	ck_assert_int_eq(link_add(ends.a.link, &neighbour, 0, &index, &error), -EDESTADDRREQ);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("link_allowed");
	TCase *tcase = tcase_create("sockets");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, ends_set_up, ends_tear_down);
	tcase_add_test(tcase, an_unknown_key_is_refused_at_the_handshake);
	tcase_add_test(tcase, a_client_without_keys_is_refused_at_the_handshake);
	tcase_add_test(tcase, garbage_and_oversize_are_dropped_and_counted);
	tcase_add_test(tcase, several_parts_are_dropped_whole);
	tcase_add_test(tcase, a_huge_message_costs_the_sender_its_connection_and_nothing_else);
	tcase_add_test(tcase, a_neighbour_that_is_added_later_is_one_like_any_other);
	tcase_add_test(tcase, who_is_removed_is_not_listened_to_and_its_place_is_used_again);
	tcase_add_test(tcase, a_neighbour_that_cannot_be_added_changes_nothing);
	tcase_add_test(tcase, who_was_refused_gets_in_once_the_other_knows_him);
	tcase_add_test(tcase, who_listens_nowhere_gets_no_neighbours);
	suite_add_tcase(suite, tcase);
	return suite;
}

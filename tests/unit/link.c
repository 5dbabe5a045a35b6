/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "tests/test.h"

#define S_NS	   1000000000ull
#define GIVE_UP_NS (10 * S_NS)

/* What one end got. */
struct got {
	unsigned count;
	uint32_t neighbour;
	size_t size;
	char bytes[LINK_MESSAGE_BYTES_MAX];
};

struct end {
	void *context;
	struct curve_keypair keys;
	char address[128];
	struct link *link;
	struct got got;
};

static struct loop loop;
static char directory[64];
static struct end a, b, c;
static struct error error;

static bool on_message(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	struct got *got = context;

	/* What the tests send that no agent would. */
	if (size < 2 || memcmp(bytes, "ok", 2) != 0)
		return false;
	got->count++;
	got->neighbour = neighbour;
	got->size = size;
	memcpy(got->bytes, bytes, size);
	return true;
}

/* The loop runs, prodded every 5 ms, until done() or for too long. */
typedef bool done_fn(void);

static struct {
	struct loop_source source;
	done_fn *done;
	void (*prod)(void);
	uint64_t give_up_ns;
	bool is_done;
} prodder;

static void on_prod(struct loop_source *source, short revents)
{
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	timer_consume(source->fd);
	if (prodder.prod != NULL)
		prodder.prod();
	prodder.is_done = prodder.done();
	if (prodder.is_done || now_ns > prodder.give_up_ns)
		loop_quit(&loop);
	else
		timer_arm(source->fd, now_ns + 5000000);
}

static bool run_until(done_fn *done, void (*prod)(void), uint64_t limit_ns)
{
	int fd = timer_open();

	prodder.source = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = on_prod };
	prodder.done = done;
	prodder.prod = prod;
	prodder.give_up_ns = clock_now_ns() + limit_ns;
	ck_assert_int_eq(loop_add(&loop, &prodder.source), 0);
	ck_assert_int_eq(timer_arm(fd, 0), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	loop_remove(&loop, &prodder.source);
	close(fd);
	return prodder.is_done;
}

static void open_end(struct end *end, bool with_keys, const struct end *one,
		     const struct end *other)
{
	struct link_neighbour neighbours[2] = {
		{ .name = "one", .address = one->address, .public_key = one->keys.public_key },
		{ 0 },
	};
	struct link_config config = {
		.listen = end->address,
		.keys = with_keys ? &end->keys : NULL,
		.neighbours = neighbours,
		.neighbour_count = other != NULL ? 2 : 1,
		.down_after_ns = S_NS,
		.fn = on_message,
		.context = &end->got,
	};

	if (other != NULL)
		neighbours[1] = (struct link_neighbour){
			.name = "other",
			.address = other->address,
			.public_key = other->keys.public_key,
		};
	int r = link_open(&config, end->context, &loop, clock_now_ns(), &end->link, &error);
	ck_assert_msg(r == 0, "%s", error.text);
}

static void setup(void)
{
	struct end *ends[] = { &a, &b, &c };

	log_init(LOG_ERR, false);
	snprintf(directory, sizeof(directory), "/tmp/isobar-link-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	for (int i = 0; i < 3; i++) {
		*ends[i] = (struct end){ .context = zmq_ctx_new() };
		snprintf(ends[i]->address, sizeof(ends[i]->address), "ipc://%s/%c", directory,
			 'a' + i);
		ck_assert_int_eq(curve_keypair_new(&ends[i]->keys, &error), 0);
	}
}

static void teardown(void)
{
	struct end *ends[] = { &a, &b, &c };
	char command[96];

	for (int i = 0; i < 3; i++) {
		ends[i]->link = link_close(ends[i]->link);
		zmq_ctx_term(ends[i]->context);
	}
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void a_sends(void)
{
	(void)link_send(a.link, 0, "ok from a", 9);
}

static void a_and_b_send(void)
{
	(void)link_send(a.link, 0, "ok from a", 9);
	(void)link_send(b.link, 0, "ok from b", 9);
}

static bool b_got_one(void)
{
	return b.got.count > 0;
}

static bool both_got_one(void)
{
	return a.got.count > 0 && b.got.count > 0;
}

START_TEST(messages_arrive_with_the_name_of_their_key)
{
	open_end(&a, true, &b, NULL);
	open_end(&b, true, &c, &a);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, 1);
	ck_assert_uint_eq(b.got.size, 9);
	ck_assert_mem_eq(b.got.bytes, "ok from a", 9);
	ck_assert(link_peer(b.link, 1).up);
	ck_assert(!link_peer(b.link, 0).up);
	ck_assert_uint_eq(link_counters(b.link).received, b.got.count);
	ck_assert_uint_ge(link_counters(a.link).sent, b.got.count);
	ck_assert_uint_eq(link_counters(b.link).refused, 0);
}
END_TEST

START_TEST(tcp_binds_a_free_port_and_says_which)
{
	snprintf(b.address, sizeof(b.address), "tcp://127.0.0.1:*");
	open_end(&b, true, &a, NULL);
	ck_assert_msg(strncmp(link_address(b.link), "tcp://127.0.0.1:", 16) == 0, "%s",
		      link_address(b.link));
	snprintf(b.address, sizeof(b.address), "%s", link_address(b.link));
	open_end(&a, true, &b, NULL);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, 0);
}
END_TEST

START_TEST(without_keys_anybody_may_speak)
{
	open_end(&a, false, &b, NULL);
	open_end(&b, false, &a, NULL);
	ck_assert(run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, LINK_ANYBODY);
	/* Only what the message says can tell: the link itself marks nobody as up. */
	ck_assert(!link_peer(b.link, 0).up);
	link_heard(b.link, 0, clock_now_ns());
	ck_assert(link_peer(b.link, 0).up);
}
END_TEST

static bool b_refused_someone(void)
{
	return link_counters(b.link).refused > 0;
}

START_TEST(an_unknown_key_is_refused_at_the_handshake)
{
	/* b knows c's key; a comes with its own. */
	open_end(&b, true, &c, NULL);
	open_end(&a, true, &b, NULL);
	ck_assert(run_until(b_refused_someone, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.count, 0);
	ck_assert_uint_eq(link_counters(b.link).received, 0);
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
	void *socket = zmq_socket(a.context, ZMQ_PUSH);

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
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/b", directory);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(write(fd, greeting, sizeof(greeting)), sizeof(greeting));
	return fd;
}

START_TEST(a_client_without_keys_is_refused_at_the_handshake)
{
	open_end(&b, true, &a, NULL);
	int fd = open_plain_client();
	stranger = open_stranger();
	ck_assert_int_eq(zmq_connect(stranger, b.address), 0);
	ck_assert(run_until(b_refused_someone, stranger_sends, GIVE_UP_NS));
	ck_assert(!run_until(b_got_one, stranger_sends, S_NS / 5));
	zmq_close(stranger);
	close(fd);
	ck_assert_uint_eq(link_counters(b.link).received, 0);
}
END_TEST

/* Has the keys of a, but sends what an agent would not. */
static void *open_traitor(void)
{
	struct curve_limits limits = { .message_bytes_max = 1 << 20, .queue_messages_max = 100 };
	void *socket = zmq_socket(a.context, ZMQ_PUSH);

	ck_assert_ptr_nonnull(socket);
	ck_assert_int_eq(curve_client(socket, &a.keys, b.keys.public_key, &limits, &error), 0);
	ck_assert_int_eq(zmq_connect(socket, b.address), 0);
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
	return link_counters(b.link).dropped[LINK_DROP_OVERSIZE] > 2;
}

static bool b_dropped_rejected(void)
{
	return link_counters(b.link).dropped[LINK_DROP_REJECTED] > 2;
}

static void traitor_sends_parts(void)
{
	if (zmq_send(stranger, "ok", 2, ZMQ_DONTWAIT | ZMQ_SNDMORE) == 2)
		(void)zmq_send(stranger, "ok", 2, ZMQ_DONTWAIT);
}

START_TEST(garbage_and_oversize_are_dropped_and_counted)
{
	open_end(&b, true, &a, NULL);
	stranger = open_traitor();
	bad_size = LINK_MESSAGE_BYTES_MAX + 1;
	ck_assert(run_until(b_dropped_oversize, traitor_sends, GIVE_UP_NS));
	ck_assert_uint_eq(link_counters(b.link).dropped[LINK_DROP_REJECTED], 0);
	bad_size = LINK_MESSAGE_BYTES_MAX;
	ck_assert(run_until(b_dropped_rejected, traitor_sends, GIVE_UP_NS));
	bad_size = 0;
	uint64_t rejected = link_counters(b.link).dropped[LINK_DROP_REJECTED];
	traitor_sends();
	while (link_counters(b.link).dropped[LINK_DROP_REJECTED] == rejected)
		ck_assert(run_until(b_dropped_rejected, traitor_sends, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(b.got.count, 0);
	/* Sent under a's key, but nothing of it shows that a is well. */
	ck_assert(!link_peer(b.link, 0).up);
}
END_TEST

START_TEST(several_parts_are_dropped_whole)
{
	open_end(&b, true, &a, NULL);
	stranger = open_traitor();
	ck_assert(run_until(b_dropped_oversize, traitor_sends_parts, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(b.got.count, 0);
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
	open_end(&b, true, &a, NULL);
	stranger = open_traitor();
	huge_sent = 0;
	ck_assert(run_until(b_got_one, traitor_sends_huge_once, GIVE_UP_NS));
	zmq_close(stranger);
	ck_assert_uint_eq(b.got.size, 11);
	ck_assert_uint_eq(link_counters(b.link).dropped[LINK_DROP_OVERSIZE], 0);
}
END_TEST

START_TEST(a_neighbour_that_is_not_there_never_blocks)
{
	open_end(&a, true, &b, NULL);
	uint64_t before_ns = clock_now_ns();

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(link_send(a.link, 0, "ok", 2), -EAGAIN);
	ck_assert_uint_lt(clock_now_ns() - before_ns, 5 * S_NS);
	ck_assert_uint_eq(link_counters(a.link).dropped[LINK_DROP_BUSY], 1000);
	ck_assert_uint_eq(link_peer(a.link, 0).busy, 1000);
	ck_assert_uint_eq(link_counters(a.link).sent, 0);
}
END_TEST

static uint32_t number;

static void a_sends_numbers(void)
{
	uint8_t bytes[6] = { 'o', 'k' };

	for (int i = 0; i < 50 && number < 20000; i++) {
		number++;
		memcpy(bytes + 2, &number, sizeof(number));
		(void)link_send(a.link, 0, bytes, sizeof(bytes));
	}
}

static bool b_got_the_newest(void)
{
	uint32_t got;

	memcpy(&got, b.got.bytes + 2, sizeof(got));
	return b.got.count > 0 && got == 20000;
}

START_TEST(the_newest_message_always_arrives)
{
	open_end(&b, true, &a, NULL);
	open_end(&a, true, &b, NULL);
	number = 0;
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert(run_until(b_got_the_newest, a_sends_numbers, 6 * GIVE_UP_NS));
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
	open_end(&a, true, &b, NULL);
	uint64_t now_ns = clock_now_ns();
	unsigned before = lines_of(fd);

	for (int i = 0; i < 3600; i++) {
		now_ns += S_NS;
		(void)link_send(a.link, 0, "ok", 2);
		link_tick(a.link, now_ns);
	}
	ck_assert_uint_eq(lines_of(fd), before + 1);
	/* That it is back is news as well, and so is its next end. */
	link_heard(a.link, 0, now_ns);
	link_heard(a.link, 0, now_ns);
	ck_assert_uint_eq(lines_of(fd), before + 2);
	for (int i = 0; i < 60; i++)
		link_tick(a.link, now_ns += S_NS);
	ck_assert_uint_eq(lines_of(fd), before + 3);
}
END_TEST

START_TEST(a_neighbour_that_restarts_is_found_again)
{
	open_end(&a, true, &b, NULL);
	open_end(&b, true, &a, NULL);
	ck_assert(run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert(link_peer(a.link, 0).up);

	b.link = link_close(b.link);
	/* Three in a row can be in flight or on their way; after that there is nobody. */
	uint64_t heard_ns = link_peer(a.link, 0).heard_ns;
	link_tick(a.link, heard_ns + S_NS / 2);
	ck_assert(link_peer(a.link, 0).up);
	link_tick(a.link, heard_ns + 2 * S_NS);
	ck_assert(!link_peer(a.link, 0).up);
	ck_assert_uint_eq(link_peer(a.link, 0).changed_ns, heard_ns);

	a.got.count = b.got.count = 0;
	zmq_ctx_term(b.context);
	b.context = zmq_ctx_new();
	open_end(&b, true, &a, NULL);
	ck_assert(run_until(both_got_one, a_and_b_send, GIVE_UP_NS));
	ck_assert(link_peer(a.link, 0).up);
}
END_TEST

START_TEST(says_what_cannot_be_opened)
{
	struct link_neighbour nobody = { "one", "tcp://127.0.0.1:1", a.keys.public_key };
	struct link_config config = {
		.listen = "ipc:///nonexistent/directory/socket",
		.keys = &a.keys,
		.neighbours = &nobody,
		.neighbour_count = 1,
		.fn = on_message,
	};
	struct link *poisoned = (struct link *)&config, *link = poisoned;

	ck_assert_int_lt(link_open(&config, a.context, &loop, 0, &link, &error), 0);
	ck_assert_ptr_eq(link, poisoned);
	ck_assert_str_eq(error.text, "bind ipc:///nonexistent/directory/socket: "
				     "No such file or directory");
	config.listen = a.address;
	nobody.address = "ftp://127.0.0.1:1";
	ck_assert_int_lt(link_open(&config, b.context, &loop, 0, &link, &error), 0);
	ck_assert_str_eq(error.text,
			 "neighbour one: connect ftp://127.0.0.1:1: Protocol not supported");
	/* Nothing of the failed attempts is left; libzmq frees the allow-list a little later. */
	ck_assert_uint_eq(loop.count, 0);
	nobody.address = "tcp://127.0.0.1:1";
	ck_assert_int_eq(link_open(&config, c.context, &loop, 0, &c.link, &error), 0);
}
END_TEST

START_TEST(a_node_alone_needs_no_address)
{
	struct link_config config = { .keys = &a.keys, .fn = on_message };

	ck_assert_int_eq(link_open(&config, a.context, &loop, 0, &a.link, &error), 0);
	ck_assert_str_eq(link_address(a.link), "");
	link_tick(a.link, S_NS);
}
END_TEST

/* Listens, and knows nobody yet. */
static void open_alone(struct end *end)
{
	struct link_config config = {
		.listen = end->address,
		.keys = &end->keys,
		.down_after_ns = S_NS,
		.fn = on_message,
		.context = &end->got,
	};

	int r = link_open(&config, end->context, &loop, clock_now_ns(), &end->link, &error);
	ck_assert_msg(r == 0, "%s", error.text);
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
	open_alone(&a);
	open_alone(&b);
	ck_assert_uint_eq(add(&b, "c", &c), 0);
	ck_assert_uint_eq(add(&b, "a", &a), 1);
	ck_assert_uint_eq(add(&a, "b", &b), 0);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, 1);
	ck_assert(link_peer(b.link, 1).up);
	ck_assert(!link_peer(b.link, 0).up);
}
END_TEST

static bool b_dropped_one(void)
{
	return link_counters(b.link).dropped[LINK_DROP_UNKNOWN] > 0;
}

START_TEST(who_is_removed_is_not_listened_to_and_its_place_is_used_again)
{
	open_alone(&a);
	open_end(&b, true, &c, &a);
	ck_assert_uint_eq(add(&a, "b", &b), 0);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, 1);
	link_remove(b.link, 1);
	b.got.count = 0;
	/* Still connected: its name is nobody's any more. */
	ck_assert(run_until(b_dropped_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.count, 0);
	link_tick(b.link, clock_now_ns() + 10 * S_NS);
	link_remove(b.link, 0);
	ck_assert_uint_eq(add(&b, "first", &c), 0);
	ck_assert_uint_eq(add(&b, "again", &a), 1);
	/* A new name needs a new handshake. */
	link_remove(a.link, 0);
	ck_assert_uint_eq(add(&a, "b", &b), 0);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	ck_assert_uint_eq(b.got.neighbour, 1);
	/* And after its removal no handshake succeeds. */
	link_remove(b.link, 1);
	link_remove(a.link, 0);
	add(&a, "b", &b);
	uint64_t before = link_counters(b.link).refused;
	b.got.count = 0;
	for (int i = 0; i < 200 && link_counters(b.link).refused == before; i++)
		(void)run_until(b_got_one, a_sends, S_NS / 20);
	ck_assert_uint_gt(link_counters(b.link).refused, before);
	ck_assert_uint_eq(b.got.count, 0);
}
END_TEST

START_TEST(a_neighbour_that_cannot_be_added_changes_nothing)
{
	struct link_neighbour neighbour = { "one", c.address, c.keys.public_key };
	uint32_t index = 7;

	open_end(&b, true, &a, NULL);
	ck_assert_int_eq(link_add(b.link, &neighbour, 0, &index, &error), -EEXIST);
	ck_assert_str_eq(error.text, "neighbour one: 'one' has two keys");
	neighbour = (struct link_neighbour){ "two", c.address, a.keys.public_key };
	ck_assert_int_eq(link_add(b.link, &neighbour, 0, &index, &error), -EEXIST);
	neighbour = (struct link_neighbour){ "two", "ftp://1", c.keys.public_key };
	ck_assert_int_lt(link_add(b.link, &neighbour, 0, &index, &error), 0);
	neighbour = (struct link_neighbour){ "two", c.address, "short" };
	ck_assert_int_eq(link_add(b.link, &neighbour, 0, &index, &error), -EINVAL);
	ck_assert_uint_eq(index, 7);
	/* Nothing of it is left: the same name and key go in now, and the old one speaks. */
	ck_assert_uint_eq(add(&b, "two", &c), 1);
	open_end(&a, true, &b, NULL);
	ck_assert(run_until(b_got_one, a_sends, GIVE_UP_NS));
	for (unsigned i = 2; i < LINK_NEIGHBOURS_MAX; i++) {
		struct curve_keypair keys;
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		ck_assert_int_eq(curve_keypair_new(&keys, &error), 0);
		neighbour = (struct link_neighbour){ name, c.address, keys.public_key };
		ck_assert_int_eq(link_add(b.link, &neighbour, 0, &index, &error), 0);
	}
	neighbour = (struct link_neighbour){ "more", c.address, b.keys.public_key };
	ck_assert_int_eq(link_add(b.link, &neighbour, 0, &index, &error), -ENOSPC);
}
END_TEST

static void a_sends_and_ticks(void)
{
	a_sends();
	link_tick(a.link, clock_now_ns());
}

START_TEST(who_was_refused_gets_in_once_the_other_knows_him)
{
	open_alone(&a);
	open_alone(&b);
	ck_assert_uint_eq(add(&a, "b", &b), 0);
	ck_assert(run_until(b_refused_someone, a_sends_and_ticks, GIVE_UP_NS));
	ck_assert_uint_eq(add(&b, "a", &a), 0);
	ck_assert(run_until(b_got_one, a_sends_and_ticks, 3 * GIVE_UP_NS));
}
END_TEST

START_TEST(who_listens_nowhere_gets_no_neighbours)
{
	struct link_config config = { .keys = &a.keys, .fn = on_message };
	struct link_neighbour neighbour = { "c", c.address, c.keys.public_key };
	uint32_t index;

	ck_assert_int_eq(link_open(&config, a.context, &loop, 0, &a.link, &error), 0);
	ck_assert_int_eq(link_add(a.link, &neighbour, 0, &index, &error), -EDESTADDRREQ);
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

static void open_long_end(struct end *end, const struct end *one)
{
	const struct link_neighbour neighbour = {
		.name = "one", .address = one->address, .public_key = one->keys.public_key
	};
	const struct link_config config = {
		.listen = end->address,
		.keys = &end->keys,
		.limits = { .message_bytes_max = LONG_BYTES, .queue_messages = LONG_MESSAGES },
		.neighbours = &neighbour,
		.neighbour_count = 1,
		.down_after_ns = S_NS,
		.parts_fn = on_long_message,
	};

	int r = link_open(&config, end->context, &loop, clock_now_ns(), &end->link, &error);
	ck_assert_msg(r == 0, "%s", error.text);
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

		if (link_send_parts(a.link, 0, parts, 2) < 0)
			return;
	}
}

static bool all_long_came(void)
{
	return long_count >= LONG_MESSAGES;
}

START_TEST(with_a_queue_long_messages_in_parts_all_arrive_in_order)
{
	long_count = long_sent = 0;
	open_long_end(&a, &b);
	open_long_end(&b, &a);
	ck_assert(run_until(all_long_came, send_long, GIVE_UP_NS));
	ck_assert_uint_eq(link_counters(a.link).sent, LONG_MESSAGES);
	ck_assert_uint_eq(link_counters(b.link).received, LONG_MESSAGES);
}
END_TEST

static unsigned line_accepted;

static void fill_line(void)
{
	uint8_t bytes[2] = { 0 };

	while (line_accepted < 100000 && link_send(a.link, 0, bytes, sizeof(bytes)) == 0)
		line_accepted++;
}

static bool is_line_full(void)
{
	return line_accepted > 0;
}

START_TEST(a_line_that_is_full_takes_no_more)
{
	struct link_limits limits = { .message_bytes_max = 16, .queue_messages = 2 };
	const struct link_neighbour neighbour = {
		.name = "b", .address = b.address, .public_key = b.keys.public_key
	};
	struct link_config config = {
		.listen = a.address,
		.keys = &a.keys,
		.limits = limits,
		.neighbours = &neighbour,
		.neighbour_count = 1,
		.down_after_ns = S_NS,
		.fn = on_message,
		.context = &a.got,
	};

	line_accepted = 0;
	open_end(&b, true, &a, NULL);
	ck_assert_int_eq(link_open(&config, a.context, &loop, 0, &a.link, &error), 0);
	ck_assert(run_until(is_line_full, fill_line, GIVE_UP_NS));
	/* Faster than anything is sent, and yet not all were taken. */
	ck_assert_uint_lt(line_accepted, 100000);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("link");
	TCase *tcase = tcase_create("sockets");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, messages_arrive_with_the_name_of_their_key);
	tcase_add_test(tcase, tcp_binds_a_free_port_and_says_which);
	tcase_add_test(tcase, without_keys_anybody_may_speak);
	tcase_add_test(tcase, an_unknown_key_is_refused_at_the_handshake);
	tcase_add_test(tcase, a_client_without_keys_is_refused_at_the_handshake);
	tcase_add_test(tcase, garbage_and_oversize_are_dropped_and_counted);
	tcase_add_test(tcase, several_parts_are_dropped_whole);
	tcase_add_test(tcase, a_huge_message_costs_the_sender_its_connection_and_nothing_else);
	tcase_add_test(tcase, a_neighbour_that_is_not_there_never_blocks);
	tcase_add_test(tcase, the_newest_message_always_arrives);
	tcase_add_test(tcase, who_stays_silent_is_told_once);
	tcase_add_test(tcase, a_neighbour_that_restarts_is_found_again);
	tcase_add_test(tcase, says_what_cannot_be_opened);
	tcase_add_test(tcase, a_node_alone_needs_no_address);
	tcase_add_test(tcase, a_neighbour_that_is_added_later_is_one_like_any_other);
	tcase_add_test(tcase, who_is_removed_is_not_listened_to_and_its_place_is_used_again);
	tcase_add_test(tcase, a_neighbour_that_cannot_be_added_changes_nothing);
	tcase_add_test(tcase, who_was_refused_gets_in_once_the_other_knows_him);
	tcase_add_test(tcase, who_listens_nowhere_gets_no_neighbours);
	tcase_add_test(tcase, with_a_queue_long_messages_in_parts_all_arrive_in_order);
	tcase_add_test(tcase, a_line_that_is_full_takes_no_more);
	suite_add_tcase(suite, tcase);
	return suite;
}

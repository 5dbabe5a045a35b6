/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/link_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "tests/test.h"

struct ends ends;

static struct error error;

bool ends_on_message(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
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

static struct {
	struct loop_source source;
	ends_done_fn *done;
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
		loop_quit(&ends.loop);
	else
		timer_arm(source->fd, now_ns + 5000000);
}

bool ends_run_until(ends_done_fn *done, void (*prod)(void), uint64_t limit_ns)
{
	int fd = timer_open();

	prodder.source = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = on_prod };
	prodder.done = done;
	prodder.prod = prod;
	prodder.give_up_ns = clock_now_ns() + limit_ns;
	ck_assert_int_eq(loop_add(&ends.loop, &prodder.source), 0);
	ck_assert_int_eq(timer_arm(fd, 0), 0);
	ck_assert_int_eq(loop_run(&ends.loop), 0);
	loop_remove(&ends.loop, &prodder.source);
	close(fd);
	return prodder.is_done;
}

void ends_open_as(struct end *end, const struct link_config *config)
{
	int r = link_open(config, end->context, &ends.loop, clock_now_ns(), &end->link, &error);

	ck_assert_msg(r == 0, "%s", error.text);
}

void ends_open(struct end *end, bool with_keys, const struct end *one, const struct end *other)
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
		.fn = ends_on_message,
		.context = &end->got,
	};

	if (other != NULL)
		neighbours[1] = (struct link_neighbour){
			.name = "other",
			.address = other->address,
			.public_key = other->keys.public_key,
		};
	ends_open_as(end, &config);
}

void ends_set_up(void)
{
	struct end *all[] = { &ends.a, &ends.b, &ends.c };

	log_init(LOG_ERR, false);
	snprintf(ends.directory, sizeof(ends.directory), "/tmp/isobar-link-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(ends.directory));
	for (int i = 0; i < 3; i++) {
		*all[i] = (struct end){ .context = zmq_ctx_new() };
		snprintf(all[i]->address, sizeof(all[i]->address), "ipc://%s/%c", ends.directory,
			 'a' + i);
		ck_assert_int_eq(curve_keypair_new(&all[i]->keys, &error), 0);
	}
}

void ends_tear_down(void)
{
	struct end *all[] = { &ends.a, &ends.b, &ends.c };
	char command[96];

	for (int i = 0; i < 3; i++) {
		all[i]->link = link_close(all[i]->link);
		zmq_ctx_term(all[i]->context);
	}
	snprintf(command, sizeof(command), "rm -rf %s", ends.directory);
	ck_assert_int_eq(system(command), 0);
}

void a_sends(void)
{
	(void)link_send(ends.a.link, 0, "ok from a", 9);
}

bool b_got_one(void)
{
	return ends.b.got.count > 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_LINK_ENDS_H
#define ISO_TESTS_LINK_ENDS_H

#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/link.h"

/* Three ends of links in one loop, with a key and an address each; none is open at first. */

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

struct ends {
	struct end a, b, c;
	struct loop loop;
	char directory[64]; /* of the addresses */
};

extern struct ends ends;

void ends_set_up(void);
void ends_tear_down(void);

/* Takes what begins with "ok"; its context is a struct got. */
bool ends_on_message(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size);

void ends_open_as(struct end *end, const struct link_config *config);
/* With neighbours "one" and "other", which may be NULL. */
void ends_open(struct end *end, bool with_keys, const struct end *one, const struct end *other);

/*
 * The loop runs, and prod() every 5 ms, until done() or for limit_ns: whether it was
 * done.  prod may be NULL.
 */
typedef bool ends_done_fn(void);
bool ends_run_until(ends_done_fn *done, void (*prod)(void), uint64_t limit_ns);

/* To prod with, and to wait for. */
void a_sends(void);
bool b_got_one(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which neighbours are up, and sockets that reach nobody. */
#include "config.h"

#include "agent/net/link.h"

#include <assert.h>
#include <zmq.h>

#include "agent/base/log.h"
#include "agent/net/link_private.h"

static void renew(struct link *link, struct neighbour *neighbour)
{
	void *socket;

	if (link_open_socket(link, neighbour, &socket, NULL) < 0)
		return; /* the old one stays, and so does the wish */
	zmq_close(neighbour->socket);
	neighbour->socket = socket;
	neighbour->failing_ns = 0;
	neighbour->renew_after_ns *= 2;
	if (neighbour->renew_after_ns > LINK_RENEW_NS_MAX)
		neighbour->renew_after_ns = LINK_RENEW_NS_MAX;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0.0;
}

void link_heard(struct link *link, uint32_t neighbour, uint64_t now_ns)
{
	assert(link_is_taken(link, neighbour));

	struct neighbour *from = &link->neighbours[neighbour];
	from->peer.received++;
	from->peer.heard_ns = now_ns;
	if (from->peer.up)
		return;
	if (from->told)
		log_info("neighbour %s is up after %.1f s", from->name,
			 seconds(from->peer.changed_ns, now_ns));
	else
		log_info("neighbour %s is up", from->name);
	from->peer.up = true;
	from->peer.changed_ns = now_ns;
	from->told = true;
}

static void went_silent(struct neighbour *neighbour, double silent_s, uint64_t now_ns)
{
	if (neighbour->peer.up)
		log_warn("neighbour %s is down: nothing heard for %.1f s; it was up for %.1f s",
			 neighbour->name, silent_s, seconds(neighbour->peer.changed_ns, now_ns));
	else
		log_warn("neighbour %s is down: nothing heard since the start, %.1f s ago",
			 neighbour->name, silent_s);
	/* The time of being down counts from the last message. */
	if (neighbour->peer.heard_ns != 0)
		neighbour->peer.changed_ns = neighbour->peer.heard_ns;
	neighbour->peer.up = false;
	neighbour->told = true;
}

static void look_at_sending(struct link *link, struct neighbour *neighbour, uint64_t now_ns)
{
	if (!neighbour->is_failing) {
		neighbour->failing_ns = 0;
		neighbour->renew_after_ns = LINK_RENEW_NS_MIN;
	} else if (neighbour->failing_ns == 0) {
		neighbour->failing_ns = now_ns;
	} else if (now_ns - neighbour->failing_ns >= neighbour->renew_after_ns) {
		renew(link, neighbour);
	}
}

void link_tick(struct link *link, uint64_t now_ns)
{
	for (uint32_t i = 0; i < link->count; i++) {
		struct neighbour *neighbour = &link->neighbours[i];
		uint64_t heard_ns = neighbour->peer.heard_ns;
		uint64_t since_ns = heard_ns != 0 ? heard_ns : neighbour->added_ns;

		if (neighbour->socket != NULL)
			look_at_sending(link, neighbour, now_ns);
		/* Nobody, down and told already, or not silent for long enough. */
		if (neighbour->socket == NULL || (!neighbour->peer.up && neighbour->told) ||
		    now_ns < since_ns || now_ns - since_ns < link->down_after_ns)
			continue;
		went_silent(neighbour, seconds(since_ns, now_ns), now_ns);
	}
}

struct link_peer link_peer(const struct link *link, uint32_t neighbour)
{
	assert(link_is_taken(link, neighbour));
	return link->neighbours[neighbour].peer;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/link.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/net/detour.h"
#include "agent/net/link_socket.h"
#include "agent/net/link_private.h"
#include "agent/net/zap.h"

const char *link_drop_text(enum link_drop drop)
{
	static const char *const texts[] = {
		[LINK_DROP_OVERSIZE] = "oversize",
		[LINK_DROP_UNKNOWN] = "unknown",
		[LINK_DROP_REJECTED] = "rejected",
		[LINK_DROP_BUSY] = "busy",
	};

	return texts[drop];
}

int link_open_socket(const struct link *link, const struct neighbour *neighbour, void **ret_socket,
		     struct error *reterr)
{
	return link_socket_connect(link->zmq_context, &link->limits,
				   link->has_keys ? &link->keys : NULL, neighbour->public_key,
				   neighbour->address, ret_socket, reterr);
}

/* The socket is set on success only, so that the place is taken from then on. */
static int open_neighbour(struct link *link, struct neighbour *neighbour,
			  const struct link_neighbour *from, uint64_t now_ns, struct error *reterr)
{
	assert(strlen(from->name) < LINK_NAME_BYTES);
	assert(strlen(from->address) < LINK_ADDRESS_BYTES);
	*neighbour = (struct neighbour){
		.added_ns = now_ns,
		.renew_after_ns = LINK_RENEW_NS_MIN,
		.peer.changed_ns = now_ns,
	};
	snprintf(neighbour->name, sizeof(neighbour->name), "%s", from->name);
	snprintf(neighbour->address, sizeof(neighbour->address), "%s", from->address);
	if (from->public_key != NULL)
		snprintf(neighbour->public_key, sizeof(neighbour->public_key), "%s",
			 from->public_key);
	return link_open_socket(link, neighbour, &neighbour->socket, reterr);
}

/* Tells the allow-list who the neighbours are; extra may be NULL. */
static int set_allow_list(struct link *link, const struct link_neighbour *extra,
			  struct error *reterr)
{
	struct zap_peer *peers = calloc(LINK_NEIGHBOURS_MAX + 1, sizeof(*peers));
	size_t count = 0;

	if (peers == NULL)
		return error_errno(reterr, -ENOMEM, "allow-list");
	for (uint32_t i = 0; i < link->count; i++) {
		const struct neighbour *from = &link->neighbours[i];

		if (from->socket == NULL)
			continue;
		memcpy(peers[count].public_key, from->public_key, CURVE_KEY_BYTES);
		memcpy(peers[count++].name, from->name, LINK_NAME_BYTES);
	}
	if (extra != NULL) {
		snprintf(peers[count].public_key, CURVE_KEY_BYTES, "%s",
			 extra->public_key != NULL ? extra->public_key : "");
		snprintf(peers[count++].name, ZAP_NAME_BYTES, "%s", extra->name);
	}
	int r = zap_set_peers(link->zap, LINK_DOMAIN, peers, count, reterr);
	free(peers);
	return r;
}

static int open_allow_list(struct link *link, const struct link_config *config,
			   struct error *reterr)
{
	link->zap = config->zap;
	link->owns_zap = config->zap == NULL;
	if (!link->owns_zap)
		return zap_set_peers(link->zap, LINK_DOMAIN, NULL, 0, reterr);
	return zap_open(link->zmq_context, link->loop, LINK_DOMAIN, NULL, 0, &link->zap, reterr);
}

static int open_listener(struct link *link, const struct link_config *config, struct error *reterr)
{
	size_t size = sizeof(link->address);
	int r;

	/* A node without neighbours has nobody to listen to. */
	if (config->neighbour_count == 0 && (config->listen == NULL || config->listen[0] == '\0'))
		return 0;
	void *socket = zmq_socket(link->zmq_context, ZMQ_PULL);
	link->source.socket = socket;
	if (socket == NULL)
		return error_errno(reterr, -errno, "open a socket");
	r = config->keys != NULL ? open_allow_list(link, config, reterr) : 0;
	if (r == 0)
		r = link_socket_listen(socket, &link->limits, config->keys, LINK_DOMAIN, reterr);
	if (r == 0 && config->keys != NULL)
		r = zap_watch(link->zap, LINK_DOMAIN, socket, reterr);
	if (r == 0)
		r = curve_bind(socket, config->listen, reterr);
	if (r < 0)
		return r;
	if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, link->address, &size) < 0)
		return error_errno(reterr, -errno, "ask for the address of '%s'", config->listen);
	r = loop_add(link->loop, &link->source);
	return r < 0 ? error_errno(reterr, r, "watch a socket") : 0;
}

/* The name that the allow-list bound to the sender's key, as an index. */
static bool sender(const struct link *link, zmq_msg_t *message, uint32_t *ret_index)
{
	const char *name = curve_user_id(message);

	if (link->zap == NULL) {
		*ret_index = LINK_ANYBODY;
		return true;
	}
	for (uint32_t i = 0; name != NULL && i < link->count; i++)
		if (link_is_taken(link, i) && strcmp(link->neighbours[i].name, name) == 0) {
			*ret_index = i;
			return true;
		}
	return false;
}

/* Whether whoever uses the link finds it good. */
static bool hand_up(const struct link *link, uint32_t index, zmq_msg_t *messages, unsigned count)
{
	struct link_part parts[LINK_PARTS_MAX];

	if (link->parts_fn == NULL)
		return detour(link->fn, link->context, index, zmq_msg_data(&messages[0]),
			      zmq_msg_size(&messages[0]));
	for (unsigned i = 0; i < count; i++)
		parts[i] = (struct link_part){ zmq_msg_data(&messages[i]),
					       zmq_msg_size(&messages[i]) };
	return link->parts_fn(link->context, index, parts, count);
}

/* count: of all parts, of which only so many as there may be are here. */
static void take(struct link *link, zmq_msg_t *messages, unsigned count)
{
	bool is_good = count <= (link->parts_fn != NULL ? LINK_PARTS_MAX : 1);
	uint32_t index;

	for (unsigned i = 0; i < count && is_good; i++)
		is_good = zmq_msg_size(&messages[i]) <= link->limits.message_bytes_max;
	if (!is_good) {
		link->counters.dropped[LINK_DROP_OVERSIZE]++;
		return;
	}
	if (!sender(link, &messages[0], &index)) {
		link->counters.dropped[LINK_DROP_UNKNOWN]++;
		return;
	}
	if (!hand_up(link, index, messages, count)) {
		link->counters.dropped[LINK_DROP_REJECTED]++;
		return;
	}
	link->counters.received++;
	if (index != LINK_ANYBODY)
		link_heard(link, index, clock_now_ns());
}

/* All parts of the next message; those beyond the limit are only counted.  0: there is none. */
static unsigned receive(void *socket, zmq_msg_t messages[LINK_PARTS_MAX])
{
	unsigned count = 0;
	bool has_more = true;

	while (has_more) {
		zmq_msg_t surplus, *message = count < LINK_PARTS_MAX ? &messages[count] : &surplus;

		zmq_msg_init(message);
		if (zmq_msg_recv(message, socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(message);
			break;
		}
		has_more = zmq_msg_more(message);
		if (message == &surplus)
			zmq_msg_close(&surplus);
		count++;
	}
	return count;
}

static void on_message(struct loop_source *source, short revents)
{
	struct link *link = (struct link *)(void *)source;
	zmq_msg_t messages[LINK_PARTS_MAX];

	(void)revents;
	for (unsigned i = 0; i < LINK_DRAIN_MAX; i++) {
		unsigned count = receive(source->socket, messages);

		if (count == 0)
			return;
		take(link, messages, count);
		for (unsigned j = 0; j < count && j < LINK_PARTS_MAX; j++)
			zmq_msg_close(&messages[j]);
	}
}

int link_open(const struct link_config *config, void *zmq_context, struct loop *loop,
	      uint64_t now_ns, struct link **ret_link, struct error *reterr)
{
	struct link *link;
	int r;

	assert(config->neighbour_count <= LINK_NEIGHBOURS_MAX);
	link = calloc(1, sizeof(*link));
	if (link == NULL)
		return error_errno(reterr, -ENOMEM, "link");
	link->source = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_message };
	link->loop = loop;
	link->zmq_context = zmq_context;
	link->fn = config->fn;
	link->parts_fn = config->parts_fn;
	link->context = config->context;
	link->down_after_ns = config->down_after_ns;
	link->limits = config->limits;
	if (link->limits.message_bytes_max == 0)
		link->limits.message_bytes_max = LINK_MESSAGE_BYTES_MAX;
	link->has_keys = config->keys != NULL;
	if (link->has_keys)
		link->keys = *config->keys;
	r = open_listener(link, config, reterr);
	for (uint32_t i = 0, index; i < config->neighbour_count && r == 0; i++)
		r = link_add(link, &config->neighbours[i], now_ns, &index, reterr);
	if (r < 0) {
		link_close(link);
		return r;
	}
	*ret_link = link;
	return 0;
}

struct link *link_close(struct link *link)
{
	if (link == NULL)
		return NULL;
	for (uint32_t i = 0; i < link->count; i++)
		if (link->neighbours[i].socket != NULL)
			zmq_close(link->neighbours[i].socket);
	loop_remove(link->loop, &link->source);
	if (link->source.socket != NULL) {
		zap_unwatch(link->source.socket);
		zmq_close(link->source.socket);
	}
	/* An empty list cannot be refused. */
	if (link->owns_zap)
		zap_close(link->zap);
	else if (link->zap != NULL)
		(void)zap_set_peers(link->zap, LINK_DOMAIN, NULL, 0, NULL);
	curve_keypair_wipe(&link->keys);
	free(link);
	return NULL;
}

int link_add(struct link *link, const struct link_neighbour *neighbour, uint64_t now_ns,
	     uint32_t *ret_neighbour, struct error *reterr)
{
	uint32_t index = 0;
	int r = 0;

	while (link_is_taken(link, index))
		index++;
	if (index == LINK_NEIGHBOURS_MAX)
		r = error_set(reterr, -ENOSPC, "%u neighbours are the most", LINK_NEIGHBOURS_MAX);
	else if (link->source.socket == NULL)
		r = error_set(reterr, -EDESTADDRREQ,
			      "this node listens nowhere, so nobody could answer");
	/* The list knows whether key and name are new. */
	if (r == 0 && link->zap != NULL)
		r = set_allow_list(link, neighbour, reterr);
	if (r == 0) {
		r = open_neighbour(link, &link->neighbours[index], neighbour, now_ns, reterr);
		/* As it was, which was not refused then. */
		if (r < 0 && link->zap != NULL)
			(void)set_allow_list(link, NULL, NULL);
	}
	if (r < 0)
		return error_wrap(reterr, "neighbour %s", neighbour->name);
	if (index == link->count)
		link->count++;
	*ret_neighbour = index;
	return 0;
}

void link_remove(struct link *link, uint32_t neighbour)
{
	assert(link_is_taken(link, neighbour));
	zmq_close(link->neighbours[neighbour].socket);
	link->neighbours[neighbour].socket = NULL;
	/* A part of a list that was good is good; without memory the longer one stays. */
	if (link->zap != NULL)
		(void)set_allow_list(link, NULL, NULL);
}

/*
 * What libzmq's thread has sent it tells in commands, which a send takes in no more often than
 * about once a millisecond: until then the line seems full.  Asking for events takes them in.
 */
static bool send_part(void *socket, const struct link_part *part, int flags)
{
	int events = 0;
	size_t size = sizeof(events);

	if (zmq_send(socket, part->bytes, part->size, flags) >= 0)
		return true;
	return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 &&
	       (events & ZMQ_POLLOUT) != 0 && zmq_send(socket, part->bytes, part->size, flags) >= 0;
}

int link_send_parts(struct link *link, uint32_t neighbour, const struct link_part *parts,
		    unsigned count)
{
	assert(link_is_taken(link, neighbour));
	assert(count >= 1);
	assert(count <= LINK_PARTS_MAX);
	/* Where only the newest is kept, libzmq keeps the newest part. */
	assert(count == 1 || link->limits.queue_messages != 0);

	struct neighbour *to = &link->neighbours[neighbour];
	to->is_failing = false;
	/* Only the first can find the line full: the others belong to it. */
	for (unsigned i = 0; i < count && !to->is_failing; i++) {
		int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0);

		assert(parts[i].size <= link->limits.message_bytes_max);
		to->is_failing = !send_part(to->socket, &parts[i], flags);
	}
	if (!to->is_failing) {
		link->counters.sent++;
		to->peer.sent++;
		return 0;
	}
	link->counters.dropped[LINK_DROP_BUSY]++;
	to->peer.busy++;
	return -EAGAIN;
}

int link_send(struct link *link, uint32_t neighbour, const void *bytes, size_t size)
{
	return link_send_parts(link, neighbour, &(struct link_part){ bytes, size }, 1);
}

struct link_counters link_counters(const struct link *link)
{
	struct link_counters counters = link->counters;

	if (link->zap != NULL) {
		const struct zap_counters *zap = zap_counters(link->zap, LINK_DOMAIN);

		counters.refused = zap->refused_key + zap->refused_other + zap->refused_greeting;
	}
	return counters;
}

const char *link_address(const struct link *link)
{
	return link->address;
}

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
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/net/curve.h"
#include "agent/net/zap.h"

#define ZAP_DOMAIN "isobar"

/* What is longer never gets this far: libzmq breaks off the connection. */
#define TRANSPORT_BYTES_MAX 4096

#define QUEUE_MESSAGES_MAX 1000

struct neighbour {
	const char *name;
	void *socket; /* PUSH; NULL until it is open */
	struct link_peer peer;
	bool told; /* its first change of state was logged */
};

struct link {
	struct loop_source source; /* PULL */
	struct loop *loop;
	struct zap *zap; /* NULL without keys */
	link_fn *fn;
	void *context;
	uint64_t down_after_ns;
	uint64_t opened_ns;
	char address[160];
	struct link_counters counters;
	uint32_t count;
	struct neighbour neighbours[];
};

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

static const struct curve_limits limits = {
	.message_bytes_max = TRANSPORT_BYTES_MAX,
	.queue_messages_max = QUEUE_MESSAGES_MAX,
};

static int set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Sockets without keys: only within this machine, so heartbeats find nothing to do. */
static int set_plain(void *socket, struct error *reterr)
{
	int64_t bytes = TRANSPORT_BYTES_MAX;
	int r = set_int(socket, ZMQ_LINGER, 0);

	if (r == 0)
		r = set_int(socket, ZMQ_IMMEDIATE, 1);
	if (r == 0)
		r = set_int(socket, ZMQ_RCVHWM, QUEUE_MESSAGES_MAX);
	if (r == 0)
		r = set_int(socket, ZMQ_RECONNECT_IVL_MAX, 2000);
	if (r == 0 && zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes, sizeof(bytes)) < 0)
		r = -errno;
	return r < 0 ? error_errno(reterr, r, "set up a socket") : 0;
}

static int open_neighbour(struct neighbour *neighbour, const struct link_neighbour *from,
			  const struct curve_keypair *keys, void *zmq_context, struct error *reterr)
{
	int r;

	neighbour->name = from->name;
	neighbour->socket = zmq_socket(zmq_context, ZMQ_PUSH);
	if (neighbour->socket == NULL)
		return error_errno(reterr, -errno, "open a socket");
	r = keys != NULL ? curve_client(neighbour->socket, keys, from->public_key, &limits, reterr)
			 : set_plain(neighbour->socket, reterr);
	if (r < 0)
		return r;
	/* The newest message dominates every older one: keep only that. */
	r = set_int(neighbour->socket, ZMQ_CONFLATE, 1);
	if (r < 0)
		return error_errno(reterr, r, "set up a socket");
	return curve_connect(neighbour->socket, from->address, reterr);
}

static int open_allow_list(struct link *link, const struct link_config *config, void *zmq_context,
			   struct error *reterr)
{
	struct zap_peer *peers = calloc(config->neighbour_count + 1, sizeof(*peers));

	if (peers == NULL)
		return error_errno(reterr, -ENOMEM, "allow-list");
	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		const struct link_neighbour *from = &config->neighbours[i];

		snprintf(peers[i].public_key, sizeof(peers[i].public_key), "%s", from->public_key);
		snprintf(peers[i].name, sizeof(peers[i].name), "%s", from->name);
	}
	int r = zap_open(zmq_context, link->loop, ZAP_DOMAIN, peers, config->neighbour_count,
			 &link->zap, reterr);
	free(peers);
	return r;
}

static int open_listener(struct link *link, const struct link_config *config, void *zmq_context,
			 struct error *reterr)
{
	size_t size = sizeof(link->address);
	int r;

	/* A node without neighbours has nobody to listen to. */
	if (config->neighbour_count == 0 && (config->listen == NULL || config->listen[0] == '\0'))
		return 0;
	void *socket = zmq_socket(zmq_context, ZMQ_PULL);
	link->source.socket = socket;
	if (socket == NULL)
		return error_errno(reterr, -errno, "open a socket");
	if (config->keys != NULL) {
		r = open_allow_list(link, config, zmq_context, reterr);
		if (r == 0)
			r = curve_server(socket, config->keys, ZAP_DOMAIN, &limits, reterr);
		if (r == 0)
			r = zap_watch(link->zap, ZAP_DOMAIN, socket, reterr);
	} else {
		r = set_plain(socket, reterr);
	}
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
		if (strcmp(link->neighbours[i].name, name) == 0) {
			*ret_index = i;
			return true;
		}
	return false;
}

static void take(struct link *link, zmq_msg_t *message)
{
	size_t size = zmq_msg_size(message);
	uint32_t index;

	if (size > LINK_MESSAGE_BYTES_MAX) {
		link->counters.dropped[LINK_DROP_OVERSIZE]++;
		return;
	}
	if (!sender(link, message, &index)) {
		link->counters.dropped[LINK_DROP_UNKNOWN]++;
		return;
	}
	if (!link->fn(link->context, index, zmq_msg_data(message), size)) {
		link->counters.dropped[LINK_DROP_REJECTED]++;
		return;
	}
	link->counters.received++;
	if (index != LINK_ANYBODY)
		link_heard(link, index, clock_now_ns());
}

static void on_message(struct loop_source *source, short revents)
{
	struct link *link = (struct link *)(void *)source;
	bool is_continued = false;

	(void)revents;
	for (unsigned i = 0; i < LINK_DRAIN_MAX; i++) {
		zmq_msg_t message;

		zmq_msg_init(&message);
		if (zmq_msg_recv(&message, source->socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(&message);
			return;
		}
		bool has_more = zmq_msg_more(&message);
		/* Nobody of ours sends several parts. */
		if (has_more || is_continued)
			link->counters.dropped[LINK_DROP_OVERSIZE] += !is_continued;
		else
			take(link, &message);
		is_continued = has_more;
		zmq_msg_close(&message);
	}
}

int link_open(const struct link_config *config, void *zmq_context, struct loop *loop,
	      uint64_t now_ns, struct link **ret_link, struct error *reterr)
{
	struct link *link;
	int r;

	assert(config->neighbour_count <= LINK_NEIGHBOURS_MAX);
	link = calloc(1, sizeof(*link) + config->neighbour_count * sizeof(link->neighbours[0]));
	if (link == NULL)
		return error_errno(reterr, -ENOMEM, "link");
	link->source = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_message };
	link->loop = loop;
	link->fn = config->fn;
	link->context = config->context;
	link->down_after_ns = config->down_after_ns;
	link->opened_ns = now_ns;
	link->count = config->neighbour_count;
	r = open_listener(link, config, zmq_context, reterr);
	for (uint32_t i = 0; i < config->neighbour_count && r == 0; i++) {
		r = open_neighbour(&link->neighbours[i], &config->neighbours[i], config->keys,
				   zmq_context, reterr);
		link->neighbours[i].peer.changed_ns = now_ns;
		if (r < 0)
			error_wrap(reterr, "neighbour %s", config->neighbours[i].name);
	}
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
	if (link->source.socket != NULL)
		zmq_close(link->source.socket);
	link->zap = zap_close(link->zap);
	free(link);
	return NULL;
}

int link_send(struct link *link, uint32_t neighbour, const void *bytes, size_t size)
{
	assert(neighbour < link->count);
	assert(size <= LINK_MESSAGE_BYTES_MAX);

	struct neighbour *to = &link->neighbours[neighbour];
	if (zmq_send(to->socket, bytes, size, ZMQ_DONTWAIT) >= 0) {
		link->counters.sent++;
		to->peer.sent++;
		return 0;
	}
	link->counters.dropped[LINK_DROP_BUSY]++;
	to->peer.busy++;
	return -EAGAIN;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0.0;
}

void link_heard(struct link *link, uint32_t neighbour, uint64_t now_ns)
{
	assert(neighbour < link->count);

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

void link_tick(struct link *link, uint64_t now_ns)
{
	for (uint32_t i = 0; i < link->count; i++) {
		struct neighbour *neighbour = &link->neighbours[i];
		uint64_t heard_ns = neighbour->peer.heard_ns;
		uint64_t since_ns = heard_ns != 0 ? heard_ns : link->opened_ns;

		/* Down and told already, or not silent for long enough. */
		if ((!neighbour->peer.up && neighbour->told) || now_ns < since_ns ||
		    now_ns - since_ns < link->down_after_ns)
			continue;
		went_silent(neighbour, seconds(since_ns, now_ns), now_ns);
	}
}

struct link_peer link_peer(const struct link *link, uint32_t neighbour)
{
	assert(neighbour < link->count);
	return link->neighbours[neighbour].peer;
}

struct link_counters link_counters(const struct link *link)
{
	struct link_counters counters = link->counters;

	if (link->zap != NULL) {
		const struct zap_counters *zap = zap_counters(link->zap, ZAP_DOMAIN);

		counters.refused = zap->refused_key + zap->refused_other + zap->refused_greeting;
	}
	return counters;
}

const char *link_address(const struct link *link)
{
	return link->address;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/zap.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"

#define ZAP_ENDPOINT  "inproc://zeromq.zap.01"
#define KEY_RAW_BYTES 32u

/* Handshakes answered in one turn of the loop; the rest waits for the next. */
#define REQUESTS_PER_TURN 32

/* Strangers may knock ten times a second: one line a minute says how often. */
#define COMPLAINT_INTERVAL_NS (60u * 1000000000ull)

struct entry {
	uint8_t key[KEY_RAW_BYTES];
	char name[ZAP_NAME_BYTES];
};

struct domain {
	char name[ZAP_NAME_BYTES];
	struct entry *entries;
	size_t entries_count;
	struct zap_counters counters;
};

struct watch {
	struct loop_source source;
	struct zap *zap;
	struct domain *domain;
};

struct zap {
	struct loop_source source;
	struct loop *loop;
	void *context;
	struct domain domains[ZAP_DOMAINS_MAX]; /* the first is there once it is open */
	unsigned domains_count;
	struct watch watches[ZAP_WATCHES_MAX];
	unsigned watches_count;
	uint64_t complaint_at_ns; /* not before; 0 at first */
};

static uint64_t refused_total(const struct zap *zap)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < zap->domains_count; i++)
		total += zap->domains[i].counters.refused_key +
			 zap->domains[i].counters.refused_other +
			 zap->domains[i].counters.refused_greeting;
	return total;
}

/* address: the stranger's; NULL where it is not known, then ours at which he knocked. */
static void complain(struct zap *zap, const char *why, const char *address, const char *ours)
{
	unsigned long long total = refused_total(zap);
	uint64_t now_ns = clock_now_ns();

	if (now_ns < zap->complaint_at_ns)
		return;
	zap->complaint_at_ns = now_ns + COMPLAINT_INTERVAL_NS;
	if (address != NULL)
		log_warn("refused a connection from '%s': %s; refused so far: %llu", address, why,
			 total);
	else
		log_warn("refused a connection at '%s': %s; refused so far: %llu", ours, why,
			 total);
}

/* One request: the frames of RFC 27 in their order. */
enum frame {
	FRAME_VERSION,
	FRAME_REQUEST_ID,
	FRAME_DOMAIN,
	FRAME_ADDRESS,
	FRAME_ROUTING_ID,
	FRAME_MECHANISM,
	FRAME_CREDENTIAL,
	FRAMES_MAX
};

struct request {
	zmq_msg_t frames[FRAMES_MAX];
	unsigned count; /* all that came; only the first FRAMES_MAX are kept */
};

/* Takes one request; false if none is there. */
static bool receive(void *socket, struct request *request)
{
	zmq_msg_t rest;
	int more;

	request->count = 0;
	zmq_msg_init(&rest);
	do {
		zmq_msg_t *frame = &rest;

		if (request->count < FRAMES_MAX) {
			frame = &request->frames[request->count];
			zmq_msg_init(frame);
		}
		if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
			if (request->count < FRAMES_MAX)
				zmq_msg_close(frame);
			break;
		}
		more = zmq_msg_more(frame);
		request->count++;
	} while (more);
	zmq_msg_close(&rest);
	return request->count > 0;
}

static void release(struct request *request)
{
	for (unsigned i = 0; i < request->count && i < FRAMES_MAX; i++)
		zmq_msg_close(&request->frames[i]);
}

static bool frame_is(struct request *request, enum frame which, const char *text)
{
	zmq_msg_t *frame = &request->frames[which];

	return zmq_msg_size(frame) == strlen(text) &&
	       memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

static const struct entry *find(const struct domain *domain, zmq_msg_t *key)
{
	if (zmq_msg_size(key) != KEY_RAW_BYTES)
		return NULL;
	for (size_t i = 0; i < domain->entries_count; i++)
		if (memcmp(domain->entries[i].key, zmq_msg_data(key), KEY_RAW_BYTES) == 0)
			return &domain->entries[i];
	return NULL;
}

/* The domain that a request is for; the first where it names none of ours. */
static struct domain *domain_of(struct zap *zap, struct request *request, bool *ret_known)
{
	*ret_known = true;
	for (unsigned i = 0; request->count > FRAME_DOMAIN && i < zap->domains_count; i++)
		if (frame_is(request, FRAME_DOMAIN, zap->domains[i].name))
			return &zap->domains[i];
	*ret_known = false;
	return &zap->domains[0];
}

/* The entry that may come in, or NULL after counting and saying why not. */
static const struct entry *decide(struct zap *zap, struct request *request)
{
	char address[64] = "?";
	bool is_known;
	struct domain *domain = domain_of(zap, request, &is_known);

	if (request->count > FRAME_ADDRESS)
		snprintf(address, sizeof(address), "%.*s",
			 (int)zmq_msg_size(&request->frames[FRAME_ADDRESS]),
			 (const char *)zmq_msg_data(&request->frames[FRAME_ADDRESS]));
	if (request->count != FRAMES_MAX || !frame_is(request, FRAME_VERSION, "1.0") ||
	    !is_known || !frame_is(request, FRAME_MECHANISM, "CURVE")) {
		domain->counters.refused_other++;
		complain(zap, "not a CURVE handshake for this service", address, NULL);
		return NULL;
	}

	const struct entry *entry = find(domain, &request->frames[FRAME_CREDENTIAL]);
	if (entry == NULL) {
		domain->counters.refused_key++;
		complain(zap, "its key is in no peer's entry", address, NULL);
		return NULL;
	}
	domain->counters.accepted++;
	return entry;
}

/* Metadata of ZMTP: length and name, length of four bytes and value. */
#define KEY_PROPERTY	   "X-Key"
#define KEY_METADATA_BYTES (1 + sizeof(KEY_PROPERTY) - 1 + 4 + CURVE_KEY_BYTES - 1)

static void key_metadata(const struct entry *entry, uint8_t ret_bytes[KEY_METADATA_BYTES])
{
	const size_t name = sizeof(KEY_PROPERTY) - 1, value = CURVE_KEY_BYTES - 1;
	char text[CURVE_KEY_BYTES];

	zmq_z85_encode(text, entry->key, KEY_RAW_BYTES);
	ret_bytes[0] = (uint8_t)name;
	memcpy(ret_bytes + 1, KEY_PROPERTY, name);
	memcpy(ret_bytes + 1 + name, (const uint8_t[]){ 0, 0, 0, (uint8_t)value }, 4);
	memcpy(ret_bytes + 1 + name + 4, text, value);
}

static void answer(struct zap *zap, struct request *request, const struct entry *entry)
{
	void *socket = zap->source.socket;
	const char *status = entry != NULL ? "200" : "400";
	const char *text = entry != NULL ? "welcome" : "not allowed";
	const char *name = entry != NULL ? entry->name : "";
	bool has_id = request->count > FRAME_REQUEST_ID;
	uint8_t metadata[KEY_METADATA_BYTES] = { 0 };

	/* A reply that cannot be sent leaves the stranger outside: nothing to mend. */
	(void)zmq_send(socket, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	(void)zmq_send(socket, has_id ? zmq_msg_data(&request->frames[FRAME_REQUEST_ID]) : NULL,
		       has_id ? zmq_msg_size(&request->frames[FRAME_REQUEST_ID]) : 0,
		       ZMQ_SNDMORE | ZMQ_DONTWAIT);
	(void)zmq_send(socket, status, 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
	(void)zmq_send(socket, text, strlen(text), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	(void)zmq_send(socket, name, strlen(name), ZMQ_SNDMORE | ZMQ_DONTWAIT);
	if (entry != NULL)
		key_metadata(entry, metadata);
	(void)zmq_send(socket, metadata, entry != NULL ? sizeof(metadata) : 0, ZMQ_DONTWAIT);
}

static void on_request(struct loop_source *source, short revents)
{
	struct zap *zap = (struct zap *)(void *)source;
	struct request request;

	(void)revents;
	for (int i = 0; i < REQUESTS_PER_TURN && receive(source->socket, &request); i++) {
		answer(zap, &request, decide(zap, &request));
		release(&request);
	}
}

/* The monitor's two frames: {u16 event, u32 value} and the address that we listen at. */
static void on_watch(struct loop_source *source, short revents)
{
	struct watch *watch = (struct watch *)(void *)source;
	char address[64];
	uint8_t event[6];

	(void)revents;
	for (int i = 0; i < REQUESTS_PER_TURN; i++) {
		if (zmq_recv(source->socket, event, sizeof(event), ZMQ_DONTWAIT) < 0)
			return;
		int size = zmq_recv(source->socket, address, sizeof(address) - 1, ZMQ_DONTWAIT);
		if (size < 0)
			return;
		address[size < (int)sizeof(address) ? size : (int)sizeof(address) - 1] = '\0';
		watch->domain->counters.refused_greeting++;
		complain(watch->zap, "no CURVE handshake", NULL, address);
	}
}

static int compile(const struct zap_peer *peers, size_t peers_count, struct entry **ret_entries,
		   struct error *reterr)
{
	struct entry *entries = calloc(peers_count + 1, sizeof(*entries));

	if (entries == NULL)
		return error_errno(reterr, -ENOMEM, "allow-list");
	for (size_t i = 0; i < peers_count; i++) {
		int r = 0;

		memcpy(entries[i].name, peers[i].name, sizeof(entries[i].name));
		if (!curve_key_valid(peers[i].public_key) ||
		    zmq_z85_decode(entries[i].key, peers[i].public_key) == NULL)
			r = error_set(reterr, -EINVAL, "'%.64s': not a public key", peers[i].name);
		for (size_t j = 0; j < i && r == 0; j++) {
			if (strcmp(entries[j].name, entries[i].name) == 0)
				r = error_set(reterr, -EEXIST, "'%.64s' has two keys",
					      peers[i].name);
			else if (memcmp(entries[j].key, entries[i].key, KEY_RAW_BYTES) == 0)
				r = error_set(reterr, -EEXIST, "'%.64s' and '%.64s' have one key",
					      peers[j].name, peers[i].name);
		}
		if (r < 0) {
			free(entries);
			return r;
		}
	}
	*ret_entries = entries;
	return 0;
}

static struct domain *find_domain(const struct zap *zap, const char *name)
{
	for (unsigned i = 0; i < zap->domains_count; i++)
		if (strcmp(zap->domains[i].name, name) == 0)
			return (struct domain *)(uintptr_t)&zap->domains[i];
	return NULL;
}

int zap_set_peers(struct zap *zap, const char *domain, const struct zap_peer *peers,
		  size_t peers_count, struct error *reterr)
{
	struct domain *of = find_domain(zap, domain);
	struct entry *entries;

	assert(strlen(domain) < ZAP_NAME_BYTES);
	if (of == NULL && zap->domains_count == ZAP_DOMAINS_MAX)
		return error_errno(reterr, -ENOSPC, "allow-list");
	int r = compile(peers, peers_count, &entries, reterr);
	if (r < 0)
		return r;
	if (of == NULL) {
		of = &zap->domains[zap->domains_count++];
		*of = (struct domain){ 0 };
		snprintf(of->name, sizeof(of->name), "%s", domain);
	}
	free(of->entries);
	of->entries = entries;
	of->entries_count = peers_count;
	return 0;
}

bool zap_admits(const struct zap *zap, const char *domain, zmq_msg_t *message)
{
	const struct domain *of = find_domain(zap, domain);
	const char *name = curve_user_id(message), *key = zmq_msg_gets(message, KEY_PROPERTY);
	uint8_t raw[KEY_RAW_BYTES];

	if (of == NULL || name == NULL || key == NULL || strlen(key) != CURVE_KEY_BYTES - 1 ||
	    zmq_z85_decode(raw, key) == NULL)
		return false;
	for (size_t i = 0; i < of->entries_count; i++)
		if (memcmp(of->entries[i].key, raw, sizeof(raw)) == 0)
			return strcmp(of->entries[i].name, name) == 0;
	return false;
}

int zap_open(void *context, struct loop *loop, const char *domain, const struct zap_peer *peers,
	     size_t peers_count, struct zap **ret_zap, struct error *reterr)
{
	struct zap *zap = calloc(1, sizeof(*zap));
	int linger_ms = 0, r = 0;

	if (zap == NULL)
		return error_errno(reterr, -ENOMEM, "allow-list");
	zap->loop = loop;
	zap->context = context;
	r = zap_set_peers(zap, domain, peers, peers_count, reterr);
	if (r == 0) {
		zap->source = (struct loop_source){
			.socket = zmq_socket(context, ZMQ_REP),
			.fd = -1,
			.events = ZMQ_POLLIN,
			.fn = on_request,
		};
		if (zap->source.socket == NULL ||
		    zmq_setsockopt(zap->source.socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)) <
			0 ||
		    zmq_bind(zap->source.socket, ZAP_ENDPOINT) < 0)
			r = error_errno(reterr, -errno, "bind " ZAP_ENDPOINT);
	}
	if (r == 0) {
		r = loop_add(loop, &zap->source);
		if (r < 0)
			error_errno(reterr, r, "allow-list");
	}
	if (r < 0) {
		zap_close(zap);
		return r;
	}
	*ret_zap = zap;
	return 0;
}

int zap_watch(struct zap *zap, const char *domain, void *socket, struct error *reterr)
{
	char endpoint[64];
	int linger_ms = 0;

	assert(find_domain(zap, domain) != NULL);
	if (zap->watches_count == ZAP_WATCHES_MAX)
		return error_errno(reterr, -ENOSPC, "watch a socket");
	snprintf(endpoint, sizeof(endpoint), "inproc://isobar.zap.watch.%u", zap->watches_count);

	struct watch *watch = &zap->watches[zap->watches_count];
	*watch = (struct watch){
		.source = { .fd = -1, .events = ZMQ_POLLIN, .fn = on_watch },
		.zap = zap,
		.domain = find_domain(zap, domain),
	};
	if (zmq_socket_monitor(socket, endpoint, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) < 0)
		return error_errno(reterr, -errno, "watch a socket");
	zap->watches_count++;
	watch->source.socket = zmq_socket(zap->context, ZMQ_PAIR);
	if (watch->source.socket == NULL ||
	    zmq_setsockopt(watch->source.socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)) < 0 ||
	    zmq_connect(watch->source.socket, endpoint) < 0)
		return error_errno(reterr, -errno, "watch a socket");

	int r = loop_add(zap->loop, &watch->source);
	return r < 0 ? error_errno(reterr, r, "watch a socket") : 0;
}

void zap_unwatch(void *socket)
{
	(void)zmq_socket_monitor(socket, NULL, 0); /* none is fine */
}

const struct zap_counters *zap_counters(const struct zap *zap, const char *domain)
{
	static const struct zap_counters none;
	const struct domain *of = find_domain(zap, domain);

	return of != NULL ? &of->counters : &none;
}

struct zap *zap_close(struct zap *zap)
{
	if (zap == NULL)
		return NULL;
	for (unsigned i = 0; i < zap->watches_count; i++) {
		loop_remove(zap->loop, &zap->watches[i].source);
		if (zap->watches[i].source.socket != NULL)
			zmq_close(zap->watches[i].source.socket);
	}
	loop_remove(zap->loop, &zap->source);
	if (zap->source.socket != NULL)
		zmq_close(zap->source.socket);
	for (unsigned i = 0; i < zap->domains_count; i++)
		free(zap->domains[i].entries);
	free(zap);
	return NULL;
}

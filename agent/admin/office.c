/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/office.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "agent/admin/registry_file.h"
#include "agent/base/clock.h"
#include "agent/control/opjson.h"
#include "agent/control/printable.h"
#include "agent/net/admin_call.h"
#include "agent/net/curve.h"

/* Longer than a tick of a node, with its disk. */
#define PATIENCE_NS 5000000000u

struct office {
	struct cluster_conf conf;
	struct curve_keypair keys;
	bool has_keys;
	void *zmq;
	uint64_t patience_ns;
	struct office_listener listener;
	struct registry_file *file;
	struct iso_registry registry;
	struct drive drive;
};

const struct cluster_conf *office_conf(const struct office *office)
{
	return &office->conf;
}

struct iso_registry *office_registry(struct office *office)
{
	return &office->registry;
}

struct drive *office_drive(struct office *office)
{
	return &office->drive;
}

bool office_torn(const struct office *office)
{
	return registry_file_torn(office->file);
}

void office_set_patience(struct office *office, uint64_t patience_ns)
{
	office->patience_ns = patience_ns;
}

int office_call(struct office *office, const struct cluster_conf_node *node, const json_t *request,
		json_t **ret_reply, struct error *reterr)
{
	const struct admin_target target = {
		.endpoint = node->admin,
		.keys = office->has_keys ? &office->keys : NULL,
		.server_key = node->public_key,
	};

	return admin_call(&target, office->zmq, request, office->patience_ns, ret_reply, reterr);
}

static int ask(struct office *office, const struct cluster_conf_node *node, const char *command,
	       json_t **ret_json, struct error *reterr)
{
	json_t *request = json_pack("{s:s}", "command", command);
	int r = office_call(office, node, request, ret_json, reterr);

	json_decref(request);
	return r;
}

int office_ledger(struct office *office, const struct cluster_conf_node *node, json_t **ret_json,
		  struct status_ledger *ret_ledger, struct error *reterr)
{
	json_t *json = NULL;
	int r = ask(office, node, "ledger", &json, reterr);

	if (r < 0)
		return r;
	const char *refusal = printable(json_object_get(json, "error"));
	if (refusal != NULL)
		r = error_set(reterr, -EPROTO, "%s", refusal);
	if (r == 0)
		r = status_ledger_read(json, ret_ledger, reterr);
	if (r == 0 && ret_ledger->snapshot.record.node != node->id)
		r = error_set(reterr, -EPROTO,
			      "at '%s' there is node %s of cluster %s, not node %s of cluster %s",
			      node->admin, ret_ledger->node, ret_ledger->cluster, node->name,
			      office->conf.cluster);
	if (r < 0) {
		json_decref(json);
		return r;
	}
	*ret_json = json;
	return 0;
}

bool office_guarded(struct office *office, const struct cluster_conf_node *node)
{
	json_t *json = NULL;
	struct error error;

	if (ask(office, node, "status", &json, &error) < 0)
		return false;
	const json_t *guard = json_object_get(json, "guard");
	bool guarded = json_is_true(json_object_get(guard, "auto_burial"));
	json_decref(json);
	return guarded;
}

bool office_hears(struct office *office, const struct cluster_conf_node *node,
		  const char *neighbour)
{
	json_t *json = NULL;
	struct error error;
	bool hears = false;

	if (ask(office, node, "status", &json, &error) < 0)
		return false;
	const json_t *list = json_object_get(json, "neighbours");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(entry, "name"));
		const char *state = json_string_value(json_object_get(entry, "state"));

		if (name != NULL && state != NULL && strcmp(name, neighbour) == 0)
			hears = strcmp(state, "up") == 0;
	}
	json_decref(json);
	return hears;
}

static int world_write(void *context, const struct iso_registry_entry *entry, struct error *reterr)
{
	struct office *office = context;

	return registry_file_append(office->file, entry, reterr);
}

static int world_look(void *context, uint32_t member, struct drive_look *ret_look,
		      struct error *reterr)
{
	struct office *office = context;
	const struct iso_registry_member *known = &office->registry.members[member];
	const struct cluster_conf_node *node = cluster_conf_find(&office->conf, known->id);
	struct status_ledger ledger;
	json_t *json = NULL;

	if (node == NULL)
		return error_set(reterr, -ENOENT, "node %s is not in the configuration",
				 known->name);
	int r = office_ledger(office, node, &json, &ledger, reterr);
	if (r < 0)
		return r;
	ret_look->record = ledger.snapshot.record;
	ret_look->share_ucpu = ledger.snapshot.holdings_ucpu;
	ret_look->floor_ucpu = ledger.snapshot.floor_ucpu;
	ret_look->guarded = office_guarded(office, node);
	json_decref(json);
	return 0;
}

static void refuse(struct drive_answer *answer, enum drive_outcome outcome, const char *why)
{
	answer->outcome = outcome;
	snprintf(answer->why, sizeof(answer->why), "%.199s", why);
}

/* Whom the node is to trade with: name, key and address, so that it needs no configuration. */
static bool neighbour_of(struct office *office, uint32_t member, uint32_t gen,
			 struct opjson_neighbour *ret_neighbour, struct drive_answer *answer)
{
	const struct iso_registry_member *peer = &office->registry.members[member];
	const struct cluster_conf_node *node = cluster_conf_find(&office->conf, peer->id);
	char why[200];

	if (node == NULL || node->address[0] == '\0') {
		snprintf(why, sizeof(why), "node %s: its address is not in the configuration",
			 peer->name);
		refuse(answer, DRIVE_REFUSED, why);
		return false;
	}
	*ret_neighbour = (struct opjson_neighbour){ .gen = gen };
	snprintf(ret_neighbour->name, sizeof(ret_neighbour->name), "%.63s", node->name);
	memcpy(ret_neighbour->address, node->address, sizeof(node->address));
	memcpy(ret_neighbour->public_key, node->public_key, sizeof(node->public_key));
	return true;
}

static json_t *admission(struct office *office, const struct iso_registry_op *op,
			 struct drive_answer *answer)
{
	static struct opjson_admission admission;
	const struct iso_registry *registry = &office->registry;

	admission = (struct opjson_admission){
		.id = op->id,
		.gen = op->gen,
		.endowment_ucpu = op->amount_ucpu,
		.budget_ucpu = op->budget_ucpu,
	};
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;

		for (int side = 0; side < 2; side++) {
			const struct iso_registry_end *other = &end[1 - side];

			if (end[side].member != op->member || end[side].gen != op->gen ||
			    admission.neighbour_count == CONF_NEIGHBOURS_MAX)
				continue;
			if (!neighbour_of(office, other->member, other->gen,
					  &admission.neighbours[admission.neighbour_count++],
					  answer))
				return NULL;
		}
	}
	return opjson_admission_write(&admission);
}

static json_t *operation(struct office *office, const struct iso_registry_op *op,
			 struct drive_answer *answer)
{
	struct opjson_op message = { 0 };
	struct opjson_neighbour peer;

	if (op->kind == ISO_REGISTRY_ADMIT)
		return admission(office, op, answer);
	iso_registry_message(&office->registry, op, &message.op);
	if (op->peer != ISO_REGISTRY_NOBODY)
		snprintf(message.peer, sizeof(message.peer), "%.63s",
			 office->registry.members[op->peer].name);
	if (op->kind == ISO_OP_OPEN) {
		if (!neighbour_of(office, op->peer, op->peer_gen, &peer, answer))
			return NULL;
		memcpy(message.address, peer.address, sizeof(message.address));
		memcpy(message.public_key, peer.public_key, sizeof(message.public_key));
	}
	return opjson_op_write(&message);
}

/* The ledger after it; from the answer, or asked for. */
static int record_of(struct office *office, const struct cluster_conf_node *node,
		     const json_t *record, struct iso_record *ret_record, struct error *reterr)
{
	struct status_ledger ledger;
	json_t *json = NULL;
	int r;

	if (json_is_object(record)) {
		r = status_ledger_read(record, &ledger, reterr);
		if (r == 0)
			*ret_record = ledger.snapshot.record;
		return r;
	}
	r = office_ledger(office, node, &json, &ledger, reterr);
	if (r == 0)
		*ret_record = ledger.snapshot.record;
	json_decref(json);
	return r;
}

static void take_reply(struct office *office, const struct cluster_conf_node *node,
		       const struct iso_registry_op *op, const json_t *reply,
		       struct drive_answer *answer)
{
	struct opjson_answer said;
	struct error error;

	if (opjson_answer_read(reply, &said, &error) < 0) {
		refuse(answer, DRIVE_REFUSED, error.text);
		return;
	}
	switch (said.outcome) {
	case OPJSON_APPLIED:
		answer->moved_ucpu = said.moved_ucpu;
		if (record_of(office, node, said.record, &answer->record, &error) < 0)
			refuse(answer, DRIVE_SILENT, error.text);
		else
			answer->outcome = DRIVE_APPLIED;
		return;
	case OPJSON_BUSY:
		refuse(answer, DRIVE_BUSY, said.error);
		answer->retry_ns = (uint64_t)said.retry_ms * 1000000u;
		return;
	case OPJSON_STALE:
		/* As an answer that shows the newer number: the registry will not have it. */
		answer->outcome = DRIVE_APPLIED;
		answer->record.node = node->id;
		answer->record.gen = op->gen;
		answer->record.last_op = said.last_op > op->id ? said.last_op : op->id + 1;
		return;
	case OPJSON_REFUSED: refuse(answer, DRIVE_REFUSED, said.error); return;
	}
}

static void world_deliver(void *context, const struct iso_registry_op *op,
			  struct drive_answer *ret_answer)
{
	struct office *office = context;
	const struct iso_registry_member *member = &office->registry.members[op->member];
	const struct cluster_conf_node *node = cluster_conf_find(&office->conf, member->id);
	struct error error;
	json_t *reply = NULL;

	if (node == NULL) {
		refuse(ret_answer, DRIVE_REFUSED, "it is not in the configuration");
		return;
	}
	json_t *request = operation(office, op, ret_answer);
	if (request == NULL) {
		if (ret_answer->outcome == 0)
			refuse(ret_answer, DRIVE_REFUSED, "out of memory");
		return;
	}
	int r = office_call(office, node, request, &reply, &error);
	json_decref(request);
	if (r < 0) {
		refuse(ret_answer, DRIVE_SILENT, error.text);
		return;
	}
	take_reply(office, node, op, reply, ret_answer);
	json_decref(reply);
}

static uint64_t world_now(void *context)
{
	(void)context;
	return clock_now_ns();
}

static void world_sleep(void *context, uint64_t ns)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};

	(void)context;
	nanosleep(&pause, NULL);
}

static void world_entry(void *context, const struct iso_registry_entry *entry)
{
	struct office *office = context;

	if (office->listener.entry != NULL)
		office->listener.entry(office->listener.context, &office->registry, entry);
}

static void world_waiting(void *context, const struct iso_registry_op *op, const char *why)
{
	struct office *office = context;

	if (office->listener.waiting != NULL)
		office->listener.waiting(office->listener.context, &office->registry, op, why);
}

static const struct drive_world world = {
	.write = world_write,
	.deliver = world_deliver,
	.look = world_look,
	.now_ns = world_now,
	.sleep = world_sleep,
	.entry = world_entry,
	.waiting = world_waiting,
};

int office_new(const char *conf_path, const struct office_listener *listener,
	       struct office **ret_office, struct error *reterr)
{
	struct office *office = calloc(1, sizeof(*office));

	if (office == NULL)
		return error_errno(reterr, -ENOMEM, "read '%s'", conf_path);
	if (listener != NULL)
		office->listener = *listener;
	office->patience_ns = PATIENCE_NS;
	int r = cluster_conf_load(conf_path, &office->conf, reterr);
	if (r == 0 && office->conf.secret_key[0] != '\0') {
		r = curve_secret_read(office->conf.secret_key, &office->keys, reterr);
		office->has_keys = r == 0;
	}
	if (r == 0) {
		office->zmq = zmq_ctx_new();
		if (office->zmq == NULL)
			r = error_errno(reterr, -errno, "create a ZeroMQ context");
	}
	if (r < 0) {
		office_free(office);
		return r;
	}
	drive_init(&office->drive, &office->registry, &world, office);
	*ret_office = office;
	return 0;
}

int office_open(struct office *office, bool read_only, struct error *reterr)
{
	int r = registry_file_open(office->conf.registry, read_only, NULL, &office->registry,
				   &office->file, reterr);

	if (r < 0)
		return r;
	if (office->registry.cluster != conf_cluster_id(office->conf.cluster))
		return error_set(reterr, -EXDEV, "registry '%s' is of another cluster than %s",
				 registry_file_path(office->file), office->conf.cluster);
	return 0;
}

struct office *office_free(struct office *office)
{
	if (office == NULL)
		return NULL;
	office->file = registry_file_close(office->file);
	if (office->zmq != NULL)
		(void)zmq_ctx_term(office->zmq);
	curve_keypair_wipe(&office->keys);
	free(office);
	return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/drive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOOK_PAUSE_NS	500000000u
#define SILENT_PAUSE_NS 1000000000u
#define SLEEP_NS_MAX	200000000u

void drive_init(struct drive *drive, struct iso_registry *registry, const struct drive_world *world,
		void *context)
{
	memset(drive, 0, sizeof(*drive));
	drive->registry = registry;
	drive->world = world;
	drive->context = context;
}

int drive_enter(struct drive *drive, struct iso_registry_entry *entry, struct error *reterr)
{
	entry->seq = drive->registry->seq + 1;
	int r = drive->world->write(drive->context, entry, reterr);

	if (r < 0)
		return r;
	if (drive->world->entry != NULL)
		drive->world->entry(drive->context, entry);
	enum iso_status status = iso_registry_apply(drive->registry, entry);
	if (status != ISO_OK)
		return error_set(reterr, -EUCLEAN,
				 "the registry does not take its own entry %" PRIu64
				 ": %s; nothing more is done",
				 entry->seq, iso_status_text(status));
	return 0;
}

/* A floor that was changed, or a guard that came or went, outlives the node in the registry. */
static int note(struct drive *drive, uint32_t member, const struct drive_look *look,
		struct error *reterr)
{
	const struct iso_registry_member *known = &drive->registry->members[member];
	uint32_t flags = look->guarded ? ISO_REGISTRY_GUARDED : 0;

	if (known->floor_ucpu == look->floor_ucpu && (known->flags & ISO_REGISTRY_GUARDED) == flags)
		return 0;
	struct iso_registry_entry entry = {
		.kind = ISO_REGISTRY_NOTE,
		.node = known->id,
		.floor_ucpu = look->floor_ucpu,
		.flags = flags,
	};
	return drive_enter(drive, &entry, reterr);
}

static int look_at(struct drive *drive, uint32_t member, struct error *reterr)
{
	const struct iso_registry_member *known = &drive->registry->members[member];
	struct drive_node *node = &drive->nodes[member];
	struct drive_look look;
	struct error why;
	int r = drive->world->look(drive->context, member, &look, &why);

	node->answers = r == 0;
	node->disagrees = false;
	if (r < 0) {
		snprintf(node->why, sizeof(node->why), "%.199s", why.text);
		return iso_registry_look(drive->registry, known->id, NULL) == ISO_OK ? 0 : -EINVAL;
	}
	node->why[0] = '\0';
	const struct iso_registry_look seen = { &look.record, look.share_ucpu, look.floor_ucpu };
	enum iso_status status = iso_registry_look(drive->registry, known->id, &seen);
	if (status == ISO_E_STALE)
		return error_set(
		    reterr, -EXDEV,
		    "node %s has applied operation %" PRIu64
		    ", which this registry has not issued: another registry is in use, "
		    "or this one is an old copy",
		    known->name, look.record.last_op);
	if (status == ISO_OK)
		return note(drive, member, &look, reterr);
	/* One that has its admission still to come is of its old life. */
	node->disagrees = known->admitted;
	if (status == ISO_E_DAMAGED)
		snprintf(node->why, sizeof(node->why),
			 "its journal is an old copy, without operation %" PRIu64
			 " that it has answered: stop its job, bury it and let it join again",
			 known->last_op);
	else if (node->disagrees)
		snprintf(node->why, sizeof(node->why),
			 "it says generation %" PRIu32 ", the registry says %" PRIu32,
			 look.record.gen, known->gen);
	return 0;
}

int drive_look(struct drive *drive, struct error *reterr)
{
	for (uint32_t i = 0; i < drive->registry->member_count; i++) {
		if (drive->registry->members[i].state != ISO_REGISTRY_LIVE)
			continue;
		int r = look_at(drive, i, reterr);
		if (r < 0)
			return r;
	}
	drive->looked = true;
	drive->looked_at_ns = drive->world->now_ns(drive->context);
	return 0;
}

bool drive_done(const struct drive *drive, uint64_t what)
{
	const struct iso_registry *registry = drive->registry;

	if (what == DRIVE_ALL)
		return registry->op_count == 0 && registry->procedure_count == 0 &&
		       registry->budget_ucpu == registry->target_ucpu && registry->pool_ucpu == 0;
	if (what != DRIVE_BUDGET && (what & DRIVE_OP(0)) != 0) {
		for (uint32_t i = 0; i < registry->op_count; i++)
			if (DRIVE_OP(registry->ops[i].id) == what)
				return false;
		return true;
	}
	if (what != DRIVE_BUDGET)
		return iso_registry_procedure(registry, what) == NULL;
	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].procedure == 0 &&
		    (registry->ops[i].kind == ISO_OP_MINT || registry->ops[i].kind == ISO_OP_BURN))
			return false;
	return registry->budget_ucpu == registry->target_ucpu && registry->pool_ucpu == 0;
}

/* Everything that can be decided without asking anybody. */
static int decide(struct drive *drive, bool *ret_look, bool *ret_progress, struct error *reterr)
{
	struct iso_registry_entry entry;
	enum iso_status status;

	while ((status = iso_registry_next(drive->registry, &entry)) == ISO_OK) {
		int r = drive_enter(drive, &entry, reterr);

		if (r < 0)
			return r;
		*ret_progress = true;
	}
	*ret_look = status == ISO_E_SHORT;
	return 0;
}

static int take_answer(struct drive *drive, const struct iso_registry_op *op,
		       const struct drive_answer *answer, struct error *reterr)
{
	const char *name = drive->registry->members[op->member].name;
	struct iso_registry_entry entry;
	enum iso_status status = iso_registry_acknowledge(
	    drive->registry, op->id, answer->moved_ucpu, &answer->record, &entry);

	if (status == ISO_E_FOREIGN)
		return error_set(reterr, -EXDEV,
				 "node %s has applied operation %" PRIu64
				 " and this registry is at %" PRIu64
				 ": another registry is in use, or this one is an old copy",
				 name, answer->record.last_op, op->id);
	if (status != ISO_OK)
		return error_set(reterr, -EPROTO,
				 "node %s answers operation %" PRIu64
				 " in a way that cannot be: %s",
				 name, op->id, iso_status_text(status));
	return drive_enter(drive, &entry, reterr);
}

static void tell(struct drive *drive, const struct iso_registry_op *op, const char *why)
{
	struct drive_node *node = &drive->nodes[op->member];

	if (drive->world->waiting != NULL && strcmp(node->why, why) != 0)
		drive->world->waiting(drive->context, op, why);
	snprintf(node->why, sizeof(node->why), "%.199s", why);
}

/* Delivers what is due; *ret_progress if one was answered. */
static int deliver(struct drive *drive, bool *ret_progress, struct error *reterr)
{
	static struct drive_answer answer;
	const struct iso_registry_op *op;
	uint32_t cursor = 0;

	while ((op = iso_registry_due(drive->registry, &cursor)) != NULL) {
		struct drive_node *node = &drive->nodes[op->member];
		uint64_t now_ns = drive->world->now_ns(drive->context);

		if (node->retry_at_ns > now_ns)
			continue;
		memset(&answer, 0, sizeof(answer));
		drive->world->deliver(drive->context, op, &answer);
		node->answers = answer.outcome != DRIVE_SILENT;
		if (answer.outcome == DRIVE_APPLIED) {
			node->why[0] = '\0';
			*ret_progress = true;
			/* The operations move: begin again with the first. */
			cursor = 0;
			int r = take_answer(drive, op, &answer, reterr);
			if (r < 0)
				return r;
			continue;
		}
		tell(drive, op, answer.why);
		node->retry_at_ns = drive->world->now_ns(drive->context) +
				    (answer.retry_ns != 0 ? answer.retry_ns : SILENT_PAUSE_NS);
	}
	return 0;
}

int drive_run(struct drive *drive, uint64_t what, uint64_t timeout_ns, struct error *reterr)
{
	uint64_t end_ns = drive->world->now_ns(drive->context) + timeout_ns;

	if (!drive->looked) {
		int r = drive_look(drive, reterr);
		if (r < 0)
			return r;
	}
	for (;;) {
		bool look = false, progress = false;
		int r = decide(drive, &look, &progress, reterr);

		if (r == 0)
			r = deliver(drive, &progress, reterr);
		if (r < 0)
			return r;
		if (progress)
			continue;
		if (drive_done(drive, what))
			return 0;
		uint64_t now_ns = drive->world->now_ns(drive->context);
		if (now_ns >= end_ns)
			return error_set(reterr, -ETIMEDOUT, "not finished in time");
		if (look && now_ns - drive->looked_at_ns >= LOOK_PAUSE_NS)
			r = drive_look(drive, reterr);
		else
			drive->world->sleep(drive->context, SLEEP_NS_MAX);
		if (r < 0)
			return r;
	}
}

void drive_pause(struct drive *drive, uint64_t ns)
{
	drive->world->sleep(drive->context, ns);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/ctl/desk.h"
#include "agent/ctl/desk_text.h"
#include "lib/quantity.h"

/* Nodes that come, that give away what they have, and that go. */

#define POLL_NS 500000000u

static int finish(struct desk *desk, int r)
{
	if (r == CTL_DONE && desk->ctl->json)
		desk_report(desk, true, NULL);
	return r;
}

/* What the new node says of itself: its last life and its floor. */
static int ask_newcomer(struct desk *desk, const struct cluster_conf_node *node,
			struct iso_registry_wish *wish)
{
	struct status_ledger ledger;
	struct error error;
	json_t *json;

	if (office_ledger(desk->office, node, &json, &ledger, &error) < 0)
		return desk_fail(desk,
				 "%s\na node that joins must run and answer; start it: isobard "
				 "--init --join -f FILE once, then isobard -f FILE",
				 error.text);
	json_decref(json);
	const struct iso_record *record = &ledger.snapshot.record;
	if (record->gen != 0 && record->halt == ISO_HALT_NONE)
		return desk_fail(desk,
				 "node %s lives as generation %u and trades; only a node that was "
				 "never admitted, has left or knows that it was buried can join",
				 node->name, record->gen);
	wish->gen = record->gen;
	wish->floor_ucpu = ledger.snapshot.floor_ucpu;
	return CTL_DONE;
}

static int fill_neighbours(struct desk *desk, uint64_t *list, struct iso_registry_wish *wish)
{
	for (unsigned i = 0; i < desk->ctl->neighbour_count; i++) {
		uint32_t member = desk_member(desk, desk->ctl->neighbours[i]);

		if (member == ISO_REGISTRY_NOBODY)
			return CTL_FAILED;
		const struct iso_registry_member *peer = &desk->registry->members[member];
		const struct cluster_conf_node *node =
		    cluster_conf_find(office_conf(desk->office), peer->id);
		if (node == NULL || node->address[0] == '\0')
			return desk_fail(desk,
					 "node %s: its address is not in the configuration, "
					 "and the new node must know it",
					 peer->name);
		list[i] = peer->id;
	}
	wish->list = list;
	wish->list_count = desk->ctl->neighbour_count;
	return CTL_DONE;
}

static int join(struct desk *desk, const struct cluster_conf_node *node)
{
	uint64_t list[CTL_NEIGHBOURS_MAX];
	struct iso_registry_wish wish = { .node = node->id, .name = node->name };
	struct iso_registry_entry entry;
	char cpu[32];

	if (node->address[0] == '\0')
		return desk_fail(desk,
				 "node %s: its address is not in the configuration, and its "
				 "neighbours must know it",
				 node->name);
	if (desk->ctl->share_ucpu != 0)
		wish.amount_ucpu = (int64_t)desk->ctl->share_ucpu;
	wish.flags = (desk->ctl->add ? ISO_REGISTRY_ADDS : 0) |
		     (desk->ctl->fenced ? ISO_REGISTRY_FENCED : 0);
	if (fill_neighbours(desk, list, &wish) != CTL_DONE ||
	    ask_newcomer(desk, node, &wish) != CTL_DONE)
		return CTL_FAILED;
	if (desk->ctl->fenced &&
	    !desk_confirm(desk,
			  "--fenced: you say that the old life of this node runs nowhere any more, "
			  "neither its agent nor its job, and will not come back.  If it does, the "
			  "kernels together may enforce more than the budget, by its floor.",
			  node->name))
		return CTL_FAILED;
	struct iso_registry_reason reason = iso_registry_join(desk->registry, &wish, &entry);
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	desk_say(desk, "%s joins with %s, %s", node->name, desk_cpu(entry.amount_ucpu, cpu),
		 desk->ctl->add ? "added to the budget"
				: "taken from the others in proportion to what they have above "
				  "their floors");
	int r = desk_carry_out(desk, &entry);
	if (r == CTL_DONE)
		desk_say(desk, "%s is a member", node->name);
	return finish(desk, r);
}

static int undo_join(struct desk *desk, const struct cluster_conf_node *node)
{
	const struct iso_registry_wish wish = { .node = node->id };
	struct iso_registry_entry entry;
	struct iso_registry_reason reason = iso_registry_undo(desk->registry, &wish, &entry);

	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	uint64_t procedure = entry.procedure;
	struct error error;
	if (drive_enter(desk->drive, &entry, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	int r = desk_go_on(desk, procedure);
	if (r == CTL_DONE)
		desk_say(desk, "%s does not join; what was gathered for it is given back",
			 node->name);
	return finish(desk, r);
}

int ctl_join(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;

	if (argc != 1) {
		fputs("isobarctl: join NODE --neighbour A [--neighbour B]...\n", stderr);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE) {
		const struct cluster_conf_node *node =
		    cluster_conf_find_name(office_conf(desk.office), argv[0]);

		if (node == NULL)
			r = desk_fail(&desk,
				      "node %s is not in the configuration: add it there "
				      "first, with admin, public-key and address",
				      argv[0]);
		else
			r = ctl->undo ? undo_join(&desk, node) : join(&desk, node);
	}
	desk_end(&desk);
	return r;
}

/* Until its share is down at its floor, or it does not fall any more in time. */
static int watch_drain(struct desk *desk, uint32_t member)
{
	uint64_t timeout_ns = desk->ctl->timeout_ns != 0 ? desk->ctl->timeout_ns : 60000000000u;
	uint64_t end_ns = clock_now_ns() + timeout_ns;
	const struct iso_registry_member *node = &desk->registry->members[member];
	int64_t last_ucpu = -1;
	struct error error;
	char share[32], floor[32];

	for (;;) {
		if (drive_look(desk->drive, &error) < 0)
			return desk_fail(desk, "%s", error.text);
		if (node->seen && node->share_ucpu != last_ucpu) {
			last_ucpu = node->share_ucpu;
			desk_say(desk, "%s has %s, its floor is %s", node->name,
				 desk_cpu(last_ucpu, share), desk_cpu(node->floor_ucpu, floor));
		}
		if (node->seen && node->share_ucpu <= node->floor_ucpu)
			return CTL_DONE;
		if (clock_now_ns() >= end_ns)
			return desk_fail(desk,
					 "%s drains and is not at its floor yet; it goes on "
					 "by itself",
					 node->name);
		drive_pause(desk->drive, POLL_NS);
	}
}

static int drain(struct desk *desk, const char *name)
{
	uint32_t member = desk_member(desk, name);
	struct iso_registry_entry entry;

	if (member == ISO_REGISTRY_NOBODY)
		return CTL_FAILED;
	const struct iso_registry_wish wish = {
		.node = desk->registry->members[member].id,
		.flags = desk->ctl->undo ? 0 : ISO_REGISTRY_ON,
	};
	struct iso_registry_reason reason = iso_registry_drain(desk->registry, &wish, &entry);
	if (reason.why == ISO_REGISTRY_UNDER_WAY && !desk->ctl->undo)
		return finish(desk, watch_drain(desk, member));
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	struct error error;
	if (drive_enter(desk->drive, &entry, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	int r = desk_go_on(desk, DRIVE_OP(entry.op));
	if (r == CTL_DONE && !desk->ctl->undo)
		r = watch_drain(desk, member);
	return finish(desk, r);
}

static int leave(struct desk *desk, const char *name)
{
	uint32_t member = desk_member(desk, name);
	struct iso_registry_entry entry;

	if (member == ISO_REGISTRY_NOBODY)
		return CTL_FAILED;
	const struct iso_registry_wish wish = { .node = desk->registry->members[member].id };
	struct iso_registry_reason reason = iso_registry_leave(desk->registry, &wish, &entry);
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	char question[400];
	snprintf(question, sizeof(question),
		 "%s gives its whole share to its neighbours, its floor as well, and leaves: there "
		 "is no way back but to join anew.  Its job must have ended by then: a share of 0 "
		 "cannot be enforced while processes are in its group.",
		 name);
	if (!desk_confirm(desk, question, NULL))
		return CTL_FAILED;
	int r = desk_carry_out(desk, &entry);
	if (r == CTL_DONE)
		desk_say(desk, "%s has left; its agent can be stopped and its machine switched off",
			 name);
	return finish(desk, r);
}

static int with_node(const struct ctl *ctl, int argc, char **argv, const char *usage,
		     int (*fn)(struct desk *desk, const char *name))
{
	struct desk desk;

	if (argc != 1) {
		fprintf(stderr, "isobarctl: %s\n", usage);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE)
		r = fn(&desk, argv[0]);
	desk_end(&desk);
	return r;
}

int ctl_drain(const struct ctl *ctl, int argc, char **argv)
{
	return with_node(ctl, argc, argv, "drain NODE", drain);
}

int ctl_leave(const struct ctl *ctl, int argc, char **argv)
{
	return with_node(ctl, argc, argv, "leave NODE", leave);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/desk_text.h"

#include <stdio.h>
#include <string.h>

#include "agent/ctl/desk.h"

const char *desk_text_state(const struct iso_registry_member *member)
{
	switch (member->state) {
	case ISO_REGISTRY_NEW: return "new";
	case ISO_REGISTRY_LIVE: break;
	case ISO_REGISTRY_LEFT: return "left";
	case ISO_REGISTRY_BURIED: return "buried";
	case ISO_REGISTRY_FORGOTTEN: return "forgotten";
	}
	if (!member->admitted)
		return "joining";
	return member->draining ? "draining" : "live";
}

static const char *name_of(const struct iso_registry *registry, uint64_t id)
{
	uint32_t member = iso_registry_find(registry, id);

	return member != ISO_REGISTRY_NOBODY ? registry->members[member].name : "(new)";
}

static bool text_issue(const struct iso_registry *registry, const struct iso_registry_entry *entry,
		       char *ret_text, size_t size)
{
	const char *node = name_of(registry, entry->node), *peer = name_of(registry, entry->peer);
	char cpu[32];

	desk_cpu(entry->amount_ucpu, cpu);
	switch (entry->op_kind) {
	case ISO_OP_MINT: snprintf(ret_text, size, "%s is to get %s", node, cpu); return true;
	case ISO_OP_BURN:
		snprintf(ret_text, size, "%s is to give back up to %s", node, cpu);
		return true;
	case ISO_OP_OPEN:
		snprintf(ret_text, size, "%s is to open its edge to %s", node, peer);
		return true;
	case ISO_OP_CLOSE:
		snprintf(ret_text, size, "%s is to close its edge to %s%s", node, peer,
			 (entry->flags & ISO_REGISTRY_ON) != 0
			     ? ""
			     : ", once every lease of it has run out");
		return true;
	case ISO_OP_LEAVE: snprintf(ret_text, size, "%s is told to leave", node); return true;
	case ISO_OP_DRAIN:
		snprintf(ret_text, size, "%s is told %s", node,
			 (entry->flags & ISO_REGISTRY_ON) != 0 ? "to drain" : "to drain no more");
		return true;
	case ISO_REGISTRY_ADMIT:
		snprintf(ret_text, size, "%s is to be admitted with %s, as generation %u", node,
			 cpu, entry->gen);
		return true;
	default: return false;
	}
}

static const struct iso_registry_op *op_of(const struct iso_registry *registry, uint64_t id)
{
	for (uint32_t i = 0; i < registry->op_count; i++)
		if (registry->ops[i].id == id)
			return &registry->ops[i];
	return NULL;
}

static bool text_ack(const struct iso_registry *registry, const struct iso_registry_entry *entry,
		     char *ret_text, size_t size)
{
	const struct iso_registry_op *op = op_of(registry, entry->op);
	const char *node = name_of(registry, entry->node);
	const char *peer =
	    op != NULL && op->peer != ISO_REGISTRY_NOBODY ? registry->members[op->peer].name : "?";
	char cpu[32], received[32];

	switch (op != NULL ? op->kind : 0) {
	case ISO_OP_MINT:
		snprintf(ret_text, size, "%s has got %s", node, desk_cpu(op->amount_ucpu, cpu));
		return true;
	case ISO_OP_BURN:
		snprintf(ret_text, size, "%s has given back %s", node,
			 desk_cpu(entry->amount_ucpu, cpu));
		return true;
	case ISO_OP_CLOSE:
		snprintf(ret_text, size, "%s has closed: it sent %s to %s and received %s", node,
			 desk_cpu((int64_t)entry->sent, cpu), peer,
			 desk_cpu((int64_t)entry->received, received));
		return true;
	case ISO_REGISTRY_ADMIT: snprintf(ret_text, size, "%s is admitted", node); return true;
	case ISO_OP_DRAIN: snprintf(ret_text, size, "%s has been told", node); return true;
	case ISO_OP_LEAVE:
		snprintf(ret_text, size, "%s is leaving: it gives everything to its neighbours",
			 node);
		return true;
	default: return false;
	}
}

static void append(char *names, size_t size, const char *name)
{
	size_t n = strlen(names);

	snprintf(names + n, size - n, "%s%.63s", n > 0 ? " and " : "", name);
}

static bool text_void(const struct iso_registry *registry, const struct iso_registry_entry *entry,
		      char *ret_text, size_t size)
{
	const struct iso_registry_procedure *procedure =
	    iso_registry_procedure(registry, entry->procedure);
	char names[160] = "", cpu[32];

	if (procedure == NULL)
		return false;
	for (uint32_t i = 0; i < registry->member_count; i++)
		if (iso_registry_has(&procedure->nodes, i))
			append(names, sizeof(names), registry->members[i].name);
	if (procedure->kind == ISO_REGISTRY_LEAVE)
		snprintf(ret_text, size, "%s has left and owns nothing", names);
	else
		snprintf(ret_text, size,
			 "all neighbours have certified: %s void; %s goes to an heir", names,
			 desk_cpu(entry->amount_ucpu, cpu));
	return true;
}

bool desk_text_entry(const struct iso_registry *registry, const struct iso_registry_entry *entry,
		     char *ret_text, size_t size)
{
	char cpu[32];

	switch (entry->kind) {
	case ISO_REGISTRY_RAISE:
		snprintf(ret_text, size, "budget in force: %s",
			 desk_cpu(registry->budget_ucpu + entry->amount_ucpu, cpu));
		return true;
	case ISO_REGISTRY_SHRINK:
		snprintf(ret_text, size, "budget in force: %s",
			 desk_cpu(registry->budget_ucpu - entry->amount_ucpu, cpu));
		return true;
	case ISO_REGISTRY_ISSUE: return text_issue(registry, entry, ret_text, size);
	case ISO_REGISTRY_ACK: return text_ack(registry, entry, ret_text, size);
	case ISO_REGISTRY_VOID: return text_void(registry, entry, ret_text, size);
	case ISO_REGISTRY_EDGE:
		snprintf(ret_text, size, "new edge between %s and %s",
			 name_of(registry, entry->node), name_of(registry, entry->peer));
		return true;
	case ISO_REGISTRY_CREATE:
	case ISO_REGISTRY_MEMBER:
	case ISO_REGISTRY_READY:
	case ISO_REGISTRY_NOTE:
	case ISO_REGISTRY_TARGET:
	case ISO_REGISTRY_BEGIN:
	case ISO_REGISTRY_CERTIFY:
	case ISO_REGISTRY_UNDO:
	case ISO_REGISTRY_END: break;
	}
	return false;
}

/* NODE, PEER and CPU in capitals are replaced. */
static const char *const refusals[] = {
	[ISO_REGISTRY_NO_SUCH_NODE] =
		"node NODE is not in the registry",
	[ISO_REGISTRY_NOT_LIVE] =
		"node NODE does not live: it is not admitted, has left or was buried; "
		"isobarctl registry show says which",
	[ISO_REGISTRY_IS_LIVE] =
		"node NODE is a member; it must leave or be buried first (isobarctl leave, "
		"isobarctl bury)",
	[ISO_REGISTRY_UNDER_WAY] =
		"that is so, or is being done with node NODE already; isobarctl resume goes "
		"on with it",
	[ISO_REGISTRY_OTHER_UNDER_WAY] =
		"something else is being done with node NODE; isobarctl registry show says "
		"what, isobarctl resume finishes it",
	[ISO_REGISTRY_LOWERING] =
		"node PEER may still be told of a smaller budget, so the sum must not grow "
		"before it answers; isobarctl resume waits for it, or bury it if it is "
		"dead",
	[ISO_REGISTRY_BELOW_FLOORS] =
		"the budget cannot be less than CPU: that is what the floors of all nodes, "
		"what is reserved for buried ones and what procedures hold add up to; "
		"lower floors, let nodes leave, or forget buried ones first",
	[ISO_REGISTRY_SHARE_TOO_SMALL] =
		"node NODE needs at least its floor, CPU: with less its kernel could not "
		"enforce its share",
	[ISO_REGISTRY_SHARE_TOO_LARGE] =
		"the nodes that answer can give CPU at most, down to their floors; take "
		"less with --share, or make the budget larger with --add",
	[ISO_REGISTRY_LAST_ONE] =
		"node NODE is the last one: there is nobody to take over its share",
	[ISO_REGISTRY_UNSETTLED] =
		"the edge between NODE and PEER is still being opened or settled; isobarctl "
		"resume finishes that first",
	[ISO_REGISTRY_NO_NEIGHBOUR] =
		"node NODE has no neighbour for this: a new one needs at least one "
		"(--neighbour), one that leaves gives to its neighbours, and one that is "
		"buried without being off (--fenced) needs one that has watched its lease",
	[ISO_REGISTRY_NEIGHBOUR_DYING] =
		"PEER, a neighbour of NODE, is leaving or being buried itself: two "
		"neighbours that are gone could have kept each other's leases alive; wait "
		"until that is finished, or bury both together with --fenced once both are "
		"surely off",
	[ISO_REGISTRY_NEIGHBOUR_SILENT] =
		"PEER, a neighbour of NODE, does not answer; without its word nobody knows "
		"what went over their edge, and to guess could break the budget; wait for "
		"it, or if it is off as well, bury both together with --fenced",
	[ISO_REGISTRY_UNADMINISTERED] =
		"PEER has had no operation of this registry yet, so it may have edges that "
		"the registry does not know; isobarctl resume tells it first",
	[ISO_REGISTRY_NODE_SILENT] =
		"node NODE does not answer and has to take part in this; if it is dead, "
		"bury it",
	[ISO_REGISTRY_UNGUARDED] =
		"it is not known that node NODE had a guard which lowers its limit to the "
		"floor when its lease ends, so it may still enforce its whole share; make "
		"sure that it is off and use --fenced, or if you know that its guard or "
		"watchdog worked, --trust-guard",
	[ISO_REGISTRY_NEEDS_FENCE] =
		"CPU is reserved for the old life of node NODE, which may still enforce it "
		"where nobody sees it; make sure that it is off, or its job stopped, and "
		"say so with --fenced",
	[ISO_REGISTRY_JOINT_NEEDS_FENCE] =
		"several nodes together can only be buried when they are surely off "
		"(--fenced): they may have kept each other's leases alive; so can one whose "
		"burial began so",
	[ISO_REGISTRY_BAD_HEIR] =
		"the heir must be a live member that is neither leaving nor being buried",
	[ISO_REGISTRY_TOO_MANY_EDGES] =
		"PEER has as many neighbours as a node can have; choose another one for "
		"NODE",
	[ISO_REGISTRY_TOO_MUCH] =
		"that is more than the registry can hold; finish what is under way first "
		"(isobarctl resume)",
	[ISO_REGISTRY_TOO_LATE] =
		"node NODE is admitted; it can leave or be buried, but not un-join",
};

static const char *refusal(enum iso_registry_refusal why)
{
	if ((size_t)why >= sizeof(refusals) / sizeof(refusals[0]) || refusals[why] == NULL)
		return "refused";
	return refusals[why];
}

void desk_text_refusal(const struct iso_registry_reason *reason, const char *node, const char *peer,
		       const char *amount, char *ret_text, size_t size)
{
	const struct {
		const char *word, *value;
	} words[] = { { "NODE", node }, { "PEER", peer }, { "CPU", amount } };
	size_t n = 0;

	for (const char *at = refusal(reason->why); *at != '\0' && n + 1 < size;) {
		const char *value = NULL;

		for (size_t i = 0; i < 3 && value == NULL; i++) {
			size_t length = strlen(words[i].word);

			if (strncmp(at, words[i].word, length) != 0)
				continue;
			value = words[i].value;
			at += length;
		}
		if (value == NULL) {
			ret_text[n++] = *at++;
			continue;
		}
		int written = snprintf(ret_text + n, size - n, "%s", value);
		n += written > 0 && (size_t)written < size - n ? (size_t)written : size - n - 1;
	}
	ret_text[n] = '\0';
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>

#include "tests/model/cluster_private.h"

static const char *half(uint8_t how)
{
	switch ((enum model_write)how) {
	case MODEL_WHOLE: return "reached the disk";
	case MODEL_LOST: return "was lost";
	case MODEL_HEAD: return "was torn: only its first half is new";
	case MODEL_TAIL: return "was torn: only its second half is new";
	case MODEL_WRITES: break;
	}
	return "?";
}

static void print_op(FILE *out, struct model_action action)
{
	if (action.op != 0)
		fprintf(out, ", takes operation %u", action.op);
	if (action.op != 0 && action.kind == MODEL_TICKS && action.a != 0)
		fprintf(out, " and answers");
	fprintf(out, "\n");
}

/* What is said of a node alone; `also` where action.a is set. */
static void print_plain(FILE *out, struct model_action action)
{
	static const struct {
		const char *text, *also;
	} says[MODEL_KINDS] = {
		[MODEL_READS] = { " starts again and reads its journal", "" },
		[MODEL_RESYNCS] = { " makes durable what it has read", "" },
		[MODEL_LOWERS] = { " lowers its quota", "" },
		[MODEL_STICKS] = { " cannot lower its quota", "" },
		[MODEL_RECORDS] = { " writes its record", "" },
		[MODEL_SYNCS] = { " makes its record durable", "" },
		[MODEL_RAISES_EARLY] = { " raises its quota before its record is durable", "" },
		[MODEL_COMMITS] = { " ends its tick: enforces its share", ", and answers" },
		[MODEL_ADMITS] = { " begins a new generation",
				   "; it was done before, and says so" },
		[MODEL_REOPENS] = { " opens its journal under the new generation",
				    ", and answers" },
		[MODEL_KILLED] = { " is killed", "" },
		[MODEL_LEASE_ENDS] = { ": its lease runs out, its guard lowers the quota", "" },
		[MODEL_LEASE_ENDS_SOON] = { ": its lease runs out, its guard lowers the quota",
					    "" },
		[MODEL_OUTDATES] = { ": what it has heard is old", "" },
		[MODEL_DIES] = { " will never start again", "" },
		[MODEL_SWITCHES_OFF] = { " is switched off", "" },
		[MODEL_AGES] = { ": time passes", "" },
	};

	assert(says[action.kind].text != NULL);
	fprintf(out, "node %u%s%s\n", action.node, says[action.kind].text,
		action.a != 0 ? says[action.kind].also : "");
}

void model_print_action(FILE *out, struct model_action action)
{
	unsigned node = action.node;

	switch ((enum model_kind)action.kind) {
	case MODEL_READS:
	case MODEL_RESYNCS:
	case MODEL_LOWERS:
	case MODEL_STICKS:
	case MODEL_RECORDS:
	case MODEL_SYNCS:
	case MODEL_RAISES_EARLY:
	case MODEL_COMMITS:
	case MODEL_ADMITS:
	case MODEL_REOPENS:
	case MODEL_KILLED:
	case MODEL_LEASE_ENDS:
	case MODEL_LEASE_ENDS_SOON:
	case MODEL_OUTDATES:
	case MODEL_DIES:
	case MODEL_SWITCHES_OFF:
	case MODEL_AGES: print_plain(out, action); break;
	case MODEL_TICKS:
	case MODEL_TICKS_MUTE:
		fprintf(out, "node %u begins a tick: credits what it has heard of", node);
		print_op(out, action);
		break;
	case MODEL_GIVES:
		fprintf(out, "node %u begins a tick: gives %u to node %u, %u to node %u", node,
			action.a, model_peer(node, 0), action.b, model_peer(node, 1));
		print_op(out, action);
		break;
	case MODEL_SYNC_FAILS:
		fprintf(out, "fdatasync fails at node %u; the record %s\n", node, half(action.a));
		break;
	case MODEL_DISK_FULL:
		fprintf(out, "node %u finds its disk full%s; the record %s\n", node,
			action.a >= MODEL_AT_SYNC ? " by fdatasync" : "",
			half(action.a % MODEL_AT_SYNC));
		break;
	case MODEL_SENDS: fprintf(out, "node %u sends to node %u\n", node, action.a); break;
	case MODEL_RECEIVES:
	case MODEL_HEARS_AGAIN:
		fprintf(out, "node %u receives from node %u: S = %u\n", node, action.a, action.b);
		break;
	case MODEL_KILLED_WRITING:
		fprintf(out, "node %u is killed while it writes; the record %s\n", node,
			half(action.a));
		break;
	case MODEL_POWER_LOST:
		fprintf(out, "node %u loses power; slot 0 %s, slot 1 %s (if unsynced)\n", node,
			half(action.a), half(action.b));
		break;
	case MODEL_ERASES:
		fprintf(out, "all messages from node %u to node %u are lost\n", node, action.a);
		break;
	case MODEL_ORDERS:
		fprintf(out, "the administrator goes on with procedure %u\n", action.a);
		break;
	case MODEL_PROMISE_ENDS_SOON:
	case MODEL_PROMISE_ENDS:
		fprintf(out, "node %u: what it has promised node %u was long ago\n", node,
			MODEL_CANDIDATE);
		break;
	case MODEL_COMES_LATE:
		fprintf(out, "operation %u comes late to node %u\n", action.op, node);
		break;
	case MODEL_KINDS: break;
	case MODEL_REPLACES: fprintf(out, "a new machine is node %u\n", node); break;
	}
}

static const char *pc_text(uint8_t pc)
{
	static const char *const texts[] = {
		[MODEL_DOWN] = "down",	       [MODEL_READ] = "read",
		[MODEL_OPENED] = "opened",     [MODEL_IDLE] = "idle",
		[MODEL_LOWERING] = "lowering", [MODEL_READY] = "ready",
		[MODEL_WRITTEN] = "written",   [MODEL_SYNCED] = "synced",
		[MODEL_ADMITTED] = "admitted", [MODEL_REFUSED] = "refused",
	};

	return texts[pc];
}

void model_print_state(const struct model_cluster *cluster, const struct model_key *key,
		       const struct model_key *before, FILE *out)
{
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const struct model_summary *node = model_summary(cluster, key, i);

		if (before != NULL && key->node[i] == before->node[i])
			continue;
		fprintf(out, "       node %u %-8s quota %u  disk:", i, pc_text(node->pc),
			node->enforced);
		if (node->damaged)
			fprintf(out, " damaged");
		else
			fprintf(out, " x %d", node->share_disk);
		for (uint32_t k = 0; k < MODEL_EDGES; k++) {
			uint32_t j = model_peer(i, k);

			fprintf(out, "  S%u%u %u R%u%u %u", i, j, node->sent_disk[j], i, j,
				node->received_disk[j]);
		}
		fprintf(out, "%s\n", node->unsynced ? "  (a newer record in the page cache)" : "");
	}
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

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

void model_print_action(FILE *out, struct model_action action)
{
	unsigned node = action.node;

	switch ((enum model_kind)action.kind) {
	case MODEL_READS: fprintf(out, "node %u starts again and reads its journal\n", node); break;
	case MODEL_RESYNCS: fprintf(out, "node %u makes durable what it has read\n", node); break;
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
	case MODEL_LOWERS: fprintf(out, "node %u lowers its quota\n", node); break;
	case MODEL_STICKS: fprintf(out, "node %u cannot lower its quota\n", node); break;
	case MODEL_RECORDS: fprintf(out, "node %u writes its record\n", node); break;
	case MODEL_SYNCS: fprintf(out, "node %u makes its record durable\n", node); break;
	case MODEL_SYNC_FAILS:
		fprintf(out, "fdatasync fails at node %u; the record %s\n", node, half(action.a));
		break;
	case MODEL_RAISES_EARLY:
		fprintf(out, "node %u raises its quota before its record is durable\n", node);
		break;
	case MODEL_COMMITS:
		fprintf(out, "node %u ends its tick: enforces its share%s\n", node,
			action.a != 0 ? ", and answers" : "");
		break;
	case MODEL_SENDS: fprintf(out, "node %u sends to node %u\n", node, action.a); break;
	case MODEL_RECEIVES:
	case MODEL_HEARS_AGAIN:
		fprintf(out, "node %u receives from node %u: S = %u\n", node, action.a, action.b);
		break;
	case MODEL_KILLED: fprintf(out, "node %u is killed\n", node); break;
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
	case MODEL_ADMITS:
		fprintf(out, "node %u begins a new generation%s\n", node,
			action.a != 0 ? "; it was done before, and says so" : "");
		break;
	case MODEL_REOPENS:
		fprintf(out, "node %u opens its journal under the new generation%s\n", node,
			action.a != 0 ? ", and answers" : "");
		break;
	case MODEL_ORDERS:
		fprintf(out, "the administrator goes on with procedure %u\n", action.a);
		break;
	case MODEL_LEASE_ENDS:
	case MODEL_LEASE_ENDS_SOON:
		fprintf(out, "node %u: its lease runs out, its guard lowers the quota\n", node);
		break;
	case MODEL_PROMISE_ENDS_SOON:
	case MODEL_PROMISE_ENDS:
		fprintf(out, "node %u: what it has promised node %u was long ago\n", node,
			MODEL_CANDIDATE);
		break;
	case MODEL_OUTDATES: fprintf(out, "node %u: what it has heard is old\n", node); break;
	case MODEL_COMES_LATE:
		fprintf(out, "operation %u comes late to node %u\n", action.op, node);
		break;
	case MODEL_DIES: fprintf(out, "node %u will never start again\n", node); break;
	case MODEL_SWITCHES_OFF: fprintf(out, "node %u is switched off\n", node); break;
	case MODEL_AGES: fprintf(out, "node %u: time passes\n", node); break;
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

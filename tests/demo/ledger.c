/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/ledger.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tests/demo/history.h"

#define NODES_MAX   HISTORY_NODES_MAX
#define REREADS_MAX 20 /* in one audit */

/* What a node's snapshot says; counters by the index of the other node. */
struct ledger {
	const char *name; /* borrowed from the reply */
	uint64_t budget_ucpu, endowment_ucpu, share_ucpu, enforced_ucpu;
	uint64_t sent_ucpu[NODES_MAX], received_ucpu[NODES_MAX];
};

struct audit {
	unsigned nodes;
	ledger_fetch_fn *fetch;
	void *context;
	json_t *replies[NODES_MAX];
	struct ledger ledgers[NODES_MAX];
};

static int fetch(struct audit *audit, unsigned node, struct error *reterr)
{
	json_t *reply;
	int r = audit->fetch(audit->context, node, &reply);

	if (r != 0)
		return error_set(reterr, -EAGAIN, "node %u does not answer", node + 1);
	json_decref(audit->replies[node]);
	audit->replies[node] = reply;
	return 0;
}

static int amount(json_t *object, const char *key, uint64_t *ret_ucpu)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EBADMSG;
	*ret_ucpu = (uint64_t)json_integer_value(value);
	return 0;
}

static int find_node(const struct audit *audit, const char *name)
{
	for (unsigned i = 0; name != NULL && i < audit->nodes; i++) {
		const char *other = json_string_value(json_object_get(audit->replies[i], "node"));

		if (other != NULL && strcmp(name, other) == 0)
			return (int)i;
	}
	return -1;
}

/* Reads the reply of one node; all replies are there, since edges name the other end. */
static int decode(struct audit *audit, unsigned node, struct error *reterr)
{
	struct ledger *ledger = &audit->ledgers[node];
	json_t *reply = audit->replies[node], *edge;
	size_t index;

	*ledger = (struct ledger){
		.name = json_string_value(json_object_get(reply, "node")),
	};
	if (ledger->name == NULL || amount(reply, "budget_ucpu", &ledger->budget_ucpu) != 0 ||
	    amount(reply, "endowment_ucpu", &ledger->endowment_ucpu) != 0 ||
	    amount(reply, "share_ucpu", &ledger->share_ucpu) != 0 ||
	    amount(reply, "enforced_ucpu", &ledger->enforced_ucpu) != 0)
		return error_set(reterr, -EBADMSG, "node %u: not a ledger", node + 1);
	json_array_foreach (json_object_get(reply, "edges"), index, edge) {
		const char *peer = json_string_value(json_object_get(edge, "peer"));
		int other = find_node(audit, peer);

		if (other < 0)
			return error_set(reterr, -EBADMSG, "%s: edge to '%s', who is not here",
					 ledger->name, peer != NULL ? peer : "");
		if (amount(edge, "sent_ucpu", &ledger->sent_ucpu[other]) != 0 ||
		    amount(edge, "received_ucpu", &ledger->received_ucpu[other]) != 0)
			return error_set(reterr, -EBADMSG, "%s: edge to %s is malformed",
					 ledger->name, peer);
	}
	return 0;
}

/* The first donor whose snapshot is older than what a receiver got from it; -1: none. */
static int stale_donor(const struct audit *audit, unsigned *ret_receiver)
{
	for (unsigned i = 0; i < audit->nodes; i++)
		for (unsigned j = 0; j < audit->nodes; j++)
			if (audit->ledgers[i].sent_ucpu[j] < audit->ledgers[j].received_ucpu[i]) {
				*ret_receiver = j;
				return (int)i;
			}
	return -1;
}

static int make_consistent(struct audit *audit, unsigned *ret_rereads, struct error *reterr)
{
	unsigned receiver = 0, rereads = 0;
	int donor;

	while ((donor = stale_donor(audit, &receiver)) >= 0) {
		if (rereads++ == REREADS_MAX)
			return error_set(reterr, -EUCLEAN, "%s received more than %s ever sent",
					 audit->ledgers[receiver].name, audit->ledgers[donor].name);
		int r = fetch(audit, (unsigned)donor, reterr);
		if (r == 0)
			r = decode(audit, (unsigned)donor, reterr);
		if (r != 0)
			return r;
	}
	*ret_rereads = rereads;
	return 0;
}

static int check_node(const struct ledger *ledger, unsigned nodes, struct error *reterr)
{
	uint64_t gained_ucpu = ledger->endowment_ucpu, lost_ucpu = 0;

	for (unsigned i = 0; i < nodes; i++) {
		gained_ucpu += ledger->received_ucpu[i];
		lost_ucpu += ledger->sent_ucpu[i];
	}
	if (ledger->share_ucpu + lost_ucpu != gained_ucpu)
		return error_set(reterr, -EUCLEAN,
				 "%s: share %ju is not endowment and received %ju less sent %ju",
				 ledger->name, (uintmax_t)ledger->share_ucpu,
				 (uintmax_t)gained_ucpu, (uintmax_t)lost_ucpu);
	if (ledger->enforced_ucpu > ledger->share_ucpu)
		return error_set(reterr, -EUCLEAN, "%s: enforces %ju, owns %ju", ledger->name,
				 (uintmax_t)ledger->enforced_ucpu, (uintmax_t)ledger->share_ucpu);
	return 0;
}

static int check_sum(const struct audit *audit, uint64_t budget_ucpu, struct ledger_sum *sum,
		     struct error *reterr)
{
	for (unsigned i = 0; i < audit->nodes; i++) {
		const struct ledger *ledger = &audit->ledgers[i];
		int r = check_node(ledger, audit->nodes, reterr);

		if (r != 0)
			return r;
		if (ledger->budget_ucpu != budget_ucpu)
			return error_set(reterr, -EUCLEAN, "%s: budget %ju instead of %ju",
					 ledger->name, (uintmax_t)ledger->budget_ucpu,
					 (uintmax_t)budget_ucpu);
		sum->shares_ucpu += ledger->share_ucpu;
		for (unsigned j = 0; j < audit->nodes; j++)
			sum->in_flight_ucpu +=
			    ledger->sent_ucpu[j] - audit->ledgers[j].received_ucpu[i];
	}
	if (sum->shares_ucpu + sum->in_flight_ucpu != budget_ucpu)
		return error_set(reterr, -EUCLEAN,
				 "shares %ju + in flight %ju are not the budget %ju",
				 (uintmax_t)sum->shares_ucpu, (uintmax_t)sum->in_flight_ucpu,
				 (uintmax_t)budget_ucpu);
	return 0;
}

int ledger_audit(unsigned nodes, uint64_t budget_ucpu, ledger_fetch_fn *fetch_ledger, void *context,
		 struct ledger_sum *ret_sum, struct error *reterr)
{
	struct audit audit = { .nodes = nodes, .fetch = fetch_ledger, .context = context };
	struct ledger_sum sum = { 0 };
	int r = 0;

	for (unsigned i = 0; i < nodes && r == 0; i++)
		r = fetch(&audit, i, reterr);
	for (unsigned i = 0; i < nodes && r == 0; i++)
		r = decode(&audit, i, reterr);
	if (r == 0)
		r = make_consistent(&audit, &sum.rereads, reterr);
	if (r == 0)
		r = check_sum(&audit, budget_ucpu, &sum, reterr);
	for (unsigned i = 0; i < nodes; i++)
		json_decref(audit.replies[i]);
	if (r == 0)
		*ret_sum = sum;
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/members.h"

#include <assert.h>
#include <string.h>

uint64_t members_ids[MEMBERS_MAX];

/* Also for programs that are no tests. */
static void must(enum iso_status status)
{
	assert(status == ISO_OK);
	(void)status;
}

uint32_t members_index(uint64_t id)
{
	uint32_t index = 0;

	while (index < MEMBERS_MAX && members_id(index) != id)
		index++;
	return index;
}

static bool chance(struct members *members, uint32_t percent)
{
	return iso_rng_below(&members->rng, 100) < percent;
}

void members_init(struct members *members, uint64_t seed)
{
	memset(members, 0, sizeof(*members));
	members->rng.state = seed;
	members->cluster = 77;
	members->trades = 30;
	members->now = MEMBERS_PROMISE;
}

static struct iso_ledger_config config_of(const struct members *members, uint32_t index)
{
	return (struct iso_ledger_config){
		.cluster = members->cluster,
		.node = members_id(index),
		.epoch = 1,
		.budget_ucpu = 1000000,
		.floor_ucpu = members->nodes[index].floor_ucpu,
		.edges_max = ISO_DEGREE_MAX,
	};
}

void members_add(struct members *members, uint32_t index, uint32_t gen, int64_t share_ucpu,
		 int64_t budget_ucpu)
{
	struct members_node *node = &members->nodes[index];

	*node = (struct members_node){ .exists = true, .floor_ucpu = 10, .ceiling_ucpu = 100000 };
	struct iso_ledger_config config = config_of(members, index);
	config.budget_ucpu = budget_ucpu;
	must(iso_ledger_genesis(&config, gen, share_ucpu, &node->durable));
}

void members_edge(struct members *members, uint32_t a, uint32_t b)
{
	const uint32_t ends[2] = { a, b };

	for (int i = 0; i < 2; i++) {
		struct iso_record *record = &members->nodes[ends[i]].durable;

		record->edges[record->edge_count++] = (struct iso_record_edge){
			.peer = members_id(ends[1 - i]),
			.peer_gen = 1,
		};
	}
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The lease of a node: whoever hears from none of its neighbours keeps its floor only. */
static bool leased(const struct members *members, uint32_t index)
{
	const struct members_node *node = &members->nodes[index];

	for (uint32_t k = 0; k < MEMBERS_MAX; k++)
		if (node->deadline[k] > members->now)
			return true;
	return false;
}

static bool has_open_edge(const struct iso_ledger *ledger)
{
	for (uint32_t k = 0; k < ledger->edge_count; k++)
		if (iso_ledger_edge_credits(ledger, k))
			return true;
	return false;
}

static int64_t ceiling_of(const struct members *members, uint32_t index)
{
	const struct members_node *node = &members->nodes[index];

	if (leased(members, index) || !has_open_edge(node->ledger))
		return node->ceiling_ucpu;
	return lesser(node->ceiling_ucpu, node->floor_ucpu);
}

void members_start(struct members *members, uint32_t index)
{
	struct members_node *node = &members->nodes[index];
	struct iso_ledger_config config = config_of(members, index);

	must(iso_ledger_init(node->memory, sizeof(node->memory), &config, &node->ledger));
	must(iso_ledger_open(node->ledger, &node->durable));
	memset(node->closing, 0, sizeof(node->closing));
	memset(node->peer_leaves, 0, sizeof(node->peer_leaves));
	memset(node->frozen, 0, sizeof(node->frozen));
	memset(node->tombstone, 0, sizeof(node->tombstone));
	node->running = true;
	node->started_at = members->now;
	(void)members_tick(members, index, NULL);
}

void members_kill(struct members *members, uint32_t index)
{
	members->nodes[index].running = false;
}

static uint32_t index_of(uint64_t id)
{
	uint32_t index = members_index(id);

	assert(index < MEMBERS_MAX);
	return index;
}

static bool may_close(struct members *members, uint32_t index, const struct iso_op *op)
{
	struct members_node *node = &members->nodes[index];
	uint32_t peer = index_of(op->peer);

	/* From here on, rather than from the last answer: another neighbour may have left since. */
	if (node->closing[peer] == 0)
		node->closing[peer] = members->now;
	return op->on || (members->now >= node->closing[peer] + MEMBERS_PROMISE &&
			  members->now >= node->started_at + MEMBERS_PROMISE);
}

static void freeze(struct members_node *node)
{
	struct iso_ledger *ledger = node->ledger;

	for (uint32_t k = 0; k < ledger->edge_count; k++)
		if (node->peer_leaves[index_of(ledger->edges[k].peer)] &&
		    iso_ledger_edge_credits(ledger, k))
			iso_ledger_freeze(ledger, k);
}

/* Every peer has frozen its edge, and what it sent until then is here. */
static void leave(struct members_node *node)
{
	const struct iso_ledger *ledger = node->ledger;

	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		uint32_t peer = index_of(ledger->edges[k].peer);

		if (iso_ledger_edge_credits(ledger, k) &&
		    (!node->frozen[peer] || ledger->edges[k].received != node->frozen_sent[peer]))
			return;
	}
	(void)!iso_ledger_leave(node->ledger, node->enforced_ucpu);
}

/* A donor has no more under way than either side's budget; it knows the peer's, being fresh. */
static int64_t room_towards(struct members *members, struct iso_ledger *ledger, uint32_t k)
{
	const struct iso_ledger_edge *edge = &ledger->edges[k];
	const struct members_node *peer = &members->nodes[index_of(edge->peer)];
	int64_t bound = lesser(ledger->budget_ucpu, peer->durable.budget_ucpu);
	int64_t room = lesser(iso_ledger_room(ledger), bound - iso_ledger_under_way(ledger, k));

	return room > 0 ? room : 0;
}

static void trade(struct members *members, struct members_node *node)
{
	struct iso_ledger *ledger = node->ledger;
	bool gives = (ledger->flags & (ISO_NODE_LEAVING | ISO_NODE_DRAINING)) != 0;

	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		int64_t room = room_towards(members, ledger, k);

		if (room == 0 || !iso_ledger_edge_open(ledger, k) ||
		    node->closing[index_of(ledger->edges[k].peer)] != 0)
			continue;
		if (gives && chance(members, 50))
			iso_ledger_debit(ledger, k, room);
		else if (chance(members, members->trades))
			iso_ledger_debit(ledger, k,
					 1 + (int64_t)iso_rng_below(&members->rng, (uint64_t)room));
	}
}

static void post(struct members *members, const struct members_message *message)
{
	/* A full box loses; so does the weather. */
	if (members->mail_count == MEMBERS_MAIL || chance(members, members->faults))
		return;
	members->mail[members->mail_count++] = *message;
}

static void send_all(struct members *members, uint32_t index)
{
	struct members_node *node = &members->nodes[index];
	const struct iso_ledger *ledger = node->ledger;

	for (uint32_t k = 0; k < MEMBERS_MAX; k++) {
		if (!node->tombstone[k])
			continue;
		node->tombstone[k] = false;
		post(members, &(struct members_message){ .from = index,
							 .to = k,
							 .to_gen = node->tombstone_gen[k],
							 .tombstone = true });
	}
	for (uint32_t k = 0; k < ledger->edge_count && ledger->halt == ISO_HALT_NONE; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];
		uint32_t peer = index_of(edge->peer);

		if (!iso_ledger_edge_credits(ledger, k) || node->closing[peer] != 0)
			continue;
		post(members, &(struct members_message){
				  .from = index,
				  .to = peer,
				  .from_gen = ledger->gen,
				  .to_gen = edge->peer_gen,
				  .news = { edge->sent, edge->received, 0 },
				  .leaving = (ledger->flags & ISO_NODE_LEAVING) != 0,
				  .frozen = (edge->flags & ISO_EDGE_STATE_FROZEN) != 0,
				  .sent_at = members->now,
			      });
	}
}

enum iso_status members_tick(struct members *members, uint32_t index, const struct iso_op *op)
{
	struct members_node *node = &members->nodes[index];
	struct iso_ledger *ledger = node->ledger;
	enum iso_status status = ISO_OK;
	int64_t moved;

	members->ticks++;
	(void)iso_ledger_begin(ledger);
	if (op != NULL && op->kind == ISO_OP_CLOSE && op->gen == ledger->gen &&
	    op->id > ledger->last_op && !may_close(members, index, op))
		status = ISO_E_BUSY;
	else if (op != NULL)
		status = iso_ledger_apply(ledger, op, &moved);
	/* What was known of the peer's earlier life. */
	if (status == ISO_OK && op != NULL && op->kind == ISO_OP_OPEN) {
		uint32_t peer = index_of(op->peer);

		node->closing[peer] = 0;
		node->peer_leaves[peer] = node->frozen[peer] = false;
	}
	if (ledger->halt == ISO_HALT_NONE && ledger->gen != 0) {
		freeze(node);
		leave(node);
	}
	if (ledger->halt == ISO_HALT_NONE && ledger->gen != 0)
		trade(members, node);
	iso_ledger_plan(ledger, ceiling_of(members, index), node->enforced_ucpu);
	if (ledger->phase == ISO_LEDGER_LOWERING) {
		if (chance(members, members->faults / 4)) {
			(void)iso_ledger_abort(ledger);
			if (op != NULL && status == ISO_OK && ledger->last_op != op->id)
				status = ISO_E_BUSY;
		} else {
			node->enforced_ucpu = iso_ledger_limit(ledger);
			must(iso_ledger_lowered(ledger, node->enforced_ucpu));
		}
	}
	uint64_t seq = ledger->seq;
	if (iso_ledger_changed(ledger)) {
		iso_ledger_record(ledger, &node->durable);
		seq = node->durable.seq;
	}
	iso_ledger_commit(ledger, seq);
	int64_t target = iso_ledger_target(ledger);
	if (target > node->enforced_ucpu)
		node->enforced_ucpu = target;
	send_all(members, index);
	return status;
}

enum iso_status members_admit(struct members *members, uint32_t index,
			      const struct iso_ledger_admission *admission)
{
	struct members_node *node = &members->nodes[index];
	struct iso_ledger_config config = config_of(members, index);
	struct iso_record record;
	enum iso_status status = iso_ledger_admit(&config, &node->durable, admission, &record);

	if (status != ISO_OK)
		return status;
	node->durable = record;
	members_start(members, index);
	return ISO_OK;
}

static void arrive(struct members *members, const struct members_message *message)
{
	struct members_node *node = &members->nodes[message->to];
	uint32_t k;

	if (!node->running || node->cut || members->nodes[message->from].cut)
		return;
	struct iso_ledger *ledger = node->ledger;
	if (message->tombstone) {
		if (message->to_gen == ledger->gen)
			iso_ledger_void(ledger);
		return;
	}
	if (iso_ledger_find(ledger, members_id(message->from), &k) != ISO_OK)
		return;
	const struct iso_ledger_edge *edge = &ledger->edges[k];
	if (!iso_ledger_edge_credits(ledger, k)) {
		node->tombstone[message->from] = message->from_gen <= edge->peer_gen;
		node->tombstone_gen[message->from] = message->from_gen;
		return;
	}
	if (message->from_gen != edge->peer_gen || message->to_gen != ledger->gen ||
	    node->closing[message->from] != 0)
		return;
	if (iso_ledger_heard(ledger, k, &message->news) != ISO_OK)
		return;
	node->peer_leaves[message->from] |= message->leaving;
	if (message->frozen) {
		node->frozen[message->from] = true;
		node->frozen_sent[message->from] = message->news.sent;
	}
	if (message->sent_at + MEMBERS_LEASE > node->deadline[message->from])
		node->deadline[message->from] = message->sent_at + MEMBERS_LEASE;
}

static void deliver_mail(struct members *members)
{
	while (members->mail_count > 0 && chance(members, 80)) {
		uint32_t i = (uint32_t)iso_rng_below(&members->rng, members->mail_count);
		struct members_message message = members->mail[i];

		/* Some come again. */
		if (!chance(members, members->faults / 2))
			members->mail[i] = members->mail[--members->mail_count];
		arrive(members, &message);
	}
}

/* An operation that was sent long ago arrives now: it must be the same as nothing. */
static void deliver_late(struct members *members)
{
	if (members->late_count == 0 || !chance(members, members->faults / 2))
		return;
	uint32_t i = (uint32_t)iso_rng_below(&members->rng, members->late_count);
	struct members_node *node = &members->nodes[members->late_to[i]];

	if (!node->running || node->cut)
		return;
	(void)members_tick(members, members->late_to[i], &members->late[i]);
}

void members_step(struct members *members)
{
	members->now++;
	deliver_mail(members);
	deliver_late(members);
	for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
		struct members_node *node = &members->nodes[i];

		/* The guard: it outlives the agent. */
		if (node->exists && node->ledger != NULL && !leased(members, i) &&
		    (!node->running || has_open_edge(node->ledger)))
			node->enforced_ucpu = lesser(node->enforced_ucpu, node->floor_ucpu);
		if (node->running && chance(members, 60))
			(void)members_tick(members, i, NULL);
		if (node->running && chance(members, members->faults / 10)) {
			members_kill(members, i);
			members_start(members, i);
		}
	}
}

int64_t members_enforced(const struct members *members)
{
	int64_t enforced = 0;

	for (uint32_t i = 0; i < MEMBERS_MAX; i++)
		enforced += members->nodes[i].enforced_ucpu;
	return enforced;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim/world_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void next_step(struct world *world, uint32_t i, enum step step, double delay_s)
{
	if (!world->calm && world_chance(world, world->setup.stall)) {
		delay_s += world_exponential(world, world->setup.lease_s);
		world->counts.stalls++;
	}
	world->nodes[i].step = step;
	world_push(world,
		   (struct event){ .type = EVENT_STEP, .node = i, .epoch = world->nodes[i].epoch },
		   delay_s);
}

uint64_t world_clock_ns(const struct world *world, const struct node *node)
{
	return (uint64_t)(node->rate * (double)world->now_ns + node->offset_ns);
}

void world_enforce(struct world *world, struct node *node, int64_t ucpu)
{
	node->enforced_ucpu = ucpu / QUOTA_UCPU * QUOTA_UCPU;
	world_touch(world, node);
	world->counts.quota_writes++;
}

/* Only a burial is a good reason to halt in the middle of things. */
static void check_halt(struct world *world, uint32_t i)
{
	struct iso_trade_status status;

	iso_trade_status(world->nodes[i].trade, &status);
	if (status.halt != ISO_HALT_BURIED ||
	    !(world->registry != NULL ? world_office_ends(world, i) : world_is_void(world, i)))
		world_violate(world, "halted without cause", i, status.halt);
	world->counts.tombstones++;
}

/* As if what comes were the answer to what went out last. */
static void answer_newest(const struct node *node, struct message *message)
{
	struct iso_edge_frame frame;
	struct iso_trade_status status;

	iso_trade_status(node->trade, &status);
	assert(iso_edge_decode(message->bytes, ISO_EDGE_BYTES, &frame) == ISO_OK);
	if (frame.echo_inc != status.inc || status.seq == 0)
		return;
	frame.echo_seq = status.seq;
	iso_edge_encode(&frame, message->bytes);
}

static void deliver(struct world *world, struct node *node, uint32_t index)
{
	struct message *message = &world->messages[index];

	if (world->setup.mutant == WORLD_AMOUNTS) {
		struct iso_edge_frame frame;

		assert(iso_edge_decode(message->bytes, ISO_EDGE_BYTES, &frame) == ISO_OK);
		node->believed[message->source] += message->amount;
		frame.sent = node->believed[message->source];
		iso_edge_encode(&frame, message->bytes);
	}
	if (world->setup.mutant == WORLD_FROM_RECEIPT)
		answer_newest(node, message);
	enum iso_status status = iso_trade_receive(node->trade, world_clock_ns(world, node),
						   world->nodes[message->source].config.node,
						   message->bytes, ISO_EDGE_BYTES);

	if (status == ISO_E_HALTED && !node->distrusted && node->durable.halt == ISO_HALT_NONE)
		check_halt(world, (uint32_t)(node - world->nodes));
	world_message_free(world, index);
}

static void step_begin(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_trade_input input = {
		.now_ns = world_clock_ns(world, node),
		.enforced_ucpu = node->enforced_ucpu,
		.ceiling_ucpu = node->ceiling_ucpu,
		.cost = node->cost,
	};

	/* One model a tick: its marginal cost is wrong by the same factor everywhere. */
	if (world->setup.noise > 0) {
		double bell = world_unit(world) + world_unit(world) + world_unit(world) - 1.5;

		node->noise = 0.8 * node->noise + 1.2 * world->setup.noise * bell;
		input.cost.weight *= 1 + node->noise;
	}

	/* The administrator's request may take its time, too. */
	node->carried = node->asked && !node->is_cut && world_chance(world, 0.7);
	if (node->carried)
		input.op = &node->op;
	enum iso_status status = iso_trade_begin(node->trade, &input, &node->plan);

	assert(status == ISO_OK);
	world->counts.credits += node->plan.credited_ucpu > 0;
	world->counts.debits += node->plan.debited_ucpu > 0;
	next_step(world, i, STEP_LOWER, 0.0002);
}

static void step_lower(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	node->lower_late_ucpu = INT64_MAX;
	if (node->plan.lower && world->setup.mutant == WORLD_LOWER_LATE) {
		node->lower_late_ucpu = node->plan.limit_ucpu;
		(void)!iso_trade_lowered(node->trade, node->plan.limit_ucpu);
	} else if (node->plan.lower && node->enforced_ucpu > node->plan.limit_ucpu &&
		   world_chance(world, world->setup.stuck)) {
		/* Read back higher than asked for, so the tick's gifts are taken back. */
		if (iso_trade_lowered(node->trade, node->enforced_ucpu) != ISO_E_RANGE)
			world_violate(world, "a failed lowering was accepted", i, 0);
		iso_trade_abort(node->trade, &node->plan);
		world->counts.aborts++;
	} else if (node->plan.lower) {
		/* The guard may have been lower in the meantime. */
		if (node->plan.limit_ucpu < node->enforced_ucpu)
			world_enforce(world, node, node->plan.limit_ucpu);
		if (iso_trade_lowered(node->trade, node->enforced_ucpu) != ISO_OK)
			world_violate(world, "a lowering was refused", i, 0);
	}
	next_step(world, i, STEP_WRITE, 0.0002 + world_exponential(world, 0.0005));
}

/* The disk is full.  Before the first record of an incarnation there is nothing to commit. */
static void undo(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	world->counts.undone++;
	if (iso_trade_undo(node->trade, &node->plan)) {
		next_step(world, i, STEP_COMMIT, 0.0001);
		return;
	}
	node->carried = false;
	next_step(world, i, STEP_IDLE, TICK_S * (0.8 + 0.4 * world_unit(world)));
}

static void step_write(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;

	node->written_seq = node->durable_seq;
	if (node->plan.record) {
		iso_trade_record(node->trade, &record);
		if (world_chance(world, world->setup.full)) {
			undo(world, i);
			return;
		}
		iso_record_encode(&record, node->cache + record.seq % 2 * ISO_SLOT_BYTES);
		for (uint32_t k = 0; k < record.edge_count; k++)
			world->counts.transfers +=
			    k < node->cached.edge_count &&
			    record.edges[k].sent > node->cached.edges[k].sent;
		node->cached = record;
		node->written_seq = record.seq;
	}
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_COMMIT, 0.0001);
	else
		next_step(world, i, STEP_SYNC, world_exponential(world, SYNC_S));
}

void world_sync_disk(struct world *world, struct node *node)
{
	memcpy(node->disk, node->cache, sizeof(node->disk));
	node->durable = node->cached;
	world_touch(world, node);
}

/* What became of the operation that this tick carried, now that it is durable. */
static void answer(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	enum iso_status status = node->plan.op_status;
	struct iso_trade_status now;

	if (!node->carried)
		return;
	node->carried = false;
	if (world->registry != NULL) {
		node->asked = false;
		world_office_hears(world, i);
		return;
	}
	iso_trade_status(node->trade, &now);
	if (status == ISO_E_BUSY || now.halt == ISO_HALT_AMNESIA)
		return;
	if (status != ISO_OK && status != ISO_E_STALE) {
		world_violate(world, "an operation was refused", i, status);
		return;
	}
	node->moved_ucpu = status == ISO_OK ? node->plan.op_moved_ucpu : now.last_op_ucpu;
	if (status == ISO_E_STALE && now.last_op != node->op.id)
		world_violate(world, "operations out of order", i, (int64_t)now.last_op);
	node->answered = node->op.id;
	node->asked = false;
}

static void step_commit(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	int64_t target;

	node->durable_seq = node->written_seq;
	target = iso_trade_commit(node->trade, node->durable_seq);
	world_renew(world, i);
	if (target / QUOTA_UCPU * QUOTA_UCPU > node->enforced_ucpu &&
	    node->lower_late_ucpu == INT64_MAX && world->setup.mutant != WORLD_SEND_EARLY)
		world_raise(world, i, target);
	answer(world, i);
	for (uint32_t k = 0; k < node->inbox_count; k++)
		deliver(world, node, node->inbox[k]);
	node->inbox_count = 0;
	next_step(world, i, STEP_SEND, 0.0001);
}

static void send_copy(struct world *world, const struct message *message)
{
	double delay_s = 0.001 + world_exponential(world, world->setup.delay_s);

	if (world_chance(world, world->setup.loss) ||
	    world->cut[message->source][message->destination] ||
	    world->nodes[message->source].is_cut || world->nodes[message->destination].is_cut) {
		world->counts.lost++;
		return;
	}
	if (world_chance(world, world->setup.tail))
		delay_s += world_exponential(world, 1);

	uint32_t index = world_message_new(world);

	world->messages[index] = *message;
	world_push(
	    world,
	    (struct event){ .type = EVENT_MESSAGE, .node = message->destination, .message = index },
	    delay_s);
}

static void step_send(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct message message = { .source = i };
	struct iso_edge_frame frame;
	uint64_t peer;

	for (uint32_t k = 0; k < iso_trade_edges(node->trade); k++) {
		if (iso_trade_message(node->trade, k, &peer, message.bytes) != ISO_OK)
			continue;
		message.destination = (uint32_t)(peer - 1000);
		if (world->setup.mutant == WORLD_AMOUNTS) {
			assert(iso_edge_decode(message.bytes, ISO_EDGE_BYTES, &frame) == ISO_OK);
			message.amount = frame.sent - node->told[message.destination];
			node->told[message.destination] = frame.sent;
		}
		world->counts.messages++;
		send_copy(world, &message);
		if (world_chance(world, world->setup.duplicate)) {
			world->counts.duplicated++;
			send_copy(world, &message);
		}
	}
	if (node->lower_late_ucpu != INT64_MAX)
		world_enforce(world, node, node->lower_late_ucpu);
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_SYNC, world_exponential(world, SYNC_S));
	else
		next_step(world, i, STEP_IDLE, TICK_S * (0.8 + 0.4 * world_unit(world)));
}

static void step_sync(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	if (memcmp(node->disk, node->cache, sizeof(node->disk)) != 0)
		world_sync_disk(world, node);
	if (world->setup.mutant == WORLD_SEND_EARLY)
		next_step(world, i, STEP_IDLE, TICK_S * (0.8 + 0.4 * world_unit(world)));
	else
		next_step(world, i, STEP_COMMIT, 0.0001);
}

/* The agent has started: read the journal, make it durable, take it up. */
static void step_resync(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;

	if (iso_record_recover(node->cache, &record) != ISO_OK) {
		world_violate(world, "the journal cannot be recovered", i, 0);
		return;
	}
	if (memcmp(&record, &node->cached, sizeof(record)) != 0)
		world_violate(world, "recovered another state than was written", i, 0);
	if (world->setup.mutant != WORLD_TRUST_CACHE)
		world_sync_disk(world, node);
	enum iso_status status = ISO_OK;

	/* A new process, with the peers that it knows by now. */
	if (world->registry != NULL)
		status = iso_trade_init(node->trade, iso_trade_size(&node->config), &node->config,
					&node->trade);
	assert(status == ISO_OK);
	status = iso_trade_open(node->trade, &record);
	assert(status == ISO_OK);
	iso_trade_lease_resume(node->trade, node->deadline_ns);
	node->durable_seq = record.seq;
	for (uint32_t k = 0; k < record.edge_count; k++) {
		node->told[record.edges[k].peer - 1000] = record.edges[k].sent;
		node->believed[record.edges[k].peer - 1000] = record.edges[k].received;
	}
	node->up = true;
	if (world->setup.mutant != WORLD_TRUST_CACHE) {
		step_begin(world, i);
		return;
	}
	/* Claim that the new incarnation is durable without writing it. */
	step_begin(world, i);
	if (node->plan.lower) {
		world_enforce(world, node, node->plan.limit_ucpu);
		(void)!iso_trade_lowered(node->trade, node->enforced_ucpu);
	}
	iso_trade_record(node->trade, &record);
	node->written_seq = record.seq;
	node->lower_late_ucpu = INT64_MAX;
	node->epoch++; /* forget the step that step_begin scheduled */
	next_step(world, i, STEP_COMMIT, 0.0001);
}

/* A new life, taken up between two ticks as a restart of the agent would. */
enum iso_status world_admit(struct world *world, uint32_t i,
			    const struct iso_ledger_admission *admission)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;
	enum iso_status status = iso_trade_admit(&node->config, &node->durable, admission, &record);

	if (status != ISO_OK)
		return status;
	iso_record_encode(&record, node->cache + record.seq % 2 * ISO_SLOT_BYTES);
	node->cached = record;
	world_sync_disk(world, node);
	iso_trade_close(node->trade);
	status = iso_trade_open(node->trade, &record);
	node->durable_seq = record.seq;
	/* No lease of the life before counts for this one. */
	node->deadline_ns = 0;
	return status;
}

void world_crash(struct world *world, uint32_t i, bool power)
{
	struct node *node = &world->nodes[i];

	(power ? world->counts.powers : world->counts.kills)[node->step]++;
	if (node->up)
		iso_trade_close(node->trade);
	for (uint32_t k = 0; k < node->inbox_count; k++)
		world_message_free(world, node->inbox[k]);
	node->inbox_count = 0;
	node->carried = false;
	node->up = false;
	node->epoch++;
	if (power) {
		bool torn = false;

		/* Any subset of the sectors that were not synced has reached the disk. */
		for (uint32_t k = 0; k < ISO_JOURNAL_BYTES; k += ISO_SECTOR_BYTES) {
			if (memcmp(node->disk + k, node->cache + k, ISO_SECTOR_BYTES) == 0)
				continue;
			torn = true;
			if (world_chance(world, 0.5))
				memcpy(node->disk + k, node->cache + k, ISO_SECTOR_BYTES);
		}
		memcpy(node->cache, node->disk, sizeof(node->cache));
		world->counts.torn += torn;

		struct iso_record before = node->durable;

		if (iso_record_recover(node->disk, &node->durable) != ISO_OK)
			world_violate(world, "power loss damaged the journal", i, 0);
		else if (node->durable.seq < before.seq)
			world_violate(world, "power loss took back a durable record", i, 0);
		node->cached = node->durable;
		node->enforced_ucpu = 0;
		node->deadline_ns = 0;
		node->powered = false;
		world_touch(world, node);
	}
	if (node->dead || node->is_off)
		return;
	world_push(world, (struct event){ .type = EVENT_RESTART, .node = i, .epoch = node->epoch },
		   power ? 0.5 + world_exponential(world, 2)
			 : 0.05 + world_exponential(world, 0.5));
}

void world_step(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	if (!world->calm && world_chance(world, world->setup.crash)) {
		world_crash(world, i, world_chance(world, 0.5));
		return;
	}
	switch (node->step) {
	case STEP_IDLE: step_begin(world, i); break;
	case STEP_LOWER: step_lower(world, i); break;
	case STEP_WRITE: step_write(world, i); break;
	case STEP_SYNC: step_sync(world, i); break;
	case STEP_COMMIT: step_commit(world, i); break;
	case STEP_SEND: step_send(world, i); break;
	case STEP_RESYNC: step_resync(world, i); break;
	case STEP_COUNT: abort();
	}
}

void world_restart(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	/* After a boot the cgroup is made with the floor before any task enters it. */
	if (!node->powered) {
		int64_t least = node->config.floor_ucpu < node->ceiling_ucpu
				    ? node->config.floor_ucpu
				    : node->ceiling_ucpu;

		/* The job of one that leaves has ended, and counts for nothing. */
		if (iso_record_holdings(&node->durable) < least)
			least = iso_record_holdings(&node->durable);

		world_enforce(world, node, least);
	}
	node->powered = true;
	next_step(world, i, STEP_RESYNC, 0.001);
}

void world_receive(struct world *world, const struct event *event)
{
	struct node *node = &world->nodes[event->node];

	/* Between begin and commit a message waits in the socket. */
	if (!node->up || (node->step != STEP_IDLE && node->inbox_count == INBOX_MAX))
		world_message_free(world, event->message);
	else if (node->step != STEP_IDLE)
		node->inbox[node->inbox_count++] = event->message;
	else
		deliver(world, node, event->message);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/admin/drive.h"
#include "tests/sim/members.h"
#include "tests/test.h"

/*
 * An administrator who does everything there is to do, in any order, and whose
 * program dies after any entry and before any answer.  After each step of the
 * world the kernels together enforce no more than the budget that the file
 * says; at the end, once everything is repaired, the books are exact.
 */

#define STEP_NS	    100000000u
#define ENTRIES_MAX 4096u
#define FOUNDERS    4u
#define BUDGET	    4000

struct office {
	struct members members;
	struct iso_registry registry;
	struct drive drive;
	struct iso_registry_entry entries[ENTRIES_MAX]; /* the file */
	uint32_t entry_count;
	int64_t crash_in; /* calls; < 0: never */
	uint32_t crashes;
	bool fenced[MEMBERS_MAX]; /* switched off, or its job is */
};

static void check_sum(struct office *office)
{
	int64_t enforced = members_enforced(&office->members);

	for (uint32_t i = 0; i < MEMBERS_MAX && enforced > office->registry.budget_ucpu; i++)
		fprintf(stderr, "# n%u enforces %" PRId64 " owns %" PRId64 " running %d cut %d\n",
			i, office->members.nodes[i].enforced_ucpu,
			iso_record_holdings(&office->members.nodes[i].durable),
			office->members.nodes[i].running, office->members.nodes[i].cut);
	if (enforced > office->registry.budget_ucpu)
		ck_abort_msg("at %" PRIu64 " the kernels enforce %" PRId64 " of %" PRId64,
			     office->members.now, enforced, office->registry.budget_ucpu);
	ck_assert_int_eq(iso_registry_imbalance(&office->registry), 0);
}

static void go_on(struct office *office, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		members_step(&office->members);
		check_sum(office);
	}
}

static bool dies(struct office *office)
{
	if (office->crash_in < 0 || office->crash_in-- > 0)
		return false;
	office->crashes++;
	return true;
}

/* For a seed that failed: ISO_TRACE=1 shows what was written. */
static void trace(const struct office *office, const struct iso_registry_entry *entry)
{
	fprintf(stderr,
		"# %" PRIu64 ": entry %" PRIu64 " kind %d begins %d op %" PRIu64 " %d node %" PRIu64
		".%u peer %" PRIu64 ".%u amount %" PRId64 " S %" PRIu64 " R %" PRIu64
		" flags %x p %" PRIu64 "\n",
		office->members.now, entry->seq, entry->kind, entry->begins, entry->op,
		entry->op_kind, entry->node, entry->gen, entry->peer, entry->peer_gen,
		entry->amount_ucpu, entry->sent, entry->received, entry->flags, entry->procedure);
}

static int world_write(void *context, const struct iso_registry_entry *entry, struct error *reterr)
{
	struct office *office = context;

	if (dies(office))
		return error_set(reterr, -EINTR, "died before the entry");
	ck_assert_uint_lt(office->entry_count, ENTRIES_MAX);
	if (getenv("ISO_TRACE") != NULL)
		trace(office, entry);
	office->entries[office->entry_count++] = *entry;
	if (dies(office))
		return error_set(reterr, -EINTR, "died after the entry");
	return 0;
}

static enum iso_status admit(struct office *office, const struct iso_registry_op *op)
{
	struct iso_ledger_peer peers[MEMBERS_MAX];
	uint32_t count = 0;
	const struct iso_registry *registry = &office->registry;

	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;

		for (int side = 0; side < 2; side++)
			if (end[side].member == op->member && end[side].gen == op->gen)
				peers[count++] = (struct iso_ledger_peer){
					registry->members[end[1 - side].member].id,
					end[1 - side].gen,
				};
	}
	struct iso_ledger_admission admission = {
		.id = op->id,
		.gen = op->gen,
		.endowment_ucpu = op->amount_ucpu,
		.budget_ucpu = op->budget_ucpu,
		.peers = peers,
		.peer_count = count,
	};
	return members_admit(&office->members, members_index(registry->members[op->member].id),
			     &admission);
}

static void world_deliver(void *context, const struct iso_registry_op *op,
			  struct drive_answer *ret_answer)
{
	struct office *office = context;
	struct members *members = &office->members;
	uint32_t index = members_index(office->registry.members[op->member].id);
	struct members_node *node = &members->nodes[index];
	enum iso_status status;
	uint32_t lost = (uint32_t)iso_rng_below(&members->rng, 200);

	ret_answer->outcome = DRIVE_SILENT;
	go_on(office, 1);
	if (!node->running || node->cut || lost < members->faults)
		return;
	if (op->kind == ISO_REGISTRY_ADMIT) {
		status = admit(office, op);
	} else {
		struct iso_op message;

		iso_registry_message(&office->registry, op, &message);
		if (members->late_count < MEMBERS_LATE) {
			members->late_to[members->late_count] = index;
			members->late[members->late_count++] = message;
		}
		status = members_tick(members, index, &message);
	}
	check_sum(office);
	if (lost < 2 * members->faults)
		return;
	const struct iso_record *record = &node->durable;
	if (status == ISO_OK || (status == ISO_E_STALE && record->last_op >= op->id)) {
		ret_answer->outcome = DRIVE_APPLIED;
		ret_answer->moved_ucpu = record->last_op_ucpu;
		ret_answer->record = *record;
		return;
	}
	ret_answer->outcome = status == ISO_E_BUSY ? DRIVE_BUSY : DRIVE_REFUSED;
	ret_answer->retry_ns = 2 * STEP_NS;
	snprintf(ret_answer->why, sizeof(ret_answer->why), "op %d: %s", op->kind,
		 iso_status_text(status));
}

static int world_look(void *context, uint32_t member, struct drive_look *ret_look,
		      struct error *reterr)
{
	struct office *office = context;
	struct members_node *node =
	    &office->members.nodes[members_index(office->registry.members[member].id)];

	if (dies(office))
		return error_set(reterr, -EINTR, "died");
	if (!node->running || node->cut)
		return error_set(reterr, -ETIMEDOUT, "silent");
	ret_look->record = node->durable;
	ret_look->share_ucpu = iso_record_holdings(&node->durable);
	ret_look->floor_ucpu = node->floor_ucpu;
	ret_look->guarded = true;
	return 0;
}

static uint64_t world_now(void *context)
{
	return ((struct office *)context)->members.now * STEP_NS;
}

static void world_sleep(void *context, uint64_t ns)
{
	go_on(context, (uint32_t)(ns / STEP_NS));
}

static const struct drive_world world = {
	.write = world_write,
	.deliver = world_deliver,
	.look = world_look,
	.now_ns = world_now,
	.sleep = world_sleep,
};

/* The program starts anew: all it knows is the file. */
static void restart(struct office *office)
{
	iso_registry_init(&office->registry);
	for (uint32_t i = 0; i < office->entry_count; i++)
		ck_assert_ok(iso_registry_apply(&office->registry, &office->entries[i]));
	drive_init(&office->drive, &office->registry, &world, office);
}

static void found_member(struct office *office, uint32_t index)
{
	struct iso_registry_entry entry = {
		.kind = ISO_REGISTRY_MEMBER,
		.node = members_id(index),
		.gen = 1,
		.amount_ucpu = BUDGET / FOUNDERS,
		.floor_ucpu = 10,
		.flags = ISO_REGISTRY_GUARDED,
	};

	snprintf(entry.name, sizeof(entry.name), "n%u", index);
	entry.seq = office->entry_count + 1;
	office->entries[office->entry_count++] = entry;
}

static void found(struct office *office, uint64_t seed)
{
	memset(office, 0, sizeof(*office));
	members_init(&office->members, seed);
	office->crash_in = -1;
	for (uint32_t i = 0; i < MEMBERS_MAX; i++)
		members_add(&office->members, i, i < FOUNDERS ? 1 : 0,
			    i < FOUNDERS ? BUDGET / FOUNDERS : 0, BUDGET);
	office->entries[office->entry_count++] = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_CREATE,
		.seq = 1,
		.op = 1,
		.node = office->members.cluster,
		.amount_ucpu = BUDGET,
	};
	for (uint32_t i = 0; i < FOUNDERS; i++)
		found_member(office, i);
	for (uint32_t i = 0; i < FOUNDERS; i++) {
		uint32_t next = (i + 1) % FOUNDERS;

		members_edge(&office->members, i, next);
		office->entries[office->entry_count] = (struct iso_registry_entry){
			.kind = ISO_REGISTRY_EDGE,
			.seq = office->entry_count + 1,
			.node = members_id(i),
			.peer = members_id(next),
		};
		office->entry_count++;
	}
	office->entries[office->entry_count] = (struct iso_registry_entry){
		.kind = ISO_REGISTRY_READY,
		.seq = office->entry_count + 1,
	};
	office->entry_count++;
	restart(office);
	for (uint32_t i = 0; i < MEMBERS_MAX; i++)
		members_start(&office->members, i);
}

static uint32_t below(struct office *office, uint32_t limit)
{
	return (uint32_t)iso_rng_below(&office->members.rng, limit);
}

/* Sends it off, and whoever is to be buried with it, before anybody vouches for that. */
static void switch_off(struct office *office, uint64_t id)
{
	struct members_node *node = &office->members.nodes[members_index(id)];

	members_kill(&office->members, members_index(id));
	node->enforced_ucpu = 0;
	office->fenced[members_index(id)] = true;
}

/*
 * Its machine is there again.  Who vouched that it is off must not let it come back
 * with a journal of which everything, the floor included, was given away.
 */
static void switch_on(struct office *office, uint32_t index)
{
	uint32_t member = iso_registry_find(&office->registry, members_id(index));
	bool lives = member != ISO_REGISTRY_NOBODY &&
		     office->registry.members[member].state == ISO_REGISTRY_LIVE;

	if (lives && iso_registry_going(&office->registry, member))
		return;
	if (!lives)
		members_add(&office->members, index, 0, 0, BUDGET);
	office->members.nodes[index].cut = false;
	office->fenced[index] = false;
	members_start(&office->members, index);
}

typedef struct iso_registry_reason wish_fn(const struct iso_registry *registry,
					   const struct iso_registry_wish *wish,
					   struct iso_registry_entry *ret_entry);

static struct iso_registry_reason ask(struct office *office, wish_fn *fn,
				      const struct iso_registry_wish *wish)
{
	struct iso_registry_entry entry;
	struct iso_registry_reason reason = fn(&office->registry, wish, &entry);
	struct error error;

	if (reason.why == ISO_REGISTRY_FINE && drive_enter(&office->drive, &entry, &error) < 0) {
		ck_assert_int_eq(error.code, -EINTR);
		restart(office);
	}
	return reason;
}

static void ask_join(struct office *office, uint32_t index)
{
	struct members_node *node = &office->members.nodes[index];
	uint64_t list[3];
	char name[8];

	snprintf(name, sizeof(name), "n%u", index);
	for (uint32_t i = 0; i < 3; i++)
		list[i] = members_id(below(office, MEMBERS_MAX));
	struct iso_registry_wish wish = {
		.node = members_id(index),
		.name = name,
		.gen = node->durable.gen,
		.amount_ucpu = below(office, 2) == 0 ? 0 : 10 + below(office, 300),
		.floor_ucpu = node->floor_ucpu,
		.flags = below(office, 2) == 0 ? ISO_REGISTRY_ADDS : 0,
		.list_count = 1 + below(office, 3),
		.list = list,
	};
	/* It must have heard of its end, or be new, and it answers now. */
	if (!node->running || node->cut ||
	    (node->durable.gen != 0 && node->durable.halt == ISO_HALT_NONE))
		return;
	(void)ask(office, iso_registry_join, &wish);
}

static void ask_bury(struct office *office, uint32_t index)
{
	uint64_t other = members_id(below(office, MEMBERS_MAX));
	struct iso_registry_wish wish = {
		.node = members_id(index),
		.heir = below(office, 3) == 0 ? members_id(below(office, MEMBERS_MAX)) : 0,
		.list_count = below(office, 3) == 0 ? 1 : 0,
		.list = &other,
	};
	uint32_t fate = below(office, 3);

	/* Buried alive, cut off, or switched off. */
	if (fate == 1)
		office->members.nodes[index].cut = true;
	if (fate == 2) {
		wish.flags = ISO_REGISTRY_FENCED;
		struct iso_registry_entry entry;
		if (iso_registry_bury(&office->registry, &wish, &entry).why != ISO_REGISTRY_FINE)
			return;
		switch_off(office, wish.node);
		if (wish.list_count > 0)
			switch_off(office, other);
	} else {
		wish.list_count = 0;
	}
	(void)ask(office, iso_registry_bury, &wish);
}

static void ask_forget(struct office *office, uint32_t index)
{
	uint32_t member = iso_registry_find(&office->registry, members_id(index));
	struct iso_registry_wish wish = { .node = members_id(index), .flags = ISO_REGISTRY_FENCED };

	if (member == ISO_REGISTRY_NOBODY ||
	    (office->registry.members[member].state != ISO_REGISTRY_BURIED &&
	     office->registry.members[member].state != ISO_REGISTRY_LEFT) ||
	    iso_registry_procedure_of(&office->registry, member) != NULL)
		return;
	switch_off(office, wish.node);
	(void)ask(office, iso_registry_forget, &wish);
}

static void act(struct office *office)
{
	uint32_t index = below(office, MEMBERS_MAX);
	struct members_node *node = &office->members.nodes[index];
	struct iso_registry_wish wish = { .node = members_id(index) };

	switch (below(office, 12)) {
	case 0:
	case 1:
		wish.amount_ucpu = 500 + below(office, 8000);
		wish.heir = below(office, 3) == 0 ? members_id(index) : 0;
		(void)ask(office, iso_registry_budget, &wish);
		break;
	case 2:
	case 3:
	case 4: ask_join(office, index); break;
	case 5: (void)ask(office, iso_registry_undo, &wish); break;
	case 6:
		wish.flags = below(office, 2) == 0 ? ISO_REGISTRY_ON : 0;
		(void)ask(office, iso_registry_drain, &wish);
		break;
	case 7: (void)ask(office, iso_registry_leave, &wish); break;
	case 8:
	case 9: ask_bury(office, index); break;
	case 10: ask_forget(office, index); break;
	case 11:
		if (office->fenced[index])
			switch_on(office, index);
		else
			node->cut = !node->cut;
		break;
	default: break;
	}
}

static void drive_on(struct office *office, uint64_t steps)
{
	struct error error = { 0 };
	int r = drive_run(&office->drive, DRIVE_ALL, steps * STEP_NS, &error);

	if (r == -EINTR) {
		restart(office);
		return;
	}
	if (r < 0 && r != -ETIMEDOUT)
		ck_abort_msg("%s", error.text);
}

static void say_stuck(const struct office *office)
{
	const struct iso_registry *registry = &office->registry;

	for (uint32_t i = 0; i < registry->op_count; i++) {
		const struct iso_registry_op *op = &registry->ops[i];

		fprintf(stderr, "# op %" PRIu64 " kind %d at %s gen %u peer %s: %s\n", op->id,
			op->kind, registry->members[op->member].name, op->gen,
			op->peer != ISO_REGISTRY_NOBODY ? registry->members[op->peer].name : "-",
			office->drive.nodes[op->member].why);
	}
	for (uint32_t i = 0; i < registry->procedure_count; i++) {
		const struct iso_registry_procedure *p = &registry->procedures[i];

		fprintf(stderr,
			"# procedure %" PRIu64 " kind %d nodes %" PRIx64 " held %" PRId64
			" voided %d asked %d\n",
			p->id, p->kind, p->nodes.bits[0], p->held_ucpu, p->voided, p->asked);
	}
	for (uint32_t i = 0; i < registry->edge_count; i++) {
		const struct iso_registry_end *end = registry->edges[i].end;

		fprintf(stderr, "# edge %s.%u %d - %s.%u %d\n",
			registry->members[end[0].member].name, end[0].gen, end[0].state,
			registry->members[end[1].member].name, end[1].gen, end[1].state);
	}
	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *m = &registry->members[i];
		const struct members_node *node = &office->members.nodes[members_index(m->id)];

		fprintf(stderr,
			"# %s state %d gen %u seen %d room %" PRId64 " halt %d x %" PRId64
			" running %d flags %x\n",
			m->name, m->state, m->gen, m->seen, m->room_ucpu, node->durable.halt,
			iso_record_holdings(&node->durable), node->running, node->durable.flags);
	}
	fprintf(stderr, "# budget %" PRId64 " target %" PRId64 " pool %" PRId64 "\n",
		registry->budget_ucpu, registry->target_ucpu, registry->pool_ucpu);
}

/* Everybody lives again who should; whoever is void by now stays away. */
static void repair(struct office *office)
{
	office->members.faults = 0;
	office->crash_in = -1;
	for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
		struct members_node *node = &office->members.nodes[i];
		uint32_t member = iso_registry_find(&office->registry, members_id(i));
		bool lives = member != ISO_REGISTRY_NOBODY &&
			     office->registry.members[member].state == ISO_REGISTRY_LIVE;

		node->cut = false;
		if (lives && !node->running && !iso_registry_going(&office->registry, member))
			members_start(&office->members, i);
	}
}

static bool connected(const struct iso_registry *registry)
{
	uint64_t reached = 0, all = 0;
	bool more = true;

	for (uint32_t i = 0; i < registry->member_count; i++)
		if (registry->members[i].state == ISO_REGISTRY_LIVE) {
			all |= (uint64_t)1 << i;
			reached = reached != 0 ? reached : (uint64_t)1 << i;
		}
	while (more) {
		more = false;
		for (uint32_t a = 0; a < registry->member_count; a++)
			for (uint32_t b = 0; b < registry->member_count; b++)
				if ((reached >> a & 1) != 0 && (reached >> b & 1) == 0 &&
				    iso_registry_adjacent(registry, a, b)) {
					reached |= (uint64_t)1 << b;
					more = true;
				}
	}
	return reached == all;
}

/* Everything is done and nothing moves: each node's books are the registry's. */
static void check_end(struct office *office)
{
	const struct iso_registry *registry = &office->registry;
	int64_t sum = 0;

	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];
		const struct iso_record *record =
		    &office->members.nodes[members_index(member->id)].durable;

		sum += member->reserved_ucpu;
		if (member->state != ISO_REGISTRY_LIVE)
			continue;
		ck_assert_uint_eq(record->gen, member->gen);
		ck_assert_int_eq(record->halt, ISO_HALT_NONE);
		ck_assert_int_eq(record->endowment_ucpu, member->endowment_ucpu);
		ck_assert_int_eq(record->budget_ucpu, registry->budget_ucpu);
		sum += iso_record_holdings(record);
		for (uint32_t k = 0; k < record->edge_count; k++) {
			const struct iso_record_edge *edge = &record->edges[k];
			uint32_t peer = iso_registry_find(registry, edge->peer);

			if (edge->flags == 0)
				ck_assert(iso_registry_adjacent(registry, i, peer));
			/* In flight, seen from its donor. */
			const struct iso_record *other =
			    &office->members.nodes[members_index(edge->peer)].durable;
			for (uint32_t j = 0; j < other->edge_count && edge->flags == 0; j++)
				if (other->edges[j].peer == member->id)
					sum += (int64_t)(edge->sent - other->edges[j].received);
		}
	}
	ck_assert_int_eq(sum, registry->budget_ucpu);
	ck_assert(connected(registry));
}

static void run(uint64_t seed, struct office *office)
{
	found(office, seed);
	office->members.faults = (uint32_t)iso_rng_below(&office->members.rng, 30);
	for (uint32_t i = 0; i < 14; i++) {
		office->crash_in = below(office, 2) == 0 ? (int64_t)below(office, 60) : -1;
		struct error error;
		if (drive_look(&office->drive, &error) < 0)
			restart(office);
		act(office);
		drive_on(office, below(office, 150));
	}
	repair(office);
	for (uint32_t i = 0; i < 20 && !drive_done(&office->drive, DRIVE_ALL); i++) {
		repair(office);
		drive_on(office, 400);
	}
	/* The rest hears of the last budget. */
	for (uint32_t i = 0; i < 3; i++) {
		struct error error;
		ck_assert_int_eq(drive_look(&office->drive, &error), 0);
		drive_on(office, 400);
	}
	if (!drive_done(&office->drive, DRIVE_ALL)) {
		say_stuck(office);
		ck_abort_msg("not finished");
	}
	go_on(office, 50);
	check_end(office);
}

START_TEST(whatever_happens_the_sum_stays_within_the_budget)
{
	struct office *office = calloc(1, sizeof(*office));
	uint64_t ticks = 0, entries = 0, crashes = 0;
	int runs = test_runs(400);

	ck_assert_ptr_nonnull(office);
	for (int i = 0; i < runs; i++) {
		uint64_t seed = test_seed_base() + (uint64_t)i;

		printf("# seed %" PRIu64 "\n", seed);
		run(seed, office);
		ticks += office->members.ticks;
		entries += office->entry_count;
		crashes += office->crashes;
	}
	printf("# %d runs, %" PRIu64 " ticks, %" PRIu64 " entries, %" PRIu64 " crashes\n", runs,
	       ticks, entries, crashes);
	free(office);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("registry");
	TCase *tcase = tcase_create("registry");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, whatever_happens_the_sum_stays_within_the_budget);
	suite_add_tcase(suite, tcase);
	return suite;
}

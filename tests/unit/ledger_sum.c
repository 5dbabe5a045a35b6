/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Three nodes and an administrator do at random whatever their rules allow,
 * while messages are lost, repeated and late, kernels refuse to lower and
 * agents are killed; one account beside them says how much there must be.
 */
#include "config.h"

#include <string.h>

#include "lib/ledger/audit.h"
#include "lib/ledger/ledger.h"
#include "tests/test.h"

#define NODES	3u
#define FLOOR	10
#define SHARE	100
#define SENT	64u /* messages remembered in each direction; any of them may come again */
#define CEILING 250
/* As every node is told from the start: who is told what is not the subject here. */
#define BUDGET_MOST (10 * NODES * SHARE)

struct message {
	uint32_t source_gen, destination_gen;
	struct iso_ledger_news news;
};

struct node {
	uint64_t memory[128];
	struct iso_ledger *ledger;
	struct iso_record disk;
	int64_t enforced;
	struct iso_op op;		 /* to be repeated until it is answered */
	bool asked;			 /* the answer was late or lost, perhaps: ask again */
	bool dead;			 /* its generation is being buried, or was */
	int64_t burned;			 /* durably, and still in the budget */
	struct message box[NODES][SENT]; /* to it */
	uint32_t count[NODES];
};

struct world {
	struct iso_rng rng;
	struct node nodes[NODES];
	int64_t budget; /* promised to the outside */
	uint64_t op;	/* newest number */
	struct iso_audit_void voids[2];
	uint32_t void_count;
	int64_t minting; /* counted in the budget, not in an endowment */
	unsigned mints, burns, aborts, buried, rejoined, kills;
};

static uint64_t below(struct world *world, uint64_t n)
{
	return iso_rng_below(&world->rng, n);
}

static struct iso_ledger_config config_of(uint32_t i)
{
	return (struct iso_ledger_config){ .cluster = 7,
					   .node = i + 1,
					   .epoch = 1,
					   .budget_ucpu = BUDGET_MOST,
					   .floor_ucpu = FLOOR,
					   .edges_max = NODES };
}

/* I1, I2, I4 and I5 on what would be left if the power went now. */
static void check(const struct world *world)
{
	struct iso_audit_node snapshots[NODES];
	struct iso_audit_terms terms = { .budget_ucpu = world->budget,
					 .minting_ucpu = world->minting,
					 .voids = world->voids,
					 .void_count = world->void_count };
	struct iso_audit_result result;

	for (uint32_t i = 0; i < NODES; i++) {
		const struct node *node = &world->nodes[i];

		terms.burning_ucpu += node->burned;
		snapshots[i] = (struct iso_audit_node){
			.record = node->disk,
			.holdings_ucpu = iso_record_holdings(&node->disk),
			.enforced_ucpu = node->enforced,
			.floor_ucpu = FLOOR,
			.ceiling_ucpu = CEILING,
		};
	}
	iso_audit_run(snapshots, NODES, &terms, &result);
	ck_assert_msg(result.proven, "%s: node %u peer %u: %d against %d",
		      iso_audit_text(result.finding[0].check), (unsigned)result.finding[0].node,
		      (unsigned)result.finding[0].peer, (int)result.finding[0].found,
		      (int)result.finding[0].expected);
}

static void restart(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_ledger_config config = config_of(i);
	uint32_t index;

	ck_assert_ok(iso_ledger_init(node->memory, sizeof(node->memory), &config, &node->ledger));
	ck_assert_ok(iso_ledger_open(node->ledger, &node->disk));
	/* Those of the configuration, which counts until the first operation. */
	for (uint32_t k = 1; k < NODES; k++) {
		enum iso_status status =
		    iso_ledger_edge(node->ledger, (i + k) % NODES + 1, 1, &index);

		ck_assert(status == ISO_OK || node->disk.last_op != 0);
	}
	world->kills++;
}

/* One message on each edge that has not ended; it may come now, later, again or never. */
static void send(struct world *world, uint32_t i)
{
	const struct iso_ledger *ledger = world->nodes[i].ledger;

	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		const struct iso_ledger_edge *edge = &ledger->edges[k];
		struct node *peer = &world->nodes[edge->peer - 1];

		if (ledger->halt != ISO_HALT_NONE || !iso_ledger_edge_credits(ledger, k))
			continue;
		peer->box[i][peer->count[i]++ % SENT] = (struct message){
			.source_gen = ledger->gen,
			.destination_gen = edge->peer_gen,
			.news = { edge->sent, edge->received, 0, 0 },
		};
	}
}

/* Old and new ones, as the network likes. */
static void receive(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];

	for (uint32_t j = 0; j < NODES; j++) {
		uint32_t known = node->count[j] < SENT ? node->count[j] : SENT, index = 0;

		if (known == 0 || below(world, 3) == 0)
			continue;

		const struct message *message = &node->box[j][below(world, known)];
		struct iso_ledger *ledger = node->ledger;

		if (iso_ledger_find(ledger, j + 1, &index) != ISO_OK ||
		    message->destination_gen != ledger->gen ||
		    message->source_gen != ledger->edges[index].peer_gen)
			continue;
		enum iso_status status = iso_ledger_heard(ledger, index, &message->news);
		ck_assert_msg(status == ISO_OK || status == ISO_E_UNKNOWN || node->dead,
			      "node %u: %s", (unsigned)i + 1, iso_halt_text(ledger->halt));
	}
}

static void answered(struct world *world, struct node *node)
{
	const struct iso_op *op = &node->op;

	ck_assert_uint_eq(node->disk.last_op, op->id);
	if (op->kind == ISO_OP_BURN) {
		ck_assert_int_eq(node->burned, node->disk.last_op_ucpu);
		world->budget -= node->burned;
		node->burned = 0;
		world->burns++;
	}
	node->asked = false;
}

/* What this record does beyond the one before, for the account of the budget. */
static void count_record(struct world *world, struct node *node, const struct iso_record *record)
{
	bool is_new = record->last_op != node->disk.last_op;

	if (is_new && node->op.kind == ISO_OP_MINT) {
		ck_assert_int_eq(record->last_op_ucpu, node->op.amount_ucpu);
		world->minting -= node->op.amount_ucpu;
		world->mints++;
	}
	if (is_new && node->op.kind == ISO_OP_BURN)
		node->burned = record->last_op_ucpu;
}

static void debits(struct world *world, struct iso_ledger *ledger)
{
	for (uint32_t k = 0; k < ledger->edge_count; k++) {
		int64_t room = iso_ledger_room(ledger);

		if (room > 0 && iso_ledger_edge_open(ledger, k) && below(world, 3) == 0)
			iso_ledger_debit(ledger, k, 1 + (int64_t)below(world, (uint64_t)room));
	}
}

/* False: killed on the way. */
static bool write_record(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_record record;

	if (!iso_ledger_changed(node->ledger)) {
		iso_ledger_commit(node->ledger, node->disk.seq);
		return true;
	}
	iso_ledger_record(node->ledger, &record);
	if (below(world, 16) == 0) {
		/* Half of the times the record was durable, and nobody knew. */
		if (below(world, 2) == 0) {
			count_record(world, node, &record);
			node->disk = record;
		}
		return false;
	}
	count_record(world, node, &record);
	iso_ledger_commit(node->ledger, record.seq);
	node->disk = record;
	return true;
}

static void tick(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_ledger *ledger = node->ledger;
	enum iso_status status = ISO_E_UNKNOWN;
	int64_t moved;

	if (ledger->phase == ISO_LEDGER_IDLE)
		receive(world, i);
	iso_ledger_begin(ledger);
	if (node->asked) {
		status = iso_ledger_apply(ledger, &node->op, &moved);
		ck_assert_msg(status == ISO_OK || status == ISO_E_STALE || node->dead, "%s: %s",
			      iso_op_name(node->op.kind), iso_status_text(status));
	}
	debits(world, ledger);
	/* Without a lease no more than the floor is enforced. */
	iso_ledger_plan(ledger, node->dead ? FLOOR : CEILING, node->enforced);
	if (ledger->phase == ISO_LEDGER_LOWERING && below(world, 4) == 0) {
		bool is_burn = status == ISO_OK && node->op.kind == ISO_OP_BURN;

		(void)iso_ledger_abort(ledger);
		status = is_burn ? ISO_E_BUSY : status;
		world->aborts++;
	} else if (ledger->phase == ISO_LEDGER_LOWERING) {
		node->enforced = iso_ledger_limit(ledger);
		ck_assert_ok(iso_ledger_lowered(ledger, node->enforced));
		check(world);
	}
	if (!write_record(world, i)) {
		restart(world, i);
		check(world);
		return;
	}
	check(world);
	if (iso_ledger_target(ledger) > node->enforced)
		node->enforced = iso_ledger_target(ledger);
	if (node->asked && (status == ISO_OK || status == ISO_E_STALE) && below(world, 2) == 0)
		answered(world, node);
	check(world);
	send(world, i);
}

static void ask(struct world *world, uint32_t i, struct iso_op op)
{
	struct node *node = &world->nodes[i];

	ck_assert(!node->asked);
	op.id = ++world->op;
	op.gen = node->disk.gen;
	node->op = op;
	node->asked = true;
}

/* Until it is done; the other nodes go on meanwhile. */
static void ask_and_wait(struct world *world, uint32_t i, struct iso_op op)
{
	ask(world, i, op);
	for (int turn = 0; world->nodes[i].asked; turn++) {
		ck_assert_int_lt(turn, 10000);
		tick(world, (uint32_t)below(world, NODES));
	}
}

static void change_budget(struct world *world, uint32_t i)
{
	struct iso_op op = { .kind = below(world, 2) == 0 ? ISO_OP_MINT : ISO_OP_BURN,
			     .amount_ucpu = 1 + (int64_t)below(world, 40) };

	if (world->nodes[i].asked || world->nodes[i].dead)
		return;
	if (op.kind == ISO_OP_MINT) {
		/* The outside is told first. */
		world->budget += op.amount_ucpu;
		world->minting += op.amount_ucpu;
	}
	ask(world, i, op);
}

static const struct iso_record_edge *edge_of(const struct node *node, uint64_t peer)
{
	for (uint32_t k = 0; k < node->disk.edge_count; k++)
		if (node->disk.edges[k].peer == peer)
			return &node->disk.edges[k];
	ck_abort_msg("no edge to %u", (unsigned)peer);
}

static void wait_for_answers(struct world *world)
{
	for (uint32_t i = 0; i < NODES; i++)
		for (int turn = 0; world->nodes[i].asked; turn++) {
			ck_assert_int_lt(turn, 10000);
			tick(world, (uint32_t)below(world, NODES));
		}
}

/* Its lease has run out, so that it enforces its floor at most; it may be alive and not know. */
static void bury(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	int64_t estate = 0;

	wait_for_answers(world);
	node->dead = true;
	if (node->enforced > FLOOR)
		node->enforced = FLOOR;
	for (uint32_t k = 1; k < NODES; k++) {
		uint32_t j = (i + k) % NODES;
		const struct iso_record_edge *edge;

		ask(world, j,
		    (struct iso_op){
			.kind = ISO_OP_CLOSE, .peer = i + 1, .peer_gen = node->disk.gen });
		while (world->nodes[j].asked)
			tick(world, (i + 1 + (uint32_t)below(world, NODES - 1)) % NODES);
		edge = edge_of(&world->nodes[j], i + 1);
		estate += (int64_t)(edge->sent - edge->received);
	}
	estate += node->disk.endowment_ucpu - FLOOR;
	ck_assert_int_ge(estate, 0);
	world->voids[world->void_count++] = (struct iso_audit_void){ i + 1, node->disk.gen, FLOOR };
	world->minting += estate;
	check(world);
	if (estate > 0) {
		uint32_t heir = (i + 1 + (uint32_t)below(world, NODES - 1)) % NODES;

		ask_and_wait(world, heir,
			     (struct iso_op){ .kind = ISO_OP_MINT, .amount_ucpu = estate });
	}
	for (uint32_t k = 1; k < NODES; k++) {
		uint32_t j = (i + k) % NODES;
		const struct iso_record_edge *edge = edge_of(&world->nodes[j], i + 1);

		ask_and_wait(world, j,
			     (struct iso_op){ .kind = ISO_OP_FOLD,
					      .peer = i + 1,
					      .peer_gen = node->disk.gen,
					      .sent = edge->sent,
					      .received = edge->received });
	}
	world->buried++;
}

/* It hears of its burial, and comes back with the floor that was kept for it. */
static void rejoin(struct world *world, uint32_t i)
{
	struct node *node = &world->nodes[i];
	struct iso_ledger_config config = config_of(i);
	struct iso_ledger_peer peers[NODES - 1];
	struct iso_ledger_admission admission = { .id = ++world->op,
						  .gen = node->disk.gen + 1,
						  .endowment_ucpu = FLOOR,
						  .budget_ucpu = BUDGET_MOST,
						  .peers = peers,
						  .peer_count = NODES - 1 };

	for (uint32_t k = 1; k < NODES; k++)
		peers[k - 1] = (struct iso_ledger_peer){ (i + k) % NODES + 1,
							 world->nodes[(i + k) % NODES].disk.gen };
	/* Told again after each restart, until it is durable. */
	while (node->disk.halt == ISO_HALT_NONE) {
		if (node->ledger->phase == ISO_LEDGER_IDLE)
			iso_ledger_void(node->ledger);
		tick(world, i);
	}
	ck_assert_int_le(node->enforced, FLOOR);
	ck_assert_ok(iso_ledger_admit(&config, &node->disk, &admission, &node->disk));
	world->void_count--;
	node->dead = false;
	restart(world, i);
	check(world);
	for (uint32_t k = 1; k < NODES; k++)
		ask_and_wait(world, (i + k) % NODES,
			     (struct iso_op){
				 .kind = ISO_OP_OPEN, .peer = i + 1, .peer_gen = node->disk.gen });
	world->rejoined++;
}

static void make(struct world *world, uint64_t seed)
{
	memset(world, 0, sizeof(*world));
	world->rng = (struct iso_rng){ seed };
	world->budget = NODES * SHARE;
	for (uint32_t i = 0; i < NODES; i++) {
		struct iso_ledger_config config = config_of(i);

		ck_assert_ok(iso_ledger_genesis(&config, 1, SHARE, &world->nodes[i].disk));
		restart(world, i);
	}
	check(world);
}

START_TEST(the_sum_is_what_the_administrator_promised)
{
	static struct world world;
	unsigned done[6] = { 0 };

	for (int run = 0; run < test_runs(60); run++) {
		make(&world, test_seed_base() + (uint64_t)run);
		for (int step = 0; step < 400; step++) {
			tick(&world, (uint32_t)below(&world, NODES));
			if (below(&world, 20) == 0)
				change_budget(&world, (uint32_t)below(&world, NODES));
			if (below(&world, 100) == 0) {
				uint32_t i = (uint32_t)below(&world, NODES);

				bury(&world, i);
				rejoin(&world, i);
			}
		}
		done[0] += world.mints;
		done[1] += world.burns;
		done[2] += world.aborts;
		done[3] += world.buried;
		done[4] += world.rejoined;
		done[5] += world.kills;
	}
	/* It did happen, all of it. */
	for (unsigned k = 0; k < 6; k++)
		ck_assert_msg(done[k] > (unsigned)test_runs(60), "%u: %u times", k, done[k]);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ledger-sum");
	TCase *tcase = tcase_create("property");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, the_sum_is_what_the_administrator_promised);
	suite_add_tcase(suite, tcase);
	return suite;
}

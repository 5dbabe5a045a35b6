/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a node of real agents comes and goes, in order and not: admissions, a drain,
 * leaving, and an edge whose lease has run out.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/node/peers.h"
#include "tests/system/members.h"
#include "tests/test.h"

#define BUDGET_UCPU 200000
#define TIMEOUT_S   180

static struct members members;

/* a and b with an edge, trading. */
static void open_pair(void)
{
	members_open(&members, BUDGET_UCPU);
	members_start_pair(&members, BUDGET_UCPU / 2);
	members_connect(&members, 0, 1);
}

/* What a newcomer starts with comes from a: the budget stays. */
static json_t *admission(unsigned index, uint32_t gen, int64_t endowment_ucpu)
{
	static struct opjson_admission from;

	memset(&from, 0, sizeof(from));
	from.id = ++members.last_op;
	from.gen = gen;
	from.endowment_ucpu = endowment_ucpu;
	from.budget_ucpu = BUDGET_UCPU;
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct opjson_neighbour *neighbour = &from.neighbours[from.neighbour_count];

		if (i == index)
			continue;
		snprintf(neighbour->name, sizeof(neighbour->name), "%s", members.of[i].name);
		neighbour->gen = members_generation(&members, i);
		snprintf(neighbour->address, sizeof(neighbour->address), "%s",
			 members.of[i].address);
		memcpy(neighbour->public_key, members.of[i].keys.public_key,
		       sizeof(neighbour->public_key));
		from.neighbour_count++;
	}
	return opjson_admission_write(&from);
}

static void admit(unsigned index, uint32_t gen)
{
	struct opjson_op burn = members_op(&members, 0, ISO_OP_BURN);
	int64_t burnt_ucpu;
	struct opjson_answer answer;
	struct error error;

	burn.op.amount_ucpu = 2 * MEMBERS_FLOOR_UCPU;
	members_apply(&members, 0, &burn, &burnt_ucpu);
	ck_assert_int_eq(burnt_ucpu, 2 * MEMBERS_FLOOR_UCPU);
	json_t *request = admission(index, gen, burnt_ucpu);
	for (int i = 0; i < 2; i++) {
		/* Once more, as after an answer that was lost. */
		json_t *reply = members_ask(&members, index, request);

		ck_assert_ptr_nonnull(reply);
		ck_assert_int_eq(opjson_answer_read(reply, &answer, &error), 0);
		ck_assert_msg(answer.outcome == OPJSON_APPLIED, "%s", answer.error);
		json_decref(reply);
	}
	json_decref(request);
	for (unsigned i = 0; i < 2; i++) {
		struct opjson_op open = members_op_on(&members, i, ISO_OP_OPEN, index);

		members_apply(&members, i, &open, NULL);
	}
	ck_assert_int_eq(members_sum_ucpu(&members), BUDGET_UCPU);
}

static void fold_all(unsigned index)
{
	struct iso_record record;

	for (unsigned i = 0; i < 2; i++) {
		struct opjson_op fold = members_op_on(&members, i, ISO_OP_FOLD, index);

		members_record(&members, i, &record);
		for (uint32_t k = 0; k < record.edge_count; k++)
			if (record.edges[k].peer == conf_node_id(MEMBERS_CLUSTER, fold.peer)) {
				fold.op.sent = record.edges[k].sent;
				fold.op.received = record.edges[k].received;
			}
		members_apply(&members, i, &fold, NULL);
	}
}

static int64_t worker_pid(unsigned index)
{
	json_t *status = members_command(&members, index, "status");
	const json_t *worker = json_object_get(status, "worker");

	ck_assert(json_is_object(worker));
	int64_t pid = json_integer_value(json_object_get(worker, "pid"));
	json_decref(status);
	return pid;
}

START_TEST(a_node_joins_trades_leaves_and_comes_back)
{
	struct iso_record record;

	open_pair();
	members.trains = true;
	members_make(&members, 2, 0);
	members_start(&members, 2, NULL);
	members_wait_state(&members, 2, "waiting for admission", "it has no share yet");
	ck_assert_int_eq(worker_pid(2), 0);
	ck_assert_int_eq(members_number(&members, 2, "share_ucpu"), 0);
	ck_assert_int_eq(members_quota_ucpu(&members, 2), MEMBERS_FLOOR_UCPU);
	members_wait_log(&members, 2, "waiting for admission", 1);
	members_burn(&members, 2, true);
	members_wait_state(&members, 2, "waiting for admission", "its group is not empty");

	admit(2, 1);
	members_wait_number(&members, 2, "share_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);
	members_wait_log(&members, 2, "admitted as generation 1", 1);

	ck_assert_int_gt(worker_pid(2), 0);

	/* It does not leave while its job runs; then it gives everything away. */
	struct opjson_op leave = members_op(&members, 2, ISO_OP_LEAVE);
	members_apply(&members, 2, &leave, NULL);
	members_wait_state(&members, 2, "leaving", "is not empty");
	stage_pause_ms(500);
	ck_assert_int_gt(members_number(&members, 2, "share_ucpu"), BUDGET_UCPU / 2);
	ck_assert_int_eq(worker_pid(2), 0);
	members_burn(&members, 2, false);
	members_wait_state(&members, 2, "left", "isobarctl join");
	ck_assert_int_eq(members_number(&members, 2, "share_ucpu"), 0);
	members_record(&members, 2, &record);
	ck_assert_int_eq(record.halt, ISO_HALT_LEFT);
	fold_all(2);
	ck_assert_int_eq(members_sum_ucpu(&members), BUDGET_UCPU);

	/* A restart does not forget it; a new generation begins anew. */
	members_stop(&members, 2, SIGKILL);
	members_start(&members, 2, NULL);
	members_wait_state(&members, 2, "left", NULL);
	members_burn(&members, 2, true);
	admit(2, 2);
	members_wait_number(&members, 2, "share_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);
	members_close(&members);
}
END_TEST

START_TEST(an_admission_is_made_once_wherever_the_agent_is_killed)
{
	static const char *const steps[] = { "neighbours written:1", "neighbours written:2",
					     "admitting", "admitted", "recorded:2" };
	struct opjson_answer answer;
	struct error error;

	open_pair();
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		char path[DEMO_PATH_BYTES];
		json_t *reply = NULL;

		members_make(&members, 2, 0);
		members_start(&members, 2, steps[i]);
		ck_assert(members_wait(&members, 2));
		json_t *request = admission(2, i + 1, 2 * MEMBERS_FLOOR_UCPU);
		while (reply == NULL) {
			reply = members_ask(&members, 2, request);
			if (reply == NULL && members_ended(&members, 2))
				members_start(&members, 2, NULL);
		}
		ck_assert_int_eq(opjson_answer_read(reply, &answer, &error), 0);
		ck_assert_msg(answer.outcome == OPJSON_APPLIED, "%s", answer.error);
		json_decref(reply);
		json_decref(request);
		ck_assert_uint_eq(members_generation(&members, 2), i + 1);
		ck_assert_int_eq(members_number(&members, 2, "share_ucpu"),
				 2 * MEMBERS_FLOOR_UCPU);
		members_stop(&members, 2, SIGKILL);
		path_join(path, members.of[2].directory, "journal");
		ck_assert_int_eq(unlink(path), 0);
		path_join(path, members.of[2].directory, PEERS_NAME);
		ck_assert_int_eq(unlink(path), 0);
	}
	members_close(&members);
}
END_TEST

/*
 * b hangs: a enforces its floor when the lease has run out, though nobody asked
 * it to, and b can be closed when its own must have.  When b wakes, it learns
 * that it was buried.
 */
START_TEST(a_lease_runs_out_and_the_edge_can_be_closed)
{
	struct opjson_op close;

	members_open(&members, BUDGET_UCPU);
	members.lease = "1s";
	members_start_pair(&members, BUDGET_UCPU / 2);
	/* Without an edge nobody could bury it: no lease is needed. */
	members_wait_number(&members, 0, "enforced_ucpu", BUDGET_UCPU / 2, BUDGET_UCPU / 2);
	members_connect(&members, 0, 1);
	members_burn(&members, 0, true);
	members_wait_number(&members, 0, "enforced_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);

	/* A start that comes before the lease ends goes on with it. */
	members_stop(&members, 0, SIGKILL);
	ck_assert_int_gt(members_quota_ucpu(&members, 0), BUDGET_UCPU / 2);
	members_start_well(&members, 0);
	members_wait_number(&members, 0, "enforced_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);

	int64_t share_ucpu = members_number(&members, 0, "share_ucpu");
	ck_assert_int_eq(kill(members.of[1].agent.pid, SIGSTOP), 0);
	close = members_op_on(&members, 0, ISO_OP_CLOSE, 1);
	ck_assert_ptr_nonnull(strstr(members_refused(&members, 0, close),
				     "busy: b may have a lease for another "));
	members_wait_number(&members, 0, "enforced_ucpu", MEMBERS_FLOOR_UCPU, MEMBERS_FLOOR_UCPU);
	ck_assert_int_ge(members_number(&members, 0, "share_ucpu"), share_ucpu);
	/* The guard of b lowers, since its agent cannot. */
	for (int i = 0; i < 200 && members_quota_ucpu(&members, 1) > MEMBERS_FLOOR_UCPU; i++)
		stage_pause_ms(50);
	ck_assert_int_eq(members_quota_ucpu(&members, 1), MEMBERS_FLOOR_UCPU);
	members_wait_state(&members, 0, "isolated", "no neighbour answers");
	members_apply(&members, 0, &close, NULL);
	/* Nobody is left who could bury it in turn. */
	members_wait_number(&members, 0, "enforced_ucpu", BUDGET_UCPU / 2, BUDGET_UCPU);
	ck_assert_int_eq(kill(members.of[1].agent.pid, SIGCONT), 0);
	members_wait_state(&members, 1, "buried", "isobarctl join");
	members_wait_number(&members, 1, "enforced_ucpu", 0, MEMBERS_FLOOR_UCPU);
	members_wait_log(&members, 1, "generation 1 was buried", 1);
	members_close(&members);
}
END_TEST

START_TEST(a_node_drains_to_its_floor_and_comes_back)
{
	struct opjson_op drain;

	open_pair();
	members_burn(&members, 0, true);
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);
	drain = members_op(&members, 0, ISO_OP_DRAIN);
	drain.op.on = true;
	members_apply(&members, 0, &drain, NULL);
	members_wait_state(&members, 0, "draining", "above the floor");
	members_wait_number(&members, 0, "share_ucpu", MEMBERS_FLOOR_UCPU, MEMBERS_FLOOR_UCPU);
	/* A restart does not forget it. */
	members_stop(&members, 0, SIGKILL);
	members_start(&members, 0, NULL);
	members_wait_state(&members, 0, "draining", NULL);
	stage_pause_ms(500);
	ck_assert_int_eq(members_number(&members, 0, "share_ucpu"), MEMBERS_FLOOR_UCPU);
	drain = members_op(&members, 0, ISO_OP_DRAIN);
	members_apply(&members, 0, &drain, NULL);
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU * 7 / 10, BUDGET_UCPU);
	members_wait_log(&members, 0, "trades with a share of", 1);
	members_close(&members);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("life");

	stage_suite_add(suite, "leases", TIMEOUT_S, a_lease_runs_out_and_the_edge_can_be_closed);
	stage_suite_add(suite, "drain", TIMEOUT_S, a_node_drains_to_its_floor_and_comes_back);
	stage_suite_add(suite, "life", TIMEOUT_S, a_node_joins_trades_leaves_and_comes_back);
	stage_suite_add(suite, "admissions", TIMEOUT_S,
			an_admission_is_made_once_wherever_the_agent_is_killed);
	return suite;
}

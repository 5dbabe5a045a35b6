/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Administrator's operations at real agents: what they do, and that each is done
 * once wherever the agent is killed.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/node/peers.h"
#include "tests/system/members.h"
#include "tests/test.h"

#define BUDGET_UCPU 200000
#define TIMEOUT_S   180

static struct members members;

static void mint(unsigned index, int64_t amount_ucpu)
{
	struct opjson_op op = members_op(&members, index, ISO_OP_MINT);
	int64_t moved_ucpu;

	op.op.amount_ucpu = amount_ucpu;
	members_apply(&members, index, &op, &moved_ucpu);
	ck_assert_int_eq(moved_ucpu, amount_ucpu);
}

static void is_refused(struct opjson_op op, const char *expected)
{
	ck_assert_str_eq(members_refused(&members, 0, op), expected);
}

START_TEST(operations_change_the_share_and_are_answered_once_done)
{
	struct iso_record record;
	int64_t moved_ucpu;

	members_open(&members, BUDGET_UCPU);
	members_make(&members, 0, 50000);
	members_start_well(&members, 0);
	members_burn(&members, 0, true);

	struct opjson_op op = members_op(&members, 0, ISO_OP_MINT);
	op.op.amount_ucpu = 30000;
	op.op.budget_ucpu = BUDGET_UCPU + 30000;
	members_apply(&members, 0, &op, &moved_ucpu);
	ck_assert_int_eq(moved_ucpu, 30000);
	members_record(&members, 0, &record);
	ck_assert_int_eq(record.endowment_ucpu, 80000);
	ck_assert_int_eq(record.budget_ucpu, BUDGET_UCPU + 30000);
	ck_assert_uint_eq(record.last_op, op.op.id);
	members_wait_number(&members, 0, "enforced_ucpu", 80000, 80000);
	ck_assert_int_eq(members_number(&members, 0, "budget_ucpu"), BUDGET_UCPU + 30000);
	members_wait_number(&members, 0, "ceiling_ucpu", BUDGET_UCPU + 30000,
			    BUDGET_UCPU + 30000);

	/* The same again, as after an answer that was lost. */
	members_apply(&members, 0, &op, &moved_ucpu);
	ck_assert_int_eq(moved_ucpu, 30000);
	ck_assert_int_eq(members_number(&members, 0, "share_ucpu"), 80000);

	/* A burn keeps the floor and says how much it took; then the quota is lower already. */
	struct opjson_op burn = members_op(&members, 0, ISO_OP_BURN);
	burn.op.amount_ucpu = 1000000;
	members_apply(&members, 0, &burn, &moved_ucpu);
	ck_assert_int_eq(moved_ucpu, 80000 - MEMBERS_FLOOR_UCPU);
	ck_assert_int_eq(members_quota_ucpu(&members, 0), MEMBERS_FLOOR_UCPU);
	members_apply(&members, 0, &burn, &moved_ucpu);
	ck_assert_int_eq(moved_ucpu, 80000 - MEMBERS_FLOOR_UCPU);

	/* Too late, and for whom it is not. */
	is_refused(op, "stale: operation 1 is older than the newest that was applied, 2");
	burn = members_op(&members, 0, ISO_OP_BURN);
	burn.op.amount_ucpu = 1;
	burn.op.gen = 7;
	is_refused(burn, "this node is of generation 1, not 7");
	members_wait_log(&members, 0,
			 "operation 1 (mint 0.0300 CPU) of administrator alice: applied", 1);
	members_close(&members);
}
END_TEST

START_TEST(what_cannot_be_done_is_refused_with_the_reason)
{
	members_open(&members, BUDGET_UCPU);
	members_make(&members, 0, 50000);
	members_make(&members, 1, 50000);
	members_start_well(&members, 0);

	is_refused(members_op_on(&members, 0, ISO_OP_CLOSE, 1),
		   "there is no edge to generation 1 of b");
	is_refused(members_op_on(&members, 0, ISO_OP_FOLD, 1),
		   "there is no edge to generation 1 of b");
	struct opjson_op open = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	members_apply(&members, 0, &open, NULL);
	is_refused(members_op_on(&members, 0, ISO_OP_FOLD, 1),
		   "busy: the edge to b is not settled yet, or not closed");
	is_refused(members_op_on(&members, 0, ISO_OP_CLOSE, 1),
		   "there are no leases (trading.lease), so only a declared death closes the edge "
		   "to b");
	open = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	open.op.peer_gen = 2;
	is_refused(open, "an edge to another generation of b is there, or generation 2 has ended");
	open = members_op_on(&members, 0, ISO_OP_OPEN, 0);
	is_refused(open, "neighbour a: that is this node itself");
	open = members_op_on(&members, 0, ISO_OP_OPEN, 2);
	memcpy(open.public_key, members.of[1].keys.public_key, sizeof(open.public_key));
	open.op.peer_gen = 1;
	is_refused(open, "neighbour c has the key of b");

	/* A declared death needs no waiting; what is folded must be what was certified. */
	struct opjson_op close = members_op_on(&members, 0, ISO_OP_CLOSE, 1);
	close.op.on = true;
	members_apply(&members, 0, &close, NULL);
	struct opjson_op fold = members_op_on(&members, 0, ISO_OP_FOLD, 1);
	fold.op.sent = 1;
	is_refused(fold, "what went over the edge to b is not what was certified");
	fold = members_op_on(&members, 0, ISO_OP_FOLD, 1);
	members_apply(&members, 0, &fold, NULL);
	open = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	is_refused(open, "an edge to another generation of b is there, or generation 1 has ended");
	members_close(&members);
}
END_TEST

/* Minting goes on while the agent is killed at each step of its ticks, and once at each op. */
static void crash_at(const char *step, unsigned nth)
{
	char crash[64];
	int64_t before_ucpu = members_sum_ucpu(&members), minted_ucpu = 0;

	snprintf(crash, sizeof(crash), "%s:%u", step, nth);
	members_start(&members, 0, crash);
	(void)members_wait(&members, 0);
	for (int i = 1; i <= 4; i++) {
		mint(0, 100 * i);
		minted_ucpu += 100 * i;
	}
	struct opjson_op burn = members_op(&members, 0, ISO_OP_BURN);
	int64_t burnt_ucpu;
	burn.op.amount_ucpu = 150;
	members_apply(&members, 0, &burn, &burnt_ucpu);
	ck_assert_int_eq(burnt_ucpu, 150);
	ck_assert_int_eq(members_sum_ucpu(&members), before_ucpu + minted_ucpu - burnt_ucpu);
	members_stop(&members, 0, SIGKILL);
}

START_TEST(an_operation_is_applied_once_wherever_the_agent_is_killed)
{
	static const char *const steps[] = { "begin",	  "lowered", "recorded", "durable",
					     "committed", "answered", "raised",	 "sent" };

	members_open(&members, BUDGET_UCPU);
	members_make(&members, 0, 50000);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (unsigned nth = 2; nth <= 6; nth += 2)
			crash_at(steps[i], nth);
	members_close(&members);
}
END_TEST

/* The disk fails under an operation: no answer, and after the next start it is done once. */
START_TEST(an_operation_under_which_the_disk_fails_is_applied_once)
{
	static const char *const disks[] = { "fdatasync:4:EIO", "fdatasync:4:lost",
					     "pwrite:4:EIO", "pwrite:4:short" };

	members_open(&members, BUDGET_UCPU);
	members_make(&members, 0, 50000);
	for (unsigned i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		members.disk = disks[i];
		members_start(&members, 0, NULL);
		members.disk = NULL;
		ck_assert(members_wait(&members, 0));
		for (int k = 0; k < 4; k++)
			mint(0, 100);
		ck_assert_int_eq(members_sum_ucpu(&members), 50000 + 400 * (int64_t)(i + 1));
		members_wait_log(&members, 0, "cannot go on", i + 1);
		members_stop(&members, 0, SIGKILL);
	}
	members_close(&members);
}
END_TEST

/* While there is no room for it it is put off, and nothing of it remains; then it is done once. */
static void put_off(const char *disk, int64_t sum_ucpu)
{
	char file[DEMO_PATH_BYTES];

	path_join(file, members.directory, "full");
	members.disk = disk;
	members.disk_while = file;
	members_start_well(&members, 0);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));

	struct opjson_op op = members_op(&members, 0, ISO_OP_MINT);
	op.op.amount_ucpu = 100;
	const char *why = members_refused(&members, 0, op);
	ck_assert_msg(strncmp(why, "busy: ", 6) == 0, "%s: %s", disk, why);
	ck_assert_ptr_nonnull(strstr(why, "No space left on device"));
	ck_assert_int_eq(members_sum_ucpu(&members), sum_ucpu);
	ck_assert_int_eq(unlink(file), 0);
	mint(0, 100);
	ck_assert_int_eq(members_sum_ucpu(&members), sum_ucpu + 100);
	members_stop(&members, 0, SIGKILL);
}

START_TEST(an_operation_waits_for_a_disk_that_is_full)
{
	members_open(&members, BUDGET_UCPU);
	members_make(&members, 0, 50000);
	put_off("pwrite:1:ENOSPC", 50000);
	/* Which only the end of the write says. */
	put_off("fdatasync:1:ENOSPC", 50100);
	members_close(&members);
}
END_TEST

/* Where b is reached is durable before the edge is, or neither. */
static void open_with_crashes(void)
{
	static const char *const steps[] = { "neighbours written:1", "recorded:3", "durable:3",
					     "answered:1" };
	struct opjson_op open = members_op_on(&members, 1, ISO_OP_OPEN, 0);

	members_apply(&members, 1, &open, NULL);
	open = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		members_stop(&members, 0, SIGKILL);
		members_start(&members, 0, steps[i]);
		(void)members_wait(&members, 0);
		members_apply(&members, 0, &open, NULL);
	}
}

START_TEST(an_edge_that_is_opened_at_run_time_makes_two_agents_trade)
{
	members_open(&members, BUDGET_UCPU);
	members_start_pair(&members, BUDGET_UCPU / 2);
	members_burn(&members, 0, true);
	open_with_crashes();
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU * 8 / 10, BUDGET_UCPU);

	/* Both know each other after a restart, and the shares follow the work. */
	for (unsigned i = 0; i < 2; i++) {
		members_stop(&members, i, SIGKILL);
		members_start_well(&members, i);
	}
	members_burn(&members, 0, false);
	members_burn(&members, 1, true);
	members_wait_number(&members, 1, "share_ucpu", BUDGET_UCPU * 8 / 10, BUDGET_UCPU);

	/* One forgets where the other is: it says so, keeps its share, and is told again. */
	char path[DEMO_PATH_BYTES];
	struct error error;
	members_stop(&members, 0, SIGTERM);
	path_join(path, members.of[0].directory, PEERS_NAME);
	ck_assert_int_eq(file_put(path, "{ damaged", &error), 0);
	int64_t sum_ucpu = members_sum_ucpu(&members);
	members_start_well(&members, 0);
	members_wait_log(&members, 0, "is not reached until an administrator", 1);
	members_burn(&members, 1, false);
	members_burn(&members, 0, true);
	stage_pause_ms(1000);
	ck_assert_int_lt(members_number(&members, 0, "share_ucpu"), BUDGET_UCPU / 2);
	struct opjson_op again = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	members_apply(&members, 0, &again, NULL);
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU * 8 / 10, BUDGET_UCPU);
	ck_assert_int_eq(members_sum_ucpu(&members), sum_ucpu);
	members_close(&members);
}
END_TEST

/* Edits the section trading of a's configuration, and has it read. */
static void reload_with(const char *from, const char *to)
{
	char command[4 * DEMO_PATH_BYTES];

	snprintf(command, sizeof(command), "sed -i 's/%s/%s/' %s/conf", from, to,
		 members.of[0].directory);
	ck_assert_int_eq(system(command), 0);
	json_t *reply = members_command(&members, 0, "reload");
	ck_assert_str_eq(json_string_value(json_object_get(reply, "taken")), "trading.limit");
	json_decref(reply);
}

START_TEST(without_a_limit_nobody_is_traded_with_who_comes_later)
{
	struct opjson_op open;

	members_open(&members, BUDGET_UCPU);
	members.limit = "";
	for (unsigned i = 0; i < 2; i++) {
		members_make(&members, i, BUDGET_UCPU / 2);
		members_start_well(&members, i);
		members.limit = NULL;
	}
	open = members_op_on(&members, 0, ISO_OP_OPEN, 1);
	is_refused(open, "neighbour b: trading.limit is not set: how far would it be trusted?");
	reload_with("lease-slack = 500ms", "& limit = 0.01cpu");
	members_connect(&members, 0, 1);
	members_burn(&members, 0, true);
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU / 2 + 10000,
			    BUDGET_UCPU / 2 + 10000);

	/* One that goes: the edge stays, and only what came goes back. */
	reload_with(" limit = 0.01cpu", "");
	members_wait_log(&members, 0, "neighbour b: no limit is configured", 1);
	members_burn(&members, 0, false);
	members_burn(&members, 1, true);
	members_wait_number(&members, 0, "share_ucpu", BUDGET_UCPU / 2, BUDGET_UCPU / 2);
	stage_pause_ms(10 * MEMBERS_TICK_MS);
	ck_assert_int_eq(members_number(&members, 0, "share_ucpu"), BUDGET_UCPU / 2);
	members_close(&members);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("ops");

	stage_suite_add(suite, "operations", TIMEOUT_S,
			operations_change_the_share_and_are_answered_once_done);
	stage_suite_add(suite, "refusals", TIMEOUT_S,
			what_cannot_be_done_is_refused_with_the_reason);
	stage_suite_add(suite, "crashes", TIMEOUT_S,
			an_operation_is_applied_once_wherever_the_agent_is_killed);
	stage_suite_add(suite, "disks", TIMEOUT_S,
			an_operation_under_which_the_disk_fails_is_applied_once);
	stage_suite_add(suite, "disks", TIMEOUT_S, an_operation_waits_for_a_disk_that_is_full);
	stage_suite_add(suite, "edges", TIMEOUT_S,
			an_edge_that_is_opened_at_run_time_makes_two_agents_trade);
	stage_suite_add(suite, "limits", TIMEOUT_S,
			without_a_limit_nobody_is_traded_with_who_comes_later);
	return suite;
}

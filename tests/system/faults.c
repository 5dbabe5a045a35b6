/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One fault at a time in a ring of real agents: the network parts, an agent is
 * started twice, the disk fails, the journal is an old copy.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/system/ring.h"
#include "tests/test.h"

#define MS_NS	  1000000u
#define HALF_UCPU (RING_BUDGET_UCPU / 2)
#define TIMEOUT_S 300

static void proxy_halves(struct ring *ring, enum proxy_mode mode)
{
	/* Nodes 0 and 1 on one side, 2 to 4 on the other. */
	const unsigned lines[] = { RING_LINE_RIGHT(1), RING_LINE_LEFT(2), RING_LINE_LEFT(0),
				   RING_LINE_RIGHT(4) };

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 2; k++)
			ring->proxy->lines[lines[i]].mode[k] = mode;
}

/* What nodes 0 and 1 own together, with what is under way between them. */
static int64_t half_ucpu(const struct ring *ring)
{
	const struct ring_node *nodes = ring->nodes;

	return 2 * RING_BUDGET_UCPU / (int64_t)RING_NODES +
	       ring_net_ucpu(ring, 0, nodes[4].id) + ring_net_ucpu(ring, 1, nodes[2].id);
}

/* Everybody keeps the floor; of the rest one busy node among them gets most. */
static int64_t most_of(int64_t sum_ucpu, unsigned nodes)
{
	int64_t floors = (int64_t)nodes * RING_FLOOR_UCPU;

	return RING_FLOOR_UCPU + (sum_ucpu - floors) * 6 / 10;
}

/* Each half trades within itself, by what it has; nothing gets across until it heals. */
static void partition(struct ring *ring, enum proxy_mode mode, unsigned busy)
{
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_burn(ring, i, i == 3);
	ring_wait_share(ring, 3, RING_BUDGET_UCPU * 4 / 10, RING_BUDGET_UCPU);
	proxy_halves(ring, mode);
	for (unsigned i = 0; i < RING_NODES; i++)
		while (ring_up(ring, i) != (i == 3 ? 2 : 1))
			stage_pause_ms(50);
	int64_t half = half_ucpu(ring);
	ring_burn(ring, 3, false);
	ring_burn(ring, busy, true);
	ring_wait_share(ring, busy, most_of(half, 2), half);
	ck_assert_int_eq(half_ucpu(ring), half);
	ring_audit(ring);
	proxy_calm(ring->proxy);
	ring_prove(ring, busy);
}

START_TEST(partitions_trade_within_and_join_again)
{
	static struct ring ring;

	ring_open(&ring, true);
	ring_start_all(&ring);
	partition(&ring, PROXY_SWALLOW, 0);
	partition(&ring, PROXY_HOLD, 1);
	ring_close(&ring);
}
END_TEST

/* Runs isobard beside the one that runs; its exit status. */
static int start_second(const struct ring *ring, const char *conf, const char *expected)
{
	const char *builddir = getenv("top_builddir");
	char command[3 * DEMO_PATH_BYTES], said[1024] = "";

	snprintf(command, sizeof(command), "%s/agent/isobard -f %s/%s 2>&1",
		 builddir != NULL ? builddir : ".", ring->nodes[0].directory, conf);
	FILE *pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	size_t size = fread(said, 1, sizeof(said) - 1, pipe);
	said[size] = '\0';
	int status = pclose(pipe);
	ck_assert_msg(strstr(said, expected) != NULL, "it said: %s", said);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same node, told to have its run directory elsewhere: only the journal is in the way. */
static void write_second_conf(const struct ring *ring)
{
	char command[4 * DEMO_PATH_BYTES];
	const char *directory = ring->nodes[0].directory;

	snprintf(command, sizeof(command), "sed 's,^run-directory.*,run-directory = %s/run2,' "
		 "%s/conf >%s/conf2", directory, directory, directory);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_second_agent_is_refused_and_the_first_unharmed)
{
	static struct ring memory;
	struct ring *ring = &memory;

	ring_open(ring, false);
	ring_start_all(ring);
	ring_burn(ring, 0, true);
	write_second_conf(ring);
	for (unsigned i = 0; i < 3; i++) {
		int64_t ticks = ring_number(ring, 0, "ticks");

		ck_assert_int_eq(start_second(ring, "conf", "one instance at a time"), 1);
		ck_assert_int_eq(start_second(ring, "conf2", "in use by another isobard"), 1);
		ring_wait_number(ring, 0, "ticks", ticks + 2, INT64_MAX);
	}
	ck_assert_int_eq(ring_number(ring, 0, "incarnation"), 1);
	ring_wait_share(ring, 0, HALF_UCPU, RING_BUDGET_UCPU);
	ring_audit(ring);

	/* When the first has gone, whatever way, the journal is free. */
	ring_kill(ring, 0, SIGKILL);
	ring_start(ring, 0, &(struct ring_start){ .conf = "conf2" });
	stage_pause_ms(500);
	ck_assert_int_eq(start_second(ring, "conf", "in use by another isobard"), 1);
	ring_kill(ring, 0, SIGTERM);
	ring_start_and_wait(ring, 0);
	ck_assert_int_eq(ring_number(ring, 0, "incarnation"), 3);
	ring_wait_all_up(ring);
	ring_audit(ring);
	ring_close(ring);
}
END_TEST

/* It must end by itself, with status 1, owning at least what is enforced; then go on. */
static void fail_disk(struct ring *ring, unsigned node, const char *disk)
{
	struct iso_record before, after;
	char log[DEMO_PATH_BYTES];
	unsigned turns = 0;
	int status;

	ring_kill(ring, node, SIGKILL);
	ring_record(ring, node, &before);
	path_join(log, ring->nodes[node].directory, "log");
	(void)unlink(log);
	ring_start(ring, node, &(struct ring_start){ .disk = disk });
	while (!ring_ended(ring, node, &status)) {
		/* Demand goes round, so that there is something to write. */
		if (turns % 10 == 0)
			ring_burn(ring, turns / 10 % RING_NODES, turns / 10 % 10 < RING_NODES);
		turns++;
		ring_check_edges(ring);
		stage_pause_ms(50);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) {
		ring_tell(ring, node);
		ck_abort_msg("%s: status %x", disk, (unsigned)status);
	}
	const char *why = strstr(disk, ":1:") != NULL ? "journal" : "the limit stays at";
	ck_assert_uint_gt(ring_log_count(ring, node, why), 0);
	ring_check_dead(ring, node);
	ring_record(ring, node, &after);
	ck_assert_uint_ge(after.seq, before.seq);
	ring_start_and_wait(ring, node);
	ck_assert_int_gt(ring_number(ring, node, "incarnation"), before.inc);
	ring_check_edges(ring);
}

START_TEST(a_failing_disk_ends_the_agent_with_its_limit_lowered)
{
	static const char *const disks[] = {
		"fdatasync:1:EIO", "fdatasync:5:EIO",  "pwrite:6:EIO", "fdatasync:6:lost",
		"pwrite:4:short",  "fdatasync:2:lost", "pwrite:1:EIO",	  "fdatasync:4:lost",
	};
	static struct ring memory;
	struct ring *ring = &memory;

	ring_open(ring, false);
	ring_start_all(ring);
	for (unsigned i = 0; i < sizeof(disks) / sizeof(disks[0]); i++)
		fail_disk(ring, i % RING_NODES, disks[i]);
	printf("# %zu failures of the disk\n", sizeof(disks) / sizeof(disks[0]));
	for (unsigned i = 0; i < RING_NODES; i++)
		ring_burn(ring, i, i == 1);
	ring_prove(ring, 1);
	ring_close(ring);
}
END_TEST

static uint64_t sent_of(const struct ring *ring, unsigned node)
{
	struct iso_record record;
	uint64_t sum = 0;

	ring_record(ring, node, &record);
	for (uint32_t k = 0; k < record.edge_count; k++)
		sum += record.edges[k].sent;
	return sum;
}

static void copy_journal(const struct ring *ring, unsigned node, const char *from, const char *to)
{
	char source[DEMO_PATH_BYTES], target[DEMO_PATH_BYTES];
	struct error error;

	path_join(source, ring->nodes[node].directory, from);
	path_join(target, ring->nodes[node].directory, to);
	(void)unlink(target);
	ck_assert_msg(file_copy(source, target, 0600, &error) == 0, "%s", error.text);
}

static void save_journal(struct ring *ring, unsigned node)
{
	ring_kill(ring, node, SIGKILL);
	copy_journal(ring, node, "journal", "old");
	ring_start_and_wait(ring, node);
}

static void restore_journal(struct ring *ring, unsigned node)
{
	ring_kill(ring, node, SIGKILL);
	copy_journal(ring, node, "old", "journal");
}

static bool has_stopped(const struct ring *ring, unsigned node)
{
	struct iso_record record;

	ring_record(ring, node, &record);
	return record.halt == ISO_HALT_AMNESIA && ring_quota_ucpu(ring, node) <= RING_FLOOR_UCPU;
}

static void wait_stopped(const struct ring *ring, unsigned node)
{
	uint64_t from_ns = clock_now_ns();

	while (!has_stopped(ring, node)) {
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			ring_tell(ring, node);
			ck_abort_msg("node %u does not notice that its journal is an old one",
				     node);
		}
		stage_pause_ms(1);
	}
}

/* An old copy in which it owned less than now: nothing is exceeded, ever. */
static void forget_gains(struct ring *ring, unsigned node)
{
	struct iso_record old;

	/* After the copy it gives; only then it gains, and not everything. */
	save_journal(ring, node);
	ring_record(ring, node, &old);
	uint64_t sent = sent_of(ring, node);
	ring_burn(ring, 0, true);
	while (sent_of(ring, node) <= sent)
		stage_pause_ms(5);
	ring_burn(ring, 0, false);
	ring_burn(ring, node, true);
	ring_wait_share(ring, node, RING_BUDGET_UCPU / 4, RING_BUDGET_UCPU);
	ring_burn(ring, node, false);
	ck_assert_int_gt(ring_share(ring, node), iso_record_holdings(&old));
	restore_journal(ring, node);
	ring_start(ring, node, NULL);
	wait_stopped(ring, node);
}

START_TEST(an_old_journal_is_noticed_and_stops_the_trade)
{
	static struct ring memory;
	struct ring *ring = &memory;
	json_t *json;

	ring_open(ring, false);
	ring_start_all(ring);
	forget_gains(ring, 1);
	ck_assert(ring_is(ring, 1, "degraded"));
	ck_assert_uint_gt(
	    ring_log_count(ring, 1, "trading has stopped for good: a neighbour knows of later"), 0);
	ck_assert_int_ne(ring_audit_status(ring, &json), 0);
	ck_assert(json_is_false(json_object_get(json, "proven")));
	json_decref(json);

	/* It is durable, and the others go on without it. */
	int64_t share = ring_share(ring, 1);
	uint64_t sent = sent_of(ring, 1);
	ring_kill(ring, 1, SIGKILL);
	ring_start_and_wait(ring, 1);
	int64_t rest = ring_share(ring, 0) + ring_share(ring, 2) + ring_share(ring, 3) +
		       ring_share(ring, 4);
	ring_burn(ring, 4, true);
	ring_wait_share(ring, 4, most_of(rest, 4), RING_BUDGET_UCPU);
	ck_assert(has_stopped(ring, 1));
	ck_assert_int_eq(ring_up(ring, 1), 2); /* it has fallen silent, its neighbours have not */
	ck_assert_int_eq(ring_share(ring, 1), share);
	ck_assert_uint_eq(sent_of(ring, 1), sent);
	ring_close(ring);
}
END_TEST

/*
 * One in which it owned more: no more than before the start is enforced until
 * every neighbour has answered, and one of them knows better.
 */
START_TEST(an_old_journal_that_owned_more_is_never_enforced)
{
	static struct ring memory;
	struct ring *ring = &memory;

	ring_open(ring, false);
	ring_start_all(ring);
	ring_burn(ring, 4, true);
	ring_wait_share(ring, 4, HALF_UCPU, RING_BUDGET_UCPU);
	save_journal(ring, 4);
	ring_burn(ring, 4, false);
	ring_burn(ring, 2, true);
	ring_wait_share(ring, 4, 0, HALF_UCPU / 3);
	ring_wait_share(ring, 2, HALF_UCPU, RING_BUDGET_UCPU);
	restore_journal(ring, 4);

	uint64_t from_ns = clock_now_ns();
	ring_start(ring, 4, NULL);
	wait_stopped(ring, 4);
	printf("# an old journal that owned more: noticed after %ju ms\n",
	       (uintmax_t)(clock_now_ns() - from_ns) / MS_NS);
	stage_pause_ms(1000);
	ck_assert(ring_is(ring, 4, "degraded"));
	ring_close(ring); /* whose observer has seen every moment */
}
END_TEST

static bool program_has(const char *program, const char *text)
{
	static char bytes[16u << 20];
	char path[DEMO_PATH_BYTES];
	FILE *file = fopen(stage_build_path(program, path), "re");

	ck_assert_ptr_nonnull(file);
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	ck_assert(feof(file));
	fclose(file);
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

START_TEST(the_program_that_is_installed_has_no_crash_points)
{
	ck_assert(program_has("tests/system/isobard-crash", "ISO_CRASH_AT"));
	ck_assert(!program_has("agent/isobard", "ISO_CRASH_AT"));
	ck_assert(program_has("tests/system/isobard-crash", "ISO_DETOUR"));
	ck_assert(!program_has("agent/isobard", "ISO_DETOUR"));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = stage_suite_create("faults");

	stage_suite_add(suite, "points", TIMEOUT_S,
		       the_program_that_is_installed_has_no_crash_points);

	stage_suite_add(suite, "partition", TIMEOUT_S, partitions_trade_within_and_join_again);
	stage_suite_add(suite, "second", TIMEOUT_S,
		       a_second_agent_is_refused_and_the_first_unharmed);
	stage_suite_add(suite, "disk", TIMEOUT_S,
		       a_failing_disk_ends_the_agent_with_its_limit_lowered);
	stage_suite_add(suite, "amnesia", TIMEOUT_S, an_old_journal_is_noticed_and_stops_the_trade);
	stage_suite_add(suite, "excess", TIMEOUT_S,
		       an_old_journal_that_owned_more_is_never_enforced);
	return suite;
}

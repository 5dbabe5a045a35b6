/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/conf.h"
#include "tests/test.h"

static struct error error;

static struct status example(void)
{
	static const struct status_neighbour neighbours[] = {
		{ "b", "tcp://192.0.2.2:7400", "up", 0.25, -0.18, 200000, 150000, 1000, 0.5,
		  1, "open", "collecting", 250000, true, STATUS_UNKNOWN },
		{ "c", "tcp://192.0.2.3:7400", "down", NAN, NAN, 0, 0, STATUS_UNKNOWN, 0,
		  2, "closing", NULL, STATUS_UNKNOWN, false, 1500 },
	};
	static const struct status_drop drops[] = { { "busy", 3 }, { "checksum", 0 } };
	struct status status;

	status_init(&status);
	status.node = status.instance = "a";
	status.cluster = "lab";
	status.version = "1.0";
	status.state = "drifted";
	status.reason = "another writer set 20000 us";
	status.share_ucpu = 512345;
	status.budget_ucpu = 1500000;
	status.enforced_ucpu = 512340;
	status.quota_us = 51234;
	status.period_us = 100000;
	status.effective_ucpu = 512340;
	status.effective_by = "quota";
	status.floor_ucpu = 10000;
	status.on_cpu_ucpu = 498000;
	status.marginal_cost = -0.1875;
	status.debt_ns = 1500000;
	status.meter = "ebpf";
	status.uptime_s = 200;
	status.ticks = 200;
	status.last_decision = "gave 0.01cpu to b";
	status.neighbours = neighbours;
	status.neighbour_count = 2;
	status.messages_sent = 400;
	status.messages_received = 198;
	status.drops = drops;
	status.drop_count = 2;
	status.has_worker = true;
	status.worker.state = "running";
	status.worker.pid = 321;
	status.guard.state = "ok";
	status.guard.watchdog = "armed";
	status.guard.pid = 99;
	status.guard.restarts = 1;
	status.guard.lease_s = 27.5;
	status.guard.auto_burial = true;
	status.agent.cpu_ns = 1000000000;
	status.agent.rss_bytes = 6553600;
	return status;
}

static void is(json_t *json, const char *expected)
{
	char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_str_eq(text, expected);
	free(text);
	json_decref(json);
}

START_TEST(what_is_unknown_is_null)
{
	struct status status;

	status_init(&status);
	is(status_json(&status),
	   "{\"admin\":null,\"agent\":{\"cpu_ns\":null,\"rss_bytes\":null},\"budget_ucpu\":null,"
	   "\"ceiling_ucpu\":null,\"cgroup\":null,\"cluster\":null,\"cpus\":null,\"debt_ns\":null,"
	   "\"demand_ucpu\":null,\"draining\":false,\"dry_run\":false,"
	   "\"effective_by\":null,\"effective_ucpu\":null,"
	   "\"endowment_ucpu\":null,\"enforced_ucpu\":null,"
	   "\"floor_ucpu\":null,\"frozen\":false,\"generation\":null,"
	   "\"guard\":{\"auto_burial\":false,\"lease_s\":null,\"pid\":null,\"reason\":null,"
	   "\"restarts\":null,\"state\":\"off\",\"watchdog\":null},"
	   "\"halt\":null,\"incarnation\":null,\"instance\":null,"
	   "\"journal_error\":null,\"journal_writes\":null,\"last_decision\":null,"
	   "\"last_op\":null,"
	   "\"last_op_ucpu\":null,\"lease\":null,\"leaving\":false,"
	   "\"limit_changes\":null,\"marginal_cost\":null,"
	   "\"messages\":{\"dropped\":{},\"received\":null,\"sent\":null},\"meter\":null,"
	   "\"meter_reason\":null,\"neighbours\":[],\"node\":null,\"notes\":[],\"ok\":true,"
	   "\"on_cpu_ucpu\":null,\"period_us\":null,\"presence\":null,"
	   "\"price\":null,\"quota_us\":null,"
	   "\"quota_writes\":null,"
	   "\"ratios\":{\"interrupts\":null,\"meter\":null,\"stolen\":null,"
	   "\"throttled_use\":null,\"use\":null},"
	   "\"readback_us\":null,\"reason\":null,\"released\":false,"
	   "\"reload\":null,\"reserve_ucpu\":null,"
	   "\"sandbox\":{\"capabilities\":[],\"no_new_privileges\":false,\"seccomp\":false},"
	   "\"share_ucpu\":null,\"sleeps\":null,\"slept_s\":null,\"state\":null,"
	   "\"throttled_ns\":null,\"ticks\":null,"
	   "\"ticks_late\":null,"
	   "\"training\":null,"
	   "\"unbound\":{\"realtime_threads\":null,\"realtime_ucpu\":null,\"sched_ext\":null},"
	   "\"unit\":null,\"uptime_s\":null,\"version\":null,\"wait_ucpu\":null,\"worker\":null}");
}
END_TEST

START_TEST(what_is_known_is_there)
{
	struct status status = example();

	status.has_lease = status.lease.valid = true;
	status.sandbox = (struct sandbox_view){
		.capabilities = SANDBOX_CAPABILITY(CAP_BPF) | SANDBOX_CAPABILITY(CAP_CHOWN),
		.has_filter = true,
	};
	json_t *json = status_json(&status);
	const json_t *b = json_array_get(json_object_get(json, "neighbours"), 0);

	ck_assert_int_eq(json_integer_value(json_object_get(json, "share_ucpu")), 512345);
	ck_assert_str_eq(json_string_value(json_object_get(json, "state")), "drifted");
	ck_assert_double_eq(json_real_value(json_object_get(json, "marginal_cost")), -0.1875);
	ck_assert_str_eq(json_string_value(json_object_get(b, "name")), "b");
	ck_assert_int_eq(json_integer_value(json_object_get(b, "in_flight_ucpu")), 1000);
	ck_assert(json_is_null(json_object_get(json, "ceiling_ucpu")));
	is(json_incref(json_array_get(json_object_get(json, "neighbours"), 1)),
	   "{\"address\":\"tcp://192.0.2.3:7400\",\"age_s\":null,\"close_in_ms\":1500,"
	   "\"decision\":null,"
	   "\"edge\":\"closing\",\"generation\":2,\"in_flight_ucpu\":null,"
	   "\"limit_ucpu\":null,\"name\":\"c\","
	   "\"price\":null,\"received_ucpu\":0,\"remainder\":0.0,\"sent_ucpu\":0,"
	   "\"state\":\"down\",\"withheld\":false}");
	ck_assert_int_eq(json_integer_value(json_object_get(b, "limit_ucpu")), 250000);
	ck_assert(json_is_true(json_object_get(b, "withheld")));
	is(json_incref(json_object_get(json, "sandbox")),
	   "{\"capabilities\":[\"chown\",\"bpf\"],\"no_new_privileges\":false,\"seccomp\":true}");
	is(json_incref(json_object_get(json, "lease")), "{\"remaining_s\":null,\"valid\":true}");
	is(json_incref(json_object_get(json, "worker")),
	   "{\"pid\":321,\"restarts\":null,\"state\":\"running\",\"tasks\":null,"
	   "\"threads\":null}");
	is(json_incref(json_object_get(json, "messages")),
	   "{\"dropped\":{\"busy\":3,\"checksum\":0},\"received\":198,\"sent\":400}");
	json_decref(json);
}
END_TEST

static const char *printed(const json_t *json);

START_TEST(a_training_by_a_plan_has_its_numbers)
{
	struct status status = example();

	status.has_training = true;
	status.training.round = 1234;
	status.training.live = 1;
	status.training.neighbours = 2;
	status.training.loss = 0.5;
	status.training.spread = 0.125;
	status.training.sent_bytes = 12340000;
	json_t *json = status_json(&status);
	is(json_incref(json_object_get(json, "training")),
	   "{\"accuracy\":null,\"alpha\":null,\"live\":1,\"loss\":0.5,\"neighbours\":2,"
	   "\"round\":1234,\"sent_bytes\":12340000,\"spread\":0.125}");
	ck_assert_ptr_nonnull(
	    strstr(printed(json),
		   "training   round 1234   loss 0.5   accuracy -   spread 0.125   alpha -\n"
		   "           1 of 2 neighbours   12.3 MB sent\n"));
	json_decref(json);
}
END_TEST

static const char *printed(const json_t *json)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	status_print(out, json);
	fclose(out);
	return text;
}

START_TEST(prints_one_screen)
{
	struct status status = example();
	json_t *json = status_json(&status);

	ck_assert_str_eq(
	    printed(json),
	    "node a of cluster lab: drifted\n"
	    "  because  another writer set 20000 us\n"
	    "\n"
	    "share      0.5123 CPU of 1.5000   floor 0.0100   ceiling -   reserve -\n"
	    "quota      51234 us per 100000 us written   - us read back   0.5123 CPU enforced\n"
	    "effective  0.5123 CPU, limited by quota\n"
	    "job        0.4980 CPU on CPU   - waiting   - demand\n"
	    "cost       -0.1875 marginal   - price shown\n"
	    "overuse    1.5 ms to pay back   - s throttled so far\n"
	    "meter      ebpf\n"
	    "decision   gave 0.01cpu to b\n"
	    "lease      27.5 s left   guard ok   pid 99   1 restarts\n"
	    "           watchdog armed, so automatic burial is safe\n"
	    "worker     running   pid 321   - threads   - tasks   - restarts\n"
	    "agent      up 3.3 min   0.50 % of a CPU   6.2 MiB   generation -   incarnation -\n"
	    "           200 ticks   - journal writes   - quota writes   version 1.0\n"
	    "\n"
	    "NEIGHBOUR        STATE         HEARD      PRICE       SENT   RECEIVED  IN FLIGHT\n"
	    "b                up            0.2 s      -0.18     0.2000     0.1500     0.0010\n"
	    "c                down              -          -     0.0000     0.0000          -\n"
	    "messages: 400 sent, 198 received; dropped: busy 3\n");
	json_decref(json);
}
END_TEST

START_TEST(says_what_is_not_bound_and_what_else_is_odd)
{
	static const char *const notes[] = { "nobody runs there", "line\nbreak" };
	struct status status = example();

	status.presence = "empty";
	status.is_released = true;
	status.cpus = 2;
	status.limit_changes = 3;
	status.unbound.realtime_threads = 2;
	status.unbound.sched_ext = "simple";
	status.notes = notes;
	status.note_count = 2;
	json_t *json = status_json(&status);
	const char *text = printed(json);
	ck_assert_ptr_nonnull(strstr(text, "effective  0.5123 CPU, limited by quota   2 CPUs   "
					   "changed by others 3 times\n"));
	ck_assert_ptr_nonnull(strstr(text, " - demand   empty, released\n"));
	ck_assert_ptr_nonnull(strstr(text, "unbound    2 real-time threads   - CPU on CPU   "
					   "sched_ext simple\n"
					   "note       nobody runs there\n"
					   "note       (unprintable)\n"));
	is(json_incref(json_object_get(json, "unbound")),
	   "{\"realtime_threads\":2,\"realtime_ucpu\":null,\"sched_ext\":\"simple\"}");
	json_decref(json);

	/* Sleeping ones are shown as well, and a count of none is not worth a line. */
	status = example();
	status.presence = "running";
	status.unbound.realtime_threads = 0;
	status.unbound.realtime_ucpu = 0;
	json = status_json(&status);
	text = printed(json);
	ck_assert_ptr_nonnull(strstr(text, " - demand\n"));
	ck_assert_ptr_null(strstr(text, "unbound"));
	ck_assert_ptr_null(strstr(text, "note "));
	json_decref(json);
}
END_TEST

START_TEST(says_what_the_guard_lacks)
{
	struct status status = example();

	status.guard.state = "none";
	status.guard.reason = "guard /g: No such file or directory";
	status.guard.watchdog = "none";
	status.guard.pid = STATUS_UNKNOWN;
	status.guard.lease_s = (double)NAN;
	status.guard.auto_burial = false;
	json_t *json = status_json(&status);
	ck_assert_ptr_nonnull(strstr(printed(json),
				     "\nlease      - left   guard none   pid -   1 restarts\n"
				     "           because  guard /g: No such file or directory\n"
				     "           watchdog none, so no automatic burial\n"));
	json_decref(json);

	status.guard.state = NULL;
	json = status_json(&status);
	ck_assert_ptr_nonnull(strstr(printed(json), "\nlease      off, so no automatic burial\n"));
	json_decref(json);
}
END_TEST

START_TEST(says_dry_run_in_the_first_line)
{
	struct status status = example();

	status.state = "dry-run";
	status.reason = NULL;
	status.neighbour_count = 0;
	json_t *json = status_json(&status);
	const char *text = printed(json);
	ck_assert_msg(
	    strncmp(text, "node a of cluster lab: DRY-RUN, no limit is written\n\nshare", 57) == 0,
	    "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "\nno neighbours: nothing is traded\n"));
	json_decref(json);

	/* Also where another state has the first word. */
	status.state = "draining";
	status.is_dry_run = true;
	json = status_json(&status);
	text = printed(json);
	ck_assert_msg(strncmp(text, "node a of cluster lab: DRY-RUN, no limit is written; "
				    "draining\n", 62) == 0, "%s", text);
	json_decref(json);
}
END_TEST

START_TEST(prints_whatever_it_is_given)
{
	static const char *const strange[] = {
		"{}",
		"{\"node\": 5, \"share_ucpu\": \"much\", \"neighbours\": {\"a\": 1}}",
		"{\"neighbours\": [1, null, {\"name\": \"\\u001b[2J\"}], \"worker\": {}}",
		"{\"messages\": {\"dropped\": [1, 2]}, \"neighbours\": [{}]}",
		"{\"uptime_s\": 1e300, \"agent\": []}",
	};

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		json_t *json = json_loads(strange[i], 0, NULL);

		ck_assert_ptr_nonnull(json);
		const char *text = printed(json);
		ck_assert_ptr_nonnull(strstr(text, "share      - CPU of -"));
		ck_assert_ptr_null(strchr(text, 0x1b));
		json_decref(json);
	}
}
END_TEST

START_TEST(prints_a_table_over_nodes)
{
	struct status status = example();
	json_t *json = status_json(&status);
	char text[512];
	FILE *out = fmemopen(text, sizeof(text), "w");

	status_print_row(out, NULL, true);
	status_print_row(out, json, false);
	fclose(out);
	ck_assert_str_eq(text,
			 "NODE         STATE        SHARE    QUOTA   ON-CPU     WAIT   DEMAND "
			 "  MARGINAL    TASKS UP/NB\n"
			 "a            drifted     0.5123   0.5123   0.4980        -        - "
			 "   -0.1875        -   1/2\n");
	json_decref(json);
}
END_TEST

static struct status_ledger ledger_example(void)
{
	struct status_ledger ledger = {
		.cluster = "lab",
		.node = "a",
		.snapshot = {
			.record = {
				.cluster = conf_cluster_id("lab"),
				.node = conf_node_id("lab", "a"),
				.gen = 1,
				.inc = 3,
				.epoch = 2,
				.halt = ISO_HALT_OVERDRAFT,
				.flags = ISO_NODE_DRAINING,
				.endowment_ucpu = 500000,
				.budget_ucpu = 1500000,
				.floor_ucpu = 10000,
				.last_op = 12,
				.last_op_ucpu = -400,
				.seq = 77,
				.edge_count = 2,
			},
			.holdings_ucpu = 495000,
			.enforced_ucpu = INT64_MAX,
			.floor_ucpu = 10000,
			.ceiling_ucpu = 1000000,
		},
		.peers = { "b", NULL },
	};

	ledger.snapshot.record.edges[0] = (struct iso_record_edge){
		.peer = conf_node_id("lab", "b"), .peer_gen = 1, .sent = 7000, .received = 2000
	};
	ledger.snapshot.record.edges[1] = (struct iso_record_edge){
		.peer = UINT64_MAX, .peer_gen = 9, .flags = ISO_EDGE_STATE_CLOSED
	};
	return ledger;
}

START_TEST(a_ledger_reads_back_as_it_was)
{
	struct status_ledger written = ledger_example(), read;
	json_t *json = status_ledger_json(&written);

	memset(&read, 0x5a, sizeof(read));
	int r = status_ledger_read(json, &read, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	ck_assert_str_eq(read.cluster, "lab");
	ck_assert_str_eq(read.node, "a");
	ck_assert_str_eq(read.peers[0], "b");
	ck_assert_ptr_null(read.peers[1]);
	ck_assert_int_eq(read.snapshot.record.budget_ucpu, 1500000);
	ck_assert_mem_eq(&read.snapshot, &written.snapshot, sizeof(read.snapshot));

	written.snapshot.enforced_ucpu = STATUS_UNKNOWN;
	written.snapshot.record.halt = ISO_HALT_NONE;
	json_decref(json);
	json = status_ledger_json(&written);
	ck_assert(json_is_null(json_object_get(json, "enforced_ucpu")));
	ck_assert(json_is_null(json_object_get(json, "halt")));
	ck_assert_int_eq(status_ledger_read(json, &read, &error), 0);
	ck_assert_int_eq(read.snapshot.enforced_ucpu, STATUS_UNKNOWN);
	ck_assert_int_eq(read.snapshot.record.halt, ISO_HALT_NONE);
	json_decref(json);
}
END_TEST

START_TEST(a_ledger_says_how_far_each_peer_is_trusted_if_that_is_known)
{
	static const int64_t limits[] = { 250000, INT64_MAX, STATUS_UNKNOWN, 0 };
	struct status_ledger written = ledger_example(), read;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		written.limits_ucpu[0] = limits[i];
		json_t *json = status_ledger_json(&written);
		const json_t *edge = json_array_get(json_object_get(json, "edges"), 0);
		const json_t *limit = json_object_get(edge, "limit_ucpu");

		ck_assert_int_eq(limit == NULL, limits[i] == STATUS_UNKNOWN);
		ck_assert_int_eq(json_is_null(limit), limits[i] == INT64_MAX);
		ck_assert_int_eq(status_ledger_read(json, &read, &error), 0);
		ck_assert_int_eq(read.limits_ucpu[0], limits[i]);
		json_decref(json);
	}
}
END_TEST

START_TEST(every_field_of_a_ledger_is_checked)
{
	static const struct {
		const char *field, *value, *said;
	} cases[] = {
		{ "cluster", "5", "cluster: missing, or no text" },
		{ "cluster", "\"\\u001b[2J\"", "cluster: not a name" },
		{ "node", "\"a\\n\"", "node: not a name" },
		{ "node", "\"b\"", "id: not that of this node and cluster" },
		{ "cluster", "\"lob\"", "id: not that of this node and cluster" },
		{ "id", "\"123\"", "id: not an id of 16 hexadecimal digits" },
		{ "id", "\"0x23456789abcdef\"", "id: not an id of 16 hexadecimal digits" },
		{ "id", "12345", "id: missing, or no text" },
		{ "generation", "-1", "generation: out of range" },
		{ "generation", "4294967296", "generation: out of range" },
		{ "incarnation", "-1", "incarnation: out of range" },
		{ "sequence", "1.5", "sequence: not a whole number" },
		{ "halt", "\"because\"", "halt: unknown" },
		{ "halt", "7", "halt: unknown" },
		{ "budget_ucpu", "0", "budget_ucpu: out of range" },
		{ "flags", "4", "flags: out of range" },
		{ "last_op", "-1", "last_op: out of range" },
		{ "last_op_ucpu", "null", "last_op_ucpu: not a whole number" },
		{ "endowment_ucpu", "-4611686018427387905", "endowment_ucpu: out of range" },
		{ "share_ucpu", "\"1\"", "share_ucpu: not a whole number" },
		{ "enforced_ucpu", "\"none\"", "enforced_ucpu: not a whole number" },
		{ "floor_ucpu", "null", "floor_ucpu: not a whole number" },
		{ "ceiling_ucpu", "9223372036854775807", "ceiling_ucpu: out of range" },
		{ "edges", "{}", "edges: missing, no array, or too long" },
		{ "edges", "[5]", "edges[0].peer_id: missing, or no text" },
		{ "edges", "[{ \"peer\": 5 }]", "edges[0].peer: missing, or no text" },
		{ "edges", "[{ \"peer\": \"\\u001b[31m\" }]", "edges[0].peer: not a name" },
	};
	struct status_ledger written = ledger_example(), read, poisoned;

	memset(&poisoned, 0x5a, sizeof(poisoned));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = status_ledger_json(&written);

		json_object_set_new(json, cases[i].field,
				    json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		memset(&read, 0x5a, sizeof(read));
		ck_assert_int_eq(status_ledger_read(json, &read, &error), -EINVAL);
		ck_assert_str_eq(error.text, cases[i].said);
		ck_assert_mem_eq(&read, &poisoned, sizeof(read));
		json_decref(json);
	}
	json_t *json = status_ledger_json(&written);
	json_object_del(json_array_get(json_object_get(json, "edges"), 1), "sent_ucpu");
	ck_assert_int_eq(status_ledger_read(json, &read, &error), -EINVAL);
	ck_assert_str_eq(error.text, "edges[1].sent_ucpu: missing");
	json_decref(json);
	written.limits_ucpu[1] = -1;
	json = status_ledger_json(&written);
	ck_assert_int_eq(status_ledger_read(json, &read, &error), -EINVAL);
	ck_assert_str_eq(error.text, "edges[1].limit_ucpu: out of range");
	json_decref(json);
	ck_assert_int_eq(status_ledger_read(NULL, &read, &error), -EINVAL);
	ck_assert_str_eq(error.text, "cluster: missing, or no text");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("status");
	TCase *tcase = tcase_create("status");

	tcase_add_test(tcase, what_is_unknown_is_null);
	tcase_add_test(tcase, what_is_known_is_there);
	tcase_add_test(tcase, a_training_by_a_plan_has_its_numbers);
	tcase_add_test(tcase, prints_one_screen);
	tcase_add_test(tcase, says_what_is_not_bound_and_what_else_is_odd);
	tcase_add_test(tcase, says_what_the_guard_lacks);
	tcase_add_test(tcase, says_dry_run_in_the_first_line);
	tcase_add_test(tcase, prints_whatever_it_is_given);
	tcase_add_test(tcase, prints_a_table_over_nodes);
	suite_add_tcase(suite, tcase);

	tcase = tcase_create("ledger");
	tcase_add_test(tcase, a_ledger_reads_back_as_it_was);
	tcase_add_test(tcase, a_ledger_says_how_far_each_peer_is_trusted_if_that_is_known);
	tcase_add_test(tcase, every_field_of_a_ledger_is_checked);
	suite_add_tcase(suite, tcase);
	return suite;
}

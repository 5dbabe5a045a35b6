/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/opjson.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/test.h"

#define KEY_B "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static struct error error;

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	ck_assert_ptr_nonnull(json);
	return json;
}

static void reads_back(const struct opjson_op *op)
{
	struct opjson_op back;
	json_t *request = opjson_op_write(op);

	ck_assert_ptr_nonnull(request);
	int r = opjson_op_read(request, "lab", &back, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	ck_assert_mem_eq(&back, op, sizeof(back));
	json_decref(request);
}

static struct opjson_op example(enum iso_op_kind kind)
{
	struct opjson_op op;

	memset(&op, 0, sizeof(op));
	op.op.id = 12;
	op.op.kind = kind;
	op.op.gen = 3;
	return op;
}

static void with_peer(struct opjson_op *op)
{
	snprintf(op->peer, sizeof(op->peer), "b");
	op->op.peer = conf_node_id("lab", "b");
	op->op.peer_gen = 2;
}

START_TEST(what_is_written_is_read_back)
{
	for (int kind = ISO_OP_MINT; kind <= ISO_OP_VOID; kind++) {
		struct opjson_op op = example((enum iso_op_kind)kind);

		if (kind == ISO_OP_MINT || kind == ISO_OP_BURN)
			op.op.amount_ucpu = 250000;
		if (kind == ISO_OP_BUDGET || kind == ISO_OP_MINT)
			op.op.budget_ucpu = 4000000;
		if (kind == ISO_OP_OPEN || kind == ISO_OP_CLOSE || kind == ISO_OP_FOLD)
			with_peer(&op);
		if (kind == ISO_OP_OPEN) {
			snprintf(op.address, sizeof(op.address), "tcp://192.0.2.2:7400");
			snprintf(op.public_key, sizeof(op.public_key), "%s", KEY_B);
		}
		if (kind == ISO_OP_FOLD) {
			op.op.sent = 1ull << 40;
			op.op.received = 7;
		}
		op.op.on = kind == ISO_OP_DRAIN;
		reads_back(&op);
	}
}
END_TEST

static void op_refused(const char *text, const char *expected)
{
	struct opjson_op op, poisoned;
	json_t *request = parse(text);

	memset(&op, 0x5a, sizeof(op));
	memset(&poisoned, 0x5a, sizeof(poisoned));
	ck_assert_int_eq(opjson_op_read(request, "lab", &op, &error), -EINVAL);
	ck_assert_str_eq(error.text, expected);
	ck_assert_mem_eq(&op, &poisoned, sizeof(op));
	json_decref(request);
}

START_TEST(an_operation_that_is_not_understood_is_refused)
{
	op_refused("{\"command\": \"op\"}", "op: missing, or no object");
	op_refused("{\"op\": []}", "op: missing, or no object");
	op_refused("{\"op\": {\"id\": 1, \"gen\": 1}}", "op.kind: missing, or no text");
	op_refused("{\"op\": {\"kind\": \"grow\", \"id\": 1, \"gen\": 1}}",
		   "op.kind: there is no such operation");
	op_refused("{\"op\": {\"kind\": \"void\", \"gen\": 1}}", "op.id: missing");
	op_refused("{\"op\": {\"kind\": \"void\", \"id\": 0, \"gen\": 1}}", "op.id: out of range");
	op_refused("{\"op\": {\"kind\": \"void\", \"id\": 1.0, \"gen\": 1}}",
		   "op.id: not a whole number");
	op_refused("{\"op\": {\"kind\": \"void\", \"id\": 1}}", "op.gen: missing");
	op_refused("{\"op\": {\"kind\": \"void\", \"id\": 1, \"gen\": 4294967296}}",
		   "op.gen: out of range");
	op_refused("{\"op\": {\"kind\": \"mint\", \"id\": 1, \"gen\": 1}}",
		   "op.mint: an amount or a generation is missing");
	op_refused("{\"op\": {\"kind\": \"mint\", \"id\": 1, \"gen\": 1, \"amount_ucpu\": -5}}",
		   "op.amount_ucpu: out of range");
	op_refused("{\"op\": {\"kind\": \"budget\", \"id\": 1, \"gen\": 1}}",
		   "op.budget: an amount or a generation is missing");
	op_refused("{\"op\": {\"kind\": \"drain\", \"id\": 1, \"gen\": 1, \"on\": 1}}",
		   "op.on: neither true nor false");
	op_refused("{\"op\": {\"kind\": \"close\", \"id\": 1, \"gen\": 1}}", "op.peer: missing");
	op_refused("{\"op\": {\"kind\": \"close\", \"id\": 1, \"gen\": 1, \"peer\": \"b\"}}",
		   "op.close: an amount or a generation is missing");
	/* What it would mean must not be left out. */
	op_refused("{\"op\": {\"kind\": \"void\", \"id\": 1, \"gen\": 1, \"undo\": true}}",
		   "op.undo: no such field");
}
END_TEST

START_TEST(a_key_is_never_a_file_and_a_name_has_no_end_inside)
{
	op_refused("{\"op\": {\"kind\": \"open\", \"id\": 1, \"gen\": 1, \"peer\": \"b\", "
		   "\"peer_gen\": 1, \"address\": \"tcp://192.0.2.1:1\", "
		   "\"public_key\": \"/etc/isobar/b.pub\"}}",
		   "op.public_key: not a public key");
	op_refused("{\"op\": {\"kind\": \"open\", \"id\": 1, \"gen\": 1, \"peer\": \"b\", "
		   "\"peer_gen\": 1, \"address\": \"192.0.2.1\", "
		   "\"public_key\": \"" KEY_B "\"}}",
		   "op.address: '192.0.2.1' is not an address such as tcp://192.0.2.1:7400");
	json_t *name = json_stringn("b\0c", 3);
	json_t *request = json_pack("{s:{s:s, s:i, s:i, s:i, s:o}}", "op", "kind", "close", "id", 1,
				    "gen", 1, "peer_gen", 1, "peer", name);
	struct opjson_op op;
	ck_assert_int_eq(opjson_op_read(request, "lab", &op, &error), -EINVAL);
	ck_assert_str_eq(error.text, "op.peer: no text");
	json_decref(request);
}
END_TEST

START_TEST(an_admission_is_read_back)
{
	static struct opjson_admission admission, back;

	admission.id = 9;
	admission.gen = 2;
	admission.endowment_ucpu = 10000;
	admission.budget_ucpu = 4000000;
	admission.neighbour_count = 2;
	for (int i = 0; i < 2; i++) {
		struct opjson_neighbour *neighbour = &admission.neighbours[i];

		snprintf(neighbour->name, sizeof(neighbour->name), "n%d", i);
		neighbour->gen = 1 + (uint32_t)i;
		snprintf(neighbour->address, sizeof(neighbour->address), "tcp://192.0.2.%d:7400",
			 i + 1);
		snprintf(neighbour->public_key, sizeof(neighbour->public_key), "%s", KEY_B);
	}
	json_t *request = opjson_admission_write(&admission);
	int r = opjson_admission_read(request, &back, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	ck_assert_mem_eq(&back, &admission, sizeof(back));

	json_t *neighbours = json_object_get(request, "neighbours");
	(void)json_object_set_new(json_array_get(neighbours, 1), "name", json_string("n0"));
	memset(&back, 0x5a, sizeof(back));
	ck_assert_int_eq(opjson_admission_read(request, &back, &error), -EINVAL);
	ck_assert_str_eq(error.text, "neighbours[1].name: named twice");
	ck_assert_int_eq(back.neighbour_count, 0x5a5a5a5a);
	(void)json_object_set_new(request, "neighbours", json_integer(1));
	ck_assert_int_eq(opjson_admission_read(request, &back, &error), -EINVAL);
	ck_assert_str_eq(error.text, "neighbours: missing, no array, or too long");
	json_decref(request);
}
END_TEST

static struct opjson_answer answer_of(const char *text)
{
	/* Kept for the strings that are borrowed; freed by the next. */
	static json_t *reply;
	struct opjson_answer answer;

	json_decref(reply);
	reply = parse(text);
	int r = opjson_answer_read(reply, &answer, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	return answer;
}

START_TEST(answers_are_of_four_kinds)
{
	struct opjson_answer answer =
	    answer_of("{\"ok\": true, \"applied\": true, \"last_op\": 5, \"moved_ucpu\": 7, "
		      "\"record\": {}}");

	ck_assert_int_eq(answer.outcome, OPJSON_APPLIED);
	ck_assert_int_eq(answer.moved_ucpu, 7);
	ck_assert_uint_eq(answer.last_op, 5);
	ck_assert(json_is_object(answer.record));
	answer = answer_of("{\"ok\": false, \"busy\": true, \"error\": \"why\", \"retry_ms\": 50}");
	ck_assert_int_eq(answer.outcome, OPJSON_BUSY);
	ck_assert_uint_eq(answer.retry_ms, 50);
	ck_assert_str_eq(answer.error, "why");
	answer = answer_of("{\"ok\": false, \"stale\": true, \"error\": \"why\", \"last_op\": 8}");
	ck_assert_int_eq(answer.outcome, OPJSON_STALE);
	ck_assert_uint_eq(answer.last_op, 8);
	answer = answer_of("{\"ok\": false, \"error\": \"why\"}");
	ck_assert_int_eq(answer.outcome, OPJSON_REFUSED);
}
END_TEST

/* It goes to an administrator's terminal. */
START_TEST(a_reason_with_control_characters_is_not_repeated)
{
	static const char *const texts[] = {
		"{\"ok\": false, \"error\": \"\\u001b[2J\"}",
		"{\"ok\": false, \"error\": \"why\\r\\n\"}",
		"{\"ok\": false, \"error\": \"\\u007f\"}",
		"{\"ok\": false, \"error\": \"so \\u009b31m\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_str_eq(answer_of(texts[i]).error, "(unprintable)");
	struct opjson_answer answer =
	    answer_of("{\"ok\": false, \"error\": \"\\u00c2\\u017c\\u00a0\"}");
	ck_assert_str_eq(answer.error, "\xc3\x82\xc5\xbc\xc2\xa0");
}
END_TEST

START_TEST(an_answer_that_cannot_be_is_none)
{
	static const char *const texts[] = {
		"{}",
		"{\"ok\": 1}",
		"{\"ok\": true}",
		"{\"ok\": false}",
		"{\"ok\": true, \"applied\": true, \"moved_ucpu\": \"7\"}",
	};
	struct opjson_answer answer;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *reply = parse(texts[i]);

		answer.retry_ms = 77;
		ck_assert_int_eq(opjson_answer_read(reply, &answer, &error), -EBADMSG);
		ck_assert_uint_eq(answer.retry_ms, 77);
		json_decref(reply);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("opjson");
	TCase *tcase = tcase_create("requests");

	tcase_add_test(tcase, what_is_written_is_read_back);
	tcase_add_test(tcase, an_operation_that_is_not_understood_is_refused);
	tcase_add_test(tcase, a_key_is_never_a_file_and_a_name_has_no_end_inside);
	tcase_add_test(tcase, an_admission_is_read_back);
	tcase_add_test(tcase, answers_are_of_four_kinds);
	tcase_add_test(tcase, a_reason_with_control_characters_is_not_repeated);
	tcase_add_test(tcase, an_answer_that_cannot_be_is_none);
	suite_add_tcase(suite, tcase);
	return suite;
}

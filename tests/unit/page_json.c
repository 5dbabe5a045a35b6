/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The JSON of isobar-protocol(7) against the programs: its tables have the
 * members that are answered, and no others.
 */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/control/status.h"
#include "tests/pagetable.h"
#include "tests/test.h"

/* The same members in both, but for "ok"; consumes the object. */
static void check_members(const char *name, json_t *object)
{
	struct table table;
	const char *key;
	json_t *value;

	pagetable_read(name, &table);
	ck_assert(json_is_object(object));
	json_object_foreach (object, key, value)
		if (strcmp(key, "ok") != 0)
			(void)pagetable_row(&table, key);
	for (unsigned i = 0; i < table.count; i++)
		ck_assert_msg(json_object_get(object, table.rows[i].name) != NULL,
			      "%s: there is no member %s", name, table.rows[i].name);
	json_decref(object);
}

START_TEST(answers_have_the_members_of_the_page)
{
	const struct status_neighbour neighbour = { .name = "b" };
	const struct iso_record_edge edge = { 7, 1, 0, 5, 6 };
	static struct status_ledger ledger = { .cluster = "pair", .node = "a" };
	struct status status;

	status_init(&status);
	status.neighbours = &neighbour;
	status.neighbour_count = 1;
	status.has_worker = true;
	status.has_training = true;
	json_t *json = status_json(&status);
	check_members("status", json_incref(json));
	check_members("status.agent", json_incref(json_object_get(json, "agent")));
	check_members("status.messages", json_incref(json_object_get(json, "messages")));
	check_members("status.sandbox", json_incref(json_object_get(json, "sandbox")));
	check_members("status.unbound", json_incref(json_object_get(json, "unbound")));
	check_members("status.ratios", json_incref(json_object_get(json, "ratios")));
	check_members("status.worker", json_incref(json_object_get(json, "worker")));
	check_members("status.training", json_incref(json_object_get(json, "training")));
	check_members("status.neighbours",
		      json_incref(json_array_get(json_object_get(json, "neighbours"), 0)));
	json_decref(json);

	ledger.snapshot.record.edge_count = 1;
	ledger.snapshot.record.edges[0] = edge;
	json = status_ledger_json(&ledger);
	check_members("ledger", json_incref(json));
	check_members("ledger_edge",
		      json_incref(json_array_get(json_object_get(json, "edges"), 0)));
	json_decref(json);
}
END_TEST

/* The coordinator's members, from its source: put(object, "NAME", ... between two functions. */
static void check_source(const char *name, const char *text, const char *from, const char *to)
{
	static const char mark[] = "put(object, \"";
	const char *at = strstr(text, from), *end = at != NULL ? strstr(at, to) : NULL;
	struct table table;
	unsigned members = 0;

	ck_assert_msg(end != NULL, "no %s before %s", from, to);
	pagetable_read(name, &table);
	while ((at = strstr(at, mark)) != NULL && at < end) {
		char member[48];

		at += strlen(mark);
		snprintf(member, sizeof(member), "%.*s", (int)strcspn(at, "\""), at);
		(void)pagetable_row(&table, member);
		members++;
	}
	ck_assert_uint_eq(members, table.count);
}

START_TEST(the_coordinators_answer_has_the_members_of_the_page)
{
	char *text = pagetable_source("agent/train/coordinator_status.c");

	check_source("coordinator.workers", text, "put_ledger(json_t", "*tasks(");
	check_source("coordinator.tasks", text, "*tasks(", "*discarded(");
	check_source("coordinator.discarded", text, "*discarded(", "*counters(");
	check_source("coordinator.counters", text, "*counters(", "put_plan(json_t");
	check_source("coordinator", text, "put_plan(json_t", "return object;");
	free(text);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("page_json");
	TCase *tcase = tcase_create("members");

	tcase_add_test(tcase, answers_have_the_members_of_the_page);
	tcase_add_test(tcase, the_coordinators_answer_has_the_members_of_the_page);
	suite_add_tcase(suite, tcase);
	return suite;
}

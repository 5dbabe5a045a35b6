/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/graph/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/test.h"

#define ROOM 64u

static struct iso_graph_edge edges[ROOM];
static struct iso_graph_name memory[ROOM];
static uint32_t slots[4 * ROOM];
static struct iso_graph_names names;

static enum iso_status read_text(const char *text, struct iso_graph *ret_graph,
				 struct iso_graph_text_error *ret_error)
{
	iso_graph_names_init(&names, ROOM, memory, slots);
	return iso_graph_read(text, strlen(text), &names, edges, ROOM, ret_graph, ret_error);
}

static void refused(const char *text, uint64_t line, enum iso_graph_text_reason reason)
{
	struct iso_graph graph = { .nodes = 77 };
	struct iso_graph_text_error error;

	ck_assert_int_eq(read_text(text, &graph, &error), ISO_E_MALFORMED);
	ck_assert_uint_eq(error.line, line);
	ck_assert_int_eq(error.reason, reason);
	ck_assert_uint_eq(graph.nodes, 77);
}

static uint32_t node_of(const char *name)
{
	uint32_t node;

	ck_assert_ok(iso_graph_names_find(&names, name, strlen(name), &node));
	return node;
}

START_TEST(nodes_are_numbered_as_they_appear)
{
	struct iso_graph_text_error error;
	struct iso_graph graph;
	uint32_t node = 9;

	ck_assert_ok(read_text("# who sees whom\n"
			       "oslo rome\r\n"
			       "\n"
			       "  rome\tparis   # by the tunnel\n"
			       "island#alone\n"
			       "paris oslo\n"
			       "rome oslo",
			       &graph, &error));
	ck_assert_uint_eq(graph.nodes, 4);
	ck_assert_uint_eq(node_of("oslo"), 0);
	ck_assert_uint_eq(node_of("rome"), 1);
	ck_assert_uint_eq(node_of("paris"), 2);
	ck_assert_uint_eq(node_of("island"), 3);
	ck_assert_int_eq(iso_graph_names_find(&names, "osl", 3, &node), ISO_E_UNKNOWN);
	ck_assert_int_eq(iso_graph_names_find(&names, "", 0, &node), ISO_E_UNKNOWN);
	ck_assert_uint_eq(node, 9);
	ck_assert_uint_eq(graph.edge_count, 3);
	ck_assert(edges[0].low == 0 && edges[0].high == 1);
	ck_assert(edges[1].low == 0 && edges[1].high == 2);
	ck_assert(edges[2].low == 1 && edges[2].high == 2);
}
END_TEST

START_TEST(one_node_is_a_graph)
{
	struct iso_graph_text_error error;
	struct iso_graph graph;

	ck_assert_ok(read_text("a", &graph, &error));
	ck_assert_uint_eq(graph.nodes, 1);
	ck_assert_uint_eq(graph.edge_count, 0);
}
END_TEST

START_TEST(what_is_wrong_is_told_with_its_line)
{
	char longest[2 * ISO_GRAPH_NAME_MAX];
	struct iso_graph_text_error error;
	struct iso_graph graph;

	refused("", 0, ISO_GRAPH_TEXT_EMPTY);
	refused("# nothing\n\n", 0, ISO_GRAPH_TEXT_EMPTY);
	refused("a b\nb c d\n", 2, ISO_GRAPH_TEXT_WORDS);
	refused("a b\n\nb b\n", 3, ISO_GRAPH_TEXT_LOOP);
	refused("a b\nb \x7f\n", 2, ISO_GRAPH_TEXT_CHARACTER);
	refused("a b\nb \xc3\xb6re\n", 2, ISO_GRAPH_TEXT_CHARACTER);
	refused("a\rb\n", 1, ISO_GRAPH_TEXT_CHARACTER);
	memset(longest, 'x', sizeof(longest));
	longest[ISO_GRAPH_NAME_MAX] = '\0';
	ck_assert_ok(read_text(longest, &graph, &error));
	longest[ISO_GRAPH_NAME_MAX] = 'x';
	longest[ISO_GRAPH_NAME_MAX + 1] = '\0';
	refused(longest, 1, ISO_GRAPH_TEXT_LONG);
	/* Anything may stand in a comment. */
	ck_assert_ok(read_text("a # \xc3\xb6 \x01 one two three", &graph, &error));
}
END_TEST

/* A star whose nodes have numbers for names. */
static size_t print_star(char *text, uint32_t leaves)
{
	size_t size = 0;

	for (uint32_t i = 0; i < leaves; i++)
		size += (size_t)sprintf(text + size, "hub %u\n", i);
	return size;
}

START_TEST(there_is_only_so_much_room)
{
	static char text[1 << 12];
	struct iso_graph_text_error error;
	struct iso_graph graph;

	(void)print_star(text, ROOM - 1);
	ck_assert_ok(read_text(text, &graph, &error));
	ck_assert_uint_eq(graph.nodes, ROOM);
	ck_assert_uint_eq(graph.edge_count, ROOM - 1);
	(void)print_star(text, ROOM);
	refused(text, ROOM, ISO_GRAPH_TEXT_FULL);
	/* Edges, too: each is counted as often as it is given. */
	size_t size = 0;

	for (uint32_t i = 0; i < ROOM; i++)
		size += (size_t)sprintf(text + size, "a b\n");
	ck_assert_ok(read_text(text, &graph, &error));
	ck_assert_uint_eq(graph.edge_count, 1);
	strcpy(text + size, "b a\n");
	refused(text, ROOM + 1, ISO_GRAPH_TEXT_FULL);
}
END_TEST

START_TEST(many_names_are_all_found)
{
	enum { NAMES = 20000 };
	static struct iso_graph_name many[NAMES + 1];
	static struct iso_graph_edge spokes[NAMES];
	static uint32_t table[1 << 16];
	static char text[NAMES * 12];
	struct iso_graph_text_error error;
	struct iso_graph graph;
	uint32_t wrong = 0;

	ck_assert_uint_le(iso_graph_names_slots(NAMES + 1), 1 << 16);
	iso_graph_names_init(&names, NAMES + 1, many, table);
	ck_assert_ok(
	    iso_graph_read(text, print_star(text, NAMES), &names, spokes, NAMES, &graph, &error));
	ck_assert_uint_eq(graph.edge_count, NAMES);
	for (uint32_t i = 0; i < NAMES; i++) {
		char name[16];

		wrong += sprintf(name, "%u", i) < 1 || node_of(name) != i + 1;
		wrong += graph.edges[i].low != 0 || graph.edges[i].high != i + 1;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(every_reason_has_its_words)
{
	for (int reason = ISO_GRAPH_TEXT_FINE; reason <= ISO_GRAPH_TEXT_FULL; reason++)
		ck_assert_str_ne(iso_graph_text_reason_text((enum iso_graph_text_reason)reason),
				 "unknown reason");
	ck_assert_str_eq(iso_graph_text_reason_text((enum iso_graph_text_reason)99),
			 "unknown reason");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("graph_text");
	TCase *tcase = tcase_create("lines");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nodes_are_numbered_as_they_appear);
	tcase_add_test(tcase, one_node_is_a_graph);
	tcase_add_test(tcase, what_is_wrong_is_told_with_its_line);
	tcase_add_test(tcase, there_is_only_so_much_room);
	tcase_add_test(tcase, many_names_are_all_found);
	tcase_add_test(tcase, every_reason_has_its_words);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the registry makes of a node's snapshot. */
#include "config.h"

#include <string.h>

#include "lib/ledger/registry.h"
#include "tests/test.h"

#define NODE 1001u

static struct iso_registry registry;

static void enter(struct iso_registry_entry entry)
{
	entry.seq = registry.seq + 1;
	ck_assert_ok(iso_registry_apply(&registry, &entry));
}

/* One node, which has applied operation 5, and one that is to be told next. */
static void set_up(void)
{
	iso_registry_init(&registry);
	enter((struct iso_registry_entry){
	    .kind = ISO_REGISTRY_CREATE, .node = 77, .op = 6, .amount_ucpu = 1000 });
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_MEMBER,
					   .node = NODE,
					   .gen = 1,
					   .op = 5,
					   .name = "a",
					   .amount_ucpu = 1000,
					   .budget_ucpu = 1000,
					   .floor_ucpu = 100 });
	enter((struct iso_registry_entry){ .kind = ISO_REGISTRY_READY });
}

static enum iso_status look(uint32_t gen, uint64_t last_op)
{
	const struct iso_record record = { .node = NODE, .gen = gen, .last_op = last_op };
	const struct iso_registry_look seen = { &record, 1000, 100 };

	return iso_registry_look(&registry, NODE, &seen);
}

START_TEST(a_node_that_says_what_is_known_has_room)
{
	set_up();
	ck_assert_ok(look(1, 5));
	ck_assert(registry.members[0].seen);
	ck_assert_int_eq(registry.members[0].room_ucpu, 900);
}
END_TEST

/* Its share may be one that was burned, and counts nowhere any more. */
START_TEST(a_node_that_forgot_an_operation_is_not_believed)
{
	set_up();
	ck_assert_ok(look(1, 5));
	ck_assert_int_eq(look(1, 4), ISO_E_DAMAGED);
	ck_assert(!registry.members[0].seen);
	ck_assert_int_eq(registry.members[0].room_ucpu, 0);
}
END_TEST

START_TEST(a_node_of_another_registry_or_life_is_not_believed)
{
	set_up();
	ck_assert_int_eq(look(1, 6), ISO_E_STALE);
	ck_assert(!registry.members[0].seen);
	ck_assert_int_eq(look(2, 5), ISO_E_FOREIGN);
	ck_assert(!registry.members[0].seen);
	ck_assert_ok(iso_registry_look(&registry, NODE, NULL));
	ck_assert(!registry.members[0].seen);
	ck_assert_int_eq(iso_registry_look(&registry, 9, NULL), ISO_E_UNKNOWN);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("registry-look");
	TCase *tcase = tcase_create("snapshots");

	tcase_add_test(tcase, a_node_that_says_what_is_known_has_room);
	tcase_add_test(tcase, a_node_that_forgot_an_operation_is_not_believed);
	tcase_add_test(tcase, a_node_of_another_registry_or_life_is_not_believed);
	suite_add_tcase(suite, tcase);
	return suite;
}

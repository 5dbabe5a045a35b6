/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"
#include "tests/unit/timeline.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

START_TEST(only_a_table_can_hold_gradients_of_a_saved_state)
{
	static const struct line lines[] = { { "j0", "+0@0" }, { NULL, NULL } };
	struct iso_method_config config = { .kind = ISO_METHOD_ASGD, .workers = 1 };
	struct iso_method *method = timeline_make(config);
	uint8_t bytes[256];

	(void)timeline_play(method, lines);
	iso_method_save(method, bytes);
	bytes[24 + 4 * 8]++; /* buffered */
	bytes[24 + 2 * 8]++; /* and started, so that it adds up */
	ck_assert_int_eq(
	    iso_method_restore(timeline_make(config), bytes, iso_method_state_bytes(method)),
	    ISO_E_MALFORMED);
	bytes[24 + 4 * 8]--;
	bytes[24 + 2 * 8]--;
	ck_assert_ok(
	    iso_method_restore(timeline_make(config), bytes, iso_method_state_bytes(method)));
}
END_TEST

/* IA2SGD with one entry that is used, one that waits, and one in flight. */
static struct iso_method *with_state(uint8_t **ret_bytes, size_t *ret_size)
{
	static const struct line lines[] = {
		{ "j0", "+0@0" }, { "a0@0=1", "used +0@1 x=-1" },
		{ "j1", "+1@1" }, { "a1@1=3", "used +1@2 x=-3" },
		{ NULL, NULL },
	};
	struct iso_method *method =
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });

	(void)timeline_play(method, lines);
	*ret_size = iso_method_state_bytes(method);
	*ret_bytes = timeline_memory(*ret_size);
	iso_method_save(method, *ret_bytes);
	return method;
}

START_TEST(a_saved_state_goes_on_where_it_was)
{
	uint8_t *bytes;
	size_t size;
	(void)with_state(&bytes, &size);
	struct iso_method *method =
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });

	ck_assert_ok(iso_method_restore(method, bytes, size));
	struct iso_method_totals totals = iso_method_totals(method);
	ck_assert_uint_eq(totals.used, 2);
	ck_assert_uint_eq(totals.lost, 2); /* what was in flight */
	ck_assert_uint_eq(totals.in_flight, 0);
	ck_assert_uint_eq(totals.updates, 2);
	static const struct line lines[] = {
		{ "j0", "+0@2" },
		{ "a0@2=5", "used +0@3 x=-7" }, /* (5 + 3)/2: 1 may still come back */
		{ "a0@3=5", "used +0@4 x=-11" },
		{ "a0@4=5", "used +0@5 x=-15" },
		{ "a0@5=5", "used +0@6 x=-19" },
		{ "a0@6=5", "used +0@7 x=-24" }, /* it has not */
		{ NULL, NULL },
	};
	(void)timeline_play(method, lines);
}
END_TEST

START_TEST(a_damaged_state_is_refused_and_changes_nothing)
{
	uint8_t *bytes;
	size_t size;
	(void)with_state(&bytes, &size);
	struct iso_method *method =
	    timeline_make((struct iso_method_config){ .kind = ISO_METHOD_IA2SGD, .workers = 2 });
	size_t fresh_size = iso_method_state_bytes(method);
	uint8_t *fresh = timeline_memory(fresh_size), *after = timeline_memory(fresh_size);
	iso_method_save(method, fresh);

	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *part = malloc(cut + 1);

		memcpy(part, bytes, cut);
		ck_assert_int_ne(iso_method_restore(method, part, cut), ISO_OK);
		free(part);
	}
	uint8_t *longer = timeline_memory(size + 1);
	memcpy(longer, bytes, size);
	ck_assert_int_eq(iso_method_restore(method, longer, size + 1), ISO_E_LONG);
	/* head, a total, x, the table's sum, an entry's worker, count, fresh, version, mean */
	static const struct {
		size_t offset;
		uint8_t value;
		enum iso_status status;
	} damages[] = {
		{ 0, 'J', ISO_E_MALFORMED },
		{ 4, 2, ISO_E_VERSION },
		{ 8, 10, ISO_E_CONFIG },
		{ 12, 3, ISO_E_CONFIG },
		{ 16, 2, ISO_E_CONFIG },
		{ 20, 2, ISO_E_MALFORMED },
		{ 24 + 2 * 8, 5, ISO_E_MALFORMED },         /* started more than became of it */
		{ 24 + 9 * 8, 3, ISO_E_MALFORMED },         /* a delay of more than all updates */
		{ 24 + 7 * 8 + 7, 0x10, ISO_E_MALFORMED },  /* more lost than can be counted */
		{ 24 + 11 * 8 + 7, 0x7f, ISO_E_MALFORMED }, /* x */
		{ 120, 3, ISO_E_MALFORMED },                /* more entries than workers */
		{ 128 + 7, 0x7f, ISO_E_MALFORMED },         /* sum */
		{ 136, 1, ISO_E_MALFORMED },                /* workers 1, 1 */
		{ 140, 0, ISO_E_MALFORMED },                /* an empty entry */
		{ 144, 1, ISO_E_MALFORMED },                /* fresh, and none is buffered */
		{ 148, 1, ISO_E_MALFORMED },
		{ 152, 3, ISO_E_MALFORMED },    /* of a point that is not yet */
		{ 163, 0x7f, ISO_E_MALFORMED }, /* mean */
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		uint8_t *damaged = malloc(size);

		memcpy(damaged, bytes, size);
		damaged[damages[i].offset] = damages[i].value;
		if (damages[i].value == 0x7f)
			damaged[damages[i].offset - 1] = 0xf0;
		ck_assert_msg(iso_method_restore(method, damaged, size) == damages[i].status,
			      "damage %zu", i);
		free(damaged);
	}
	iso_method_save(method, after);
	ck_assert_mem_eq(fresh, after, fresh_size);
}
END_TEST

static struct iso_method *asgd(void)
{
	return timeline_make((struct iso_method_config){ .kind = ISO_METHOD_ASGD, .workers = 2 });
}

START_TEST(dies_of_a_begin_that_is_not_due)
{
	iso_method_begin(asgd(), NULL);
}
END_TEST

START_TEST(dies_of_a_gradient_from_the_future)
{
	struct iso_method *method = asgd();
	float gradient = 1;
	struct iso_method_arrival arrival = { 0, 1, &gradient };

	iso_method_join(method, 0, 1);
	(void)iso_method_arrive(method, &arrival);
}
END_TEST

START_TEST(dies_of_a_worker_without_threads)
{
	iso_method_join(asgd(), 0, 0);
}
END_TEST

START_TEST(dies_of_an_unknown_worker)
{
	iso_method_join(asgd(), 2, 1);
}
END_TEST

START_TEST(dies_of_a_start_from_elsewhere_after_the_start)
{
	static const struct line lines[] = { { "j0", "+0@0" }, { NULL, NULL } };
	struct iso_method *method = asgd();
	float x = 1;

	(void)timeline_play(method, lines);
	iso_method_set_point(method, &x);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("method_state");
	TCase *tc = tcase_create("method_state");

	tcase_add_test(tc, only_a_table_can_hold_gradients_of_a_saved_state);
	tcase_add_test(tc, a_saved_state_goes_on_where_it_was);
	tcase_add_test(tc, a_damaged_state_is_refused_and_changes_nothing);
	tcase_add_test_raise_signal(tc, dies_of_a_begin_that_is_not_due, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_gradient_from_the_future, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_worker_without_threads, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_an_unknown_worker, SIGABRT);
	tcase_add_test_raise_signal(tc, dies_of_a_start_from_elsewhere_after_the_start, SIGABRT);
	suite_add_tcase(suite, tc);
	return suite;
}

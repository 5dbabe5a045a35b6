/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/queue.h"
#include "tests/test.h"

/* The queue gives what a search of all entries would. */
START_TEST(the_queue_keeps_the_order_of_time_and_number)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_queue_entry heap[50];
	uint32_t place[50];
	double time[50];
	struct iso_queue queue;

	iso_queue_init(&queue, heap, place, 50);
	for (int i = 0; i < 50; i++)
		time[i] = -1;
	for (int step = 0; step < test_runs(20000); step++) {
		uint32_t id = (uint32_t)iso_rng_below(&rng, 50), first = 50;

		if (iso_rng_below(&rng, 3) != 0 || queue.count == 0) {
			time[id] = (double)iso_rng_below(&rng, 20);
			iso_queue_set(&queue, id, time[id]);
		} else {
			time[iso_queue_first(&queue)->id] = -1;
			iso_queue_remove_first(&queue);
		}
		for (uint32_t k = 0; k < 50; k++)
			if (time[k] >= 0 && (first == 50 || time[k] < time[first]))
				first = k;
		if (first == 50) {
			ck_assert_uint_eq(queue.count, 0);
			continue;
		}
		ck_assert_uint_eq(iso_queue_first(&queue)->id, first);
		ck_assert_double_eq(iso_queue_first(&queue)->time, time[first]);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("queue");
	TCase *tcase = tcase_create("order");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_queue_keeps_the_order_of_time_and_number);
	suite_add_tcase(suite, tcase);
	return suite;
}

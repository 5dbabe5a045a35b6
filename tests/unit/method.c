/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/method.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(names_differ)
{
	for (unsigned a = 1; a <= ISO_METHOD_KINDS; a++)
		for (unsigned b = 1; b < a; b++)
			ck_assert_str_ne(iso_method_text((enum iso_method_kind)a),
					 iso_method_text((enum iso_method_kind)b));
}
END_TEST

static struct iso_method_config config_of(enum iso_method_kind kind)
{
	return (struct iso_method_config){
		.kind = kind, .workers = 3, .params = 1, .depth_max = 1, .batch = 2,
		.delay_max = 2, .step = 1,
	};
}

START_TEST(every_number_of_the_configuration_is_checked)
{
	struct iso_method_config config = config_of(ISO_METHOD_RINGMASTER);
	char memory[16];
	struct iso_method *untouched = NULL;

	ck_assert_uint_gt(iso_method_size(&config), 0);
	ck_assert_int_eq(iso_method_init(memory, 8, &config, &untouched), ISO_E_SHORT);
	config.workers = 0;
	ck_assert_int_eq(iso_method_init(memory, sizeof(memory), &config, &untouched),
			 ISO_E_RANGE);
	ck_assert_ptr_null(untouched);
#define REFUSES(kind, change)                                         \
	do {                                                          \
		config = config_of(kind);                             \
		config.change;                                        \
		ck_assert_uint_eq(iso_method_size(&config), 0);       \
	} while (0)
	REFUSES(ISO_METHOD_ASGD, kind = 0);
	REFUSES(ISO_METHOD_ASGD, kind = 12);
	REFUSES(ISO_METHOD_ASGD, workers = UINT32_MAX);
	REFUSES(ISO_METHOD_ASGD, depth_max = 0);
	REFUSES(ISO_METHOD_ASGD, depth_max = UINT32_MAX);
	REFUSES(ISO_METHOD_ASGD, step = -1);
	REFUSES(ISO_METHOD_ASGD, step = (double)NAN);
	REFUSES(ISO_METHOD_ASGD, decay = HUGE_VAL);
	REFUSES(ISO_METHOD_RENNALA, batch = 0);
	REFUSES(ISO_METHOD_MALENIA, batch = 0);
	REFUSES(ISO_METHOD_RINGMASTER, delay_max = 0);
	REFUSES(ISO_METHOD_RINGMASTER_STOPS, delay_max = 0);
	REFUSES(ISO_METHOD_MINIBATCH, capped = true);
	REFUSES(ISO_METHOD_IA2SGD, capped = true);
	REFUSES(ISO_METHOD_NAIVE_OPTIMAL, capped = true);
	config = config_of(ISO_METHOD_RINGLEADER);
	config.workers = UINT32_MAX - 1;
	config.params = UINT32_MAX;
	ck_assert_uint_eq(iso_method_size(&config), 0);
#undef REFUSES
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("method");
	TCase *tc = tcase_create("method");

	tcase_add_test(tc, names_differ);
	tcase_add_test(tc, every_number_of_the_configuration_is_checked);
	suite_add_tcase(suite, tc);
	return suite;
}

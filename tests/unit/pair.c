/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sgd/pair.h"
#include "tests/test.h"

/* One letter an allocation: none, ata, ata-empirical, gta, uta, ofta, ata-pooled. */
static const struct {
	enum iso_method_kind kind;
	const char *verdicts; /* F fits, a needs an allocation, n takes none, g greedy */
} table[] = {
	{ ISO_METHOD_MINIBATCH, "aFFFFFF" },
	{ ISO_METHOD_RENNALA, "FnnFnnn" },
	{ ISO_METHOD_MALENIA, "Fnnnnnn" },
	{ ISO_METHOD_SGD_ATA, "aFFgFFF" },
	{ ISO_METHOD_ASGD, "FFFgFFF" },
	{ ISO_METHOD_DELAY_ADAPTIVE, "FFFgFFF" },
	{ ISO_METHOD_NAIVE_OPTIMAL, "Fnnnnnn" },
	{ ISO_METHOD_RINGMASTER, "FFFgFFF" },
	{ ISO_METHOD_RINGMASTER_STOPS, "FFFgFFF" },
	{ ISO_METHOD_RINGLEADER, "FFFgFFF" },
	{ ISO_METHOD_IA2SGD, "Fnnnnnn" },
};

START_TEST(each_method_goes_with_the_allocations_it_can_use)
{
	static const char letters[] = {
		[ISO_PAIR_FITS] = 'F',
		[ISO_PAIR_NEEDS_ALLOCATION] = 'a',
		[ISO_PAIR_TAKES_NONE] = 'n',
		[ISO_PAIR_GREEDY] = 'g',
	};

	ck_assert_uint_eq(sizeof(table) / sizeof(table[0]), ISO_METHOD_KINDS);
	for (unsigned m = 0; m < ISO_METHOD_KINDS; m++)
		for (unsigned a = 0; a <= ISO_STRATEGY_ATA_POOLED; a++) {
			enum iso_pair pair =
				iso_pair_check(table[m].kind, (enum iso_strategy_kind)a);

			ck_assert_msg(letters[pair] == table[m].verdicts[a],
				      "%s with allocation %u: %c", iso_method_text(table[m].kind),
				      a, letters[pair]);
		}
}
END_TEST

/* What fits with an allocation, other than greedily, can be made with it. */
START_TEST(what_fits_can_be_made)
{
	for (unsigned m = 1; m <= ISO_METHOD_KINDS; m++) {
		struct iso_method_traits traits = iso_method_traits((enum iso_method_kind)m);
		const struct iso_method_config config = {
			.kind = (enum iso_method_kind)m, .workers = 2, .depth_max = 1,
			.batch = 1, .delay_max = 1, .capped = !traits.wants_allocation,
		};
		bool fits = iso_pair_check(config.kind, ISO_STRATEGY_UTA) == ISO_PAIR_FITS;

		ck_assert_int_eq(fits, iso_method_size(&config) > 0);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("pair");
	TCase *tcase = tcase_create("pair");

	tcase_add_test(tcase, each_method_goes_with_the_allocations_it_can_use);
	tcase_add_test(tcase, what_fits_can_be_made);
	suite_add_tcase(suite, tcase);
	return suite;
}

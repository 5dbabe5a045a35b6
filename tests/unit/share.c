/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/trade/share.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "tests/test.h"

static struct iso_quant quant;

static struct iso_share_params params_of(enum iso_share_mode mode)
{
	ck_assert_ok(iso_quant_init(ISO_QUANT_RHO_DEFAULT, &quant));
	return (struct iso_share_params){
		.mode = mode,
		.quant = &quant,
		.uniform_step_q32 = ISO_PRICE_ONE / 4,
		.gamma = 0.9,
		.dead_band = 0.005,
		.relay_allow = 0.01,
		.stop_and_wait = true,
		.base_age_ns = 1000,
		.fresh_age_ns = 5000,
	};
}

static struct iso_share_heard heard_at(double price)
{
	return (struct iso_share_heard){
		.valid = true,
		.price = { iso_price_of_real(price), iso_price_of_real(price) },
		.curvature = 1,
		.head_ucpu = 1000000000,
		.degree = 1,
	};
}

static struct iso_share_offer offer_of(double price)
{
	int64_t p = iso_price_of_real(price);

	return (struct iso_share_offer){ p, p, 1 };
}

static int64_t any_price(struct iso_rng *rng)
{
	int64_t price = (int64_t)(iso_rng_next(rng) >> (3 + iso_rng_below(rng, 40)));

	return iso_rng_below(rng, 2) == 0 ? price : -price;
}

START_TEST(both_ends_know_the_same_price)
{
	struct iso_rng rng = { test_seed_base() };

	for (int mode = ISO_SHARE_DIFFERENCE; mode <= ISO_SHARE_NONE; mode++) {
		struct iso_share_params params = params_of((enum iso_share_mode)mode);

		for (int i = 0; i < test_runs(20000); i++) {
			int64_t price = any_price(&rng);
			int64_t reference = mode == ISO_SHARE_DIFFERENCE ? any_price(&rng) : 0;
			struct iso_share_code code = iso_share_encode(&params, price, reference);
			struct iso_share_price decoded;

			ck_assert_ok(iso_share_decode(&params, code.symbol, code.exact_q32,
						      reference, &decoded));
			ck_assert_int_eq(decoded.value_q32, code.value_q32);
			/* The certain sign: never cheaper than what it says. */
			if (mode == ISO_SHARE_DIFFERENCE)
				ck_assert_int_ge(decoded.upper_q32, price);
			else
				ck_assert_int_eq(decoded.upper_q32, decoded.value_q32);
			ck_assert_int_eq((int64_t)(float)decoded.value_q32, decoded.value_q32);
			ck_assert_int_eq((int64_t)(float)decoded.upper_q32, decoded.upper_q32);
			if (mode == ISO_SHARE_NONE)
				ck_assert_int_eq(decoded.value_q32, iso_price_round(price));
			else
				ck_assert_int_eq(code.exact_q32, 0);
		}
	}
}
END_TEST

START_TEST(the_error_of_a_difference_shrinks_with_it)
{
	struct iso_share_params params = params_of(ISO_SHARE_DIFFERENCE);
	struct iso_rng rng = { test_seed_base() };
	double delta = exp(0.125) - 1;

	for (int i = 0; i < test_runs(20000); i++) {
		int64_t price = any_price(&rng), reference = any_price(&rng);
		struct iso_share_code code = iso_share_encode(&params, price, reference);
		double error = fabs((double)(code.value_q32 - price));

		ck_assert_double_le(error, delta * fabs((double)price - (double)reference) +
					       fabs((double)price) * 0x1p-23 + 100);
	}
	/* As published, around lambda = 1 the error does not vanish. */
	params = params_of(ISO_SHARE_LOG);
	ck_assert_int_eq(iso_share_encode(&params, iso_price_of_real(1.05), 0).value_q32,
			 iso_share_encode(&params, iso_price_of_real(0.95), 0).value_q32);
}
END_TEST

START_TEST(uniform_rounds_to_its_step)
{
	struct iso_share_params params = params_of(ISO_SHARE_UNIFORM);
	struct iso_share_price price;

	ck_assert_int_eq(iso_share_encode(&params, iso_price_of_real(0.3), 0).symbol, 1);
	ck_assert_int_eq(iso_share_encode(&params, iso_price_of_real(-0.4), 0).symbol, -2);
	ck_assert_int_eq(iso_share_encode(&params, ISO_PRICE_MAX, 0).symbol, INT16_MAX);
	ck_assert_int_eq(iso_share_encode(&params, -ISO_PRICE_MAX, 0).symbol, -INT16_MAX);
	/* A step so large that its multiples leave the range. */
	params.uniform_step_q32 = ISO_PRICE_MAX;
	ck_assert_ok(iso_share_decode(&params, 5, 0, 0, &price));
	ck_assert_int_eq(price.value_q32, ISO_PRICE_MAX);
}
END_TEST

START_TEST(refuses_symbols_of_no_table)
{
	struct iso_share_price price = { 1, 2 };
	struct iso_share_params params = params_of(ISO_SHARE_DIFFERENCE);

	ck_assert_int_eq(iso_share_decode(&params, 30000, 0, 0, &price), ISO_E_UNKNOWN);
	params.mode = ISO_SHARE_LOG;
	ck_assert_int_eq(iso_share_decode(&params, -30000, 0, 0, &price), ISO_E_UNKNOWN);
	ck_assert_int_eq(price.value_q32, 1);
	ck_assert_int_eq(price.upper_q32, 2);
}
END_TEST

START_TEST(refuses_impossible_parameters)
{
	struct iso_share_params params = params_of(ISO_SHARE_UNIFORM), bad;

	ck_assert_ok(iso_share_check(&params));
#define refused(field, value)                                                                      \
	do {                                                                                       \
		bad = params;                                                                      \
		bad.field = (value);                                                               \
		ck_assert_int_eq(iso_share_check(&bad), ISO_E_RANGE);                              \
	} while (0)
	refused(mode, (enum iso_share_mode)0);
	refused(mode, (enum iso_share_mode)5);
	refused(gamma, 0);
	refused(gamma, 1.01);
	refused(gamma, NAN);
	refused(dead_band, -0.1);
	refused(relay_allow, 2);
	refused(uniform_step_q32, 0);
	refused(quant, NULL);
	refused(base_age_ns, 0);
	refused(fresh_age_ns, 0);
#undef refused
}
END_TEST

static int64_t relay_of(const struct iso_share_params *params, const struct iso_cost *cost,
			const struct iso_box *box, int64_t share_ucpu, uint64_t now_ns,
			const struct iso_share_heard *heard, uint32_t count)
{
	struct iso_share_crowd crowd = iso_share_crowd(cost, box, share_ucpu);

	for (uint32_t k = 0; k < count; k++)
		iso_share_crowd_add(&crowd, params, &heard[k], now_ns);
	return iso_share_relay(&crowd, cost, box);
}

START_TEST(a_saturated_node_relays)
{
	struct iso_share_params params = params_of(ISO_SHARE_DIFFERENCE);
	struct iso_cost cost = { .kind = ISO_COST_QUADRATIC,
				 .penalty = ISO_PENALTY_NONE,
				 .weight = 1,
				 .kappa = 1,
				 .demand_ucpu = 1000000 };
	struct iso_box box = { 100000, 600000 }; /* prices -0.9 .. -0.4 */
	struct iso_share_heard heard[2] = { heard_at(0.2), heard_at(-0.1) };
	struct iso_share_offer offer;

	/* Nobody heard: its own marginal cost. */
	offer = iso_share_offer(&cost, &box, 600000,
				relay_of(&params, &cost, &box, 600000, 100, heard, 0));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), -0.4, 1e-9);
	/* At its ceiling it shows the neighbourhood's mean price. */
	offer = iso_share_offer(&cost, &box, 600000,
				relay_of(&params, &cost, &box, 600000, 100, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), 0.05, 1e-9);
	ck_assert_double_eq_tol(iso_price_real(offer.marginal_q32), -0.4, 1e-9);
	/* The steeper neighbour counts less. */
	heard[0].curvature = 3;
	offer = iso_share_offer(&cost, &box, 600000,
				relay_of(&params, &cost, &box, 600000, 100, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32),
				(0.2 / 4 - 0.1 / 2) / (1.0 / 4 + 1.0 / 2), 1e-9);
	/* At its floor, if all others are cheaper still. */
	heard[0] = heard[1] = heard_at(-2);
	offer = iso_share_offer(&cost, &box, 100000,
				relay_of(&params, &cost, &box, 100000, 100, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), -2, 1e-9);
	/* Within the box mu is zero. */
	heard[0] = heard[1] = heard_at(-0.5);
	offer = iso_share_offer(&cost, &box, 300000,
				relay_of(&params, &cost, &box, 300000, 100, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), -0.7, 1e-9);
	/* What was heard long ago does not count. */
	heard[0] = heard[1] = heard_at(0.2);
	offer = iso_share_offer(&cost, &box, 600000,
				relay_of(&params, &cost, &box, 600000, 5001, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), -0.4, 1e-9);
	/* A ceiling below the floor turns the clamp around, and nothing breaks. */
	box = (struct iso_box){ 600000, 100000 };
	offer = iso_share_offer(&cost, &box, 600000,
				relay_of(&params, &cost, &box, 600000, 100, heard, 2));
	ck_assert_double_eq_tol(iso_price_real(offer.price_q32), 0.2, 1e-9);
}
END_TEST

START_TEST(the_dearer_side_gives_a_fraction_of_the_gap)
{
	struct iso_share_params params = params_of(ISO_SHARE_NONE);
	struct iso_share_heard heard = heard_at(0.5);
	struct iso_share_offer offer = offer_of(1.5);
	struct iso_share_decision decision;
	double remainder = 0;

	/* gap 1 - 0.005*1.5, over L + L = 2, times gamma and w = 2/(1+1) = 1, in CPUs. */
	decision = iso_share_flow(&params, &offer, 1, &heard, 10000000, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_GAVE);
	ck_assert_double_eq_tol(decision.wanted_ucpu, 0.9 * 0.9925 / 2 * 1e6, 1e-2);
	ck_assert_int_eq(decision.given_ucpu, 446625);
	ck_assert_double_eq_tol(remainder, decision.wanted_ucpu - 446625, 1e-9);
	/* With more neighbours on either side, less: w = 2/(1+9). */
	remainder = 0;
	heard.degree = 9;
	decision = iso_share_flow(&params, &offer, 3, &heard, 10000000, &remainder);
	ck_assert_int_eq(decision.given_ucpu, 446625 / 5);
	/* Caps. */
	decision = iso_share_flow(&params, &offer, 3, &heard, 7, &remainder);
	ck_assert_int_eq(decision.given_ucpu, 7);
	ck_assert_double_le(remainder, 1);
	decision = iso_share_flow(&params, &offer, 3, &heard, 0, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_FLOOR);
	heard.head_ucpu = 3;
	decision = iso_share_flow(&params, &offer, 3, &heard, 10, &remainder);
	ck_assert_int_eq(decision.given_ucpu, 3);
	heard.head_ucpu = 0;
	decision = iso_share_flow(&params, &offer, 3, &heard, 10, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_FULL);
	ck_assert_int_eq(decision.given_ucpu, 0);
}
END_TEST

START_TEST(the_cheaper_side_and_the_dead_band_give_nothing)
{
	struct iso_share_params params = params_of(ISO_SHARE_NONE);
	struct iso_share_heard heard = heard_at(1.0);
	struct iso_share_offer offer = offer_of(0.9);
	struct iso_share_decision decision;
	double remainder = 0.5;

	decision = iso_share_flow(&params, &offer, 1, &heard, 1000, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_CHEAPER);
	/* A negative gap pays back what was collected, to one unit and no further. */
	ck_assert_double_eq(remainder, -1);
	offer = offer_of(1.004);
	decision = iso_share_flow(&params, &offer, 1, &heard, 1000, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_DEAD_BAND);
	ck_assert_int_eq(decision.gap_q32, 0);
	/* Not certainly dearer: the price lies within the neighbour's interval. */
	heard.price.upper_q32 = iso_price_of_real(1.2);
	offer = offer_of(1.1);
	decision = iso_share_flow(&params, &offer, 1, &heard, 1000, &remainder);
	ck_assert_int_eq(decision.reason, ISO_SHARE_CHEAPER);
}
END_TEST

START_TEST(tiny_flows_add_up)
{
	struct iso_share_params params = params_of(ISO_SHARE_NONE);
	struct iso_share_heard heard = heard_at(0);
	double remainder = 0;
	int64_t given = 0;

	/* A gap of 1.4 units: 0.126 units of flow at w = 2/(1+9). */
	heard.degree = 9;
	struct iso_share_offer offer = offer_of(1.4e-6 * 2 / 0.995);
	for (int i = 0; i < 100; i++) {
		struct iso_share_decision decision =
		    iso_share_flow(&params, &offer, 9, &heard, 1000, &remainder);

		ck_assert(decision.reason == ISO_SHARE_COLLECTING ||
			  decision.reason == ISO_SHARE_GAVE);
		ck_assert_int_le(decision.given_ucpu, 1);
		given += decision.given_ucpu;
	}
	ck_assert_int_ge(given, 24);
	ck_assert_int_le(given, 26);
	/* Less than half a unit of gap: moving one would not lower the cost. */
	offer = offer_of(0.4e-6 * 2);
	remainder = 5;
	ck_assert_int_eq(iso_share_flow(&params, &offer, 1, &heard, 1000, &remainder).given_ucpu,
			 0);
	ck_assert_double_eq(remainder, 1);
}
END_TEST

/* Each transfer lowers the cost of the pair, whatever the step wants. */
START_TEST(a_transfer_never_overshoots)
{
	struct iso_rng rng = { test_seed_base() };
	struct iso_share_params params = params_of(ISO_SHARE_NONE);

	params.dead_band = 0;
	params.gamma = 1;
	for (int i = 0; i < test_runs(20000); i++) {
		double own = iso_rng_unit(&rng) * 10, other = iso_rng_unit(&rng) * 10;
		struct iso_share_heard heard = heard_at(other);
		struct iso_share_offer offer = offer_of(own);
		double remainder = 1000000 * iso_rng_unit(&rng);

		offer.curvature = 0.1 + iso_rng_unit(&rng);
		heard.curvature = 0.1 + iso_rng_unit(&rng);
		struct iso_share_decision decision =
		    iso_share_flow(&params, &offer, 1, &heard, (int64_t)1 << 40, &remainder);
		double d = (double)decision.given_ucpu * 1e-6;
		double curvature = offer.curvature + heard.curvature;

		/* -d g + L d^2 / 2 <= 0 with slack for one unit */
		ck_assert_double_le(-d * (own - other) + curvature * d * d / 2, 1e-9);
		if (own < other)
			ck_assert_int_eq(decision.given_ucpu, 0);
		ck_assert(remainder >= -1 && remainder <= 1);
	}
}
END_TEST

START_TEST(published_forms_compare_quantised_prices)
{
	struct iso_share_params params = params_of(ISO_SHARE_LOG);
	struct iso_share_heard heard = heard_at(0);
	struct iso_share_offer offer = offer_of(1.1);
	double remainder = 0;

	/* Both within one level around 1: equal, as published. */
	ck_assert_ok(iso_share_decode(&params,
				      iso_share_encode(&params, iso_price_of_real(0.9), 0).symbol,
				      0, 0, &heard.price));
	ck_assert_int_eq(iso_share_flow(&params, &offer, 1, &heard, 1000, &remainder).given_ucpu,
			 0);
	ck_assert_double_eq(remainder, 0);
}
END_TEST

START_TEST(head_room_shrinks_to_nothing)
{
	struct iso_share_params params = params_of(ISO_SHARE_NONE);

	ck_assert_int_eq(iso_share_head(&params, 1000000, 900000), 110000);
	ck_assert_int_eq(iso_share_head(&params, 1000000, 1010000), 0);
	ck_assert_int_eq(iso_share_head(&params, 1000000, 2000000), 0);
}
END_TEST

START_TEST(reasons_are_told_apart)
{
	for (int a = 0; a <= ISO_SHARE_ABORTED; a++)
		for (int b = 0; b < a; b++)
			ck_assert_str_ne(iso_share_reason_text((enum iso_share_reason)a),
					 iso_share_reason_text((enum iso_share_reason)b));
}
END_TEST

START_TEST(dies_of_a_negative_room)
{
	struct iso_share_params params = params_of(ISO_SHARE_NONE);
	struct iso_share_heard heard = heard_at(0);
	struct iso_share_offer offer = offer_of(1);
	double remainder = 0;

	iso_share_flow(&params, &offer, 1, &heard, -1, &remainder);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("share");
	TCase *tcase = tcase_create("advice");

	tcase_add_test(tcase, both_ends_know_the_same_price);
	tcase_add_test(tcase, the_error_of_a_difference_shrinks_with_it);
	tcase_add_test(tcase, uniform_rounds_to_its_step);
	tcase_add_test(tcase, refuses_symbols_of_no_table);
	tcase_add_test(tcase, refuses_impossible_parameters);
	tcase_add_test(tcase, a_saturated_node_relays);
	tcase_add_test(tcase, the_dearer_side_gives_a_fraction_of_the_gap);
	tcase_add_test(tcase, the_cheaper_side_and_the_dead_band_give_nothing);
	tcase_add_test(tcase, tiny_flows_add_up);
	tcase_add_test(tcase, a_transfer_never_overshoots);
	tcase_add_test(tcase, published_forms_compare_quantised_prices);
	tcase_add_test(tcase, head_room_shrinks_to_nothing);
	tcase_add_test(tcase, reasons_are_told_apart);
	tcase_add_test_raise_signal(tcase, dies_of_a_negative_room, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/sim/field.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define NODES	   20u
#define M	   2u
#define EDGES_MAX  (NODES * (NODES - 1) / 2)
#define BUDGET_CPU (3 * NODES / 2)

/* g_i(y) = sum over c of h_ic (y_c - t_ic)^2 / 2; the optimum of any nodes together is a mean. */
struct set {
	struct iso_graph_edge edges[EDGES_MAX];
	struct iso_graph graph;
	struct iso_site sites[NODES];
	double bend[NODES][M], target[NODES][M];
	struct iso_switching switching;
	struct iso_field_config config;
	struct iso_field *field;
	void *memory;
};

static double gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	const struct set *set = context;
	double value = 0;

	for (uint32_t c = 0; c < M; c++) {
		double off = y[c] - set->target[node][c];

		value += set->bend[node][c] * off * off / 2;
		ret_gradient[c] = set->bend[node][c] * off;
	}
	return value;
}

static void set_up(struct set *set, uint64_t seed)
{
	struct iso_rng rng = { seed };

	memset(set, 0, sizeof(*set));
	iso_graph_init(&set->graph, NODES, set->edges, EDGES_MAX);
	ck_assert_ok(iso_graph_exponential(&set->graph));
	for (uint32_t i = 0; i < NODES; i++) {
		set->sites[i] =
		    iso_site_draw(ISO_SITE_SCATTERED, ISO_COST_QUADRATIC, i, NODES, &rng);
		/* So much that no box is in the way: the one half has no penalties. */
		set->sites[i].cost.demand_ucpu += 1000000;
		set->sites[i].box = (struct iso_box){ 0, 20000000 };
		for (uint32_t c = 0; c < M; c++) {
			set->bend[i][c] = 0.2 + 0.8 * iso_rng_unit(&rng);
			set->target[i][c] = 10 * iso_rng_unit(&rng) - 5;
		}
	}
	set->switching = (struct iso_switching){
		.seed = seed, .up = 0.5, .dwell = 3, .promise = ISO_SWITCHING_CONNECTED, .turns = 1
	};
	set->config = (struct iso_field_config){
		.graph = &set->graph,
		.weights = ISO_WEIGHTS_METROPOLIS,
		.hold_rounds = 10,
		.sites = set->sites,
		.budget_ucpu = 1000000ll * BUDGET_CPU,
		.share_step = iso_field_share_step_max(set->sites, NODES, 2, 0) / 2,
		.price = { .mode = ISO_STREAM_NONE, .n = 1 },
		.params = M,
		.gradient = gradient,
		.context = set,
		.step = 0.5,
		.alpha = 0.2,
		.vector = { .mode = ISO_STREAM_NONE, .n = M },
	};
}

static void open_field(struct set *set)
{
	size_t size = iso_field_size(&set->config);

	ck_assert_uint_gt(size, 0);
	set->memory = malloc(size);
	ck_assert_ptr_nonnull(set->memory);
	ck_assert_ok(iso_field_init(set->memory, size, &set->config, &set->field));
}

static void tear_down(struct set *set)
{
	free(set->memory);
}

static void run(struct set *set, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		const char *violation;

		ck_assert_ok(iso_field_round(set->field));
		violation = iso_field_violation(set->field);
		ck_assert_msg(violation == NULL, "round %d: %s", i, violation);
	}
}

/* Largest distance of a node, which is not `without`, to the optimum of those that are not. */
static double distance(const struct set *set, uint32_t without)
{
	double worst = 0;

	for (uint32_t c = 0; c < M; c++) {
		double above = 0, below = 0;

		for (uint32_t i = 0; i < NODES; i++) {
			above += i != without ? set->bend[i][c] * set->target[i][c] : 0;
			below += i != without ? set->bend[i][c] : 0;
		}
		for (uint32_t i = 0; i < NODES; i++)
			if (i != without)
				worst = fmax(worst,
					     fabs(iso_field_y(set->field, i)[c] - above / below));
	}
	return worst;
}

START_TEST(shares_and_models_come_to_their_optimum)
{
	for (int pass = 0; pass < test_runs(5); pass++) {
		struct set set;

		set_up(&set, test_seed_base() + (uint64_t)pass);
		open_field(&set);
		run(&set, 2000);
		ck_assert_double_lt(fabs(iso_field_share_gap(set.field)), 1e-10);
		for (uint32_t i = 1; i < NODES; i++)
			ck_assert_double_eq_tol(iso_field_price(set.field, i),
						iso_field_price(set.field, 0), 1e-7);
		ck_assert_double_lt(distance(&set, NODES), 1e-10);
		for (uint32_t i = 0; i < NODES; i++)
			ck_assert_double_lt(fabs(iso_field_z(set.field, i)[0]), 1e-9);
		tear_down(&set);
	}
}
END_TEST

/* Links that come and go change the way, not the place. */
START_TEST(a_network_that_switches_comes_there_too)
{
	for (int steady = 0; steady < 2; steady++) {
		struct set set;
		struct iso_field_counts counts;

		set_up(&set, test_seed_base());
		set.config.switching = &set.switching;
		set.config.steady_weights = steady;
		set.config.vector.mode = ISO_STREAM_INNOVATION;
		set.config.vector.bits = 6;
		set.config.vector.rho = 0.25;
		open_field(&set);
		run(&set, 4000);
		ck_assert_double_lt(fabs(iso_field_share_gap(set.field)), 1e-9);
		ck_assert_double_lt(distance(&set, NODES), 1e-9);
		iso_field_counts(set.field, &counts);
		/* About half of the edges are up; what was missed costs bits. */
		ck_assert_uint_gt(counts.skipped, 4000ull * set.graph.edge_count / 3);
		ck_assert_uint_eq(counts.messages,
				  2 * (4000ull * set.graph.edge_count - counts.skipped));
		ck_assert_uint_gt(counts.catch_up_bits, 0);
		tear_down(&set);
	}
}
END_TEST

/* uniform stalls, log ends in a band of its values, innovation comes to the optimum. */
START_TEST(quantisers_end_where_they_can)
{
	const struct iso_stream_config streams[] = {
		{ .mode = ISO_STREAM_UNIFORM, .n = M, .bits = 8, .step = 0.125 },
		{ .mode = ISO_STREAM_LOG, .n = M, .bits = 8, .rho = 0.125 },
		{ .mode = ISO_STREAM_INNOVATION, .n = M, .bits = 6, .rho = 0.125 },
	};
	double ends[3];

	for (int i = 0; i < 3; i++) {
		struct set set;

		set_up(&set, test_seed_base());
		set.config.vector = streams[i];
		open_field(&set);
		run(&set, 3000);
		ends[i] = distance(&set, NODES);
		tear_down(&set);
	}
	ck_assert_double_gt(ends[0], 0.01);
	ck_assert_double_gt(ends[1], 1e-4);
	ck_assert_double_lt(ends[1], 0.5);
	ck_assert_double_lt(ends[2], 1e-10);
}
END_TEST

START_TEST(without_the_first_gradients_it_comes_elsewhere)
{
	struct set set;

	set_up(&set, test_seed_base());
	set.config.zero_start = true;
	open_field(&set);
	ck_assert_double_eq(iso_field_z(set.field, 3)[0], 0);
	run(&set, 3000);
	ck_assert_double_gt(distance(&set, NODES), 0.1);
	tear_down(&set);
}
END_TEST

/* A node falls silent, is dropped, and comes back: with what it knew, or without. */
START_TEST(who_is_left_finds_its_own_optimum)
{
	for (int forgot = 0; forgot < 2; forgot++) {
		struct set set;
		double share;

		set_up(&set, test_seed_base());
		set.config.vector.mode = ISO_STREAM_INNOVATION;
		set.config.vector.bits = 6;
		set.config.vector.rho = 0.25;
		open_field(&set);
		run(&set, 50);
		iso_field_silence(set.field, 7);
		share = iso_field_share(set.field, 7);
		run(&set, 10);
		ck_assert(!iso_field_is_dropped(set.field, 7));
		run(&set, 1500);
		ck_assert(iso_field_is_dropped(set.field, 7));
		ck_assert_double_eq(iso_field_share(set.field, 7), share);
		ck_assert_double_lt(distance(&set, 7), 1e-9);
		iso_field_return(set.field, 7, forgot);
		ck_assert(!iso_field_is_dropped(set.field, 7));
		ck_assert_ptr_null(iso_field_violation(set.field));
		if (forgot)
			ck_assert_double_lt(
			    fabs(iso_field_y(set.field, 7)[0] - iso_field_y(set.field, 6)[0]),
			    1e-8);
		run(&set, 2000);
		ck_assert_double_lt(distance(&set, NODES), 1e-9);
		ck_assert_double_lt(fabs(iso_field_share_gap(set.field)), 1e-9);
		tear_down(&set);
	}
}
END_TEST

/* The sums hold in every round of everything at once. */
START_TEST(no_chaos_breaks_the_sums)
{
	for (int pass = 0; pass < test_runs(20); pass++) {
		uint64_t seed = test_seed_base() + (uint64_t)pass;
		struct iso_rng rng = { seed };
		struct set set;
		bool away[NODES] = { false };

		set_up(&set, seed);
		set.switching.promise = ISO_SWITCHING_FREE;
		set.switching.dwell = 1;
		set.config.switching = &set.switching;
		set.config.hold_rounds = 3;
		set.config.price = (struct iso_stream_config){
			.mode = ISO_STREAM_LOG, .n = 1, .bits = 12, .rho = 0.25
		};
		set.config.vector.mode = ISO_STREAM_LOG;
		set.config.vector.bits = 12;
		set.config.vector.rho = 0.125;
		open_field(&set);
		for (int round = 0; round < 200; round++) {
			uint32_t node = (uint32_t)iso_rng_below(&rng, NODES);

			if (away[node])
				iso_field_return(set.field, node, iso_rng_below(&rng, 2) == 0);
			else if (iso_rng_below(&rng, 3) == 0)
				iso_field_silence(set.field, node);
			else
				continue;
			away[node] = !away[node];
			run(&set, 1 + (int)iso_rng_below(&rng, 6));
		}
		tear_down(&set);
	}
}
END_TEST

START_TEST(the_configuration_decides_every_bit)
{
	uint64_t digests[3];

	for (int i = 0; i < 3; i++) {
		struct set set;

		set_up(&set, test_seed_base());
		set.switching.seed += i == 2;
		set.config.switching = &set.switching;
		open_field(&set);
		run(&set, 100);
		digests[i] = iso_field_digest(set.field);
		tear_down(&set);
	}
	ck_assert_uint_eq(digests[0], digests[1]);
	ck_assert_uint_ne(digests[0], digests[2]);
}
END_TEST

START_TEST(what_diverges_says_so)
{
	struct set set;
	enum iso_status status = ISO_OK;

	set_up(&set, test_seed_base());
	set.config.step = 1;
	set.config.alpha = 100;
	set.config.vector.mode = ISO_STREAM_SINGLE;
	open_field(&set);
	for (int i = 0; i < 2000 && status == ISO_OK; i++)
		status = iso_field_round(set.field);
	ck_assert_int_eq(status, ISO_E_RANGE);
	ck_assert_int_eq(iso_field_round(set.field), ISO_E_RANGE);
	tear_down(&set);
}
END_TEST

/* Either half alone is the same half. */
START_TEST(halves_do_not_touch_each_other)
{
	struct set both, shares, models;

	set_up(&both, test_seed_base());
	set_up(&shares, test_seed_base());
	set_up(&models, test_seed_base());
	shares.config.params = 0;
	models.config.sites = NULL;
	open_field(&both);
	open_field(&shares);
	open_field(&models);
	run(&both, 50);
	run(&shares, 50);
	run(&models, 50);
	for (uint32_t i = 0; i < NODES; i++) {
		ck_assert_double_eq(iso_field_share(both.field, i),
				    iso_field_share(shares.field, i));
		ck_assert_mem_eq(iso_field_y(both.field, i), iso_field_y(models.field, i),
				 M * sizeof(double));
	}
	tear_down(&both);
	tear_down(&shares);
	tear_down(&models);
}

static double unrest(const struct iso_field *field)
{
	struct iso_track_motion motion = iso_field_motion(field, 1);

	return iso_track_unrest(&motion);
}
END_TEST

START_TEST(looks_say_what_is_there)
{
	struct set set;
	double mean[M], sum = 0, far = 0;

	set_up(&set, test_seed_base());
	open_field(&set);
	run(&set, 5);
	iso_field_mean(set.field, mean);
	for (uint32_t i = 0; i < NODES; i++) {
		const double *y = iso_field_y(set.field, i);

		sum += y[1] / NODES;
		far = fmax(far, hypot(y[0] - mean[0], y[1] - mean[1]));
	}
	ck_assert_double_eq_tol(mean[1], sum, 1e-12);
	ck_assert_double_eq_tol(iso_field_spread(set.field, mean), far, 1e-12);
	double value = 0, unused[M];

	for (uint32_t i = 0; i < NODES; i++)
		value += gradient(&set, i, mean, unused) / NODES;
	ck_assert_double_eq_tol(iso_field_objective(set.field, mean), value, 1e-12);
	ck_assert_double_gt(unrest(set.field), 0.1);
	run(&set, 3000);
	ck_assert_double_lt(unrest(set.field), 1e-8);
	tear_down(&set);
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	struct set set;
	double shares[NODES] = { 1 };
	struct iso_field *field = (struct iso_field *)&set;

	set_up(&set, test_seed_base());
	open_field(&set);
	size_t size = iso_field_size(&set.config);

	ck_assert_int_eq(iso_field_init(set.memory, size - 1, &set.config, &field), ISO_E_SHORT);
#define refused(member, value)                                                                     \
	do {                                                                                       \
		struct iso_field_config bad = set.config;                                          \
		bad.member = (value);                                                              \
		ck_assert_uint_eq(iso_field_size(&bad), 0);                                        \
		ck_assert_int_eq(iso_field_init(set.memory, size, &bad, &field), ISO_E_RANGE);     \
	} while (0)
	refused(weights, (enum iso_weights_kind)0);
	refused(budget_ucpu, 0);
	refused(budget_ucpu, 20000000ll * NODES + 1);
	refused(shares_cpu, shares);
	refused(share_step, 0);
	refused(share_step, NAN);
	refused(price.n, 2);
	refused(price.mode, (enum iso_stream_mode)0);
	refused(gradient, NULL);
	refused(step, -1);
	refused(alpha, 0);
	refused(vector.n, M + 1);
	refused(vector.mode, (enum iso_stream_mode)9);
#undef refused
	set.switching.dwell = 0;
	set.config.switching = &set.switching;
	ck_assert_uint_eq(iso_field_size(&set.config), 0);
	set.config.switching = NULL;
	set.config.sites = NULL;
	set.config.params = 0;
	ck_assert_uint_eq(iso_field_size(&set.config), 0);
	ck_assert_ptr_eq(field, (struct iso_field *)&set);
	tear_down(&set);
}
END_TEST

START_TEST(dies_of_a_node_that_is_not_there)
{
	struct set set;

	set_up(&set, test_seed_base());
	open_field(&set);
	iso_field_silence(set.field, NODES);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("field");
	TCase *tcase = tcase_create("rounds");

	tcase_add_test(tcase, shares_and_models_come_to_their_optimum);
	tcase_add_test(tcase, a_network_that_switches_comes_there_too);
	tcase_add_test(tcase, quantisers_end_where_they_can);
	tcase_add_test(tcase, without_the_first_gradients_it_comes_elsewhere);
	tcase_add_test(tcase, who_is_left_finds_its_own_optimum);
	tcase_add_test(tcase, no_chaos_breaks_the_sums);
	tcase_add_test(tcase, the_configuration_decides_every_bit);
	tcase_add_test(tcase, what_diverges_says_so);
	tcase_add_test(tcase, halves_do_not_touch_each_other);
	tcase_add_test(tcase, looks_say_what_is_there);
	tcase_add_test(tcase, refuses_what_cannot_be);
	tcase_add_test_raise_signal(tcase, dies_of_a_node_that_is_not_there, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}

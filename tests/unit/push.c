/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/track/push.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

#define M	    3u
#define NODES	    9u
#define SAMPLES_MAX 9u
#define METHODS	    (ISO_PUSH_METHODS + 1)

/* Least squares: sample s of node i is (x'y - t)^2 / 2, a node's objective the mean of its samples.
 */
struct problem {
	uint32_t samples[NODES];
	double x[NODES][SAMPLES_MAX][M];
	double target[NODES][SAMPLES_MAX];
	double optimum[M];
	double start[NODES][M];
	uint64_t whole; /* calls */
	uint64_t single;
	struct iso_arcs arcs;
	struct iso_arc memory[NODES * NODES];
};

static struct problem problem;

static void sample_gradient(void *context, uint32_t node, uint32_t sample, const double *at,
			    double *ret_gradient)
{
	struct problem *p = context;
	double residual = -p->target[node][sample];

	assert(sample < p->samples[node]); /* Check would write a mark at each call */
	for (uint32_t k = 0; k < M; k++)
		residual += p->x[node][sample][k] * at[k];
	for (uint32_t k = 0; k < M; k++)
		ret_gradient[k] = residual * p->x[node][sample][k];
	p->single++;
}

static void gradient(void *context, uint32_t node, const double *at, double *ret_gradient)
{
	struct problem *p = context;
	uint64_t single = p->single;
	double one[M];

	memset(ret_gradient, 0, M * sizeof(double));
	for (uint32_t s = 0; s < p->samples[node]; s++) {
		sample_gradient(p, node, s, at, one);
		for (uint32_t k = 0; k < M; k++)
			ret_gradient[k] += one[k] / p->samples[node];
	}
	p->single = single;
	p->whole++;
}

/* Centralised gradient descent on the sum of all nodes' objectives. */
static void find_optimum(void)
{
	double sum[M], one[M];

	memset(problem.optimum, 0, sizeof(problem.optimum));
	for (int k = 0; k < 20000; k++) {
		memset(sum, 0, sizeof(sum));
		for (uint32_t i = 0; i < NODES; i++) {
			gradient(&problem, i, problem.optimum, one);
			for (uint32_t j = 0; j < M; j++)
				sum[j] += one[j] / NODES;
		}
		for (uint32_t j = 0; j < M; j++)
			problem.optimum[j] -= 0.3 * sum[j];
	}
	for (uint32_t j = 0; j < M; j++)
		ck_assert_double_lt(fabs(sum[j]), 1e-13);
}

/*
 * Nodes see different things, in different numbers.  noise 0: one y explains all
 * samples, so that each single gradient vanishes at the optimum.
 */
static void make_problem(double noise, struct iso_rng *rng)
{
	static const double truth[M] = { 1, -2, 0.5 };

	for (uint32_t i = 0; i < NODES; i++) {
		problem.samples[i] = 1 + (uint32_t)iso_rng_below(rng, SAMPLES_MAX);
		for (uint32_t s = 0; s < problem.samples[i]; s++) {
			problem.target[i][s] = noise * (2 * iso_rng_unit(rng) - 1);
			for (uint32_t k = 0; k < M; k++) {
				problem.x[i][s][k] = 2 * iso_rng_unit(rng) - 1;
				problem.target[i][s] += truth[k] * problem.x[i][s][k];
			}
		}
		for (uint32_t k = 0; k < M; k++)
			problem.start[i][k] = 4 * iso_rng_unit(rng) - 2;
	}
	find_optimum();
}

/* Column-stochastic, but the rows sum to anything: Y matters. */
static void make_lopsided_arcs(struct iso_rng *rng)
{
	struct iso_graph_edge edges[NODES * NODES];
	struct iso_graph graph;
	uint32_t scratch[NODES];

	iso_graph_init(&graph, NODES, edges, NODES * NODES);
	ck_assert_ok(iso_graph_random(&graph, 3, rng));
	for (uint32_t i = 2; i < NODES; i++)
		ck_assert_ok(iso_graph_add(&graph, 0, i));
	iso_arcs_init(&problem.arcs, NODES, problem.memory, NODES * NODES);
	ck_assert_ok(iso_arcs_of_graph(&problem.arcs, &graph, scratch));
}

static struct iso_push_config configure(enum iso_push_method method)
{
	return (struct iso_push_config){
		.method = method,
		.m = M,
		.arcs = &problem.arcs,
		.gradient = gradient,
		.sample_gradient = sample_gradient,
		.context = &problem,
		.samples = problem.samples,
		.seed = 42,
	};
}

/* Root mean square distance of all nodes from the optimum over the last `last` of `steps`. */
static double run(enum iso_push_method method, double a, int steps, int last)
{
	struct iso_push_config config = configure(method);
	size_t size = iso_push_size(&config);
	void *memory = malloc(size);
	struct iso_push *push;
	double square = 0;

	ck_assert_ptr_nonnull(memory);
	ck_assert_ok(iso_push_init(memory, size, &config, problem.start[0], &push));
	for (int k = 0; k < steps; k++) {
		iso_push_step(push, a);
		for (uint32_t i = 0; k >= steps - last && i < NODES; i++)
			for (uint32_t j = 0; j < M; j++)
				square +=
				    pow(iso_push_estimate(push, i)[j] - problem.optimum[j], 2);
	}
	free(memory);
	return sqrt(square / last / NODES);
}

START_TEST(trackers_of_whole_gradients_and_saga_are_exact)
{
	struct iso_rng rng = { test_seed_base() };

	for (int round = 0; round < test_runs(3); round++) {
		make_problem(1, &rng);
		make_lopsided_arcs(&rng);
		ck_assert_double_lt(run(ISO_PUSH_ADDOPT, 0.1, 10000, 10), 1e-12);
		ck_assert_double_lt(run(ISO_PUSH_SAGA, 0.05, 30000, 10), 1e-11);
		ck_assert_double_lt(run(ISO_PUSH_SAGA_CTA, 0.05, 30000, 10), 1e-11);
	}
}
END_TEST

START_TEST(gradient_push_is_off_in_proportion_to_its_step)
{
	struct iso_rng rng = { test_seed_base() };
	double coarse, fine;

	make_problem(1, &rng);
	make_lopsided_arcs(&rng);
	coarse = run(ISO_PUSH_GP, 0.02, 20000, 10);
	fine = run(ISO_PUSH_GP, 0.01, 40000, 10);
	ck_assert_double_gt(coarse, 1e-4);
	ck_assert_double_gt(coarse / fine, 1.8);
	ck_assert_double_lt(coarse / fine, 2.2);
}
END_TEST

/* The mean square of the noise is in proportion to the step. */
START_TEST(sampling_without_slots_ends_in_a_ball_of_its_step)
{
	struct iso_rng rng = { test_seed_base() };
	double coarse, fine;

	make_problem(1, &rng);
	make_lopsided_arcs(&rng);
	coarse = run(ISO_PUSH_S_ADDOPT, 0.02, 60000, 40000);
	fine = run(ISO_PUSH_S_ADDOPT, 0.005, 200000, 160000);
	ck_assert_double_gt(coarse, 1e-3);
	ck_assert_double_gt(coarse / fine, 1.6);
	ck_assert_double_lt(coarse / fine, 2.6);
	coarse = run(ISO_PUSH_SGP, 0.02, 60000, 40000);
	ck_assert_double_gt(coarse, 1e-3);
	ck_assert_double_lt(coarse, 1);
	ck_assert_double_lt(run(ISO_PUSH_SGP, 0.005, 200000, 160000), coarse / 1.6);
}
END_TEST

START_TEST(all_are_exact_where_every_sample_agrees)
{
	struct iso_rng rng = { test_seed_base() };

	make_problem(0, &rng);
	make_lopsided_arcs(&rng);
	for (unsigned method = 1; method < METHODS; method++)
		ck_assert_double_lt(run(method, 0.05, 40000, 10), 1e-11);
}
END_TEST

/* Two nodes, one parameter, one sample each: the equations by hand. */
static const double hand_b[2][2] = { { 0.75, 0.5 }, { 0.25, 0.5 } };

struct hand {
	double theta[2], y[2], z[2], g[2], w[2];
};

static double hand_mix(int row, const double *v)
{
	return hand_b[row][0] * v[0] + hand_b[row][1] * v[1];
}

static void hand_step(struct hand *h, enum iso_push_method method, double a)
{
	bool tracks = method != ISO_PUSH_GP && method != ISO_PUSH_SGP;
	bool adapt_then_combine = method == ISO_PUSH_SAGA;
	const struct hand old = *h;
	const double *d = tracks ? old.w : old.g;
	double change[2];

	for (int i = 0; i < 2; i++) {
		h->theta[i] = hand_mix(i, old.theta);
		h->theta[i] -= a * (adapt_then_combine ? hand_mix(i, d) : d[i]);
		h->y[i] = hand_mix(i, old.y);
		h->z[i] = h->theta[i] / h->y[i];
		h->g[i] = i ? 2 * (2 * h->z[i] + 1) : h->z[i] - 3;
		change[i] = h->g[i] - old.g[i];
	}
	for (int i = 0; i < 2; i++)
		h->w[i] =
		    hand_mix(i, old.w) + (adapt_then_combine ? hand_mix(i, change) : change[i]);
}

static void make_hand_problem(void)
{
	memset(&problem, 0, sizeof(problem));
	problem.samples[0] = problem.samples[1] = 1;
	problem.x[0][0][0] = 1;
	problem.x[1][0][0] = 2;
	problem.target[0][0] = 3;
	problem.target[1][0] = -1;
	problem.start[0][0] = 1;
	problem.start[1][0] = -1;
	iso_arcs_init(&problem.arcs, 2, problem.memory, 4);
	for (uint32_t k = 0; k < 4; k++)
		problem.memory[k] = (struct iso_arc){ k % 2, k / 2, hand_b[k / 2][k % 2] };
	problem.arcs.arc_count = 4;
}

START_TEST(steps_are_the_equations)
{
	make_hand_problem();
	for (unsigned method = 1; method < METHODS; method++) {
		struct hand hand = { { 1, -1 }, { 1, 1 }, { 1, -1 }, { -2, -2 }, { -2, -2 } };
		struct iso_push_config config = configure(method);
		uint64_t memory[128];
		struct iso_push *push;
		double mean[M];

		ck_assert_uint_le(iso_push_size(&config), sizeof(memory));
		ck_assert_ok(
		    iso_push_init(memory, sizeof(memory), &config, problem.start[0], &push));
		for (int step = 0; step < 4; step++) {
			hand_step(&hand, method, 0.25);
			iso_push_step(push, 0.25);
			for (uint32_t i = 0; i < 2; i++)
				ck_assert_double_eq_tol(iso_push_estimate(push, i)[0], hand.z[i],
							1e-14);
			iso_push_mean(push, mean);
			ck_assert_double_eq_tol(mean[0], (hand.theta[0] + hand.theta[1]) / 2,
						1e-14);
		}
	}
}
END_TEST

START_TEST(counts_what_is_sent_and_computed)
{
	struct iso_push_config config;

	make_hand_problem();
	problem.samples[1] = 5;
	config = configure(ISO_PUSH_GP);
	ck_assert_uint_eq(iso_push_numbers(&config), 2 * (M + 1));
	ck_assert_uint_eq(iso_push_samples(&config), 6);
	config.method = ISO_PUSH_SAGA;
	ck_assert_uint_eq(iso_push_numbers(&config), 2 * (2 * M + 1));
	ck_assert_uint_eq(iso_push_samples(&config), 2);
}
END_TEST

START_TEST(too_little_memory_is_refused)
{
	struct iso_push_config config;
	struct iso_push *push = NULL;
	uint64_t memory[128];

	make_hand_problem();
	config = configure(ISO_PUSH_SAGA);
	ck_assert_int_eq(
	    iso_push_init(memory, iso_push_size(&config) - 1, &config, problem.start[0], &push),
	    ISO_E_SHORT);
	ck_assert_ptr_null(push);
}
END_TEST

START_TEST(names_differ)
{
	for (unsigned a = 1; a < METHODS; a++)
		for (unsigned b = 1; b < a; b++)
			ck_assert_str_ne(iso_push_name(a), iso_push_name(b));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("push");
	TCase *tcase = tcase_create("equations");

	tcase_add_test(tcase, steps_are_the_equations);
	tcase_add_test(tcase, counts_what_is_sent_and_computed);
	tcase_add_test(tcase, too_little_memory_is_refused);
	tcase_add_test(tcase, names_differ);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("where they end");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, trackers_of_whole_gradients_and_saga_are_exact);
	tcase_add_test(tcase, gradient_push_is_off_in_proportion_to_its_step);
	tcase_add_test(tcase, sampling_without_slots_ends_in_a_ball_of_its_step);
	tcase_add_test(tcase, all_are_exact_where_every_sample_agrees);
	suite_add_tcase(suite, tcase);
	return suite;
}

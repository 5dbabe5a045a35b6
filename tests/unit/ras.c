/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/ata/ras.h"
#include "tests/test.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define N_MAX 12

static void allocate(const double *scores, uint32_t n, uint32_t batch, uint32_t *ret_tasks)
{
	void *workspace = malloc(iso_ras_workspace_bytes(n));

	ck_assert_ptr_nonnull(workspace);
	/* The workspace may hold anything. */
	memset(workspace, 0xa5, iso_ras_workspace_bytes(n));
	memset(ret_tasks, 0xa5, n * sizeof(*ret_tasks));
	iso_ras(scores, n, batch, workspace, ret_tasks);
	free(workspace);
}

static uint64_t sum(const uint32_t *tasks, uint32_t n)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += tasks[i];
	return total;
}

static uint32_t maximisers(const double *scores, const uint32_t *tasks, uint32_t n)
{
	double loss = iso_ras_loss(scores, tasks, n);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += scores[i] * tasks[i] == loss;
	return count;
}

/*
 * Algorithm 8 as it stands: sorted scores, one task after the other; only the
 * used workers and the first unused one are candidates; among the places with
 * the smallest new loss, one that leaves the fewest maximisers.
 */
static void algorithm_8(const double *scores, uint32_t n, uint32_t batch, uint32_t *tasks)
{
	memset(tasks, 0, n * sizeof(*tasks));
	tasks[0] = 1;
	for (uint32_t given = 1; given < batch; given++) {
		uint32_t candidates = n, best = 0, best_count = UINT32_MAX;
		double best_loss = INFINITY;

		for (uint32_t i = 0; i < n; i++) {
			if (tasks[i] == 0) {
				candidates = i + 1;
				break;
			}
		}
		for (uint32_t i = 0; i < candidates; i++) {
			tasks[i]++;
			double loss = iso_ras_loss(scores, tasks, candidates);
			uint32_t count = maximisers(scores, tasks, candidates);
			tasks[i]--;
			if (loss < best_loss || (loss == best_loss && count < best_count)) {
				best = i;
				best_loss = loss;
				best_count = count;
			}
		}
		tasks[best]++;
	}
}

/* The smallest loss and the smallest number of maximisers at it, by trying everything. */
static void brute_force(const double *scores, uint32_t n, uint32_t left, uint32_t at,
			uint32_t *tasks, double *loss, uint32_t *count)
{
	if (at == n - 1) {
		tasks[at] = left;
		double this_loss = iso_ras_loss(scores, tasks, n);
		uint32_t this_count = maximisers(scores, tasks, n);
		if (this_loss < *loss || (this_loss == *loss && this_count < *count)) {
			*loss = this_loss;
			*count = this_count;
		}
		return;
	}
	for (uint32_t give = 0; give <= left; give++) {
		tasks[at] = give;
		brute_force(scores, n, left - give, at + 1, tasks, loss, count);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Small integers, so that ties are everywhere and products are exact. */
static uint32_t random_instance(struct iso_rng *rng, uint32_t n_max, double *scores)
{
	uint32_t n = 1 + (uint32_t)iso_rng_below(rng, n_max);
	uint32_t values = 1 + (uint32_t)iso_rng_below(rng, 9);

	for (uint32_t i = 0; i < n; i++)
		scores[i] = (double)(1 + iso_rng_below(rng, values));
	qsort(scores, n, sizeof(*scores), by_value);
	return n;
}

START_TEST(equals_algorithm_8_in_loss_and_maximisers)
{
	struct iso_rng rng = { test_seed_base() };
	double scores[N_MAX];
	uint32_t ours[N_MAX], literal[N_MAX];

	for (int run = 0; run < test_runs(20000); run++) {
		uint32_t n = random_instance(&rng, N_MAX, scores);
		uint32_t batch = 1 + (uint32_t)iso_rng_below(&rng, 30);
		double next = INFINITY;

		allocate(scores, n, batch, ours);
		/* Lemma D.1: a_j s_j <= (a_i + 1) s_i. */
		for (uint32_t i = 0; i < n; i++)
			next = fmin(next, (ours[i] + 1) * scores[i]);
		ck_assert_double_le(iso_ras_loss(scores, ours, n), next);
		algorithm_8(scores, n, batch, literal);
		ck_assert_uint_eq(sum(ours, n), batch);
		ck_assert_double_eq(iso_ras_loss(scores, ours, n),
				    iso_ras_loss(scores, literal, n));
		ck_assert_uint_eq(maximisers(scores, ours, n), maximisers(scores, literal, n));
	}
}
END_TEST

START_TEST(no_allocation_is_better)
{
	struct iso_rng rng = { test_seed_base() };
	double scores[N_MAX];
	uint32_t ours[N_MAX], all[N_MAX];

	for (int run = 0; run < test_runs(12000); run++) {
		uint32_t n = random_instance(&rng, 4, scores);
		uint32_t batch = 1 + (uint32_t)iso_rng_below(&rng, 8), count = UINT32_MAX;
		double loss = INFINITY;

		allocate(scores, n, batch, ours);
		brute_force(scores, n, batch, 0, all, &loss, &count);
		ck_assert_double_eq(iso_ras_loss(scores, ours, n), loss);
		ck_assert_uint_eq(maximisers(scores, ours, n), count);
	}
}
END_TEST

/* Lemma D.1: a_j s_j <= (a_i + 1) s_i, unsorted scores of all sizes. */
START_TEST(no_task_would_finish_earlier_elsewhere)
{
	struct iso_rng rng = { test_seed_base() };
	static double scores[3000];
	static uint32_t tasks[3000];

	for (int run = 0; run < test_runs(400); run++) {
		uint32_t n = 1 + (uint32_t)iso_rng_below(&rng, 3000);
		uint32_t batch = 1 + (uint32_t)iso_rng_below(&rng, 2 * n + 20);
		double spread = 40 * iso_rng_unit(&rng), next = INFINITY;

		for (uint32_t i = 0; i < n; i++)
			scores[i] = exp(spread * (iso_rng_unit(&rng) - 0.5));
		allocate(scores, n, batch, tasks);
		ck_assert_uint_eq(sum(tasks, n), batch);
		for (uint32_t i = 0; i < n; i++)
			next = fmin(next, (tasks[i] + 1) * scores[i]);
		ck_assert_double_le(iso_ras_loss(scores, tasks, n), next);
	}
}
END_TEST

/* What the header promises: the heap's allocation, ties to the lower index. */
static void one_by_one(const double *scores, uint32_t n, uint32_t batch, uint32_t *tasks)
{
	memset(tasks, 0, n * sizeof(*tasks));
	for (uint32_t given = 0; given < batch; given++) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < n; i++)
			if ((tasks[i] + 1) * scores[i] < (tasks[best] + 1) * scores[best])
				best = i;
		tasks[best]++;
	}
}

START_TEST(ties_go_to_the_lower_index)
{
	struct iso_rng rng = { test_seed_base() };
	static double scores[6000];
	static uint32_t tasks[6000], expected[6000];

	for (int run = 0; run < test_runs(60); run++) {
		/* Below and above the size from which the level is guessed from a sample. */
		uint32_t n = 1 + (uint32_t)iso_rng_below(&rng, run % 2 != 0 ? 6000 : 200);
		uint32_t batch = (uint32_t)iso_rng_below(&rng, 600);
		uint32_t values = 1 + (uint32_t)iso_rng_below(&rng, 12);

		for (uint32_t i = 0; i < n; i++)
			scores[i] = 0.1 * (double)(1 + iso_rng_below(&rng, values));
		allocate(scores, n, batch, tasks);
		one_by_one(scores, n, batch, expected);
		ck_assert_mem_eq(tasks, expected, n * sizeof(*tasks));
	}
}
END_TEST

/* Where the search starts is no business of the result. */
START_TEST(any_level_to_start_from_gives_the_same)
{
	struct iso_rng rng = { test_seed_base() };
	static double scores[6000];
	static uint32_t tasks[6000], near[6000];
	void *workspace = malloc(iso_ras_workspace_bytes(6000));

	for (int run = 0; run < test_runs(400); run++) {
		uint32_t n = 1 + (uint32_t)iso_rng_below(&rng, run % 20 == 0 ? 6000 : 200);
		uint32_t batch = (uint32_t)iso_rng_below(&rng, 600);
		uint32_t values = 1 + (uint32_t)iso_rng_below(&rng, 1000);

		for (uint32_t i = 0; i < n; i++)
			scores[i] = 0.1 * (double)(1 + iso_rng_below(&rng, values));
		allocate(scores, n, batch, tasks);
		double loss = iso_ras_loss(scores, tasks, n);
		const double levels[] = { loss,        loss * 0.999, loss * 1.001, loss / 3, 0,
					  loss * 1e-9, loss * 1e9,   0x1p-1074,    loss * 3 };

		for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
			iso_ras_near(scores, n, batch, levels[i], workspace, near);
			ck_assert_mem_eq(near, tasks, n * sizeof(*tasks));
		}
	}
	free(workspace);
}
END_TEST

START_TEST(gives_the_known_optimum_of_the_papers_times)
{
	static const uint32_t square_root[17] = { 4, 2, 2, 2, 1, 1, 1, 1, 1,
						  1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint32_t linear[9] = { 9, 4, 3, 2, 1, 1, 1, 1, 1 };
	double scores[51];
	uint32_t tasks[51];

	for (uint32_t n = 17; n <= 51; n += 34) {
		for (uint32_t i = 0; i < n; i++)
			scores[i] = 58 * sqrt(i + 1.0);
		allocate(scores, n, 23, tasks);
		ck_assert_mem_eq(tasks, square_root, sizeof(square_root));
		ck_assert_double_eq(iso_ras_loss(scores, tasks, n), 58 * sqrt(17.0));
		for (uint32_t i = 0; i < n; i++)
			scores[i] = 58 * (i + 1.0);
		allocate(scores, n, 23, tasks);
		ck_assert_mem_eq(tasks, linear, sizeof(linear));
		ck_assert_double_eq(iso_ras_loss(scores, tasks, n), 522);
	}
}
END_TEST

/* Adding to argmin a_i s_i instead would give (1, 1) and a loss of 10. */
START_TEST(a_second_task_may_be_better_than_an_idle_worker)
{
	const double scores[2] = { 1, 10 };
	uint32_t tasks[2];

	allocate(scores, 2, 2, tasks);
	ck_assert_uint_eq(tasks[0], 2);
	ck_assert_uint_eq(tasks[1], 0);
}
END_TEST

START_TEST(a_million_workers_work)
{
	const uint32_t n = 1000000;
	double *scores = malloc(n * sizeof(*scores));
	uint32_t *tasks = malloc(n * sizeof(*tasks));
	struct iso_rng rng = { test_seed_base() };

	for (int shape = 0; shape < 5; shape++) {
		double next = INFINITY;
		uint32_t batch = shape == 4 ? 3 : 100000;

		for (uint32_t i = 0; i < n; i++) {
			double u = iso_rng_unit(&rng);

			/* Uniform, all equal, over 12 decades, sorted downwards. */
			scores[i] = shape == 0 ? 1 + u :
				    shape == 1 ? 0.3 :
				    shape == 2 ? pow(10, 12 * u) :
						 (double)(n - i);
		}
		allocate(scores, n, batch, tasks);
		ck_assert_uint_eq(sum(tasks, n), batch);
		for (uint32_t i = 0; i < n; i++)
			next = fmin(next, (tasks[i] + 1) * scores[i]);
		ck_assert_double_le(iso_ras_loss(scores, tasks, n), next);
	}
	free(scores);
	free(tasks);
}
END_TEST

START_TEST(extreme_scores_and_batches_work)
{
	const double scores[3] = { 0x1p-1074, 1, 0x1p959 };
	const double equal[2] = { 3, 3 };
	uint32_t tasks[3];

	allocate(scores, 3, 5, tasks);
	ck_assert_uint_eq(tasks[0], 5);
	allocate(scores, 3, 0, tasks);
	ck_assert_uint_eq(sum(tasks, 3), 0);
	allocate(equal, 2, UINT32_MAX, tasks);
	ck_assert_uint_eq(sum(tasks, 2), UINT32_MAX);
	ck_assert_uint_eq(tasks[0], tasks[1] + 1);
	allocate(scores, 1, 1, tasks);
	ck_assert_uint_eq(tasks[0], 1);
}
END_TEST

START_TEST(dies_of_a_score_of_zero)
{
	const double scores[2] = { 1, 0 };
	uint32_t tasks[2];

	allocate(scores, 2, 2, tasks);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("ras");
	TCase *tcase = tcase_create("allocation");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, equals_algorithm_8_in_loss_and_maximisers);
	tcase_add_test(tcase, no_allocation_is_better);
	tcase_add_test(tcase, no_task_would_finish_earlier_elsewhere);
	tcase_add_test(tcase, ties_go_to_the_lower_index);
	tcase_add_test(tcase, any_level_to_start_from_gives_the_same);
	tcase_add_test(tcase, gives_the_known_optimum_of_the_papers_times);
	tcase_add_test(tcase, a_second_task_may_be_better_than_an_idle_worker);
	tcase_add_test(tcase, a_million_workers_work);
	tcase_add_test(tcase, extreme_scores_and_batches_work);
	tcase_add_test_raise_signal(tcase, dies_of_a_score_of_zero, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The same data, the same objective: what descent on our gradients finds is what
 * liblinear-train finds.  Its default has no bias, so ours is held at 0.
 */
#include "agent/train/dataset.h"
#include "lib/model/model.h"
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEART	 "/usr/share/doc/liblinear-tools/examples/heart_scale"
#define TRAIN	 "/usr/bin/liblinear-train"
#define SAMPLES	 270u
#define FEATURES 13u

static struct dataset data;
static float x[SAMPLES * FEATURES], targets[SAMPLES];
static float workspace[2 * SAMPLES], gradient[FEATURES + 1];

static void setup(void)
{
	uint32_t all[SAMPLES];
	struct error error;

	ck_assert_msg(dataset_open(HEART ",holdout=0", DATASET_TRAIN, &data, &error) == 0, "%s",
		      error.text);
	ck_assert_uint_eq(data.samples, SAMPLES);
	ck_assert_uint_eq(data.features, FEATURES);
	for (uint32_t j = 0; j < SAMPLES; j++)
		all[j] = j;
	dataset_gather(&data, all, SAMPLES, x);
	dataset_targets(&data, true, all, SAMPLES, targets);
}

static void teardown(void)
{
	dataset_close(&data);
}

/* Runs liblinear-train and reads its weights, turned to those of class 1 (label 1). */
static void train_theirs(int solver, double c, float params[FEATURES + 1])
{
	char model[] = "/tmp/isobar-liblinear-XXXXXX", command[256], line[256];
	int fd = mkstemp(model), first_label = 0;

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command), TRAIN " -q -s %d -c %g -e 1e-7 " HEART " %s", solver, c,
		 model);
	ck_assert_int_eq(system(command), 0);
	FILE *file = fopen(model, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL && strcmp(line, "w\n") != 0)
		(void)sscanf(line, "label %d", &first_label);
	ck_assert_int_eq(abs(first_label), 1);
	for (uint32_t f = 0; f < FEATURES; f++) {
		ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
		params[f] = (float)first_label * strtof(line, NULL);
	}
	params[FEATURES] = 0;
	fclose(file);
	unlink(model);
}

/* Gradient descent with Nesterov's momentum; the bias stays 0. */
static void train_ours(const struct iso_model *model, float params[FEATURES + 1])
{
	const struct iso_model_batch batch = { .x = x, .targets = targets, .count = SAMPLES };
	float ahead[FEATURES + 1] = { 0 };

	memset(params, 0, (FEATURES + 1) * sizeof(*params));
	for (int k = 0; k < 3000; k++) {
		float momentum = (float)k / (float)(k + 3);

		(void)iso_model_gradient(model, ahead, &batch, workspace, gradient);
		for (uint32_t f = 0; f < FEATURES; f++) {
			float next = ahead[f] - 0.05f * gradient[f];

			ahead[f] = next + momentum * (next - params[f]);
			params[f] = next;
		}
	}
}

static double objective(const struct iso_model *model, const float *params, uint32_t *ret_correct)
{
	const struct iso_model_batch batch = { .x = x, .targets = targets, .count = SAMPLES };

	return iso_model_loss(model, params, &batch, workspace, ret_correct);
}

static void compare(enum iso_model_kind kind, int solver, double c)
{
	/* w'w / 2 + C sum of losses, divided by C m. */
	const struct iso_model model = { kind, FEATURES, 2, 0, (float)(1 / (c * SAMPLES)) };
	float ours[FEATURES + 1], theirs[FEATURES + 1];
	uint32_t our_correct, their_correct;

	train_theirs(solver, c, theirs);
	train_ours(&model, ours);
	double our_value = objective(&model, ours, &our_correct);
	double their_value = objective(&model, theirs, &their_correct);
	ck_assert_double_eq_tol(our_value, their_value, 1e-4 * their_value);
	ck_assert_int_le(abs((int)our_correct - (int)their_correct), 1);
	ck_assert_uint_ge(our_correct, 220);
	for (uint32_t f = 0; f < FEATURES; f++)
		ck_assert_double_eq_tol((double)ours[f], (double)theirs[f], 0.02);
}

START_TEST(logistic_regression_finds_the_optimum_of_liblinear)
{
	compare(ISO_MODEL_LOGISTIC, 0, 1);
	compare(ISO_MODEL_LOGISTIC, 0, 0.05);
}
END_TEST

START_TEST(the_svm_finds_the_optimum_of_liblinear)
{
	compare(ISO_MODEL_SVM, 2, 1);
	compare(ISO_MODEL_SVM, 2, 0.05);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("liblinear");
	TCase *tcase = tcase_create("heart_scale");

	if (access(TRAIN, X_OK) != 0 || access(HEART, R_OK) != 0)
		test_skip_all("needs liblinear-tools");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, logistic_regression_finds_the_optimum_of_liblinear);
	tcase_add_test(tcase, the_svm_finds_the_optimum_of_liblinear);
	suite_add_tcase(suite, tcase);
	return suite;
}

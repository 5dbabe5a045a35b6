/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Accuracy and objective against time next to liblinear-train: the same file, the same
 * objective (C = 1), one thread each, in CPU time without reading the file, which is a
 * row of its own.  Ours is mini-batch SGD on the worker's path, measured as it goes;
 * theirs is a row of tolerances, each run of which ends at one point.  Its primal solvers
 * are the faster ones here.  The data are two classes of Fashion-MNIST that are hard to
 * tell apart.
 */
#include <cblas.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/train/worker_pool.h"
#include "lib/sgd/step.h"
#include "tests/bench/bench.h"

#define DATA	     "/usr/share/datasets/fashion-mnist"
#define TRAIN	     "/usr/bin/liblinear-train"
#define SHIRT	     6u
#define TOP	     0u
#define TASK_SAMPLES 128u
#define FEATURES     784u
#define POINTS_MAX   256u
#define STEPS	     6000u

/* What is reached after so much CPU time: on the test half, on the training half. */
struct point {
	double s, accuracy, objective;
};

struct curve {
	unsigned count;
	struct point points[POINTS_MAX];
};

/* One half as floats. */
struct rows {
	struct dataset data;
	float *x, *targets, *workspace;
	uint32_t *all;
};

struct bed {
	char folder[64], train[96];
	struct rows half[DATASET_TEST + 1];
	struct pool *pool;
	double their_reading_s;
};

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "liblinear: %s\n", what);
	exit(EXIT_FAILURE);
}

/* Two classes of a half as LIBSVM text, pixels from 0 to 1. */
static void write_half(const struct bed *bed, enum dataset_half half, const char *name)
{
	struct dataset images;
	struct error error;
	char path[160];

	must(dataset_open(DATA, half, &images, &error) == 0, error.text);
	snprintf(path, sizeof(path), "%s/%s", bed->folder, name);
	FILE *out = fopen(path, "we");
	must(out != NULL, path);
	for (uint32_t j = 0; j < images.samples; j++) {
		const uint8_t *row = images.pixels + (size_t)j * images.features;

		if (images.labels[j] != SHIRT && images.labels[j] != TOP)
			continue;
		fputs(images.labels[j] == SHIRT ? "+1" : "-1", out);
		for (uint32_t f = 0; f < images.features; f++)
			if (row[f] != 0)
				fprintf(out, " %u:%.4g", f + 1, row[f] / 255.0);
		fputc('\n', out);
	}
	must(fclose(out) == 0, path);
	dataset_close(&images);
}

static void load(struct bed *bed, enum dataset_half half)
{
	const struct iso_model any = { ISO_MODEL_LOGISTIC, FEATURES, 2, 0, 0 };
	struct rows *rows = &bed->half[half];
	struct error error;

	must(dataset_open(bed->train, half, &rows->data, &error) == 0, error.text);
	uint32_t samples = rows->data.samples;
	must(rows->data.features == FEATURES, "another data set than was thought");
	rows->x = calloc((size_t)samples * FEATURES, sizeof(*rows->x));
	rows->targets = calloc(samples, sizeof(*rows->targets));
	rows->workspace =
	    calloc(iso_model_workspace_floats(&any, samples), sizeof(*rows->workspace));
	rows->all = calloc(samples, sizeof(*rows->all));
	must(rows->x && rows->targets && rows->workspace && rows->all, "memory");
	for (uint32_t j = 0; j < samples; j++)
		rows->all[j] = j;
	dataset_gather(&rows->data, rows->all, samples, rows->x);
	dataset_targets(&rows->data, true, rows->all, samples, rows->targets);
}

static void unload(struct rows *rows)
{
	dataset_close(&rows->data);
	free(rows->x);
	free(rows->targets);
	free(rows->workspace);
	free(rows->all);
}

static void open_bed(struct bed *bed)
{
	struct error error;

	*bed = (struct bed){ .folder = "/tmp/isobar-liblinear-XXXXXX" };
	must(mkdtemp(bed->folder) != NULL, "temporary directory");
	write_half(bed, DATASET_TRAIN, "data");
	write_half(bed, DATASET_TEST, "data.t");
	snprintf(bed->train, sizeof(bed->train), "%s/data", bed->folder);
	load(bed, DATASET_TRAIN);
	load(bed, DATASET_TEST);
	must(pool_open(1, NULL, &bed->pool, &error) == 0, error.text);
}

static void close_bed(struct bed *bed)
{
	static const char *const names[] = { "data", "data.t", "model" };
	char path[160];

	bed->pool = pool_close(bed->pool);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", bed->folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(bed->folder);
	unload(&bed->half[DATASET_TRAIN]);
	unload(&bed->half[DATASET_TEST]);
}

static struct point measure(const struct bed *bed, const struct iso_model *model,
			    const float *params, double s)
{
	const struct rows *train = &bed->half[DATASET_TRAIN], *test = &bed->half[DATASET_TEST];
	const struct iso_model_batch trained = { .x = train->x,
						 .targets = train->targets,
						 .count = train->data.samples };
	const struct iso_model_batch tested = { .x = test->x,
						.targets = test->targets,
						.count = test->data.samples };
	uint32_t correct;

	(void)iso_model_loss(model, params, &tested, test->workspace, &correct);
	return (struct point){
		.s = s,
		.accuracy = (double)correct / test->data.samples,
		.objective = iso_model_loss(model, params, &trained, train->workspace, NULL),
	};
}

/* One gradient by the worker's thread. */
static struct task_result compute_one(struct bed *bed, const float *params, size_t bytes,
				      uint64_t step)
{
	const struct task task = {
		.term = 1, .version = step, .seed = step, .task = step, .samples = TASK_SAMPLES
	};
	struct pollfd ready = { .fd = pool_fd(bed->pool), .events = POLLIN };
	float *point = malloc(bytes);
	struct task_result result;

	must(point != NULL, "memory");
	memcpy(point, params, bytes);
	must(pool_set_point(bed->pool, step, point) == 0, "set the point");
	must(pool_submit(bed->pool, &task) == 0, "submit");
	while (!pool_take(bed->pool, &result))
		(void)poll(&ready, 1, -1);
	must(!result.abandoned, "a task was abandoned");
	return result;
}

static struct iso_model model_of(const struct bed *bed, enum iso_model_kind kind)
{
	/* C = 1. */
	return (struct iso_model){ kind, FEATURES, 2, 0,
				   1.0f / (float)bed->half[DATASET_TRAIN].data.samples };
}

/* SGD with a step that falls as 1 / (1 + k / 300). */
static void train_ours(struct bed *bed, enum iso_model_kind kind, float step, struct curve *curve)
{
	const struct rows *train = &bed->half[DATASET_TRAIN];
	const struct iso_model model = model_of(bed, kind);
	const struct lesson lesson = {
		.objective = objective_of_model(&model),
		.data = &train->data,
		.part = train->all,
		.part_samples = train->data.samples,
		.samples_max = TASK_SAMPLES,
	};
	float params[FEATURES + 1] = { 0 };
	double from_s = clock_cpu_s(), measuring_s = 0;

	pool_set_lesson(bed->pool, &lesson);
	curve->count = 0;
	for (uint32_t k = 0; k < STEPS; k++) {
		struct task_result result = compute_one(bed, params, sizeof(params), k + 1);

		iso_sgd_add(params, result.gradient, FEATURES + 1, -step / (1 + (float)k / 300));
		free(result.gradient);
		if (k % (STEPS / POINTS_MAX + 1) != 0)
			continue;
		double now_s = clock_cpu_s();
		curve->points[curve->count++] =
		    measure(bed, &model, params, now_s - from_s - measuring_s);
		measuring_s += clock_cpu_s() - now_s;
	}
}

static double spent_s(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* CPU time of one run of liblinear-train, the better of two. */
static double run_theirs(const struct bed *bed, int solver, double tolerance)
{
	char command[320];
	double best = 1e9;

	/* With B the bias is penalised, the less the larger B is; ours is not. */
	snprintf(command, sizeof(command), "exec %s -q -s %d -B 100 -e %g %s %s/model", TRAIN,
		 solver, tolerance, bed->train, bed->folder);
	for (int i = 0; i < 2; i++) {
		struct rusage before, after;

		getrusage(RUSAGE_CHILDREN, &before);
		must(system(command) == 0, command);
		getrusage(RUSAGE_CHILDREN, &after);
		double s = spent_s(&after) - spent_s(&before);
		best = s < best ? s : best;
	}
	return best;
}

/* Its weights as our parameters. */
static void read_model(const struct bed *bed, float params[FEATURES + 1])
{
	char path[160], line[256];
	float sign = 1;

	snprintf(path, sizeof(path), "%s/model", bed->folder);
	FILE *file = fopen(path, "re");
	must(file != NULL, path);
	while (fgets(line, sizeof(line), file) != NULL && strcmp(line, "w\n") != 0)
		if (strncmp(line, "label -1", 8) == 0)
			sign = -1;
	for (uint32_t f = 0; f <= FEATURES; f++) {
		must(fgets(line, sizeof(line), file) != NULL, "a weight");
		params[f] = sign * strtof(line, NULL);
	}
	params[FEATURES] *= 100;
	fclose(file);
}

static void train_theirs(struct bed *bed, enum iso_model_kind kind, struct curve *curve)
{
	static const double tolerances[] = { 2, 1, 0.5, 0.2, 0.1, 0.01 };
	const struct iso_model model = model_of(bed, kind);
	float params[FEATURES + 1];

	curve->count = 0;
	for (size_t i = 0; i < sizeof(tolerances) / sizeof(tolerances[0]); i++) {
		double s = run_theirs(bed, kind == ISO_MODEL_SVM ? 2 : 0, tolerances[i]);

		read_model(bed, params);
		/* Reading varies by more than the first steps take. */
		s -= bed->their_reading_s;
		curve->points[curve->count++] = measure(bed, &model, params, s > 0.001 ? s : 0.001);
	}
}

/*
 * When a curve gets there: an accuracy of at least, or an objective of at most `level`,
 * as the mean of `width` points, so that one lucky point does not count.  < 0: never.
 */
static double reached_s(const struct curve *curve, bool is_accuracy, double level, unsigned width)
{
	for (unsigned i = width - 1; i < curve->count; i++) {
		double sum = 0;

		for (unsigned j = 0; j < width; j++)
			sum += is_accuracy ? curve->points[i - j].accuracy
					   : curve->points[i - j].objective;
		if (is_accuracy ? sum / width >= level : sum / width <= level)
			return curve->points[i].s;
	}
	return -1;
}

static void print_level(const char *name, const struct curve *ours, const struct curve *theirs,
			bool is_accuracy, double level)
{
	double our_s = reached_s(ours, is_accuracy, level, 4);
	double their_s = reached_s(theirs, is_accuracy, level, 1);
	struct bench_pairs pairs = { 0 };
	char why[128];

	if (our_s < 0 || their_s < 0) {
		snprintf(why, sizeof(why), "%s gets there, %s", our_s < 0 ? "ours never" : "ours",
			 their_s < 0 ? "liblinear never" : "liblinear does");
		bench_skip(name, why);
		return;
	}
	bench_add(&pairs, our_s, their_s);
	bench_print(name, "s", &pairs, -1);
}

static void compare(struct bed *bed, enum iso_model_kind kind, float step)
{
	static const double accuracies[] = { 0.80, 0.82, 0.83, 0.84 };
	static const double objectives[] = { 1.2, 1.1, 1.05, 1.01 };
	static struct curve ours, theirs;
	double least = 1e9;
	char name[128];

	train_ours(bed, kind, step, &ours);
	train_theirs(bed, kind, &theirs);
	for (unsigned i = 0; i < theirs.count; i++)
		if (theirs.points[i].objective < least)
			least = theirs.points[i].objective;
	for (size_t i = 0; i < sizeof(accuracies) / sizeof(accuracies[0]); i++) {
		snprintf(name, sizeof(name), "%s, CPU time to accuracy %.2f / liblinear-train",
			 iso_model_kind_text(kind), accuracies[i]);
		print_level(name, &ours, &theirs, true, accuracies[i]);
	}
	for (size_t i = 0; i < sizeof(objectives) / sizeof(objectives[0]); i++) {
		snprintf(name, sizeof(name), "... to %.2f of the least objective / liblinear-train",
			 objectives[i]);
		print_level(name, &ours, &theirs, false, objectives[i] * least);
	}
}

/* Reading the file, theirs as a run that stops at once. */
static void compare_reading(struct bed *bed)
{
	struct bench_pairs pairs = { 0 }, lines = { 0 };
	struct stat info;
	char command[160];

	must(stat(bed->train, &info) == 0, bed->train);
	double megabytes = (double)info.st_size / 1e6;
	bed->their_reading_s = 1e9;
	for (int i = 0; i < 5; i++) {
		struct dataset data;
		struct error error;
		struct rusage before, after;
		double from_s = clock_cpu_s();

		must(dataset_open(bed->train, DATASET_TRAIN, &data, &error) == 0, error.text);
		double ours = clock_cpu_s() - from_s, theirs = run_theirs(bed, 2, 1e9);
		dataset_close(&data);
		snprintf(command, sizeof(command), "wc -l %s >/dev/null", bed->train);
		getrusage(RUSAGE_CHILDREN, &before);
		must(system(command) == 0, command);
		getrusage(RUSAGE_CHILDREN, &after);
		bench_add(&pairs, 1e3 * ours / megabytes, 1e3 * theirs / megabytes);
		bench_add(&lines, 1e3 * ours / megabytes,
			  1e3 * (spent_s(&after) - spent_s(&before)) / megabytes);
		if (theirs < bed->their_reading_s)
			bed->their_reading_s = theirs;
	}
	bench_print("reading LIBSVM text, CPU time a MB / liblinear-train", "ms", &pairs, -1);
	bench_print("... / wc -l, which only counts the lines", "ms", &lines, -1);
}

int main(void)
{
	static struct bed bed;

	if (access(TRAIN, X_OK) != 0 || access(DATA, R_OK) != 0) {
		bench_skip("accuracy against time / liblinear-train",
			   "needs liblinear-tools and dataset-fashion-mnist");
		return EXIT_SUCCESS;
	}
	openblas_set_num_threads(1);
	open_bed(&bed);
	compare_reading(&bed);
	compare(&bed, ISO_MODEL_LOGISTIC, 0.1f);
	compare(&bed, ISO_MODEL_SVM, 0.015f);
	close_bed(&bed);
	return EXIT_SUCCESS;
}

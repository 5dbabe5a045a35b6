/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Gradients of a worker, from the task in its queue to the result that the session
 * takes, against a bare loop over the same CBLAS calls on the same shapes: one that
 * goes through a data set of floats in order, and one that computes on the same 128
 * samples, which never leave the cache, again and again.  In CPU time of the process,
 * so that it does not matter what else the machine does.
 */
#include <cblas.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/train/worker_pool.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"

/* As Fashion-MNIST. */
#define SAMPLES	 60000u
#define FEATURES 784u
#define CLASSES	 10u
#define HIDDEN	 128u
/* As many samples at once as the worker takes. */
#define CHUNK 128u
#define PAIRS 15

static const struct way {
	const char *name;
	enum iso_model_kind kind;
	uint32_t classes, hidden, samples, tasks;
} WAYS[] = {
	{ "softmax 784 x 10, 1024 samples", ISO_MODEL_SOFTMAX, CLASSES, 0, 1024, 40 },
	/* The mini-batch of a task unless the configuration says otherwise. */
	{ "softmax 784 x 10, 256 samples", ISO_MODEL_SOFTMAX, CLASSES, 0, 256, 150 },
	{ "mlp 784 x 128 x 10, 1024 samples", ISO_MODEL_MLP, CLASSES, HIDDEN, 1024, 10 },
	{ "svm 784 x 10, 1024 samples", ISO_MODEL_SVM, CLASSES, 0, 1024, 40 },
	{ "logistic 784, 1024 samples", ISO_MODEL_LOGISTIC, 2, 0, 1024, 100 },
};

/* What the bare loops work on. */
static float *samples, hidden[CHUNK * HIDDEN], outputs[CHUNK * HIDDEN], ones[CHUNK];
static float weights[HIDDEN * FEATURES], weights_out[CLASSES * HIDDEN], gradient[HIDDEN * FEATURES];

static double cpu_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Forward and backward through a layer of d inputs and k outputs. */
static void layer(int d, int k, const float *in, const float *w, float *out)
{
	int m = (int)CHUNK;

	if (k == 1)
		cblas_sgemv(CblasRowMajor, CblasNoTrans, m, d, 1, in, d, w, 1, 0, out, 1);
	else
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, d, 1, in, d, w, d, 0,
			    out, k);
	if (k == 1)
		cblas_sgemv(CblasRowMajor, CblasTrans, m, d, 1, in, d, out, 1, 0, gradient, 1);
	else
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, d, m, 1, out, k, in, d, 0,
			    gradient, d);
	cblas_sgemv(CblasRowMajor, CblasTrans, m, k, 1, out, k, ones, 1, 0, gradient, 1);
}

static void bare_chunk(const struct way *way, const float *x)
{
	int d = (int)FEATURES, h = (int)HIDDEN, m = (int)CHUNK;
	int k = way->classes == 2 ? 1 : (int)way->classes;

	if (way->hidden == 0) {
		layer(d, k, x, weights, outputs);
		return;
	}
	layer(d, h, x, weights, hidden);
	layer(h, k, hidden, weights_out, outputs);
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, h, k, 1, outputs, k, weights_out,
		    h, 0, hidden, h);
}

static double bare(const struct way *way, bool is_cached)
{
	static uint32_t next;
	double from_us = cpu_us();

	for (uint32_t i = 0; i < way->tasks * (way->samples / CHUNK); i++) {
		bare_chunk(way, samples + (is_cached ? 0 : (size_t)next * FEATURES));
		next = next + 2 * CHUNK <= SAMPLES ? next + CHUNK : 0;
	}
	return (cpu_us() - from_us) / way->tasks;
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "gradient: %s\n", what);
	exit(EXIT_FAILURE);
}

/* All tasks are in the queue before one is taken: the thread never waits. */
static double worker(struct pool *pool, const struct way *way)
{
	struct pollfd ready = { .fd = pool_fd(pool), .events = POLLIN };
	struct task_result result;
	double from_us = cpu_us();

	for (uint32_t i = 0; i < way->tasks; i++) {
		const struct task task = {
			.term = 1, .version = 1, .seed = i, .task = i, .samples = way->samples
		};

		must(pool_submit(pool, &task) == 0, "submit");
	}
	for (uint32_t i = 0; i < way->tasks; i++) {
		while (!pool_take(pool, &result))
			(void)poll(&ready, 1, -1);
		must(!result.abandoned, "a task was abandoned");
		free(result.gradient);
	}
	return (cpu_us() - from_us) / way->tasks;
}

static void measure(struct pool *pool, const struct dataset *data, const uint32_t *part,
		    const struct way *way)
{
	const struct iso_model model = { way->kind, FEATURES, way->classes, way->hidden, 1e-4f };
	const struct lesson lesson = {
		.objective = objective_of_model(&model),
		.data = data,
		.part = part,
		.part_samples = SAMPLES,
		.samples_max = way->samples,
	};
	struct bench_pairs pairs = { 0 }, cached = { 0 };
	float *params = calloc(lesson.objective.params, sizeof(*params));
	char name[128];

	must(params != NULL, "memory");
	objective_init(&lesson.objective, 1, params);
	pool_set_lesson(pool, &lesson);
	must(pool_set_point(pool, 1, params) == 0, "set the point");
	for (int i = 0; i < PAIRS; i++) {
		double ours = worker(pool, way);

		bench_add(&pairs, ours, bare(way, false));
		bench_add(&cached, ours, bare(way, true));
	}
	snprintf(name, sizeof(name), "gradient, %s / bare CBLAS", way->name);
	/* As many gradients in the same time as 0.9 of the bare loop's. */
	bench_print(name, "us", &pairs, 1 / 0.9);
	snprintf(name, sizeof(name), "... %s / bare CBLAS in the cache", way->name);
	bench_print(name, "us", &cached, -1);
}

int main(void)
{
	static struct dataset data = { .samples = SAMPLES,
				       .features = FEATURES,
				       .classes = CLASSES };
	static uint32_t part[SAMPLES];
	struct iso_rng rng = { 1 };
	struct pool *pool;
	struct error error;

	openblas_set_num_threads(1);
	data.pixels = malloc((size_t)SAMPLES * FEATURES);
	data.labels = malloc(SAMPLES);
	samples = aligned_alloc(64, (size_t)SAMPLES * FEATURES * sizeof(*samples));
	must(data.pixels != NULL && data.labels != NULL && samples != NULL, "memory");
	for (size_t i = 0; i < (size_t)SAMPLES * FEATURES; i += 8) {
		uint64_t word = iso_rng_next(&rng);

		memcpy(data.pixels + i, &word, 8);
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		data.labels[i] = (uint8_t)(i % 2);
		part[i] = i;
	}
	data.classes = 2;
	for (size_t i = 0; i < (size_t)SAMPLES * FEATURES; i++)
		samples[i] = (float)data.pixels[i] / 255;
	for (size_t i = 0; i < CHUNK; i++)
		ones[i] = 1;
	for (size_t i = 0; i < HIDDEN * FEATURES; i++)
		weights[i] = 1e-3f * (float)iso_rng_unit(&rng);
	for (size_t i = 0; i < CLASSES * HIDDEN; i++)
		weights_out[i] = 1e-3f * (float)iso_rng_unit(&rng);
	must(pool_open(1, NULL, &pool, &error) == 0, error.text);
	for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++)
		measure(pool, &data, part, &WAYS[i]);
	pool_close(pool);
	dataset_close(&data);
	free(samples);
	return EXIT_SUCCESS;
}

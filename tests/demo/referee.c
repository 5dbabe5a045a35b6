/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * referee PLAN DATA FOLDER...: the models that the nodes of a plan have come to, one folder
 * each, beside what one machine with all of the data comes to: accelerated gradient
 * descent on the same objective, until it rests.  Prints one JSON object.
 */
#include "config.h"

#include <cblas.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/track/curvature.h"
#include "agent/track/local.h"
#include "agent/track/modelfile.h"

#define CHUNK	      500u
#define GRADIENTS_MAX 1500u
#define AT_REST	      1e-3 /* of the gradient's length at the start */

static struct plan plan;
static struct dataset train, test;

__attribute__((format(printf, 1, 2))) static _Noreturn void die(const char *format, ...)
{
	va_list arguments;

	fputs("referee: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\n", stderr);
	exit(1);
}

static void *memory(size_t count, size_t size)
{
	void *all = calloc(count, size);

	if (all == NULL)
		die("no memory");
	return all;
}

/* Arrays for one chunk of samples. */
struct desk {
	float *x, *targets, *workspace;
};

static struct desk desk_new(const struct iso_model *model)
{
	return (struct desk){
		.x = memory((size_t)CHUNK * model->features, sizeof(float)),
		.targets = memory(CHUNK, sizeof(float)),
		.workspace = memory(iso_model_workspace_floats(model, CHUNK), sizeof(float)),
	};
}

static struct iso_model_batch batch_of(const struct dataset *data, const struct iso_model *model,
				       const struct desk *desk, const uint32_t *samples,
				       uint32_t count)
{
	float *x = data->starts != NULL ? NULL : desk->x;

	return dataset_batch(data, iso_model_is_classifier(model), samples, count, x,
			     desk->targets);
}

/* Of the mean of all nodes' objectives. */
static double gradient(const struct local *locals, const struct desk *desk, const float *params,
		       float *ret_gradient)
{
	const struct iso_model *model = &locals[0].model;
	double value = 0;

	memset(ret_gradient, 0, locals[0].params * sizeof(float));
	for (unsigned i = 0; i < plan.nodes_count; i++)
		for (uint32_t at = 0; at < locals[i].samples_count; at += CHUNK) {
			uint32_t left = locals[i].samples_count - at;
			uint32_t count = left < CHUNK ? left : CHUNK;
			struct iso_model_batch batch =
			    batch_of(&train, model, desk, locals[i].samples + at, count);
			double weight = locals[i].weight * count / locals[i].samples_count /
					plan.nodes_count;

			value += iso_model_add(model, params, &batch, (float)weight,
					       desk->workspace, ret_gradient);
		}
	return value + iso_model_add_penalty(model, params, ret_gradient);
}

static double norm(const float *vector, uint32_t n)
{
	return (double)cblas_snrm2((int)n, vector, 1);
}

struct rest {
	unsigned gradients;  /* that it took */
	double value;	     /* reached */
	double gradient_len; /* left, of the one at the start */
};

/* Nesterov's, begun anew whenever the value rises. */
static struct rest descend(const struct local *locals, const struct desk *desk, double curvature,
			   float *params)
{
	uint32_t n = locals[0].params;
	float *g = memory(n, sizeof(float)), *at = memory(n, sizeof(float)),
	      *before = memory(n, sizeof(float));
	struct rest reached = { .value = INFINITY, .gradient_len = 1 };
	double start_len = 0, momentum = 1;

	memcpy(at, params, n * sizeof(float));
	while (reached.gradients < GRADIENTS_MAX) {
		double now = gradient(locals, desk, at, g);

		if (reached.gradients++ == 0)
			start_len = norm(g, n);
		reached.gradient_len = start_len > 0 ? norm(g, n) / start_len : 0;
		if (now > reached.value)
			momentum = 1;
		reached.value = now;
		memcpy(before, params, n * sizeof(float));
		for (uint32_t k = 0; k < n; k++)
			params[k] = at[k] - (float)(1 / curvature) * g[k];
		if (reached.gradient_len <= AT_REST)
			break;
		double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
		for (uint32_t k = 0; k < n; k++)
			at[k] = params[k] +
				(float)((momentum - 1) / next) * (params[k] - before[k]);
		momentum = next;
	}
	free(g);
	free(at);
	free(before);
	return reached;
}

static double accuracy(const struct iso_model *model, const struct desk *desk, const float *params)
{
	uint32_t samples[CHUNK], correct, all = 0;

	for (uint32_t at = 0; at < test.samples; at += CHUNK) {
		uint32_t count = test.samples - at < CHUNK ? test.samples - at : CHUNK;

		for (uint32_t i = 0; i < count; i++)
			samples[i] = at + i;
		struct iso_model_batch batch = batch_of(&test, model, desk, samples, count);
		(void)iso_model_loss(model, params, &batch, desk->workspace, &correct);
		all += correct;
	}
	return (double)all / test.samples;
}

/* The largest distance of a node's parameters to their mean, relative to the mean's length. */
static double spread(double *const *models, unsigned count, uint32_t n, float *ret_mean)
{
	double *mean = memory(n, sizeof(double)), worst = 0;

	for (unsigned i = 0; i < count; i++)
		cblas_daxpy((int)n, 1.0 / count, models[i], 1, mean, 1);
	double length = cblas_dnrm2((int)n, mean, 1);
	for (unsigned i = 0; i < count; i++) {
		double square = 0;

		for (uint32_t k = 0; k < n; k++)
			square += (models[i][k] - mean[k]) * (models[i][k] - mean[k]);
		worst = fmax(worst, sqrt(square) / length);
	}
	for (uint32_t k = 0; k < n; k++)
		ret_mean[k] = (float)mean[k];
	free(mean);
	return worst;
}

static void open_all(const char *file, const char *data, struct local *locals,
		     double *ret_curvature)
{
	struct error error = { 0 };

	if (plan_load(file, &plan, &error) < 0 ||
	    dataset_open(data, DATASET_TRAIN, &train, &error) < 0 ||
	    dataset_open(data, DATASET_TEST, &test, &error) < 0)
		die("%s", error.text);
	*ret_curvature = 0;
	for (unsigned i = 0; i < plan.nodes_count; i++) {
		if (local_open(&plan, i, &train, &locals[i], &error) < 0)
			die("%s", error.text);
		*ret_curvature = fmax(*ret_curvature, curvature_of(&locals[i]));
	}
}

int main(int argc, char **argv)
{
	static struct local locals[PLAN_NODES_MAX];
	double *models[PLAN_NODES_MAX], curvature;
	json_t *nodes = json_array();
	unsigned count = argc > 3 ? (unsigned)argc - 3 : 0;
	struct error error = { 0 };

	if (argc < 3 || count > PLAN_NODES_MAX)
		die("usage: referee PLAN DATA FOLDER...");
	openblas_set_num_threads(1);
	open_all(argv[1], argv[2], locals, &curvature);
	const struct iso_model *model = &locals[0].model;
	uint32_t n = locals[0].params;
	struct desk desk = desk_new(model);
	float *params = memory(n, sizeof(float)), *mean = memory(n, sizeof(float)),
	      *g = memory(n, sizeof(float));

	for (unsigned i = 0; i < count; i++) {
		struct modelfile file;

		if (modelfile_read(argv[3 + i], &file, &error) < 0)
			die("%s", error.text);
		if (iso_model_params(&file.model) != n ||
		    file.plan != plan_digest(&plan, train.checksum))
			die("%s: a model of another plan", argv[3 + i]);
		models[i] = file.params;
		for (uint32_t k = 0; k < n; k++)
			params[k] = (float)file.params[k];
		json_array_append_new(nodes, json_pack("{s:s, s:I, s:f}", "folder", argv[3 + i],
						       "round", (json_int_t)file.round, "accuracy",
						       accuracy(model, &desk, params)));
	}
	double apart = count > 0 ? spread(models, count, n, mean) : 0;
	double reached = gradient(locals, &desk, mean, g);
	iso_model_init(model, (uint64_t)plan.seed, params);
	struct rest rest = descend(locals, &desk, curvature, params);
	json_t *report = json_pack(
	    "{s:o, s:f, s:f, s:f, s:{s:f, s:f, s:i, s:f, s:b}}", "nodes", nodes, "spread", apart,
	    "accuracy", accuracy(model, &desk, mean), "loss", reached, "central", "accuracy",
	    accuracy(model, &desk, params), "loss", rest.value, "gradients", (int)rest.gradients,
	    "gradient_left", rest.gradient_len, "at_rest", rest.gradient_len <= AT_REST);
	json_dumpf(report, stdout, JSON_SORT_KEYS);
	putchar('\n');
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/train_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/batch.h"
#include "lib/data/partition.h"
#include "lib/draw.h"

/* Samples that are measured at once. */
#define CHUNK 512u

struct train_data {
	const struct scenario *scenario; /* borrowed */
	struct dataset train, test;	 /* test: only to measure the accuracy */
	struct iso_model model;
	uint32_t params;
	uint64_t seed;
	struct iso_partition_config partition;
	/* Owns: all below. */
	uint32_t *order; /* of the training samples, part by part; the ones measured first */
	uint32_t measured; /* samples of `measure` */
	uint32_t *measure;
	uint32_t *drawn; /* a mini-batch, or a chunk of those measured */
	float *x, *targets, *workspace, *gradient;
	double *sum;
};

static const enum iso_model_kind kinds[] = { ISO_MODEL_SOFTMAX,	 ISO_MODEL_MLP,
					     ISO_MODEL_SVM,	 ISO_MODEL_SVM_SMOOTH,
					     ISO_MODEL_LOGISTIC, ISO_MODEL_LINEAR };

static int make_model(struct train_data *data, struct error *reterr)
{
	const struct scenario *scenario = data->scenario;
	enum iso_model_kind kind = kinds[scenario->data.model];

	data->model = (struct iso_model){
		.kind = kind,
		.features = data->train.features,
		.classes = kind == ISO_MODEL_LINEAR ? 1 : data->train.classes,
		.hidden = kind == ISO_MODEL_MLP ? (uint32_t)scenario->data.hidden : 0,
		.l2 = (float)scenario->data.l2,
	};
	/* The files may have changed between the two halves. */
	bool fits = dataset_fits(&data->train, &data->model) &&
		    (data->test.samples == 0 || dataset_fits(&data->test, &data->model));
	if (!iso_model_valid(&data->model) || !fits)
		return error_set(reterr, -EINVAL, "section data: %s does not go with this data",
				 iso_model_kind_text(kind));
	data->params = iso_model_params(&data->model);
	return 0;
}

static const enum iso_partition_kind partitions[] = {
	[SCENARIO_IID] = ISO_PARTITION_IID,
	[SCENARIO_DIRICHLET] = ISO_PARTITION_DIRICHLET,
	[SCENARIO_OVERLAP] = ISO_PARTITION_OVERLAP,
	[SCENARIO_SHARED] = ISO_PARTITION_IID, /* of one part */
};

static int make_parts(struct train_data *data, struct error *reterr)
{
	const struct scenario *scenario = data->scenario;
	const struct iso_partition_config config = {
		.kind = partitions[scenario->data.partition],
		.parts =
		    scenario->data.partition == SCENARIO_SHARED ? 1 : (uint32_t)scenario->workers,
		.classes = data->train.classes,
		.alpha = scenario->data.dirichlet_alpha,
		.overlap = scenario->data.overlap,
		.seed = (uint64_t)scenario->data.partition_seed,
	};
	uint32_t samples = data->train.samples;
	uint32_t *workspace = calloc(iso_partition_workspace(&config, samples), sizeof(*workspace));

	data->partition = config;
	data->order = calloc(iso_partition_room(&config, samples), sizeof(*data->order));
	if (workspace == NULL || data->order == NULL) {
		free(workspace);
		return error_errno(reterr, -ENOMEM, "%u samples", samples);
	}
	enum iso_status status = ISO_E_RANGE;
	if (config.kind != ISO_PARTITION_DIRICHLET || data->train.labels != NULL)
		status =
		    iso_partition(&config, data->train.labels, samples, workspace, data->order);
	free(workspace);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL,
				 "section data: %u samples cannot be split so among %u workers",
				 samples, config.parts);
	uint32_t least = iso_partition_least(&config, samples);
	if (least < (uint64_t)scenario->data.samples_per_task)
		return error_set(reterr, -EINVAL,
				 "section data: a worker has %u samples, less than a task", least);
	return 0;
}

/* The samples that are measured: a random choice of those that somebody trains on. */
static int choose_measured(struct train_data *data, struct error *reterr)
{
	const struct scenario *scenario = data->scenario;
	bool tested = scenario->problem.measure == SCENARIO_ACCURACY;
	uint32_t samples = tested ? data->test.samples
				  : iso_partition_used(&data->partition, data->train.samples);
	struct iso_rng rng = { (uint64_t)scenario->data.partition_seed };

	data->measure = calloc(samples, sizeof(*data->measure));
	if (data->measure == NULL)
		return error_errno(reterr, -ENOMEM, "%u samples", samples);
	for (uint32_t i = 0; i < samples; i++)
		data->measure[i] = tested ? i : data->order[i];
	iso_draw_shuffle(&rng, data->measure, samples);
	data->measured = scenario->data.measured > 0 && scenario->data.measured < samples
			     ? (uint32_t)scenario->data.measured
			     : samples;
	return 0;
}

static int make_room(struct train_data *data, struct error *reterr)
{
	size_t count = (size_t)data->scenario->data.samples_per_task;
	/* Sparse rows are taken as they lie; a batch of them could be more than all memory. */
	bool has_rows =
	    data->train.starts == NULL || (data->test.samples > 0 && data->test.starts == NULL);

	if (count < CHUNK)
		count = CHUNK;
	data->drawn = calloc(count, sizeof(*data->drawn));
	data->targets = calloc(count, sizeof(*data->targets));
	if (has_rows)
		data->x = calloc(count * data->train.features, sizeof(*data->x));
	data->workspace = calloc(iso_model_workspace_floats(&data->model, (uint32_t)count) + 1,
				 sizeof(*data->workspace));
	data->gradient = calloc(data->params, sizeof(*data->gradient));
	data->sum = calloc(data->params, sizeof(*data->sum));
	if (data->drawn == NULL || data->targets == NULL || (has_rows && data->x == NULL) ||
	    data->workspace == NULL || data->gradient == NULL || data->sum == NULL)
		return error_errno(reterr, -ENOMEM, "a model of %u parameters", data->params);
	return 0;
}

static int fill_data(struct train_data *data, struct error *reterr)
{
	const struct scenario *scenario = data->scenario;

	if (scenario->problem.measure == SCENARIO_ACCURACY &&
	    kinds[scenario->data.model] == ISO_MODEL_LINEAR)
		return error_set(reterr, -EINVAL,
				 "section data: linear has no classes, and so no accuracy");
	int r = dataset_open(scenario->data.source, DATASET_TRAIN, &data->train, reterr);
	if (r == 0 && scenario->problem.measure == SCENARIO_ACCURACY)
		r = dataset_open(scenario->data.source, DATASET_TEST, &data->test, reterr);
	if (r == 0)
		r = make_model(data, reterr);
	if (r == 0)
		r = make_parts(data, reterr);
	if (r == 0)
		r = choose_measured(data, reterr);
	if (r == 0)
		r = make_room(data, reterr);
	return r;
}

int train_data_open(const struct scenario *scenario, uint64_t seed, struct train_data **ret_data,
		    struct error *reterr)
{
	struct train_data *data = calloc(1, sizeof(*data));

	if (data == NULL)
		return error_errno(reterr, -ENOMEM, "%s", scenario->data.source);
	data->scenario = scenario;
	data->seed = seed;
	int r = fill_data(data, reterr);
	if (r < 0) {
		train_data_close(data);
		return r;
	}
	*ret_data = data;
	return 0;
}

struct train_data *train_data_close(struct train_data *data)
{
	if (data == NULL)
		return NULL;
	dataset_close(&data->train);
	dataset_close(&data->test);
	free(data->order);
	free(data->measure);
	free(data->drawn);
	free(data->targets);
	free(data->x);
	free(data->workspace);
	free(data->gradient);
	free(data->sum);
	free(data);
	return NULL;
}

uint32_t train_data_params(const struct train_data *data)
{
	return data->params;
}

void train_data_start(const struct train_data *data, float *ret_x)
{
	iso_model_init(&data->model, data->seed, ret_x);
}

static struct iso_model_batch gather(struct train_data *data, const struct dataset *from,
				     const uint32_t *samples, uint32_t count)
{
	return dataset_batch(from, iso_model_is_classifier(&data->model), samples, count,
			     from->starts != NULL ? NULL : data->x, data->targets);
}

double train_data_gradient(struct train_data *data, uint32_t worker, const float *x,
			   struct iso_rng *rng, float *ret_gradient)
{
	uint32_t count = (uint32_t)data->scenario->data.samples_per_task;
	bool shared = data->scenario->data.partition == SCENARIO_SHARED;
	struct iso_part part =
	    iso_partition_part(&data->partition, data->train.samples, shared ? 0 : worker);

	iso_batch_draw(iso_rng_next(rng), data->order + part.first, part.count, count, data->drawn);
	struct iso_model_batch batch = gather(data, &data->train, data->drawn, count);
	return iso_model_gradient(&data->model, x, &batch, data->workspace, ret_gradient);
}

/* ||grad f||^2 over all that are measured. */
static double gradient_square(struct train_data *data, const float *x)
{
	double square = 0;

	memset(data->sum, 0, data->params * sizeof(*data->sum));
	for (uint32_t at = 0, count; at < data->measured; at += count) {
		count = data->measured - at < CHUNK ? data->measured - at : CHUNK;
		struct iso_model_batch batch =
		    gather(data, &data->train, data->measure + at, count);
		double weight = (double)count / data->measured;

		(void)iso_model_gradient(&data->model, x, &batch, data->workspace, data->gradient);
		for (uint32_t p = 0; p < data->params; p++)
			data->sum[p] += weight * (double)data->gradient[p];
	}
	for (uint32_t p = 0; p < data->params; p++)
		square += data->sum[p] * data->sum[p];
	return square;
}

double train_data_measure(struct train_data *data, const float *x)
{
	bool tested = data->scenario->problem.measure == SCENARIO_ACCURACY;
	double loss = 0;
	uint64_t right = 0;

	if (data->scenario->problem.measure == SCENARIO_GRADIENT_SQUARE)
		return gradient_square(data, x);
	for (uint32_t at = 0, count; at < data->measured; at += count) {
		count = data->measured - at < CHUNK ? data->measured - at : CHUNK;
		struct iso_model_batch batch =
		    gather(data, tested ? &data->test : &data->train, data->measure + at, count);
		uint32_t correct;

		loss += (double)count *
			iso_model_loss(&data->model, x, &batch, data->workspace, &correct);
		right += correct;
	}
	return tested ? (double)right / data->measured : loss / data->measured;
}

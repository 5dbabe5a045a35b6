/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/track_problem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/train/dataset.h"
#include "lib/data/binary.h"
#include "lib/data/toy.h"
#include "lib/model/reference.h"

#define SAMPLES_A_NODE 40u
#define TOLERANCE      1e-14
#define MARGIN	       0.1 /* between the classes of the ellipse */

/* Room for so many samples; 0 or -ENOMEM. */
static int make_room(struct track_problem *problem, struct error *reterr)
{
	size_t samples = problem->samples;

	problem->x = calloc(samples * problem->smooth.features, sizeof(double));
	problem->targets = calloc(samples, sizeof(double));
	problem->labels = calloc(samples, sizeof(uint8_t));
	if (problem->x != NULL && problem->targets != NULL && problem->labels != NULL)
		return 0;
	return error_errno(reterr, -ENOMEM, "%zu samples", samples);
}

static void label_by_targets(struct track_problem *problem)
{
	for (uint32_t j = 0; j < problem->samples; j++)
		problem->labels[j] = problem->targets[j] > 0.5;
}

static int make_ellipse(struct track_problem *problem, uint64_t seed, struct error *reterr)
{
	uint32_t samples = problem->samples, map = 3;
	double *points = calloc(2 * (size_t)samples, sizeof(double));
	double *mapped = calloc(map * (size_t)samples, sizeof(double));
	/* logistic has no offset of its own, hence a constant feature. */
	bool constant = problem->smooth.kind == ISO_SMOOTH_LOGISTIC;
	int r;

	problem->smooth.features = constant ? map + 1 : map;
	r = make_room(problem, reterr);
	if (r == 0 && (points == NULL || mapped == NULL))
		r = error_errno(reterr, -ENOMEM, "%u samples", samples);
	if (r == 0) {
		iso_toy_ellipse(seed, samples, MARGIN, points, problem->targets);
		iso_toy_map(points, samples, mapped);
		for (uint32_t j = 0; j < samples; j++) {
			double *row = problem->x + (size_t)j * problem->smooth.features;

			memcpy(row, mapped + map * (size_t)j, map * sizeof(double));
			if (constant)
				row[map] = 1;
		}
		label_by_targets(problem);
	}
	free(points);
	free(mapped);
	return r;
}

static int make_regression(struct track_problem *problem,
			   const struct track_problem_options *options, uint64_t seed,
			   struct error *reterr)
{
	double *truth = calloc(options->features + 1, sizeof(double));
	int r;

	problem->smooth.features = options->features;
	r = make_room(problem, reterr);
	if (r == 0 && truth == NULL)
		r = error_errno(reterr, -ENOMEM, "%u features", options->features);
	if (r == 0)
		iso_toy_regression(seed, problem->samples, options->features, options->noise,
				   problem->x, problem->targets, truth);
	free(truth);
	return r;
}

static int make_data(struct track_problem *problem, const struct track_problem_options *options,
		     uint64_t seed, struct error *reterr)
{
	int r;

	problem->samples =
	    options->samples > 0 ? options->samples : SAMPLES_A_NODE * problem->nodes;
	switch (options->kind) {
	case ISO_SMOOTH_REGRESSION: return make_regression(problem, options, seed, reterr);
	case ISO_SMOOTH_LOGISTIC:
	case ISO_SMOOTH_SVM: return make_ellipse(problem, seed, reterr);
	case ISO_SMOOTH_WAVES:
		problem->samples = problem->nodes;
		problem->smooth.features = 2;
		r = make_room(problem, reterr);
		if (r == 0)
			iso_toy_waves(seed, problem->nodes, 4, problem->x);
		return r;
	case ISO_SMOOTH_SOFTMAX: break;
	}
	return error_set(reterr, -EINVAL, "softmax needs data: there is none made for it");
}

/* Two classes of images, as the comparators' experiments have them. */
static int fill_binary(struct track_problem *problem, const struct track_problem_options *options,
		       const struct dataset *dataset, struct error *reterr)
{
	uint32_t limit = options->samples > 0 ? options->samples : dataset->samples;
	uint32_t *rows = calloc(dataset->samples, sizeof(*rows));
	int r = rows != NULL ? 0 : error_errno(reterr, -ENOMEM, "%u samples", dataset->samples);

	if (limit > dataset->samples)
		limit = dataset->samples;
	if (r == 0) {
		problem->samples = iso_binary_select(dataset->labels, dataset->samples,
						     options->zero, options->one, limit, rows);
		problem->smooth.features = dataset->features + 1;
		r = problem->samples > 0 ? make_room(problem, reterr)
					 : error_set(reterr, -EINVAL, "no sample of classes %u, %u",
						     options->zero, options->one);
	}
	if (r == 0) {
		iso_binary_fill(dataset->pixels, dataset->labels, dataset->features, options->one,
				rows, problem->samples, problem->x, problem->targets);
		label_by_targets(problem);
	}
	free(rows);
	return r;
}

static int fill_rows(struct track_problem *problem, const struct track_problem_options *options,
		     const struct dataset *dataset, struct error *reterr)
{
	float *x = calloc(dataset->features, sizeof(*x)), target;
	bool as_classes = options->kind != ISO_SMOOTH_REGRESSION;
	int r;

	problem->samples = options->samples > 0 && options->samples < dataset->samples
			       ? options->samples
			       : dataset->samples;
	problem->smooth.features = dataset->features;
	r = make_room(problem, reterr);
	if (r == 0 && x == NULL)
		r = error_errno(reterr, -ENOMEM, "%u features", dataset->features);
	for (uint32_t j = 0; j < problem->samples && r == 0; j++) {
		dataset_gather(dataset, &j, 1, x);
		dataset_targets(dataset, as_classes, &j, 1, &target);
		for (uint32_t f = 0; f < dataset->features; f++)
			problem->x[(size_t)j * dataset->features + f] = (double)x[f];
		problem->targets[j] = (double)target;
		problem->labels[j] = as_classes ? (uint8_t)target : 0;
	}
	free(x);
	return r;
}

static int read_data(struct track_problem *problem, const struct track_problem_options *options,
		     struct error *reterr)
{
	__attribute__((cleanup(dataset_close))) struct dataset dataset = { 0 };
	bool two = options->kind == ISO_SMOOTH_LOGISTIC || options->kind == ISO_SMOOTH_SVM;
	int r = dataset_open(options->data, DATASET_TRAIN, &dataset, reterr);

	if (r < 0)
		return r;
	if (options->kind == ISO_SMOOTH_WAVES)
		return error_set(reterr, -EINVAL, "waves has no data");
	if (options->kind != ISO_SMOOTH_REGRESSION && dataset.labels == NULL)
		return error_set(reterr, -EINVAL, "%s: its targets are no classes", options->data);
	if (two && dataset.pixels != NULL)
		return fill_binary(problem, options, &dataset, reterr);
	if (two && dataset.classes != 2)
		return error_set(reterr, -EINVAL, "%s has %u classes, %s needs two", options->data,
				 dataset.classes, iso_smooth_kind_text(options->kind));
	problem->smooth.classes = options->kind == ISO_SMOOTH_SOFTMAX ? dataset.classes : 0;
	return fill_rows(problem, options, &dataset, reterr);
}

static int split(struct track_problem *problem, const struct track_problem_options *options,
		 uint64_t seed, struct error *reterr)
{
	bool is_waves = options->kind == ISO_SMOOTH_WAVES;
	const struct iso_partition_config config = {
		.kind = options->partition,
		.parts = problem->nodes,
		.classes = problem->smooth.kind == ISO_SMOOTH_SOFTMAX ? problem->smooth.classes : 2,
		.alpha = options->dirichlet,
		.overlap = options->overlap,
		.seed = seed,
	};
	uint32_t *workspace;
	enum iso_status status;

	/* As if all samples were of one class the parts would be alike. */
	if (options->partition == ISO_PARTITION_DIRICHLET &&
	    (is_waves || options->kind == ISO_SMOOTH_REGRESSION))
		return error_set(reterr, -EINVAL,
				 "%s has no classes that dirichlet could part unevenly",
				 iso_smooth_kind_text(options->kind));
	if (is_waves) /* one row a node, as they come */
		return 0;
	if (iso_partition_check(&config, problem->samples) != ISO_OK)
		return error_set(reterr, -EINVAL, "%u samples cannot be split so among %u nodes",
				 problem->samples, problem->nodes);
	workspace =
	    calloc(iso_partition_workspace(&config, problem->samples) + 1, sizeof(*workspace));
	problem->order =
	    calloc(iso_partition_room(&config, problem->samples), sizeof(*problem->order));
	status = ISO_E_FULL;
	if (workspace != NULL && problem->order != NULL)
		status = iso_partition(&config, problem->labels, problem->samples, workspace,
				       problem->order);
	free(workspace);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "split among %u nodes: %s", problem->nodes,
				 iso_status_text(status));
	for (uint32_t i = 0; i < problem->nodes; i++) {
		struct iso_part part = iso_partition_part(&config, problem->samples, i);

		problem->parts[i].rows = problem->order + part.first;
		problem->parts[i].count = part.count;
	}
	return 0;
}

static int weigh(struct track_problem *problem, struct error *reterr)
{
	uint64_t total = 0;
	uint32_t most = 0;

	for (uint32_t i = 0; i < problem->nodes; i++) {
		problem->counts[i] = problem->parts[i].count;
		total += problem->parts[i].count;
		most = problem->counts[i] > most ? problem->counts[i] : most;
	}
	size_t doubles = iso_reference_workspace(&problem->smooth, problem->parts, problem->nodes);

	problem->params = iso_smooth_params(&problem->smooth);
	problem->workspace = calloc(doubles + 1, sizeof(double));
	problem->optimum = calloc(problem->params, sizeof(double));
	if (problem->workspace == NULL || problem->optimum == NULL)
		return error_errno(reterr, -ENOMEM, "%u parameters", problem->params);
	for (uint32_t i = 0; i < problem->nodes; i++) {
		double curvature;

		problem->parts[i].weight =
		    iso_smooth_weight(&problem->smooth, problem->counts[i], problem->nodes, total);
		curvature =
		    iso_smooth_curvature(&problem->smooth, &problem->parts[i], problem->workspace);
		problem->curvature = fmax(problem->curvature, curvature);
	}
	return 0;
}

static int fill(struct track_problem *problem, const struct track_problem_options *options,
		uint64_t seed, struct error *reterr)
{
	int r;

	problem->parts = calloc(problem->nodes, sizeof(*problem->parts));
	problem->counts = calloc(problem->nodes, sizeof(*problem->counts));
	if (problem->parts == NULL || problem->counts == NULL)
		return error_errno(reterr, -ENOMEM, "parts of %u nodes", problem->nodes);
	r = options->data != NULL ? read_data(problem, options, reterr)
				  : make_data(problem, options, seed, reterr);
	if (r < 0)
		return r;
	if (!iso_smooth_valid(&problem->smooth))
		return error_set(reterr, -EINVAL, "%s cannot have these parameters",
				 iso_smooth_kind_text(options->kind));
	for (uint32_t i = 0; i < problem->nodes; i++)
		problem->parts[i] = (struct iso_samples){
			.x = problem->x + (options->kind == ISO_SMOOTH_WAVES ? 2 * (size_t)i : 0),
			.targets = problem->targets,
			.count = 1,
		};
	r = split(problem, options, seed, reterr);
	if (r == 0)
		r = weigh(problem, reterr);
	if (r < 0)
		return r;
	problem->least = iso_reference_solve(&problem->smooth, problem->parts, problem->nodes,
					     TOLERANCE, problem->workspace, problem->optimum)
			     .value;
	return 0;
}

int track_problem_open(const struct track_problem_options *options, uint32_t nodes, uint64_t seed,
		       struct track_problem *ret_problem, struct error *reterr)
{
	bool is_svm = options->kind == ISO_SMOOTH_SVM;
	struct track_problem problem = {
		.nodes = nodes,
		.smooth = { .kind = options->kind,
			    .l2 = is_svm || options->kind == ISO_SMOOTH_WAVES ? 0 : options->l2,
			    .mu = is_svm ? options->mu : 0,
			    .c = is_svm ? options->c : 0 },
	};
	int r = fill(&problem, options, seed, reterr);

	if (r < 0) {
		track_problem_close(&problem);
		return r;
	}
	*ret_problem = problem;
	return 0;
}

void track_problem_close(struct track_problem *problem)
{
	free(problem->parts);
	free(problem->counts);
	free(problem->optimum);
	free(problem->x);
	free(problem->targets);
	free(problem->workspace);
	free(problem->order);
	free(problem->labels);
	memset(problem, 0, sizeof(*problem));
}

double track_problem_gradient(void *context, uint32_t node, const double *y, double *ret_gradient)
{
	struct track_problem *problem = context;

	return iso_smooth_gradient(&problem->smooth, y, &problem->parts[node], problem->workspace,
				   ret_gradient);
}

void track_problem_push_gradient(void *context, uint32_t node, const double *y,
				 double *ret_gradient)
{
	(void)track_problem_gradient(context, node, y, ret_gradient);
}

void track_problem_sample_gradient(void *context, uint32_t node, uint32_t sample, const double *y,
				   double *ret_gradient)
{
	struct track_problem *problem = context;

	iso_smooth_sample_gradient(&problem->smooth, y, &problem->parts[node], sample,
				   problem->workspace, ret_gradient);
}

double track_problem_value(struct track_problem *problem, const double *y)
{
	return iso_reference_mean(&problem->smooth, problem->parts, problem->nodes, y,
				  problem->workspace, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/model/layer.h"
#include "lib/model/loss.h"
#include "lib/model/relu.h"
#include "lib/rng.h"

bool iso_model_is_classifier(const struct iso_model *model)
{
	return model->kind != ISO_MODEL_LINEAR;
}

const char *iso_model_kind_text(enum iso_model_kind kind)
{
	switch (kind) {
	case ISO_MODEL_SOFTMAX: return "softmax";
	case ISO_MODEL_MLP: return "mlp";
	case ISO_MODEL_SVM: return "svm";
	case ISO_MODEL_SVM_SMOOTH: return "svm-smooth";
	case ISO_MODEL_LOGISTIC: return "logistic";
	case ISO_MODEL_LINEAR: return "linear";
	}
	return NULL;
}

static bool classes_valid(const struct iso_model *model)
{
	if (model->kind == ISO_MODEL_LINEAR)
		return model->classes == 1;
	if (model->kind == ISO_MODEL_LOGISTIC)
		return model->classes == 2;
	return model->classes >= 2 && model->classes <= ISO_MODEL_CLASSES_MAX;
}

/* Layers of a valid model: the last has the outputs. */
#define LAYERS_MAX 2u

static uint32_t layers_of(const struct iso_model *model, struct iso_layer layers[LAYERS_MAX])
{
	bool is_svm = model->kind == ISO_MODEL_SVM || model->kind == ISO_MODEL_SVM_SMOOTH;
	bool has_one = model->classes == 2 && (is_svm || model->kind == ISO_MODEL_LOGISTIC);
	uint32_t outputs = has_one ? 1 : model->classes;

	if (model->kind != ISO_MODEL_MLP) {
		layers[0] = (struct iso_layer){ model->features, outputs };
		return 1;
	}
	layers[0] = (struct iso_layer){ model->features, model->hidden };
	layers[1] = (struct iso_layer){ model->hidden, outputs };
	return 2;
}

static uint64_t params_of(const struct iso_model *model)
{
	struct iso_layer layers[LAYERS_MAX];
	uint32_t count = layers_of(model, layers);
	uint64_t params = 0;

	for (uint32_t l = 0; l < count; l++)
		params += layers[l].outputs * (layers[l].inputs + 1ull);
	return params;
}

bool iso_model_valid(const struct iso_model *model)
{
	bool is_mlp = model->kind == ISO_MODEL_MLP;

	if (iso_model_kind_text(model->kind) == NULL || model->features == 0 ||
	    !classes_valid(model) || (model->hidden > 0) != is_mlp)
		return false;
	if (!(model->l2 >= 0 && isfinite(model->l2)))
		return false;
	/* Sizes below the limit first: their products then fit 64 bits. */
	return model->features <= ISO_MODEL_PARAMS_MAX && model->hidden <= ISO_MODEL_PARAMS_MAX &&
	       params_of(model) <= ISO_MODEL_PARAMS_MAX;
}

uint32_t iso_model_params(const struct iso_model *model)
{
	assert(iso_model_valid(model));
	return (uint32_t)params_of(model);
}

/* [activations of the hidden layer][their residuals][outputs, then residuals][ones] */
struct desk {
	float *hidden, *hidden_residuals, *outputs, *ones;
};

static size_t lay_out(const struct iso_model *model, uint32_t count, float *workspace,
		      struct desk *ret_desk)
{
	struct iso_layer layers[LAYERS_MAX];
	uint32_t layers_count = layers_of(model, layers);
	size_t hidden = (size_t)count * model->hidden;
	size_t outputs = (size_t)count * layers[layers_count - 1].outputs;

	if (ret_desk != NULL)
		*ret_desk = (struct desk){
			.hidden = workspace,
			.hidden_residuals = workspace + hidden,
			.outputs = workspace + 2 * hidden,
			.ones = workspace + 2 * hidden + outputs,
		};
	return 2 * hidden + outputs + count;
}

size_t iso_model_workspace_floats(const struct iso_model *model, uint32_t count)
{
	assert(iso_model_valid(model));
	return lay_out(model, count, NULL, NULL);
}

void iso_model_init(const struct iso_model *model, uint64_t seed, float *ret_params)
{
	struct iso_layer layers[LAYERS_MAX];
	uint32_t count = layers_of(model, layers);
	struct iso_rng rng = { seed };

	memset(ret_params, 0, iso_model_params(model) * sizeof(*ret_params));
	if (model->kind != ISO_MODEL_MLP)
		return; /* convex: it does not matter, and zero has no bias */
	for (uint32_t l = 0; l < count; l++) {
		double bound = 1 / sqrt(layers[l].inputs);
		size_t params = iso_layer_params(layers[l]);

		for (size_t i = 0; i < params; i++)
			ret_params[i] = (float)(bound * (2 * iso_rng_unit(&rng) - 1));
		ret_params += params;
	}
}

/* The layer that has the samples as its inputs, whatever form they have. */
static void first_forward(struct iso_layer layer, const float *params,
			  const struct iso_model_batch *batch, float *ret_y)
{
	if (batch->x != NULL)
		iso_layer_forward(layer, params, batch->x, batch->count, ret_y);
	else
		iso_layer_forward_sparse(layer, params, batch->sparse, batch->rows, batch->count,
					 ret_y);
}

static void first_gradient(struct iso_layer layer, const struct iso_model_batch *batch,
			   const float *residuals, float *ones, float *gradient)
{
	if (batch->x != NULL)
		iso_layer_gradient(layer, batch->x, residuals, batch->count, ones, gradient);
	else
		iso_layer_gradient_sparse(layer, batch->sparse, batch->rows, residuals,
					  batch->count, gradient);
}

static void forward(const struct iso_model *model, const float *params,
		    const struct iso_model_batch *batch, const struct desk *desk)
{
	struct iso_layer layers[LAYERS_MAX];

	if (layers_of(model, layers) == 1) {
		first_forward(layers[0], params, batch, desk->outputs);
		return;
	}
	first_forward(layers[0], params, batch, desk->hidden);
	iso_relu(desk->hidden, (size_t)batch->count * model->hidden);
	iso_layer_forward(layers[1], params + iso_layer_params(layers[0]), desk->hidden,
			  batch->count, desk->outputs);
}

/* From the residuals of the outputs. */
static void backward(const struct iso_model *model, const float *params,
		     const struct iso_model_batch *batch, const struct desk *desk, float *gradient)
{
	struct iso_layer layers[LAYERS_MAX];

	if (layers_of(model, layers) == 1) {
		first_gradient(layers[0], batch, desk->outputs, desk->ones, gradient);
		return;
	}
	size_t first = iso_layer_params(layers[0]);
	iso_layer_gradient(layers[1], desk->hidden, desk->outputs, batch->count, desk->ones,
			   gradient + first);
	iso_layer_backward(layers[1], params + first, desk->outputs, batch->count,
			   desk->hidden_residuals);
	iso_relu_backward(desk->hidden, desk->hidden_residuals,
			  (size_t)batch->count * model->hidden);
	first_gradient(layers[0], batch, desk->hidden_residuals, desk->ones, gradient);
}

static double loss_of(const struct iso_model *model, const struct iso_loss_batch *batch)
{
	switch (model->kind) {
	case ISO_MODEL_SOFTMAX:
	case ISO_MODEL_MLP: return iso_loss_softmax(batch);
	case ISO_MODEL_SVM: return iso_loss_squared_hinge(batch);
	case ISO_MODEL_SVM_SMOOTH: return iso_loss_smooth_hinge(batch, ISO_MODEL_HINGE_MU);
	case ISO_MODEL_LOGISTIC: return iso_loss_logistic(batch);
	case ISO_MODEL_LINEAR: return iso_loss_squares(batch);
	}
	return 0;
}

static struct iso_loss_batch loss_batch(const struct iso_model *model,
					const struct iso_model_batch *batch,
					const struct desk *desk, float scale)
{
	struct iso_layer layers[LAYERS_MAX];
	uint32_t count = layers_of(model, layers);

	return (struct iso_loss_batch){
		.outputs = desk->outputs,
		.targets = batch->targets,
		.count = batch->count,
		.width = layers[count - 1].outputs,
		.scale = scale,
	};
}

double iso_model_add(const struct iso_model *model, const float *params,
		     const struct iso_model_batch *batch, float weight, float *workspace,
		     float *gradient)
{
	struct desk desk;

	assert(iso_model_valid(model));
	assert(weight > 0);
	(void)lay_out(model, batch->count, workspace, &desk);
	forward(model, params, batch, &desk);
	const struct iso_loss_batch outputs =
	    loss_batch(model, batch, &desk, weight / (float)batch->count);
	double loss = (double)weight * loss_of(model, &outputs) / batch->count;
	backward(model, params, batch, &desk, gradient);
	return loss;
}

double iso_model_add_penalty(const struct iso_model *model, const float *params, float *gradient)
{
	struct iso_layer layers[LAYERS_MAX];
	uint32_t count = layers_of(model, layers);
	double sum = 0;

	for (uint32_t l = 0; l < count && model->l2 > 0; l++) {
		size_t layer_params = iso_layer_params(layers[l]);

		sum += iso_layer_penalty(layers[l], params, model->l2, gradient);
		params += layer_params;
		gradient = gradient != NULL ? gradient + layer_params : NULL;
	}
	return sum;
}

double iso_model_gradient(const struct iso_model *model, const float *params,
			  const struct iso_model_batch *batch, float *workspace,
			  float *ret_gradient)
{
	memset(ret_gradient, 0, iso_model_params(model) * sizeof(*ret_gradient));
	double loss = iso_model_add(model, params, batch, 1, workspace, ret_gradient);

	return loss + iso_model_add_penalty(model, params, ret_gradient);
}

double iso_model_loss(const struct iso_model *model, const float *params,
		      const struct iso_model_batch *batch, float *workspace, uint32_t *ret_correct)
{
	struct desk desk;

	assert(iso_model_valid(model));
	(void)lay_out(model, batch->count, workspace, &desk);
	forward(model, params, batch, &desk);
	const struct iso_loss_batch outputs = loss_batch(model, batch, &desk, 0);
	if (ret_correct != NULL)
		*ret_correct = iso_model_is_classifier(model) ? iso_loss_correct(&outputs) : 0;
	double loss = loss_of(model, &outputs) / batch->count;
	return loss + iso_model_add_penalty(model, params, NULL);
}

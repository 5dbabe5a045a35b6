/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_MODEL_H
#define ISO_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is learnt: a loss over samples x_j with targets t_j, and its gradient.
 *
 *   f(w) = (1/m) sum_j loss(outputs(w, x_j), t_j) + l2/2 ||weights||^2
 *
 * Biases are not penalised.  Parameters are one array of floats; a layer is its
 * weights row by row (outputs x inputs), then its biases.  A target is a float:
 * the number of a class, or for linear the value itself.  Dense work is CBLAS's.
 */
enum iso_model_kind {
	/* Multinomial logistic regression: logsumexp(outputs) - outputs[t]. */
	ISO_MODEL_SOFTMAX = 1,
	/* features -> hidden, ReLU, hidden -> classes, then as softmax. */
	ISO_MODEL_MLP,
	/*
	 * L2-loss SVM, max(0, 1 - y output)^2, y = 1 for the class and -1 else.  Two
	 * classes have one output, for class 1; more have one each (one against the
	 * rest), whose losses are added.  With l2 = 1 / (C m) that is what
	 * liblinear calls L2-regularized L2-loss SVC.
	 */
	ISO_MODEL_SVM,
	/* The same with the smooth hinge ln(1 + exp(mu u)) / mu, u = 1 - y output. */
	ISO_MODEL_SVM_SMOOTH,
	/* Two classes, one output: ln(1 + exp(-y output)). */
	ISO_MODEL_LOGISTIC,
	/* Least squares: (output - t)^2 / 2; classes is 1. */
	ISO_MODEL_LINEAR,
};
#define ISO_MODEL_KIND_LAST ISO_MODEL_LINEAR

#define ISO_MODEL_CLASSES_MAX 256u
#define ISO_MODEL_HINGE_MU    10.0f
/* So that offsets of weights fit CBLAS's int. */
#define ISO_MODEL_PARAMS_MAX (1u << 28)

struct iso_model {
	enum iso_model_kind kind;
	uint32_t features;
	uint32_t classes; /* 2 .. ISO_MODEL_CLASSES_MAX; logistic: 2; linear: 1 */
	uint32_t hidden;  /* mlp: >= 1; others: 0 */
	float l2;	  /* >= 0 */
};

/* Whether the numbers make sense together; all else asserts it.  Params <= ISO_MODEL_PARAMS_MAX. */
bool iso_model_valid(const struct iso_model *model);

/* "softmax", "mlp", "svm", "svm-smooth", "logistic", "linear"; NULL for anything else. */
const char *iso_model_kind_text(enum iso_model_kind kind);

/* Whether targets are class numbers. */
bool iso_model_is_classifier(const struct iso_model *model);

uint32_t iso_model_params(const struct iso_model *model);

/* Floats of workspace for a batch of `count` samples. */
size_t iso_model_workspace_floats(const struct iso_model *model, uint32_t count);

/*
 * Where training starts: zeros, except mlp: weights and biases of a layer uniform
 * in +-1/sqrt(inputs), a function of the seed alone.
 */
void iso_model_init(const struct iso_model *model, uint64_t seed, float *ret_params);

/* A matrix whose row i is values[starts[i] .. starts[i + 1]) at as many columns, else 0. */
struct iso_sparse {
	const uint64_t *starts;
	const uint32_t *columns; /* < features */
	const float *values;
};

/* Samples and targets[count], count >= 1; class numbers are below classes. */
struct iso_model_batch {
	const float *x; /* [count][features]; NULL: these rows of a sparse matrix */
	const float *targets;
	uint32_t count;
	const struct iso_sparse *sparse;
	const uint32_t *rows; /* [count] */
};

/*
 * Returns the mean loss with penalty and fills ret_gradient[params].  Safe for any
 * finite outputs.  All arrays are borrowed for the call.
 */
double iso_model_gradient(const struct iso_model *model, const float *params,
			  const struct iso_model_batch *batch, float *workspace,
			  float *ret_gradient);

/*
 * The same in parts, for a batch that is computed piece by piece: adds weight times
 * the gradient of the piece's mean loss to gradient[params] and returns weight times
 * that loss, both without penalty.  weight > 0.
 */
double iso_model_add(const struct iso_model *model, const float *params,
		     const struct iso_model_batch *batch, float weight, float *workspace,
		     float *gradient);

/* Adds the gradient of the penalty, unless gradient is NULL, and returns the penalty. */
double iso_model_add_penalty(const struct iso_model *model, const float *params, float *gradient);

/*
 * iso_model_gradient() without gradient; *ret_correct counts the samples of which the
 * prediction is the target: the class with the largest output (the lowest wins a
 * tie), with one output class 1 if it is positive.  0 for linear.  ret_correct
 * may be NULL.
 */
double iso_model_loss(const struct iso_model *model, const float *params,
		      const struct iso_model_batch *batch, float *workspace, uint32_t *ret_correct);

#endif

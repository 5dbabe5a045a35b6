/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_SMOOTH_H
#define ISO_MODEL_SMOOTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Objectives of decentralised optimisation, in double, so that a gap of 1e-10 can
 * be told from rounding: node i has g_i of its own samples, all look for the y that
 * minimises the mean of the g_i (lib/track).  Of samples x_j with targets t_j:
 *
 *   regression  (weight/m) sum (beta'x - nu - t)^2 + l2/2 ||y||^2        y = (beta, nu)
 *   logistic    (weight/m) sum ln(1 + exp(-s y'x)) + l2/2 ||y||^2        s = 1 if t is 1, else -1
 *   softmax     (weight/m) sum (logsumexp_k(y_k'x) - y_t'x) + l2/2 ||y||^2   y: class by class
 *   svm         w'w + weight c sum ln(1 + exp(mu (1 - s (w'x - nu))))/mu     y = (w, nu)
 *   waves       4 y^2 + 3 sin^2 y + (weight/m) sum (a cos y + b y)       one y; x = (a, b)
 *
 * regression and svm are those of the authors' papers on distributed SVM and
 * regression, logistic is that of their code for S-ADDOPT and Push-SAGA, where the
 * constant feature is one of the data.  waves is their example of costs that are
 * not convex by themselves, with 4 y^2 for 2 y^2: if the a_i sum to 0, the
 * second derivative of the mean is 8 + 6 cos 2y >= 2, as the method assumes.
 *
 * The penalty is each node's own, and weight makes up for unequal parts:
 * with iso_smooth_weight() the mean of the g_i is the objective of all data.
 */
enum iso_smooth_kind {
	ISO_SMOOTH_REGRESSION = 1,
	ISO_SMOOTH_LOGISTIC,
	ISO_SMOOTH_SOFTMAX,
	ISO_SMOOTH_SVM,
	ISO_SMOOTH_WAVES,
};

/* So that the numbers of 64 samples, which are computed with at once, fit CBLAS's int. */
#define ISO_SMOOTH_PARAMS_MAX (1u << 24)

struct iso_smooth {
	enum iso_smooth_kind kind;
	uint32_t features; /* of a sample; waves: 2 */
	uint32_t classes;  /* softmax: >= 2; others: 0 */
	double l2;	   /* >= 0; svm, waves: 0 */
	double mu;	   /* svm: sharpness of the hinge, > 0; others: 0 */
	double c;	   /* svm: > 0; others: 0 */
};

/* Borrowed for each call. */
struct iso_samples {
	const double *x;       /* row r is x[r * features] .. */
	const double *targets; /* of row r; classes as their numbers; waves: not read */
	const uint32_t *rows;  /* [count]: the samples; NULL: rows 0 .. count - 1 */
	uint32_t count;	       /* >= 1 */
	double weight;	       /* > 0; 1 where parts are equal */
};

/* Whether the numbers make sense together; all else asserts it. */
bool iso_smooth_valid(const struct iso_smooth *smooth);

/* "regression", "logistic", "softmax", "svm", "waves"; NULL for anything else. */
const char *iso_smooth_kind_text(enum iso_smooth_kind kind);

uint32_t iso_smooth_params(const struct iso_smooth *smooth);

/*
 * The weight of a part of `count` samples, of `parts` that have `total` together:
 * parts * count / total.  svm sums over its samples, hence has 1.
 */
double iso_smooth_weight(const struct iso_smooth *smooth, uint32_t count, uint32_t parts,
			 uint64_t total);

/* Doubles of workspace for as many samples or fewer. */
size_t iso_smooth_workspace(const struct iso_smooth *smooth, uint32_t samples);

/* Returns g(y) and fills ret_gradient[params]; y[params].  Safe for any finite outputs. */
double iso_smooth_gradient(const struct iso_smooth *smooth, const double *y,
			   const struct iso_samples *samples, double *workspace,
			   double *ret_gradient);

double iso_smooth_value(const struct iso_smooth *smooth, const double *y,
			const struct iso_samples *samples, double *workspace);

/*
 * The stochastic gradient of sample 0 .. count - 1 of samples; the mean over all of
 * them is iso_smooth_gradient().
 */
void iso_smooth_sample_gradient(const struct iso_smooth *smooth, const double *y,
				const struct iso_samples *samples, uint32_t sample,
				double *workspace, double *ret_gradient);

/* ret_product[params] = Hessian of g at y, times direction[params]. */
void iso_smooth_hessian(const struct iso_smooth *smooth, const double *y,
			const struct iso_samples *samples, const double *direction,
			double *workspace, double *ret_product);

/*
 * L: no second derivative of g is larger, anywhere.  From the largest eigenvalue of
 * X'X, by Lanczos (40 steps from a random start) and 3 % more, by which the
 * probability that it is too small is below 1e-4 (Kuczynski and Wozniakowski 1992)
 * for up to 1000 features; never above ||X||^2.  Depends on the data alone.
 */
double iso_smooth_curvature(const struct iso_smooth *smooth, const struct iso_samples *samples,
			    double *workspace);

#endif

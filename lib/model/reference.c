/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/model/reference.h"

#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define STEPS_MAX   200u
#define DESCENT	    1e-4
#define HALVINGS    60
#define CG_ROUNDING 100 /* steps beyond the number of parameters, which are enough in theory */

struct problem {
	const struct iso_smooth *smooth;
	const struct iso_samples *parts;
	uint32_t n;
	int params;
	double magnitude; /* mean |g_i| of the latest evaluation: what rounding is relative to */
	double *workspace;
	/* Vectors of params. */
	double *part, *gradient, *direction, *residual, *search, *product, *trial, *trial_gradient;
};
#define VECTORS 8u

static void mean_hessian(const struct problem *problem, const double *y, const double *direction,
			 double *ret_product)
{
	memset(ret_product, 0, (size_t)problem->params * sizeof(*ret_product));
	for (uint32_t i = 0; i < problem->n; i++) {
		iso_smooth_hessian(problem->smooth, y, &problem->parts[i], direction,
				   problem->workspace, problem->part);
		cblas_daxpy(problem->params, 1.0 / problem->n, problem->part, 1, ret_product, 1);
	}
}

size_t iso_reference_workspace(const struct iso_smooth *smooth, const struct iso_samples *parts,
			       uint32_t n)
{
	size_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		size_t doubles = iso_smooth_workspace(smooth, parts[i].count);

		most = doubles > most ? doubles : most;
	}
	return most + (size_t)VECTORS * iso_smooth_params(smooth);
}

static struct problem lay_out(const struct iso_smooth *smooth, const struct iso_samples *parts,
			      uint32_t n, double *workspace)
{
	uint32_t params = iso_smooth_params(smooth);

	assert(n >= 1);
	return (struct problem){
		.smooth = smooth,
		.parts = parts,
		.n = n,
		.params = (int)params,
		.part = workspace,
		.gradient = workspace + 1 * (size_t)params,
		.direction = workspace + 2 * (size_t)params,
		.residual = workspace + 3 * (size_t)params,
		.search = workspace + 4 * (size_t)params,
		.product = workspace + 5 * (size_t)params,
		.trial = workspace + 6 * (size_t)params,
		.trial_gradient = workspace + 7 * (size_t)params,
		.workspace = workspace + VECTORS * (size_t)params,
	};
}

static double dot(const struct problem *problem, const double *a, const double *b)
{
	return cblas_ddot(problem->params, a, 1, b, 1);
}

static double evaluate(struct problem *problem, const double *y, double *ret_gradient)
{
	int params = problem->params;
	double sum = 0;

	problem->magnitude = 0;
	memset(ret_gradient, 0, (size_t)params * sizeof(*ret_gradient));
	for (uint32_t i = 0; i < problem->n; i++) {
		double value = iso_smooth_gradient(problem->smooth, y, &problem->parts[i],
						   problem->workspace, problem->part);

		sum += value;
		problem->magnitude += fabs(value) / problem->n;
		cblas_daxpy(params, 1.0 / problem->n, problem->part, 1, ret_gradient, 1);
	}
	return sum / problem->n;
}

/*
 * direction = - Hessian^-1 gradient, as far as the residual is below `limit`; what has
 * been found, at least the negative gradient, where the curvature turns negative.
 */
static void newton_direction(const struct problem *problem, const double *y, double limit)
{
	size_t bytes = (size_t)problem->params * sizeof(double);
	int params = problem->params;
	double square = dot(problem, problem->gradient, problem->gradient);

	memset(problem->direction, 0, bytes);
	memcpy(problem->residual, problem->gradient, bytes);
	cblas_dscal(params, -1, problem->residual, 1);
	memcpy(problem->search, problem->residual, bytes);
	for (int step = 0; step < params + CG_ROUNDING && sqrt(square) > limit; step++) {
		mean_hessian(problem, y, problem->search, problem->product);
		double curvature = dot(problem, problem->search, problem->product);

		if (!(curvature > 0)) {
			if (step == 0)
				memcpy(problem->direction, problem->search, bytes);
			return;
		}
		cblas_daxpy(params, square / curvature, problem->search, 1, problem->direction, 1);
		cblas_daxpy(params, -square / curvature, problem->product, 1, problem->residual, 1);
		double next = dot(problem, problem->residual, problem->residual);
		cblas_dscal(params, next / square, problem->search, 1);
		cblas_daxpy(params, 1, problem->residual, 1, problem->search, 1);
		square = next;
	}
}

/*
 * Goes along the direction, half as far each time, until the value falls as the slope
 * promises, or, where it is all rounding, until the gradient does.  False: nowhere.
 */
static bool search_line(struct problem *problem, double *y, double *value, double *norm)
{
	size_t bytes = (size_t)problem->params * sizeof(double);
	double slope = dot(problem, problem->gradient, problem->direction), length = 1;
	double noise = 100 * DBL_EPSILON * problem->magnitude;

	if (!(slope < 0))
		return false;
	for (int halving = 0; halving < HALVINGS; halving++, length /= 2) {
		memcpy(problem->trial, y, bytes);
		cblas_daxpy(problem->params, length, problem->direction, 1, problem->trial, 1);
		double trial = evaluate(problem, problem->trial, problem->trial_gradient);
		double trial_norm =
		    sqrt(dot(problem, problem->trial_gradient, problem->trial_gradient));
		bool falls = trial <= *value + DESCENT * length * slope && *value - trial > noise;

		if (!falls && !(fabs(trial - *value) <= noise && trial_norm < *norm))
			continue;
		memcpy(y, problem->trial, bytes);
		memcpy(problem->gradient, problem->trial_gradient, bytes);
		*value = trial;
		*norm = trial_norm;
		return true;
	}
	return false;
}

double iso_reference_mean(const struct iso_smooth *smooth, const struct iso_samples *parts,
			  uint32_t n, const double *y, double *workspace, double *ret_gradient)
{
	struct problem problem = lay_out(smooth, parts, n, workspace);
	double sum = 0;

	if (ret_gradient != NULL)
		return evaluate(&problem, y, ret_gradient);
	for (uint32_t i = 0; i < n; i++)
		sum += iso_smooth_value(smooth, y, &parts[i], problem.workspace);
	return sum / n;
}

struct iso_reference iso_reference_solve(const struct iso_smooth *smooth,
					 const struct iso_samples *parts, uint32_t n,
					 double tolerance, double *workspace, double *y)
{
	struct problem problem = lay_out(smooth, parts, n, workspace);
	double value, norm, first;
	uint32_t steps = 0;

	assert(tolerance >= 0);
	value = evaluate(&problem, y, problem.gradient);
	first = norm = sqrt(dot(&problem, problem.gradient, problem.gradient));
	while (norm > tolerance && steps < STEPS_MAX) {
		/* As exact as the step deserves: converges superlinearly. */
		double forcing = fmin(0.1, sqrt(norm / first));

		newton_direction(&problem, y, fmax(forcing * norm, 0.1 * tolerance));
		if (!search_line(&problem, y, &value, &norm))
			break;
		steps++;
	}
	return (struct iso_reference){ value, norm, steps };
}

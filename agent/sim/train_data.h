/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_TRAIN_DATA_H
#define ISO_SIM_TRAIN_DATA_H

#include "agent/sim/scenario.h"
#include "agent/train/dataset.h"
#include "lib/model/model.h"
#include "lib/rng.h"

/* A model that is trained on data of which each simulated worker has a part. */
struct train_data;

/* -EINVAL and what reading the data gives; seed: of the first point. */
int train_data_open(const struct scenario *scenario, uint64_t seed, struct train_data **ret_data,
		    struct error *reterr);
struct train_data *train_data_close(struct train_data *data);

uint32_t train_data_params(const struct train_data *data);
void train_data_start(const struct train_data *data, float *ret_x);

/* Of a mini-batch of the worker's part, drawn without replacement; returns its mean loss. */
double train_data_gradient(struct train_data *data, uint32_t worker, const float *x,
			   struct iso_rng *rng, float *ret_gradient);

double train_data_measure(struct train_data *data, const float *x);

#endif

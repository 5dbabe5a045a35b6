/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_TEXT_H
#define AGENT_DATASET_TEXT_H

#include "agent/train/dataset.h"
#include "agent/train/dataset_spec.h"

/*
 * Data in a text file, LIBSVM or CSV: spec->path, and for the test half a second file
 * or the samples held out of the first.  See dataset_open().
 */
int dataset_text_load(const struct dataset_spec *spec, enum dataset_half half,
		      struct dataset *ret_dataset, struct error *reterr);

#endif

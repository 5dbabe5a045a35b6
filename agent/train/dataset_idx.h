/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_IDX_H
#define AGENT_DATASET_IDX_H

#include "agent/train/dataset.h"

/* Images as MNIST and its relatives have them: a file of images and one of labels. */

/*
 * Reads an IDX image file and an IDX label file, each plain or gzip'd (the
 * content tells).  Bounded: at most 1 GiB each after unpacking.
 */
int dataset_idx_load(const char *images_path, const char *labels_path, struct dataset *ret_dataset,
		     struct error *reterr);

/*
 * The usual names in a folder: set is "train" or "t10k", files
 * SET-images-idx3-ubyte and SET-labels-idx1-ubyte, with .gz or without.
 */
int dataset_idx_load_folder(const char *folder, const char *set, struct dataset *ret_dataset,
			    struct error *reterr);

/* The number of classes in the label file of a set, of which nothing else is read. */
int dataset_idx_classes(const char *folder, const char *set, uint32_t *ret_classes,
			struct error *reterr);

#endif

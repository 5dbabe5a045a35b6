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

/*
 * Makes the test half that of the training half in the same folder, as far as that has
 * its files: images must be as large (-EBADMSG), labels below its number of classes
 * (-EBADMSG), which becomes that of the test half.
 */
int dataset_idx_follow(const char *folder, const char *train, const char *test,
		       struct dataset *dataset, struct error *reterr);

#endif

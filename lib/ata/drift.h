/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_DRIFT_H
#define ISO_ATA_DRIFT_H

#include <stdbool.h>

#include "lib/ata/score.h"

/*
 * Has a worker suddenly become slow or fast?  Page's CUSUM in both directions: a
 * sum of deviations from the mean, in standard deviations less half a one, which starts
 * again whenever it falls to 0.  Where it last started is where the change
 * most likely was, so that the times since then tell the new mean.
 */

struct iso_ata_drift {
	double up, down;		   /* the two sums, >= 0 */
	struct iso_ata_samples slow, fast; /* the times since each of them was 0 */
};

/*
 * Takes the next time, given what was known before it.  true: the threshold is passed;
 * *ret_since are then the samples since the change, and the sums start again.
 */
bool iso_ata_drift_add(struct iso_ata_drift *drift, const struct iso_ata_samples *known,
		       double time_s, double threshold, struct iso_ata_samples *ret_since);

#endif

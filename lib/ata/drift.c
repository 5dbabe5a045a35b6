/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/drift.h"

#include <assert.h>
#include <math.h>

/* Fewer samples tell nothing yet. */
#define KNOWN_MIN 8.0
/* Until their own spread is known times are taken to vary as m + Exp(m) does. */
#define PRIOR_VARIANCE 0.25
#define PRIOR_SAMPLES  8.0
/* In deviations: what is allowed, and the most a single time may say. */
#define ALLOWED	      0.5
#define DEVIATION_MAX 4.0

static double deviation(const struct iso_ata_samples *known, double time_s)
{
	double mean_s = iso_ata_mean_s(known), own = known->count - 1;
	double variance =
	    (PRIOR_SAMPLES * PRIOR_VARIANCE + own * iso_ata_relative_variance(known)) /
	    (PRIOR_SAMPLES + own);
	double value = (time_s - mean_s) / (mean_s * sqrt(variance));

	assert(variance > 0);
	return fmin(fmax(value, -DEVIATION_MAX), DEVIATION_MAX);
}

/* One direction; the sum after it. */
static double add(double sum, double excess, struct iso_ata_samples *since, double time_s)
{
	if (sum + excess <= 0) {
		*since = (struct iso_ata_samples){ 0 };
		return 0;
	}
	iso_ata_samples_add(since, time_s);
	return sum + excess;
}

bool iso_ata_drift_add(struct iso_ata_drift *drift, const struct iso_ata_samples *known,
		       double time_s, double threshold, struct iso_ata_samples *ret_since)
{
	assert(time_s > 0);
	assert(threshold > 0);
	if (known->count < KNOWN_MIN)
		return false;
	double value = deviation(known, time_s);
	drift->up = add(drift->up, value - ALLOWED, &drift->slow, time_s);
	drift->down = add(drift->down, -value - ALLOWED, &drift->fast, time_s);
	if (drift->up <= threshold && drift->down <= threshold)
		return false;
	*ret_since = drift->up > threshold ? drift->slow : drift->fast;
	assert(ret_since->count > 0);
	*drift = (struct iso_ata_drift){ 0 };
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_TRAINING_H
#define ISO_DEMO_TRAINING_H

#include <stdio.h>

#include "agent/base/error.h"
#include "tests/demo/demo.h"

/* The coordinator's configuration: what the options say, and what suits four small nodes. */

/* What isobar-coordinator.conf(5) lets one choose by name; "a|b|c", NULL: nothing. */
enum training_choice { TRAINING_METHOD = 1, TRAINING_ALLOCATION, TRAINING_PARTITION };
const char *training_names(enum training_choice choice);

/* The file that names it, or where the demo keeps what ofta goes by; NULL: none. */
const char *training_profile(const struct training_options *training);

/* The file isobar-coordinator.conf. */
void training_write(FILE *out, const struct demo *demo);

/*
 * Whether a coordinator would take it; if not, -EINVAL and the coordinator's
 * own words.  Nothing is made and nothing starts.
 */
int training_check(const struct options *options, struct error *reterr);

/* The profile that the options name, to the coordinator before the run and back after it. */
int training_take_profile(const struct demo *demo, struct error *reterr);
int training_keep_profile(const struct demo *demo, struct error *reterr);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_COORDINATOR_ADMIT_H
#define ISO_COORDINATOR_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/train/coordinator_conf.h"
#include "agent/train/coordinator_run.h"
#include "lib/wire/train.h"

/* Who may take part in a run, and what it is told. */

/* Whether a worker's data does not fit the run; text then says why. */
bool admit_misfits(const struct cconf *conf, const struct run *run,
		   const struct iso_train_hello *hello, char text[ISO_TRAIN_TEXT_BYTES]);

struct iso_train_welcome admit_welcome(const struct cconf *conf, const struct run *run,
				       uint32_t worker);

#endif

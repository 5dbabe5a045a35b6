/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_MODEL_BROKEN_H
#define ISO_MODEL_BROKEN_H

#include <stdbool.h>

#include "tests/model/setup.h"

/*
 * The mutants are explored with a copy of lib's sources in which a rule can
 * be switched off; mutate.sh makes it with the edits of mutants.sed, and no
 * other build sees it.
 */
extern enum model_mutant model_broken;

static inline bool broken(enum model_mutant rule)
{
	return model_broken == rule;
}

#endif

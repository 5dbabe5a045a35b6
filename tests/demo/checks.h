/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_DEMO_CHECKS_H
#define ISO_DEMO_CHECKS_H

#include <stdbool.h>

#include "tests/demo/demo.h"

/*
 * What must hold after a run.  Each check is judged or says why it is not:
 * none is passed over in silence.
 */
#define CHECKS_MAX 12
/* In shorter runs whether shares follow demand is not judged: the longer the ring, the later. */
#define CHECKS_PHASES_FROM_S  20
#define CHECKS_PHASES_NODE_S  5 /* a node */
#define CHECKS_ACCURACY	      0.80
#define CHECKS_ACCURACY_CPU_S 60 /* budget x seconds from which this is wanted */
#define CHECKS_EARLY	      0.70
#define CHECKS_EARLY_CPU_S    30 /* from here this; below, accuracy is not judged */

enum check_state { CHECK_HELD = 1, CHECK_FAILED, CHECK_NOT_JUDGED };

struct check {
	const char *name;
	enum check_state state;
	char detail[320];
};

/* Returns how many there are. */
unsigned checks_judge(const struct demo *demo, struct check ret_checks[CHECKS_MAX]);

/* None failed. */
bool checks_held(const struct check *checks, unsigned count);

/* With what was seen, in words. */
__attribute__((format(printf, 3, 4))) void judge(struct check *check, bool held,
						 const char *format, ...);

const char *check_state_text(enum check_state state);

#endif

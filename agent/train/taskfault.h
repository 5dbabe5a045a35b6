/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TASKFAULT_H
#define ISO_TASKFAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/worker.h"

/* What a user's task did to its process, in words: by that process, and by who started it. */

struct taskfault_config {
	const char *task; /* its name */
	int report_fd;	  /* SOCK_SEQPACKET; -1: none */
	bool with_prefix; /* lines as the journal wants them */
};

/*
 * One line on stderr, "task X: CALL: HOW", and one FAULT record.  A signal handler may
 * call it.  Once in a process: the first one tells; others wait for its end.
 */
void taskfault_tell(const struct taskfault_config *config, enum iso_worker_fault what,
		    enum iso_worker_call call, uint32_t number, const char *how);

/*
 * "signal 11 (Segmentation fault) in gradient()".  From the record, for whoever started
 * the process.
 */
#define TASKFAULT_TEXT_BYTES 96
void taskfault_text(enum iso_worker_fault what, enum iso_worker_call call, uint32_t number,
		    char ret_text[TASKFAULT_TEXT_BYTES]);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WIRE_WORKER_H
#define ISO_WIRE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Records on the socket pair between an agent and its worker: one packet, one
 * record of fixed length, little-endian.  The worker is not trusted by the
 * agent, and a worker may outlive an upgrade of the agent, so both ends check.
 *
 *   0  u32  magic "iwk1"
 *   4  u32  type
 *   8  u64  first value     share_ucpu | tasks_done | number | round | f64 value | 0
 *  16  u32  second value    cpus | threads | tid | fault | live | measure
 *  20  u32  third value     connected | slot | call | phase | 0
 */
#define ISO_WORKER_RECORD_BYTES 24u

enum iso_worker_type {
	ISO_WORKER_REGISTER = 1, /* worker: this thread wants an on-CPU clock */
	ISO_WORKER_SLOT,	 /* agent: its slot, or ISO_WORKER_NO_SLOT */
	ISO_WORKER_SHARE,	 /* agent: what the job owns now */
	ISO_WORKER_PROGRESS,	 /* worker: for the agent's status */
	ISO_WORKER_FAULT,	 /* worker: ending, and it is the user's task that is to blame */
	ISO_WORKER_ROUND,	 /* worker: how far its plan is (agent/track/track.h) */
	ISO_WORKER_MEASURE,	 /* worker: one number of how it goes */
};

/* Of a training by a plan. */
enum iso_worker_phase {
	ISO_WORKER_TRAINS = 1,
	ISO_WORKER_ALONE, /* no neighbour is there, so it waits */
	ISO_WORKER_DONE,  /* its last round is done */
};

enum iso_worker_measure {
	ISO_WORKER_LOSS_IS = 1, /* of the node's own part, with penalty */
	ISO_WORKER_ACCURACY,	/* on the test data, of 1 */
	ISO_WORKER_SPREAD,	/* largest distance to a neighbour's parameters, relative */
	ISO_WORKER_ALPHA,	/* weight of the gradient */
	ISO_WORKER_SENT_BYTES,	/* to all neighbours, since the worker started */
};
#define ISO_WORKER_MEASURES 5u

/* What a user's task (isobar/task.h) did. */
enum iso_worker_fault {
	ISO_WORKER_CRASHED = 1, /* number: the signal */
	ISO_WORKER_EXITED,	/* number: the exit status it asked for */
	ISO_WORKER_ENDLESS,	/* number: ms on a CPU in one call */
	ISO_WORKER_ASLEEP,	/* number: ms of one call in which it did nothing */
	ISO_WORKER_OVERRAN,	/* wrote beyond its results or its workspace; number 0 */
	ISO_WORKER_UNUSABLE,	/* cannot be loaded, or is no task; number 0 */
};

/* The function of the task, in the order of the ABI. */
enum iso_worker_call {
	ISO_WORKER_NO_CALL, /* none: loading it, or code of ours */
	ISO_WORKER_CHECK,
	ISO_WORKER_PARAMS,
	ISO_WORKER_INIT,
	ISO_WORKER_WORKSPACE,
	ISO_WORKER_GRADIENT,
	ISO_WORKER_LOSS,
};

#define ISO_WORKER_NO_SLOT UINT32_MAX

struct iso_worker_record {
	enum iso_worker_type type;
	union {
		struct {
			uint32_t tid;
		} enrol; /* REGISTER */
		struct {
			uint32_t tid;
			uint32_t slot;
		} slot;
		struct {
			uint64_t share_ucpu;
			uint32_t cpus; /* the job may run on; 0: unknown */
		} share;
		struct {
			uint64_t tasks_done; /* since the worker started */
			uint32_t threads;    /* that compute */
			bool connected;	     /* heard from a coordinator or a neighbour lately */
		} progress;
		struct {
			enum iso_worker_fault what;
			enum iso_worker_call call;
			uint32_t number;
		} fault;
		struct {
			uint64_t round;
			uint32_t live; /* neighbours that are there */
			enum iso_worker_phase phase;
		} round;
		struct {
			double value; /* finite */
			enum iso_worker_measure what;
		} measure;
	};
};

void iso_worker_encode(const struct iso_worker_record *record,
		       uint8_t ret_bytes[ISO_WORKER_RECORD_BYTES]);

/*
 * ISO_E_SHORT, ISO_E_LONG: not one record.  ISO_E_VERSION: another magic.
 * ISO_E_MALFORMED: unknown type, or a value that this type cannot have.
 */
ISO_MUST_USE enum iso_status iso_worker_decode(const uint8_t *bytes, size_t size,
					       struct iso_worker_record *ret_record);

/* "gradient()"; for no call and for what is none "none of its functions". */
const char *iso_worker_call_text(enum iso_worker_call call);

#endif

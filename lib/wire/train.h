/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_WIRE_TRAIN_H
#define ISO_WIRE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Messages between isobar-coordinator and isobar-worker.  A message is a head
 * of fixed layout, little-endian, and for WORK and RESULT a block of raw
 * little-endian floats, sent as a second frame so that parameters and
 * gradients go out without a copy.
 *
 *   0  u32 magic "ISOT"      8  u32 bytes of the head, all of it
 *   4  u16 version          12  u32 floats in the block, 0: no block
 *   6  u16 type             16  u64 checksum of the block (0 without one)
 *  24  the fields of the type, in the order of its struct below, then its tasks,
 *      then a u64 checksum of everything before it
 *
 * Decoding is strict: exact length, no unknown type or flag, numbers finite and
 * in range, text printable and padded with zeros.
 */
#define ISO_TRAIN_VERSION    2u
#define ISO_TRAIN_TASKS_MAX  4096u               /* in one WORK or CANCEL */
#define ISO_TRAIN_PARAMS_MAX (16u * 1024 * 1024) /* floats in a block: 64 MiB */
#define ISO_TRAIN_NAME_BYTES 64u                 /* with at least one NUL */
#define ISO_TRAIN_TEXT_BYTES 128u
#define ISO_TRAIN_FIXED_MAX  256u                /* a head without tasks is no larger */
#define ISO_TRAIN_HEAD_MAX   (ISO_TRAIN_FIXED_MAX + 24u * ISO_TRAIN_TASKS_MAX)

enum iso_train_type {
	ISO_TRAIN_HELLO = 1, /* worker: here I am, this is my data */
	ISO_TRAIN_WELCOME,   /* coordinator: your index, the model, the partition */
	ISO_TRAIN_WORK,      /* coordinator: compute these tasks at these parameters */
	ISO_TRAIN_RESULT,    /* worker: one task's gradient, or what it had cost when stopped */
	ISO_TRAIN_CANCEL,    /* coordinator: these tasks need not be finished */
	ISO_TRAIN_PING,      /* either: are you there */
	ISO_TRAIN_PONG,      /* the answer, with the stamp of the question */
	ISO_TRAIN_BYE,       /* either: going, or go away, and why */
};

/* What a worker can do now.  Rides in HELLO, RESULT, PING and PONG. */
struct iso_train_speed {
	uint32_t threads;    /* 1 .. 4096; 0 in PING and PONG: says nothing of it */
	uint64_t share_ucpu; /* the node's share as the agent last told it */
};

struct iso_train_hello {
	char name[ISO_TRAIN_NAME_BYTES]; /* node name: letters, digits, . _ - */
	uint64_t node;                   /* XXH3 of the name: a worker does not know the cluster */
	uint32_t incarnation;            /* of the worker process: higher is newer */
	struct iso_train_speed speed;
	uint32_t samples;                /* in its training set, before partitioning */
	uint32_t features;
	uint32_t classes;                /* 0: the targets are numbers, not classes */
	uint64_t data_checksum;          /* equal on all workers of a run */
	uint64_t user_task;              /* checksum of its shared object; 0: it has none */
};

/* Values of model: which loss the parameters belong to, as enum iso_model_kind but USER. */
enum iso_train_model {
	ISO_TRAIN_SOFTMAX = 1, /* multinomial logistic regression */
	ISO_TRAIN_MLP,         /* hidden units with ReLU between two dense layers */
	ISO_TRAIN_SVM,         /* squared hinge */
	ISO_TRAIN_SVM_SMOOTH,  /* smooth hinge */
	ISO_TRAIN_LOGISTIC,    /* two classes, one row of weights */
	ISO_TRAIN_LINEAR,      /* least squares */
	ISO_TRAIN_USER,        /* of a shared object, isobar-task(3) */
};

struct iso_train_welcome {
	uint64_t term;
	uint32_t worker;          /* its index, < workers */
	uint32_t workers;         /* parts of the partition */
	uint32_t model;           /* enum iso_train_model */
	uint32_t params;          /* floats */
	uint32_t features;
	uint32_t classes;         /* 0: the targets are numbers */
	uint32_t hidden;          /* MLP: units of the hidden layer; else 0 */
	uint32_t samples_max;     /* of a mini-batch: no task is larger */
	uint32_t partition;       /* enum iso_partition_kind but BLOCKS */
	uint64_t partition_seed;
	double alpha;             /* of Dirichlet; overlap: the fraction of all samples in a part */
	double l2;
	uint64_t user_task;       /* USER: checksum of the shared object; else 0 */
	uint64_t ping_ns;         /* silence after which to ask; thrice that: gone */
};

struct iso_train_task {
	uint64_t task;            /* unlike any other of the term */
	uint32_t attempt;         /* from 1: which handing out of the same task */
	uint32_t samples;         /* its mini-batch, 1 .. samples_max of WELCOME */
	uint64_t seed;            /* of its mini-batch */
};

/*
 * Tasks to compute at the point `model_version`.  Whatever else the worker has goes on at
 * the points it was ordered at, except what is older than `oldest`: that is in
 * vain, as after a CANCEL with the same number.
 *
 * Without a block the point is one that came earlier in this term: either the
 * one of the latest WORK that had a block, or one that some task here still stands on.
 *
 * tasks: encode borrows the array; decode leaves it NULL, use iso_train_task().
 */
struct iso_train_work {
	uint64_t term;
	uint64_t model_version;   /* changes with the parameters */
	uint64_t oldest;          /* <= model_version; 0: nothing is in vain */
	uint32_t count;           /* tasks, 0 .. ISO_TRAIN_TASKS_MAX */
	const struct iso_train_task *tasks;
};

#define ISO_TRAIN_ABANDONED 1u    /* flag: stopped on the way, no block, cost only */
struct iso_train_result {
	uint64_t term;
	uint64_t model_version;   /* of the order */
	uint64_t task;
	uint32_t attempt;
	uint32_t worker;
	uint32_t flags;
	uint32_t samples;         /* averaged over in the gradient; 0 when abandoned */
	uint64_t on_cpu_ns;
	uint64_t wall_ns;
	struct iso_train_speed speed;
	double loss;
};

/*
 * The tasks listed, and all at points older than `oldest` (UINT64_MAX: all there are), need
 * not be finished.  What has been computed of them comes back abandoned.
 */
struct iso_train_cancel {
	uint64_t term;
	uint64_t oldest;
	uint32_t count;
	const struct iso_train_task *tasks; /* as in WORK; samples and seed are sent as 0 */
};

struct iso_train_ping {
	uint64_t term;
	uint64_t stamp_ns;        /* the asker's clock, returned as it is */
	struct iso_train_speed speed;
};

enum iso_train_reason {
	ISO_TRAIN_DONE = 1,       /* the run is over, or the worker ends in order */
	ISO_TRAIN_REFUSED,        /* does not fit: data, model, name; text says what */
	ISO_TRAIN_FULL,           /* no worker slot left */
	ISO_TRAIN_UNKNOWN,        /* say HELLO first (the coordinator has restarted) */
	ISO_TRAIN_FAILED,         /* worker: the user's task reports an error; text says what */
};

struct iso_train_bye {
	uint64_t term;
	uint32_t reason;          /* enum iso_train_reason */
	char text[ISO_TRAIN_TEXT_BYTES]; /* printable ASCII, may be empty */
};

struct iso_train_message {
	enum iso_train_type type;
	uint32_t floats;          /* in the block that belongs to it */
	uint64_t block_checksum;
	union {
		struct iso_train_hello hello;
		struct iso_train_welcome welcome;
		struct iso_train_work work;
		struct iso_train_result result;
		struct iso_train_cancel cancel;
		struct iso_train_ping ping;     /* PING and PONG */
		struct iso_train_bye bye;
	};
	const uint8_t *task_bytes; /* decode: borrowed from the head's buffer */
};

/*
 * Encodes the head into out[capacity] (ISO_TRAIN_HEAD_MAX always suffices,
 * ISO_TRAIN_FIXED_MAX without tasks).  block is the floats that will go as the
 * second frame, as iso_train_block() gives them, message->floats of them (NULL if 0);
 * block_checksum in *message is ignored.  What a decoder would refuse is not
 * sent: ISO_E_RANGE or ISO_E_MALFORMED.  ISO_E_SHORT: capacity.
 */
ISO_MUST_USE enum iso_status iso_train_encode(const struct iso_train_message *message,
					      const void *block, uint8_t *out, size_t capacity,
					      size_t *ret_bytes);

/*
 * ISO_E_SHORT/ISO_E_LONG: size does not fit; ISO_E_MALFORMED: magic, type, flag
 * or text; ISO_E_VERSION; ISO_E_CHECKSUM; ISO_E_RANGE: a number.
 */
ISO_MUST_USE enum iso_status iso_train_decode(const uint8_t *head, size_t size,
					      struct iso_train_message *ret_message);

/* Task number `index` < count of a decoded WORK or CANCEL. */
struct iso_train_task iso_train_task(const struct iso_train_message *message, uint32_t index);

/*
 * Checks the block's size and checksum against the decoded head and copies it into
 * ret_floats[message->floats] (a frame need not be aligned).
 * ISO_E_SHORT, ISO_E_LONG, ISO_E_CHECKSUM; ret_floats is then untouched.
 */
ISO_MUST_USE enum iso_status iso_train_read_block(const struct iso_train_message *message,
						  const void *block, size_t size,
						  float *ret_floats);

/*
 * The same checks, but the floats where they are: NULL if they are damaged, or if this
 * machine has to copy them (big-endian, or a block that is not aligned).
 */
const float *iso_train_view_block(const struct iso_train_message *message, const void *block,
				  size_t size);

/*
 * The bytes to send for floats[count]: the array itself on a little-endian
 * machine; elsewhere they are turned in `scratch` (4 * count bytes, may be NULL on
 * little-endian machines).
 */
const void *iso_train_block(const float *floats, uint32_t count, void *scratch);

const char *iso_train_type_text(enum iso_train_type type);

#endif

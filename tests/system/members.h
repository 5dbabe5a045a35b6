/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SYSTEM_MEMBERS_H
#define ISO_SYSTEM_MEMBERS_H

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/control/opjson.h"
#include "agent/net/curve.h"
#include "lib/ledger/record.h"
#include "tests/demo/files.h"
#include "tests/demo/processes.h"
#include "tests/system/stage.h"

/*
 * A few real agents that come, trade and go: each with CURVE, a cgroup of its
 * own and an administrators' endpoint, and none of them configured to know
 * another.  The test is their administrator.
 */
#define MEMBERS_MAX	   3u
#define MEMBERS_CLUSTER	   "club"
#define MEMBERS_FLOOR_UCPU 10000
#define MEMBERS_TICK_MS	   50

struct member {
	char name[8];
	char directory[DEMO_PATH_BYTES];
	char group[DEMO_PATH_BYTES];
	char address[64];	/* for neighbours */
	char admin_address[64]; /* for administrators */
	struct curve_keypair keys;
	struct child agent;
	struct child burner;
};

struct members {
	char directory[DEMO_PATH_BYTES];
	struct curve_keypair administrator;
	struct member of[MEMBERS_MAX];
	uint64_t last_op;     /* numbers of operations go up in all of the cluster */
	int64_t budget_ucpu;
	const char *lease; /* as in the configuration; NULL: off */
	const char *limit; /* a line of section trading; NULL: everybody is trusted */
	const char *disk;  /* ISO_DISK of tests/system/disk.c for the next start; NULL: healthy */
	const char *disk_while; /* ISO_DISK_WHILE; NULL: from then on */
	bool trains;	   /* each member has a worker, which does nothing but run */
};

void members_open(struct members *members, int64_t budget_ucpu);
/* Ends everything. */
void members_close(struct members *members);

/* Its journal: with a share, or with 0 as one that waits for its admission. */
void members_make(struct members *members, unsigned index, int64_t endowment_ucpu);
/* crash: STEP:N of tests/system/crash.c, or NULL. */
void members_start(struct members *members, unsigned index, const char *crash);
/* It answers, or has ended: which. */
bool members_wait(struct members *members, unsigned index);
/* Without a crash, until it answers; and so the first two, made with a share each. */
void members_start_well(struct members *members, unsigned index);
void members_start_pair(struct members *members, int64_t endowment_ucpu);
void members_stop(struct members *members, unsigned index, int signal);
/* True once it has ended. */
bool members_ended(struct members *members, unsigned index);
void members_burn(struct members *members, unsigned index, bool on);

/* The answer over the network; NULL: none.  The caller owns it. */
json_t *members_ask(const struct members *members, unsigned index, const json_t *request);
json_t *members_command(const struct members *members, unsigned index, const char *command);

/* Asks until it is answered; *ret_moved_ucpu: what it moved.  The test fails if it is refused. */
void members_apply(struct members *members, unsigned index, const struct opjson_op *op,
		   int64_t *ret_moved_ucpu);
/* As the newest operation of all; the text of its refusal, borrowed until the next call. */
const char *members_refused(struct members *members, unsigned index, struct opjson_op op);
/* An operation of this kind with the next number. */
struct opjson_op members_op(struct members *members, unsigned index, enum iso_op_kind kind);
/* The same about a peer, with where it is reached. */
struct opjson_op members_op_on(struct members *members, unsigned index, enum iso_op_kind kind,
			       unsigned peer);
/* Both ends of an edge. */
void members_connect(struct members *members, unsigned a, unsigned b);

int64_t members_number(const struct members *members, unsigned index, const char *key);
void members_wait_number(const struct members *members, unsigned index, const char *key,
			 int64_t least, int64_t most);
void members_wait_state(const struct members *members, unsigned index, const char *state,
			const char *reason);
/* So often, and not more often. */
void members_wait_log(const struct members *members, unsigned index, const char *text,
		      unsigned times);

/* What the kernel enforces. */
int64_t members_quota_ucpu(const struct members *members, unsigned index);
/* What all members own, with what is in flight between them, from their journals. */
int64_t members_sum_ucpu(const struct members *members);
void members_record(const struct members *members, unsigned index, struct iso_record *ret_record);
uint32_t members_generation(const struct members *members, unsigned index);


#endif

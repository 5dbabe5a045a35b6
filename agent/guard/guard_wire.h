/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_GUARD_WIRE_H
#define ISO_GUARD_WIRE_H

#include <stdint.h>

/*
 * Between agent and guard: one request, one reply, each one packet of a local
 * SEQPACKET socket, in the machine's own byte order.  A guard may be older than
 * the agent that finds it: any change here is a new GUARD_MAGIC, and then the
 * two part (guard_client.h).
 */

#define GUARD_MAGIC	 0x32726467u /* "gdr2" */
#define GUARD_SOCKET	 "guard"     /* in the run directory */
#define GUARD_LOCK	 "guard.lock"
#define GUARD_FD	 3	     /* the first agent's connection, at the start */
#define GUARD_TEXT_BYTES 128

enum guard_kind {
	GUARD_HELLO = 1, /* who are you, and what do you know? */
	GUARD_ATTACH,	 /* with the group's directory: floor, lease, guard_ns, hierarchy */
	GUARD_RENEW,	 /* deadline */
	GUARD_WRITE,	 /* quota and period */
	GUARD_RELEASE,	 /* the limit is nobody's any more: end now, lower nothing */
};

struct guard_request {
	uint32_t magic;
	uint32_t kind;
	uint64_t number;      /* comes back in the reply */
	uint64_t deadline_ns; /* CLOCK_BOOTTIME; UINT64_MAX: none needed */
	uint64_t quota_us, period_us;
	uint64_t floor_ucpu, lease_ns, guard_ns;
	uint32_t hierarchy; /* 1, 2 */
	uint32_t unlimited;
	uint32_t stays; /* ATTACH: systemd may raise the limit after the lease has ended */
	uint32_t reserved;
};

/* Bits of flags. */
#define GUARD_REALTIME	 1u
#define GUARD_LOCKED	 2u
#define GUARD_STICKY	 4u /* its watchdog cannot be disarmed, so it never ends in order */
#define GUARD_UNCONFINED 8u /* it was started with --no-sandbox */

struct guard_reply {
	uint32_t magic;
	int32_t error; /* 0 or -errno */
	uint64_t number;
	uint64_t deadline_ns;
	uint64_t quota_us, period_us; /* as read back; period 0: not known */
	uint32_t unlimited;
	uint32_t pid;
	uint32_t lowered; /* so often without being told to */
	uint32_t flags;
	uint32_t priority; /* as it was started with, likewise the next */
	uint32_t wanted_s;
	uint64_t watchdog_hash; /* of the device's path; 0: none */
	uint32_t watchdog;	/* enum guard_watchdog */
	uint32_t watchdog_s;	/* the timeout in force */
	char text[GUARD_TEXT_BYTES]; /* why it could not start */
};

#endif

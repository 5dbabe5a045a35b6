/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SERVICE_H
#define ISO_SERVICE_H

#include <stdint.h>

/*
 * What a service manager that has started us is told (sd_notify(3)).  Without
 * one, or when built without libsystemd, none of this does anything.  Nothing
 * here blocks, and that a manager does not listen is no error.
 */

/* Started: others may count on us.  status as below. */
void service_ready(const char *status);

/* One line for `systemctl status`; only a text that has changed is sent, once a second. */
void service_status(const char *status);

/* On the way out, which may take a while. */
void service_leaving(void);

/*
 * The watchdog that the manager has on us expects service_alive() at least this
 * often; one that is shorter is asked to wait that long.
 */
void service_watchdog(uint64_t least_ns);

/* Feeds the watchdog, from the loop that does what we are there for; as often as it likes. */
void service_alive(void);

#endif

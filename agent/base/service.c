/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/service.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

/* Ticks may be shorter: the manager need not hear of each. */
#define STATUS_EVERY_NS 1000000000u

static struct {
	char status[256]; /* the last that was sent */
	uint64_t status_ns;
	bool is_watched;
	uint64_t every_ns; /* an eighth of the watchdog */
	uint64_t alive_ns;
} service;

static void send_text(const char *text)
{
	(void)sd_notify(0, text);
}

void service_ready(const char *status)
{
	char text[sizeof(service.status) + 32];

	snprintf(service.status, sizeof(service.status), "%s", status);
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", service.status);
	send_text(text);
}

void service_status(const char *status)
{
	char text[sizeof(service.status) + 32];

	uint64_t now_ns = clock_now_ns();

	if (strncmp(status, service.status, sizeof(service.status) - 1) == 0 ||
	    now_ns < service.status_ns + STATUS_EVERY_NS)
		return;
	service.status_ns = now_ns;
	snprintf(service.status, sizeof(service.status), "%s", status);
	snprintf(text, sizeof(text), "STATUS=%s", service.status);
	send_text(text);
}

void service_leaving(void)
{
	send_text("STOPPING=1\nSTATUS=ending");
}

void service_watchdog(uint64_t least_ns)
{
	uint64_t least_us = least_ns / 1000, watchdog_us;
	char text[64];

	service.is_watched = sd_watchdog_enabled(0, &watchdog_us) > 0;
	if (!service.is_watched)
		return;
	service.every_ns = (watchdog_us > least_us ? watchdog_us : least_us) * 1000 / 8;
	if (watchdog_us >= least_us)
		return;
	snprintf(text, sizeof(text), "WATCHDOG_USEC=%" PRIu64, least_us);
	send_text(text);
}

void service_alive(void)
{
	uint64_t now_ns = clock_now_ns();

	if (!service.is_watched || now_ns < service.alive_ns + service.every_ns)
		return;
	service.alive_ns = now_ns;
	send_text("WATCHDOG=1");
}

#else

void service_ready(const char *status)
{
	(void)status;
}

void service_status(const char *status)
{
	(void)status;
}

void service_leaving(void)
{
}

void service_watchdog(uint64_t least_ns)
{
	(void)least_ns;
}

void service_alive(void)
{
}

#endif

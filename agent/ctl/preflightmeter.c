/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightmeter.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "agent/meter/meter.h"
#include "agent/meter/meter_census.h"

/* Of a meter, at a switch between tasks of other jobs, as make bench measures it. */
#define SWITCH_NS 120.0

/* More than a switch itself takes. */
#define MANY_NS 4000.0

/* Since the machine was started; 0: not known. */
static double switches_per_s(void)
{
	FILE *stat = fopen("/proc/stat", "re"), *uptime = fopen("/proc/uptime", "re");
	uint64_t switches = 0;
	double seconds = 0;
	char line[4096];

	while (stat != NULL && fgets(line, sizeof(line), stat) != NULL)
		if (sscanf(line, "ctxt %" SCNu64, &switches) == 1)
			break;
	if (uptime == NULL || fscanf(uptime, "%lf", &seconds) != 1)
		seconds = 0;
	if (stat != NULL)
		fclose(stat);
	if (uptime != NULL)
		fclose(uptime);
	return seconds > 0 ? (double)switches / seconds : 0;
}

/* Two digits, or more before the point. */
static const char *rounded(double value, char text[static 32])
{
	if (value >= 10)
		snprintf(text, 32, "%.0f", value);
	else
		snprintf(text, 32, "%.2g", value);
	return text;
}

void preflightmeter_say_cost(struct preflight *preflight, unsigned meters, double per_s)
{
	double ns = SWITCH_NS * meters;
	bool is_many = ns >= MANY_NS;
	char load[96] = "", text[32];

	if (meters == 0) {
		preflight_say(preflight, "meters", PREFLIGHT_OK, NULL,
			      "none by eBPF on this machine");
		return;
	}
	if (per_s > 0)
		snprintf(load, sizeof(load), ", %s %% of a CPU with %.0f switches a second",
			 rounded(ns * per_s / 1e7, text), per_s);
	preflight_say(preflight, "meters", is_many ? PREFLIGHT_WARNING : PREFLIGHT_OK,
		      is_many ? "meter = kernel for instances that can do with the kernel's "
				"accounting; see isobard.conf(5)"
			      : NULL,
		      "%u by eBPF on this machine: about %s us a context switch%s", meters,
		      rounded(ns / 1000, text), load);
}

void preflightmeter_check(struct preflight *preflight)
{
	struct error error;
	unsigned meters;

	if (meter_supported(&error) < 0) {
		preflight_say(preflight, "eBPF meter", PREFLIGHT_WARNING,
			      "a kernel with BTF and the privileges above; without it isobard "
			      "measures with the kernel's accounting and says degraded",
			      "%s", error.text);
		return;
	}
	preflight_say(preflight, "eBPF meter", PREFLIGHT_OK, NULL, "can be loaded, BTF is there");
	if (meter_census(&meters, &error) == 0)
		preflightmeter_say_cost(preflight, meters, switches_per_s());
	else
		preflight_say(preflight, "meters", PREFLIGHT_SKIPPED, NULL, "%.180s", error.text);
}

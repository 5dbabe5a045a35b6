/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/hostfacts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/quantity.h"

#define SCHED_EXT "/sys/kernel/sched_ext"

/* The first line of a small file, of what can be printed; false if there is none. */
static bool read_line(const char *root, const char *name, char *ret_text, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool there = fgets(ret_text, (int)size, file) != NULL;
	fclose(file);
	if (!there)
		return false;
	ret_text[strcspn(ret_text, "\n")] = '\0';
	for (char *at = ret_text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	return true;
}

static uint64_t in_ns(uint64_t ticks)
{
	long per_s = sysconf(_SC_CLK_TCK);

	return ticks * (ISO_NS_PER_S / (per_s > 0 ? (uint64_t)per_s : 100));
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice" */
static void read_times(const char *root, struct hostfacts *facts)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
	char line[512];

	if (!read_line(root, "/proc/stat", line, sizeof(line)) ||
	    sscanf(line,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
		return;
	facts->has_times = true;
	/* Guests' time is part of the user's. */
	facts->total_ns =
		in_ns(user + nice + system + idle + iowait + irq + softirq + steal);
	facts->stolen_ns = in_ns(steal);
	facts->interrupts_ns = in_ns(irq + softirq);
}

static void read_scheduler(const char *root, struct hostfacts *facts)
{
	char state[32], all[8];

	if (!read_line(root, SCHED_EXT "/state", state, sizeof(state)) ||
	    strcmp(state, "disabled") == 0)
		return;
	if (!read_line(root, SCHED_EXT "/root/ops", facts->sched_ext, sizeof(facts->sched_ext)) ||
	    facts->sched_ext[0] == '\0')
		snprintf(facts->sched_ext, sizeof(facts->sched_ext), "unknown");
	/* Where it does not say it is taken to have them all. */
	facts->sched_ext_all = !read_line(root, SCHED_EXT "/switch_all", all, sizeof(all)) ||
			       strcmp(all, "0") != 0;
}

void hostfacts_read(const char *root, struct hostfacts *ret_facts)
{
	struct hostfacts facts = { 0 };

	read_times(root, &facts);
	read_scheduler(root, &facts);
	*ret_facts = facts;
}

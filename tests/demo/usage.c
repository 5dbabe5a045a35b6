/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/demo/files.h"
#include "tests/demo/processes.h"

/* cgroup v2: "usage_usec 123\n..." is the first line of cpu.stat; v1 has none. */
static bool read_group(const char *group, uint64_t *ret_ns)
{
	char path[DEMO_PATH_BYTES], text[1024];
	uint64_t us;

	path_join(path, group, "cpu.stat");
	if (file_get(path, text, sizeof(text)) != 0 ||
	    sscanf(text, "usage_usec %" SCNu64, &us) != 1)
		return false;
	*ret_ns = us * 1000;
	return true;
}

/* What this process had used when it was last seen; one that is new starts with what it has. */
static uint64_t last_seen(const struct usage *usage, pid_t pid, uint64_t now_ns)
{
	for (unsigned i = 0; i < usage->count; i++)
		if (usage->processes[i].pid == pid)
			return usage->processes[i].cpu_ns;
	return now_ns;
}

static void add(struct usage *next, const struct usage *before, pid_t pid, uint64_t cpu_ns)
{
	uint64_t last_ns = last_seen(before, pid, cpu_ns);

	if (next->count == USAGE_PROCESSES_MAX)
		return;
	next->used_ns += cpu_ns > last_ns ? cpu_ns - last_ns : 0;
	next->processes[next->count].pid = pid;
	next->processes[next->count++].cpu_ns = cpu_ns;
}

void usage_update(struct usage *usage, const char *group)
{
	struct usage next = { .used_ns = usage->used_ns };
	char path[DEMO_PATH_BYTES];
	uint64_t cpu_ns;
	int pid;

	if (read_group(group, &cpu_ns)) {
		add(&next, usage, 0, cpu_ns);
		*usage = next;
		return;
	}
	path_join(path, group, "cgroup.procs");
	FILE *stream = fopen(path, "re");
	if (stream == NULL)
		return;
	while (fscanf(stream, "%d", &pid) == 1)
		if (process_read(pid, &cpu_ns, NULL))
			add(&next, usage, pid, cpu_ns);
	fclose(stream);
	*usage = next;
}

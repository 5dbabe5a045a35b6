/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The limit that was there before us, in a file, so that an agent that was
 * killed and comes back does not take its own limit for the original one.  It
 * belongs to one directory id of one boot: a group that was made anew has a new
 * original, and after a boot the ids are given out again.
 */
#include "config.h"

#include "agent/cgroup/cgroup_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/base/wholefile.h"

uint64_t cgroup_boot_id(const char *root)
{
	char path[PATH_MAX], text[64];
	uint64_t id = 0;

	if (snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id", root) >=
		    (int)sizeof(path) ||
	    cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	for (const char *at = text; *at != '\0' && at < text + 18; at++) {
		if (*at >= '0' && *at <= '9')
			id = id << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			id = id << 4 | (uint64_t)(*at - 'a' + 10);
	}
	return id;
}

int cgroup_saved_load(struct cgroup *cgroup, bool *ret_found, struct error *reterr)
{
	struct cgroup_limit limit = { 0 };
	uint64_t version, id, boot, created, burst_us, unlimited;
	char text[CGROUP_FILE_BYTES];
	int result;

	*ret_found = false;
	if (cgroup->saved_path[0] == '\0')
		return 0;
	result = cgroup_file_read(AT_FDCWD, cgroup->saved_path, text, sizeof(text));
	if (result == -ENOENT)
		return 0;
	if (result < 0)
		return error_errno(reterr, result, "read '%.300s'", cgroup->saved_path);
	if (!cgroup_file_field(text, "isobar-original", &version) || version != 1 ||
	    !cgroup_file_field(text, "boot", &boot) || !cgroup_file_field(text, "id", &id) ||
	    !cgroup_file_field(text, "unlimited", &unlimited) ||
	    !cgroup_file_field(text, "quota_us", &limit.quota_us) ||
	    !cgroup_file_field(text, "period_us", &limit.period_us) || limit.period_us == 0 ||
	    !cgroup_file_field(text, "burst_us", &burst_us) ||
	    !cgroup_file_field(text, "created", &created) || created > CGROUP_DEPTH_MAX)
		return error_set(reterr, -EBADMSG,
				 "'%.300s' is damaged: it keeps the limit from before isobar; set "
				 "the limit by hand and remove the file", cgroup->saved_path);
	if (id != cgroup->id || boot != cgroup_boot_id(cgroup->root))
		return 0;
	limit.unlimited = unlimited != 0;
	cgroup->original = limit;
	cgroup->original_burst_us = burst_us;
	cgroup->created_top = (unsigned)created;
	*ret_found = true;
	return 0;
}

int cgroup_saved_store(const struct cgroup *cgroup, struct error *reterr)
{
	char text[512];

	if (cgroup->saved_path[0] == '\0')
		return 0;
	int length = snprintf(text, sizeof(text),
			  "isobar-original 1\nboot %" PRIu64 "\nid %" PRIu64 "\nunlimited %d\n"
			  "quota_us %" PRIu64 "\nperiod_us %" PRIu64 "\nburst_us %" PRIu64
			  "\ncreated %u\n",
			  cgroup_boot_id(cgroup->root), cgroup->id, cgroup->original.unlimited,
			  cgroup->original.quota_us, cgroup->original.period_us,
			  cgroup->original_burst_us, cgroup->created_top);
	/* An empty file after a power cut would keep the agent from starting. */
	int r = wholefile_replace_path(cgroup->saved_path, 0644, text, (size_t)length);
	return r < 0 ? error_errno(reterr, r, "write '%.300s'", cgroup->saved_path) : 0;
}

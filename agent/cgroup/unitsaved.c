/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/unitsaved.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/wholefile.h"
#include "agent/cgroup/cgroup_internal.h"
#include "lib/checksum.h"

/* Names are long and may hold anything; what has to be known is whether it is the same. */
static uint64_t name_of(const char *unit)
{
	return iso_checksum(unit, strlen(unit));
}

static int load(const char *path, const char *unit, struct unit_quota *quota, bool *ret_found,
		struct error *reterr)
{
	uint64_t version, boot, name;
	struct unit_quota kept;
	char text[CGROUP_FILE_BYTES];
	int r = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));

	*ret_found = false;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(reterr, r, "read '%.300s'", path);
	if (!cgroup_file_field(text, "isobar-unit", &version) || version != 1 ||
	    !cgroup_file_field(text, "boot", &boot) || !cgroup_file_field(text, "name", &name) ||
	    !cgroup_file_field(text, "ucpu", &kept.ucpu) || kept.ucpu == 0 ||
	    !cgroup_file_field(text, "period_us", &kept.period_us) || kept.period_us == 0)
		return error_set(reterr, -EBADMSG,
				 "'%.300s' is damaged: it keeps the quota from before isobar; set "
				 "the unit's CPUQuota by hand and remove the file", path);
	if (boot != cgroup_boot_id("") || name != name_of(unit))
		return 0;
	*quota = kept;
	*ret_found = true;
	return 0;
}

int unitsaved_keep(const char *path, const char *unit, struct unit_quota *quota,
		   struct error *reterr)
{
	char text[256];
	bool found;
	int r = load(path, unit, quota, &found, reterr);

	if (r < 0 || found)
		return r;
	int length = snprintf(text, sizeof(text),
			      "isobar-unit 1\nboot %" PRIu64 "\nname %" PRIu64 "\nucpu %" PRIu64
			      "\nperiod_us %" PRIu64 "\n",
			      cgroup_boot_id(""), name_of(unit), quota->ucpu, quota->period_us);
	r = wholefile_replace_path(path, 0644, text, (size_t)length);
	return r < 0 ? error_errno(reterr, r, "write '%.300s'", path) : 0;
}

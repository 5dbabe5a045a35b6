/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/keeper.h"

#include <assert.h>
#include <errno.h>

/*
 * Without a lease it looks again: another writer may raise (systemd at a reload:
 * so long at most more than the floor is in force), or lowering may have failed.
 */
#define LOOK_EVERY_NS  100000000u
#define RETRY_EVERY_NS 20000000u

void keeper_init(struct keeper *keeper)
{
	*keeper = (struct keeper){
		.file = LIMIT_FILE_CLOSED,
		.wake_at_ns = UINT64_MAX,
	};
}

void keeper_close(struct keeper *keeper)
{
	limit_file_close(&keeper->file);
}

static bool has_lease(const struct keeper *keeper, uint64_t now_ns)
{
	return keeper->deadline_ns > keeper->guard_ns &&
	       now_ns < keeper->deadline_ns - keeper->guard_ns;
}

int keeper_stop(struct keeper *keeper)
{
	int r = limit_file_lower(&keeper->file, keeper->floor_ucpu);

	if (r > 0)
		keeper->lowered++;
	keeper->error = r < 0 ? r : 0;
	return keeper->error;
}

void keeper_wake(struct keeper *keeper, uint64_t now_ns)
{
	if (keeper->file.version == 0) {
		keeper->wake_at_ns = UINT64_MAX;
	} else if (has_lease(keeper, now_ns)) {
		keeper->wake_at_ns = keeper->deadline_ns == UINT64_MAX ?
					     UINT64_MAX : keeper->deadline_ns - keeper->guard_ns;
	} else {
		int r = keeper_stop(keeper);

		keeper->wake_at_ns = now_ns + (r < 0 ? RETRY_EVERY_NS : LOOK_EVERY_NS);
	}
}

int keeper_attach(struct keeper *keeper, uint64_t now_ns, int dir_fd, unsigned version,
		  const struct keeper_lease *lease)
{
	struct limit_file file;
	int r;

	if (version != 1 && version != 2)
		return -EINVAL;
	r = limit_file_open(dir_fd, version, &file);
	if (r < 0)
		return r;
	limit_file_close(&keeper->file);
	keeper->file = file;
	keeper->floor_ucpu = lease->floor_ucpu;
	keeper->lease_ns = lease->lease_ns;
	keeper->guard_ns = lease->guard_ns;
	keeper_wake(keeper, now_ns);
	return 0;
}

int keeper_renew(struct keeper *keeper, uint64_t now_ns, uint64_t deadline_ns)
{
	if (deadline_ns != UINT64_MAX && deadline_ns > now_ns &&
	    deadline_ns - now_ns > keeper->lease_ns)
		return -ERANGE;
	keeper->deadline_ns = deadline_ns;
	keeper_wake(keeper, now_ns);
	return 0;
}

int keeper_write(struct keeper *keeper, uint64_t now_ns, const struct cgroup_limit *wanted)
{
	struct cgroup_limit present;
	int r;

	if (wanted->period_us == 0)
		return -EINVAL;
	if (!has_lease(keeper, now_ns)) {
		keeper_wake(keeper, now_ns);
		/* Also where it is less than what another writer put there. */
		if (limit_above_floor(wanted, keeper->floor_ucpu))
			return limit_file_read(&keeper->file, &present) == -ENODEV ? -ENODEV :
										     -ETIME;
	}
	r = limit_file_write(&keeper->file, wanted);
	assert(has_lease(keeper, now_ns) || r < 0 ||
	       !limit_above_floor(wanted, keeper->floor_ucpu));
	return r;
}

bool keeper_above_floor(const struct keeper *keeper)
{
	struct cgroup_limit present;
	int r = limit_file_read(&keeper->file, &present);

	if (r == -ENODEV)
		return false;
	return r < 0 || limit_above_floor(&present, keeper->floor_ucpu);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightguard.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guard/watchdog.h"

static bool check_program(struct preflight *preflight, const struct conf *conf)
{
	if (access(conf->guard.executable, X_OK) == 0) {
		preflight_say(preflight, "guard", PREFLIGHT_OK, NULL, "%.120s",
			      conf->guard.executable);
		return true;
	}
	preflight_say(preflight, "guard", PREFLIGHT_MISSING,
		      "install it, set guard.executable, or lease = off; without it only the floor "
		      "is enforced",
		      "'%.120s': %s", conf->guard.executable, strerror(errno));
	return false;
}

/* Tried in a process of its own, which ends with what it got. */
enum { NO_REALTIME = 1, NO_LOCK = 2 };

static int try_precedence(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int status, lacking = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param) < 0)
			lacking |= NO_REALTIME;
		if (mlockall(MCL_CURRENT) < 0)
			lacking |= NO_LOCK;
		_exit(lacking);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return NO_REALTIME | NO_LOCK;
	return WEXITSTATUS(status);
}

static void check_precedence(struct preflight *preflight, const struct conf *conf)
{
	int lacking = try_precedence((int)conf->guard.priority);

	if (lacking == 0)
		preflight_say(preflight, "guard precedence", PREFLIGHT_OK, NULL, "%s",
			      conf->guard.priority > 0 ? "real-time, memory locked" :
							 "memory locked; guard.priority is 0");
	else
		preflight_say(preflight, "guard precedence", PREFLIGHT_WARNING,
			      "run as root or with CAP_SYS_NICE and CAP_IPC_LOCK; in a cgroup v1 "
			      "with cpu.rt_runtime_us = 0 nothing is real-time: give it some",
			      "not permitted:%s%s; a busy machine may make it late",
			      (lacking & NO_REALTIME) != 0 ? " real-time" : "",
			      (lacking & NO_LOCK) != 0 ? " locked memory" : "");
}

static bool check_watchdog(struct preflight *preflight, const struct conf *conf)
{
	static const char requirement[] = "watchdog";
	const char *device = conf->guard.watchdog;
	unsigned most_s = conf_watchdog_s(conf);
	struct watchdog_facts facts;
	struct stat st;

	if (device[0] == '\0') {
		preflight_say(preflight, requirement, PREFLIGHT_WARNING,
			      "set guard.watchdog; a machine without one has modprobe softdog",
			      "none configured");
		return false;
	}
	if (stat(device, &st) < 0 || access(device, W_OK) < 0) {
		preflight_say(preflight, requirement, PREFLIGHT_WARNING,
			      "load its driver, and check as the user isobard runs as",
			      "%.120s: %s", device, strerror(errno));
		return false;
	}
	if (!S_ISCHR(st.st_mode)) {
		preflight_say(preflight, requirement, PREFLIGHT_WARNING,
			      "a device such as /dev/watchdog0", "%.120s is no device", device);
		return false;
	}
	watchdog_look(device, &facts);
	if (watchdog_is_slow(&facts, most_s)) {
		preflight_say(preflight, requirement, PREFLIGHT_WARNING,
			      "raise trading.lease-slack, on all nodes",
			      "%.100s: no timeout of up to %u s, which is what fits into the slack",
			      device, most_s);
		return false;
	}
	preflight_say(preflight, requirement, PREFLIGHT_OK, NULL, "%.100s, to be armed with %u s%s",
		      device, most_s,
		      facts.nowayout == 1 ?
			      "; it cannot be disarmed (nowayout), so the guard never ends" : "");
	return true;
}

void preflightguard_check(struct preflight *preflight, const struct conf *conf)
{
	const char *without = NULL;
	bool is_safe;

	if (conf->trading.lease_ns == 0)
		without = "none: trading.lease is off, and with it automatic burial";
	else if (conf->listen[0] == '\0')
		without = "none: no neighbours, so nobody could bury this node";
	else if (conf->dry_run)
		without = "none: a dry run limits nothing";
	if (without != NULL) {
		preflight_say(preflight, "guard", PREFLIGHT_SKIPPED, NULL, "%s", without);
		return;
	}
	is_safe = check_program(preflight, conf);
	check_precedence(preflight, conf);
	is_safe = check_watchdog(preflight, conf) && is_safe;
	if (is_safe)
		preflight_say(preflight, "automatic burial", PREFLIGHT_OK, NULL,
			      "safe, once the guard says that the watchdog is armed");
	else
		preflight_say(preflight, "automatic burial", PREFLIGHT_WARNING,
			      "see the rows above, or bury this node only when it is known to be "
			      "off",
			      "not for this node: with agent and guard both dead nothing would "
			      "lower the limit");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/fs/manager.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

/* In the process: no Check here. */
static void demand(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "manager: %s: %s\n", what, strerror(-result));
	_exit(1);
}

static int set_properties(sd_bus_message *message, struct manager_unit *unit)
{
	uint64_t ucpu = 0, period_us = 0;
	const char *name, *first, *second;
	int is_runtime;

	demand(sd_bus_message_read(message, "sba(sv)", &name, &is_runtime, 2, &first, "t",
				   &period_us, &second, "t", &ucpu), "arguments");
	if (strcmp(name, "foo.service") != 0 || !is_runtime ||
	    strcmp(first, "CPUQuotaPeriodUSec") != 0 || strcmp(second, "CPUQuotaPerSecUSec") != 0)
		demand(-22, "what to set");
	unit->calls++;
	if (unit->forgets)
		return sd_bus_reply_method_errorf(message, "org.freedesktop.systemd1.NoSuchUnit",
						  "Unit foo.service not loaded.");
	if (unit->refuses)
		return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_ACCESS_DENIED,
						  "not today");
	if (!unit->ignores) {
		unit->ucpu = ucpu;
		unit->period_us = period_us;
	}
	return sd_bus_reply_method_return(message, "");
}

static int get(sd_bus_message *message, struct manager_unit *unit)
{
	const char *interface, *property;

	demand(sd_bus_message_read(message, "ss", &interface, &property), "arguments");
	if (strcmp(sd_bus_message_get_path(message),
		   "/org/freedesktop/systemd1/unit/foo_2eservice") != 0)
		demand(-22, "object");
	if (strcmp(property, "DropInPaths") == 0)
		return unit->dropin[0] == '\0' ?
			       sd_bus_reply_method_return(message, "v", "as", 0) :
			       sd_bus_reply_method_return(message, "v", "as", 2,
							  "/nonexistent/99-x.conf", unit->dropin);
	if (strcmp(interface, "org.freedesktop.systemd1.Unit") == 0)
		return sd_bus_reply_method_return(message, "v", "s",
						  strcmp(property, "LoadState") == 0 ?
							  unit->load_state :
							  "inactive");
	if (strcmp(interface, "org.freedesktop.systemd1.Service") != 0)
		demand(-22, "interface");
	if (strcmp(property, "ControlGroup") == 0)
		return sd_bus_reply_method_return(message, "v", "s", unit->group);
	return sd_bus_reply_method_return(message, "v", "t",
					  strcmp(property, "CPUQuotaPerSecUSec") == 0 ?
						  unit->ucpu :
						  unit->period_us);
}

static int on_message(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct manager_unit *unit = context;

	(void)error;
	/* The other side has hung up. */
	if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
		return 0;
	if (unit->delay_ms > 0)
		(void)poll(NULL, 0, (int)unit->delay_ms);
	if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus", "Hello") > 0)
		demand(sd_bus_reply_method_return(message, "s", ":1.1"), "greeting");
	else if (sd_bus_message_is_method_call(message, NULL, "SetUnitProperties") > 0)
		demand(set_properties(message, unit), "answer");
	else
		demand(get(message, unit), "answer");
	return 1;
}

static void serve(int fd, struct manager_unit *unit)
{
	sd_id128_t id = { .bytes = { 1 } };
	sd_bus *bus;

	unit->has_peer = true;
	unit->peers++;
	demand(sd_bus_new(&bus), "bus");
	demand(sd_bus_set_fd(bus, fd, fd), "bus");
	demand(sd_bus_set_server(bus, 1, id), "bus");
	demand(sd_bus_add_filter(bus, NULL, on_message, unit), "bus");
	demand(sd_bus_start(bus), "bus");
	for (;;) {
		int r = sd_bus_process(bus, NULL);

		if (r < 0 || unit->drops)
			break;
		for (; sd_bus_is_ready(bus) > 0 && unit->signals > 0; unit->signals--)
			demand(sd_bus_emit_signal(bus, "/", "org.freedesktop.systemd1.Manager",
						  "Reloading", "b", 1), "signal");
		if (r == 0 && sd_bus_wait(bus, 20000) < 0)
			break;
	}
	unit->drops = false;
	sd_bus_close_unref(bus);
	unit->has_peer = false;
}

void manager_start(struct manager *manager)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char folder[] = "/tmp/isobar-manager-XXXXXX";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", folder);
	snprintf(manager->address, sizeof(manager->address), "unix:path=%s", address.sun_path);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	manager->unit = mmap(NULL, sizeof(*manager->unit), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(manager->unit, MAP_FAILED);
	manager->unit->ucpu = manager->unit->period_us = UINT64_MAX;
	snprintf(manager->unit->load_state, sizeof(manager->unit->load_state), "loaded");
	manager->pid = fork();
	ck_assert_int_ge(manager->pid, 0);
	if (manager->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int peer = accept(fd, NULL, NULL);

			demand(peer, "accept");
			serve(peer, manager->unit);
		}
	}
	close(fd);
}

void manager_stop(struct manager *manager)
{
	char *path = manager->address + strlen("unix:path=");

	(void)kill(manager->pid, SIGKILL);
	(void)waitpid(manager->pid, NULL, 0);
	(void)munmap(manager->unit, sizeof(*manager->unit));
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/cgroup/unitbus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-bus.h>

#include "agent/base/clock.h"

#define PRIVATE_SOCKET "/run/systemd/private"
#define MANAGER	       "org.freedesktop.systemd1"

struct unitbus {
	char *unit;
	char *path;    /* of its object */
	char *address; /* NULL: systemd's */
	const char *kind;
	sd_bus *bus;   /* NULL: not connected */
	bool is_owed;  /* an answer, so what was asked may be carried out yet */
	uint64_t end_ns;
};

static void unref_message(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
}
#define UNREF_MESSAGE __attribute__((cleanup(unref_message)))
#define FREE_ERROR    __attribute__((cleanup(sd_bus_error_free)))

int unitbus_new(const char *unit, const char *address, struct unitbus **ret_bus,
		struct error *reterr)
{
	const char *dot = strrchr(unit, '.');
	struct unitbus *bus = calloc(1, sizeof(*bus));

	if (bus == NULL)
		return error_errno(reterr, -ENOMEM, "bus");
	bus->kind = strcmp(dot, ".slice") == 0	 ? MANAGER ".Slice"
		    : strcmp(dot, ".scope") == 0 ? MANAGER ".Scope"
						 : MANAGER ".Service";
	bus->unit = strdup(unit);
	bus->address = address != NULL ? strdup(address) : NULL;
	if (bus->unit == NULL || (address != NULL && bus->address == NULL) ||
	    sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &bus->path) < 0) {
		unitbus_free(bus);
		return error_errno(reterr, -ENOMEM, "bus");
	}
	*ret_bus = bus;
	return 0;
}

void unitbus_free(struct unitbus *bus)
{
	if (bus == NULL)
		return;
	sd_bus_close_unref(bus->bus);
	free(bus->unit);
	free(bus->path);
	free(bus->address);
	free(bus);
}

void unitbus_begin(struct unitbus *bus, unsigned wait_ms)
{
	bus->end_ns = clock_now_ns() + (uint64_t)wait_ms * 1000000;
}

/* At least 1: zero would be the library's default. */
static uint64_t left_us(const struct unitbus *bus)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns < bus->end_ns ? (bus->end_ns - now_ns) / 1000 + 1 : 1;
}

static void disconnect(struct unitbus *bus)
{
	bus->bus = sd_bus_close_unref(bus->bus);
	bus->is_owed = false;
}

/*
 * systemd sends all of its signals to everybody on its private socket, and stops
 * sending to anybody when one of them never reads.
 */
void unitbus_end(struct unitbus *bus)
{
	if (!bus->is_owed)
		disconnect(bus);
}

/* The signals that have come meanwhile, which nobody waits for. */
static int drop_signals(struct unitbus *bus)
{
	int r;

	do {
		r = sd_bus_process(bus->bus, NULL);
	} while (r > 0 && left_us(bus) > 1);
	return r;
}

static int start(sd_bus *bus, const char *address)
{
	const char *system = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
	bool is_message_bus = false;
	int r;

	if (address == NULL && system == NULL && geteuid() == 0 &&
	    access(PRIVATE_SOCKET, F_OK) == 0) {
		address = "unix:path=" PRIVATE_SOCKET;
	} else if (address == NULL) {
		address = system != NULL ? system : "unix:path=/run/dbus/system_bus_socket";
		is_message_bus = true;
	}
	r = sd_bus_set_address(bus, address);
	if (r >= 0 && is_message_bus)
		r = sd_bus_set_bus_client(bus, 1);
	return r < 0 ? r : sd_bus_start(bus);
}

/* The library itself would wait for a peer that does not greet back. */
static int connect_in_time(struct unitbus *bus, struct error *reterr)
{
	int r = 0;

	if (bus->bus == NULL) {
		r = sd_bus_new(&bus->bus);
		if (r >= 0)
			r = start(bus->bus, bus->address);
	}
	while (r >= 0) {
		r = sd_bus_is_ready(bus->bus);
		if (r > 0 && bus->is_owed)
			r = drop_signals(bus) < 0 ? -ECONNRESET : 1;
		if (r > 0)
			return 0;
		if (r == 0)
			r = sd_bus_process(bus->bus, NULL);
		if (r != 0)
			continue;
		if (left_us(bus) <= 1) {
			bus->is_owed = true;
			return error_set(reterr, -ETIME, "systemd does not answer");
		}
		r = sd_bus_wait(bus->bus, left_us(bus));
		if (r == -EINTR)
			r = 0;
	}
	disconnect(bus);
	return error_set(reterr, -EHOSTDOWN, "cannot talk to systemd: %s", strerror(-r));
}

static bool is_lost(int code)
{
	return code == -ECONNRESET || code == -ENOTCONN || code == -EPIPE || code == -ESHUTDOWN ||
	       code == -ENOBUFS;
}

/* One call.  What it has to say is an error, or NULL. */
static int call(struct unitbus *bus, sd_bus_message *message, sd_bus_message **ret_reply,
		struct error *reterr)
{
	FREE_ERROR sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = sd_bus_call(bus->bus, message, left_us(bus), &error, ret_reply);

	/* Whatever it was asked before has been answered as well. */
	bus->is_owed = r == -ETIMEDOUT;
	if (r >= 0)
		return 0;
	if (is_lost(r)) {
		disconnect(bus);
		return error_set(reterr, -EHOSTDOWN, "the connection to systemd was lost");
	}
	if (r == -ETIMEDOUT)
		return error_set(reterr, -ETIME, "systemd does not answer");
	if (sd_bus_error_has_name(&error, MANAGER ".NoSuchUnit"))
		r = -ENOENT;
	return error_set(reterr, r, "systemd says: %.300s",
			 error.message != NULL ? error.message : strerror(-r));
}

static int get(struct unitbus *bus, const char *interface, const char *property,
	       sd_bus_message **ret_reply, struct error *reterr)
{
	UNREF_MESSAGE sd_bus_message *message = NULL;
	int r = connect_in_time(bus, reterr);

	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus->bus, &message, MANAGER, bus->path,
					   "org.freedesktop.DBus.Properties", "Get");
	if (r >= 0)
		r = sd_bus_message_append(message, "ss", interface, property);
	if (r < 0)
		return error_errno(reterr, r, "bus message");
	return call(bus, message, ret_reply, reterr);
}

/* Once more where an old connection turns out to be dead: reading is free to be repeated. */
static int get_again(struct unitbus *bus, const char *interface, const char *property,
		     sd_bus_message **ret_reply, struct error *reterr)
{
	int r = get(bus, interface, property, ret_reply, reterr);

	if (r == -EHOSTDOWN)
		r = get(bus, interface, property, ret_reply, reterr);
	/* Of those it does not matter what was asked. */
	if (r == 0 || r == -EHOSTDOWN || r == -ETIME)
		return r;
	error_wrap(reterr, "%s", property);
	return r;
}

int unitbus_text(struct unitbus *bus, enum unitbus_interface interface, const char *property,
		 char ret_text[UNITBUS_TEXT_BYTES], struct error *reterr)
{
	UNREF_MESSAGE sd_bus_message *reply = NULL;
	const char *text;
	int r = get_again(bus, interface == UNITBUS_ANY_UNIT ? MANAGER ".Unit" : bus->kind,
			  property, &reply, reterr);

	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "v", "s", &text);
	if (r < 0 || strlen(text) >= UNITBUS_TEXT_BYTES)
		return error_set(reterr, -EBADMSG, "%s: an answer that is no text", property);
	snprintf(ret_text, UNITBUS_TEXT_BYTES, "%s", text);
	return 0;
}

int unitbus_number(struct unitbus *bus, const char *property, uint64_t *ret_number,
		   struct error *reterr)
{
	UNREF_MESSAGE sd_bus_message *reply = NULL;
	uint64_t number;
	int r = get_again(bus, bus->kind, property, &reply, reterr);

	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "v", "t", &number);
	if (r < 0 || number == 0)
		return error_set(reterr, -EBADMSG, "%s: an answer that is no number", property);
	*ret_number = number;
	return 0;
}

int unitbus_list(struct unitbus *bus, const char *property, char ***ret_list,
		 struct error *reterr)
{
	UNREF_MESSAGE sd_bus_message *reply = NULL;
	char **list = NULL;
	int r = get_again(bus, MANAGER ".Unit", property, &reply, reterr);

	if (r < 0)
		return r;
	r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_VARIANT, "as");
	if (r >= 0)
		r = sd_bus_message_read_strv(reply, &list);
	if (r >= 0 && list == NULL)
		list = calloc(1, sizeof(*list));
	if (r < 0 || list == NULL)
		return error_set(reterr, -EBADMSG, "%s: an answer that is no list", property);
	*ret_list = list;
	return 0;
}

static int set_quota(struct unitbus *bus, uint64_t ucpu, uint64_t period_us,
		     struct error *reterr)
{
	UNREF_MESSAGE sd_bus_message *message = NULL, *reply = NULL;
	int r = connect_in_time(bus, reterr);

	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus->bus, &message, MANAGER,
					   "/org/freedesktop/systemd1", MANAGER ".Manager",
					   "SetUnitProperties");
	if (r >= 0)
		r = sd_bus_message_append(message, "sba(sv)", bus->unit, 1, 2,
					  "CPUQuotaPeriodUSec", "t", period_us,
					  "CPUQuotaPerSecUSec", "t", ucpu);
	if (r < 0)
		return error_errno(reterr, r, "bus message");
	return call(bus, message, &reply, reterr);
}

int unitbus_set_quota(struct unitbus *bus, uint64_t ucpu, uint64_t period_us,
		      struct error *reterr)
{
	/* Twice the same does no harm. */
	int r = set_quota(bus, ucpu, period_us, reterr);

	if (r == -EHOSTDOWN)
		r = set_quota(bus, ucpu, period_us, reterr);
	if (r < 0 && r != -EHOSTDOWN && r != -ETIME)
		error_wrap(reterr, "set its CPU quota");
	return r;
}

#else /* !HAVE_SYSTEMD */

int unitbus_new(const char *unit, const char *address, struct unitbus **ret_bus,
		struct error *reterr)
{
	(void)unit;
	(void)address;
	(void)ret_bus;
	return error_set(reterr, -ENOTSUP,
			 "this program was built without systemd: give the job's cgroup");
}

void unitbus_free(struct unitbus *bus)
{
	(void)bus;
}

void unitbus_begin(struct unitbus *bus, unsigned wait_ms)
{
	(void)bus;
	(void)wait_ms;
}

void unitbus_end(struct unitbus *bus)
{
	(void)bus;
}

int unitbus_text(struct unitbus *bus, enum unitbus_interface interface, const char *property,
		 char ret_text[UNITBUS_TEXT_BYTES], struct error *reterr)
{
	(void)bus;
	(void)interface;
	(void)property;
	(void)ret_text;
	return error_errno(reterr, -ENOTSUP, "systemd");
}

int unitbus_number(struct unitbus *bus, const char *property, uint64_t *ret_number,
		   struct error *reterr)
{
	(void)bus;
	(void)property;
	(void)ret_number;
	return error_errno(reterr, -ENOTSUP, "systemd");
}

int unitbus_list(struct unitbus *bus, const char *property, char ***ret_list,
		 struct error *reterr)
{
	(void)bus;
	(void)property;
	(void)ret_list;
	return error_errno(reterr, -ENOTSUP, "systemd");
}

int unitbus_set_quota(struct unitbus *bus, uint64_t ucpu, uint64_t period_us,
		      struct error *reterr)
{
	(void)bus;
	(void)ucpu;
	(void)period_us;
	return error_errno(reterr, -ENOTSUP, "systemd");
}
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "agent/control/printable.h"
#include "agent/control/status.h"

/*
 * The screen for people.  It works on JSON alone, whatever node and version
 * it came from: what is not there shows as "-".
 */

#define CELL_BYTES 32

struct cell {
	char text[CELL_BYTES];
};

static const json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static const char *shown(const json_t *string)
{
	const char *value = printable(string);

	return value != NULL ? value : "-";
}

static const char *text(const json_t *object, const char *key)
{
	return shown(get(object, key));
}

static struct cell scaled(const json_t *value, double scale, int decimals, const char *unit)
{
	struct cell cell = { "-" };

	if (json_is_number(value))
		snprintf(cell.text, sizeof(cell.text), "%.*f%s", decimals,
			 json_number_value(value) / scale, unit);
	return cell;
}

static struct cell cpu(const json_t *object, const char *key)
{
	return scaled(get(object, key), 1e6, 4, "");
}

static struct cell count(const json_t *object, const char *key)
{
	return scaled(get(object, key), 1, 0, "");
}

static struct cell price(const json_t *object, const char *key)
{
	struct cell cell = { "-" };
	const json_t *value = get(object, key);

	if (json_is_number(value))
		snprintf(cell.text, sizeof(cell.text), "%.4g", json_number_value(value));
	return cell;
}

static struct cell duration(const json_t *value)
{
	struct cell cell = { "-" };
	double s = json_number_value(value);

	if (!json_is_number(value))
		return cell;
	if (s < 120)
		snprintf(cell.text, sizeof(cell.text), "%.1f s", s);
	else if (s < 7200)
		snprintf(cell.text, sizeof(cell.text), "%.1f min", s / 60);
	else if (s < 172800)
		snprintf(cell.text, sizeof(cell.text), "%.1f h", s / 3600);
	else
		snprintf(cell.text, sizeof(cell.text), "%.1f d", s / 86400);
	return cell;
}

static void print_head(FILE *out, const json_t *status)
{
	const char *state = text(status, "state");
	bool is_frozen = json_is_true(get(status, "frozen")) && strcmp(state, "frozen") != 0;
	bool says_dry = strcmp(state, "dry-run") == 0;

	fprintf(out, "node %s of cluster %s: ", text(status, "node"), text(status, "cluster"));
	/* Whatever else it is, nobody may take this one for a node that limits. */
	if (says_dry || json_is_true(get(status, "dry_run")))
		fprintf(out, "DRY-RUN, no limit is written%s", says_dry ? "" : "; ");
	fprintf(out, "%s%s\n", says_dry ? "" : state, is_frozen ? "; frozen" : "");
	if (json_is_string(get(status, "reason")))
		fprintf(out, "  because  %s\n", text(status, "reason"));
	fputc('\n', out);
}

static void print_limits(FILE *out, const json_t *status)
{
	fprintf(out, "share      %s CPU of %s   floor %s   ceiling %s   reserve %s\n",
		cpu(status, "share_ucpu").text, cpu(status, "budget_ucpu").text,
		cpu(status, "floor_ucpu").text, cpu(status, "ceiling_ucpu").text,
		cpu(status, "reserve_ucpu").text);
	if (json_is_string(get(status, "unit")))
		fprintf(out, "unit       %s   cgroup %s\n", text(status, "unit"),
			text(status, "cgroup"));
	else if (json_is_string(get(status, "cgroup")))
		fprintf(out, "cgroup     %s\n", text(status, "cgroup"));
	fprintf(out, "quota      %s us per %s us written   %s us read back   %s CPU enforced\n",
		count(status, "quota_us").text, count(status, "period_us").text,
		count(status, "readback_us").text, cpu(status, "enforced_ucpu").text);
	fprintf(out, "effective  %s CPU, limited by %s", cpu(status, "effective_ucpu").text,
		text(status, "effective_by"));
	if (json_is_integer(get(status, "cpus")))
		fprintf(out, "   %s CPUs", count(status, "cpus").text);
	if (json_integer_value(get(status, "limit_changes")) > 0)
		fprintf(out, "   changed by others %s times", count(status, "limit_changes").text);
	fputc('\n', out);
}

static void print_measured(FILE *out, const json_t *status)
{
	const char *presence = text(status, "presence");

	fprintf(out, "job        %s CPU on CPU   %s waiting   %s demand",
		cpu(status, "on_cpu_ucpu").text, cpu(status, "wait_ucpu").text,
		cpu(status, "demand_ucpu").text);
	if (strcmp(presence, "-") != 0 && strcmp(presence, "running") != 0)
		fprintf(out, "   %s", presence);
	fprintf(out, "%s\n", json_is_true(get(status, "released")) ? ", released" : "");
	fprintf(out, "cost       %s marginal   %s price shown\n",
		price(status, "marginal_cost").text, price(status, "price").text);
	fprintf(out, "overuse    %s ms to pay back   %s s throttled so far\n",
		scaled(get(status, "debt_ns"), 1e6, 1, "").text,
		scaled(get(status, "throttled_ns"), 1e9, 1, "").text);
	fprintf(out, "meter      %s", text(status, "meter"));
	if (json_is_string(get(status, "meter_reason")))
		fprintf(out, " (%s)", text(status, "meter_reason"));
	fputc('\n', out);
	fprintf(out, "decision   %s\n", text(status, "last_decision"));
}

/* Only where there is something: most jobs have nothing of this. */
static void print_facts(FILE *out, const json_t *status)
{
	const json_t *unbound = get(status, "unbound"), *notes = get(status, "notes");
	bool has_scheduler = json_is_string(get(unbound, "sched_ext"));

	if (has_scheduler || json_integer_value(get(unbound, "realtime_threads")) > 0 ||
	    json_integer_value(get(unbound, "realtime_ucpu")) > 0)
		fprintf(out, "unbound    %s real-time threads   %s CPU on CPU   sched_ext %s\n",
			count(unbound, "realtime_threads").text, cpu(unbound, "realtime_ucpu").text,
			has_scheduler ? text(unbound, "sched_ext") : "none");
	for (size_t i = 0; i < json_array_size(notes); i++)
		fprintf(out, "note       %s\n", shown(json_array_get(notes, i)));
}

static void print_guard(FILE *out, const json_t *status)
{
	const json_t *guard = get(status, "guard");

	if (strcmp(text(guard, "state"), "off") == 0) {
		fprintf(out, "lease      off, so no automatic burial\n");
		return;
	}
	fprintf(out, "lease      %s left   guard %s   pid %s   %s restarts\n",
		duration(get(guard, "lease_s")).text, text(guard, "state"),
		count(guard, "pid").text, count(guard, "restarts").text);
	if (json_is_string(get(guard, "reason")))
		fprintf(out, "           because  %s\n", text(guard, "reason"));
	fprintf(out, "           watchdog %s, so %s\n", text(guard, "watchdog"),
		json_is_true(get(guard, "auto_burial")) ? "automatic burial is safe" :
							   "no automatic burial");
}

static struct cell measure(const json_t *object, const char *key)
{
	struct cell cell = { "-" };

	if (json_is_number(get(object, key)))
		snprintf(cell.text, sizeof(cell.text), "%.4g",
			 json_number_value(get(object, key)));
	return cell;
}

static void print_training(FILE *out, const json_t *status)
{
	const json_t *training = get(status, "training");

	if (!json_is_object(training))
		return;
	fprintf(out, "training   round %s   loss %s   accuracy %s   spread %s   alpha %s\n",
		count(training, "round").text, measure(training, "loss").text,
		measure(training, "accuracy").text, measure(training, "spread").text,
		measure(training, "alpha").text);
	fprintf(out, "           %s of %s neighbours   %s MB sent\n",
		count(training, "live").text, count(training, "neighbours").text,
		scaled(get(training, "sent_bytes"), 1e6, 1, "").text);
}

static void print_processes(FILE *out, const json_t *status)
{
	const json_t *worker = get(status, "worker"), *agent = get(status, "agent");
	double cpu_ns = json_number_value(get(agent, "cpu_ns"));
	double uptime_s = json_number_value(get(status, "uptime_s"));

	if (json_is_object(worker))
		fprintf(out, "worker     %s   pid %s   %s threads   %s tasks   %s restarts\n",
			text(worker, "state"), count(worker, "pid").text,
			count(worker, "threads").text, count(worker, "tasks").text,
			count(worker, "restarts").text);
	else
		fprintf(out, "worker     none\n");
	print_training(out, status);
	fprintf(out, "agent      up %s   ", duration(get(status, "uptime_s")).text);
	if (uptime_s > 0)
		fprintf(out, "%.2f %% of a CPU   ", cpu_ns / 1e7 / uptime_s);
	fprintf(out, "%s MiB   generation %s   incarnation %s\n",
		scaled(get(agent, "rss_bytes"), 1048576, 1, "").text,
		count(status, "generation").text, count(status, "incarnation").text);
	if (json_is_string(get(status, "reload")))
		fprintf(out, "           reload  %s\n", text(status, "reload"));
	if (json_integer_value(get(status, "sleeps")) > 0)
		fprintf(out, "           this machine slept %s times since, %s in all\n",
			count(status, "sleeps").text, duration(get(status, "slept_s")).text);
	fprintf(out, "           %s ticks   %s journal writes   %s quota writes   version %s\n",
		count(status, "ticks").text, count(status, "journal_writes").text,
		count(status, "quota_writes").text, text(status, "version"));
}

static void print_neighbours(FILE *out, const json_t *status)
{
	const json_t *neighbours = get(status, "neighbours");

	if (json_array_size(neighbours) == 0) {
		fprintf(out, "\nno neighbours: nothing is traded\n");
		return;
	}
	fprintf(out, "\n%-16s %-8s %10s %10s %10s %10s %10s\n", "NEIGHBOUR", "STATE", "HEARD",
		"PRICE", "SENT", "RECEIVED", "IN FLIGHT");
	for (size_t i = 0; i < json_array_size(neighbours); i++) {
		const json_t *neighbour = json_array_get(neighbours, i);

		fprintf(out, "%-16s %-8s %10s %10s %10s %10s %10s\n", text(neighbour, "name"),
			text(neighbour, "state"), duration(get(neighbour, "age_s")).text,
			price(neighbour, "price").text, cpu(neighbour, "sent_ucpu").text,
			cpu(neighbour, "received_ucpu").text,
			cpu(neighbour, "in_flight_ucpu").text);
	}
}

static void print_messages(FILE *out, const json_t *status)
{
	const json_t *messages = get(status, "messages");
	json_t *dropped = json_object_get(messages, "dropped");
	const char *reason;
	json_t *number;
	bool is_first = true;

	fprintf(out, "messages: %s sent, %s received", count(messages, "sent").text,
		count(messages, "received").text);
	json_object_foreach (dropped, reason, number) {
		if (json_integer_value(number) == 0)
			continue;
		fprintf(out, "%s %s %" JSON_INTEGER_FORMAT, is_first ? "; dropped:" : ",", reason,
			json_integer_value(number));
		is_first = false;
	}
	fputc('\n', out);
}

void status_print(FILE *out, const json_t *status)
{
	print_head(out, status);
	print_limits(out, status);
	print_measured(out, status);
	print_facts(out, status);
	print_guard(out, status);
	print_processes(out, status);
	print_neighbours(out, status);
	if (json_array_size(get(status, "neighbours")) > 0)
		print_messages(out, status);
}

#define ROW "%-12.12s %-9.9s %8s %8s %8s %8s %8s %10s %8s %5s\n"

void status_print_row(FILE *out, const json_t *status, bool header)
{
	if (header) {
		fprintf(out, ROW, "NODE", "STATE", "SHARE", "QUOTA", "ON-CPU", "WAIT", "DEMAND",
			"MARGINAL", "TASKS", "UP/NB");
		return;
	}

	const json_t *neighbours = get(status, "neighbours");
	size_t total = json_array_size(neighbours), up = 0;
	char links[16];

	for (size_t i = 0; i < total; i++)
		up += strcmp(text(json_array_get(neighbours, i), "state"), "up") == 0;
	snprintf(links, sizeof(links), "%zu/%zu", up, total);
	fprintf(out, ROW, text(status, "node"), text(status, "state"),
		cpu(status, "share_ucpu").text, cpu(status, "enforced_ucpu").text,
		cpu(status, "on_cpu_ucpu").text, cpu(status, "wait_ucpu").text,
		cpu(status, "demand_ucpu").text, price(status, "marginal_cost").text,
		count(get(status, "worker"), "tasks").text, links);
}

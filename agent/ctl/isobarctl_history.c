/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <time.h>

#include "agent/control/printable.h"
#include "agent/ctl/isobarctl.h"
#include "lib/quantity.h"

/* Why a share is what it is: history lists what changed it, explain says it in words. */

#define EXPLAINED_MAX 5u

static double cpus(const json_t *object, const char *key)
{
	return (double)json_integer_value(json_object_get(object, key)) / ISO_UCPU_PER_CPU;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = printable(json_object_get(object, key));

	return value != NULL ? value : "-";
}

/* A number as people read it, or a dash. */
static const char *number(const json_t *object, const char *key, char buffer[32])
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		return "-";
	snprintf(buffer, 32, "%.4g", json_number_value(value));
	return buffer;
}

/* Who or what moved it. */
static const char *cause(const json_t *event, char buffer[80])
{
	const json_t *operation = json_object_get(event, "operation");

	if (json_is_integer(operation))
		snprintf(buffer, 80, "operation %lld", (long long)json_integer_value(operation));
	else
		snprintf(buffer, 80, "%.63s", text(event, "peer"));
	return buffer;
}

/* By this machine's clock as it is now; the node keeps ages alone. */
static const char *when(const json_t *event, char buffer[32])
{
	double age_s = json_number_value(json_object_get(event, "age_s"));
	time_t at = time(NULL) - (time_t)age_s;
	struct tm tm;

	strftime(buffer, 32, "%Y-%m-%d %H:%M:%S", localtime_r(&at, &tm));
	return buffer;
}

static void print_event(const json_t *event)
{
	char at[32], who[80], own[32], theirs[32];

	printf("%-20s %8.4f %+9.4f  %-16s %8.4f %10s %10s\n", when(event, at),
	       cpus(event, "share_ucpu"), cpus(event, "moved_ucpu"), cause(event, who),
	       cpus(event, "demand_ucpu"), number(event, "price", own),
	       number(event, "peer_price", theirs));
}

static int ask(const struct ctl *ctl, const char *command, unsigned long count,
	       json_t **ret_reply)
{
	return ctl_ask_this(ctl,
			    json_pack("{s:s, s:I}", "command", command, "count",
				      (json_int_t)(count != 0 ? count : 100000)),
			    ret_reply);
}

int ctl_history(const struct ctl *ctl, int argc, char **argv)
{
	json_t *reply, *event;
	size_t i;

	(void)argc;
	(void)argv;
	int r = ask(ctl, "history", ctl->count, &reply);
	if (r != CTL_DONE)
		return r;
	if (ctl->json) {
		ctl_print_json(reply);
		json_decref(reply);
		return CTL_DONE;
	}
	printf("%-20s %8s %9s  %-16s %8s %10s %10s\n", "TIME", "SHARE", "MOVED", "WITH", "DEMAND",
	       "PRICE", "ITS PRICE");
	json_array_foreach (json_object_get(reply, "events"), i, event)
		print_event(event);
	if (json_integer_value(json_object_get(reply, "forgotten")) > 0)
		printf("and %lld before them\n",
		       (long long)json_integer_value(json_object_get(reply, "forgotten")));
	json_decref(reply);
	return CTL_DONE;
}

static void explain_share(const json_t *status)
{
	char marginal[32], price[32];
	double share = cpus(status, "share_ucpu");

	printf("node %s owns %.4f CPU of %.4f; its state is %s\n", text(status, "node"), share,
	       cpus(status, "budget_ucpu"), text(status, "state"));
	if (json_is_string(json_object_get(status, "reason")))
		printf("  %s\n", text(status, "reason"));
	printf("its job would use %.4f CPU: one CPU more would change its cost by %s\n",
	       cpus(status, "demand_ucpu"), number(status, "marginal_cost", marginal));
	if (share <= cpus(status, "floor_ucpu"))
		printf("it is at its floor, %.4f CPU, and gives nothing\n",
		       cpus(status, "floor_ucpu"));
	else if (share >= cpus(status, "ceiling_ucpu"))
		printf("it is at its ceiling, %.4f CPU, and takes nothing\n",
		       cpus(status, "ceiling_ucpu"));
	printf("of two neighbours the one with the higher price gives; its own is %s\n",
	       number(status, "price", price));
}

static void explain_neighbours(const json_t *status)
{
	json_t *neighbour;
	char price[32];
	size_t i;

	json_array_foreach (json_object_get(status, "neighbours"), i, neighbour)
		printf("  %s (%s) shows %s: %s\n", text(neighbour, "name"),
		       text(neighbour, "state"), number(neighbour, "price", price),
		       text(neighbour, "decision"));
}

static void explain_events(const json_t *history)
{
	json_t *event;
	size_t i;

	if (json_array_size(json_object_get(history, "events")) == 0)
		puts("nothing has moved it since the start");
	else
		puts("what moved it last:");
	json_array_foreach (json_object_get(history, "events"), i, event) {
		char at[32], who[80], own[32], theirs[32];
		double moved = cpus(event, "moved_ucpu");

		printf("  %s %s %.4f CPU %s %s: price %s here, %s there, demand %.4f; then it had "
		       "%.4f\n", when(event, at), moved < 0 ? "gave" : "got",
		       moved < 0 ? -moved : moved, moved < 0 ? "to" : "from", cause(event, who),
		       number(event, "price", own), number(event, "peer_price", theirs),
		       cpus(event, "demand_ucpu"), cpus(event, "share_ucpu"));
	}
}

int ctl_explain(const struct ctl *ctl, int argc, char **argv)
{
	json_t *status, *history;

	(void)argc;
	(void)argv;
	int r = ask(ctl, "status", 0, &status);
	if (r != CTL_DONE)
		return r;
	r = ask(ctl, "history", ctl->count != 0 ? ctl->count : EXPLAINED_MAX, &history);
	if (r == CTL_DONE && ctl->json) {
		json_t *both = json_pack("{s:b, s:O, s:O}", "ok", 1, "status", status, "history",
					 history);

		ctl_print_json(both);
		json_decref(both);
	} else if (r == CTL_DONE) {
		explain_share(status);
		explain_neighbours(status);
		explain_events(history);
	}
	if (r == CTL_DONE)
		json_decref(history);
	json_decref(status);
	return r;
}

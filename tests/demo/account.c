/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/account.h"

#include <math.h>
#include <string.h>

#include "lib/quantity.h"

/* The keys of the status, and the words for people. */
struct word {
	const char *key, *text;
};

static const struct word GRADIENTS[ACCOUNT_GRADIENTS] = {
	[ACCOUNT_USED] = { "used", "used" },
	[ACCOUNT_BUFFERED] = { "buffered", "kept for the next step" },
	[ACCOUNT_IGNORED] = { "ignored", "too late" },
	[ACCOUNT_STOPPED] = { "stopped", "stopped" },
	[ACCOUNT_LOST] = { "lost", "lost with a worker" },
	[ACCOUNT_IN_FLIGHT] = { "in_flight", "not finished" },
};

static const struct word WASTES[ACCOUNT_WASTES] = {
	[ACCOUNT_WASTE_IGNORED] = { "ignored_cpu_ns", "too late for a step" },
	[ACCOUNT_WASTE_LATE] = { "late_cpu_ns", "not waited for" },
	[ACCOUNT_WASTE_ABANDONED] = { "abandoned_cpu_ns", "stopped on the way" },
	[ACCOUNT_WASTE_NOT_FINITE] = { "not_finite_cpu_ns", "not finite" },
};

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double seconds(const json_t *object, const char *key)
{
	return number(object, key) / ISO_NS_PER_S;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value != NULL ? value : "?";
}

struct account account_of(const struct demo *demo)
{
	const json_t *status = demo->training, *tasks = json_object_get(status, "tasks"), *worker;
	struct account account = {
		.method = text(status, "method"),
		.allocation = text(status, "allocation"),
		.updates = number(status, "round"),
		.rounds = number(status, "rounds"),
		.wall_s = number(status, "elapsed_s"),
		.accuracy = number(status, "test_accuracy"),
		.loss = number(status, "test_loss"),
		.worker_s = seconds(status, "worker_cpu_ns"),
		.greedy_s = seconds(status, "greedy_worker_cpu_ns"),
		.wasted_s = seconds(status, "discarded_cpu_ns"),
		.started = number(tasks, "started"),
		.delay_mean = number(tasks, "delay_mean"),
		.delay_max = number(tasks, "delay_max"),
		.delay_limit = number(status, "delay_limit"),
		.round_tasks = number(status, "tasks_per_round"),
	};
	size_t index;

	for (unsigned i = 0; i < ACCOUNT_GRADIENTS; i++)
		account.gradients[i] = number(tasks, GRADIENTS[i].key);
	for (unsigned i = 0; i < ACCOUNT_WASTES; i++)
		account.waste_s[i] = seconds(json_object_get(status, "discarded"), WASTES[i].key);
	json_array_foreach (json_object_get(status, "workers"), index, worker)
		account.started_by_worker += number(worker, "started");
	return account;
}

static void print_waste(FILE *out, const struct account *account)
{
	const char *separator = " (";

	fprintf(out, "%.1f s in vain", account->wasted_s);
	for (unsigned i = 0; i < ACCOUNT_WASTES; i++)
		if (account->waste_s[i] >= 0.05) {
			fprintf(out, "%s%.1f s %s", separator, account->waste_s[i], WASTES[i].text);
			separator = ", ";
		}
	fputs(separator[0] == ',' ? ")" : "", out);
}

static void print_gradients(FILE *out, const struct account *account)
{
	const char *separator = ": ";

	fprintf(out, "%.0f gradients started", account->started);
	for (unsigned i = 0; i < ACCOUNT_GRADIENTS; i++)
		if (account->gradients[i] > 0) {
			fprintf(out, "%s%.0f %s", separator, account->gradients[i],
				GRADIENTS[i].text);
			separator = ", ";
		}
}

static void print_delays(FILE *out, const struct account *account)
{
	if (!(account->delay_max > 0))
		return;
	fprintf(out, "  delay %.1f steps on average, %.0f at most", account->delay_mean,
		account->delay_max);
	if (account->delay_limit > 0)
		fprintf(out, " (allowed: %.0f)", account->delay_limit - 1);
	fputc('\n', out);
}

void account_print(FILE *out, const struct demo *demo)
{
	struct account account = account_of(demo);

	if (isnan(account.updates))
		return;
	fprintf(out, "Training: %s", account.method);
	if (strcmp(account.allocation, "none") != 0)
		fprintf(out, " with %s", account.allocation);
	fprintf(out, ", %.0f steps in %.1f s\n  worker time %.1f s of CPU, ", account.updates,
		account.wall_s, account.worker_s);
	print_waste(out, &account);
	if (account.greedy_s > 0)
		fprintf(out, "; greedy rounds would have taken %.1f s (%.2f times as much)",
			account.greedy_s, account.greedy_s / account.worker_s);
	fputs("\n  ", out);
	print_gradients(out, &account);
	fputc('\n', out);
	print_delays(out, &account);
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer(double value)
{
	return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

json_t *account_describe(const struct demo *demo)
{
	struct account account = account_of(demo);
	json_t *gradients = json_object(), *waste = json_object();

	json_object_set_new(gradients, "started", integer(account.started));
	for (unsigned i = 0; i < ACCOUNT_GRADIENTS; i++)
		json_object_set_new(gradients, GRADIENTS[i].key, integer(account.gradients[i]));
	for (unsigned i = 0; i < ACCOUNT_WASTES; i++)
		json_object_set_new(waste, WASTES[i].key,
				    integer(account.waste_s[i] * ISO_NS_PER_S));
	return json_pack(
	    "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "method",
	    account.method, "allocation", account.allocation, "steps", integer(account.updates),
	    "rounds", integer(account.rounds), "wall_s", real(account.wall_s), "accuracy",
	    real(account.accuracy), "worker_s", real(account.worker_s), "greedy_worker_s",
	    real(account.greedy_s), "discarded_worker_s", real(account.wasted_s), "discarded",
	    waste, "gradients", gradients, "delay_mean", real(account.delay_mean), "delay_max",
	    integer(account.delay_max), "delay_limit", integer(account.delay_limit));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/account.h"

#include <math.h>

#include "lib/quantity.h"

/* Why a gradient that somebody paid for had no effect, as the coordinator counts it. */
static const struct reason {
	const char *key, *text;
} REASONS[] = {
	{ "late", "done elsewhere meanwhile" },
	{ "old", "of an older round" },
	{ "abandoned", "stopped on the way" },
	{ "not_finite", "not finite" },
};

#define REASONS_COUNT (sizeof(REASONS) / sizeof(REASONS[0]))

struct account {
	const char *method, *allocation;
	double rounds, updates, wall_s, worker_s, discarded_s, greedy_s, accuracy;
	double used, discarded[REASONS_COUNT];
};

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value != NULL ? value : "?";
}

static struct account account_of(const struct demo *demo)
{
	const json_t *status = demo->training, *counters = json_object_get(status, "counters");
	struct account account = {
		.method = text(status, "method"),
		.allocation = text(status, "allocation"),
		.rounds = number(status, "round"),
		.updates = number(status, "round"),
		.wall_s = number(status, "elapsed_s"),
		.worker_s = number(status, "worker_cpu_ns") / ISO_NS_PER_S,
		.discarded_s = number(status, "discarded_cpu_ns") / ISO_NS_PER_S,
		.greedy_s = number(status, "greedy_worker_cpu_ns") / ISO_NS_PER_S,
		.accuracy = number(status, "test_accuracy"),
		.used = number(counters, "accepted"),
	};

	for (size_t i = 0; i < REASONS_COUNT; i++)
		account.discarded[i] = number(counters, REASONS[i].key);
	return account;
}

static double discarded(const struct account *account)
{
	double sum = 0;

	for (size_t i = 0; i < REASONS_COUNT; i++)
		sum += isnan(account->discarded[i]) ? 0 : account->discarded[i];
	return sum;
}

static void print_discarded(FILE *out, const struct account *account)
{
	const char *separator = " (";

	fprintf(out, "%.0f discarded", discarded(account));
	for (size_t i = 0; i < REASONS_COUNT; i++)
		if (account->discarded[i] > 0) {
			fprintf(out, "%s%.0f %s", separator, account->discarded[i],
				REASONS[i].text);
			separator = ", ";
		}
	if (discarded(account) > 0)
		fputc(')', out);
}

void account_print(FILE *out, const struct demo *demo)
{
	struct account account = account_of(demo);

	if (isnan(account.rounds))
		return;
	fprintf(out, "Training: %s with %s, %.0f rounds in %.1f s\n", account.method,
		account.allocation, account.rounds, account.wall_s);
	fprintf(out, "  worker time %.1f s of CPU, %.1f s of it in vain", account.worker_s,
		account.discarded_s);
	if (account.greedy_s > 0)
		fprintf(out, "; the greedy rule would have burnt %.1f s (%.2f times as much)",
			account.greedy_s, account.greedy_s / account.worker_s);
	fprintf(out, "\n  %.0f gradients computed: %.0f used, ", account.used + discarded(&account),
		account.used);
	print_discarded(out, &account);
	fputc('\n', out);
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
	json_t *reasons = json_object();

	for (size_t i = 0; i < REASONS_COUNT; i++)
		json_object_set_new(reasons, REASONS[i].key, integer(account.discarded[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "method",
			 account.method, "allocation", account.allocation, "rounds",
			 integer(account.rounds), "updates", integer(account.updates), "wall_s",
			 real(account.wall_s), "worker_s", real(account.worker_s),
			 "discarded_worker_s", real(account.discarded_s), "greedy_worker_s",
			 real(account.greedy_s), "accuracy", real(account.accuracy), "computed",
			 integer(account.used + discarded(&account)), "used", integer(account.used),
			 "discarded", reasons);
}

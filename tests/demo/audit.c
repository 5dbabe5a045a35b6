/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/audit.h"

#include <errno.h>
#include <string.h>

#define NS_PER_S 1000000000u

int audit_open(struct audit *audit, char *const *directories, unsigned count, uint64_t budget_ucpu,
	       unsigned *ret_index)
{
	*audit = (struct audit){ .budget_ucpu = budget_ucpu, .second_kept_min = UINT64_MAX };
	for (unsigned i = 0; i < count; i++) {
		int r = quota_open(directories[i], &audit->files[i]);

		if (r != 0) {
			*ret_index = i;
			audit_close(audit);
			return r;
		}
		audit->count++;
	}
	return 0;
}

void audit_close(struct audit *audit)
{
	while (audit->count > 0)
		quota_close(&audit->files[--audit->count]);
}

static int collect(struct audit *audit, struct quota *ret_quotas)
{
	for (unsigned i = 0; i < audit->count; i++) {
		if (audit->before_read != NULL)
			audit->before_read(audit, i);
		int r = quota_read(&audit->files[i], &ret_quotas[i]);

		if (r != 0) {
			audit->error = r;
			audit->error_index = i;
			return r;
		}
	}
	return 0;
}

/* 0, -EAGAIN when every try was torn, or why a cgroup could not be read. */
static int snapshot(struct audit *audit, struct quota *ret_quotas)
{
	struct quota again[QUOTAS_MAX];
	int r = collect(audit, ret_quotas);

	for (unsigned try = 0; try < AUDIT_TRIES && r == 0; try++) {
		r = collect(audit, again);
		if (r != 0)
			break;
		if (quotas_equal(ret_quotas, again, audit->count))
			return 0;
		audit->torn++;
		/* The second pass of a torn pair is the first of the next. */
		memcpy(ret_quotas, again, audit->count * sizeof(*again));
	}
	return r != 0 ? r : -EAGAIN;
}

/* Closes every second that is over; one without a snapshot counts as 0. */
static void count_seconds(struct audit *audit, uint64_t now_ns)
{
	while (now_ns - audit->second_ns >= NS_PER_S) {
		if (audit->second_kept < audit->second_kept_min)
			audit->second_kept_min = audit->second_kept;
		audit->second_kept = 0;
		audit->second_ns += NS_PER_S;
	}
}

/* A quota holds until the next snapshot, some milliseconds later. */
static void allow(struct audit *audit, const struct quota *quotas, uint64_t now_ns)
{
	for (unsigned i = 0; i < audit->count && audit->kept > 0; i++)
		if (audit->newest[i].quota_us > 0 && audit->newest[i].period_us > 0)
			audit->allowed_ns[i] += (double)(now_ns - audit->kept_ns) *
						(double)audit->newest[i].quota_us /
						(double)audit->newest[i].period_us;
	memcpy(audit->newest, quotas, audit->count * sizeof(*quotas));
}

static void keep(struct audit *audit, const struct quota *quotas, uint64_t now_ns)
{
	allow(audit, quotas, now_ns);
	if (audit->kept > 0 && now_ns - audit->kept_ns > audit->gap_ns_max)
		audit->gap_ns_max = now_ns - audit->kept_ns;
	audit->kept++;
	audit->second_kept++;
	audit->kept_ns = now_ns;
}

static bool judge(struct audit *audit, const struct quota *quotas, uint64_t now_ns)
{
	uint64_t sum_ucpu = UINT64_MAX;

	if (quotas_sum(quotas, audit->count, &sum_ucpu) == 0) {
		audit->sum_ucpu = sum_ucpu;
		if (sum_ucpu > audit->sum_ucpu_max)
			audit->sum_ucpu_max = sum_ucpu;
		if (sum_ucpu <= audit->budget_ucpu)
			return true;
	}
	if (audit->violations < AUDIT_VIOLATIONS_MAX) {
		struct audit_violation *violation = &audit->first[audit->violations];

		violation->at_ns = now_ns;
		violation->sum_ucpu = sum_ucpu;
		memcpy(violation->quotas, quotas, audit->count * sizeof(*quotas));
	}
	audit->violations++;
	return false;
}

bool audit_sample(struct audit *audit, uint64_t now_ns)
{
	struct quota quotas[QUOTAS_MAX];

	if (audit->samples++ == 0)
		audit->first_ns = audit->second_ns = now_ns;
	count_seconds(audit, now_ns);
	int r = snapshot(audit, quotas);
	if (r == -EAGAIN)
		return true;
	if (r != 0) {
		audit->unreadable++;
		return true;
	}
	keep(audit, quotas, now_ns);
	return judge(audit, quotas, now_ns);
}

bool audit_held(const struct audit *audit)
{
	return audit->kept > 0 && audit->violations == 0 && audit->unreadable == 0;
}

static json_t *integer(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

json_t *audit_progress(const struct audit *audit)
{
	uint64_t span_ns = audit->kept_ns - audit->first_ns;
	double per_s = span_ns > 0 ? (double)audit->kept * NS_PER_S / (double)span_ns : 0;
	json_t *allowed = json_array();

	for (unsigned i = 0; i < audit->count; i++)
		json_array_append_new(allowed, json_real(audit->allowed_ns[i] / NS_PER_S));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o}",
			 "nodes", (int)audit->count, "budget_ucpu", integer(audit->budget_ucpu),
			 "samples", integer(audit->samples), "kept", integer(audit->kept), "torn",
			 integer(audit->torn), "unreadable", integer(audit->unreadable),
			 "violations", integer(audit->violations), "sum_ucpu",
			 integer(audit->sum_ucpu), "sum_ucpu_max", integer(audit->sum_ucpu_max),
			 "gap_ns_max", integer(audit->gap_ns_max), "kept_per_s", per_s,
			 "kept_per_s_min", integer(audit->second_kept_min), "kept_ns",
			 integer(audit->kept_ns), "allowed_cpu_s", allowed);
}

static json_t *describe(const struct audit_violation *violation, unsigned count)
{
	json_t *quotas = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(
		    quotas,
		    json_pack("{s:I, s:I}", "quota_us", (json_int_t)violation->quotas[i].quota_us,
			      "period_us", (json_int_t)violation->quotas[i].period_us));
	return json_pack("{s:o, s:o, s:o}", "at_ns", integer(violation->at_ns), "sum_ucpu",
			 integer(violation->sum_ucpu), "quotas", quotas);
}

json_t *audit_summary(const struct audit *audit)
{
	json_t *summary = audit_progress(audit), *first = json_array();

	for (unsigned i = 0; i < AUDIT_VIOLATIONS_MAX && i < audit->violations; i++)
		json_array_append_new(first, describe(&audit->first[i], audit->count));
	json_object_set_new(summary, "first_violations", first);
	json_object_set_new(summary, "held", json_boolean(audit_held(audit)));
	if (audit->unreadable > 0) {
		json_object_set_new(summary, "error", json_string(strerror(-audit->error)));
		json_object_set_new(summary, "error_index", json_integer(audit->error_index));
	}
	return summary;
}

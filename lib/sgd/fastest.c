/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/fastest.h"

#include <assert.h>

#include "lib/sgd/theory.h"

#define NS_PER_S 1e9

/* So that those who are equally fast do not take turns with each result. */
#define PAUSE_NS 1000000000ull

void iso_fastest_add(struct iso_fastest *fastest, uint32_t worker, uint64_t time_ns)
{
	assert(worker < fastest->workers);
	struct iso_pace *pace = &fastest->of[worker].pace;
	uint64_t seen = pace->seen;

	iso_pace_add(pace, time_ns);
	if (pace->seen == seen)
		return;
	fastest->news++;
	if (seen == 0)
		fastest->is_due = true;
}

/* 0: nothing is known. */
static double task_s(const struct iso_fastest *fastest, uint32_t worker, double rate)
{
	assert(rate > 0);
	return (double)fastest->of[worker].pace.mean_ns / NS_PER_S / rate;
}

/* Who has been out for long becomes one of whom nothing is known. */
static bool forget(struct iso_fastest *fastest, uint64_t now_ns, const double *rates)
{
	bool has_forgotten = false;

	for (uint32_t i = 0; i < fastest->workers; i++) {
		struct iso_fastest_worker *worker = &fastest->of[i];

		if (!worker->is_out || !(rates[i] > 0) || now_ns < worker->retry_at_ns)
			continue;
		worker->pace = (struct iso_pace){ 0 };
		has_forgotten = true;
	}
	return has_forgotten;
}

/* The known times of those who are here, in rising order. */
static uint32_t sort(const struct iso_fastest *fastest, const double *rates)
{
	double *sorted = fastest->scratch_s;
	uint32_t n = 0;

	for (uint32_t i = 0; i < fastest->workers; i++) {
		double time_s = rates[i] > 0 ? task_s(fastest, i, rates[i]) : 0;
		uint32_t at = n;

		if (!(time_s > 0))
			continue;
		for (; at > 0 && sorted[at - 1] > time_s; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = time_s;
		n++;
	}
	assert(n <= fastest->workers);
	return n;
}

static uint64_t retry_ns(double time_s)
{
	double tasks_ns = ISO_FASTEST_RETRY_TASKS * time_s * NS_PER_S;

	assert(tasks_ns >= 0);
	if (tasks_ns >= (double)(UINT64_MAX / 4))
		return UINT64_MAX / 4;
	return tasks_ns > (double)ISO_FASTEST_RETRY_NS ? (uint64_t)tasks_ns : ISO_FASTEST_RETRY_NS;
}

static uint32_t present(const struct iso_fastest *fastest, const double *rates)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fastest->workers; i++)
		count += rates[i] > 0;
	return count;
}

bool iso_fastest_choose(struct iso_fastest *fastest, uint64_t now_ns, const double *rates)
{
	bool is_time = fastest->news > 0 && now_ns - fastest->chosen_at_ns >= PAUSE_NS;
	uint32_t here = present(fastest, rates);

	assert(fastest->chosen_at_ns <= now_ns);
	if (!forget(fastest, now_ns, rates) && !fastest->is_due && !is_time &&
	    here == fastest->chosen_of)
		return false;
	fastest->chosen_at_ns = now_ns;
	fastest->chosen_of = here;
	fastest->news = 0;
	fastest->is_due = false;

	uint32_t n = sort(fastest, rates);
	uint32_t m =
	    n > 0 ? iso_theory_fastest(fastest->scratch_s, n, fastest->variance, fastest->target)
		  : 0;
	double slowest_s = m > 0 ? fastest->scratch_s[m - 1] : 0;
	for (uint32_t i = 0; i < fastest->workers; i++) {
		struct iso_fastest_worker *worker = &fastest->of[i];

		if (!(rates[i] > 0))
			continue; /* as it was, until it is back */
		double time_s = task_s(fastest, i, rates[i]);
		bool is_out = time_s > slowest_s;
		if (is_out && !worker->is_out)
			worker->retry_at_ns = now_ns + retry_ns(time_s);
		worker->is_out = is_out;
	}
	return true;
}

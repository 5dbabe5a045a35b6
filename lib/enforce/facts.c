/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/facts.h"

#include <assert.h>

#include "lib/smaller.h"

#define S_NS		   1000000000ull
#define UCPU_PER_CPU	   1000000.0
#define THROTTLED_MIN	   100.0
#define EARLY_PATIENCE_NS  (600 * S_NS)

struct rule {
	uint64_t window_ns;   /* at least */
	double expected_min;  /* below that a window says nothing, and goes on */
	double count_min;
	double begin, end;    /* ratios; begin < end: too little is odd, not too much */
	double other;         /* ACCOUNTS: both ways are, this is the way down */
	unsigned strikes;
};

static const struct rule rules[ISO_FACT_COUNT] = {
	[ISO_FACT_OVERUSE] = { 10 * S_NS, 50e6, 0, 1.2, 1.1, 0, 2 },
	[ISO_FACT_EARLY] = { 10 * S_NS, 1, THROTTLED_MIN, 0.8, 0.9, 0, 1 },
	[ISO_FACT_ACCOUNTS] = { 60 * S_NS, 1e9, 0, 1.05, 1.025, 0.95, 1 },
	[ISO_FACT_STOLEN] = { 60 * S_NS, 1, 0, 0.1, 0.05, 0, 1 },
	[ISO_FACT_INTERRUPTS] = { 60 * S_NS, 1, 0, 0.2, 0.1, 0, 1 },
};

static void restart(struct iso_fact_window *window, uint64_t now_ns)
{
	window->from_ns = now_ns;
	window->seen = window->expected = window->count = 0;
}

/* How far a ratio is beyond what is usual: in the direction that the rule means. */
static bool beyond(const struct rule *rule, double ratio, double level)
{
	if (rule->begin < rule->end)
		return ratio <= level;
	if (rule->other > 0 && ratio < 1)
		return 1 / ratio >= level;
	return ratio >= level;
}

static void judge(struct iso_fact_window *window, const struct rule *rule, uint64_t now_ns)
{
	assert(window->expected > 0);
	window->ratio = window->seen / window->expected;
	window->has_ratio = true;
	assert(window->ratio >= 0);
	if (beyond(rule, window->ratio, rule->begin)) {
		if (window->strikes < rule->strikes)
			window->strikes++;
		if (window->strikes == rule->strikes)
			window->holds = true;
	} else {
		window->strikes = 0;
		if (!beyond(rule, window->ratio, rule->end))
			window->holds = false;
	}
	restart(window, now_ns);
}

static void take(struct iso_facts *facts, enum iso_fact fact, uint64_t now_ns, double seen,
		 double expected, double count)
{
	struct iso_fact_window *window = &facts->windows[fact];
	const struct rule *rule = &rules[fact];

	assert(seen >= 0 && expected >= 0 && count >= 0);
	window->seen += seen;
	window->expected += expected;
	window->count += count;
	if (now_ns - window->from_ns < rule->window_ns ||
	    window->expected < rule->expected_min || window->count < rule->count_min)
		return;
	judge(window, rule, now_ns);
}

static void end(struct iso_fact_window *window, uint64_t now_ns)
{
	window->holds = window->has_ratio = false;
	window->strikes = 0;
	restart(window, now_ns);
}

/* A job that is hardly ever throttled is not throttled too early. */
static void give_up_early(struct iso_facts *facts, uint64_t now_ns)
{
	struct iso_fact_window *window = &facts->windows[ISO_FACT_EARLY];

	if (now_ns - window->from_ns >= EARLY_PATIENCE_NS)
		end(window, now_ns);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Of both readings, what they allowed at most: a change lies somewhere in between. */
static void look_at_use(struct iso_facts *facts, const struct iso_facts_reading *now)
{
	const struct iso_facts_reading *last = &facts->last;
	int64_t allowed_ucpu = larger(now->allowed_ucpu, last->allowed_ucpu);
	double used_ns = (double)(now->used_ns - last->used_ns);

	if (allowed_ucpu == INT64_MAX)
		restart(&facts->windows[ISO_FACT_OVERUSE], now->now_ns);
	else
		take(facts, ISO_FACT_OVERUSE, now->now_ns, used_ns,
		     (double)(now->now_ns - last->now_ns) * (double)allowed_ucpu / UCPU_PER_CPU,
		     0);

	if (!now->has_throttled || !last->has_throttled ||
	    now->periods_throttled < last->periods_throttled || now->quota_us == 0 ||
	    last->quota_us == 0) {
		restart(&facts->windows[ISO_FACT_EARLY], now->now_ns);
	} else {
		double throttled = (double)(now->periods_throttled - last->periods_throttled);

		take(facts, ISO_FACT_EARLY, now->now_ns, used_ns,
		     throttled * (double)iso_smaller_u64(now->quota_us, last->quota_us) * 1000,
		     throttled);
		give_up_early(facts, now->now_ns);
	}

	if (!now->has_kernel || !last->has_kernel || now->kernel_ns < last->kernel_ns)
		restart(&facts->windows[ISO_FACT_ACCOUNTS], now->now_ns);
	else
		take(facts, ISO_FACT_ACCOUNTS, now->now_ns, used_ns,
		     (double)(now->kernel_ns - last->kernel_ns), 0);
}

static void look_at_host(struct iso_facts *facts, const struct iso_facts_reading *now)
{
	const struct iso_facts_reading *last = &facts->last;

	/* Some kernels let these go back when a CPU goes. */
	if (!now->has_host || !last->has_host || now->host_ns < last->host_ns ||
	    now->stolen_ns < last->stolen_ns || now->interrupts_ns < last->interrupts_ns) {
		restart(&facts->windows[ISO_FACT_STOLEN], now->now_ns);
		restart(&facts->windows[ISO_FACT_INTERRUPTS], now->now_ns);
		return;
	}
	double host_ns = (double)(now->host_ns - last->host_ns);

	take(facts, ISO_FACT_STOLEN, now->now_ns, (double)(now->stolen_ns - last->stolen_ns),
	     host_ns, 0);
	take(facts, ISO_FACT_INTERRUPTS, now->now_ns,
	     (double)(now->interrupts_ns - last->interrupts_ns), host_ns, 0);
}

void iso_facts_look(struct iso_facts *facts, const struct iso_facts_reading *reading)
{
	const struct iso_facts_reading *last = &facts->last;

	assert(!facts->started || reading->now_ns >= last->now_ns);
	assert(reading->allowed_ucpu >= 0);
	if (!facts->started) {
		for (unsigned i = 0; i < ISO_FACT_COUNT; i++)
			restart(&facts->windows[i], reading->now_ns);
		facts->started = true;
		facts->last = *reading;
		return;
	}
	if (reading->is_gone) {
		end(&facts->windows[ISO_FACT_OVERUSE], reading->now_ns);
		end(&facts->windows[ISO_FACT_EARLY], reading->now_ns);
		end(&facts->windows[ISO_FACT_ACCOUNTS], reading->now_ns);
	} else if (reading->has_used && last->has_used && reading->used_ns >= last->used_ns) {
		look_at_use(facts, reading);
	} else {
		restart(&facts->windows[ISO_FACT_OVERUSE], reading->now_ns);
		restart(&facts->windows[ISO_FACT_EARLY], reading->now_ns);
		restart(&facts->windows[ISO_FACT_ACCOUNTS], reading->now_ns);
	}
	look_at_host(facts, reading);
	facts->last = *reading;
}

bool iso_facts_holds(const struct iso_facts *facts, enum iso_fact fact, double *ret_ratio)
{
	assert((unsigned)fact < ISO_FACT_COUNT);
	if (!facts->windows[fact].holds)
		return false;
	*ret_ratio = facts->windows[fact].ratio;
	return true;
}

bool iso_facts_ratio(const struct iso_facts *facts, enum iso_fact fact, double *ret_ratio)
{
	assert((unsigned)fact < ISO_FACT_COUNT);
	if (!facts->windows[fact].has_ratio)
		return false;
	*ret_ratio = facts->windows[fact].ratio;
	return true;
}

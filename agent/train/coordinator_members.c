/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who takes part in a run: workers that come and go, deliver nothing, or are among the fastest. */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <assert.h>

#include "agent/base/log.h"
#include "lib/quantity.h"

/* A worker may own nothing for a while; times are then long, not infinite. */
#define RATE_MIN_CPUS 1e-3

/* A worker that delivers nothing gets another chance after this. */
#define RETRY_NS (30 * ISO_NS_PER_S)

static double rate_of(struct iso_train_speed speed)
{
	double rate = iso_rate_cpus(speed.threads, speed.share_ucpu);

	return rate > RATE_MIN_CPUS ? rate : RATE_MIN_CPUS;
}

static void apply_speed(struct run *run, uint32_t worker, struct iso_train_speed speed)
{
	run->slots[worker].speed = speed;
	iso_strategy_set_rate(run->strategy, worker, rate_of(speed));
}

/*
 * Computations that a worker has at once.  Where all are at one point anyway a second
 * one for each thread bridges the time until the next order.
 */
static uint32_t depth_of(const struct run *run, uint32_t threads)
{
	bool is_greedy =
	    run->plan.method == ISO_METHOD_RENNALA || run->plan.method == ISO_METHOD_MALENIA;

	return is_greedy ? 2 * threads : threads;
}

/* The method may count on the worker from now on. */
static void take_in(struct run *run, uint64_t now_ns, uint32_t worker)
{
	struct slot *slot = &run->slots[worker];

	assert(slot->is_here);
	assert(!slot->is_joined);
	slot->is_joined = true;
	run->joined_count++;
	iso_strategy_set_present(run->strategy, worker, true);
	iso_dispatch_join(run->dispatch, now_ns, worker, slot->speed.threads,
			  slot->speed.share_ucpu);
	iso_method_join(run->method, worker, depth_of(run, slot->speed.threads));
}

static void take_out(struct run *run, uint64_t now_ns, uint32_t worker)
{
	struct slot *slot = &run->slots[worker];

	if (!slot->is_joined)
		return;
	slot->is_joined = false;
	run->joined_count--;
	iso_strategy_set_present(run->strategy, worker, false);
	slot->ledger.lost += iso_dispatch_leave(run->dispatch, now_ns, worker);
	iso_method_leave(run->method, worker);
}

static void pardon(struct run *run, uint32_t worker)
{
	run->given_up_count -= run->slots[worker].is_given_up;
	run->slots[worker].is_given_up = false;
}

void run_leave(struct run *run, uint64_t now_ns, uint32_t worker)
{
	struct slot *slot = &run->slots[worker];

	take_out(run, now_ns, worker);
	pardon(run, worker);
	run->here_count -= slot->is_here;
	slot->is_here = false;
}

void run_join(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed)
{
	struct slot *slot = &run->slots[worker];

	run_leave(run, now_ns, worker);
	run->here_count++;
	slot->is_here = true;
	if (run->first_join_ns == 0)
		run->first_join_ns = now_ns;
	apply_speed(run, worker, speed);
	/* Before the start they gather. */
	if (run->started_ns != 0)
		take_in(run, now_ns, worker);
}

void run_set_speed(struct run *run, uint64_t now_ns, uint32_t worker, struct iso_train_speed speed)
{
	const struct slot *slot = &run->slots[worker];

	/* No threads: a PING or PONG that says nothing of them. */
	if (!slot->is_here || speed.threads == 0 ||
	    (slot->speed.threads == speed.threads && slot->speed.share_ucpu == speed.share_ucpu))
		return;
	apply_speed(run, worker, speed);
	if (!slot->is_joined)
		return;
	iso_dispatch_set_rate(run->dispatch, now_ns, worker, speed.threads, speed.share_ucpu);
	/* By allocation it does not matter. */
	iso_method_set_depth(run->method, worker, depth_of(run, speed.threads));
}

void run_take_in_all(struct run *run, uint64_t now_ns)
{
	for (uint32_t i = 0; i < run->workers_count; i++)
		if (run->slots[i].is_here)
			take_in(run, now_ns, i);
}

void run_admit(struct run *run, uint64_t now_ns)
{
	bool by_rate = run->conf->allocation.options.share_normalised;

	if (run->plan.method != ISO_METHOD_NAIVE_OPTIMAL)
		return;
	for (uint32_t i = 0; i < run->workers_count; i++) {
		const struct slot *slot = &run->slots[i];
		double rate = by_rate ? rate_of(slot->speed) : 1;

		run->rates[i] = slot->is_joined ? rate : 0;
	}
	if (!iso_fastest_choose(&run->fastest, now_ns, run->rates))
		return;
	for (uint32_t i = 0; i < run->workers_count; i++) {
		struct slot *slot = &run->slots[i];
		bool is_fast = !run->fastest.of[i].is_out;

		if (is_fast == slot->is_admitted)
			continue;
		slot->is_admitted = is_fast;
		iso_method_admit(run->method, i, is_fast);
		log_info("worker %s is %s", run->conf->workers[i].name,
			 !is_fast			     ? "no longer one of the fastest"
			 : run->fastest.of[i].pace.seen == 0 ? "tried again"
							     : "one of the fastest");
	}
}

static void give_up(struct run *run, uint64_t now_ns, uint32_t worker, uint32_t leases)
{
	struct slot *slot = &run->slots[worker];

	log_warn("worker %s: no result in %u leases; going on without it",
		 run->conf->workers[worker].name, leases);
	take_out(run, now_ns, worker);
	slot->is_given_up = true;
	slot->retry_at_ns = now_ns + RETRY_NS;
	run->given_up_count++;
}

void run_look_after_workers(struct run *run, uint64_t now_ns)
{
	uint64_t expired = iso_dispatch_totals(run->dispatch)->leases_expired;

	if (expired == run->leases_expired_seen && run->given_up_count == 0)
		return;
	run->leases_expired_seen = expired;
	for (uint32_t i = 0; i < run->workers_count; i++) {
		struct slot *slot = &run->slots[i];

		if (slot->is_given_up && now_ns >= slot->retry_at_ns) {
			pardon(run, i);
			take_in(run, now_ns, i);
			iso_dispatch_drop(run->dispatch, i);
		} else if (slot->is_joined) {
			uint32_t leases = iso_dispatch_worker(run->dispatch, i).leases_expired;

			if (leases >= (uint32_t)run->conf->lease.give_up_after)
				give_up(run, now_ns, i, leases);
		}
	}
}

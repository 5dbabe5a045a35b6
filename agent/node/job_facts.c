/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Beside the limit: who is there, what no quota holds, what is odd. */
#include "config.h"

#include "agent/node/job_facts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/base/log.h"
#include "agent/meter/meter.h"
#include "agent/node/job_private.h"
#include "lib/quantity.h"

#define PRESENCE_EVERY_NS 1000000000ull
#define SLOW_EVERY_NS	  10000000000ull
/* So many threads and groups are looked at each time: about a millisecond. */
#define LOOK_MOST	  4096u
/* What comes and goes is not logged again sooner. */
#define QUIET_NS	  600000000000ull
#define TEXT_CPU(ucpu)	  ((double)(ucpu) / ISO_UCPU_PER_CPU)

const char *job_presence_name(enum job_presence presence)
{
	switch (presence) {
	case JOB_UNKNOWN: break;
	case JOB_RUNNING: return "running";
	case JOB_EMPTY: return "empty";
	case JOB_FROZEN: return "frozen";
	case JOB_GONE: return "gone";
	}
	return NULL;
}

const struct job_facts *job_facts(const struct job *job)
{
	return &job->watch.facts;
}

/* 1: say that it begins; -1: that it ends; 0: nothing. */
static int said(struct job_said *said, uint64_t now_ns, bool holds)
{
	bool is_quiet = said->at_ns != 0 && now_ns - said->at_ns < QUIET_NS;

	if (holds == said->is_on || (holds && is_quiet))
		return 0;
	said->is_on = holds;
	if (holds)
		said->at_ns = now_ns;
	return holds ? 1 : -1;
}

__attribute__((format(printf, 2, 3))) static void note(struct job_facts *facts,
						       const char *format, ...)
{
	va_list ap;

	if (facts->note_count == JOB_NOTES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(facts->notes[facts->note_count++], JOB_NOTE_BYTES, format, ap);
	va_end(ap);
}

void job_facts_unbound(const struct job_facts *facts, char *ret_text, size_t size)
{
	const struct cgroup_tasks *tasks = &facts->tasks;
	const struct hostfacts *host = &facts->host;
	bool has_threads = facts->has_tasks && tasks->realtime > 0;
	bool has_scheduler = host->sched_ext[0] != '\0' &&
			     (host->sched_ext_all || (facts->has_tasks && tasks->extensible > 0));
	size_t used;

	ret_text[0] = '\0';
	if (!has_threads && !has_scheduler && facts->realtime_ucpu == 0 && !facts->is_overused)
		return;
	snprintf(ret_text, size, "not bound by the quota:");
	used = strlen(ret_text);
	if (has_threads)
		used += (size_t)snprintf(ret_text + used, size - used, " %s%u real-time threads",
					 tasks->is_partial ? "at least " : "", tasks->realtime);
	if (facts->realtime_ucpu > 0)
		used += (size_t)snprintf(ret_text + used, size - used, "%s with %.4f CPU",
					 has_threads ? "" : " real-time threads",
					 TEXT_CPU(facts->realtime_ucpu));
	if (has_scheduler)
		used += (size_t)snprintf(ret_text + used, size - used,
					 "%s the sched_ext scheduler '%s' may not know of it",
					 has_threads || facts->realtime_ucpu > 0 ? ";" : "",
					 host->sched_ext);
	if (facts->is_overused)
		snprintf(ret_text + used, size - used,
			 "%s the job uses more than it may, so nothing is given away",
			 strcmp(ret_text, "not bound by the quota:") == 0 ? "" : ";");
}

static enum job_presence look_for_somebody(const struct job *job, bool look_slowly)
{
	enum job_presence before = job->watch.facts.presence;
	struct error error;
	bool is_there;

	if (cgroup_state(job->cgroup) == CGROUP_GONE)
		return JOB_GONE;
	/* Without a group: the worker is all there is, and it has the share. */
	if (job->conf->dry_run && job->meter == NULL)
		return JOB_UNKNOWN;
	if (cgroup_populated(job->cgroup, &is_there, &error) < 0)
		return cgroup_state(job->cgroup) == CGROUP_GONE ? JOB_GONE : JOB_UNKNOWN;
	if (!is_there)
		return JOB_EMPTY;
	/* v1 has to be asked in several files, so not each time. */
	if (cgroup_version(job->cgroup) == 1 && !look_slowly && before != JOB_FROZEN)
		return JOB_RUNNING;
	return cgroup_frozen(job->cgroup) ? JOB_FROZEN : JOB_RUNNING;
}

static void tell_presence(struct job *job, uint64_t now_ns, bool was_released)
{
	struct job_facts *facts = &job->watch.facts;
	const char *path = job->group, *name = job_presence_name(facts->presence);
	double since_s = (double)(now_ns - job->watch.absence.since_ns) / ISO_NS_PER_S;

	if (facts->is_released && !was_released)
		log_info("cgroup %s: %s for %.0f s: what is above the floor is for the others "
			 "until somebody runs there again", path, name, since_s);
	else if (!facts->is_released && was_released)
		log_info("cgroup %s: %s: the share is for its job", path,
			 facts->presence < JOB_EMPTY ? "somebody runs there again"
						     : "release-after has changed");
	if (facts->is_released)
		note(facts, "%s for %.0f s: what is above the floor is for the others", name,
		     since_s);
}

static void observe_presence(struct job *job, uint64_t now_ns, bool look_slowly)
{
	struct job_watch *watch = &job->watch;
	struct job_facts *facts = &watch->facts;
	uint64_t after_ns = job->conf->release_after_ns;
	bool was_released = facts->is_released;

	/* Who used CPU just now is there, whatever was seen last. */
	bool is_busy = facts->presence != JOB_RUNNING && job->view.metered &&
		       job->view.demand_ucpu > 0;
	if (cgroup_state(job->cgroup) == CGROUP_GONE || look_slowly || is_busy ||
	    now_ns >= watch->presence_at_ns) {
		facts->presence = look_for_somebody(job, look_slowly);
		watch->presence_at_ns = now_ns + PRESENCE_EVERY_NS;
	}
	facts->is_released = iso_absence_look(&watch->absence, now_ns,
					      facts->presence >= JOB_EMPTY,
					      after_ns != 0 ? after_ns : UINT64_MAX);
	tell_presence(job, now_ns, was_released);
}

/* The use of real-time threads since the last slow look. */
static void observe_realtime(struct job *job, uint64_t now_ns)
{
	struct job_watch *watch = &job->watch;
	struct job_facts *facts = &watch->facts;
	uint64_t past_ns = now_ns - watch->realtime_at_ns;

	facts->has_realtime = job->has_used && job->meter != NULL &&
			      meter_source(job->meter) == METER_SOURCE_EBPF;
	if (!facts->has_realtime) {
		facts->realtime_ucpu = 0;
		watch->realtime_at_ns = 0;
		return;
	}
	/* Another meter counts from 0. */
	if (watch->realtime_at_ns != 0 && past_ns > 0 && job->realtime_ns >= watch->realtime_ns)
		facts->realtime_ucpu = (uint64_t)((double)(job->realtime_ns - watch->realtime_ns) *
						  ISO_UCPU_PER_CPU / (double)past_ns);
	watch->realtime_ns = job->realtime_ns;
	watch->realtime_at_ns = now_ns;
}

static void observe_odds(struct job *job, uint64_t now_ns)
{
	const struct job_view *view = &job->view;
	const struct hostfacts *host = &job->watch.facts.host;
	struct iso_facts_reading reading = {
		.now_ns = now_ns,
		.is_gone = cgroup_state(job->cgroup) == CGROUP_GONE && !job_is_out_of_reach(job),
		.has_used = job->has_used && job->meter != NULL,
		.used_ns = job->used_ns,
		.allowed_ucpu = view->enforced_ucpu > job->entitled_ucpu ? view->enforced_ucpu :
									  job->entitled_ucpu,
		.has_throttled = job->has_stat,
		.periods_throttled = job->stat.periods_throttled,
		.quota_us = view->limit.unlimited ? 0 : view->limit.quota_us,
		.has_host = host->has_times,
		.host_ns = host->total_ns,
		.stolen_ns = host->stolen_ns,
		.interrupts_ns = host->interrupts_ns,
	};

	/* What a dry run would write limits nobody. */
	if (job->conf->dry_run) {
		reading.allowed_ucpu = INT64_MAX;
		reading.has_throttled = false;
	}
	if (reading.has_used && meter_degraded(job->meter) == NULL)
		reading.has_kernel = meter_kernel_ns(job->meter, &reading.kernel_ns) == 0;
	iso_facts_look(&job->watch.odds, &reading);
}

static void note_fact(struct job_facts *facts, enum iso_fact fact, double ratio)
{
	struct utsname name = { .release = "?" };

	switch (fact) {
	case ISO_FACT_OVERUSE:
		note(facts, "the job uses %.2f times what it may", ratio);
		break;
	case ISO_FACT_EARLY:
		(void)uname(&name);
		note(facts, "the kernel (%.40s) throttles the job with %.0f %% of its quota used: "
		     "before 5.4 kernels lose some of it; a longer period loses less",
		     name.release, 100 * ratio);
		break;
	case ISO_FACT_ACCOUNTS:
		note(facts, "the meter counts %.2f times what the kernel's own account has",
		     ratio);
		break;
	case ISO_FACT_STOLEN:
		note(facts, "the hypervisor keeps %.0f %% of this host's CPU time: a share is "
		     "worth so much less", 100 * ratio);
		break;
	case ISO_FACT_INTERRUPTS:
		note(facts, "interrupts take %.0f %% of this host's CPU time", 100 * ratio);
		break;
	}
}

static const char *fact_over(enum iso_fact fact)
{
	switch (fact) {
	case ISO_FACT_OVERUSE: return "the job keeps to what it may use again";
	case ISO_FACT_EARLY: return "the job gets its quota again";
	case ISO_FACT_ACCOUNTS: return "meter and kernel agree again";
	case ISO_FACT_STOLEN: return "the hypervisor keeps less of the CPU time again";
	case ISO_FACT_INTERRUPTS: return "interrupts take less of the CPU time again";
	}
	return "";
}

static void tell_odds(struct job *job, uint64_t now_ns)
{
	struct job_facts *facts = &job->watch.facts;

	for (int i = 0; i < ISO_FACT_COUNT; i++) {
		enum iso_fact fact = (enum iso_fact)i;
		double ratio = 0;
		bool holds = iso_facts_holds(&job->watch.odds, fact, &ratio);
		int change = said(&job->watch.said_fact[i], now_ns, holds);

		if (!iso_facts_ratio(&job->watch.odds, fact, &facts->ratios[i]))
			facts->ratios[i] = (double)NAN;
		if (holds)
			note_fact(facts, fact, ratio);
		if (fact == ISO_FACT_OVERUSE)
			facts->is_overused = holds;
		if (change > 0)
			log_warn("cgroup %s: %s", job->group,
				 facts->notes[facts->note_count - 1]);
		else if (change < 0)
			log_info("cgroup %s: %s", job->group, fact_over(fact));
	}
}

static void tell_unbound(struct job *job, uint64_t now_ns)
{
	struct job_facts *facts = &job->watch.facts;

	job_facts_unbound(facts, facts->unbound, sizeof(facts->unbound));
	int change = said(&job->watch.said_unbound, now_ns, facts->unbound[0] != '\0');
	if (change > 0)
		log_warn("cgroup %s: %s", job->group, facts->unbound);
	else if (change < 0)
		log_info("cgroup %s: bound by its quota again", job->group);
}

void job_observe_facts(struct job *job, uint64_t now_ns)
{
	struct job_watch *watch = &job->watch;
	struct job_facts *facts = &watch->facts;
	bool look_slowly = now_ns >= watch->slow_at_ns;

	facts->note_count = 0;
	if (look_slowly) {
		watch->slow_at_ns = now_ns + SLOW_EVERY_NS;
		hostfacts_read("", &facts->host);
		facts->has_tasks = cgroup_tasks(job->cgroup, LOOK_MOST, &facts->tasks) == 0;
		observe_realtime(job, now_ns);
	}
	observe_presence(job, now_ns, look_slowly);
	observe_odds(job, now_ns);
	tell_odds(job, now_ns);
	tell_unbound(job, now_ns);
}

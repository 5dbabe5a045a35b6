/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/checks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/quantity.h"
#include "tests/demo/account.h"
#include "tests/demo/together.h"

#define SNAPSHOTS_PER_S 50
/* A rise is one by a tenth of the node's share and 2 % of the budget; a fall a quarter of it. */
#define RISE_OF_SHARE  0.10
#define RISE_OF_BUDGET 0.02
#define FALL_OF_RISE   0.25

const char *check_state_text(enum check_state state)
{
	switch (state) {
	case CHECK_HELD: return "held";
	case CHECK_FAILED: return "FAILED";
	case CHECK_NOT_JUDGED: return "not judged";
	}
	return "?";
}

void judge(struct check *check, bool held, const char *format, ...)
{
	va_list arguments;

	check->state = held ? CHECK_HELD : CHECK_FAILED;
	va_start(arguments, format);
	vsnprintf(check->detail, sizeof(check->detail), format, arguments);
	va_end(arguments);
}

static void leave(struct check *check, const char *why)
{
	check->state = CHECK_NOT_JUDGED;
	snprintf(check->detail, sizeof(check->detail), "%s", why);
}

static double of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void quotas_within_budget(const struct demo *demo, struct check *check)
{
	const json_t *seen = demo->observed;

	if (demo->options.dry_run) {
		leave(check, "not run: writing quotas needs root");
		return;
	}
	judge(check, json_is_true(json_object_get(seen, "held")),
	      "%.0f snapshots, %.0f torn ones discarded; at most %.6f of %.6f CPU at once; "
	      "%.0f violations, %.0f unreadable",
	      of(seen, "kept"), of(seen, "torn"), of(seen, "sum_ucpu_max") / ISO_UCPU_PER_CPU,
	      (double)demo->options.budget_ucpu / ISO_UCPU_PER_CPU, of(seen, "violations"),
	      of(seen, "unreadable"));
}

static void quotas_often_enough(const struct demo *demo, struct check *check)
{
	const json_t *seen = demo->observed, *least = json_object_get(seen, "kept_per_s_min");

	if (demo->options.dry_run) {
		leave(check, "not run: writing quotas needs root");
		return;
	}
	judge(check, json_number_value(least) >= SNAPSHOTS_PER_S,
	      "%.0f a second, %.0f in the poorest second, at least %d wanted; longest gap %.1f ms",
	      of(seen, "kept_per_s"), json_number_value(least), SNAPSHOTS_PER_S,
	      of(seen, "gap_ns_max") / 1e6);
}

static void ledgers_add_up(const struct demo *demo, struct check *check)
{
	const struct ledger_record *record = &demo->ledger;

	judge(check, record->failures == 0 && record->audits > 9 * record->unanswered,
	      "%ju audits (%ju donors asked again), %ju without an answer, %ju failed%s%s",
	      (uintmax_t)record->audits, (uintmax_t)record->rereads, (uintmax_t)record->unanswered,
	      (uintmax_t)record->failures, record->failures > 0 ? ": " : "", record->first_failure);
}

static double visited_share(const struct demo *demo, unsigned phase)
{
	return history_settled(&demo->history, &demo->history.phases[phase], DEMO_VISITED,
			       SERIES_SHARE);
}

static double rise_wanted(const struct demo *demo)
{
	return fmax(RISE_OF_SHARE * visited_share(demo, 0),
		    RISE_OF_BUDGET * (double)demo->options.budget_ucpu / ISO_UCPU_PER_CPU);
}

/* Without root nobody can join node 2's cgroup. */
static bool no_visit(const struct demo *demo, struct check *check)
{
	if (demo->options.dry_run)
		leave(check, "not run: a co-tenant in node2's cgroup needs root");
	else if (demo->options.seconds < CHECKS_PHASES_FROM_S ||
		 demo->options.seconds < (uint64_t)CHECKS_PHASES_NODE_S * demo->options.nodes)
		leave(check, "the run is too short for shares to settle");
	else if (demo->options.training.is_frozen)
		leave(check, "shares are frozen");
	else
		return false;
	return true;
}

static void share_rises(const struct demo *demo, struct check *check)
{
	double before = visited_share(demo, 0), during = visited_share(demo, 1);

	if (no_visit(demo, check))
		return;
	judge(check, during >= before + rise_wanted(demo),
	      "%.3f CPU before the co-tenant, %.3f with it (settled means)", before, during);
}

static void share_falls(const struct demo *demo, struct check *check)
{
	double before = visited_share(demo, 0), during = visited_share(demo, 1),
	       after = visited_share(demo, 2);

	if (no_visit(demo, check))
		return;
	judge(check, during > before && after <= during - FALL_OF_RISE * (during - before),
	      "%.3f CPU with the co-tenant, %.3f after it left (settled means)", during, after);
}

/* What can be learnt depends on the CPU there is for it. */
static void accuracy_reached(const struct demo *demo, struct check *check)
{
	double accuracy = history_accuracy(&demo->history);
	double cpu_s =
	    (double)demo->options.budget_ucpu / ISO_UCPU_PER_CPU * (double)demo->options.seconds;
	double goal = cpu_s >= CHECKS_ACCURACY_CPU_S ? CHECKS_ACCURACY : CHECKS_EARLY;

	if (cpu_s < CHECKS_EARLY_CPU_S) {
		leave(check, "the run is too short for its budget");
		return;
	}
	judge(check, accuracy >= goal, "%.4f, at least %.2f wanted of %.0f s of CPU", accuracy,
	      goal, cpu_s);
}

/* No gradient is discarded in silence, and nobody counts another number than the whole. */
static void gradients_add_up(const struct demo *demo, struct check *check)
{
	struct account account = account_of(demo);
	double sum = 0, wasted_s = 0;

	for (unsigned i = 0; i < ACCOUNT_GRADIENTS; i++)
		sum += account.gradients[i];
	for (unsigned i = 0; i < ACCOUNT_WASTES; i++)
		wasted_s += account.waste_s[i];
	judge(check,
	      account.started > 0 && sum == account.started &&
		  account.started_by_worker == account.started &&
		  fabs(wasted_s - account.wasted_s) < 1e-6,
	      "%.0f started, %.0f have a fate, %.0f by the workers' accounts; "
	      "%.3f s in vain, %.3f s with a reason",
	      account.started, sum, account.started_by_worker, account.wasted_s, wasted_s);
}

/* What an allocation lets start: no more than B a round, and again what was lost. */
static double tasks_allotted(const struct demo *demo, const struct account *account)
{
	double round_tasks = account->round_tasks;

	/* Ringleader starts one more each in rounds of its own, which are not counted. */
	if (strcmp(account->allocation, "none") == 0 || strcmp(account->allocation, "gta") == 0 ||
	    strcmp(account->method, "ringleader") == 0)
		return (double)INFINITY;
	if (strcmp(account->method, "sgd-ata") == 0)
		round_tasks += demo->options.nodes;
	return round_tasks * (account->rounds + 1) + account->gradients[ACCOUNT_LOST];
}

/* Ringmaster's R - 1 and Ringleader's 2n - 2. */
static double delay_allowed(const struct demo *demo, const struct account *account)
{
	if (!isnan(account->delay_limit))
		return account->delay_limit - 1;
	if (strcmp(account->method, "ringleader") == 0)
		return 2.0 * demo->options.nodes - 2;
	return (double)INFINITY;
}

static void limits_kept(const struct demo *demo, struct check *check)
{
	struct account account = account_of(demo);
	double tasks = tasks_allotted(demo, &account), delay = delay_allowed(demo, &account);
	bool held = account.started <= tasks && account.delay_max <= delay;

	if (isinf(tasks) && isinf(delay))
		leave(check, "this method with this allocation has none");
	else if (isinf(delay))
		judge(check, held, "%.0f gradients started, at most %.0f allotted", account.started,
		      tasks);
	else if (isinf(tasks))
		judge(check, held, "delay %.0f, at most %.0f allowed", account.delay_max, delay);
	else
		judge(check, held,
		      "%.0f gradients started, at most %.0f allotted; delay %.0f, at "
		      "most %.0f allowed",
		      account.started, tasks, account.delay_max, delay);
}

static unsigned end_badly(const struct child *child)
{
	return child->died || child->stubborn ? 1 : 0;
}

static void everybody_lived(const struct demo *demo, struct check *check)
{
	unsigned bad =
	    end_badly(&demo->coordinator) + end_badly(&demo->observer) + end_badly(&demo->cotenant);
	int64_t restarts = 0;
	const struct history *history = &demo->history;

	for (unsigned i = 0; i < demo->options.nodes; i++)
		bad += end_badly(&demo->nodes[i].isobard);
	if (history->count > 0)
		for (unsigned i = 0; i < demo->options.nodes; i++)
			restarts += history->samples[history->count - 1].nodes[i].restarts;
	judge(check, bad == 0 && restarts == 0,
	      "%u programs ended unasked or did not end when asked, %jd workers started again", bad,
	      (intmax_t)restarts);
}

static void nothing_left(const struct demo *demo, struct check *check)
{
	judge(check, demo->cleaned && demo->left_behind == 0,
	      "%u processes or cgroups had to be removed by force", demo->left_behind);
}

struct row {
	const char *name;
	void (*judge)(const struct demo *demo, struct check *check);
	enum { ALWAYS, COORDINATED, DECENTRALISED } when;
};

unsigned checks_judge(const struct demo *demo, struct check ret_checks[CHECKS_MAX])
{
	static const struct row rows[] = {
		{ "quotas in the kernel stay within the budget", quotas_within_budget, ALWAYS },
		{ "the observer saw enough", quotas_often_enough, ALWAYS },
		{ "sum of shares + in flight = budget", ledgers_add_up, ALWAYS },
		{ "node2's share rises when the co-tenant comes", share_rises, ALWAYS },
		{ "node2's share falls when it leaves", share_falls, ALWAYS },
		{ "test accuracy", accuracy_reached, COORDINATED },
		{ "every gradient is accounted for", gradients_add_up, COORDINATED },
		{ "limits of the method and the allocation", limits_kept, COORDINATED },
		{ "the killed node goes on", together_came_back, DECENTRALISED },
		{ "the models of all nodes agree", together_agrees, DECENTRALISED },
		{ "test accuracy of one machine", together_has_learnt, DECENTRALISED },
		{ "all programs lived and ended when asked", everybody_lived, ALWAYS },
		{ "nothing is left behind", nothing_left, ALWAYS },
	};
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool decentralised = demo->options.training.is_decentralised;

		/* How fast is what counts there; nothing has come to rest. */
		bool is_left = rows[i].judge == together_agrees ||
			       rows[i].judge == together_has_learnt;

		if (rows[i].when == (decentralised ? COORDINATED : DECENTRALISED) ||
		    (demo->options.training.is_gain && is_left))
			continue;
		ret_checks[count] = (struct check){ .name = rows[i].name };
		rows[i].judge(demo, &ret_checks[count++]);
	}
	return count;
}

bool checks_held(const struct check *checks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (checks[i].state == CHECK_FAILED)
			return false;
	return true;
}

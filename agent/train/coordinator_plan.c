/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/train/usertask.h"
#include "lib/isobar/task.h"
#include "lib/quantity.h"

/* Threads of a worker that count; it may have more. */
#define THREADS_MAX 256u

_Static_assert(ISOBAR_TASK_PARAMS_MAX <= ISO_TRAIN_PARAMS_MAX, "a user's model fits as well");

void run_theory_text(const struct cconf *conf, const struct run_plan *plan,
		     const struct iso_theory_choice *choice, char text[RUN_THEORY_BYTES])
{
	bool has_batch = plan->method == ISO_METHOD_RENNALA || plan->method == ISO_METHOD_MALENIA;
	bool has_step = !conf->training.has_learning_rate;
	char step[40] = "", batch[40] = "", delay[40] = "", enough[40] = "";

	if (has_step)
		snprintf(step, sizeof(step), ", steps of %g", choice->step);
	if (has_batch && !conf->training.has_tasks_per_round)
		snprintf(batch, sizeof(batch), ", batches of %u", choice->batch);
	if (choice->delay_max > 0 && conf->training.delay_max == 0)
		snprintf(delay, sizeof(delay), ", delays below %llu",
			 (unsigned long long)choice->delay_max);
	/* With the file's own steps another number would be. */
	if (has_step && conf->theory.gap > 0)
		snprintf(enough, sizeof(enough), "; %.3g steps are enough", choice->updates);
	snprintf(text, RUN_THEORY_BYTES, "%s%s%s%s", step, batch, delay, enough);
	if (text[0] != '\0')
		memmove(text, text + 2, strlen(text + 2) + 1);
}

/* What the file does not say is what the papers choose (lib/sgd/theory.h). */
static int choose(const struct cconf *conf, struct run_plan *plan, struct error *reterr)
{
	const struct iso_theory_problem problem = {
		.smoothness = conf->theory.smoothness,
		.variance = conf->theory.noise_variance,
		.target = conf->theory.target,
		.gap = conf->theory.gap,
	};
	bool has_batch = (plan->method == ISO_METHOD_RENNALA ||
			  plan->method == ISO_METHOD_MALENIA) &&
			 !conf->training.has_tasks_per_round;
	const struct iso_theory_setting setting = {
		.kind = plan->method,
		.workers = conf->workers_count,
		.delay_max = plan->delay_max,
		.batch = has_batch ? 0 : plan->batch,
		.harmonic_batch = 1, /* always safe, and nothing is known of the workers yet */
	};
	struct iso_theory_choice choice;
	enum iso_status status = iso_theory_choose(&problem, &setting, &choice);

	if (status == ISO_E_UNKNOWN)
		return 0;
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "theory: %s", iso_status_text(status));
	if (has_batch && choice.batch > ISO_TRAIN_TASKS_MAX)
		return error_set(reterr, -EINVAL,
				 "theory: method %s wants batches of %u, at most %u are possible: "
				 "set tasks-per-round, or a larger target",
				 iso_method_text(plan->method), choice.batch, ISO_TRAIN_TASKS_MAX);
	if (!conf->training.has_learning_rate)
		plan->step = choice.step;
	if (plan->delay_max == 0)
		plan->delay_max = choice.delay_max;
	if (has_batch)
		plan->batch = choice.batch;
	run_theory_text(conf, plan, &choice, plan->theory);
	return 0;
}

int run_plan_make(const struct cconf *conf, struct run_plan *ret_plan, struct error *reterr)
{
	struct run_plan plan = {
		.method = (enum iso_method_kind)(conf->training.method + 1),
		.batch = (uint32_t)conf->training.tasks_per_round,
		.step = conf->training.learning_rate,
		.delay_max = (uint64_t)conf->training.delay_max,
	};

	/* Greedy allocation of a round is what Rennala SGD does. */
	if (conf->allocation.strategy == CCONF_STRATEGY_GTA)
		plan.method = ISO_METHOD_RENNALA;
	plan.traits = iso_method_traits(plan.method);
	plan.allocates =
	    conf->allocation.strategy != CCONF_STRATEGY_NONE && plan.method != ISO_METHOD_RENNALA;
	plan.caps = plan.allocates && plan.traits.can_cap;
	int r = conf->theory.smoothness > 0 ? choose(conf, &plan, reterr) : 0;
	if (r < 0) {
		error_wrap(reterr, "line %d", conf->theory.line);
		return r;
	}
	if (plan.delay_max == 0)
		plan.delay_max = 2 * (uint64_t)conf->workers_count;
	*ret_plan = plan;
	return 0;
}

int run_check(const struct cconf *conf, struct error *reterr)
{
	struct run_plan plan;
	uint64_t checksum;
	int r = run_plan_make(conf, &plan, reterr);

	if (r == 0 && plan.theory[0] != '\0')
		log_info("theory: %s", plan.theory);
	if (r == 0)
		r = run_check_profile(conf, reterr);
	if (r < 0 || conf->training.model != CCONF_MODEL_USER)
		return r;
	int fd = usertask_examine(conf->training.task, geteuid(), &checksum, reterr);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int make_built_in(struct run *run, const struct dataset *test, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	enum iso_model_kind kind = (enum iso_model_kind)(conf->training.model + 1);
	struct iso_model model = {
		.kind = kind,
		.features = test->features,
		.classes = kind == ISO_MODEL_LINEAR ? 1 : test->classes,
		.hidden = kind == ISO_MODEL_MLP ? (uint32_t)conf->training.hidden : 0,
		.l2 = (float)conf->training.l2,
	};

	if (!iso_model_valid(&model) || !dataset_fits(test, &model))
		return error_set(reterr, -EINVAL,
				 "model %s cannot learn from data with %u features and %u classes",
				 cconf_model_text(conf->training.model), test->features,
				 test->classes);
	/* More fit neither a message nor a checkpoint. */
	if (iso_model_params(&model) > ISO_TRAIN_PARAMS_MAX)
		return error_set(reterr, -EINVAL,
				 "model %s with %u features, %u classes and %u hidden units has %u "
				 "parameters, at most %u",
				 cconf_model_text(conf->training.model), model.features,
				 model.classes, model.hidden, iso_model_params(&model),
				 ISO_TRAIN_PARAMS_MAX);
	run->built_in = model;
	run->model = (struct run_model){
		.kind = (uint32_t)kind,
		.features = model.features,
		.classes = model.classes,
		.hidden = model.hidden,
		.wants_classes = iso_model_is_classifier(&model),
	};
	return 0;
}

int run_open_model(struct run *run, const struct dataset *test, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	bool is_user = conf->training.model == CCONF_MODEL_USER;
	const struct evaluation_config config = {
		.data = test,
		.model = is_user ? NULL : &run->built_in,
		.task = conf->training.task,
		.folder = conf->data,
		.executable = conf->training.executable,
		.limit_ns = conf->training.task_limit_ns,
	};
	int r = is_user ? 0 : make_built_in(run, test, reterr);

	if (r == 0)
		r = evaluation_open(&config, &run->evaluation, reterr);
	if (r < 0)
		return r;
	run->params_count = evaluation_params(run->evaluation);
	if (is_user)
		run->model = (struct run_model){
			.kind = ISO_TRAIN_USER,
			.features = test->features,
			.classes = test->classes,
			.wants_classes = test->classes > 1,
			.user_task = evaluation_user_task(run->evaluation),
		};
	return 0;
}

struct iso_strategy_config run_strategy_config(const struct cconf *conf,
					       const struct run_plan *plan)
{
	enum iso_strategy_kind kind = cconf_allocation(conf->allocation.strategy);
	struct iso_strategy_config config = {
		/* Without an allocation it only learns, for the display and the profile. */
		.kind = kind != 0 ? kind : ISO_STRATEGY_UTA,
		.workers = conf->workers_count,
		.batch = plan->batch,
		.width.alpha_s = (double)conf->allocation.alpha_ns / ISO_NS_PER_S,
		.seed = (uint64_t)conf->training.seed,
	};

	allocation_configure(&conf->allocation.options, &config);
	return config;
}

int run_open_strategy(struct run *run, struct error *reterr)
{
	const struct iso_strategy_config config = run_strategy_config(run->conf, &run->plan);
	size_t size = iso_strategy_size(&config);

	free(run->strategy_memory);
	run->strategy_memory = calloc(1, size + 1);
	if (run->strategy_memory == NULL)
		return error_errno(reterr, -ENOMEM, "allocation strategy");
	if (iso_strategy_init(run->strategy_memory, size, &config, &run->strategy) != ISO_OK)
		return error_set(reterr, -EINVAL, "allocation: the options do not fit together");
	return 0;
}

int run_open_method(struct run *run, uint64_t steps, struct error *reterr)
{
	/* gamma / (1 + decay (s + k)) is again of that form, for the k steps to come. */
	double done = 1 + run->conf->training.decay * (double)steps;
	const struct iso_method_config config = {
		.kind = run->plan.method,
		.workers = run->workers_count,
		.params = run->params_count,
		.depth_max = 2 * THREADS_MAX,
		.batch = run->plan.batch,
		.delay_max = run->plan.delay_max,
		.capped = run->plan.caps,
		.step = run->plan.step / done,
		.decay = run->conf->training.decay / done,
	};
	size_t size = iso_method_size(&config);

	free(run->method_memory);
	run->method_memory = calloc(1, size + 1);
	if (run->method_memory == NULL)
		return error_errno(reterr, -ENOMEM, "method %s", iso_method_text(config.kind));
	if (iso_method_init(run->method_memory, size, &config, &run->method) != ISO_OK)
		return error_set(reterr, -EINVAL,
				 "method %s: these workers and parameters are "
				 "too many",
				 iso_method_text(config.kind));
	return 0;
}

int run_open_dispatch(struct run *run, uint64_t serial, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	/* Else the workers' threads are the limit, not the batch. */
	uint32_t by_allocation = run->plan.allocates ? run->plan.batch + run->workers_count : 0;
	uint32_t by_thread = 2 * THREADS_MAX * run->workers_count;
	const struct iso_dispatch_config config = {
		.workers = run->workers_count,
		.tasks_max = by_allocation > by_thread ? by_allocation : by_thread,
		.threads_max = THREADS_MAX,
		.lease_mads = (uint32_t)conf->lease.mads,
		.lease_first_ns = conf->lease.first_ns,
		.lease_min_ns = conf->lease.least_ns,
		.movable = run->plan.method == ISO_METHOD_MINIBATCH,
		.newest_only = run->plan.traits.by_rounds,
		.term = run->term,
		.serial = serial,
	};
	size_t size = iso_dispatch_size(&config);

	run->dispatch_memory = calloc(1, size + 1);
	if (run->dispatch_memory == NULL)
		return error_errno(reterr, -ENOMEM, "tasks");
	if (iso_dispatch_init(run->dispatch_memory, size, &config, &run->dispatch) != ISO_OK)
		return error_set(reterr, -EINVAL, "lease: the numbers do not fit together");
	return 0;
}

int run_open_fastest(struct run *run, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	bool has_theory = conf->theory.smoothness > 0;

	run->rates = calloc(run->workers_count, sizeof(*run->rates));
	run->fastest = (struct iso_fastest){
		.workers = run->workers_count,
		/* As if B were the right batch, S = sigma^2 / epsilon. */
		.variance = has_theory ? conf->theory.noise_variance : run->plan.batch,
		.target = has_theory ? conf->theory.target : 1,
		.of = calloc(run->workers_count, sizeof(*run->fastest.of)),
		.scratch_s = calloc(run->workers_count, sizeof(*run->fastest.scratch_s)),
	};
	if (run->rates == NULL || run->fastest.of == NULL || run->fastest.scratch_s == NULL)
		return error_errno(reterr, -ENOMEM, "the fastest workers");
	return 0;
}

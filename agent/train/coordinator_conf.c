/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/confplace.h"
#include "agent/train/dataset_spec.h"
#include "lib/data/batch.h"
#include "lib/sgd/pair.h"

const char *cconf_strategy_text(int strategy)
{
	static const char *const texts[] = {
		[CCONF_STRATEGY_AUTO] = "auto",
		[CCONF_STRATEGY_NONE] = "none",
		[CCONF_STRATEGY_ATA] = "ata",
		[CCONF_STRATEGY_ATA_EMPIRICAL] = "ata-empirical",
		[CCONF_STRATEGY_ATA_POOLED] = "ata-pooled",
		[CCONF_STRATEGY_GTA] = "gta",
		[CCONF_STRATEGY_UTA] = "uta",
		[CCONF_STRATEGY_OFTA] = "ofta",
	};

	return texts[strategy];
}

enum iso_strategy_kind cconf_allocation(int strategy)
{
	static const enum iso_strategy_kind kinds[] = {
		[CCONF_STRATEGY_NONE] = (enum iso_strategy_kind)0,
		[CCONF_STRATEGY_ATA] = ISO_STRATEGY_ATA,
		[CCONF_STRATEGY_ATA_EMPIRICAL] = ISO_STRATEGY_ATA_EMPIRICAL,
		[CCONF_STRATEGY_ATA_POOLED] = ISO_STRATEGY_ATA_POOLED,
		[CCONF_STRATEGY_GTA] = ISO_STRATEGY_GTA,
		[CCONF_STRATEGY_UTA] = ISO_STRATEGY_UTA,
		[CCONF_STRATEGY_OFTA] = ISO_STRATEGY_OFTA,
	};

	return kinds[strategy];
}

const char *cconf_model_text(int model)
{
	static const char *const texts[] = { "softmax",	 "mlp",	   "svm", "svm-smooth",
					     "logistic", "linear", "user" };

	return texts[model];
}

static int check_workers(const struct cconf *conf, const struct confplace *place)
{
	if (conf->workers_count == 0) {
		error_set(place->reterr, -EINVAL,
			  "no worker: expected worker NAME { public-key = ... }");
		return confplace_at_line(place, 0);
	}
	for (unsigned i = 0; i < conf->workers_count; i++) {
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(conf->workers[i].public_key, conf->workers[j].public_key) != 0)
				continue;
			error_set(place->reterr, -EINVAL, "worker %s has the key of worker %s",
				  conf->workers[i].name, conf->workers[j].name);
			return confplace_at_line(place, conf->workers[i].line);
		}
	}
	return 0;
}

/* Whether method and allocation go together; settles "auto". */
static int check_allocation(struct cconf *conf, const struct confplace *place)
{
	enum iso_method_kind kind = (enum iso_method_kind)(conf->training.method + 1);
	const char *method = iso_method_text(kind);
	int *strategy = &conf->allocation.strategy;

	if (*strategy == CCONF_STRATEGY_AUTO)
		*strategy = iso_method_traits(kind).wants_allocation ? CCONF_STRATEGY_ATA
								     : CCONF_STRATEGY_NONE;
	switch (iso_pair_check(kind, cconf_allocation(*strategy))) {
	case ISO_PAIR_FITS:
		if (*strategy == CCONF_STRATEGY_GTA && kind == ISO_METHOD_RENNALA)
			*strategy = CCONF_STRATEGY_NONE; /* is what it does */
		if (*strategy != CCONF_STRATEGY_OFTA || conf->allocation.profile[0] != '\0')
			return 0;
		error_set(place->reterr, -EINVAL,
			  "allocation: strategy ofta needs the profile of an earlier run");
		break;
	case ISO_PAIR_NEEDS_ALLOCATION:
		error_set(place->reterr, -EINVAL,
			  "allocation: strategy none: method %s computes what is allocated",
			  method);
		break;
	case ISO_PAIR_TAKES_NONE:
		error_set(place->reterr, -EINVAL,
			  "allocation: strategy %s: method %s allocates nothing, since all "
			  "workers compute all the time; only none is possible",
			  cconf_strategy_text(*strategy), method);
		break;
	case ISO_PAIR_GREEDY:
		error_set(place->reterr, -EINVAL,
			  "allocation: strategy gta goes with method minibatch only, not with %s",
			  method);
		break;
	}
	return confplace_at_option(place, "allocation", "strategy");
}

/* Not a mistake: one tries several strategies with one file. */
static void find_idle(struct cconf *conf, const struct confplace *place)
{
	int strategy = conf->allocation.strategy;
	bool is_ata = strategy == CCONF_STRATEGY_ATA;
	bool is_empirical = strategy == CCONF_STRATEGY_ATA_EMPIRICAL;
	bool has_width = is_ata || is_empirical;
	bool learns = has_width || strategy == CCONF_STRATEGY_ATA_POOLED;
	bool allocates =
	    learns || strategy == CCONF_STRATEGY_UTA || strategy == CCONF_STRATEGY_OFTA;
	const struct {
		const char *name;
		bool has_effect;
	} options[] = {
		{ "alpha", is_ata },	     { "eta", is_empirical },
		{ "width", has_width },	     { "calibrate-tasks", has_width },
		{ "explore-tasks", learns }, { "discount", learns },
		{ "smoothing", learns },     { "statistics", learns },
		{ "cluster", learns },	     { "drift", learns },
		{ "probe-rounds", learns },  { "every-rounds", allocates },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int line = confplace_line(place, "allocation", options[i].name);

		if (line == 0 || options[i].has_effect)
			continue;
		conf->allocation.idle = options[i].name;
		conf->allocation.idle_line = line;
		return;
	}
}

static int check_options(const struct cconf *conf, const struct confplace *place)
{
	const char *option;

	if (allocation_check(&conf->allocation.options, &option, place->reterr) == 0)
		return 0;
	error_wrap(place->reterr, "allocation");
	return confplace_at_option(place, "allocation", option);
}

static int check_training(struct cconf *conf, const struct confplace *place)
{
	enum iso_method_kind kind = (enum iso_method_kind)(conf->training.method + 1);
	bool has_delay = kind == ISO_METHOD_RINGMASTER || kind == ISO_METHOD_RINGMASTER_STOPS;

	conf->training.has_learning_rate = confplace_line(place, "training", "learning-rate") > 0;
	conf->training.has_tasks_per_round =
	    confplace_line(place, "training", "tasks-per-round") > 0;
	if (conf->training.delay_max != 0 && !has_delay) {
		error_set(place->reterr, -EINVAL,
			  "training: delay-max is for method ringmaster, not %s",
			  iso_method_text(kind));
		return confplace_at_option(place, "training", "delay-max");
	}
	if (conf->training.model == CCONF_MODEL_USER && conf->training.task[0] == '\0') {
		error_set(place->reterr, -EINVAL, "training: model user needs a task");
		return confplace_at_option(place, "training", "model");
	}
	if (conf->training.partition == CCONF_PARTITION_OVERLAP &&
	    conf->training.overlap * conf->workers_count < 1) {
		error_set(place->reterr, -EINVAL,
			  "training: %u workers with an overlap of %g each do not have all samples",
			  conf->workers_count, conf->training.overlap);
		return confplace_at_option(place, "training", "overlap");
	}
	if (cconf_samples_max(conf) > ISO_BATCH_MAX) {
		error_set(place->reterr, -EINVAL,
			  "training: with samples-spread a task can have %u samples, at most %u",
			  cconf_samples_max(conf), ISO_BATCH_MAX);
		return confplace_at_option(place, "training", "samples-spread");
	}
	return 0;
}

/* naive-optimal takes sigma^2 / epsilon from it, and no more. */
static bool has_theory(enum iso_method_kind kind)
{
	return kind != ISO_METHOD_ASGD && kind != ISO_METHOD_DELAY_ADAPTIVE &&
	       kind != ISO_METHOD_IA2SGD;
}

static int check_theory(struct cconf *conf, const struct confplace *place)
{
	enum iso_method_kind kind = (enum iso_method_kind)(conf->training.method + 1);
	bool has_more =
	    conf->theory.noise_variance > 0 || conf->theory.target > 0 || conf->theory.gap > 0;

	conf->theory.line = confplace_line(place, "theory", "smoothness");
	if (conf->theory.smoothness > 0 && !(conf->theory.target > 0)) {
		error_set(place->reterr, -EINVAL, "theory: smoothness needs a target");
		return confplace_at_option(place, "theory", "smoothness");
	}
	if (conf->theory.smoothness > 0 && !has_theory(kind)) {
		error_set(place->reterr, -EINVAL,
			  "theory: there is none for method %s: its learning-rate is set by hand",
			  iso_method_text(kind));
		return confplace_at_option(place, "theory", "smoothness");
	}
	if (!(conf->theory.smoothness > 0) && has_more) {
		const char *option = conf->theory.noise_variance > 0 ? "noise-variance"
				     : conf->theory.target > 0	     ? "target"
								     : "gap";

		error_set(place->reterr, -EINVAL, "theory: %s needs a smoothness", option);
		return confplace_at_option(place, "theory", option);
	}
	return 0;
}

uint32_t cconf_samples_max(const struct cconf *conf)
{
	double samples = (double)conf->training.samples_per_task;

	return (uint32_t)(samples * (1 + conf->training.samples_spread));
}

/* What depends on other values; conf is complete otherwise. */
static int check(struct cconf *conf, const struct confplace *place)
{
	if (curve_endpoint_check(conf->listen, place->reterr) < 0) {
		error_wrap(place->reterr, "listen");
		return confplace_at_option(place, "", "listen");
	}
	if (dataset_spec_check(conf->data, place->reterr) < 0)
		return confplace_at_option(place, "", "data");
	if (conf->lease.least_ns > conf->lease.first_ns) {
		error_set(place->reterr, -EINVAL, "lease: least is longer than first");
		return confplace_at_option(place, "lease", "least");
	}
	if (conf->state_directory[0] == '\0')
		snprintf(conf->state_directory, sizeof(conf->state_directory), "%s/coordinator/%s",
			 ISO_STATEDIR, conf->run);
	if (conf->run_directory[0] == '\0')
		snprintf(conf->run_directory, sizeof(conf->run_directory), "%s/coordinator/%s",
			 ISO_RUNDIR, conf->run);
	if (conf->training.executable[0] == '\0')
		snprintf(conf->training.executable, sizeof(conf->training.executable), "%s",
			 ISO_LIBEXECDIR "/isobar-worker");
	int r = check_training(conf, place);
	if (r == 0)
		r = check_theory(conf, place);
	if (r == 0)
		r = check_allocation(conf, place);
	if (r == 0)
		r = check_options(conf, place);
	find_idle(conf, place);
	return r < 0 ? r : check_workers(conf, place);
}

int cconf_parse(const char *name, const char *text, struct cconf *ret_conf, struct error *reterr)
{
	struct confutil_lines lines;
	struct cconf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	int r = confutil_parse(cconf_schema(), name, text, sizeof(*conf), conf, &lines, reterr);
	if (r == 0)
		r = check(conf, &(struct confplace){ name, cconf_schema(), &lines, reterr });
	if (r == 0)
		*ret_conf = *conf;
	free(conf);
	return r;
}

int cconf_load(const char *path, struct cconf *ret_conf, struct error *reterr)
{
	char *text;
	int r = confutil_read_file(path, &text, reterr);

	if (r < 0)
		return r;
	r = cconf_parse(path, text, ret_conf, reterr);
	free(text);
	return r;
}

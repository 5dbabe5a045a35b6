/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_runstate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/log.h"
#include "agent/train/profile.h"
#include "lib/checksum.h"

/* What the times are of: another task says nothing about this one. */
static struct profile_kind kind_of(const struct run *run)
{
	const struct cconf *conf = run->conf;
	struct profile_kind kind = {
		.is_wall = !conf->allocation.options.share_normalised,
		.per_cost = conf->allocation.options.cost_normalised,
	};
	char which[24] = "", layer[16] = "";

	if (run->model.user_task != 0)
		snprintf(which, sizeof(which), " %016llx",
			 (unsigned long long)run->model.user_task);
	if (run->model.hidden > 0)
		snprintf(layer, sizeof(layer), "%ux", run->model.hidden);
	snprintf(kind.task, sizeof(kind.task), "%s%s %ux%s%u, %lld samples",
		 cconf_model_text(conf->training.model), which, run->model.features, layer,
		 run->model.classes, (long long)conf->training.samples_per_task);
	return kind;
}

uint64_t run_times_checksum(const struct run *run)
{
	const struct profile_kind kind = kind_of(run);
	char text[sizeof(kind.task) + 16];
	int size = snprintf(text, sizeof(text), "%s, %s%s", kind.task,
			    kind.is_wall ? "wall" : "on-cpu", kind.per_cost ? " by cost" : "");

	return iso_checksum(text, (size_t)size);
}

/* with_times: not the means alone. */
static int take_up(struct run *run, const struct profile *profile, bool with_times,
		   struct error *reterr)
{
	const struct cconf *conf = run->conf;
	double trust = (double)conf->allocation.profile_trust;
	uint32_t known = 0;

	for (uint32_t i = 0; i < run->workers_count; i++) {
		const struct profile_worker *worker = profile_find(profile, conf->workers[i].name);

		if (worker == NULL)
			continue;
		known++;
		iso_strategy_set_mean(run->strategy, i, iso_ata_mean_s(&worker->samples));
		if (with_times &&
		    iso_strategy_import(run->strategy, i, worker->samples, trust) != ISO_OK)
			return error_set(reterr, -EINVAL, "'%s': worker %s: no times of tasks",
					 conf->allocation.profile, worker->name);
	}
	log_info("profile '%s' knows %u of %u workers", conf->allocation.profile, known,
		 run->workers_count);
	return 0;
}

/* Of what kind its times are is known with the data only. */
int run_check_profile(const struct cconf *conf, struct error *reterr)
{
	struct profile profile;

	if (conf->allocation.profile[0] == '\0')
		return 0;
	int r = profile_read(conf->allocation.profile, &profile, reterr);
	if (r == 0)
		profile_free(&profile);
	return r == -ENOENT && conf->allocation.strategy != CCONF_STRATEGY_OFTA ? 0 : r;
}

int run_read_profile(struct run *run, bool is_resumed, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	bool is_oracle = conf->allocation.strategy == CCONF_STRATEGY_OFTA;
	const struct profile_kind kind = kind_of(run);
	struct profile profile;

	/* A checkpoint knows better, but not the means that are given. */
	if (conf->allocation.profile[0] == '\0' || (is_resumed && !is_oracle))
		return 0;
	int r = profile_read(conf->allocation.profile, &profile, reterr);
	if (r == -ENOENT && !is_oracle) {
		log_info("no profile '%s' yet; it is written at the end", conf->allocation.profile);
		return 0;
	}
	if (r < 0)
		return r;
	r = profile_check(&profile, &kind, conf->allocation.profile, reterr);
	if (r == 0)
		r = take_up(run, &profile, !is_resumed, reterr);
	profile_free(&profile);
	return r;
}

int run_write_profile(const struct run *run, struct error *reterr)
{
	const struct cconf *conf = run->conf;
	struct profile profile = { .kind = kind_of(run), .count = run->workers_count };

	/* Who got no tasks with it would be missing. */
	if (conf->allocation.profile[0] == '\0' || conf->allocation.strategy == CCONF_STRATEGY_OFTA)
		return 0;
	profile.workers = calloc(run->workers_count, sizeof(*profile.workers));
	if (profile.workers == NULL)
		return error_errno(reterr, -ENOMEM, "profile");
	for (uint32_t i = 0; i < run->workers_count; i++) {
		snprintf(profile.workers[i].name, sizeof(profile.workers[i].name), "%s",
			 conf->workers[i].name);
		profile.workers[i].samples = iso_strategy_samples(run->strategy, i);
	}
	int r = profile_write(conf->allocation.profile, &profile, reterr);
	profile_free(&profile);
	return r;
}

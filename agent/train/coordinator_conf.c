/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/train/dataset_spec.h"
#include "lib/data/batch.h"
#include "lib/wire/train.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define AT(field)                                                                                  \
	.offset = offsetof(struct cconf, field), .size = sizeof(((struct cconf *)0)->field)
#define IN_WORKER(field)                                                                           \
	.offset = offsetof(struct cconf_worker, field),                                            \
	.size = sizeof(((struct cconf_worker *)0)->field)

#define MS_NS	1000000ull
#define S_NS	1000000000ull
#define HOUR_NS (3600 * S_NS)

/* clang-format off */
static const struct confutil_option options[] = {
	{
		.section = "", .name = "run", .type = CONFUTIL_NAME,
		.flags = CONFUTIL_REQUIRED, AT(run),
		.doc = "name of this training run, for directories and messages",
	},
	{
		.section = "", .name = "listen", .type = CONFUTIL_ADDRESS,
		.flags = CONFUTIL_REQUIRED, AT(listen),
		.doc = "address for the workers; a numeric one",
	},
	{
		.section = "", .name = "secret-key", .type = CONFUTIL_PATH,
		.flags = CONFUTIL_REQUIRED, AT(secret_key),
		.doc = "file with the coordinator's secret key (isobarctl keygen)",
	},
	{
		.section = "", .name = "data", .type = CONFUTIL_PATH,
		.initial = "/usr/share/datasets/fashion-mnist", AT(data),
		.doc = "the data set, see isobar-data(5); the coordinator reads its test half",
	},
	{
		.section = "", .name = "state-directory", .type = CONFUTIL_PATH,
		AT(state_directory),
		.doc = "checkpoints live here; default: " ISO_STATEDIR "/coordinator/RUN",
	},
	{
		.section = "", .name = "run-directory", .type = CONFUTIL_PATH, AT(run_directory),
		.doc = "the control socket lives here; default: " ISO_RUNDIR "/coordinator/RUN",
	},
	{
		.section = "", .name = "control-group", .type = CONFUTIL_NAME, AT(control_group),
		.doc = "unix group that may change the state through the control socket; "
		       "default: root only",
	},
	{
		.section = "", .name = "log-level", .type = CONFUTIL_CHOICE,
		.choices = "error|warning|info|debug", .initial = "info", AT(log_level),
		.doc = "what is logged",
	},
	{
		.section = "training", .name = "model", .type = CONFUTIL_CHOICE,
		.choices = "softmax", .initial = "softmax", AT(training.kind),
		.doc = "softmax: multinomial logistic regression",
	},
	{
		.section = "training", .name = "l2", .type = CONFUTIL_NUMBER, .initial = "0.0001",
		.min = 0, .max = 1e3, AT(training.l2),
		.doc = "weight of the quadratic penalty",
	},
	{
		.section = "training", .name = "samples-per-task", .type = CONFUTIL_INTEGER,
		.initial = "256", .min = 1, .max = ISO_BATCH_MAX, AT(training.samples_per_task),
		.doc = "mini-batch of one task",
	},
	{
		.section = "training", .name = "tasks-per-round", .type = CONFUTIL_INTEGER,
		.initial = "16", .min = 1, .max = ISO_TRAIN_TASKS_MAX,
		AT(training.tasks_per_round),
		.doc = "gradients averaged into one step (B of the papers)",
	},
	{
		.section = "training", .name = "learning-rate", .type = CONFUTIL_NUMBER,
		.initial = "0.2", .min = 1e-9, .max = 1e6, AT(training.learning_rate),
		.doc = "step size of the first round",
	},
	{
		.section = "training", .name = "decay", .type = CONFUTIL_NUMBER, .initial = "0.001",
		.min = 0, .max = 1e3, AT(training.decay),
		.doc = "round k steps by learning-rate / (1 + decay k)",
	},
	{
		.section = "training", .name = "partition", .type = CONFUTIL_CHOICE,
		.choices = "iid|dirichlet", .initial = "iid", AT(training.partition),
		.doc = "how the samples are split among the workers; dirichlet: unlike classes",
	},
	{
		.section = "training", .name = "dirichlet-alpha", .type = CONFUTIL_NUMBER,
		.initial = "0.5", .min = 1e-3, .max = 1e6, AT(training.dirichlet_alpha),
		.doc = "partition dirichlet: the smaller, the less alike",
	},
	{
		.section = "training", .name = "seed", .type = CONFUTIL_INTEGER, .initial = "1",
		.min = 0, .max = 2147483647, AT(training.seed),
		.doc = "of the partition, the mini-batches and random choices",
	},
	{
		.section = "training", .name = "start-after", .type = CONFUTIL_DURATION,
		.initial = "10s", .most = HOUR_NS, AT(training.start_after_ns),
		.doc = "the first round starts when all workers are here, or this long after "
		       "the first of them",
	},
	{
		.section = "training", .name = "stop-after", .type = CONFUTIL_DURATION,
		.most = 8760 * HOUR_NS, AT(training.stop_after_ns),
		.doc = "length of the training; default: until it is stopped",
	},
	{
		.section = "training", .name = "stop-after-rounds", .type = CONFUTIL_INTEGER,
		.initial = "0", .min = 0, .max = 1e15, AT(training.stop_after_rounds),
		.doc = "rounds to train; 0: until it is stopped",
	},
	{
		.section = "allocation", .name = "strategy", .type = CONFUTIL_CHOICE,
		.choices = "ata|ata-empirical|gta|uta", .initial = "ata", AT(allocation.strategy),
		.doc = "who gets how many tasks: adaptive, adaptive by measured mean, greedy, "
		       "uniform",
	},
	{
		.section = "allocation", .name = "alpha", .type = CONFUTIL_DURATION,
		.initial = "500us", .least = 1, .most = HOUR_NS, AT(allocation.alpha_ns),
		.doc = "ata: bound on how far a task's on-CPU time strays from its mean",
	},
	{
		.section = "allocation", .name = "eta", .type = CONFUTIL_NUMBER, .initial = "1",
		.min = 1e-6, .max = 1e6, AT(allocation.eta),
		.doc = "ata-empirical: the same as a multiple of the mean",
	},
	{
		.section = "allocation", .name = "width", .type = CONFUTIL_CHOICE,
		.choices = "2|4e", .initial = "2", AT(allocation.width),
		.doc = "constant of the confidence width: of the final paper, of its first version",
	},
	{
		.section = "allocation", .name = "share-normalised", .type = CONFUTIL_BOOL,
		.initial = "yes", AT(allocation.share_normalised),
		.doc = "learn on-CPU times, divided by min(threads, share); no: learn wall times, "
		       "as published",
	},
	{
		.section = "lease", .name = "first", .type = CONFUTIL_DURATION, .initial = "30s",
		.least = MS_NS, .most = HOUR_NS, AT(lease.first_ns),
		.doc = "time for a task of a worker whose speed is not known yet",
	},
	{
		.section = "lease", .name = "least", .type = CONFUTIL_DURATION, .initial = "1s",
		.least = MS_NS, .most = HOUR_NS, AT(lease.least_ns),
		.doc = "no lease is shorter; a few quota periods and a round trip",
	},
	{
		.section = "lease", .name = "mads", .type = CONFUTIL_INTEGER, .initial = "8",
		.min = 1, .max = 1000, AT(lease.mads),
		.doc = "a lease is median + mads x median absolute deviation of the worker's times",
	},
	{
		.section = "", .name = "ping-interval", .type = CONFUTIL_DURATION, .initial = "1s",
		.least = 10 * MS_NS, .most = HOUR_NS, AT(ping_ns),
		.doc = "a worker that is silent for three of these is gone",
	},
	{
		.section = "", .name = "evaluation-interval", .type = CONFUTIL_DURATION,
		.initial = "2s", .least = 10 * MS_NS, .most = 24 * HOUR_NS,
		AT(evaluation_interval_ns),
		.doc = "between two evaluations on the test set",
	},
	{
		.section = "", .name = "checkpoint-interval", .type = CONFUTIL_DURATION,
		.initial = "30s", .least = 100 * MS_NS, .most = 24 * HOUR_NS,
		AT(checkpoint_interval_ns),
		.doc = "between two checkpoints; one is written at the end, too",
	},
	{
		.section = "worker", .name = "public-key", .type = CONFUTIL_KEY,
		.flags = CONFUTIL_REQUIRED, IN_WORKER(public_key),
		.doc = "its public key, as text in single quotes or as a file",
	},
};
/* clang-format on */

static const struct confutil_repeated workers = {
	.section = "worker",
	.offset = offsetof(struct cconf, workers),
	.stride = sizeof(struct cconf_worker),
	.count_max = CCONF_WORKERS_MAX,
	.count_offset = offsetof(struct cconf, workers_count),
	.title_offset = offsetof(struct cconf_worker, name),
	.title_size = CCONF_NAME_BYTES,
	.line_offset = offsetof(struct cconf_worker, line),
};

_Static_assert(COUNT(options) <= CONFUTIL_OPTIONS_MAX, "lines of all options fit");
_Static_assert((unsigned)CCONF_NAME_BYTES <= ISO_TRAIN_NAME_BYTES, "names fit on the wire");

const struct confutil_schema *cconf_schema(void)
{
	static const struct confutil_schema schema = {
		.options = options,
		.option_count = COUNT(options),
		.repeated = &workers,
		.repeated_count = 1,
	};

	return &schema;
}

static int at_line(struct error *reterr, const char *name, int line)
{
	if (line > 0)
		error_wrap(reterr, "line %d", line);
	error_wrap(reterr, "%s", name);
	return -EINVAL;
}

static int check_workers(const struct cconf *conf, const char *name, struct error *reterr)
{
	if (conf->workers_count == 0) {
		error_set(reterr, -EINVAL, "no worker: expected worker NAME { public-key = ... }");
		return at_line(reterr, name, 0);
	}
	for (unsigned i = 0; i < conf->workers_count; i++) {
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(conf->workers[i].public_key, conf->workers[j].public_key) != 0)
				continue;
			error_set(reterr, -EINVAL, "worker %s has the key of worker %s",
				  conf->workers[i].name, conf->workers[j].name);
			return at_line(reterr, name, conf->workers[i].line);
		}
	}
	return 0;
}

/* What depends on other values; conf is complete otherwise. */
static int check(struct cconf *conf, const char *name, const struct confutil_lines *lines,
		 struct error *reterr)
{
	if (curve_endpoint_check(conf->listen, reterr) < 0) {
		error_wrap(reterr, "listen");
		return at_line(reterr, name, confutil_line(cconf_schema(), lines, "", "listen"));
	}
	if (dataset_spec_check(conf->data, reterr) < 0)
		return at_line(reterr, name, confutil_line(cconf_schema(), lines, "", "data"));
	if (conf->lease.least_ns > conf->lease.first_ns) {
		error_set(reterr, -EINVAL, "lease: least is longer than first");
		return at_line(reterr, name,
			       confutil_line(cconf_schema(), lines, "lease", "least"));
	}
	if (conf->state_directory[0] == '\0')
		snprintf(conf->state_directory, sizeof(conf->state_directory), "%s/coordinator/%s",
			 ISO_STATEDIR, conf->run);
	if (conf->run_directory[0] == '\0')
		snprintf(conf->run_directory, sizeof(conf->run_directory), "%s/coordinator/%s",
			 ISO_RUNDIR, conf->run);
	return check_workers(conf, name, reterr);
}

int cconf_parse(const char *name, const char *text, struct cconf *ret_conf, struct error *reterr)
{
	struct confutil_lines lines;
	struct cconf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	int r = confutil_parse(cconf_schema(), name, text, sizeof(*conf), conf, &lines, reterr);
	if (r == 0)
		r = check(conf, name, &lines, reterr);
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

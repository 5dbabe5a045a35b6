/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/coordinator_conf.h"

#include "lib/data/batch.h"
#include "lib/wire/train.h"

/* What may stand in the configuration; what fits together is coordinator_conf.c's. */

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
		.section = "", .name = "user", .type = CONFUTIL_NAME, AT(user),
		.doc = "whom it becomes when it was started as root; default: it stays root, and "
		       "says so",
	},
	{
		.section = "", .name = "log-level", .type = CONFUTIL_CHOICE,
		.choices = "error|warning|info|debug", .initial = "info", AT(log_level),
		.doc = "what is logged",
	},
	{
		.section = "", .name = "sandbox", .type = CONFUTIL_BOOL, .initial = "yes",
		AT(sandbox),
		.doc = "give up all capabilities and most system calls",
	},
	{
		.section = "training", .name = "method", .type = CONFUTIL_CHOICE,
		.choices = "minibatch|rennala|malenia|sgd-ata|asgd|delay-adaptive|naive-optimal|"
			   "ringmaster|ringmaster-stops|ringleader|ia2sgd",
		.initial = "minibatch", AT(training.method),
		.doc = "what is done with the gradients that come in",
	},
	{
		.section = "training", .name = "model", .type = CONFUTIL_CHOICE,
		.choices = "softmax|mlp|svm|svm-smooth|logistic|linear|user", .initial = "softmax",
		AT(training.model),
		.doc = "what is learnt; user: the shared object that task names",
	},
	{
		.section = "training", .name = "hidden", .type = CONFUTIL_INTEGER,
		.initial = "128", .min = 1, .max = 65536, AT(training.hidden),
		.doc = "mlp: units of the hidden layer",
	},
	{
		.section = "training", .name = "task", .type = CONFUTIL_PATH, AT(training.task),
		.doc = "user: the shared object, as the workers have it too, isobar-task(3)",
	},
	{
		.section = "training", .name = "task-limit", .type = CONFUTIL_DURATION,
		.initial = "10s", .least = MS_NS, .most = HOUR_NS, AT(training.task_limit_ns),
		.doc = "user: CPU time that one call of the task may use in an evaluation",
	},
	{
		.section = "training", .name = "executable", .type = CONFUTIL_PATH,
		AT(training.executable),
		.doc = "user: who evaluates the task; default: " ISO_LIBEXECDIR "/isobar-worker",
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
		.section = "training", .name = "samples-spread", .type = CONFUTIL_NUMBER,
		.initial = "0", .min = 0, .max = 0.9, AT(training.samples_spread),
		.doc = "tasks of different size: samples-per-task times 1 +- this, drawn",
	},
	{
		.section = "training", .name = "tasks-per-round", .type = CONFUTIL_INTEGER,
		.initial = "16", .min = 1, .max = ISO_TRAIN_TASKS_MAX,
		AT(training.tasks_per_round),
		.doc = "gradients averaged into one step (B of the papers, S of rennala and "
		       "malenia); asynchronous methods: gradients between two allocations",
	},
	{
		.section = "training", .name = "learning-rate", .type = CONFUTIL_NUMBER,
		.initial = "0.2", .min = 1e-9, .max = 1e6, AT(training.learning_rate),
		.doc = "size of the first step",
	},
	{
		.section = "training", .name = "decay", .type = CONFUTIL_NUMBER, .initial = "0.001",
		.min = 0, .max = 1e3, AT(training.decay),
		.doc = "step k is of size learning-rate / (1 + decay k)",
	},
	{
		.section = "training", .name = "delay-max", .type = CONFUTIL_INTEGER,
		.initial = "0", .min = 0, .max = 1e9, AT(training.delay_max),
		.doc = "ringmaster: gradients as many steps late as this are not used (R); 0: of "
		       "the theory section, else twice the number of workers",
	},
	{
		.section = "training", .name = "partition", .type = CONFUTIL_CHOICE,
		.choices = "iid|dirichlet|overlap", .initial = "iid", AT(training.partition),
		.doc = "how the samples are split among the workers; dirichlet: unlike classes, "
		       "overlap: each has a part of all",
	},
	{
		.section = "training", .name = "dirichlet-alpha", .type = CONFUTIL_NUMBER,
		.initial = "0.5", .min = 1e-3, .max = 1e6, AT(training.dirichlet_alpha),
		.doc = "partition dirichlet: the smaller, the less alike",
	},
	{
		.section = "training", .name = "overlap", .type = CONFUTIL_NUMBER,
		.initial = "0.75", .min = 1e-3, .max = 1, AT(training.overlap),
		.doc = "partition overlap: the fraction of all samples that a worker has",
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
		.doc = "steps to train; 0: until it is stopped",
	},
	{
		.section = "theory", .name = "smoothness", .type = CONFUTIL_NUMBER, .initial = "0",
		.min = 0, .max = 1e12, AT(theory.smoothness),
		.doc = "Lipschitz constant of the gradient (L); 0: parameters are set by hand",
	},
	{
		.section = "theory", .name = "noise-variance", .type = CONFUTIL_NUMBER,
		.initial = "0", .min = 0, .max = 1e12, AT(theory.noise_variance),
		.doc = "mean squared distance of a task's gradient from the true one (sigma^2)",
	},
	{
		.section = "theory", .name = "target", .type = CONFUTIL_NUMBER, .initial = "0",
		.min = 0, .max = 1e12, AT(theory.target),
		.doc = "squared norm of the gradient that is aimed at (epsilon)",
	},
	{
		.section = "theory", .name = "gap", .type = CONFUTIL_NUMBER, .initial = "0",
		.min = 0, .max = 1e12, AT(theory.gap),
		.doc = "how far the loss is from its least value at first (Delta); 0: not known",
	},
	{
		.section = "allocation", .name = "strategy", .type = CONFUTIL_CHOICE,
		.choices = "auto|none|ata|ata-empirical|ata-pooled|gta|uta|ofta",
		.initial = "auto", AT(allocation.strategy),
		.doc = "who gets how many tasks; auto: ata where the method needs an allocation, "
		       "else none",
	},
	{
		.section = "allocation", .name = "alpha", .type = CONFUTIL_DURATION,
		.initial = "500us", .least = 1, .most = HOUR_NS, AT(allocation.alpha_ns),
		.doc = "ata: bound on how far a task's time strays from its mean",
	},
	ALLOCATION_OPTIONS("allocation", cconf, allocation.options),
	{
		.section = "allocation", .name = "profile", .type = CONFUTIL_PATH,
		AT(allocation.profile),
		.doc = "file with the speeds that an earlier run has learnt; written at the end",
	},
	{
		.section = "allocation", .name = "profile-trust", .type = CONFUTIL_INTEGER,
		.initial = "100", .min = 1, .max = 1e9, AT(allocation.profile_trust),
		.doc = "as how many times of each worker the profile counts at most",
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
		.section = "lease", .name = "give-up-after", .type = CONFUTIL_INTEGER,
		.initial = "4", .min = 1, .max = 1000, AT(lease.give_up_after),
		.doc = "leases in a row after which a worker is left out until it delivers",
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

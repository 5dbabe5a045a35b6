/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/scenario.h"

#include "lib/data/batch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field)                                                                                  \
	.offset = offsetof(struct scenario, field), .size = sizeof(((struct scenario *)0)->field)
#define IN_CURVE(field)                                                                            \
	.offset = offsetof(struct scenario_curve, field),                                          \
	.size = sizeof(((struct scenario_curve *)0)->field)
#define IN_GROUP(field)                                                                            \
	.offset = offsetof(struct scenario_group, field),                                          \
	.size = sizeof(((struct scenario_group *)0)->field)
#define IN_EVENT(field)                                                                            \
	.offset = offsetof(struct scenario_event, field),                                          \
	.size = sizeof(((struct scenario_event *)0)->field)

#define LAWS "constant|exponential|shifted-exponential|uniform|half-normal|lognormal|gamma|trace"

/* clang-format off */
static const struct confutil_option options[] = {
	{ .section = "", .name = "title", .type = CONFUTIL_TEXT, AT(title),
	  .doc = "what the scenario is, for people and the drawing" },
	{ .section = "", .name = "workers", .type = CONFUTIL_INTEGER, .flags = CONFUTIL_REQUIRED,
	  .min = 1, .max = 1e7, AT(workers), .doc = "how many there are (n of the papers)" },
	{ .section = "", .name = "batch", .type = CONFUTIL_INTEGER, .initial = "1", .min = 1,
	  .max = 1e9, AT(batch), .doc = "tasks of a round (B; S of Rennala and Malenia)" },
	{ .section = "", .name = "seed", .type = CONFUTIL_INTEGER, .initial = "1", .min = 0,
	  .max = 1e15, AT(seed), .doc = "all that is random follows from it" },
	{ .section = "", .name = "time", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e15, AT(time), .doc = "simulated seconds until the end; 0: no limit" },
	{ .section = "", .name = "rounds", .type = CONFUTIL_INTEGER, .initial = "0", .min = 0,
	  .max = 1e15, AT(rounds), .doc = "rounds until the end; 0: no limit" },
	{ .section = "", .name = "updates", .type = CONFUTIL_INTEGER, .initial = "0", .min = 0,
	  .max = 1e15, AT(updates), .doc = "updates of the model until the end; 0: no limit" },
	{ .section = "", .name = "samples", .type = CONFUTIL_INTEGER, .initial = "100", .min = 1,
	  .max = 1e6, AT(samples), .doc = "points of each curve" },
	{ .section = "", .name = "spacing", .type = CONFUTIL_CHOICE, .choices = "even|log",
	  .initial = "even", AT(spacing), .doc = "of these points on their way to the limit" },

	{ .section = "times", .name = "law", .type = CONFUTIL_CHOICE, .choices = LAWS "|mixed",
	  .initial = "constant", AT(times.law), .doc = "distribution of the task times" },
	{ .section = "times", .name = "growth", .type = CONFUTIL_CHOICE,
	  .choices = "power|groups", .initial = "power", AT(times.growth),
	  .doc = "how the means grow from worker to worker" },
	{ .section = "times", .name = "power", .type = CONFUTIL_NUMBER, .initial = "0", .min = -8,
	  .max = 8, AT(times.power), .doc = "growth power: mean i is scale x i^power" },
	{ .section = "times", .name = "scale", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 1e-9, .max = 1e9, AT(times.scale), .doc = "mean of the first worker, s" },
	{ .section = "times", .name = "shift", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e6, AT(times.shift),
	  .doc = "a fixed time before the random one, in means; shifted-exponential: 1" },
	{ .section = "times", .name = "shape", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e9, AT(times.shape), .doc = "spread of the law; 0: that of ATA's appendix A.2" },
	{ .section = "times", .name = "shuffled", .type = CONFUTIL_BOOL, .initial = "no",
	  AT(times.shuffled), .doc = "which worker has which mean is random" },
	{ .section = "times", .name = "trace", .type = CONFUTIL_TEXT, AT(times.trace),
	  .doc = "law trace: file of measured times, one a line" },

	{ .section = "group", .name = "law", .type = CONFUTIL_CHOICE, .choices = LAWS,
	  .initial = "constant", IN_GROUP(law), .doc = "distribution of their task times" },
	{ .section = "group", .name = "mean", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 1e-9, .max = 1e12, IN_GROUP(mean), .doc = "mean of the random time, s" },
	{ .section = "group", .name = "shift", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e6, IN_GROUP(shift), .doc = "a fixed time before it, in means" },
	{ .section = "group", .name = "shape", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e9, IN_GROUP(shape), .doc = "as in section times" },
	{ .section = "group", .name = "trace", .type = CONFUTIL_TEXT, IN_GROUP(trace),
	  .doc = "law trace: their file of measured times" },

	{ .section = "size", .name = "law", .type = CONFUTIL_CHOICE, .choices = LAWS,
	  .initial = "constant", AT(size.law),
	  .doc = "distribution of the tasks' sizes, of mean 1" },
	{ .section = "size", .name = "shape", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e9, AT(size.shape), .doc = "as in section times" },

	{ .section = "shares", .name = "start", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 1e-6, .max = 1e6, AT(shares.start), .doc = "CPUs of each worker at first" },
	{ .section = "shares", .name = "every", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e12, AT(shares.every), .doc = "shares move so often, s; 0: they do not" },
	{ .section = "shares", .name = "least", .type = CONFUTIL_NUMBER, .initial = "0.25",
	  .min = 1e-6, .max = 1e6, AT(shares.least), .doc = "no share gets smaller" },
	{ .section = "shares", .name = "most", .type = CONFUTIL_NUMBER, .initial = "4",
	  .min = 1e-6, .max = 1e6, AT(shares.most), .doc = "no share gets larger" },

	{ .section = "event", .name = "at", .type = CONFUTIL_NUMBER, .flags = CONFUTIL_REQUIRED,
	  .min = 0, .max = 1e15, IN_EVENT(at), .doc = "when, s" },
	{ .section = "event", .name = "workers", .type = CONFUTIL_TEXT,
	  .flags = CONFUTIL_REQUIRED, IN_EVENT(workers), .doc = "who, as '3' or '3-17'" },
	{ .section = "event", .name = "what", .type = CONFUTIL_CHOICE,
	  .choices = "speed|share|leave|join", .initial = "speed", IN_EVENT(what),
	  .doc = "what becomes of them" },
	{ .section = "event", .name = "value", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 0, .max = 1e6, IN_EVENT(value), .doc = "the new speed (1 before) or share" },

	{ .section = "problem", .name = "kind", .type = CONFUTIL_CHOICE,
	  .choices = "none|quadratic|data", .initial = "none", AT(problem.kind),
	  .doc = "what is minimised; none: only time is simulated" },
	{ .section = "problem", .name = "measure", .type = CONFUTIL_CHOICE,
	  .choices = "gradient-square|gap|loss|accuracy", .initial = "gradient-square",
	  AT(problem.measure), .doc = "what the curves show" },
	{ .section = "problem", .name = "dimension", .type = CONFUTIL_INTEGER, .initial = "100",
	  .min = 1, .max = 1e7, AT(problem.dimension), .doc = "quadratic: parameters (d)" },
	{ .section = "problem", .name = "noise", .type = CONFUTIL_NUMBER, .initial = "0.001",
	  .min = 0, .max = 1e6, AT(problem.noise),
	  .doc = "quadratic: standard deviation of the one number that is added to each "
		 "coordinate of a gradient" },

	{ .section = "data", .name = "source", .type = CONFUTIL_TEXT,
	  .initial = "/usr/share/datasets/fashion-mnist", AT(data.source),
	  .doc = "problem data: what is trained on, as in isobar-data(5)" },
	{ .section = "data", .name = "model", .type = CONFUTIL_CHOICE,
	  .choices = "softmax|mlp|svm|svm-smooth|logistic|linear", .initial = "softmax",
	  AT(data.model), .doc = "what is trained" },
	{ .section = "data", .name = "hidden", .type = CONFUTIL_INTEGER, .initial = "128",
	  .min = 1, .max = 65536, AT(data.hidden), .doc = "mlp: units of the hidden layer" },
	{ .section = "data", .name = "l2", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e3, AT(data.l2), .doc = "weight of the quadratic penalty" },
	{ .section = "data", .name = "samples-per-task", .type = CONFUTIL_INTEGER,
	  .initial = "4", .min = 1, .max = ISO_BATCH_MAX, AT(data.samples_per_task),
	  .doc = "mini-batch of one gradient, drawn without replacement" },
	{ .section = "data", .name = "partition", .type = CONFUTIL_CHOICE,
	  .choices = "iid|dirichlet|overlap|shared", .initial = "iid", AT(data.partition),
	  .doc = "how samples are split among the workers; shared: all have all" },
	{ .section = "data", .name = "dirichlet-alpha", .type = CONFUTIL_NUMBER,
	  .initial = "0.1", .min = 1e-3, .max = 1e6, AT(data.dirichlet_alpha),
	  .doc = "partition dirichlet: the smaller, the less alike" },
	{ .section = "data", .name = "overlap", .type = CONFUTIL_NUMBER, .initial = "0.75",
	  .min = 1e-6, .max = 1, AT(data.overlap),
	  .doc = "partition overlap: the fraction of all samples that a worker has" },
	{ .section = "data", .name = "partition-seed", .type = CONFUTIL_INTEGER,
	  .initial = "1", .min = 0, .max = 1e15, AT(data.partition_seed),
	  .doc = "of the split, whatever the seed of the run" },
	{ .section = "data", .name = "measured", .type = CONFUTIL_INTEGER, .initial = "0",
	  .min = 0, .max = 1e9, AT(data.measured),
	  .doc = "samples that the measure looks at; 0: all" },

	{ .section = "theory", .name = "smoothness", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 1e-12, .max = 1e12, AT(theory.smoothness),
	  .doc = "Lipschitz constant of the gradient (L)" },
	{ .section = "theory", .name = "noise-variance", .type = CONFUTIL_NUMBER, .initial = "0",
	  .min = 0, .max = 1e12, AT(theory.variance),
	  .doc = "of a stochastic gradient (sigma^2)" },
	{ .section = "theory", .name = "target", .type = CONFUTIL_NUMBER, .initial = "0",
	  .min = 0, .max = 1e12, AT(theory.target),
	  .doc = "squared norm of the gradient that is wanted (eps)" },
	{ .section = "theory", .name = "gap", .type = CONFUTIL_NUMBER, .initial = "1",
	  .min = 0, .max = 1e12, AT(theory.gap),
	  .doc = "f at the start above its infimum (Delta)" },

	{ .section = "plot", .name = "x", .type = CONFUTIL_CHOICE,
	  .choices = "time|worker-time|rounds|updates|computed", .initial = "time", AT(plot.x),
	  .doc = "horizontal axis of the drawing" },
	{ .section = "plot", .name = "y", .type = CONFUTIL_CHOICE,
	  .choices = "measure|regret|worker-time|discarded|rounds", .initial = "measure",
	  AT(plot.y),
	  .doc = "vertical axis" },
	{ .section = "plot", .name = "x-log", .type = CONFUTIL_BOOL, .initial = "no",
	  AT(plot.x_log), .doc = "logarithmic" },
	{ .section = "plot", .name = "y-log", .type = CONFUTIL_BOOL, .initial = "no",
	  AT(plot.y_log), .doc = "logarithmic" },

	{ .section = "curve", .name = "method", .type = CONFUTIL_CHOICE,
	  .choices = "minibatch|rennala|malenia|sgd-ata|asgd|delay-adaptive|naive-optimal|"
		     "ringmaster|ringmaster-stops|ringleader|ia2sgd",
	  .initial = "minibatch", IN_CURVE(method), .doc = "what is done with the gradients" },
	{ .section = "curve", .name = "allocation", .type = CONFUTIL_CHOICE,
	  .choices = "none|ata|ata-empirical|gta|uta|ofta|ata-pooled", .initial = "none",
	  IN_CURVE(allocation), .doc = "who gets how many tasks of a round" },
	{ .section = "curve", .name = "batch", .type = CONFUTIL_INTEGER, .initial = "0", .min = 0,
	  .max = 1e9, IN_CURVE(batch), .doc = "0: as at the top" },
	{ .section = "curve", .name = "delay-max", .type = CONFUTIL_INTEGER, .initial = "1",
	  .min = 1, .max = 1e15, IN_CURVE(delay_max),
	  .doc = "ringmaster: gradients so old are not used (R)" },
	{ .section = "curve", .name = "step", .type = CONFUTIL_NUMBER, .initial = "0.1",
	  .min = 0, .max = 1e9, IN_CURVE(step), .doc = "step size (gamma)" },
	{ .section = "curve", .name = "decay", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e9, IN_CURVE(decay), .doc = "update k steps by step / (1 + decay k)" },
	{ .section = "curve", .name = "by-theory", .type = CONFUTIL_BOOL, .initial = "no",
	  IN_CURVE(by_theory),
	  .doc = "step, delay-max, batch and fastest are the papers' choice for section theory" },
	{ .section = "curve", .name = "fastest", .type = CONFUTIL_INTEGER, .initial = "0",
	  .min = 0, .max = 1e7, IN_CURVE(fastest),
	  .doc = "naive-optimal: only so many workers, by their true means; 0: all" },
	{ .section = "curve", .name = "alpha", .type = CONFUTIL_NUMBER, .initial = "0", .min = 0,
	  .max = 1e15, IN_CURVE(alpha),
	  .doc = "ata: bound on how far times stray from their mean, s; 0: by alpha-means" },
	{ .section = "curve", .name = "alpha-means", .type = CONFUTIL_NUMBER, .initial = "2",
	  .min = 1e-9, .max = 1e9, IN_CURVE(alpha_means),
	  .doc = "ata: alpha as a multiple of the largest true mean" },
	{ .section = "curve", .name = "prior-rounds", .type = CONFUTIL_INTEGER, .initial = "0",
	  .min = 0, .max = 1e9, IN_CURVE(prior_rounds),
	  .doc = "rounds without a model before time begins, in which the allocation learns" },
	ALLOCATION_OPTIONS("curve", scenario_curve, options),
};
/* clang-format on */

static const struct confutil_repeated repeated[] = {
	{
		.section = "curve",
		.offset = offsetof(struct scenario, curves),
		.stride = sizeof(struct scenario_curve),
		.count_max = SCENARIO_CURVES_MAX,
		.count_offset = offsetof(struct scenario, curve_count),
		.title_offset = offsetof(struct scenario_curve, name),
		.title_size = SCENARIO_NAME_BYTES,
		.line_offset = offsetof(struct scenario_curve, line),
		.lines_offset = offsetof(struct scenario_curve, lines),
	},
	{
		.section = "group",
		.offset = offsetof(struct scenario, groups),
		.stride = sizeof(struct scenario_group),
		.count_max = SCENARIO_GROUPS_MAX,
		.count_offset = offsetof(struct scenario, group_count),
		.title_offset = offsetof(struct scenario_group, range),
		.title_size = SCENARIO_NAME_BYTES,
		.line_offset = offsetof(struct scenario_group, line),
		.lines_offset = offsetof(struct scenario_group, lines),
	},
	{
		.section = "event",
		.offset = offsetof(struct scenario, events),
		.stride = sizeof(struct scenario_event),
		.count_max = SCENARIO_CHANGES_MAX,
		.count_offset = offsetof(struct scenario, event_count),
		.title_offset = offsetof(struct scenario_event, name),
		.title_size = SCENARIO_NAME_BYTES,
		.line_offset = offsetof(struct scenario_event, line),
		.lines_offset = offsetof(struct scenario_event, lines),
	},
};

const struct confutil_schema *scenario_schema(void)
{
	static const struct confutil_schema schema = { options, COUNT(options), repeated,
						       COUNT(repeated) };

	return &schema;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/plan.h"
#include "lib/data/batch.h"

/* What may stand in a plan; what fits together is plan.c's. */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define AT(field)                                                                                  \
	.offset = offsetof(struct plan, field), .size = sizeof(((struct plan *)0)->field)
#define IN_NODE(field)                                                                             \
	.offset = offsetof(struct plan_node, field), .size = sizeof(((struct plan_node *)0)->field)

#define MS_NS	1000000ull
#define S_NS	1000000000ull
#define HOUR_NS (3600 * S_NS)

/* clang-format off */
static const struct confutil_option options[] = {
	{
		.section = "", .name = "name", .type = CONFUTIL_NAME,
		.flags = CONFUTIL_REQUIRED, AT(name),
		.doc = "name of this training, for messages",
	},
	{
		.section = "", .name = "model", .type = CONFUTIL_CHOICE,
		.choices = "softmax|mlp|svm|svm-smooth|logistic|linear", .initial = "softmax",
		AT(model),
		.doc = "what is learnt",
	},
	{
		.section = "", .name = "hidden", .type = CONFUTIL_INTEGER, .initial = "128",
		.min = 1, .max = 65536, AT(hidden),
		.doc = "mlp: units of the hidden layer",
	},
	{
		.section = "", .name = "l2", .type = CONFUTIL_NUMBER, .initial = "0.0001",
		.min = 0, .max = 1e3, AT(l2),
		.doc = "weight of the quadratic penalty",
	},
	{
		.section = "", .name = "partition", .type = CONFUTIL_CHOICE,
		.choices = "iid|dirichlet", .initial = "iid", AT(partition),
		.doc = "how the samples are split among the nodes; dirichlet: unlike classes",
	},
	{
		.section = "", .name = "dirichlet-alpha", .type = CONFUTIL_NUMBER,
		.initial = "0.5", .min = 1e-3, .max = 1e6, AT(dirichlet_alpha),
		.doc = "partition dirichlet: the smaller, the less alike",
	},
	{
		.section = "", .name = "overlap", .type = CONFUTIL_NUMBER, .initial = "0",
		.min = 0, .max = 1, AT(overlap),
		.doc = "each node has this fraction of all samples, shared with others; 0: each "
		       "sample belongs to one node",
	},
	{
		.section = "", .name = "seed", .type = CONFUTIL_INTEGER, .initial = "1",
		.min = 0, .max = 2147483647, AT(seed),
		.doc = "of the partition, the first parameters and the mini-batches",
	},
	{
		.section = "", .name = "samples", .type = CONFUTIL_INTEGER, .initial = "0",
		.min = 0, .max = 2147483647, AT(samples),
		.doc = "use only so many samples of the data, the first ones; 0: all",
	},
	{
		.section = "", .name = "batch", .type = CONFUTIL_INTEGER, .initial = "0",
		.min = 0, .max = ISO_BATCH_MAX, AT(batch),
		.doc = "samples of one gradient, drawn anew each round; 0: all of the node's",
	},
	{
		.section = "", .name = "quantiser", .type = CONFUTIL_CHOICE,
		.choices = "none|single|uniform|log|innovation", .initial = "innovation",
		AT(quantiser),
		.doc = "how vectors are sent: as doubles, as floats, in equal steps, by their "
		       "logarithm, or the logarithm of what has changed",
	},
	{
		.section = "", .name = "rho", .type = CONFUTIL_NUMBER, .initial = "0.25",
		.min = 0.0009765625, .max = 2, AT(rho),
		.doc = "log, innovation: step of the logarithm",
	},
	{
		.section = "", .name = "bits", .type = CONFUTIL_INTEGER, .initial = "8",
		.min = 2, .max = 16, AT(bits),
		.doc = "uniform, log, innovation: bits of one component",
	},
	{
		.section = "", .name = "uniform-step", .type = CONFUTIL_NUMBER,
		.initial = "0.001", .min = 1e-12, .max = 1e6, AT(uniform_step),
		.doc = "uniform: the step",
	},
	{
		.section = "", .name = "adaptive", .type = CONFUTIL_BOOL, .initial = "no",
		AT(adaptive),
		.doc = "log, innovation: coarser than rho, in fewer bits, while much changes",
	},
	{
		.section = "", .name = "step", .type = CONFUTIL_NUMBER, .initial = "0.4",
		.min = 0.001, .max = 1.99, AT(step),
		.doc = "length of a round in the time of the dynamics (T)",
	},
	{
		.section = "", .name = "alpha", .type = CONFUTIL_NUMBER, .initial = "0",
		.min = 0, .max = 1e6, AT(alpha),
		.doc = "weight of the gradient; 0: each node finds it while it learns",
	},
	{
		.section = "", .name = "rounds", .type = CONFUTIL_INTEGER, .initial = "0",
		.min = 0, .max = 1e15, AT(rounds),
		.doc = "steps of each node; 0: until it is stopped",
	},
	{
		.section = "", .name = "wait", .type = CONFUTIL_DURATION, .initial = "5s",
		.least = 10 * MS_NS, .most = HOUR_NS, AT(wait_ns),
		.doc = "a neighbour that is silent for longer is not waited for",
	},
	{
		.section = "", .name = "drop", .type = CONFUTIL_DURATION, .initial = "30s",
		.least = 10 * MS_NS, .most = 24 * HOUR_NS, AT(drop_ns),
		.doc = "a neighbour that is silent for longer leaves the graph until it is back",
	},
	{
		.section = "", .name = "evaluate-every", .type = CONFUTIL_DURATION,
		.flags = CONFUTIL_OR_OFF, .initial = "5s", .least = 10 * MS_NS,
		.most = 24 * HOUR_NS, AT(evaluate_every_ns),
		.doc = "between two evaluations on the test set; off: never",
	},
	{
		.section = "", .name = "save-every", .type = CONFUTIL_DURATION,
		.flags = CONFUTIL_OR_OFF, .initial = "30s", .least = 10 * MS_NS,
		.most = 24 * HOUR_NS, AT(save_every_ns),
		.doc = "between two writes of the model; one is at the end, too; off: only that",
	},
	{
		.section = "node", .name = "size", .type = CONFUTIL_INTEGER, .initial = "1",
		.min = 1, .max = 1e6, IN_NODE(size),
		.doc = "of its part of the samples, relative to the others'",
	},
};
/* clang-format on */

static const struct confutil_repeated nodes = {
	.section = "node",
	.offset = offsetof(struct plan, nodes),
	.stride = sizeof(struct plan_node),
	.count_max = PLAN_NODES_MAX,
	.count_offset = offsetof(struct plan, nodes_count),
	.title_offset = offsetof(struct plan_node, name),
	.title_size = PLAN_NAME_BYTES,
	.line_offset = offsetof(struct plan_node, line),
};

_Static_assert(COUNT(options) <= CONFUTIL_OPTIONS_MAX, "lines of all options fit");

const struct confutil_schema *plan_schema(void)
{
	static const struct confutil_schema schema = {
		.options = options,
		.option_count = COUNT(options),
		.repeated = &nodes,
		.repeated_count = 1,
	};

	return &schema;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys of isobard.conf(5). */
#include "config.h"

#include "agent/conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Where a row's value goes, and how large it is. */
#define AT(field)                                \
	.offset = offsetof(struct conf, field), \
	.size = sizeof(((struct conf *)0)->field)
#define IN_NEIGHBOUR(field)                                \
	.offset = offsetof(struct conf_neighbour, field), \
	.size = sizeof(((struct conf_neighbour *)0)->field)
#define IN_ADMINISTRATOR(field)                                \
	.offset = offsetof(struct conf_administrator, field), \
	.size = sizeof(((struct conf_administrator *)0)->field)

#define MS_NS 1000000ull
#define S_NS  1000000000ull

/* clang-format off */
static const struct confutil_option options[] = {
	{
		.section = "", .name = "cluster", .type = CONFUTIL_NAME,
		.flags = CONFUTIL_REQUIRED, AT(cluster),
		.doc = "the nodes that share one budget; the same on all of them",
	},
	{
		.section = "", .name = "node", .type = CONFUTIL_NAME,
		.flags = CONFUTIL_REQUIRED, AT(node),
		.doc = "the name of this node, unique in the cluster",
	},
	{
		.section = "", .name = "budget", .type = CONFUTIL_CPU,
		.flags = CONFUTIL_REQUIRED, .least = 1000, AT(budget_ucpu),
		.doc = "CPU that all nodes together may use; the same on all of them",
	},
	{
		.section = "", .name = "endowment", .type = CONFUTIL_CPU,
		AT(endowment_ucpu),
		.doc = "share of this node at its very first start; over all nodes they "
		       "add up to the budget; needed by --init, not by --init --join",
	},
	{
		.section = "", .name = "config-epoch", .type = CONFUTIL_INTEGER,
		.initial = "1", .min = 1, .max = 2147483647, AT(config_epoch),
		.doc = "raised with every change of the shared part of the configuration",
	},
	{
		.section = "", .name = "cgroup", .type = CONFUTIL_PATH, AT(cgroup),
		.doc = "the job: a cgroup, as a path below the root of the hierarchy; "
		       "needed unless unit or delegated says which it is",
	},
	{
		.section = "", .name = "unit", .type = CONFUTIL_TEXT, AT(unit),
		.doc = "the job: a service, scope or slice of systemd",
	},
	{
		.section = "", .name = "delegated", .type = CONFUTIL_BOOL, .initial = "no",
		AT(delegated),
		.doc = "the job: a cgroup below that of isobard's own unit, for the worker",
	},
	{
		.section = "", .name = "create-cgroup", .type = CONFUTIL_BOOL,
		.initial = "no", AT(create_cgroup),
		.doc = "make the cgroup if it is not there",
	},
	{
		.section = "", .name = "force-cgroup", .type = CONFUTIL_BOOL, .initial = "no",
		AT(force_cgroup),
		.doc = "limit it even if it is a slice, or holds isobard itself",
	},
	{
		.section = "", .name = "period", .type = CONFUTIL_DURATION,
		.initial = "100ms", .least = MS_NS, .most = S_NS, AT(period_ns),
		.doc = "period of the kernel's bandwidth control",
	},
	{
		.section = "", .name = "floor", .type = CONFUTIL_CPU, AT(floor_ucpu),
		.doc = "the share never goes below; default: the least that the kernel "
		       "enforces, 1000 us in each period",
	},
	{
		.section = "", .name = "ceiling", .type = CONFUTIL_CPU, AT(ceiling_ucpu),
		.doc = "the share never goes above; default: the budget",
	},
	{
		.section = "", .name = "on-exit", .type = CONFUTIL_CHOICE,
		.choices = "keep|restore|remove", .initial = "keep", AT(on_exit),
		.doc = "the limit when isobard ends: keep it, restore what was there "
		       "before, remove it",
	},
	{
		.section = "", .name = "meter", .type = CONFUTIL_CHOICE,
		.choices = "auto|kernel", .initial = "auto", AT(meter),
		.doc = "what measures the job: eBPF where it can, or always the kernel's own "
		       "accounting, for servers with many instances",
	},
	{
		.section = "", .name = "dry-run", .type = CONFUTIL_BOOL, .initial = "no",
		AT(dry_run),
		.doc = "do everything but write the limit",
	},
	{
		.section = "", .name = "release-after", .type = CONFUTIL_DURATION,
		.flags = CONFUTIL_OR_OFF, .initial = "60s", .least = S_NS,
		.most = 86400 * S_NS, AT(release_after_ns),
		.doc = "where nobody has run in the cgroup for so long, what is above the floor "
		       "is for the others; off: the share stays",
	},
	{
		.section = "", .name = "listen", .type = CONFUTIL_ADDRESS, AT(listen),
		.doc = "address for the neighbours' messages; needed as soon as there are "
		       "neighbours",
	},
	{
		.section = "", .name = "admin-listen", .type = CONFUTIL_ADDRESS,
		AT(admin_listen),
		.doc = "address where administrators give commands over the network; "
		       "default: only the control socket",
	},
	{
		.section = "", .name = "secret-key", .type = CONFUTIL_PATH, AT(secret_key),
		.doc = "file with the secret key of this node (isobarctl keygen); needed "
		       "for TCP",
	},
	{
		.section = "", .name = "state-directory", .type = CONFUTIL_PATH,
		AT(state_directory),
		.doc = "the journal lives here; default: " ISO_STATEDIR "/NODE",
	},
	{
		.section = "", .name = "run-directory", .type = CONFUTIL_PATH,
		AT(run_directory),
		.doc = "the control socket lives here; default: " ISO_RUNDIR "/NODE",
	},
	{
		.section = "", .name = "control-group", .type = CONFUTIL_NAME,
		AT(control_group),
		.doc = "unix group that may change the state through the control socket; "
		       "default: root only",
	},
	{
		.section = "", .name = "log-level", .type = CONFUTIL_CHOICE,
		.choices = "error|warning|info|debug", .initial = "info", AT(log_level),
		.doc = "what is logged",
	},
	{
		.section = "", .name = "sandbox", .type = CONFUTIL_BOOL, .initial = "yes",
		AT(sandbox),
		.doc = "isobard, its guard and its worker give up what they do not need: "
		       "capabilities, system calls",
	},
	{
		.section = "cost", .name = "kind", .type = CONFUTIL_CHOICE,
		.choices = "quadratic|latency|proportional", .initial = "quadratic",
		AT(cost.kind),
		.doc = "quadratic (x-d)^2/(2 kappa), latency d^2/x, proportional -d ln x: "
		       "x share, d demand, in CPUs",
	},
	{
		.section = "cost", .name = "kappa", .type = CONFUTIL_NUMBER, .initial = "1",
		.min = 1e-6, .max = 1e6, AT(cost.kappa),
		.doc = "quadratic: the larger, the less a missing CPU hurts",
	},
	{
		.section = "cost", .name = "weight", .type = CONFUTIL_NUMBER, .initial = "1",
		.min = 1e-6, .max = 1e6, AT(cost.weight),
		.doc = "multiplies the cost: priority of this job",
	},
	{
		.section = "cost", .name = "penalty", .type = CONFUTIL_CHOICE,
		.choices = "softplus|log-barrier|none", .initial = "softplus",
		AT(cost.penalty),
		.doc = "rises towards the ends of the box",
	},
	{
		.section = "cost", .name = "sigma", .type = CONFUTIL_NUMBER, .initial = "10",
		.min = 1e-3, .max = 1e4, AT(cost.sigma),
		.doc = "softplus: steepness, per CPU",
	},
	{
		.section = "cost", .name = "epsilon", .type = CONFUTIL_NUMBER,
		.initial = "0.0003", .min = 1e-9, .max = 1e3, AT(cost.epsilon),
		.doc = "softplus, log-barrier: size of the penalty",
	},
	{
		.section = "trading", .name = "tick", .type = CONFUTIL_DURATION,
		.initial = "1s", .least = 10 * MS_NS, .most = 60 * S_NS, AT(trading.tick_ns),
		.doc = "time between two decisions",
	},
	{
		.section = "trading", .name = "fresh", .type = CONFUTIL_DURATION,
		.initial = "10s", .least = 10 * MS_NS, .most = 3600 * S_NS,
		AT(trading.fresh_ns),
		.doc = "a neighbour that was silent for longer is down and its marginal "
		       "cost forgotten",
	},
	{
		.section = "trading", .name = "quantiser", .type = CONFUTIL_CHOICE,
		.choices = "difference|log|uniform|none", .initial = "difference",
		AT(trading.quantiser),
		.doc = "how marginal costs are coded: log of the difference, log as "
		       "published, uniform, not at all",
	},
	{
		.section = "trading", .name = "rho", .type = CONFUTIL_NUMBER,
		.initial = "0.25", .min = 0.03125, .max = 2, AT(trading.rho),
		.doc = "step of the quantiser; the same on all nodes",
	},
	{
		.section = "trading", .name = "gamma", .type = CONFUTIL_NUMBER,
		.initial = "0.9", .min = 1e-3, .max = 1, AT(trading.gamma),
		.doc = "step size; any value up to 1 converges when messages are not late",
	},
	{
		.section = "trading", .name = "dead-band", .type = CONFUTIL_NUMBER,
		.initial = "0.005", .max = 0.5, AT(trading.dead_band),
		.doc = "relative difference of marginal costs that is not worth a trade",
	},
	{
		.section = "trading", .name = "stop-and-wait", .type = CONFUTIL_BOOL,
		.initial = "yes", AT(trading.stop_and_wait),
		.doc = "give again only when the last transfer is credited",
	},
	{
		.section = "trading", .name = "limit", .type = CONFUTIL_CPU, .least = 1,
		.flags = CONFUTIL_OR_NONE, AT(trading.limit_ucpu),
		.doc = "no more than this is given to a neighbour, or taken from it, in net, "
		       "since the edge was opened; none: it is trusted as this host itself",
	},
	{
		.section = "trading", .name = "lease", .type = CONFUTIL_DURATION,
		.flags = CONFUTIL_OR_OFF, .initial = "30s", .least = 100 * MS_NS,
		.most = 3600 * S_NS, AT(trading.lease_ns),
		.doc = "a node that no neighbour has answered for so long keeps the floor only; "
		       "off: for ever all; the same on all nodes",
	},
	{
		.section = "trading", .name = "lease-slack", .type = CONFUTIL_DURATION,
		.initial = "5500ms", .least = 100 * MS_NS, .most = 600 * S_NS,
		AT(trading.lease_slack_ns),
		.doc = "how late a limit may be lowered: half a second and the watchdog's "
		       "timeout; the same on all nodes",
	},
	{
		.section = "guard", .name = "executable", .type = CONFUTIL_PATH,
		AT(guard.executable),
		.doc = "the guard's program; default: " ISO_LIBEXECDIR "/isobar-guard",
	},
	{
		.section = "guard", .name = "watchdog", .type = CONFUTIL_PATH,
		AT(guard.watchdog),
		.doc = "hardware watchdog that the guard keeps from resetting this machine; "
		       "without one, no automatic burial",
	},
	{
		.section = "guard", .name = "priority", .type = CONFUTIL_INTEGER,
		.initial = "10", .max = 99, AT(guard.priority),
		.doc = "real-time priority of the guard (SCHED_FIFO); 0: none",
	},
	{
		.section = "neighbour", .name = "address", .type = CONFUTIL_ADDRESS,
		.flags = CONFUTIL_REQUIRED, IN_NEIGHBOUR(address),
		.doc = "where the neighbour listens",
	},
	{
		.section = "neighbour", .name = "public-key", .type = CONFUTIL_KEY,
		IN_NEIGHBOUR(public_key),
		.doc = "its public key, as text in single quotes or as a file; needed for TCP",
	},
	{
		.section = "neighbour", .name = "limit", .type = CONFUTIL_CPU, .least = 1,
		.flags = CONFUTIL_OR_NONE, IN_NEIGHBOUR(limit_ucpu),
		.doc = "no more than this is given to it, or taken from it, in net, or none; "
		       "needed where trading.limit is not set",
	},
	{
		.section = "neighbour", .name = "worker-address", .type = CONFUTIL_ADDRESS,
		IN_NEIGHBOUR(worker_address),
		.doc = "where its worker listens, with training.plan; without it the two "
		       "workers do not talk",
	},
	{
		.section = "neighbour", .name = "worker-public-key", .type = CONFUTIL_KEY,
		IN_NEIGHBOUR(worker_public_key),
		.doc = "the public key of its worker, as text in single quotes or as a file",
	},
	{
		.section = "administrator", .name = "public-key", .type = CONFUTIL_KEY,
		.flags = CONFUTIL_REQUIRED, IN_ADMINISTRATOR(public_key),
		.doc = "the administrator's public key, as text in single quotes or as a file",
	},
	{
		.section = "training", .name = "coordinator", .type = CONFUTIL_ADDRESS,
		AT(training.coordinator),
		.doc = "address of isobar-coordinator; without it, and without a plan, this node "
		       "does not train",
	},
	{
		.section = "training", .name = "coordinator-key", .type = CONFUTIL_KEY,
		AT(training.coordinator_key),
		.doc = "public key of the coordinator; needed for TCP",
	},
	{
		.section = "training", .name = "plan", .type = CONFUTIL_PATH, AT(training.plan),
		.doc = "instead of a coordinator: what the workers of the neighbours learn "
		       "together, isobar-plan.conf(5)",
	},
	{
		.section = "training", .name = "listen", .type = CONFUTIL_ADDRESS,
		AT(training.listen),
		.doc = "plan: address for the workers of the neighbours; needed with a plan",
	},
	{
		.section = "training", .name = "state-directory", .type = CONFUTIL_PATH,
		AT(training.state_directory),
		.doc = "plan: the worker keeps its model here; default: it is not kept",
	},
	{
		.section = "training", .name = "worker-key", .type = CONFUTIL_PATH,
		AT(training.worker_key),
		.doc = "file with the secret key of the worker; needed for TCP",
	},
	{
		.section = "training", .name = "user", .type = CONFUTIL_NAME,
		AT(training.user),
		.doc = "user that the worker runs as; needed when isobard runs as root",
	},
	{
		.section = "training", .name = "data", .type = CONFUTIL_PATH,
		AT(training.data),
		.doc = "the data set, see isobar-data(5)",
	},
	{
		.section = "training", .name = "threads", .type = CONFUTIL_INTEGER,
		.initial = "0", .max = 1024, AT(training.threads),
		.doc = "training threads; 0: as many as the share has whole CPUs, at least one",
	},
	{
		.section = "training", .name = "task", .type = CONFUTIL_PATH,
		AT(training.task),
		.doc = "shared object with a task of your own, isobar-task(3); default: none",
	},
	{
		.section = "training", .name = "task-limit", .type = CONFUTIL_DURATION,
		.initial = "60s", .least = 10 * MS_NS, .most = 86400 * S_NS,
		AT(training.task_limit_ns),
		.doc = "CPU time that one call of the task may use; more ends the worker",
	},
	{
		.section = "training", .name = "executable", .type = CONFUTIL_PATH,
		AT(training.executable),
		.doc = "the worker's program; default: " ISO_LIBEXECDIR "/isobar-worker",
	},
};
/* clang-format on */

static const struct confutil_repeated repeated[] = {
	{
		.section = "neighbour",
		.offset = offsetof(struct conf, neighbours),
		.stride = sizeof(struct conf_neighbour),
		.count_max = CONF_NEIGHBOURS_MAX,
		.count_offset = offsetof(struct conf, neighbour_count),
		.title_offset = offsetof(struct conf_neighbour, name),
		.title_size = CONF_NAME_BYTES,
		.line_offset = offsetof(struct conf_neighbour, line),
	},
	{
		.section = "administrator",
		.offset = offsetof(struct conf, administrators),
		.stride = sizeof(struct conf_administrator),
		.count_max = CONF_ADMINISTRATORS_MAX,
		.count_offset = offsetof(struct conf, administrator_count),
		.title_offset = offsetof(struct conf_administrator, name),
		.title_size = CONF_NAME_BYTES,
		.line_offset = offsetof(struct conf_administrator, line),
	},
};

_Static_assert(COUNT(options) <= CONFUTIL_OPTIONS_MAX, "lines of all options fit");

const struct confutil_schema *conf_schema(void)
{
	static const struct confutil_schema schema = {
		.options = options,
		.option_count = COUNT(options),
		.repeated = repeated,
		.repeated_count = COUNT(repeated),
	};

	return &schema;
}

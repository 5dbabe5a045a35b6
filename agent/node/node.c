/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/node.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/directory.h"
#include "agent/base/log.h"
#include "agent/net/curve.h"
#include "agent/node/crash.h"
#include "agent/node/node_private.h"

static int open_state_directory(const struct conf *conf, struct error *reterr)
{
	int fd = open(conf->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return error_set(reterr, -ENOENT,
				 "state directory %s: there is none: make it with --init if "
				 "this node is new; that of another one is on a disk that is not "
				 "mounted",
				 conf->state_directory);
	return error_errno(reterr, -errno, "state directory %s", conf->state_directory);
}

int node_create(const struct conf *conf, struct error *reterr)
{
	struct iso_trade_peer peers[CONF_NEIGHBOURS_MAX];
	struct iso_record record;
	struct iso_quant quant;
	int fd, r;

	node_quant(conf, &quant);
	struct iso_trade_config config = node_trade_config(conf, &quant, peers);
	enum iso_status status = iso_trade_genesis(&config, NODE_FIRST_GENERATION,
						   (int64_t)conf->endowment_ucpu, &record);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "endowment: %s (floor to budget)",
				 iso_status_text(status));
	r = directory_make(conf->state_directory, 0700, reterr);
	if (r < 0)
		return error_wrap(reterr, "state directory");
	fd = open_state_directory(conf, reterr);
	if (fd < 0)
		return fd;
	r = journal_create(fd, conf->state_directory, NULL, &record, reterr);
	close(fd);
	return r;
}

static bool on_message(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	struct node *node = context;

	assert(neighbour < node->conf->neighbour_count); /* keys are always on */
	enum iso_status status = iso_trade_receive(node->trade, clock_now_ns(),
						   node->conf->neighbours[neighbour].id, bytes,
						   size);

	/* The trading core counts what it drops, and why; who is not listened to is still up. */
	return status == ISO_OK || status == ISO_E_HALTED;
}

static void send_all(struct node *node)
{
	uint8_t bytes[ISO_EDGE_BYTES];
	uint64_t peer;

	if (node->link == NULL)
		return;
	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++)
		if (node->link_of_edge[i] != UINT32_MAX &&
		    iso_trade_message(node->trade, i, &peer, bytes) == ISO_OK) {
			(void)link_send(node->link, node->link_of_edge[i], bytes, sizeof(bytes));
			crash_point("sending");
		}
	/* Not sent now is sent with the next tick: it will say the same and more. */
}

/* Nothing can be proven after this: end, with the limit lowered as it is. */
static void fail(struct node *node, const char *why)
{
	log_error("journal: %s; trading stops and isobard ends; the limit stays at %" PRId64
		  " ucpu", why, job_view(node->job)->enforced_ucpu);
	iso_trade_close(node->trade);
	node->failed = true;
	loop_quit(node->loop);
}

/* False when the kernel may still enforce more than planned: the debits are then undone. */
static bool lower(struct node *node, uint64_t now_ns, const struct iso_trade_plan *plan)
{
	struct error error = { 0 };
	int r = job_limit(node->job, now_ns, plan->limit_ucpu, &error);
	int64_t enforced_ucpu = job_view(node->job)->enforced_ucpu;

	if (r == 0 && iso_trade_lowered(node->trade, enforced_ucpu) == ISO_OK) {
		if (node->limit_failed)
			log_info("cgroup %s: can be lowered again", node->conf->cgroup);
		node->limit_failed = false;
		crash_point("lowered");
		return true;
	}
	if (!node->limit_failed)
		log_error("cgroup %s: cannot lower to %" PRId64 " ucpu: %s; giving nothing away",
			  node->conf->cgroup, plan->limit_ucpu, error.text);
	node->limit_failed = true;
	return false;
}

static bool make_durable(struct node *node)
{
	struct error error = { 0 };
	struct iso_record record;

	iso_trade_record(node->trade, &record);
	if (journal_write(node->journal, &record, &error) < 0) {
		fail(node, error.text);
		return false;
	}
	crash_point("durable");
	node->durable_seq = record.seq;
	node->journal_writes++;
	return true;
}

/* The newest transfer given, for status: what, to whom, and the two prices. */
static void remember_decision(struct node *node, uint64_t now_ns)
{
	struct iso_trade_status status;
	uint32_t link;

	iso_trade_status(node->trade, &status);
	if (status.gave.reason != ISO_SHARE_GAVE)
		return;
	link = node->link_of_edge[status.gave_edge];
	if (link == UINT32_MAX)
		return;
	snprintf(node->decision, sizeof(node->decision),
		 "gave %" PRId64 " ucpu to %s: marginal cost %.4g here, at most %.4g there",
		 status.gave.given_ucpu, node->conf->neighbours[link].name,
		 iso_price_real(status.gave.own_q32), iso_price_real(status.gave.upper_q32));
	node->decided_ns = now_ns;
}

/* The log tells when a state begins and ends; status shows it in between. */
static void log_job_state(struct node *node)
{
	const char *reason, *state = job_state(node->job, &reason);
	bool is_first = node->job_state == NULL;

	if (!is_first && strcmp(state, node->job_state) == 0)
		return;
	node->job_state = state;
	if (is_first)
		return; /* what is amiss at the start has been said by then */
	if (reason[0] != '\0')
		log_warn("cgroup %s: %s: %s", node->conf->cgroup, state, reason);
	else
		log_info("cgroup %s: ok again", node->conf->cgroup);
}

/* Found by a message or in the journal: said once, and from then on in the status. */
static void tell_halt(struct node *node)
{
	struct iso_trade_status status;

	if (node->halt_told)
		return;
	iso_trade_status(node->trade, &status);
	if (status.halt == ISO_HALT_NONE)
		return;
	node->halt_told = true;
	log_error("trading has stopped for good: %s; the limit goes to the floor",
		  iso_halt_text(status.halt));
}

static void tick(struct node *node, uint64_t now_ns)
{
	struct error error = { 0 };
	struct iso_trade_plan plan;

	tell_halt(node);
	job_observe(node->job, now_ns);
	const struct job_view *view = job_view(node->job);
	struct iso_trade_input input = {
		.now_ns = now_ns,
		.enforced_ucpu = view->enforced_ucpu,
		.ceiling_ucpu = view->ceiling_ucpu,
		.cost = node_cost(node->conf, view->demand_ucpu),
		.hold = view->hold,
	};

	enum iso_status status = iso_trade_begin(node->trade, &input, &plan);
	assert(status == ISO_OK); /* conf_check() has seen the cost */
	crash_point("begin");
	if (plan.lower && !lower(node, now_ns, &plan))
		iso_trade_abort(node->trade, &plan);
	else if (plan.debited_ucpu > 0)
		remember_decision(node, now_ns);
	if (plan.record && !make_durable(node))
		return;
	node->entitled_ucpu = iso_trade_commit(node->trade, node->durable_seq);
	crash_point("committed");
	int r = job_limit(node->job, now_ns, node->entitled_ucpu, &error);
	log_job_state(node);
	/* Another writer's value is put right at a slower pace, and is a state. */
	if (r < 0 && r != -ESTALE && !node->raise_failed && !node->limit_failed)
		log_warn("cgroup %s: %s; trying again at each tick", node->conf->cgroup,
			 error.text);
	node->raise_failed = r < 0;
	crash_point("raised");
	send_all(node);
	crash_point("sent");
	if (node->link != NULL)
		link_tick(node->link, now_ns);
	if (node->host != NULL)
		host_step(node->host, now_ns, (uint64_t)node->entitled_ucpu, view->cpus);
	node->ticks++;
}

static void arm(struct node *node)
{
	uint64_t wake_ns = job_wake_at_ns(node->job);

	(void)timer_arm(node->timer.fd, wake_ns < node->tick_at_ns ? wake_ns : node->tick_at_ns);
}

static void on_timer(struct loop_source *source, short revents)
{
	struct node *node = (struct node *)((char *)source - offsetof(struct node, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	if (!timer_consume(source->fd))
		return;
	if (now_ns >= node->tick_at_ns) {
		tick(node, now_ns);
		if (node->failed)
			return;
		node->tick_at_ns = job_align(node->job, now_ns + node->conf->trading.tick_ns);
	} else {
		/* Between ticks the policy may pay back or raise at a better moment. */
		job_observe(node->job, now_ns);
		(void)job_limit(node->job, now_ns, node->entitled_ucpu, NULL);
	}
	arm(node);
}

static int open_trade(struct node *node, struct error *reterr)
{
	struct iso_record record;

	node_quant(node->conf, &node->quant);
	struct iso_trade_config config = node_trade_config(node->conf, &node->quant,
							   node->peers);
	size_t size = iso_trade_size(&config);
	node->trade_memory = size > 0 ? calloc(1, size) : NULL;
	if (node->trade_memory == NULL)
		return error_set(reterr, -EINVAL, "trading: configuration out of range");
	enum iso_status status = iso_trade_init(node->trade_memory, size, &config, &node->trade);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "trading: %s", iso_status_text(status));

	int fd = open_state_directory(node->conf, reterr);
	if (fd < 0)
		return fd;
	int r = journal_open(fd, node->conf->state_directory, NULL, config.cluster, config.node,
			     &node->journal, &record, reterr);
	close(fd);
	if (r < 0)
		return r;
	status = iso_trade_open(node->trade, &record);
	if (status != ISO_OK)
		return error_set(reterr, -EUCLEAN, "journal in %s: %s",
				 node->conf->state_directory, iso_status_text(status));
	node->durable_seq = record.seq;
	return 0;
}

static void map_edges(struct node *node)
{
	struct iso_trade_edge edge;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		node->link_of_edge[i] = UINT32_MAX;
		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK)
			continue;
		for (unsigned j = 0; j < node->conf->neighbour_count; j++)
			if (node->conf->neighbours[j].id == edge.peer)
				node->link_of_edge[i] = j;
	}
}

static int open_link(struct node *node, void *zmq_context, struct error *reterr)
{
	struct link_neighbour neighbours[CONF_NEIGHBOURS_MAX];
	struct curve_keypair keys;
	const struct conf *conf = node->conf;

	if (conf->neighbour_count == 0)
		return 0;
	int r = curve_secret_read(conf->secret_key, &keys, reterr);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < conf->neighbour_count; i++)
		neighbours[i] = (struct link_neighbour){
			.name = conf->neighbours[i].name,
			.address = conf->neighbours[i].address,
			.public_key = conf->neighbours[i].public_key,
		};
	struct link_config config = {
		.listen = conf->listen,
		.keys = &keys,
		.neighbours = neighbours,
		.neighbour_count = conf->neighbour_count,
		.down_after_ns = conf->trading.fresh_ns,
		.fn = on_message,
		.context = node,
	};
	r = link_open(&config, zmq_context, node->loop, clock_now_ns(), &node->link, reterr);
	curve_keypair_wipe(&keys);
	return r;
}

static int open_control(struct node *node, struct error *reterr)
{
	struct control_config config = {
		.directory = node->conf->run_directory,
		.group = node->conf->control_group,
		.commands = node_commands,
		.command_count = node_command_count,
		.context = node,
	};

	int r = directory_make(node->conf->run_directory, 0755, reterr);
	if (r < 0)
		return error_wrap(reterr, "run directory");
	return control_open(&config, node->loop, &node->control, reterr);
}

static int open_timer(struct node *node, struct error *reterr)
{
	int fd = timer_open();

	if (fd < 0)
		return error_errno(reterr, fd, "timer");
	node->timer = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = on_timer };
	node->tick_at_ns = clock_now_ns() + node->conf->trading.tick_ns;
	arm(node);
	return loop_add(node->loop, &node->timer);
}

static int open_all(struct node *node, void *zmq_context, struct error *reterr)
{
	struct host_config host_config = { .conf = node->conf, .loop = node->loop };
	int r = open_control(node, reterr); /* first: its lock is the instance's */

	if (r == 0)
		r = open_trade(node, reterr);
	if (r == 0)
		crash_point("opened");
	if (r == 0)
		r = job_open(node->conf, node->conf->floor_ucpu, &node->job, reterr);
	if (r < 0)
		return r;
	map_edges(node);
	/* The new incarnation must be durable and the share enforced before anybody hears of us. */
	tick(node, clock_now_ns());
	if (node->failed)
		return error_set(reterr, -EIO, "the journal cannot be written");
	r = open_link(node, zmq_context, reterr);
	crash_point("linked");
	host_config.job = node->job;
	if (r == 0 && node->conf->training.coordinator[0] != '\0')
		r = host_open(&host_config, &node->host, reterr);
	if (r == 0)
		r = open_timer(node, reterr);
	return r;
}

int node_open(const struct conf *conf, void *zmq_context, struct loop *loop,
	      struct node **ret_node, struct error *reterr)
{
	struct node *node = calloc(1, sizeof(*node));
	int r;

	if (node == NULL)
		return error_errno(reterr, -ENOMEM, "node");
	node->conf = conf;
	node->loop = loop;
	node->timer.fd = -1;
	node->started_ns = clock_now_ns();
	r = open_all(node, zmq_context, reterr);
	if (r < 0) {
		node->failed = true; /* a start that failed changes no limit on its way out */
		node_close(node);
		return r;
	}
	*ret_node = node;
	return 0;
}

struct node *node_close(struct node *node)
{
	struct error error = { 0 };

	if (node == NULL)
		return NULL;
	loop_remove(node->loop, &node->timer);
	if (node->timer.fd >= 0)
		close(node->timer.fd);
	node->host = host_close(node->host);
	node->link = link_close(node->link);
	if (node->job != NULL && !node->failed && job_leave(node->job, &error) < 0)
		log_warn("on exit: %s", error.text);
	node->job = job_close(node->job);
	node->journal = journal_close(node->journal);
	node->control = control_close(node->control);
	free(node->trade_memory);
	free(node);
	return NULL;
}

bool node_failed(const struct node *node)
{
	return node->failed;
}

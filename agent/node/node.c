/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/directory.h"
#include "agent/base/log.h"
#include "agent/node/crash.h"
#include "agent/node/handover.h"
#include "agent/node/node_private.h"
#include "lib/quantity.h"

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

int node_create(const struct conf *conf, bool join, struct error *reterr)
{
	struct iso_trade_peer peers[CONF_NEIGHBOURS_MAX];
	struct iso_record record;
	struct iso_quant quant;
	int fd, r;

	if (!join && conf->endowment_ucpu == 0)
		return error_set(reterr, -EINVAL,
				 "endowment is not set: --init needs it; a node that joins a "
				 "running cluster is made with --init --join");
	node_quant(conf, &quant);
	struct iso_trade_config config = node_trade_config(conf, &quant, peers);
	enum iso_status status =
		join ? iso_trade_genesis(&config, 0, 0, &record)
		     : iso_trade_genesis(&config, NODE_FIRST_GENERATION,
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

static void tell_budget(const struct node *node, const struct iso_record *record)
{
	if (record->gen == 0 || record->budget_ucpu == (int64_t)node->conf->budget_ucpu)
		return;
	log_info("budget: %.4f CPU, as an administrator has set it; the %.4f CPU of the "
		 "configuration were for the first start",
		 (double)record->budget_ucpu / ISO_UCPU_PER_CPU,
		 (double)node->conf->budget_ucpu / ISO_UCPU_PER_CPU);
}

/* What the journal and the file beside it say. */
static int open_state(struct node *node, struct iso_record *ret_record, struct error *reterr)
{
	const struct conf *conf = node->conf;
	struct error error = { 0 };

	node->state_fd = open_state_directory(conf, reterr);
	if (node->state_fd < 0)
		return node->state_fd;
	int r = journal_open(node->state_fd, conf->state_directory, NULL, conf->cluster_id,
			     conf->id, &node->journal, ret_record, reterr);
	if (r < 0)
		return r;
	node->durable_seq = ret_record->seq;
	node->is_frozen = node_is_frozen(node->state_fd);
	if (node->is_frozen)
		log_warn("node %s: frozen since before this start: it does not trade until "
			 "isobarctl thaw", conf->node);
	tell_budget(node, ret_record);
	if (peers_load(conf, node->state_fd, conf->state_directory, &node->peers, &error) < 0)
		log_warn("%s: who is named there alone is not reached until an administrator "
			 "opens the edge again", error.text);
	for (unsigned i = 0; i < node->peers.count; i++)
		if (node->peers.of[i].is_other)
			log_info("neighbour %s: address and key are those that an administrator "
				 "has told, not those of the configuration",
				 node->peers.of[i].as.name);
	return 0;
}

int node_open_trade(struct node *node, const struct iso_record *record, struct error *reterr)
{
	struct iso_trade_config config = node_trade_config(node->conf, &node->quant,
							   node->trade_peers);

	config.peer_count = node_trade_peers(&node->peers, record, node->trade_peers);
	config.limits_ucpu = node->limits_ucpu;
	node->trust = (struct node_trust){ .is_halted = record->halt != ISO_HALT_NONE };
	size_t size = iso_trade_size(&config);
	void *memory = size > 0 ? calloc(1, size) : NULL;
	if (memory == NULL)
		return error_set(reterr, -EINVAL, "trading: configuration out of range");
	free(node->trade_memory);
	node->trade_memory = memory;
	enum iso_status status = iso_trade_init(memory, size, &config, &node->trade);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "trading: %s", iso_status_text(status));
	if (!iso_ledger_floor_possible(record, config.floor_ucpu))
		return error_set(reterr, -EINVAL,
				 "floor: %" PRId64 " ucpu is more than before, %" PRId64
				 ": that is what would be kept for this node if it were buried; "
				 "a floor rises only with a new journal, after the node has left",
				 config.floor_ucpu, record->floor_ucpu);
	status = iso_trade_open(node->trade, record);
	if (status != ISO_OK)
		return error_set(reterr, -EUCLEAN, "journal in %s: %s",
				 node->conf->state_directory, iso_status_text(status));
	node_map_edges(node);
	return 0;
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
	node->timer = (struct loop_source){ .fd = fd, .events = ZMQ_POLLIN, .fn = node_on_timer };
	node->tick_at_ns = clock_now_ns() + node->conf->trading.tick_ns;
	node_arm(node);
	return loop_add(node->loop, &node->timer);
}

/* The limit of a group that is made now. */
static uint64_t first_ucpu(const struct node *node, const struct iso_record *record)
{
	bool has_share = record->gen != 0 && record->halt != ISO_HALT_LEFT;

	return has_share ? node->conf->floor_ucpu : (uint64_t)node_least_ucpu(node);
}

int node_begin(struct node *node, struct error *reterr)
{
	struct host_config host_config = {
		.conf = node->conf, .loop = node->loop, .job = node->job,
	};
	int r = node_open_net(node, reterr);

	crash_point("linked");
	if (r == 0 && conf_trains(node->conf))
		r = host_open(&host_config, &node->host, reterr);
	node->is_public = r == 0;
	return r;
}

static int open_all(struct node *node, struct error *reterr)
{
	struct iso_record record;
	int r = open_control(node, reterr); /* first: its lock is the instance's */

	if (r == 0)
		r = open_state(node, &record, reterr);
	if (r == 0)
		r = node_open_trade(node, &record, reterr);
	if (r == 0)
		crash_point("opened");
	if (r == 0)
		r = job_open(node->conf, first_ucpu(node, &record), &node->job, reterr);
	if (r < 0)
		return r;
	(void)job_watch_guard(node->job, node->loop); /* else it is seen at the next tick */
	/* The guard outlives its agent, so does the lease; unless it is of another generation. */
	iso_trade_lease_resume(node->trade, job_lease_deadline_ns(node->job));
	/* The new incarnation must be durable and the share enforced before anybody hears of us. */
	node_tick(node, clock_now_ns());
	if (node->failed)
		return error_set(reterr, -EIO, "the journal cannot be written");
	/* With a full disk they hear of us later; what counts is that the limit is enforced. */
	if (node->is_begun)
		r = node_begin(node, reterr);
	if (r == 0)
		r = open_timer(node, reterr);
	return r;
}

int node_open(struct conf *conf, const char *file, void *zmq_context, struct loop *loop,
	      struct node **ret_node, struct error *reterr)
{
	struct node *node = calloc(1, sizeof(*node));
	int r;

	if (node == NULL)
		return error_errno(reterr, -ENOMEM, "node");
	node->conf = node->reloaded = conf;
	node->file = file;
	node->zmq_context = zmq_context;
	node->loop = loop;
	node_quant(conf, &node->quant);
	node->timer.fd = -1;
	node->state_fd = -1;
	node->started_ns = clock_now_ns();
	node->history = node_history_new();
	r = node->history != NULL ? open_all(node, reterr) : error_errno(reterr, -ENOMEM, "node");
	if (r < 0) {
		node->failed = true; /* a start that failed changes no limit on its way out */
		node_close(node);
		return r;
	}
	handover_done(conf);
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
	node_close_net(node);
	if (node->job != NULL && !node->failed && job_leave(node->job, &error) < 0)
		log_warn("on exit: %s", error.text);
	node->job = job_close(node->job);
	node->journal = journal_close(node->journal);
	node->control = control_close(node->control);
	if (node->state_fd >= 0)
		close(node->state_fd);
	free(node->trade_memory);
	free(node->history);
	free(node);
	return NULL;
}

int node_restore(const struct conf *conf, struct error *reterr)
{
	char saved[sizeof(conf->state_directory) + sizeof("/limit-before")];
	struct node node = { .conf = conf };
	int r;

	snprintf(saved, sizeof(saved), "%s/%s", conf->state_directory,
		 conf->unit[0] != '\0' ? "unit-before" : "limit-before");
	if (conf->on_exit == CONF_ON_EXIT_KEEP || conf->dry_run || access(saved, F_OK) < 0)
		return 0;
	if (handover_is_asked(conf)) {
		log_info("on exit: the limit stays, another agent takes over");
		return 0;
	}
	node.loop = &(struct loop){ 0 };
	r = open_control(&node, reterr); /* its lock: nobody else is at it */
	if (r == 0)
		r = job_open(conf, conf->floor_ucpu, &node.job, reterr);
	if (r == 0)
		r = job_leave(node.job, reterr);
	job_close(node.job);
	control_close(node.control);
	return r;
}

bool node_failed(const struct node *node)
{
	return node->failed;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_NODE_PRIVATE_H
#define ISO_NODE_PRIVATE_H

/* For node.c and the files named node_*.c only. */

#include <jansson.h>

#include "agent/base/loop.h"
#include "agent/conf/conf.h"
#include "agent/control/control.h"
#include "agent/net/admin.h"
#include "agent/net/link.h"
#include "agent/net/zap.h"
#include "agent/node/host.h"
#include "agent/node/job.h"
#include "agent/node/job_facts.h"
#include "agent/node/journal.h"
#include "agent/node/node.h"
#include "agent/node/peers.h"
#include "lib/enforce/sleep.h"
#include "lib/enforce/telling.h"
#include "lib/quant/quant.h"
#include "lib/trade/trade.h"

/* Operations that wait for the next ticks. */
#define NODE_OPS_MAX 8u

struct node_op {
	struct opjson_op as;
	struct control_token token;
};

/* Where a node is in its life, beside what becomes of its job. */
struct node_standing {
	const char *name; /* "waiting for admission", "leaving", ...; NULL: trades like any other */
	char reason[400];
};

/* What neighbours have said that they should not have. */
struct node_trust {
	bool is_halted;          /* trading had stopped before the newest message */
	char halted_by[64];      /* whose message stopped it; empty: none of this run */
	uint64_t dropped, dropped_told; /* messages; how many when it was said last */
	uint64_t dropped_at_ns;  /* not to be said again before */
	char dropped_of[64];     /* of the newest: whose, and why */
	enum iso_status dropped_why;
	uint64_t without;        /* bits by edge: no limit is configured, as said last */
	uint64_t withheld;       /* bits by edge, as said last */
	uint64_t withheld_at_ns;
};

struct node {
	const struct conf *conf;
	struct conf *reloaded;   /* the same one, for node_reload() alone */
	const char *file;        /* where it was read */
	char reload[384];        /* the outcome of the last reload, in words; empty: none yet */
	void *zmq_context;
	struct loop *loop;
	struct loop_source timer;
	int state_fd;            /* the state directory */
	struct iso_quant quant;
	struct iso_trade_peer trade_peers[PEERS_MAX]; /* borrowed by trade */
	void *trade_memory;
	struct iso_trade *trade;
	struct journal *journal;
	struct job *job;
	struct peers peers;
	struct zap *zap;         /* NULL: nobody can reach us */
	struct link *link;       /* NULL: no neighbours */
	struct admin *admin;     /* NULL: commands at the control socket alone */
	struct host *host;       /* NULL: this node does not train */
	struct control *control;
	struct node_trust trust;
	int64_t limits_ucpu[ISO_DEGREE_MAX]; /* by edge; borrowed by trade */
	uint32_t peer_of_edge[ISO_DEGREE_MAX]; /* index in peers; UINT32_MAX: not known here */
	uint64_t durable_seq;    /* newest record on disk */
	int64_t entitled_ucpu;   /* what the newest commit allows to enforce */
	uint64_t tick_at_ns;
	uint64_t started_ns;
	uint64_t ticks;
	uint64_t ticks_late;     /* that did not come in time, or not at all */
	uint64_t late_ns;        /* the last of those that were worth a word; 0: none */
	struct iso_sleep sleep;  /* of the machine */
	uint64_t journal_writes;
	bool failed;
	bool is_begun;           /* this incarnation is durable: others may hear of it */
	bool is_public;          /* and they do: node_begin() */
	uint64_t stuck_ns;       /* since when the journal's disk takes nothing; 0: it does */
	char stuck_reason[256];  /* what the disk says */
	char stuck_text[384];    /* with what that means, for the status */
	bool is_frozen;          /* an administrator has stopped trading */
	struct node_op ops[NODE_OPS_MAX]; /* the oldest first */
	unsigned op_count;
	bool has_share;          /* admitted, and has not left */
	bool is_leaving;
	bool is_empty;           /* nobody runs in the job's group; asked only without a share */
	bool empty_told;         /* that somebody does; logged once */
	const char *standing;    /* the last that was logged; NULL: none */
	bool limit_failed;       /* the last lowering did; logged once */
	bool raise_told;         /* that raising did, and not yet that it can be done again */
	struct iso_telling telling; /* of the job's state */
	struct node_history *history;
	char decision[256];      /* the last transfer given, in words */
	uint64_t decided_ns;
};

/* The least that the kernel enforces on a group, in any share's place. */
int64_t node_least_ucpu(const struct node *node);
/* At the begin of a tick, after job_observe(). */
void node_look(struct node *node);
/* What the kernel enforces, as far as it counts: nothing on a group where nobody runs. */
int64_t node_enforced_ucpu(const struct node *node);
struct node_standing node_standing(const struct node *node, const struct iso_trade_status *trade);

/* The operation for this tick, or NULL; its answer comes with node_op_done(). */
const struct iso_op *node_op_next(struct node *node);
/* After the commit: what became of it. */
void node_op_done(struct node *node, const struct iso_trade_plan *plan);
json_t *node_command_op(void *context, const json_t *request, const struct control_token *token);
json_t *node_command_admit(void *context, const json_t *request,
			   const struct control_token *token);
json_t *node_command_ledger(void *context, const json_t *request);
json_t *node_command_freeze(void *context, const json_t *request);
json_t *node_command_thaw(void *context, const json_t *request);
json_t *node_command_log_level(void *context, const json_t *request);
json_t *node_command_history(void *context, const json_t *request);
json_t *node_command_reload(void *context, const json_t *request);

/* Whether trading has been stopped, perhaps before this start. */
bool node_is_frozen(int state_fd);

/* Makes the trading core anew from a record, with the peers as they are. */
int node_open_trade(struct node *node, const struct iso_record *record, struct error *reterr);

/* A first generation; later ones come with re-admission. */
#define NODE_FIRST_GENERATION 1u

void node_quant(const struct conf *conf, struct iso_quant *ret_quant);
struct iso_cost node_cost(const struct conf *conf, uint64_t demand_ucpu);
/* peers: room for CONF_NEIGHBOURS_MAX; borrowed for as long as the config is used. */
struct iso_trade_config node_trade_config(const struct conf *conf, const struct iso_quant *quant,
					  struct iso_trade_peer *peers);

/*
 * Whom the trading core is told of: who has an edge in the journal, and the
 * configuration's neighbours besides while no administrator has ever changed
 * anything: from then on every edge is the registry's, or a burial would not
 * know of it.  Returns how many.
 */
uint32_t node_trade_peers(const struct peers *peers, const struct iso_record *record,
			  struct iso_trade_peer ret_peers[PEERS_MAX]);

/* How far neighbours are trusted: again after the edges or the configuration have changed. */
void node_set_limits(struct node *node);
/* What became of a message; the neighbour is who has sent it. */
void node_note_message(struct node *node, const struct peer *peer, enum iso_status status);
/* Once a tick: what is odd goes to the log, once a minute at most. */
void node_tell_trust(struct node *node, uint64_t now_ns);
/* Why trading has stopped, and who made it so; returns ret_text. */
#define NODE_HALT_BYTES 256u
const char *node_halt_text(const struct node *node, enum iso_halt halt,
			   char ret_text[NODE_HALT_BYTES]);

/* NULL: nobody here knows how to reach it. */
const struct peer *node_peer_of_edge(const struct node *node, uint32_t index);
/* After the edges or the peers have changed. */
void node_map_edges(struct node *node);
/*
 * Takes in a neighbour that an administrator names, durably, connects to it,
 * anew if that is somewhere else, and lets its key in.
 */
int node_meet(struct node *node, const struct opjson_neighbour *neighbour,
	      struct peer **ret_peer, struct error *reterr);
int node_open_net(struct node *node, struct error *reterr);
/* The administrators of the configuration, in the place of those that were. */
int node_let_in_administrators(struct node *node, struct error *reterr);
void node_close_net(struct node *node);

/* The newest changes of the share; free() it.  NULL: no memory. */
#define NODE_EVENTS_MAX 512u
struct node_history *node_history_new(void);
/* After the commit: what has moved, with what was known then. */
void node_history_note(struct node *node, const struct iso_op *op,
		       const struct iso_trade_plan *plan);

/* Nothing can be proven after this: ends, with the limit lowered as it is. */
void node_fail(struct node *node, const char *why);

/* The journal's disk takes nothing, node->stuck_reason says why: see node_disk.c. */
bool node_is_stuck(const struct node *node);

enum node_written {
	NODE_WRITTEN = 1, /* or undone in the plan: to be committed with node->durable_seq */
	NODE_NOT_BEGUN,   /* nothing may be said yet; tried again at the next tick */
	NODE_FAILED,      /* the node ends */
};
/* Of a plan that has a record. */
enum node_written node_make_durable(struct node *node, struct iso_trade_plan *plan);
/* Of one that has none: whether the disk is back. */
void node_try_disk(struct node *node);
/* What others hear of: once the first record of this incarnation is durable. */
int node_begin(struct node *node, struct error *reterr);
void node_tick(struct node *node, uint64_t now_ns);
void node_arm(struct node *node);
void node_on_timer(struct loop_source *source, short revents);

/* What the control socket answers. */
extern const struct control_command node_commands[];
extern const size_t node_command_count;

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_NODE_H
#define ISO_NODE_H

#include <stdbool.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "agent/conf/reload.h"

struct loop;

/*
 * One node of the cluster: ledger and journal, neighbours, job and worker,
 * brought together in the one order that keeps the sum of shares equal to the
 * budget (lib/trade/trade.h).  One tick:
 *
 *     observe the job -> plan -> lower and read back -> journal -> raise -> send
 */
struct node;

/*
 * Makes the node's journal: once in the life of a node.  Its endowment is its
 * first share; with join it has none, and waits until an administrator admits it.
 * -EEXIST: it has one.
 */
int node_create(const struct conf *conf, bool join, struct error *reterr);

/*
 * Takes up the journal, enforces the share it says, makes that start durable
 * and only then listens.  conf, read from file, the ZeroMQ context and the loop
 * are borrowed until node_close(); conf changes in node_reload() alone.
 */
int node_open(struct conf *conf, const char *file, void *zmq_context, struct loop *loop,
	      struct node **ret_node, struct error *reterr);

/*
 * Reads the file anew and takes what may change while a node runs (agent/conf/reload.h).
 * Whatever is wrong with it, all stays as it was; logged and shown in the status.
 */
int node_reload(struct node *node, struct conf_changes *ret_changes, struct error *reterr);

/*
 * Ends worker, trading and control socket, and does what on-exit says - not
 * after node_failed(): then the limit stays as it is.  Takes NULL; returns NULL.
 */
struct node *node_close(struct node *node);

/*
 * What on-exit says, in the place of an agent that was killed.  -EBUSY or whatever
 * the lock says: one is running; nothing is done then.
 */
int node_restore(const struct conf *conf, struct error *reterr);

/* How the node is, on one line. */
#define NODE_TEXT_BYTES 200u
void node_describe(const struct node *node, char ret_text[NODE_TEXT_BYTES]);

/* The journal could not be written: nothing may be trusted any more, the program must end. */
bool node_failed(const struct node *node);

#endif

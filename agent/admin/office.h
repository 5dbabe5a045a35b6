/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_OFFICE_H
#define ISO_OFFICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/admin/cluster_conf.h"
#include "agent/admin/drive.h"
#include "agent/base/error.h"
#include "agent/control/status.h"

/*
 * The administrator's desk: the cluster's configuration, the registry and its
 * file, and calls to real nodes; agent/admin/drive.h in the real world.
 */

struct office;

struct office_listener {
	/* An entry is durable and about to be true; an operation waits.  Either may be NULL. */
	void (*entry)(void *context, const struct iso_registry *registry,
		      const struct iso_registry_entry *entry);
	void (*waiting)(void *context, const struct iso_registry *registry,
			const struct iso_registry_op *op, const char *why);
	void *context;
};

/*
 * Reads the configuration and the keys; no registry yet.  listener: copied;
 * may be NULL.
 */
int office_new(const char *conf_path, const struct office_listener *listener,
	       struct office **ret_office, struct error *reterr);

/* Opens the registry that the configuration names; read_only: to look at it beside others. */
int office_open(struct office *office, bool read_only, struct error *reterr);

/* Takes NULL; returns NULL. */
struct office *office_free(struct office *office);

const struct cluster_conf *office_conf(const struct office *office);
struct iso_registry *office_registry(struct office *office);
struct drive *office_drive(struct office *office);
bool office_torn(const struct office *office);

/* How long a node may take for an answer; 5 s if nothing is said. */
void office_set_patience(struct office *office, uint64_t patience_ns);

/* One request to a node of the configuration; see admin_call(). */
int office_call(struct office *office, const struct cluster_conf_node *node, const json_t *request,
		json_t **ret_reply, struct error *reterr);

/*
 * A node's ledger; strings are borrowed from *ret_json, which the caller owns.
 * -EPROTO: it refuses, with its reason.
 */
int office_ledger(struct office *office, const struct cluster_conf_node *node, json_t **ret_json,
		  struct status_ledger *ret_ledger, struct error *reterr);

/* Whether its guard makes automatic burial possible, as its status says; false if unknown. */
bool office_guarded(struct office *office, const struct cluster_conf_node *node);

/* Whether a node says that its neighbour of that name is up; false if unknown. */
bool office_hears(struct office *office, const struct cluster_conf_node *node,
		  const char *neighbour);

#endif

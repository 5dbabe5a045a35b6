/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CLUSTER_CONF_H
#define ISO_CLUSTER_CONF_H

#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "agent/conf/confutil.h"
#include "lib/ledger/registry.h"

/*
 * /etc/isobar/cluster.conf: where the administrator's machine finds the nodes
 * of a cluster, and how it shows who it is.  It says where nodes are and
 * nothing about shares: those are in the registry.
 */

struct cluster_conf_node {
	char name[CONF_NAME_BYTES];
	char admin[CONF_ADDRESS_BYTES]; /* tcp://... or unix:/... */
	char public_key[CONF_KEY_BYTES];
	char address[CONF_ADDRESS_BYTES]; /* where its neighbours send to */
	uint64_t id;			  /* conf_node_id(cluster, name) */
	int line;
};

struct cluster_conf {
	char cluster[CONF_NAME_BYTES];
	char secret_key[CONF_PATH_BYTES]; /* file; empty: none, for unix: only */
	char registry[CONF_PATH_BYTES];	  /* directory */
	unsigned node_count;
	struct cluster_conf_node nodes[ISO_REGISTRY_MEMBERS_MAX];
};

/*
 * -EINVAL: "FILE: line 12: ..."; other errors are those of reading the file.
 * *ret_conf is untouched on failure.  Large: not for the stack.
 */
int cluster_conf_load(const char *path, struct cluster_conf *ret_conf, struct error *reterr);
/* Same, from memory; name stands for the file in messages. */
int cluster_conf_parse(const char *name, const char *text, struct cluster_conf *ret_conf,
		       struct error *reterr);

/* NULL: not in the file. */
const struct cluster_conf_node *cluster_conf_find(const struct cluster_conf *conf, uint64_t id);
const struct cluster_conf_node *cluster_conf_find_name(const struct cluster_conf *conf,
						       const char *name);

/* Every option there is, for the manual and the sample file. */
const struct confutil_schema *cluster_conf_schema(void);

#endif

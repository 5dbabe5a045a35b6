/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PEERS_H
#define ISO_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/error.h"
#include "agent/conf/conf.h"
#include "agent/control/opjson.h"

/*
 * Whom this node can reach: the neighbours of the configuration, and those
 * that an administrator has told it while it ran.  The latter are in the file
 * PEERS_NAME in the state directory; of a neighbour that is in both, what was
 * told counts.  Losing the file costs reachability, never a share: the edges
 * and their counters are in the journal.
 */
#define PEERS_NAME "neighbours.json"
#define PEERS_MAX  CONF_NEIGHBOURS_MAX

struct peer {
	struct opjson_neighbour as; /* name, generation, address, key */
	uint64_t id;		    /* conf_node_id(cluster, name) */
	bool is_told;		    /* by an administrator, not by the configuration */
	bool is_other;		    /* and the configuration says otherwise */
	uint32_t link;		    /* index in the link; UINT32_MAX: none.  For the caller. */
};

struct peers {
	unsigned count;
	struct peer of[PEERS_MAX];
};

/*
 * dir_fd: the state directory, dir_path its name for messages; both borrowed.
 * *ret_peers is always filled.  0 also without a file; -EUCLEAN: there is one
 * that cannot be read, and only the configuration counts; -ENOSPC: more than
 * PEERS_MAX, and those beyond it are left out.
 */
int peers_load(const struct conf *conf, int dir_fd, const char *dir_path, struct peers *ret_peers,
	       struct error *reterr);

/*
 * Takes in a neighbour, durably if it is new or has another address or key: once
 * this has returned 0 a restart knows it.  On failure nothing has changed.
 * -EEXIST: another neighbour has this key.  -ENOSPC.
 * The link index of one that is there stays.
 */
int peers_tell(struct peers *peers, const struct conf *conf, int dir_fd, const char *dir_path,
	       const struct opjson_neighbour *neighbour, struct error *reterr);

/* NULL: not known. */
struct peer *peers_find(struct peers *peers, uint64_t id);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/net/curve.h"
#include "agent/node/node_private.h"

/* Who is reached how: peers, the link, the administrators' endpoint. */

#define NOWHERE "neighbour %s: listen is not set in the configuration, so nobody could answer"

const struct peer *node_peer_of_edge(const struct node *node, uint32_t index)
{
	return node->peer_of_edge[index] != UINT32_MAX ? &node->peers.of[node->peer_of_edge[index]]
						       : NULL;
}

void node_map_edges(struct node *node)
{
	struct iso_trade_edge edge;

	for (uint32_t i = 0; i < iso_trade_edges(node->trade); i++) {
		node->peer_of_edge[i] = UINT32_MAX;
		if (iso_trade_edge(node->trade, i, &edge) != ISO_OK)
			continue;
		for (unsigned j = 0; j < node->peers.count; j++)
			if (node->peers.of[j].id == edge.peer)
				node->peer_of_edge[i] = j;
	}
	node_set_limits(node);
}

static const struct peer *peer_of_link(const struct node *node, uint32_t neighbour)
{
	for (unsigned i = 0; i < node->peers.count; i++)
		if (node->peers.of[i].link == neighbour)
			return &node->peers.of[i];
	return NULL;
}

static bool on_message(void *context, uint32_t neighbour, const uint8_t *bytes, size_t size)
{
	struct node *node = context;
	const struct peer *peer = peer_of_link(node, neighbour);

	assert(peer != NULL); /* keys are always on */
	enum iso_status status =
	    iso_trade_receive(node->trade, clock_boot_ns(), peer->id, bytes, size);

	node_note_message(node, peer, status);
	/* The trading core counts what it drops, and why; who is not listened to is still up. */
	return status == ISO_OK || status == ISO_E_HALTED;
}

static int reach(struct node *node, struct peer *peer, struct error *reterr)
{
	const struct link_neighbour neighbour = {
		.name = peer->as.name,
		.address = peer->as.address,
		.public_key = peer->as.public_key,
	};

	if (node->link == NULL)
		return error_set(reterr, -EDESTADDRREQ, NOWHERE, peer->as.name);
	if (peer->link != UINT32_MAX)
		link_remove(node->link, peer->link);
	peer->link = UINT32_MAX;
	return link_add(node->link, &neighbour, clock_now_ns(), &peer->link, reterr);
}

int node_meet(struct node *node, const struct opjson_neighbour *neighbour,
	      struct peer **ret_peer, struct error *reterr)
{
	uint64_t id = conf_node_id(node->conf->cluster, neighbour->name);
	struct peer *peer = peers_find(&node->peers, id);
	struct opjson_neighbour before = { 0 };

	if (id == node->conf->id)
		return error_set(reterr, -EINVAL, "neighbour %s: that is this node itself",
				 neighbour->name);
	if (node->link == NULL)
		return error_set(reterr, -EDESTADDRREQ, NOWHERE, neighbour->name);
	if (conf_limit_ucpu(node->conf, id) == 0)
		return error_set(reterr, -EPERM,
				 "neighbour %s: trading.limit is not set: how far would it be "
				 "trusted?", neighbour->name);
	if (peer != NULL)
		before = peer->as;
	int r = peers_tell(&node->peers, node->conf, node->state_fd, node->conf->state_directory,
			   neighbour, reterr);
	if (r < 0)
		return r;
	peer = peers_find(&node->peers, id);
	*ret_peer = peer;
	if (peer->link != UINT32_MAX && strcmp(before.address, peer->as.address) == 0 &&
	    strcmp(before.public_key, peer->as.public_key) == 0)
		return 0;
	return reach(node, peer, reterr);
}

static int open_link(struct node *node, const struct curve_keypair *keys, struct error *reterr)
{
	struct link_config config = {
		.listen = node->conf->listen,
		.keys = keys,
		.zap = node->zap,
		.down_after_ns = node->conf->trading.fresh_ns,
		.fn = on_message,
		.context = node,
	};
	int r =
	    link_open(&config, node->zmq_context, node->loop, clock_now_ns(), &node->link, reterr);

	for (unsigned i = 0; i < node->peers.count && r == 0; i++) {
		struct peer *peer = &node->peers.of[i];

		r = reach(node, peer, reterr);
		/* The configuration's must be right; what was told may be of another day. */
		if (r < 0 && peer->is_told) {
			log_warn("%s: not reached", reterr->text);
			r = 0;
		}
	}
	return r;
}

static int open_admin(struct node *node, const struct curve_keypair *keys, struct error *reterr)
{
	const struct conf *conf = node->conf;
	struct admin_peer administrators[CONF_ADMINISTRATORS_MAX];
	struct admin_config config = {
		.listen = conf->admin_listen,
		.keys = keys,
		.administrators = administrators,
		.administrator_count = conf->administrator_count,
		.commands = node_commands,
		.command_count = node_command_count,
		.context = node,
		.zap = node->zap,
	};

	_Static_assert(CONF_ADMINISTRATORS_MAX <= ADMIN_ADMINISTRATORS_MAX, "all fit");
	for (unsigned i = 0; i < conf->administrator_count; i++)
		administrators[i] = (struct admin_peer){
			.name = conf->administrators[i].name,
			.public_key = conf->administrators[i].public_key,
		};
	return admin_open(&config, node->zmq_context, node->loop, &node->admin, reterr);
}

int node_let_in_administrators(struct node *node, struct error *reterr)
{
	const struct conf *conf = node->conf;
	struct zap_peer peers[CONF_ADMINISTRATORS_MAX];

	if (node->admin == NULL)
		return 0;
	for (unsigned i = 0; i < conf->administrator_count; i++) {
		snprintf(peers[i].name, sizeof(peers[i].name), "%s", conf->administrators[i].name);
		memcpy(peers[i].public_key, conf->administrators[i].public_key, CURVE_KEY_BYTES);
	}
	return zap_set_peers(node->zap, ADMIN_DOMAIN, peers, conf->administrator_count, reterr);
}

int node_open_net(struct node *node, struct error *reterr)
{
	const struct conf *conf = node->conf;
	struct curve_keypair keys;

	if (conf->listen[0] == '\0' && conf->admin_listen[0] == '\0')
		return 0;
	int r = curve_secret_read(conf->secret_key, &keys, reterr);
	if (r < 0)
		return r;
	r = zap_open(node->zmq_context, node->loop, LINK_DOMAIN, NULL, 0, &node->zap, reterr);
	if (r == 0 && conf->listen[0] != '\0')
		r = open_link(node, &keys, reterr);
	if (r == 0 && conf->admin_listen[0] != '\0')
		r = open_admin(node, &keys, reterr);
	curve_keypair_wipe(&keys);
	return r;
}

void node_close_net(struct node *node)
{
	node->admin = admin_close(node->admin);
	node->link = link_close(node->link);
	node->zap = zap_close(node->zap);
}

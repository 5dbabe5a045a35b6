/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/cluster_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/confplace.h"
#include "agent/net/admin_call.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define AT(field)                                                                                  \
	.offset = offsetof(struct cluster_conf, field),                                            \
	.size = sizeof(((struct cluster_conf *)0)->field)
#define IN_NODE(field)                                                                             \
	.offset = offsetof(struct cluster_conf_node, field),                                       \
	.size = sizeof(((struct cluster_conf_node *)0)->field)

/* clang-format off */
static const struct confutil_option options[] = {
	{
		.section = "", .name = "cluster", .type = CONFUTIL_NAME,
		.flags = CONFUTIL_REQUIRED, AT(cluster),
		.doc = "name of the cluster, as in the nodes' configurations",
	},
	{
		.section = "", .name = "secret-key", .type = CONFUTIL_PATH, AT(secret_key),
		.doc = "file with the administrator's secret key (isobarctl keygen); needed for "
		       "nodes at tcp://",
	},
	{
		.section = "", .name = "registry", .type = CONFUTIL_PATH, AT(registry),
		.doc = "directory of the registry; default: " ISO_STATEDIR "/registry",
	},
	{
		.section = "node", .name = "admin", .type = CONFUTIL_TEXT,
		.flags = CONFUTIL_REQUIRED, IN_NODE(admin),
		.doc = "where it takes commands: its admin-listen, or unix:/PATH of its control "
		       "socket on this machine",
	},
	{
		.section = "node", .name = "public-key", .type = CONFUTIL_KEY, IN_NODE(public_key),
		.doc = "its public key, or the file that holds it; needed with any tcp://",
	},
	{
		.section = "node", .name = "address", .type = CONFUTIL_ADDRESS, IN_NODE(address),
		.doc = "where it listens for its neighbours; told to those that it gets",
	},
};
/* clang-format on */

static const struct confutil_repeated repeated[] = {
	{
	    .section = "node",
	    .offset = offsetof(struct cluster_conf, nodes),
	    .stride = sizeof(struct cluster_conf_node),
	    .count_max = ISO_REGISTRY_MEMBERS_MAX,
	    .count_offset = offsetof(struct cluster_conf, node_count),
	    .title_offset = offsetof(struct cluster_conf_node, name),
	    .title_size = sizeof(((struct cluster_conf_node *)0)->name),
	    .line_offset = offsetof(struct cluster_conf_node, line),
	},
};

static const struct confutil_schema schema = {
	.options = options,
	.option_count = COUNT(options),
	.repeated = repeated,
	.repeated_count = COUNT(repeated),
};

const struct confutil_schema *cluster_conf_schema(void)
{
	return &schema;
}

const struct cluster_conf_node *cluster_conf_find(const struct cluster_conf *conf, uint64_t id)
{
	for (unsigned i = 0; i < conf->node_count; i++)
		if (conf->nodes[i].id == id)
			return &conf->nodes[i];
	return NULL;
}

const struct cluster_conf_node *cluster_conf_find_name(const struct cluster_conf *conf,
						       const char *name)
{
	for (unsigned i = 0; i < conf->node_count; i++)
		if (strcmp(conf->nodes[i].name, name) == 0)
			return &conf->nodes[i];
	return NULL;
}

static int check_node(const struct cluster_conf *conf, const struct cluster_conf_node *node,
		      struct error *reterr)
{
	int r = admin_endpoint_check(node->admin, reterr);

	if (r < 0)
		return error_wrap(reterr, "node %s: admin", node->name);
	if (strncmp(node->address, "tcp://", 6) == 0 && node->public_key[0] == '\0')
		return error_set(reterr, -EINVAL,
				 "node %s: with its address neighbours need its public-key",
				 node->name);
	if (strncmp(node->admin, "tcp://", 6) != 0)
		return 0;
	if (node->public_key[0] == '\0')
		return error_set(reterr, -EINVAL, "node %s: a node at tcp:// needs its public-key",
				 node->name);
	if (conf->secret_key[0] == '\0')
		return error_set(reterr, -EINVAL,
				 "node %s: a node at tcp:// needs secret-key at the top",
				 node->name);
	return 0;
}

static int check(struct cluster_conf *conf, const struct confplace *place)
{
	if (conf->node_count == 0) {
		error_set(place->reterr, -EINVAL, "no node: expected node NAME { admin = ... }");
		return confplace_at_line(place, 0);
	}
	if (conf->registry[0] == '\0')
		snprintf(conf->registry, sizeof(conf->registry), "%s", ISO_STATEDIR "/registry");
	for (unsigned i = 0; i < conf->node_count; i++) {
		struct cluster_conf_node *node = &conf->nodes[i];

		node->id = conf_node_id(conf->cluster, node->name);
		if (check_node(conf, node, place->reterr) < 0)
			return confplace_at_line(place, node->line);
		for (unsigned k = 0; k < i; k++) {
			if (strcmp(conf->nodes[k].admin, node->admin) != 0)
				continue;
			error_set(place->reterr, -EINVAL, "node %s is at the same place as node %s",
				  node->name, conf->nodes[k].name);
			return confplace_at_line(place, node->line);
		}
	}
	return 0;
}

int cluster_conf_parse(const char *name, const char *text, struct cluster_conf *ret_conf,
		       struct error *reterr)
{
	struct confutil_lines lines;
	struct cluster_conf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	int r = confutil_parse(&schema, name, text, sizeof(*conf), conf, &lines, reterr);
	if (r == 0)
		r = check(conf, &(struct confplace){ name, &schema, &lines, reterr });
	if (r == 0)
		*ret_conf = *conf;
	free(conf);
	return r;
}

int cluster_conf_load(const char *path, struct cluster_conf *ret_conf, struct error *reterr)
{
	char *text;
	int r = confutil_read_file(path, &text, reterr);

	if (r < 0)
		return r;
	r = cluster_conf_parse(path, text, ret_conf, reterr);
	free(text);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/base/log.h"
#include "agent/node/node_private.h"

/* The configuration read anew while the node runs: all of what may change, or nothing. */

static int take(struct node *node, struct conf_changes *ret_changes, struct error *reterr)
{
	struct conf *fresh = malloc(2 * sizeof(*fresh)), *before = fresh + 1;
	int r;

	if (fresh == NULL)
		return error_errno(reterr, -ENOMEM, "configuration");
	*before = *node->conf;
	r = conf_load(node->file, fresh, reterr);
	if (r == 0)
		r = conf_take(node->reloaded, fresh, ret_changes, reterr);
	if (r == 0) {
		r = node_let_in_administrators(node, reterr);
		if (r < 0)
			*node->reloaded = *before;
	}
	if (r == 0)
		node_set_limits(node);
	for (unsigned i = 0; r == 0 && i < fresh->warning_count; i++)
		log_warn("%s: %s", node->file, fresh->warnings[i]);
	if (r == 0 && before->log_level != node->conf->log_level)
		log_set_level(log_level_of(node->conf->log_level));
	free(fresh);
	return r;
}

int node_reload(struct node *node, struct conf_changes *ret_changes, struct error *reterr)
{
	struct conf_changes changes;
	int r = take(node, &changes, reterr);

	if (r < 0) {
		snprintf(node->reload, sizeof(node->reload), "failed, all stays as it was: %.300s",
			 reterr->text);
		log_error("reload: %s; all stays as it was", reterr->text);
		return r;
	}
	snprintf(node->reload, sizeof(node->reload), "%s%.160s%s%.160s",
		 changes.taken[0] != '\0' ? "took " : "nothing to take", changes.taken,
		 changes.restart[0] != '\0' ? "; a restart would change " : "", changes.restart);
	log_info("reload: %s", node->reload);
	*ret_changes = changes;
	return 0;
}

json_t *node_command_reload(void *context, const json_t *request)
{
	struct conf_changes changes;
	struct error error = { 0 };

	(void)request;
	if (node_reload(context, &changes, &error) < 0)
		return control_refuse("%s; all stays as it was", error.text);
	return json_pack("{s:s, s:s}", "taken", changes.taken, "restart", changes.restart);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/cluster_private.h"

static bool failed_before(const struct model_cluster *cluster, const struct model_key *key)
{
	return key->left[LEFT_FAILURES] < cluster->setup.failures;
}

/* A journal may only be lost where fdatasync has failed before: then nobody knows the disk. */
static bool gone(const struct model_summary *node)
{
	return node->damaged || node->pc == MODEL_REFUSED;
}

static const char *check_node(const struct model_cluster *cluster, const struct model_key *key,
			      const struct model_summary *node)
{
	const struct model_setup *setup = &cluster->setup;

	if (gone(node))
		return failed_before(cluster, key) ? NULL : "a journal cannot be recovered";
	if (!node->equation)
		return "I4: holdings are not endowment + received - sent";
	if (node->enforced > node->share_disk)
		return "I2: the kernel enforces more than the node durably owns";
	if (node->enforced > setup->ceiling)
		return "I2: the kernel enforces more than the ceiling";
	if (node->share_least < setup->floor)
		return "I5: a node owns less than its floor";
	if (node->halted)
		return "a node has halted though nothing is wrong";
	return NULL;
}

static const char *check_edges(const struct model_cluster *cluster, const struct model_key *key)
{
	bool complete = true;
	int sum = 0;

	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const struct model_summary *donor = model_summary(cluster, key, i);

		complete = complete && !gone(donor);
		sum += donor->share_disk;
		for (uint32_t k = 0; k < MODEL_EDGES; k++) {
			uint32_t j = model_peer(i, k);
			const struct model_summary *receiver = model_summary(cluster, key, j);

			if (gone(donor) || gone(receiver))
				continue;
			if (donor->sent_disk[j] < receiver->received_most[i])
				return "I3: more is credited than was durably debited";
			sum += donor->sent_disk[j] - receiver->received_disk[i];
		}
	}
	if (complete && sum != 3 * cluster->setup.share)
		return "I4: shares and what is in flight are not the budget";
	return NULL;
}

const char *model_check(const struct model_cluster *cluster, const struct model_key *key)
{
	int enforced = 0;

	for (uint32_t i = 0; i < MODEL_NODES; i++)
		enforced += model_summary(cluster, key, i)->enforced;
	if (enforced > 3 * cluster->setup.share)
		return "I1: the kernels together enforce more than the budget";
	if (cluster->setup.only_sum)
		return NULL;
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const char *wrong = check_node(cluster, key, model_summary(cluster, key, i));

		if (wrong != NULL)
			return wrong;
	}
	return check_edges(cluster, key);
}

const char *model_check_rest(const struct model_cluster *cluster, const struct model_key *key)
{
	for (uint32_t i = 0; i < MODEL_NODES; i++) {
		const struct model_summary *node = model_summary(cluster, key, i);

		if (node->pc == MODEL_REFUSED && failed_before(cluster, key))
			continue;
		if (node->pc != MODEL_IDLE)
			return "L1: a node has stopped half-way";
		if (node->enforced != node->target)
			return "L1: a share is never enforced";
		for (uint32_t k = 0; k < MODEL_EDGES; k++) {
			uint32_t j = model_peer(i, k);
			const struct model_summary *peer = model_summary(cluster, key, j);

			if (peer->pc != MODEL_REFUSED && node->sent[j] != peer->received_most[i])
				return "L1: units are never delivered";
		}
	}
	return NULL;
}

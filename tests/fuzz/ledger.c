/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agent/control/status.h"
#include "lib/ledger/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* What was read goes out as JSON that says the same. */
static void check_round_trip(const struct status_ledger *ledger)
{
	json_t *json = status_ledger_json(ledger);
	struct status_ledger again;
	struct error error;

	assert(json != NULL);
	int r = status_ledger_read(json, &again, &error);
	assert(r == 0);
	assert(memcmp(&again.snapshot, &ledger->snapshot, sizeof(again.snapshot)) == 0);
	assert(same_text(again.cluster, ledger->cluster));
	assert(same_text(again.node, ledger->node));
	for (uint32_t i = 0; i < ledger->snapshot.record.edge_count; i++) {
		assert(same_text(again.peers[i], ledger->peers[i]));
		assert(again.limits_ucpu[i] == ledger->limits_ucpu[i]);
	}
	json_decref(json);
}

/* Read, or refused with a reason and nothing was written. */
static bool read_one(const json_t *json, struct status_ledger *ledger)
{
	struct status_ledger before;
	struct error error = { 0 };

	memset(ledger, 0x5a, sizeof(*ledger));
	memcpy(&before, ledger, sizeof(before));
	int r = status_ledger_read(json, ledger, &error);
	if (r == 0) {
		check_round_trip(ledger);
		return true;
	}
	assert(r == -EINVAL && error.code == r);
	assert(error.text[0] != '\0');
	assert(memcmp(ledger, &before, sizeof(before)) == 0);
	return false;
}

/* Forged or not, the audit ends with a verdict, and proves only what adds up. */
static void check_audit(const struct iso_audit_node *nodes, uint32_t count, int64_t budget_ucpu)
{
	const struct iso_audit_terms terms = { .budget_ucpu = budget_ucpu };
	struct iso_audit_result result;
	uint32_t index = UINT32_MAX;

	if (iso_audit_reread(nodes, count, &terms, &index) == ISO_OK)
		assert(index < count);
	iso_audit_run(nodes, count, &terms, &result);
	assert(result.proven == (result.findings == 0));
	for (uint32_t i = 0; i < result.findings && i < ISO_AUDIT_FINDINGS_MAX; i++)
		assert(iso_audit_text(result.finding[i].check)[0] != '\0');
	if (!result.proven)
		return;
	/* Wider than what the audit has, which so cannot hide a sum that wrapped. */
	__int128 owned = 0, endowments = 0, enforced = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct iso_record *record = &nodes[i].record;

		endowments += record->endowment_ucpu;
		enforced += nodes[i].enforced_ucpu;
		owned += nodes[i].holdings_ucpu;
		for (uint32_t k = 0; k < record->edge_count; k++)
			owned += (__int128)record->edges[k].sent - record->edges[k].received;
	}
	assert(index == UINT32_MAX);
	assert(endowments == budget_ucpu && owned == endowments && enforced <= endowments);
}

/* The file that isobarctl audit reads: one ledger, or here several of them in an array. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct status_ledger ledgers[4];
	struct iso_audit_node nodes[4];
	json_error_t why;
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);
	size_t parts = json_is_array(json) ? json_array_size(json) : 1;
	uint32_t count = 0;

	for (size_t i = 0; i < parts && i < 4; i++) {
		const json_t *part = json_is_array(json) ? json_array_get(json, i) : json;

		if (read_one(part, &ledgers[count])) {
			nodes[count] = ledgers[count].snapshot;
			count++;
		}
	}
	if (count > 0)
		check_audit(nodes, count, ledgers[0].snapshot.record.budget_ucpu);
	json_decref(json);
	return 0;
}

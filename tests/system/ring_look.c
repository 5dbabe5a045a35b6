/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a ring of agents looks like from outside: sockets, quotas and journals. */
#include "config.h"

#include "tests/system/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/control/control.h"
#include "tests/test.h"

#define PERIOD_US  100000
#define US_TO_UCPU (1000000 / PERIOD_US)

static json_t *ask(const struct ring *ring, unsigned index, const char *command)
{
	json_t *request = json_pack("{s:s}", "command", command), *reply = NULL;
	char path[DEMO_PATH_BYTES];

	path_join(path, ring->nodes[index].directory, "run/control");
	int r = control_call(path, request, 2000000000u, &reply, NULL);
	json_decref(request);
	return r == 0 ? reply : NULL;
}

json_t *ring_status(const struct ring *ring, unsigned index)
{
	return ask(ring, index, "status");
}

int64_t ring_number(const struct ring *ring, unsigned index, const char *key)
{
	json_t *status = ring_status(ring, index);
	json_t *value = json_object_get(status, key);
	int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	json_decref(status);
	return number;
}

int64_t ring_share(const struct ring *ring, unsigned index)
{
	return ring_number(ring, index, "share_ucpu");
}

bool ring_is(const struct ring *ring, unsigned index, const char *state)
{
	json_t *status = ring_status(ring, index);
	const char *text = json_string_value(json_object_get(status, "state"));
	bool is = text != NULL && strcmp(text, state) == 0;

	json_decref(status);
	return is;
}

int ring_up(const struct ring *ring, unsigned index)
{
	json_t *status = ring_status(ring, index), *neighbour;
	size_t i;
	int up = status != NULL ? 0 : -1;

	json_array_foreach(json_object_get(status, "neighbours"), i, neighbour) {
		const char *state = json_string_value(json_object_get(neighbour, "state"));

		up += state != NULL && strcmp(state, "up") == 0;
	}
	json_decref(status);
	return up;
}

void ring_wait_all_up(const struct ring *ring)
{
	uint64_t from_ns = clock_now_ns();

	for (unsigned i = 0; i < RING_NODES;) {
		if (ring_up(ring, i) == 2) {
			i++;
			continue;
		}
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			for (unsigned k = 0; k < RING_NODES; k++)
				ring_tell(ring, k);
			ck_abort_msg("node %u does not hear both neighbours", i);
		}
		stage_pause_ms(50);
	}
}

void ring_wait_number(const struct ring *ring, unsigned index, const char *key, int64_t least,
		      int64_t most)
{
	uint64_t from_ns = clock_now_ns();
	int64_t number;

	while ((number = ring_number(ring, index, key)) < least || number > most) {
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			for (unsigned k = 0; k < RING_NODES; k++) {
				printf("# n%u: %s %jd\n", k, key,
				       (intmax_t)ring_number(ring, k, key));
				ring_tell(ring, k);
			}
			ck_abort_msg("node %u: %s is %jd, not %jd to %jd", index, key,
				     (intmax_t)number, (intmax_t)least, (intmax_t)most);
		}
		stage_pause_ms(50);
	}
}

void ring_wait_share(const struct ring *ring, unsigned index, int64_t least_ucpu,
		     int64_t most_ucpu)
{
	ring_wait_number(ring, index, "share_ucpu", least_ucpu, most_ucpu);
}

static void quota_path(const struct ring *ring, unsigned index, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, ring->nodes[index].group,
		  ring->groups->version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
}

int64_t ring_quota_ucpu(const struct ring *ring, unsigned index)
{
	char path[DEMO_PATH_BYTES], text[64];

	quota_path(ring, index, path);
	ck_assert_int_eq(file_get(path, text, sizeof(text)), 0);
	long quota_us = strtol(text, NULL, 10);
	ck_assert_int_gt(quota_us, 0);
	return quota_us * US_TO_UCPU;
}

int64_t ring_quotas_ucpu(const struct ring *ring)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < RING_NODES; i++)
		sum += ring_quota_ucpu(ring, i);
	return sum;
}

void ring_wait_quotas(const struct ring *ring, int64_t least_ucpu)
{
	uint64_t from_ns = clock_now_ns();

	while (ring_quotas_ucpu(ring) < least_ucpu) {
		if (clock_now_ns() - from_ns > RING_PATIENCE_NS) {
			for (unsigned i = 0; i < RING_NODES; i++)
				ring_tell(ring, i);
			ck_abort_msg("the kernel enforces %jd ucpu in all, not %jd",
				     (intmax_t)ring_quotas_ucpu(ring), (intmax_t)least_ucpu);
		}
		stage_pause_ms(50);
	}
}

void ring_set_quota(const struct ring *ring, unsigned index, int64_t ucpu)
{
	char path[DEMO_PATH_BYTES], text[64];
	struct error error;

	quota_path(ring, index, path);
	snprintf(text, sizeof(text), ring->groups->version == 1 ? "%jd" : "%jd 100000",
		 (intmax_t)(ucpu / US_TO_UCPU));
	ck_assert_msg(file_put(path, text, &error) == 0, "%s", error.text);
}

void ring_journal_path(const struct ring *ring, unsigned index, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, ring->nodes[index].directory, "journal");
}

void ring_record(const struct ring *ring, unsigned index, struct iso_record *ret_record)
{
	uint8_t bytes[ISO_JOURNAL_BYTES];
	char path[DEMO_PATH_BYTES];
	enum iso_status status = ISO_E_DAMAGED;

	ring_journal_path(ring, index, path);
	/* One that is being written right now cannot be read. */
	for (unsigned tries = 0; tries < 200 && status != ISO_OK; tries++) {
		FILE *file = fopen(path, "re");

		ck_assert_ptr_nonnull(file);
		size_t size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		ck_assert_uint_eq(size, sizeof(bytes));
		status = iso_record_recover(bytes, ret_record);
		if (status != ISO_OK)
			stage_pause_ms(1);
	}
	ck_assert_msg(status == ISO_OK, "journal of node %u: %s", index, iso_status_text(status));
}

static const struct iso_record_edge *edge_to(const struct iso_record *record, uint64_t peer)
{
	for (uint32_t k = 0; k < record->edge_count; k++)
		if (record->edges[k].peer == peer)
			return &record->edges[k];
	return NULL; /* not opened yet: nothing was sent or received */
}

static void check_edge(const struct ring *ring, unsigned donor, unsigned receiver)
{
	struct iso_record from, to;

	ring_record(ring, receiver, &to);
	ring_record(ring, donor, &from);
	const struct iso_record_edge *sent = edge_to(&from, ring->nodes[receiver].id);
	const struct iso_record_edge *got = edge_to(&to, ring->nodes[donor].id);
	uint64_t received = got != NULL ? got->received : 0;
	ck_assert_msg(received <= (sent != NULL ? sent->sent : 0),
		      "n%u has credited %ju from n%u, which has sent %ju", receiver,
		      (uintmax_t)received, donor, (uintmax_t)(sent != NULL ? sent->sent : 0));
}

void ring_check_edges(const struct ring *ring)
{
	for (unsigned i = 0; i < RING_NODES; i++) {
		check_edge(ring, i, ring_right_of(i));
		check_edge(ring, ring_right_of(i), i);
	}
}

void ring_check_dead(const struct ring *ring, unsigned index)
{
	struct iso_record record;

	ring_record(ring, index, &record);
	int64_t quota = ring_quota_ucpu(ring, index), share = iso_record_holdings(&record);
	ck_assert_msg(quota <= share, "dead node %u: the kernel enforces %jd ucpu, it owns %jd",
		      index, (intmax_t)quota, (intmax_t)share);
}

int64_t ring_net_ucpu(const struct ring *ring, unsigned index, uint64_t peer)
{
	struct iso_record record;

	ring_record(ring, index, &record);
	const struct iso_record_edge *edge = edge_to(&record, peer);
	return edge != NULL ? (int64_t)(edge->received - edge->sent) : 0;
}

uint64_t ring_traded_ucpu(const struct ring *ring)
{
	struct iso_record record;
	uint64_t sum = 0;

	for (unsigned i = 0; i < RING_NODES; i++) {
		ring_record(ring, i, &record);
		for (uint32_t k = 0; k < record.edge_count; k++)
			sum += record.edges[k].sent;
	}
	return sum;
}

int ring_audit_status(struct ring *ring, json_t **ret_json)
{
	char program[DEMO_PATH_BYTES], command[8 * DEMO_PATH_BYTES];
	int n = snprintf(command, sizeof(command), "%s audit --json",
			 stage_build_path("agent/isobarctl", program));

	for (unsigned i = 0; i < RING_NODES; i++)
		n += snprintf(command + n, sizeof(command) - (size_t)n, " %s/run/control",
			      ring->nodes[i].directory);
	FILE *pipe = popen(command, "re");
	ck_assert_ptr_nonnull(pipe);
	json_t *json = json_loadf(pipe, 0, NULL);
	int status = pclose(pipe);
	if (ret_json != NULL)
		*ret_json = json;
	else
		json_decref(json);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ring_audit(struct ring *ring)
{
	json_t *json;
	int status = ring_audit_status(ring, &json);

	if (status != 0 && json != NULL)
		json_dumpf(json_object_get(json, "complaints"), stdout, JSON_ENCODE_ANY);
	fflush(stdout);
	ck_assert_int_eq(status, 0);
	ck_assert(json_is_true(json_object_get(json, "proven")));
	ck_assert_int_eq(json_integer_value(json_object_get(json, "shares_ucpu")) +
				 json_integer_value(json_object_get(json, "in_flight_ucpu")),
			 RING_BUDGET_UCPU);
	json_decref(json);
}

void ring_prove(struct ring *ring, unsigned busy)
{
	ring_wait_all_up(ring);
	ring_audit(ring);
	ring_wait_share(ring, busy, RING_BUDGET_UCPU * 6 / 10, RING_BUDGET_UCPU);
	ring_audit(ring);
	ring_check_edges(ring);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/control/control.h"
#include "agent/control/opjson.h"
#include "agent/control/status.h"
#include "tests/sim/members.h"

/*
 * A cluster in one process: nodes with the real ledger and a control socket
 * each, DIRECTORY/NAME/control, but without kernels, clocks and wires.
 *
 *     village DIRECTORY CLUSTER BUDGET-UCPU NAME... [- NAME...]
 *
 * Those before the dash begin with equal shares, in a ring; the others wait for
 * their admission.  A file DIRECTORY/NAME/cut keeps a node from its
 * neighbours, DIRECTORY/NAME/off has switched it off; who removes the
 * latter finds it as new.
 */

#define STEP_NS 5000000u

struct villager {
	struct village *village;
	uint32_t index;
	char name[CONF_NAME_BYTES], directory[300];
	struct control *control;
	bool off;
};

struct village {
	struct loop_source source; /* the timer; first */
	struct members members;
	char cluster[CONF_NAME_BYTES];
	uint32_t count;
	int64_t budget_ucpu;
	struct villager villagers[MEMBERS_MAX];
};

static json_t *ledger_json(const struct villager *villager)
{
	struct village *village = villager->village;
	const struct members_node *node = &village->members.nodes[villager->index];
	struct status_ledger ledger = {
		.cluster = village->cluster,
		.node = villager->name,
		.snapshot = {
			.record = node->durable,
			.holdings_ucpu = iso_record_holdings(&node->durable),
			.enforced_ucpu = node->enforced_ucpu,
			.floor_ucpu = node->floor_ucpu,
			.ceiling_ucpu = node->ceiling_ucpu,
		},
	};

	for (uint32_t k = 0; k < node->durable.edge_count; k++) {
		ledger.peers[k] =
		    village->villagers[members_index(node->durable.edges[k].peer)].name;
		ledger.limits_ucpu[k] = INT64_MAX;
	}
	return status_ledger_json(&ledger);
}

static json_t *on_ledger(void *context, const json_t *request)
{
	(void)request;
	return ledger_json(context);
}

static json_t *on_status(void *context, const json_t *request)
{
	struct villager *villager = context;
	struct members *members = &villager->village->members;
	const struct members_node *node = &members->nodes[villager->index];
	json_t *neighbours = json_array();

	(void)request;
	for (uint32_t k = 0; k < node->durable.edge_count; k++) {
		uint32_t peer = members_index(node->durable.edges[k].peer);
		bool up = members->nodes[peer].running && !members->nodes[peer].cut && !node->cut;

		(void)json_array_append_new(neighbours,
					    json_pack("{s:s, s:s}", "name",
						      villager->village->villagers[peer].name,
						      "state", up ? "up" : "down"));
	}
	return json_pack("{s:s, s:s, s:I, s:{s:b}, s:o}", "node", villager->name, "cluster",
			 villager->village->cluster, "share_ucpu",
			 (json_int_t)iso_record_holdings(&node->durable), "guard", "auto_burial", 1,
			 "neighbours", neighbours);
}

static json_t *answer(struct villager *villager, uint64_t id, enum iso_status status)
{
	const struct iso_record *record =
	    &villager->village->members.nodes[villager->index].durable;

	if (status == ISO_OK || (status == ISO_E_STALE && record->last_op == id))
		return json_pack("{s:b, s:b, s:I, s:I, s:o}", "ok", 1, "applied", 1, "last_op",
				 (json_int_t)record->last_op, "moved_ucpu",
				 (json_int_t)record->last_op_ucpu, "record", ledger_json(villager));
	if (status == ISO_E_BUSY)
		return json_pack("{s:b, s:b, s:s, s:i}", "ok", 0, "busy", 1, "error",
				 iso_status_text(status), "retry_ms", 20);
	if (status == ISO_E_STALE)
		return json_pack("{s:b, s:b, s:s, s:I}", "ok", 0, "stale", 1, "error",
				 iso_status_text(status), "last_op", (json_int_t)record->last_op);
	return control_refuse("%s", iso_status_text(status));
}

static json_t *on_op(void *context, const json_t *request)
{
	struct villager *villager = context;
	struct opjson_op op;
	struct error error;

	if (opjson_op_read(request, villager->village->cluster, &op, &error) < 0)
		return control_refuse("%s", error.text);
	return answer(villager, op.op.id,
		      members_tick(&villager->village->members, villager->index, &op.op));
}

static json_t *on_admit(void *context, const json_t *request)
{
	static struct opjson_admission admission;
	struct villager *villager = context;
	struct iso_ledger_peer peers[MEMBERS_MAX];
	struct error error;

	if (opjson_admission_read(request, &admission, &error) < 0)
		return control_refuse("%s", error.text);
	if (admission.neighbour_count > MEMBERS_MAX)
		return control_refuse("too many");
	for (uint32_t i = 0; i < admission.neighbour_count; i++)
		peers[i] = (struct iso_ledger_peer){
			conf_node_id(villager->village->cluster, admission.neighbours[i].name),
			admission.neighbours[i].gen,
		};
	const struct iso_ledger_admission wish = {
		.id = admission.id,
		.gen = admission.gen,
		.endowment_ucpu = admission.endowment_ucpu,
		.budget_ucpu = admission.budget_ucpu,
		.peers = peers,
		.peer_count = admission.neighbour_count,
	};
	return answer(villager, wish.id,
		      members_admit(&villager->village->members, villager->index, &wish));
}

static bool has_file(const struct villager *villager, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", villager->directory, name);
	return access(path, F_OK) == 0;
}

static void settle(struct villager *villager, uint32_t gen, int64_t share_ucpu)
{
	struct village *village = villager->village;
	struct members_node *node = &village->members.nodes[villager->index];

	members_add(&village->members, villager->index, gen, share_ucpu, village->budget_ucpu);
	node->floor_ucpu = 20000;
	node->ceiling_ucpu = 16000000;
}

static void on_timer(struct loop_source *source, short revents)
{
	struct village *village = (struct village *)source;

	(void)revents;
	if (!timer_consume(source->fd))
		return;
	for (uint32_t i = 0; i < village->count; i++) {
		struct villager *villager = &village->villagers[i];
		struct members_node *node = &village->members.nodes[i];
		bool off = has_file(villager, "off");

		node->cut = has_file(villager, "cut");
		if (off && !villager->off) {
			members_kill(&village->members, i);
			node->enforced_ucpu = 0;
		}
		if (!off && villager->off) {
			settle(villager, 0, 0);
			members_start(&village->members, i);
		}
		villager->off = off;
	}
	members_step(&village->members);
	(void)timer_arm(source->fd, clock_now_ns() + STEP_NS);
}

static void found(struct village *village, int argc, char **argv)
{
	uint32_t founders = 0;

	for (int i = 4; i < argc && strcmp(argv[i], "-") != 0; i++)
		founders++;
	for (int i = 4; i < argc && village->count < MEMBERS_MAX; i++) {
		struct villager *villager = &village->villagers[village->count];

		if (strcmp(argv[i], "-") == 0)
			continue;
		villager->village = village;
		villager->index = village->count++;
		snprintf(villager->name, sizeof(villager->name), "%s", argv[i]);
		snprintf(villager->directory, sizeof(villager->directory), "%s/%s", argv[1],
			 argv[i]);
		(void)mkdir(villager->directory, 0700);
		members_ids[villager->index] = conf_node_id(village->cluster, argv[i]);
	}
	for (uint32_t i = 0; i < village->count; i++) {
		int64_t share = village->budget_ucpu / founders;

		settle(&village->villagers[i], i < founders ? 1 : 0, i < founders ? share : 0);
	}
	for (uint32_t i = 0; i < founders && founders > 1; i++)
		if (founders > 2 || i == 0)
			members_edge(&village->members, i, (i + 1) % founders);
	for (uint32_t i = 0; i < village->count; i++)
		members_start(&village->members, i);
}

static bool open_all(struct village *village, struct loop *loop)
{
	static const struct control_command commands[] = {
		{ .name = "ledger", .fn = on_ledger },
		{ .name = "status", .fn = on_status },
		{ .name = "op", .changes_state = true, .fn = on_op },
		{ .name = "admit", .changes_state = true, .fn = on_admit },
	};
	struct error error;

	for (uint32_t i = 0; i < village->count; i++) {
		const struct control_config config = {
			.directory = village->villagers[i].directory,
			.commands = commands,
			.command_count = sizeof(commands) / sizeof(commands[0]),
			.context = &village->villagers[i],
		};

		if (control_open(&config, loop, &village->villagers[i].control, &error) == 0)
			continue;
		fprintf(stderr, "village: %s\n", error.text);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct village village;
	static struct loop loop;

	if (argc < 5)
		return EXIT_FAILURE;
	snprintf(village.cluster, sizeof(village.cluster), "%s", argv[2]);
	village.budget_ucpu = strtoll(argv[3], NULL, 10);
	members_init(&village.members, 1);
	village.members.cluster = conf_cluster_id(village.cluster);
	village.members.trades = 1;
	found(&village, argc, argv);
	if (!open_all(&village, &loop))
		return EXIT_FAILURE;
	village.source = (struct loop_source){ .fd = timer_open(), .events = 1, .fn = on_timer };
	if (village.source.fd < 0 || loop_add(&loop, &village.source) < 0 ||
	    timer_arm(village.source.fd, clock_now_ns() + STEP_NS) < 0)
		return EXIT_FAILURE;
	return loop_run(&loop) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

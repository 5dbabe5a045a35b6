/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/admin/entry.h"
#include "agent/admin/registry_file.h"
#include "agent/ctl/desk.h"
#include "agent/ctl/desk_text.h"
#include "lib/ledger/audit.h"

/*
 * A registry begins with what the nodes say themselves, once their ledgers
 * prove the sum: from then on it is the registry that says what the budget is.
 */

#define NODES_MAX    ISO_REGISTRY_MEMBERS_MAX
#define REREADS_MAX  200u
#define REREAD_PAUSE 10000000 /* ns */

struct creation {
	const struct cluster_conf_node *nodes[NODES_MAX];
	struct iso_audit_node snapshots[NODES_MAX];
	uint32_t count;
	uint64_t last_op; /* the newest that any node has applied */
	struct iso_registry_entry entries[3 + NODES_MAX + ISO_REGISTRY_EDGES_MAX];
	uint32_t entry_count;
};

static int take(struct desk *desk, const struct cluster_conf_node *node,
		struct iso_audit_node *ret_snapshot)
{
	struct status_ledger ledger;
	struct error error;
	json_t *json;

	if (office_ledger(desk->office, node, &json, &ledger, &error) < 0)
		return desk_fail(desk,
				 "node %s: %s\nevery node must answer once: a registry that "
				 "lacked one could not prove the sum",
				 node->name, error.text);
	json_decref(json);
	*ret_snapshot = ledger.snapshot;
	if (ret_snapshot->enforced_ucpu == STATUS_UNKNOWN)
		ret_snapshot->enforced_ucpu = 0;
	return CTL_DONE;
}

static int collect(struct desk *desk, struct creation *creation)
{
	const struct cluster_conf *conf = office_conf(desk->office);

	for (unsigned i = 0; i < conf->node_count; i++) {
		struct iso_audit_node *snapshot = &creation->snapshots[creation->count];
		const struct iso_record *record = &snapshot->record;

		desk_say(desk, "asking %s", conf->nodes[i].name);
		if (take(desk, &conf->nodes[i], snapshot) != CTL_DONE)
			return CTL_FAILED;
		if (record->gen == 0) {
			desk_say(desk, "%s is not admitted yet: isobarctl join %s comes later",
				 conf->nodes[i].name, conf->nodes[i].name);
			continue;
		}
		if (record->last_op > creation->last_op)
			creation->last_op = record->last_op;
		creation->nodes[creation->count++] = &conf->nodes[i];
	}
	return creation->count > 0 ? CTL_DONE : desk_fail(desk, "no node is admitted");
}

/* A donor that was read before its receiver is read again, until it is one instant. */
static int repair_cut(struct desk *desk, struct creation *creation)
{
	const struct timespec pause = { .tv_nsec = REREAD_PAUSE };
	const struct iso_audit_terms terms = { 0 };
	uint32_t index;

	for (unsigned i = 0; i < REREADS_MAX; i++) {
		if (iso_audit_reread(creation->snapshots, creation->count, &terms, &index) !=
		    ISO_OK)
			return CTL_DONE;
		nanosleep(&pause, NULL);
		if (take(desk, creation->nodes[index], &creation->snapshots[index]) != CTL_DONE)
			return CTL_FAILED;
	}
	return CTL_DONE;
}

static const char *name_of(const struct creation *creation, uint64_t id)
{
	for (uint32_t i = 0; i < creation->count; i++)
		if (creation->nodes[i]->id == id)
			return creation->nodes[i]->name;
	return "one that is not in the configuration";
}

static int prove(struct desk *desk, struct creation *creation)
{
	static struct iso_audit_result result;
	struct iso_audit_terms terms = { 0 };
	char text[900] = "";

	for (uint32_t i = 0; i < creation->count; i++)
		if (creation->snapshots[i].record.budget_ucpu > terms.budget_ucpu)
			terms.budget_ucpu = creation->snapshots[i].record.budget_ucpu;
	iso_audit_run(creation->snapshots, creation->count, &terms, &result);
	if (result.proven)
		return CTL_DONE;
	for (uint32_t i = 0; i < result.findings && i < 6; i++) {
		const struct iso_audit_finding *finding = &result.finding[i];
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, "\n  %s %s%s%s",
			 finding->node != 0 ? name_of(creation, finding->node) : "the sum:",
			 iso_audit_text(finding->check), finding->peer != 0 ? ": " : "",
			 finding->peer != 0 ? name_of(creation, finding->peer) : "");
	}
	return desk_fail(desk,
			 "the ledgers do not prove the sum, so there is nothing to begin "
			 "with:%s",
			 text);
}

static struct iso_registry_entry *add(struct creation *creation, enum iso_registry_kind kind)
{
	struct iso_registry_entry *entry = &creation->entries[creation->entry_count++];

	*entry = (struct iso_registry_entry){ .kind = kind, .seq = creation->entry_count };
	return entry;
}

static void add_member(struct desk *desk, struct creation *creation, uint32_t index)
{
	const struct iso_audit_node *snapshot = &creation->snapshots[index];
	struct iso_registry_entry *entry = add(creation, ISO_REGISTRY_MEMBER);

	entry->node = snapshot->record.node;
	entry->gen = snapshot->record.gen;
	entry->amount_ucpu = snapshot->record.endowment_ucpu;
	entry->budget_ucpu = snapshot->record.budget_ucpu;
	entry->floor_ucpu = snapshot->floor_ucpu;
	entry->op = snapshot->record.last_op;
	if (office_guarded(desk->office, creation->nodes[index]))
		entry->flags = ISO_REGISTRY_GUARDED;
	snprintf(entry->name, sizeof(entry->name), "%.63s", creation->nodes[index]->name);
}

static bool is_new_edge(const struct creation *creation, uint64_t a, uint64_t b)
{
	for (uint32_t i = 0; i < creation->entry_count; i++) {
		const struct iso_registry_entry *entry = &creation->entries[i];

		if (entry->kind == ISO_REGISTRY_EDGE && ((entry->node == a && entry->peer == b) ||
							 (entry->node == b && entry->peer == a)))
			return false;
	}
	return true;
}

static int add_edges(struct desk *desk, struct creation *creation, uint32_t index)
{
	const struct iso_record *record = &creation->snapshots[index].record;

	for (uint32_t k = 0; k < record->edge_count; k++) {
		const struct iso_record_edge *edge = &record->edges[k];

		if (edge->flags == ISO_EDGE_STATE_FOLDED ||
		    !is_new_edge(creation, record->node, edge->peer))
			continue;
		if (edge->flags != 0)
			return desk_fail(desk,
					 "%s is in the middle of a burial or departure of a "
					 "neighbour; finish that with the registry that began it",
					 creation->nodes[index]->name);
		if (strncmp(name_of(creation, edge->peer), "one that", 8) == 0)
			return desk_fail(desk,
					 "%s has an edge to a node that is not in the "
					 "configuration: add it",
					 creation->nodes[index]->name);
		if (creation->entry_count + 1 >=
		    sizeof(creation->entries) / sizeof(creation->entries[0]))
			return desk_fail(desk, "too many edges");
		struct iso_registry_entry *entry = add(creation, ISO_REGISTRY_EDGE);
		entry->node = record->node;
		entry->peer = edge->peer;
	}
	return CTL_DONE;
}

static int fill(struct desk *desk, struct creation *creation)
{
	struct iso_registry_entry *first = add(creation, ISO_REGISTRY_CREATE);

	first->node = conf_cluster_id(office_conf(desk->office)->cluster);
	first->op = creation->last_op + 1;
	for (uint32_t i = 0; i < creation->count; i++) {
		if (creation->snapshots[i].record.budget_ucpu > first->amount_ucpu)
			first->amount_ucpu = creation->snapshots[i].record.budget_ucpu;
		add_member(desk, creation, i);
	}
	for (uint32_t i = 0; i < creation->count; i++)
		if (add_edges(desk, creation, i) != CTL_DONE)
			return CTL_FAILED;
	(void)add(creation, ISO_REGISTRY_READY);
	return CTL_DONE;
}

static int make(struct desk *desk, struct creation *creation)
{
	struct error error;

	if (collect(desk, creation) != CTL_DONE || repair_cut(desk, creation) != CTL_DONE ||
	    prove(desk, creation) != CTL_DONE)
		return CTL_FAILED;
	if (creation->last_op > 0 &&
	    !desk_confirm(desk,
			  "the nodes have an administrator already: they have applied operations "
			  "of another registry.  Two registries at once break each other's "
			  "books.  Go on only if that one is lost for good.",
			  NULL))
		return CTL_FAILED;
	if (fill(desk, creation) != CTL_DONE)
		return CTL_FAILED;
	if (registry_file_create(office_conf(desk->office)->registry, NULL, creation->entries,
				 creation->entry_count, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	desk_say(desk, "the ledgers prove the sum; the registry is made");
	/* Each node hears of it, so that its configuration adds no edges any more. */
	int r = desk_open(desk, false);
	return r == CTL_DONE ? desk_go_on(desk, DRIVE_ALL) : r;
}

static int create(struct desk *desk)
{
	struct creation *creation;
	char path[512];
	int r;

	snprintf(path, sizeof(path), "%s/" REGISTRY_FILE_NAME, office_conf(desk->office)->registry);
	if (access(path, F_OK) == 0)
		return desk_fail(desk, "there is a registry '%s' already; it is never replaced",
				 path);
	creation = calloc(1, sizeof(*creation));
	if (creation == NULL)
		return desk_fail(desk, "out of memory");
	r = make(desk, creation);
	free(creation);
	return r;
}

static void print_members(struct desk *desk)
{
	char endowment[32], floor[32], reserved[32];

	printf("%-16s %-10s %4s %18s %14s %14s\n", "NODE", "STATE", "GEN", "ENDOWMENT", "FLOOR",
	       "RESERVED");
	for (uint32_t i = 0; i < desk->registry->member_count; i++) {
		const struct iso_registry_member *member = &desk->registry->members[i];

		printf("%-16s %-10s %4u %18s %14s %14s\n", member->name, desk_text_state(member),
		       member->gen, desk_cpu(member->endowment_ucpu, endowment),
		       desk_cpu(member->floor_ucpu, floor),
		       desk_cpu(member->reserved_ucpu, reserved));
	}
}

static void print_edges(const struct iso_registry *registry)
{
	fputs("\nedges:", stdout);
	for (uint32_t k = 0; k < registry->edge_count; k++) {
		const struct iso_registry_end *end = registry->edges[k].end;
		bool open =
		    end[0].state == ISO_REGISTRY_OPENED && end[1].state == ISO_REGISTRY_OPENED;

		printf(" %s-%s%s", registry->members[end[0].member].name,
		       registry->members[end[1].member].name, open ? "" : "*");
	}
	putchar('\n');
}

static void print_under_way(const struct iso_registry *registry)
{
	for (uint32_t i = 0; i < registry->procedure_count; i++) {
		const struct iso_registry_procedure *procedure = &registry->procedures[i];

		printf("under way: %s", entry_procedure_name(procedure->kind));
		for (uint32_t k = 0; k < registry->member_count; k++)
			if (iso_registry_has(&procedure->nodes, k))
				printf(" %s", registry->members[k].name);
		putchar('\n');
	}
	for (uint32_t i = 0; i < registry->op_count; i++)
		printf("not answered yet: operation %" PRIu64 ", %s at %s\n", registry->ops[i].id,
		       entry_op_name(registry->ops[i].kind),
		       registry->members[registry->ops[i].member].name);
	if (registry->procedure_count + registry->op_count > 0)
		puts("isobarctl resume goes on with it");
}

static int show(struct desk *desk)
{
	char budget[32], target[32];
	int r = desk_open(desk, true);

	if (r != CTL_DONE)
		return r;
	if (desk->ctl->json) {
		desk_report(desk, true, NULL);
		return CTL_DONE;
	}
	printf("cluster %s, budget in force %s, wanted %s, %" PRIu64 " entries\n\n",
	       office_conf(desk->office)->cluster, desk_cpu(desk->registry->budget_ucpu, budget),
	       desk_cpu(desk->registry->target_ucpu, target), desk->registry->seq);
	print_members(desk);
	print_edges(desk->registry);
	print_under_way(desk->registry);
	return CTL_DONE;
}

int ctl_registry(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;

	if (argc != 1 || (strcmp(argv[0], "create") != 0 && strcmp(argv[0], "show") != 0)) {
		fputs("isobarctl: registry create, or registry show\n", stderr);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE && strcmp(argv[0], "show") == 0) {
		r = show(&desk);
	} else if (r == CTL_DONE) {
		r = create(&desk);
		if (r == CTL_DONE && ctl->json)
			desk_report(&desk, true, NULL);
	}
	desk_end(&desk);
	return r;
}

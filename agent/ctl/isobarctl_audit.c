/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/conf/confutil.h"
#include "agent/control/control.h"
#include "agent/control/printable.h"
#include "agent/control/status.h"
#include "agent/ctl/audit.h"
#include "agent/ctl/desk.h"
#include "agent/ctl/isobarctl.h"
#include "lib/ledger/audit.h"

/*
 * Collects ledgers from running nodes and from files, reads a donor again
 * while a receiver has credited more than its snapshot says it sent, and then
 * adds up.  lib/ledger/audit.h says why that is a proof.
 */

#define PATIENCE_NS  5000000000u
#define REREADS_MAX  200
#define MOVES_MAX    5
#define REREAD_PAUSE 10000000 /* ns */

static int read_file(const char *path, json_t **ret_json, struct error *reterr)
{
	char *text;
	json_error_t why;
	int r = confutil_read_file(path, &text, reterr);

	if (r < 0)
		return r;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	free(text);
	if (json == NULL)
		return error_set(reterr, -EINVAL, "'%s' line %d: %s", path, why.line, why.text);
	*ret_json = json;
	return 0;
}

static int read_socket(const char *path, json_t **ret_json, struct error *reterr)
{
	json_t *request = json_pack("{s:s}", "command", "ledger");
	int r = control_call(path, request, PATIENCE_NS, ret_json, reterr);

	json_decref(request);
	return r;
}

static int read_network(const struct source *source, json_t **ret_json, struct error *reterr)
{
	struct status_ledger ledger;

	return office_ledger(source->office, source->node, ret_json, &ledger, reterr);
}

static int read_source(const struct source *source, json_t **ret_json, struct error *reterr)
{
	if (source->node != NULL)
		return read_network(source, ret_json, reterr);
	return source->path[0] != '\0' ? read_socket(source->path, ret_json, reterr)
				       : read_file(source->name, ret_json, reterr);
}

/* One snapshot, fresh if it is from a socket.  The source keeps the JSON that it points into. */
static int take(struct source *source, struct error *reterr)
{
	struct status_ledger ledger;
	json_t *json = NULL;
	int r = read_source(source, &json, reterr);

	if (r < 0)
		return r;
	const char *refusal = printable(json_object_get(json, "error"));
	if (refusal != NULL)
		r = error_set(reterr, -EINVAL, "%s", refusal);
	if (r == 0)
		r = status_ledger_read(json, &ledger, reterr);
	if (r < 0) {
		error_wrap(reterr, "'%s'", source->name);
		json_decref(json);
		return r;
	}
	json_decref(source->json);
	source->json = json;
	source->ledger = ledger;
	return 0;
}

/* SOCKET, FILE or INSTANCE: what is there decides. */
static int resolve(const struct ctl *ctl, const char *argument, struct source *source,
		   struct error *reterr)
{
	struct stat st;

	source->name = argument;
	source->path[0] = '\0';
	if (stat(argument, &st) == 0 && !S_ISDIR(st.st_mode)) {
		if (!S_ISSOCK(st.st_mode))
			return 0;
		if (strlen(argument) >= sizeof(source->path))
			return error_errno(reterr, -ENAMETOOLONG, "'%s'", argument);
		memcpy(source->path, argument, strlen(argument) + 1);
		return 0;
	}
	if (strchr(argument, '/') != NULL)
		return error_errno(reterr, -ENOENT, "'%s'", argument);
	if (!ctl_path(ctl, argument, source->path))
		return error_errno(reterr, -ENAMETOOLONG, "'%s'", argument);
	return 0;
}

static int add(struct audit *audit, const struct ctl *ctl, const char *argument)
{
	struct source *source = &audit->sources[audit->count];
	struct error error;

	if (audit->count == NODES_MAX) {
		fprintf(stderr, "isobarctl: more than %d ledgers\n", NODES_MAX);
		return CTL_FAILED;
	}
	if (resolve(ctl, argument, source, &error) < 0 || take(source, &error) < 0) {
		fprintf(stderr, "isobarctl: %s\n", error.text);
		return CTL_FAILED;
	}
	audit->count++;
	return CTL_DONE;
}

static int collect(struct audit *audit, const struct ctl *ctl, int argc, char **argv)
{
	static struct ctl_instances instances;
	char path[CONTROL_PATH_BYTES];

	for (int i = 0; i < argc; i++)
		if (add(audit, ctl, argv[i]) != CTL_DONE)
			return CTL_FAILED;
	if (argc > 0)
		return CTL_DONE;
	if (ctl->socket != NULL || ctl->instance != NULL) {
		int r = ctl_socket(ctl, path);

		return r == CTL_DONE ? add(audit, ctl, path) : r;
	}
	ctl_instances(ctl, &instances);
	for (unsigned i = 0; i < instances.count; i++)
		if (add(audit, ctl, instances.names[i]) != CTL_DONE)
			return CTL_FAILED;
	/* Says that there is none. */
	return audit->count > 0 ? CTL_DONE : ctl_socket(ctl, path);
}

static void fill_node(struct audit *audit, unsigned index)
{
	struct iso_audit_node *node = &audit->nodes[index];

	*node = audit->sources[index].ledger.snapshot;
	if (node->enforced_ucpu == STATUS_UNKNOWN)
		node->enforced_ucpu = 0;
	if (node->enforced_ucpu > NO_LIMIT_UCPU)
		node->enforced_ucpu = NO_LIMIT_UCPU;
}

/* Until the snapshots are one instant of the cluster, or it does not help any more. */
static int repair_cut(struct audit *audit)
{
	const struct timespec pause = { .tv_nsec = REREAD_PAUSE };
	struct error error;
	uint32_t index;

	for (unsigned i = 0; i < audit->count; i++)
		fill_node(audit, i);
	while (audit->rereads < REREADS_MAX &&
	       iso_audit_reread(audit->nodes, audit->count, &audit->terms, &index) == ISO_OK) {
		if (audit->sources[index].path[0] == '\0' && audit->sources[index].node == NULL)
			return CTL_DONE;
		if (audit->rereads++ > 0)
			nanosleep(&pause, NULL);
		if (take(&audit->sources[index], &error) < 0) {
			fprintf(stderr, "isobarctl: %s\n", error.text);
			return CTL_FAILED;
		}
		fill_node(audit, index);
	}
	return CTL_DONE;
}

/* Who is told of budgets: not one that waits for its admission, or has left. */
static bool has_budget(const struct source *source)
{
	const struct iso_record *record = &source->ledger.snapshot.record;

	return record->gen != 0 && record->halt != ISO_HALT_LEFT;
}

/* Without a registry the nodes must agree on the budget, and nothing be under way. */
static void take_budget(struct audit *audit)
{
	const struct source *first = audit->sources;
	const struct source *end = audit->sources + audit->count;

	while (first + 1 < end && !has_budget(first))
		first++;
	audit->budget_ucpu = first->ledger.snapshot.record.budget_ucpu;
	for (unsigned i = 0; i < audit->count; i++) {
		const struct status_ledger *ledger = &audit->sources[i].ledger;
		int64_t budget_ucpu = ledger->snapshot.record.budget_ucpu;

		if (has_budget(&audit->sources[i]) && budget_ucpu != audit->budget_ucpu)
			audit_complain(audit, "%s has a budget of %.6f CPU, %s one of %.6f",
				       ledger->node, (double)budget_ucpu / 1e6, first->ledger.node,
				       (double)audit->budget_ucpu / 1e6);
	}
	audit->terms = (struct iso_audit_terms){ .budget_ucpu = audit->budget_ucpu };
}

static void reset(struct audit *audit)
{
	for (unsigned i = 0; i < audit->count; i++)
		json_decref(audit->sources[i].json);
	json_decref(audit->complaints);
	*audit = (struct audit){ .complaints = json_array() };
}

/* The snapshot of a live member, if it is of the life that the registry means. */
static void add_member(struct audit *audit, struct desk *desk, uint32_t index)
{
	const struct iso_registry_member *member = &desk->registry->members[index];
	struct source *source = &audit->sources[audit->count];
	struct error error;

	*source = (struct source){
		.name = member->name,
		.node = cluster_conf_find(office_conf(desk->office), member->id),
		.office = desk->office,
		.is_registered = true,
		.registered_ucpu = member->endowment_ucpu,
	};
	if (source->node == NULL) {
		audit_complain(audit, "%s is not in the configuration", member->name);
		return;
	}
	if (take(source, &error) < 0) {
		audit_complain(audit, "%s does not answer: %s", member->name, error.text);
		return;
	}
	/* One whose admission is under way is of its last life; what it gets is pending. */
	if (source->ledger.snapshot.record.gen == member->gen) {
		audit->count++;
		return;
	}
	if (member->admitted)
		audit_complain(audit,
			       "%s lives as generation %" PRIu32 ", the registry says %" PRIu32,
			       member->name, source->ledger.snapshot.record.gen, member->gen);
	json_decref(source->json);
	source->json = NULL;
}

static const struct iso_record *record_of(const struct audit *audit, uint64_t node, uint32_t gen)
{
	for (unsigned i = 0; i < audit->count; i++) {
		const struct iso_record *record = &audit->sources[i].ledger.snapshot.record;

		if (record->node == node && record->gen == gen)
			return record;
	}
	return NULL;
}

/* What the registry knows and the snapshots do not: what is under way, and who has ended. */
static void fill_terms(struct audit *audit, const struct iso_registry *registry)
{
	struct iso_audit_terms *terms = &audit->terms;

	audit->budget_ucpu = registry->budget_ucpu;
	*terms = (struct iso_audit_terms){
		.budget_ucpu = registry->budget_ucpu,
		.minting_ucpu = registry->pool_ucpu,
		.voids = audit->voids,
	};
	for (uint32_t i = 0; i < registry->procedure_count; i++)
		terms->minting_ucpu += registry->procedures[i].held_ucpu;
	for (uint32_t i = 0; i < registry->op_count; i++) {
		const struct iso_registry_op *op = &registry->ops[i];
		const struct iso_record *record =
		    record_of(audit, registry->members[op->member].id, op->gen);
		bool applied = record != NULL && record->last_op >= op->id;

		if ((op->kind == ISO_OP_MINT || op->kind == ISO_REGISTRY_ADMIT) && !applied)
			terms->minting_ucpu += op->amount_ucpu;
		if (op->kind == ISO_OP_BURN && applied)
			terms->burning_ucpu += record->last_op_ucpu;
	}
	for (uint32_t i = 0; i < registry->member_count; i++) {
		const struct iso_registry_member *member = &registry->members[i];

		if (member->state == ISO_REGISTRY_LIVE || member->gen == 0)
			continue;
		audit->voids[terms->void_count++] = (struct iso_audit_void){
			.node = member->id,
			.gen = member->gen,
			.reserved_ucpu = member->reserved_ucpu,
		};
	}
}

/* Reads the registry and every node; *ret_seq: how far the registry was. */
static int collect_network(struct audit *audit, const struct ctl *ctl, struct desk *desk,
			   uint64_t *ret_seq)
{
	int r = desk_begin(desk, ctl);

	if (r == CTL_DONE)
		r = desk_open(desk, true);
	if (r != CTL_DONE)
		return r;
	for (uint32_t i = 0; i < desk->registry->member_count; i++)
		if (desk->registry->members[i].state == ISO_REGISTRY_LIVE)
			add_member(audit, desk, i);
	if (audit->count == 0)
		return desk_fail(desk, "no node answers");
	fill_terms(audit, desk->registry);
	r = repair_cut(audit);
	fill_terms(audit, desk->registry);
	*ret_seq = desk->registry->seq;
	return r;
}

/* The registry must not have moved meanwhile: what is pending would be another thing. */
static int audit_network(struct audit *audit, const struct ctl *ctl)
{
	struct desk desk, again;
	uint64_t seq = 0;
	int r;

	for (int tries = 0;; tries++) {
		r = collect_network(audit, ctl, &desk, &seq);
		if (r != CTL_DONE)
			break;
		r = desk_begin(&again, ctl);
		if (r == CTL_DONE)
			r = desk_open(&again, true);
		bool same = r == CTL_DONE && again.registry->seq == seq;
		desk_end(&again);
		if (r != CTL_DONE || same)
			break;
		if (tries == MOVES_MAX) {
			audit_complain(audit, "the registry keeps moving; audit again when nothing "
					      "is under way");
			break;
		}
		reset(audit);
		desk_end(&desk);
	}
	if (r == CTL_DONE)
		r = audit_finish(audit, ctl);
	desk_end(&desk);
	return r;
}

int ctl_audit(const struct ctl *ctl, int argc, char **argv)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	int r;

	if (audit == NULL) {
		fputs("isobarctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	audit->complaints = json_array();
	if (ctl->cluster != NULL && argc > 0) {
		fputs("isobarctl: audit of a cluster takes no ledgers beside it\n", stderr);
		r = CTL_USAGE;
	} else if (ctl->cluster != NULL) {
		r = audit_network(audit, ctl);
	} else {
		r = collect(audit, ctl, argc, argv);
		if (r == CTL_DONE)
			r = repair_cut(audit);
		if (r == CTL_DONE) {
			take_budget(audit);
			r = audit_finish(audit, ctl);
		}
	}
	reset(audit);
	json_decref(audit->complaints);
	free(audit);
	return r;
}

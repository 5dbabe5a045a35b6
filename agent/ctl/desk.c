/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/desk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/admin/entry.h"
#include "agent/ctl/desk_text.h"
#include "lib/quantity.h"

#define DEFAULT_TIMEOUT_NS 60000000000u

static void on_entry(void *context, const struct iso_registry *registry,
		     const struct iso_registry_entry *entry)
{
	char text[300];

	if (desk_text_entry(registry, entry, text, sizeof(text)))
		desk_say(context, "%s", text);
}

static void on_waiting(void *context, const struct iso_registry *registry,
		       const struct iso_registry_op *op, const char *why)
{
	desk_say(context, "waiting for %s (%s): %s", registry->members[op->member].name,
		 entry_op_name(op->kind), why);
}

/* {"event": TEXT} or {"error": TEXT}, on a line of its own. */
static void stream(const char *key, const char *text)
{
	json_t *json = json_string(text), *line;

	line = json_pack("{s:o}", key, json != NULL ? json : json_string("(unprintable)"));
	json_dumpf(line, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void say(struct desk *desk, const char *format, va_list ap)
{
	char text[700];

	vsnprintf(text, sizeof(text), format, ap);
	if (!desk->ctl->json) {
		puts(text);
		fflush(stdout);
		return;
	}
	if (desk->ctl->stream) {
		stream("event", text);
		return;
	}
	json_t *json = json_string(text);
	(void)json_array_append_new(desk->events,
				    json != NULL ? json : json_string("(unprintable)"));
}

void desk_say(struct desk *desk, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(desk, format, ap);
	va_end(ap);
}

int desk_fail(struct desk *desk, const char *format, ...)
{
	char text[1500];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (desk->ctl->json && desk->ctl->stream)
		stream("error", text);
	else if (desk->ctl->json)
		desk_report(desk, false, text);
	else
		fprintf(stderr, "isobarctl: %s\n", text);
	return CTL_FAILED;
}

const char *desk_name(const struct desk *desk, uint64_t id)
{
	uint32_t member = iso_registry_find(desk->registry, id);
	const struct cluster_conf_node *node = cluster_conf_find(office_conf(desk->office), id);

	if (member != ISO_REGISTRY_NOBODY)
		return desk->registry->members[member].name;
	return node != NULL ? node->name : "(unknown)";
}

const char *desk_cpu(int64_t ucpu, char buffer[32])
{
	char text[ISO_QUANTITY_BYTES];

	if (ucpu < 0) {
		snprintf(buffer, 32, "%.6f CPU", (double)ucpu / 1e6);
		return buffer;
	}
	snprintf(text, sizeof(text), "%" PRId64 ".%06" PRId64, ucpu / 1000000, ucpu % 1000000);
	for (size_t n = strlen(text); text[n - 1] == '0' || text[n - 1] == '.'; n--) {
		bool point = text[n - 1] == '.';

		text[n - 1] = '\0';
		if (point)
			break;
	}
	snprintf(buffer, 32, "%.22s CPU", text);
	return buffer;
}

int desk_begin(struct desk *desk, const struct ctl *ctl)
{
	const struct office_listener listener = { on_entry, on_waiting, desk };
	struct error error;

	*desk = (struct desk){ .ctl = ctl, .events = json_array() };
	if (office_new(ctl_cluster_file(ctl), &listener, &desk->office, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	desk->registry = office_registry(desk->office);
	desk->drive = office_drive(desk->office);
	return CTL_DONE;
}

void desk_end(struct desk *desk)
{
	desk->office = office_free(desk->office);
	json_decref(desk->events);
	desk->events = NULL;
}

/* Who does not answer, or not as the registry expects: before anything is decided. */
static void say_silent(struct desk *desk)
{
	for (uint32_t i = 0; i < desk->registry->member_count; i++) {
		const struct drive_node *node = &desk->drive->nodes[i];
		const struct iso_registry_member *member = &desk->registry->members[i];

		if (member->state != ISO_REGISTRY_LIVE)
			continue;
		if (!node->answers)
			desk_say(desk, "%s does not answer: %s", member->name, node->why);
		else if (node->disagrees)
			desk_say(desk, "%s is not the one that the registry knows: %s",
				 member->name, node->why);
		else if (member->halted)
			desk_say(desk, "%s has stopped trading; see its status", member->name);
	}
}

static int open_registry(struct desk *desk, bool read_only)
{
	struct error error;

	if (office_open(desk->office, read_only, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	if (office_torn(desk->office))
		desk_say(desk, "the registry's last line was half written, and never acted on: "
			       "dropped");
	return CTL_DONE;
}

int desk_open_quietly(struct desk *desk)
{
	struct error error;
	int r = open_registry(desk, false);

	if (r != CTL_DONE)
		return r;
	if (drive_look(desk->drive, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	desk->fresh = true;
	return CTL_DONE;
}

int desk_open(struct desk *desk, bool read_only)
{
	/* To look at nodes may have to be written down. */
	if (read_only)
		return open_registry(desk, true);
	int r = desk_open_quietly(desk);
	if (r == CTL_DONE)
		say_silent(desk);
	return r;
}

uint32_t desk_member(struct desk *desk, const char *name)
{
	uint32_t member = iso_registry_find_name(desk->registry, name);
	char names[512] = "";

	if (member != ISO_REGISTRY_NOBODY)
		return member;
	for (uint32_t i = 0; i < desk->registry->member_count; i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, " %s", desk->registry->members[i].name);
	}
	(void)desk_fail(desk, "no node '%s' in the registry; there are:%s", name, names);
	return ISO_REGISTRY_NOBODY;
}

int desk_refuse(struct desk *desk, const struct iso_registry_reason *reason)
{
	char text[900], cpu[32];

	desk_text_refusal(reason, desk_name(desk, reason->node), desk_name(desk, reason->peer),
			  desk_cpu(reason->amount_ucpu, cpu), text, sizeof(text));
	return desk_fail(desk, "%s", text);
}

bool desk_confirm(struct desk *desk, const char *question, const char *word)
{
	char line[128];

	if (desk->ctl->yes)
		return true;
	if (!isatty(STDIN_FILENO) || desk->ctl->json) {
		(void)desk_fail(desk,
				"%s\nnot done: nobody is here to answer; --yes says that it is so",
				question);
		return false;
	}
	if (word != NULL)
		printf("%s\nType %s to go on: ", question, word);
	else
		printf("%s\nGo on? Type yes: ", question);
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) == NULL)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, word != NULL ? word : "yes") == 0)
		return true;
	(void)desk_fail(desk, "not done");
	return false;
}

/* What is still to come, and from whom. */
static void say_pending(struct desk *desk)
{
	const struct iso_registry *registry = desk->registry;

	for (uint32_t i = 0; i < registry->op_count; i++) {
		const struct iso_registry_op *op = &registry->ops[i];
		const char *why = desk->drive->nodes[op->member].why;

		desk_say(desk, "still to come: operation %" PRIu64 ", %s at %s%s%s", op->id,
			 entry_op_name(op->kind), registry->members[op->member].name,
			 why[0] != '\0' ? ": " : "", why);
	}
	char cpu[32];
	int64_t excess =
	    registry->budget_ucpu - registry->target_ucpu - iso_registry_burning(registry, 0);
	if (excess > 0)
		desk_say(desk,
			 "still to be given back: %s; the nodes that answer have nothing above "
			 "their floors",
			 desk_cpu(excess, cpu));
	if (registry->pool_ucpu > 0)
		desk_say(desk, "still to be given out: %s; who is to get it does not answer",
			 desk_cpu(registry->pool_ucpu, cpu));
}

int desk_go_on(struct desk *desk, uint64_t what)
{
	uint64_t timeout_ns =
	    desk->ctl->timeout_ns != 0 ? desk->ctl->timeout_ns : DEFAULT_TIMEOUT_NS;
	struct error error;
	int r = drive_run(desk->drive, what, timeout_ns, &error);

	if (r == -ETIMEDOUT) {
		say_pending(desk);
		return desk_fail(desk,
				 "not finished in time; what is under way stays under way and is "
				 "safe at any time: continue with isobarctl resume");
	}
	if (r < 0)
		return desk_fail(desk, "%s", error.text);
	return CTL_DONE;
}

int desk_carry_out(struct desk *desk, struct iso_registry_entry *entry)
{
	struct error error;

	if (drive_enter(desk->drive, entry, &error) < 0)
		return desk_fail(desk, "%s", error.text);
	/* A procedure is called by the number of its entry. */
	return desk_go_on(desk, entry->kind == ISO_REGISTRY_BEGIN ? entry->seq : DRIVE_BUDGET);
}

static json_t *member_json(struct desk *desk, uint32_t index)
{
	const struct iso_registry_member *member = &desk->registry->members[index];
	const struct drive_node *node = &desk->drive->nodes[index];
	json_t *json = json_pack(
	    "{s:s, s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:b, s:b}", "name", member->name, "id",
	    json_sprintf("%016" PRIx64, member->id), "generation", (json_int_t)member->gen, "state",
	    desk_text_state(member), "endowment_ucpu", (json_int_t)member->endowment_ucpu,
	    "reserved_ucpu", (json_int_t)member->reserved_ucpu, "floor_ucpu",
	    (json_int_t)member->floor_ucpu, "told_budget_ucpu", (json_int_t)member->told_ucpu,
	    "draining", member->draining, "auto_burial",
	    (member->flags & ISO_REGISTRY_GUARDED) != 0);

	(void)json_object_set_new(json, "answers",
				  desk->fresh ? json_boolean(node->answers) : json_null());
	(void)json_object_set_new(json, "share_ucpu",
				  member->seen ? json_integer(member->share_ucpu) : json_null());
	return json;
}

static json_t *operation_json(struct desk *desk, const struct iso_registry_op *op)
{
	const char *why = desk->drive->nodes[op->member].why;

	return json_pack("{s:I, s:s, s:s, s:I, s:s?, s:s?}", "id", (json_int_t)op->id, "kind",
			 entry_op_name(op->kind), "node", desk->registry->members[op->member].name,
			 "amount_ucpu", (json_int_t)op->amount_ucpu, "peer",
			 op->peer != ISO_REGISTRY_NOBODY ? desk->registry->members[op->peer].name
							 : NULL,
			 "waits", why[0] != '\0' ? why : NULL);
}

static json_t *procedure_json(struct desk *desk, const struct iso_registry_procedure *procedure)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < desk->registry->member_count; i++)
		if (iso_registry_has(&procedure->nodes, i))
			(void)json_array_append_new(nodes,
						    json_string(desk->registry->members[i].name));
	return json_pack("{s:I, s:s, s:o, s:I, s:b}", "id", (json_int_t)procedure->id, "kind",
			 entry_procedure_name(procedure->kind), "nodes", nodes, "held_ucpu",
			 (json_int_t)procedure->held_ucpu, "fenced",
			 (procedure->flags & ISO_REGISTRY_FENCED) != 0);
}

json_t *desk_json(struct desk *desk)
{
	const struct iso_registry *registry = desk->registry;
	json_t *members = json_array(), *operations = json_array(), *procedures = json_array();

	for (uint32_t i = 0; i < registry->member_count; i++)
		(void)json_array_append_new(members, member_json(desk, i));
	for (uint32_t i = 0; i < registry->op_count; i++)
		(void)json_array_append_new(operations, operation_json(desk, &registry->ops[i]));
	for (uint32_t i = 0; i < registry->procedure_count; i++)
		(void)json_array_append_new(procedures,
					    procedure_json(desk, &registry->procedures[i]));
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "cluster",
			 office_conf(desk->office)->cluster, "budget_ucpu",
			 (json_int_t)registry->budget_ucpu, "target_ucpu",
			 (json_int_t)registry->target_ucpu, "least_budget_ucpu",
			 (json_int_t)iso_registry_least_budget(registry), "pool_ucpu",
			 (json_int_t)registry->pool_ucpu, "entries", (json_int_t)registry->seq,
			 "members", members, "operations", operations, "procedures", procedures);
}

void desk_report(struct desk *desk, bool ok, const char *error)
{
	json_t *json = desk->office != NULL && desk->registry != NULL && desk->registry->ready
			   ? desk_json(desk)
			   : json_object();

	(void)json_object_set_new(json, "ok", json_boolean(ok));
	(void)json_object_set_new(json, "error", error != NULL ? json_string(error) : json_null());
	(void)json_object_set(json, "events", desk->events);
	ctl_print_json(json);
	json_decref(json);
}

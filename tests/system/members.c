/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/members.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/net/admin_call.h"
#include "agent/node/journal.h"
#include "tests/demo/groups.h"
#include "tests/test.h"

#define S_NS	    1000000000ull
#define PATIENCE_NS (60 * S_NS)

static void make_worker(const struct members *members)
{
	char path[DEMO_PATH_BYTES];

	ck_assert_int_eq(chmod(members->directory, 0755), 0);
	path_join(path, members->directory, "worker");
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs("#!/bin/sh\nexec sleep 1000\n", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

void members_open(struct members *members, int64_t budget_ucpu)
{
	const char *tmp = getenv("TMPDIR");
	struct error error;

	setvbuf(stdout, NULL, _IOLBF, 0);
	*members = (struct members){ .budget_ucpu = budget_ucpu };
	snprintf(members->directory, sizeof(members->directory), "%s/isobar-club-XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(members->directory));
	make_worker(members);
	ck_assert_int_eq(curve_keypair_new(&members->administrator, &error), 0);
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct member *member = &members->of[i];
		char secret[DEMO_PATH_BYTES], public[DEMO_PATH_BYTES];

		snprintf(member->name, sizeof(member->name), "%c", 'a' + (int)i);
		snprintf(member->address, sizeof(member->address), "tcp://127.0.0.1:%u",
			 stage_free_port());
		snprintf(member->admin_address, sizeof(member->admin_address),
			 "tcp://127.0.0.1:%u", stage_free_port());
		path_join(member->directory, members->directory, member->name);
		ck_assert_int_eq(mkdir(member->directory, 0700), 0);
		ck_assert_msg(groups_add(&stage_groups, member->name, &error) == 0, "%s",
			      error.text);
		groups_directory(&stage_groups, member->name, member->group);
		ck_assert_int_eq(curve_keypair_new(&member->keys, &error), 0);
		path_join(secret, member->directory, "secret");
		path_join(public, member->directory, "public");
		ck_assert_int_eq(curve_keypair_write(&member->keys, secret, public, &error), 0);
	}
}

/* Workers end with their agent, and leave the group a little later. */
static void remove_group(const char *path)
{
	for (unsigned try = 0; try < 100 && rmdir(path) < 0; try++)
		stage_pause_ms(20);
	ck_assert_int_lt(access(path, F_OK), 0);
}

void members_close(struct members *members)
{
	struct error error;

	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		members_burn(members, i, false);
		members_stop(members, i, SIGKILL);
		remove_group(members->of[i].group);
	}
	ck_assert_msg(tree_remove(members->directory, &error) == 0, "%s", error.text);
}

void members_make(struct members *members, unsigned index, int64_t endowment_ucpu)
{
	const struct member *member = &members->of[index];
	char path[DEMO_PATH_BYTES], group[DEMO_PATH_BYTES], command[3 * DEMO_PATH_BYTES],
	    guard[DEMO_PATH_BYTES];

	groups_path(&stage_groups, member->name, group);
	path_join(path, member->directory, "conf");
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"cluster = " MEMBERS_CLUSTER "\nbudget = %jducpu\nnode = %s\nfloor = %ducpu\n"
		"cgroup = %s\nlisten = %s\nadmin-listen = %s\nsecret-key = %s/secret\n"
		"state-directory = %s\nrun-directory = %s/run\n"
		"trading { tick = %dms\n fresh = 2s\n lease = %s\n lease-slack = 500ms\n"
		"%s }\n"
		"guard { executable = %s }\n"
		"administrator alice { public-key = '%s' }\n",
		(intmax_t)members->budget_ucpu, member->name, MEMBERS_FLOOR_UCPU, group,
		member->address, member->admin_address, member->directory, member->directory,
		member->directory, MEMBERS_TICK_MS,
		members->lease != NULL ? members->lease : "off",
		members->limit != NULL ? members->limit : "limit = none",
		stage_build_path("agent/isobar-guard", guard), members->administrator.public_key);
	if (members->trains)
		fprintf(file,
			"training { coordinator = tcp://127.0.0.1:1\n coordinator-key = '%s'\n"
			"worker-key = %s/worker\n user = nobody\n data = /tmp\n"
			"executable = %s/worker }\n",
			member->keys.public_key, member->directory, members->directory);
	if (endowment_ucpu > 0)
		fprintf(file, "endowment = %jducpu\n", (intmax_t)endowment_ucpu);
	ck_assert_int_eq(fclose(file), 0);
	snprintf(command, sizeof(command), "%s --init %s -f %s >/dev/null",
		 stage_build_path("agent/isobard", group),
		 endowment_ucpu > 0 ? "" : "--join", path);
	ck_assert_int_eq(system(command), 0);
}

void members_start(struct members *members, unsigned index, const char *crash)
{
	struct member *member = &members->of[index];
	char program[DEMO_PATH_BYTES], conf[DEMO_PATH_BYTES], log[DEMO_PATH_BYTES],
	    shim[DEMO_PATH_BYTES];
	struct error error;

	path_join(conf, member->directory, "conf");
	path_join(log, member->directory, "log");
	stage_build_path(crash != NULL ? "tests/system/isobard-crash" : "agent/isobard", program);
	if (crash != NULL)
		setenv("ISO_CRASH_AT", crash, 1);
	else
		unsetenv("ISO_CRASH_AT");
	if (members->disk != NULL) {
		setenv("ISO_DISK", members->disk, 1);
		if (members->disk_while != NULL)
			setenv("ISO_DISK_WHILE", members->disk_while, 1);
		setenv("LD_PRELOAD", stage_build_path("tests/system/disk.so", shim), 1);
	}
	const char *const argv[] = { program, "-f", conf, NULL };
	struct launch launch = { .argv = argv, .log = log };
	ck_assert_int_eq(member->agent.pid, 0);
	int r = child_start(&member->agent, member->name, &launch, &error);
	unsetenv("ISO_CRASH_AT");
	unsetenv("ISO_DISK");
	unsetenv("ISO_DISK_WHILE");
	unsetenv("LD_PRELOAD");
	ck_assert_msg(r == 0, "%s", error.text);
}

bool members_ended(struct members *members, unsigned index)
{
	struct child *agent = &members->of[index].agent;

	if (agent->pid != 0 && waitpid(agent->pid, NULL, WNOHANG) != agent->pid)
		return false;
	agent->pid = 0;
	return true;
}

static void tell(const struct members *members, unsigned index)
{
	char log[DEMO_PATH_BYTES], prefix[32];

	path_join(log, members->of[index].directory, "log");
	snprintf(prefix, sizeof(prefix), "# %s: ", members->of[index].name);
	file_print_tail(stdout, log, prefix, 20);
	fflush(stdout);
}

bool members_wait(struct members *members, unsigned index)
{
	uint64_t from_ns = clock_now_ns();
	json_t *reply;

	while ((reply = members_command(members, index, "status")) == NULL) {
		if (members_ended(members, index))
			return false;
		if (clock_now_ns() - from_ns > PATIENCE_NS) {
			tell(members, index);
			ck_abort_msg("%s does not start", members->of[index].name);
		}
		stage_pause_ms(10);
	}
	json_decref(reply);
	return true;
}

void members_start_well(struct members *members, unsigned index)
{
	members_start(members, index, NULL);
	ck_assert(members_wait(members, index));
}

void members_start_pair(struct members *members, int64_t endowment_ucpu)
{
	for (unsigned i = 0; i < 2; i++) {
		members_make(members, i, endowment_ucpu);
		members_start_well(members, i);
	}
}

void members_stop(struct members *members, unsigned index, int signal)
{
	struct child *agent = &members->of[index].agent;

	if (agent->pid == 0)
		return;
	(void)kill(agent->pid, signal);
	ck_assert_int_eq(waitpid(agent->pid, NULL, 0), agent->pid);
	agent->pid = 0;
}

void members_burn(struct members *members, unsigned index, bool on)
{
	struct member *member = &members->of[index];
	char program[DEMO_PATH_BYTES];
	struct error error;

	if (!on && member->burner.pid > 0) {
		(void)kill(member->burner.pid, SIGKILL);
		(void)waitpid(member->burner.pid, NULL, 0);
		member->burner.pid = 0;
	}
	if (!on || member->burner.pid > 0)
		return;
	const char *const argv[] = { stage_build_path("tests/demo/cotenant", program), NULL };
	struct launch launch = { .argv = argv, .group = member->group };
	ck_assert_msg(child_start(&member->burner, "cotenant", &launch, &error) == 0, "%s",
		      error.text);
}

json_t *members_ask(const struct members *members, unsigned index, const json_t *request)
{
	const struct member *member = &members->of[index];
	const struct admin_target target = {
		.endpoint = member->admin_address,
		.keys = &members->administrator,
		.server_key = member->keys.public_key,
	};
	json_t *reply = NULL;

	return admin_call(&target, NULL, request, 3 * S_NS, &reply, NULL) == 0 ? reply : NULL;
}

json_t *members_command(const struct members *members, unsigned index, const char *command)
{
	json_t *request = json_pack("{s:s}", "command", command);
	json_t *reply = members_ask(members, index, request);

	json_decref(request);
	return reply;
}

uint32_t members_generation(const struct members *members, unsigned index)
{
	struct iso_record record;
	char path[DEMO_PATH_BYTES];

	path_join(path, members->of[index].directory, JOURNAL_NAME);
	if (access(path, F_OK) < 0)
		return 0;
	members_record(members, index, &record);
	return record.gen;
}

struct opjson_op members_op(struct members *members, unsigned index, enum iso_op_kind kind)
{
	struct opjson_op op;

	memset(&op, 0, sizeof(op));
	op.op.kind = kind;
	op.op.id = ++members->last_op;
	op.op.gen = members_generation(members, index);
	return op;
}

struct opjson_op members_op_on(struct members *members, unsigned index, enum iso_op_kind kind,
			       unsigned peer)
{
	const struct member *other = &members->of[peer];
	struct opjson_op op = members_op(members, index, kind);

	snprintf(op.peer, sizeof(op.peer), "%s", other->name);
	op.op.peer_gen = members_generation(members, peer);
	snprintf(op.address, sizeof(op.address), "%s", other->address);
	memcpy(op.public_key, other->keys.public_key, sizeof(op.public_key));
	return op;
}

void members_apply(struct members *members, unsigned index, const struct opjson_op *op,
		   int64_t *ret_moved_ucpu)
{
	uint64_t from_ns = clock_now_ns();
	struct opjson_answer answer = { 0 };
	struct error error;

	while (answer.outcome != OPJSON_APPLIED) {
		json_t *request = opjson_op_write(op);
		json_t *reply = members_ask(members, index, request);

		json_decref(request);
		if (reply != NULL)
			ck_assert_msg(opjson_answer_read(reply, &answer, &error) == 0, "%s",
				      error.text);
		if (answer.outcome == OPJSON_REFUSED || answer.outcome == OPJSON_STALE ||
		    clock_now_ns() - from_ns > PATIENCE_NS) {
			tell(members, index);
			ck_abort_msg("%s at %s: %s", iso_op_name(op->op.kind),
				     members->of[index].name,
				     reply != NULL ? answer.error : "no answer");
		}
		json_decref(reply);
		if (answer.outcome == OPJSON_APPLIED)
			break;
		/* It has crashed, as it was told to: once more, and for good this time. */
		if (reply == NULL && members_ended(members, index))
			members_start(members, index, NULL);
		stage_pause_ms(20);
	}
	if (ret_moved_ucpu != NULL)
		*ret_moved_ucpu = answer.moved_ucpu;
}

const char *members_refused(struct members *members, unsigned index, struct opjson_op op)
{
	static char text[512];
	struct opjson_answer answer;
	struct error error;
	json_t *request = opjson_op_write(&op);
	json_t *reply = members_ask(members, index, request);

	json_decref(request);
	ck_assert_ptr_nonnull(reply);
	ck_assert_msg(opjson_answer_read(reply, &answer, &error) == 0, "%s", error.text);
	ck_assert_int_ne(answer.outcome, OPJSON_APPLIED);
	snprintf(text, sizeof(text), "%s%s",
		 answer.outcome == OPJSON_BUSY	? "busy: " :
		 answer.outcome == OPJSON_STALE ? "stale: " :
						  "",
		 answer.error);
	json_decref(reply);
	return text;
}

void members_connect(struct members *members, unsigned a, unsigned b)
{
	struct opjson_op op = members_op_on(members, a, ISO_OP_OPEN, b);

	members_apply(members, a, &op, NULL);
	op = members_op_on(members, b, ISO_OP_OPEN, a);
	members_apply(members, b, &op, NULL);
}

int64_t members_number(const struct members *members, unsigned index, const char *key)
{
	json_t *status = members_command(members, index, "status");
	json_t *value = json_object_get(status, key);
	int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	json_decref(status);
	return number;
}

void members_wait_number(const struct members *members, unsigned index, const char *key,
			 int64_t least, int64_t most)
{
	uint64_t from_ns = clock_now_ns();
	int64_t number;

	while ((number = members_number(members, index, key)) < least || number > most) {
		if (clock_now_ns() - from_ns > PATIENCE_NS) {
			for (unsigned i = 0; i < MEMBERS_MAX; i++)
				tell(members, i);
			ck_abort_msg("%s: %s is %jd, not %jd to %jd", members->of[index].name, key,
				     (intmax_t)number, (intmax_t)least, (intmax_t)most);
		}
		stage_pause_ms(30);
	}
}

void members_wait_state(const struct members *members, unsigned index, const char *state,
			const char *reason)
{
	uint64_t from_ns = clock_now_ns();

	for (;;) {
		json_t *status = members_command(members, index, "status");
		const char *is = json_string_value(json_object_get(status, "state"));
		const char *why = json_string_value(json_object_get(status, "reason"));
		bool good = is != NULL && strcmp(is, state) == 0 &&
			    (reason == NULL || (why != NULL && strstr(why, reason) != NULL));

		if (!good && clock_now_ns() - from_ns > PATIENCE_NS) {
			tell(members, index);
			ck_abort_msg("%s is '%s' (%s), not '%s' (%s)", members->of[index].name,
				     is != NULL ? is : "silent", why != NULL ? why : "-", state,
				     reason != NULL ? reason : "-");
		}
		json_decref(status);
		if (good)
			return;
		stage_pause_ms(30);
	}
}

void members_wait_log(const struct members *members, unsigned index, const char *text,
		      unsigned times)
{
	uint64_t from_ns = clock_now_ns();
	unsigned found;

	/* The next tick may have to say it. */
	while ((found = stage_log_count(members->of[index].directory, text)) < times &&
	       clock_now_ns() - from_ns < PATIENCE_NS)
		stage_pause_ms(20);
	if (found != times)
		tell(members, index);
	ck_assert_msg(found == times, "'%s' is %u times in the log of %s, not %u", text, found,
		      members->of[index].name, times);
}

int64_t members_quota_ucpu(const struct members *members, unsigned index)
{
	char path[DEMO_PATH_BYTES], text[64];

	path_join(path, members->of[index].group,
		  stage_groups.version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	ck_assert_int_eq(file_get(path, text, sizeof(text)), 0);
	return strtol(text, NULL, 10) * 10; /* per 100 ms */
}

void members_record(const struct members *members, unsigned index, struct iso_record *ret_record)
{
	uint8_t bytes[ISO_JOURNAL_BYTES];
	char path[DEMO_PATH_BYTES];

	path_join(path, members->of[index].directory, JOURNAL_NAME);
	/* Two slots are not read at once: what was torn in between is read again. */
	for (int tries = 0; tries < 100; tries++) {
		FILE *file = fopen(path, "re");
		ck_assert_ptr_nonnull(file);
		size_t size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		if (size == sizeof(bytes) && iso_record_recover(bytes, ret_record) == ISO_OK)
			return;
	}
	ck_abort_msg("no record in %s", path);
}

int64_t members_sum_ucpu(const struct members *members)
{
	int64_t sum_ucpu = 0;

	/* Endowments: what edges hold cancels out, in flight or not. */
	for (unsigned i = 0; i < MEMBERS_MAX; i++) {
		struct iso_record record;
		char path[DEMO_PATH_BYTES];

		path_join(path, members->of[i].directory, JOURNAL_NAME);
		if (access(path, F_OK) < 0)
			continue;
		members_record(members, i, &record);
		if (record.halt == ISO_HALT_NONE)
			sum_ucpu += record.endowment_ucpu;
	}
	return sum_ucpu;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The training messages against their frozen vectors, as in vectors.c. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/wire/train.h"
#include "tests/test.h"
#include "tests/vectorfield.h"
#include "tests/vectorfile.h"

static struct vectorfile file;

#define HEAD(member) FIELD(struct iso_train_message, member)
#define SPEED(object)                                                                              \
	{ "threads", offsetof(struct iso_train_message, object.speed.threads), 4 },                \
	{                                                                                          \
		"share_ucpu", offsetof(struct iso_train_message, object.speed.share_ucpu), 8       \
	}
#define PART(object, member)                                                                       \
	{                                                                                          \
#member, offsetof(struct iso_train_message, object.member),                        \
		    sizeof(((struct iso_train_message *)0)->object.member)                         \
	}

static const struct field train_head[] = { HEAD(type), HEAD(floats), HEAD(block_checksum) };

static const struct field train_hello[] = {
#define F(member) PART(hello, member)
	F(name),    F(node),	 F(incarnation), SPEED(hello),
	F(samples), F(features), F(classes),	 F(data_checksum),
	F(user_task),
#undef F
};
static const struct field train_welcome[] = {
#define F(member) PART(welcome, member)
	F(term),     F(worker),	 F(workers),	      F(model),	    F(params),
	F(features), F(classes), F(hidden),	      F(samples_max), F(partition),
	F(partition_seed), F(alpha), F(l2), F(user_task), F(ping_ns),
#undef F
};
static const struct field train_work[] = {
#define F(member) PART(work, member)
	F(term),
	F(model_version),
	F(oldest),
	F(count),
#undef F
};
static const struct field train_result[] = {
#define F(member) PART(result, member)
	F(term),    F(model_version),	  F(task),    F(attempt),    F(worker),  F(flags),
	F(samples), F(on_cpu_ns), F(wall_ns), SPEED(result), F(loss),
#undef F
};
static const struct field train_cancel[] = {
#define F(member) PART(cancel, member)
	F(term),
	F(oldest),
	F(count),
#undef F
};
static const struct field train_ping[] = {
#define F(member) PART(ping, member)
	F(term),
	F(stamp_ns),
	SPEED(ping),
#undef F
};
static const struct field train_bye[] = {
#define F(member) PART(bye, member)
	F(term),
	F(reason),
	F(text),
#undef F
};

static const struct {
	const struct field *fields;
	size_t count;
} train_types[] = {
#define T(fields)                                                                                  \
	{                                                                                          \
		fields, FIELD_COUNT(fields)                                                        \
	}
	[ISO_TRAIN_HELLO] = T(train_hello),   [ISO_TRAIN_WELCOME] = T(train_welcome),
	[ISO_TRAIN_WORK] = T(train_work),     [ISO_TRAIN_RESULT] = T(train_result),
	[ISO_TRAIN_CANCEL] = T(train_cancel), [ISO_TRAIN_PING] = T(train_ping),
	[ISO_TRAIN_PONG] = T(train_ping),     [ISO_TRAIN_BYE] = T(train_bye),
#undef T
};

static const struct field task_fields[] = {
#define F(member) FIELD(struct iso_train_task, member)
	F(task),
	F(attempt),
	F(samples),
	F(seed),
#undef F
};

static void each_train_field(struct iso_train_message *message, bool is_check)
{
	vectorfield_each(&file, "", train_head, FIELD_COUNT(train_head), message, is_check);
	ck_assert_uint_ge(message->type, ISO_TRAIN_HELLO);
	ck_assert_uint_le(message->type, ISO_TRAIN_BYE);
	vectorfield_each(&file, "", train_types[message->type].fields,
			 train_types[message->type].count, message, is_check);
}

static uint32_t task_count(const struct iso_train_message *message)
{
	if (message->type == ISO_TRAIN_WORK)
		return message->work.count;
	return message->type == ISO_TRAIN_CANCEL ? message->cancel.count : 0;
}

/* The message of the file, encoded; its tasks compared with those decoded. */
static void encode_train(const struct iso_train_message *decoded)
{
	static uint8_t head[ISO_TRAIN_HEAD_MAX];
	struct iso_train_message message;
	struct iso_train_task tasks[8];
	uint8_t block[64] = { 0 };
	float floats[16];
	size_t size = 0, block_size = 0;

	memset(&message, 0, sizeof(message));
	each_train_field(&message, false);
	ck_assert_uint_le(task_count(&message), FIELD_COUNT(tasks));
	for (uint32_t i = 0; i < task_count(&message); i++) {
		struct iso_train_task task = iso_train_task(decoded, i);
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "task.%" PRIu32 ".", i);
		vectorfield_each(&file, prefix, task_fields, FIELD_COUNT(task_fields), &task, true);
		vectorfield_each(&file, prefix, task_fields, FIELD_COUNT(task_fields), &tasks[i],
				 false);
	}
	if (message.type == ISO_TRAIN_WORK)
		message.work.tasks = tasks;
	else if (message.type == ISO_TRAIN_CANCEL)
		message.cancel.tasks = tasks;
	if (message.floats > 0)
		block_size = vectorfile_hex(vectorfile_text(&file, "block"), block, sizeof(block));
	ck_assert_uint_eq(block_size, 4 * message.floats);
	ck_assert_ok(iso_train_read_block(decoded, block, block_size, floats));
	ck_assert_ok(
	    iso_train_encode(&message, block_size > 0 ? block : NULL, head, sizeof(head), &size));
	vectorfield_bytes(&file, head, size);
}

START_TEST(training_messages)
{
	vectorfile_open("train.txt", &file);
	while (vectorfile_next(&file)) {
		struct iso_train_message message;
		enum iso_status status = iso_train_decode(file.bytes, file.size, &message);

		vectorfield_status(&file, status);
		if (status != ISO_OK)
			continue;
		each_train_field(&message, true);
		encode_train(&message);
	}
	ck_assert_uint_eq(file.cases, 80);
	vectorfile_close(&file);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("vectors_train");
	TCase *tcase = tcase_create("file");

	tcase_add_test(tcase, training_messages);
	suite_add_tcase(suite, tcase);
	return suite;
}

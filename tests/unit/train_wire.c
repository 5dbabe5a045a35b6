/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/checksum.h"
#include "lib/wire/train.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t head[ISO_TRAIN_HEAD_MAX];
static const float block[5] = { 1, -2, 0.5f, 1e-30f, 3e30f };

static const struct iso_train_task tasks[3] = {
	{ 1ull << 32, 1, 64, 42 },
	{ 7, 3, 1, UINT64_MAX },
	{ 1, 1, 1u << 24, 0 },
};

static const struct iso_train_message samples[] = {
	{ .type = ISO_TRAIN_HELLO,
	  .hello = { "node-1.rack_2", 0x1122334455667788, 3, { 2, 1500000 }, 60000, 784, 10, 99,
		     7 } },
	{ .type = ISO_TRAIN_WELCOME,
	  .welcome = { 5, 3, 4, ISO_TRAIN_MLP, 101770, 784, 10, 128, 64, 2, 123456, 0.1,
		       1e-4, 0, 1000000000 } },
	{ .type = ISO_TRAIN_WELCOME,
	  .welcome = { 5, 3, 4, ISO_TRAIN_USER, 3, 784, 0, 0, 64, 1, 123456, 0, 0, 9, 1 } },
	{ .type = ISO_TRAIN_WORK, .floats = 5, .work = { 5, 18, 17, 3, tasks } },
	{ .type = ISO_TRAIN_WORK, .work = { 5, 18, 17, 1, tasks } },
	{ .type = ISO_TRAIN_RESULT, .floats = 5,
	  .result = { 5, 17, 7, 3, 3, 0, 64, 12345678, 99999999, { 2, 1500000 }, 2.5 } },
	{ .type = ISO_TRAIN_RESULT,
	  .result = { 5, 17, 7, 3, 3, ISO_TRAIN_ABANDONED, 0, 12345678, 99999999, { 2, 0 }, 0 } },
	{ .type = ISO_TRAIN_CANCEL, .cancel = { 5, 17, 3, tasks } },
	{ .type = ISO_TRAIN_CANCEL, .cancel = { 5, 17, 0, NULL } },
	{ .type = ISO_TRAIN_PING, .ping = { 5, 1234567890123, { 0, 0 } } },
	{ .type = ISO_TRAIN_PONG, .ping = { 5, 1234567890123, { 2, 700000 } } },
	{ .type = ISO_TRAIN_BYE, .bye = { 5, ISO_TRAIN_REFUSED, "784 features, not 28" } },
};
/* Where they are. */
enum { WORK = 3, RESULT = 5, PING = 9, BYE = 11 };
#define SAMPLES (sizeof(samples) / sizeof(*samples))

static size_t encode(const struct iso_train_message *message)
{
	size_t size = 0;

	ck_assert_ok(iso_train_encode(message, message->floats > 0 ? block : NULL, head,
				      sizeof(head), &size));
	return size;
}

/* Puts size and checksum right again after a change. */
static void reseal(size_t size)
{
	iso_put_le(head + 8, size, 4);
	iso_put_le(head + size - 8, iso_checksum(head, size - 8), 8);
}

START_TEST(what_is_encoded_decodes_to_the_same)
{
	const struct iso_train_message *from = &samples[_i];
	struct iso_train_message to;
	float floats[5] = { 0 };
	size_t size = encode(from);

	ck_assert_uint_le(size, from->type == ISO_TRAIN_WORK ? ISO_TRAIN_HEAD_MAX
							      : ISO_TRAIN_FIXED_MAX);
	ck_assert_ok(iso_train_decode(head, size, &to));
	ck_assert_int_eq(to.type, from->type);
	ck_assert_uint_eq(to.floats, from->floats);
	if (from->type == ISO_TRAIN_WORK || from->type == ISO_TRAIN_CANCEL) {
		ck_assert_uint_eq(to.work.term, 5);
		ck_assert_uint_eq(from->type == ISO_TRAIN_WORK ? to.work.oldest : to.cancel.oldest,
				  17);
		uint32_t count = from->type == ISO_TRAIN_WORK ? from->work.count
							      : from->cancel.count;
		for (uint32_t t = 0; t < count; t++) {
			struct iso_train_task task = iso_train_task(&to, t);
			ck_assert_uint_eq(task.task, tasks[t].task);
			ck_assert_uint_eq(task.attempt, tasks[t].attempt);
			bool is_work = from->type == ISO_TRAIN_WORK;
			ck_assert_uint_eq(task.seed, is_work ? tasks[t].seed : 0);
			ck_assert_uint_eq(task.samples, is_work ? tasks[t].samples : 0);
		}
	} else {
		/* The rest has no pointers: encoding it again gives the same bytes. */
		static uint8_t again[ISO_TRAIN_HEAD_MAX];
		size_t again_size;
		ck_assert_ok(iso_train_encode(&to, block, again, sizeof(again), &again_size));
		ck_assert_uint_eq(again_size, size);
		ck_assert_mem_eq(again, head, size);
	}
	ck_assert_ok(iso_train_read_block(&to, block, (size_t)from->floats * 4, floats));
	ck_assert_mem_eq(floats, block, (size_t)from->floats * 4);
}
END_TEST

START_TEST(fields_lie_where_the_header_says)
{
	size_t size = encode(&samples[RESULT]);

	ck_assert_mem_eq(head, "ISOT", 4);
	ck_assert_uint_eq(iso_get_le(head + 4, 2), ISO_TRAIN_VERSION);
	ck_assert_uint_eq(iso_get_le(head + 6, 2), ISO_TRAIN_RESULT);
	ck_assert_uint_eq(iso_get_le(head + 8, 4), size);
	ck_assert_uint_eq(iso_get_le(head + 12, 4), 5);
	ck_assert_uint_eq(iso_get_le(head + 16, 8), iso_checksum(block, sizeof(block)));
	ck_assert_uint_eq(iso_get_le(head + 24, 8), 5);        /* term */
	ck_assert_uint_eq(iso_get_le(head + 60, 4), 64);       /* samples */
	ck_assert_uint_eq(iso_get_le(head + 64, 8), 12345678); /* on_cpu_ns */
	ck_assert_uint_eq(size, 24 + 76 + 8);
}
END_TEST

START_TEST(every_single_bit_is_guarded)
{
	size_t size = encode(&samples[_i]);
	struct iso_train_message to, before;

	memset(&to, 0x5a, sizeof(to));
	before = to;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		head[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert_int_ne(iso_train_decode(head, size, &to), ISO_OK);
		head[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (size_t less = 0; less < size; less++)
		ck_assert_int_eq(iso_train_decode(head, less, &to), ISO_E_SHORT);
	ck_assert_int_eq(iso_train_decode(head, size + 1, &to), ISO_E_LONG);
	ck_assert_int_eq(iso_train_decode(head, sizeof(head) + 1, &to), ISO_E_LONG);
	ck_assert_mem_eq(&to, &before, sizeof(to));
}
END_TEST

START_TEST(damage_is_told_by_its_kind)
{
	struct iso_train_message to;
	size_t size = encode(&samples[0]);

	head[0] ^= 1;
	ck_assert_int_eq(iso_train_decode(head, size, &to), ISO_E_MALFORMED);
	head[0] ^= 1;
	head[4] = 1;
	ck_assert_int_eq(iso_train_decode(head, size, &to), ISO_E_VERSION);
	head[4] = ISO_TRAIN_VERSION;
	head[24] ^= 1; /* another name */
	ck_assert_int_eq(iso_train_decode(head, size, &to), ISO_E_CHECKSUM);
	reseal(size);
	ck_assert_ok(iso_train_decode(head, size, &to));
	head[6] = 0;
	reseal(size);
	ck_assert_int_eq(iso_train_decode(head, size, &to), ISO_E_MALFORMED);
	head[6] = ISO_TRAIN_BYE + 1;
	reseal(size);
	ck_assert_int_eq(iso_train_decode(head, size, &to), ISO_E_MALFORMED);
	/* More or fewer bytes than the type has, under a right checksum. */
	head[6] = ISO_TRAIN_HELLO;
	memset(head + size, 0, 8);
	reseal(size + 8);
	ck_assert_int_eq(iso_train_decode(head, size + 8, &to), ISO_E_LONG);
	reseal(size - 8);
	ck_assert_int_eq(iso_train_decode(head, size - 8, &to), ISO_E_SHORT);
}
END_TEST

static enum iso_status refused(struct iso_train_message message)
{
	size_t size = 77;
	enum iso_status status = iso_train_encode(&message, block, head, sizeof(head), &size);

	ck_assert_uint_eq(size, 77);
	return status;
}

START_TEST(what_makes_no_sense_is_not_sent)
{
	struct iso_train_message m = samples[0];

	memset(m.hello.name, 'x', sizeof(m.hello.name));
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	m = samples[0];
	m.hello.name[0] = 0;
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	memcpy(m.hello.name, "a b", 3);
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	m = samples[0];
	m.hello.name[40] = 'x'; /* behind the end */
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	m = samples[0];
	m.hello.speed.threads = 0;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m.hello.speed.threads = 4097;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[1];
	m.welcome.worker = m.welcome.workers;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[1];
	m.welcome.alpha = NAN;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[1];
	m.welcome.l2 = INFINITY;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[1];
	m.welcome.params = ISO_TRAIN_PARAMS_MAX + 1;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[1];
	m.welcome.hidden = 0;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[2];
	m.welcome.user_task = 0;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[0];
	m.type = (enum iso_train_type)77;
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	size_t size = 77;
	ck_assert_int_eq(iso_train_encode(&samples[0], NULL, head, 50, &size), ISO_E_SHORT);
}
END_TEST

START_TEST(work_and_answers_that_make_no_sense_are_not_sent)
{
	struct iso_train_message m = samples[WORK];

	m.work.count = ISO_TRAIN_TASKS_MAX + 1;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[WORK];
	m.work.oldest = m.work.model_version + 1;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	const struct iso_train_task never = { 1, 0, 1, 0 }, nothing = { 1, 1, 0, 0 };
	m = samples[WORK + 1];
	m.work.tasks = &never;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m.work.tasks = &nothing;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[RESULT];
	m.floats = 0; /* a result without its gradient */
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[RESULT + 1];
	m.floats = 5; /* an abandoned one with it */
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[RESULT + 1];
	m.result.flags = 3;
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	m = samples[PING];
	m.floats = 1;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
	m = samples[BYE];
	m.bye.text[2] = '\n';
	ck_assert_int_eq(refused(m), ISO_E_MALFORMED);
	m = samples[BYE];
	m.bye.reason = 0;
	ck_assert_int_eq(refused(m), ISO_E_RANGE);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_arrives)
{
	struct iso_train_message m = samples[RESULT], to;

	m.result.loss = NAN;
	ck_assert_ok(iso_train_decode(head, encode(&m), &to));
	ck_assert_double_nan(to.result.loss);
}
END_TEST

START_TEST(a_block_that_is_not_the_heads_is_refused)
{
	struct iso_train_message to;
	_Alignas(float) uint8_t bytes[1 + sizeof(block)];
	float floats[5] = { 9, 9, 9, 9, 9 };

	ck_assert_ok(iso_train_decode(head, encode(&samples[WORK]), &to));
	/* Not aligned, as it may come. */
	memcpy(bytes + 1, block, sizeof(block));
	ck_assert_int_eq(iso_train_read_block(&to, bytes + 1, 19, floats), ISO_E_SHORT);
	ck_assert_int_eq(iso_train_read_block(&to, bytes + 1, 24, floats), ISO_E_LONG);
	bytes[7] ^= 1;
	ck_assert_int_eq(iso_train_read_block(&to, bytes + 1, 20, floats), ISO_E_CHECKSUM);
	ck_assert_ptr_null(iso_train_view_block(&to, bytes + 1, 20));
	ck_assert_double_eq((double)floats[0], 9);
	bytes[7] ^= 1;
	ck_assert_ok(iso_train_read_block(&to, bytes + 1, 20, floats));
	ck_assert_mem_eq(floats, block, sizeof(block));
	ck_assert_ptr_eq(iso_train_block(block, 5, NULL), block);
	/* Looked at where it is, if that can be done. */
	ck_assert_ptr_eq(iso_train_view_block(&to, block, 20), block);
	ck_assert_ptr_null(iso_train_view_block(&to, bytes + 1, 20));
	ck_assert_ptr_null(iso_train_view_block(&to, block, 16));
	floats[2] += 1;
	ck_assert_ptr_null(iso_train_view_block(&to, floats, 20));
}
END_TEST

START_TEST(types_have_names)
{
	ck_assert_str_eq(iso_train_type_text(ISO_TRAIN_HELLO), "HELLO");
	ck_assert_str_eq(iso_train_type_text(ISO_TRAIN_BYE), "BYE");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("train_wire");
	TCase *tcase = tcase_create("codec");

	tcase_add_loop_test(tcase, what_is_encoded_decodes_to_the_same, 0, (int)SAMPLES);
	tcase_add_test(tcase, fields_lie_where_the_header_says);
	tcase_add_loop_test(tcase, every_single_bit_is_guarded, 0, (int)SAMPLES);
	tcase_add_test(tcase, damage_is_told_by_its_kind);
	tcase_add_test(tcase, what_makes_no_sense_is_not_sent);
	tcase_add_test(tcase, work_and_answers_that_make_no_sense_are_not_sent);
	tcase_add_test(tcase, a_loss_that_is_not_finite_arrives);
	tcase_add_test(tcase, a_block_that_is_not_the_heads_is_refused);
	tcase_add_test(tcase, types_have_names);
	suite_add_tcase(suite, tcase);
	return suite;
}

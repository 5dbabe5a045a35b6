/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/wire/train.h"

#include <assert.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

#define MAGIC          0x544f5349u /* "ISOT" */
#define HEAD_BYTES     24u
#define TRAILER_BYTES  8u
#define TASK_BYTES     24u
#define THREADS_MAX    4096u
#define WORKERS_MAX    65536u
#define CLASSES_MAX    65536u
#define SAMPLES_MAX    (1u << 24)  /* in a mini-batch */
#define SHARE_UCPU_MAX (1000000ull * 65536)

const char *iso_train_type_text(enum iso_train_type type)
{
	static const char *const texts[] = {
		[ISO_TRAIN_HELLO] = "HELLO",   [ISO_TRAIN_WELCOME] = "WELCOME",
		[ISO_TRAIN_WORK] = "WORK",     [ISO_TRAIN_RESULT] = "RESULT",
		[ISO_TRAIN_CANCEL] = "CANCEL", [ISO_TRAIN_PING] = "PING",
		[ISO_TRAIN_PONG] = "PONG",     [ISO_TRAIN_BYE] = "BYE",
	};

	assert(type >= ISO_TRAIN_HELLO);
	assert(type <= ISO_TRAIN_BYE);
	return texts[type];
}

/*
 * One description of the layout serves both directions: each field is visited in
 * order, and either written from or read into the message.
 */
struct visit {
	uint8_t *out;      /* encode; NULL when decoding */
	const uint8_t *in; /* decode */
	size_t at;
	size_t end;
};

static void bytes(struct visit *visit, void *field, size_t size)
{
	assert(visit->at + size <= visit->end);
	if (visit->out != NULL)
		memcpy(visit->out + visit->at, field, size);
	else
		memcpy(field, visit->in + visit->at, size);
	visit->at += size;
}

static void u32(struct visit *visit, uint32_t *field)
{
	assert(visit->at + 4 <= visit->end);
	if (visit->out != NULL)
		iso_put_le(visit->out + visit->at, *field, 4);
	else
		*field = (uint32_t)iso_get_le(visit->in + visit->at, 4);
	visit->at += 4;
}

static void u64(struct visit *visit, uint64_t *field)
{
	assert(visit->at + 8 <= visit->end);
	if (visit->out != NULL)
		iso_put_le(visit->out + visit->at, *field, 8);
	else
		*field = iso_get_le(visit->in + visit->at, 8);
	visit->at += 8;
}

static void f64(struct visit *visit, double *field)
{
	uint64_t bits = iso_bits_of_double(*field);

	u64(visit, &bits);
	*field = iso_double_of_bits(bits);
}

static void speed(struct visit *visit, struct iso_train_speed *field)
{
	u32(visit, &field->threads);
	u64(visit, &field->share_ucpu);
}

static void hello(struct visit *visit, struct iso_train_hello *field)
{
	bytes(visit, field->name, sizeof(field->name));
	u64(visit, &field->node);
	u32(visit, &field->incarnation);
	speed(visit, &field->speed);
	u32(visit, &field->samples);
	u32(visit, &field->features);
	u32(visit, &field->classes);
	u64(visit, &field->data_checksum);
	u64(visit, &field->user_task);
}

static void welcome(struct visit *visit, struct iso_train_welcome *field)
{
	u64(visit, &field->term);
	u32(visit, &field->worker);
	u32(visit, &field->workers);
	u32(visit, &field->model);
	u32(visit, &field->params);
	u32(visit, &field->features);
	u32(visit, &field->classes);
	u32(visit, &field->hidden);
	u32(visit, &field->samples_max);
	u32(visit, &field->partition);
	u64(visit, &field->partition_seed);
	f64(visit, &field->alpha);
	f64(visit, &field->l2);
	u64(visit, &field->user_task);
	u64(visit, &field->ping_ns);
}

static void work(struct visit *visit, struct iso_train_work *field)
{
	u64(visit, &field->term);
	u64(visit, &field->model_version);
	u64(visit, &field->oldest);
	u32(visit, &field->count);
}

static void result(struct visit *visit, struct iso_train_result *field)
{
	u64(visit, &field->term);
	u64(visit, &field->model_version);
	u64(visit, &field->task);
	u32(visit, &field->attempt);
	u32(visit, &field->worker);
	u32(visit, &field->flags);
	u32(visit, &field->samples);
	u64(visit, &field->on_cpu_ns);
	u64(visit, &field->wall_ns);
	speed(visit, &field->speed);
	f64(visit, &field->loss);
}

static void cancel(struct visit *visit, struct iso_train_cancel *field)
{
	u64(visit, &field->term);
	u64(visit, &field->oldest);
	u32(visit, &field->count);
}

static void ping(struct visit *visit, struct iso_train_ping *field)
{
	u64(visit, &field->term);
	u64(visit, &field->stamp_ns);
	speed(visit, &field->speed);
}

static void bye(struct visit *visit, struct iso_train_bye *field)
{
	u64(visit, &field->term);
	u32(visit, &field->reason);
	bytes(visit, field->text, sizeof(field->text));
}

static void fields(struct visit *visit, struct iso_train_message *message)
{
	switch (message->type) {
	case ISO_TRAIN_HELLO: hello(visit, &message->hello); break;
	case ISO_TRAIN_WELCOME: welcome(visit, &message->welcome); break;
	case ISO_TRAIN_WORK: work(visit, &message->work); break;
	case ISO_TRAIN_RESULT: result(visit, &message->result); break;
	case ISO_TRAIN_CANCEL: cancel(visit, &message->cancel); break;
	case ISO_TRAIN_PING:
	case ISO_TRAIN_PONG: ping(visit, &message->ping); break;
	case ISO_TRAIN_BYE: bye(visit, &message->bye); break;
	}
}

/* Bytes of head and fixed fields; 0 for an unknown type. */
static size_t fixed_bytes(unsigned type)
{
	switch (type) {
	case ISO_TRAIN_HELLO: return HEAD_BYTES + ISO_TRAIN_NAME_BYTES + 52;
	case ISO_TRAIN_WELCOME: return HEAD_BYTES + 84;
	case ISO_TRAIN_WORK: return HEAD_BYTES + 28;
	case ISO_TRAIN_RESULT: return HEAD_BYTES + 76;
	case ISO_TRAIN_CANCEL: return HEAD_BYTES + 20;
	case ISO_TRAIN_PING:
	case ISO_TRAIN_PONG: return HEAD_BYTES + 28;
	case ISO_TRAIN_BYE: return HEAD_BYTES + 12 + ISO_TRAIN_TEXT_BYTES;
	default: return 0;
	}
}

_Static_assert(HEAD_BYTES + 12 + ISO_TRAIN_TEXT_BYTES + TRAILER_BYTES <= ISO_TRAIN_FIXED_MAX,
	       "the largest type must fit");
_Static_assert(sizeof(float) == 4, "the block is an array of floats");
_Static_assert(TASK_BYTES * ISO_TRAIN_TASKS_MAX + ISO_TRAIN_FIXED_MAX == ISO_TRAIN_HEAD_MAX,
	       "room for all tasks");

/* Printable ASCII, then only zeros, at least one. */
static enum iso_status check_text(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] >= ' ' && text[length] <= '~')
		length++;
	if (length == size)
		return ISO_E_MALFORMED;
	for (size_t i = length; i < size; i++)
		if (text[i] != 0)
			return ISO_E_MALFORMED;
	return ISO_OK;
}

static bool is_name_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static enum iso_status check_hello(const struct iso_train_hello *hello)
{
	if (check_text(hello->name, sizeof(hello->name)) != ISO_OK || hello->name[0] == 0)
		return ISO_E_MALFORMED;
	for (size_t i = 0; hello->name[i] != 0; i++)
		if (!is_name_letter(hello->name[i]))
			return ISO_E_MALFORMED;
	if (hello->speed.threads == 0 || hello->samples == 0 || hello->features == 0)
		return ISO_E_RANGE;
	return hello->classes <= CLASSES_MAX ? ISO_OK : ISO_E_RANGE;
}

/* Not below 0, not NaN, not infinite. */
static bool is_amount(double value)
{
	return value >= 0 && value <= 0x1p+1000;
}

static enum iso_status check_welcome(const struct iso_train_welcome *welcome)
{
	if (welcome->workers == 0 || welcome->workers > WORKERS_MAX ||
	    welcome->worker >= welcome->workers)
		return ISO_E_RANGE;
	if (welcome->model < ISO_TRAIN_SOFTMAX || welcome->model > ISO_TRAIN_USER ||
	    welcome->partition < 1 || welcome->partition > 3)
		return ISO_E_RANGE;
	if ((welcome->model == ISO_TRAIN_MLP) != (welcome->hidden > 0) ||
	    (welcome->model == ISO_TRAIN_USER) != (welcome->user_task != 0))
		return ISO_E_RANGE;
	if (welcome->params == 0 || welcome->params > ISO_TRAIN_PARAMS_MAX)
		return ISO_E_RANGE;
	if (welcome->features == 0 || welcome->classes > CLASSES_MAX || welcome->samples_max == 0 ||
	    welcome->samples_max > SAMPLES_MAX)
		return ISO_E_RANGE;
	if (!is_amount(welcome->alpha) || !is_amount(welcome->l2) || welcome->ping_ns == 0)
		return ISO_E_RANGE;
	/* Then it is a fraction. */
	if (welcome->partition == 3 && !(welcome->alpha > 0 && welcome->alpha <= 1))
		return ISO_E_RANGE;
	return ISO_OK;
}

static enum iso_status check_result(const struct iso_train_result *result, uint32_t floats)
{
	bool abandoned = result->flags == ISO_TRAIN_ABANDONED;

	if (result->flags != 0 && !abandoned)
		return ISO_E_MALFORMED;
	if (result->worker >= WORKERS_MAX || result->attempt == 0 || result->speed.threads == 0)
		return ISO_E_RANGE;
	if (abandoned)
		return floats == 0 && result->samples == 0 ? ISO_OK : ISO_E_RANGE;
	/* A loss may be NaN: the coordinator has to hear of it. */
	return floats > 0 && result->samples > 0 && result->samples <= SAMPLES_MAX ? ISO_OK
										    : ISO_E_RANGE;
}

static enum iso_status check_speed(const struct iso_train_message *message)
{
	const struct iso_train_speed *speed;

	if (message->type == ISO_TRAIN_HELLO)
		speed = &message->hello.speed;
	else if (message->type == ISO_TRAIN_RESULT)
		speed = &message->result.speed;
	else if (message->type == ISO_TRAIN_PING || message->type == ISO_TRAIN_PONG)
		speed = &message->ping.speed;
	else
		return ISO_OK;
	if (speed->threads > THREADS_MAX || speed->share_ucpu > SHARE_UCPU_MAX)
		return ISO_E_RANGE;
	return ISO_OK;
}

/* What makes sense on its own; what fits the run is the program's to check. */
static enum iso_status check_message(const struct iso_train_message *message)
{
	bool block_allowed = message->type == ISO_TRAIN_WORK || message->type == ISO_TRAIN_RESULT;
	enum iso_status status = check_speed(message);

	if (status != ISO_OK)
		return status;
	if (message->floats > (block_allowed ? ISO_TRAIN_PARAMS_MAX : 0))
		return ISO_E_RANGE;
	switch (message->type) {
	case ISO_TRAIN_HELLO: return check_hello(&message->hello);
	case ISO_TRAIN_WELCOME: return check_welcome(&message->welcome);
	case ISO_TRAIN_WORK:
		if (message->work.oldest > message->work.model_version)
			return ISO_E_RANGE;
		return message->work.count <= ISO_TRAIN_TASKS_MAX ? ISO_OK : ISO_E_RANGE;
	case ISO_TRAIN_RESULT: return check_result(&message->result, message->floats);
	case ISO_TRAIN_CANCEL:
		return message->cancel.count <= ISO_TRAIN_TASKS_MAX ? ISO_OK : ISO_E_RANGE;
	case ISO_TRAIN_PING:
	case ISO_TRAIN_PONG: return ISO_OK;
	case ISO_TRAIN_BYE:
		if (message->bye.reason < ISO_TRAIN_DONE || message->bye.reason > ISO_TRAIN_FAILED)
			return ISO_E_RANGE;
		return check_text(message->bye.text, sizeof(message->bye.text));
	}
	return ISO_E_MALFORMED;
}

static uint32_t task_count(const struct iso_train_message *message)
{
	if (message->type == ISO_TRAIN_WORK)
		return message->work.count;
	return message->type == ISO_TRAIN_CANCEL ? message->cancel.count : 0;
}

/* Attempts count from 1; work has samples, and a CANCEL neither them nor a seed. */
static bool is_task(const struct iso_train_message *message, const struct iso_train_task *task)
{
	if (task->attempt == 0)
		return false;
	if (message->type == ISO_TRAIN_CANCEL)
		return task->samples == 0 && task->seed == 0;
	return task->samples > 0 && task->samples <= SAMPLES_MAX;
}

static enum iso_status put_tasks(struct visit *visit, const struct iso_train_message *message)
{
	const struct iso_train_task *tasks = message->type == ISO_TRAIN_WORK
						     ? message->work.tasks
						     : message->cancel.tasks;

	for (uint32_t i = 0; i < task_count(message); i++) {
		struct iso_train_task task = tasks[i];

		if (message->type == ISO_TRAIN_CANCEL)
			task.samples = 0, task.seed = 0;
		if (!is_task(message, &task))
			return ISO_E_RANGE;
		u64(visit, &task.task);
		u32(visit, &task.attempt);
		u32(visit, &task.samples);
		u64(visit, &task.seed);
	}
	return ISO_OK;
}

static enum iso_status check_tasks(const struct iso_train_message *message)
{
	for (uint32_t i = 0; i < task_count(message); i++) {
		struct iso_train_task task = iso_train_task(message, i);

		if (!is_task(message, &task))
			return ISO_E_RANGE;
	}
	return ISO_OK;
}

enum iso_status iso_train_encode(const struct iso_train_message *message, const void *block,
				 uint8_t *out, size_t capacity, size_t *ret_bytes)
{
	size_t fixed = fixed_bytes(message->type);

	if (fixed == 0)
		return ISO_E_MALFORMED;
	enum iso_status status = check_message(message);
	if (status != ISO_OK)
		return status;
	size_t size = fixed + (size_t)TASK_BYTES * task_count(message) + TRAILER_BYTES;
	if (size > capacity)
		return ISO_E_SHORT;
	assert(size <= ISO_TRAIN_HEAD_MAX);
	assert(message->floats == 0 || block != NULL);
	struct iso_train_message copy = *message;
	struct visit visit = { .out = out, .at = HEAD_BYTES, .end = size };

	fields(&visit, &copy);
	assert(visit.at == fixed);
	status = put_tasks(&visit, message);
	if (status != ISO_OK)
		return status;
	assert(visit.at + TRAILER_BYTES == size);
	iso_put_le(out, MAGIC, 4);
	iso_put_le(out + 4, ISO_TRAIN_VERSION, 2);
	iso_put_le(out + 6, message->type, 2);
	iso_put_le(out + 8, size, 4);
	iso_put_le(out + 12, message->floats, 4);
	uint64_t of_block =
		message->floats > 0 ? iso_checksum(block, (size_t)message->floats * 4) : 0;
	iso_put_le(out + 16, of_block, 8);
	iso_put_le(out + size - TRAILER_BYTES, iso_checksum(out, size - TRAILER_BYTES), 8);
	*ret_bytes = size;
	return ISO_OK;
}

/* Magic, version, size and checksum, in the order in which they can be trusted. */
static enum iso_status check_envelope(const uint8_t *head, size_t size)
{
	if (size < HEAD_BYTES + TRAILER_BYTES)
		return ISO_E_SHORT;
	if (size > ISO_TRAIN_HEAD_MAX)
		return ISO_E_LONG;
	if (iso_get_le(head, 4) != MAGIC)
		return ISO_E_MALFORMED;
	if (iso_get_le(head + 4, 2) != ISO_TRAIN_VERSION)
		return ISO_E_VERSION;
	uint64_t said = iso_get_le(head + 8, 4);
	if (said != size)
		return size < said ? ISO_E_SHORT : ISO_E_LONG;
	if (iso_get_le(head + size - TRAILER_BYTES, 8) != iso_checksum(head, size - TRAILER_BYTES))
		return ISO_E_CHECKSUM;
	return ISO_OK;
}

enum iso_status iso_train_decode(const uint8_t *head, size_t size,
				 struct iso_train_message *ret_message)
{
	enum iso_status status = check_envelope(head, size);

	if (status != ISO_OK)
		return status;
	unsigned type = (unsigned)iso_get_le(head + 6, 2);
	size_t fixed = fixed_bytes(type);
	if (fixed == 0)
		return ISO_E_MALFORMED;
	if (size < fixed + TRAILER_BYTES)
		return ISO_E_SHORT;
	struct iso_train_message message = {
		.type = (enum iso_train_type)type,
		.floats = (uint32_t)iso_get_le(head + 12, 4),
		.block_checksum = iso_get_le(head + 16, 8),
		.task_bytes = head + fixed,
	};
	struct visit visit = { .in = head, .at = HEAD_BYTES, .end = fixed };
	fields(&visit, &message);
	assert(visit.at == fixed);
	status = check_message(&message);
	if (status != ISO_OK)
		return status;
	if (message.floats == 0 && message.block_checksum != 0)
		return ISO_E_MALFORMED;
	size_t expected = fixed + (size_t)TASK_BYTES * task_count(&message) + TRAILER_BYTES;
	if (size != expected)
		return size < expected ? ISO_E_SHORT : ISO_E_LONG;
	status = check_tasks(&message);
	if (status != ISO_OK)
		return status;
	*ret_message = message;
	return ISO_OK;
}

struct iso_train_task iso_train_task(const struct iso_train_message *message, uint32_t index)
{
	const uint8_t *at = message->task_bytes + (size_t)TASK_BYTES * index;

	assert(index < task_count(message));
	assert(message->task_bytes != NULL);
	return (struct iso_train_task){
		.task = iso_get_le(at, 8),
		.attempt = (uint32_t)iso_get_le(at + 8, 4),
		.samples = (uint32_t)iso_get_le(at + 12, 4),
		.seed = iso_get_le(at + 16, 8),
	};
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/wire/worker.h"

#include <assert.h>
#include <math.h>

#include "lib/bytes.h"

#define MAGIC 0x316b7769u /* "iwk1" */

_Static_assert(ISO_WORKER_RECORD_BYTES == 4 + 4 + 8 + 4 + 4, "the layout in the header");

/* The three values of the layout. */
struct values {
	uint64_t first;
	uint32_t second, third;
};

static struct values pack(const struct iso_worker_record *record)
{
	switch (record->type) {
	case ISO_WORKER_REGISTER:
		assert(record->enrol.tid != 0);
		return (struct values){ 0, record->enrol.tid, 0 };
	case ISO_WORKER_SLOT:
		assert(record->slot.tid != 0);
		return (struct values){ 0, record->slot.tid, record->slot.slot };
	case ISO_WORKER_SHARE:
		return (struct values){ record->share.share_ucpu, record->share.cpus, 0 };
	case ISO_WORKER_PROGRESS:
		return (struct values){ record->progress.tasks_done, record->progress.threads,
					record->progress.connected };
	case ISO_WORKER_FAULT:
		return (struct values){ record->fault.number, (uint32_t)record->fault.what,
					(uint32_t)record->fault.call };
	case ISO_WORKER_ROUND:
		return (struct values){ record->round.round, record->round.live,
					(uint32_t)record->round.phase };
	case ISO_WORKER_MEASURE:
		assert(isfinite(record->measure.value));
		return (struct values){ iso_bits_of_double(record->measure.value),
					(uint32_t)record->measure.what, 0 };
	}
	assert(!"a type of the enum");
	return (struct values){ 0 };
}

/* False if the values do not belong to the type; the record's type is set. */
static bool unpack(struct values values, struct iso_worker_record *record)
{
	switch (record->type) {
	case ISO_WORKER_REGISTER:
		record->enrol.tid = values.second;
		return values.second != 0 && values.first == 0 && values.third == 0;
	case ISO_WORKER_SLOT:
		record->slot.tid = values.second;
		record->slot.slot = values.third;
		return values.second != 0 && values.first == 0;
	case ISO_WORKER_SHARE:
		record->share.share_ucpu = values.first;
		record->share.cpus = values.second;
		return values.third == 0;
	case ISO_WORKER_PROGRESS:
		record->progress.tasks_done = values.first;
		record->progress.threads = values.second;
		record->progress.connected = values.third == 1;
		return values.third <= 1;
	case ISO_WORKER_FAULT:
		record->fault.number = (uint32_t)values.first;
		record->fault.what = (enum iso_worker_fault)values.second;
		record->fault.call = (enum iso_worker_call)values.third;
		return values.first <= UINT32_MAX && values.second >= ISO_WORKER_CRASHED &&
		       values.second <= ISO_WORKER_UNUSABLE && values.third <= ISO_WORKER_LOSS;
	case ISO_WORKER_ROUND:
		record->round.round = values.first;
		record->round.live = values.second;
		record->round.phase = (enum iso_worker_phase)values.third;
		return values.third >= ISO_WORKER_TRAINS && values.third <= ISO_WORKER_DONE;
	case ISO_WORKER_MEASURE:
		record->measure.value = iso_double_of_bits(values.first);
		record->measure.what = (enum iso_worker_measure)values.second;
		return isfinite(record->measure.value) && values.second >= 1 &&
		       values.second <= ISO_WORKER_MEASURES && values.third == 0;
	}
	return false;
}

void iso_worker_encode(const struct iso_worker_record *record,
		       uint8_t ret_bytes[ISO_WORKER_RECORD_BYTES])
{
	struct values values = pack(record);

	iso_put_le(ret_bytes, MAGIC, 4);
	iso_put_le(ret_bytes + 4, (uint64_t)record->type, 4);
	iso_put_le(ret_bytes + 8, values.first, 8);
	iso_put_le(ret_bytes + 16, values.second, 4);
	iso_put_le(ret_bytes + 20, values.third, 4);
}

enum iso_status iso_worker_decode(const uint8_t *bytes, size_t size,
				  struct iso_worker_record *ret_record)
{
	if (size < ISO_WORKER_RECORD_BYTES)
		return ISO_E_SHORT;
	if (size > ISO_WORKER_RECORD_BYTES)
		return ISO_E_LONG;
	if (iso_get_le(bytes, 4) != MAGIC)
		return ISO_E_VERSION;

	uint64_t type = iso_get_le(bytes + 4, 4);
	struct iso_worker_record record = { .type = (enum iso_worker_type)type };
	struct values values = {
		.first = iso_get_le(bytes + 8, 8),
		.second = (uint32_t)iso_get_le(bytes + 16, 4),
		.third = (uint32_t)iso_get_le(bytes + 20, 4),
	};

	if (!unpack(values, &record))
		return ISO_E_MALFORMED;
	assert(type >= ISO_WORKER_REGISTER);
	assert(type <= ISO_WORKER_MEASURE);
	*ret_record = record;
	return ISO_OK;
}

const char *iso_worker_call_text(enum iso_worker_call call)
{
	static const char *const texts[] = {
		"none of its functions", "check()",    "params()", "init()",
		"workspace()",           "gradient()", "loss()",
	};

	return (unsigned)call <= ISO_WORKER_LOSS ? texts[call] : texts[ISO_WORKER_NO_CALL];
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/opjson.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_op(const json_t *request)
{
	static struct opjson_op op, back;
	struct error error = { 0 };

	if (opjson_op_read(request, "lab", &op, &error) < 0) {
		assert(error.code == -EINVAL);
		assert(error.text[0] != '\0');
		return;
	}
	assert(iso_op_check(&op.op) == ISO_OK);
	json_t *again = opjson_op_write(&op);
	assert(again != NULL);
	int r = opjson_op_read(again, "lab", &back, &error);
	assert(r == 0);
	assert(memcmp(&op, &back, sizeof(op)) == 0);
	json_decref(again);
}

static void try_admission(const json_t *request)
{
	static struct opjson_admission admission, back;
	struct error error = { 0 };

	if (opjson_admission_read(request, &admission, &error) < 0) {
		assert(error.code == -EINVAL);
		assert(error.text[0] != '\0');
		return;
	}
	json_t *again = opjson_admission_write(&admission);
	assert(again != NULL);
	int r = opjson_admission_read(again, &back, &error);
	assert(r == 0);
	assert(memcmp(&admission, &back, sizeof(admission)) == 0);
	json_decref(again);
}

static void try_answer(const json_t *reply)
{
	struct opjson_answer answer;
	struct error error = { 0 };

	if (opjson_answer_read(reply, &answer, &error) < 0) {
		assert(error.code == -EBADMSG);
		return;
	}
	assert(answer.outcome >= OPJSON_APPLIED);
	assert(answer.outcome <= OPJSON_REFUSED);
	assert((answer.outcome == OPJSON_APPLIED) || answer.error != NULL);
}

/* What is understood is written so that it is understood the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	if (json == NULL)
		return 0;
	try_op(json);
	try_admission(json);
	try_answer(json);
	json_decref(json);
	return 0;
}

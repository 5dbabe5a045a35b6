/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/vectorfield.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *status_name(enum iso_status status)
{
	switch (status) {
#define X(name, text)                                                                              \
	case name: return status == ISO_OK ? "OK" : #name + strlen("ISO_E_");
		ISO_STATUS_MAP(X)
#undef X
	}
	return "?";
}

void vectorfield_status(struct vectorfile *file, enum iso_status status)
{
	ck_assert_msg(strcmp(status_name(status), vectorfile_text(file, "status")) == 0, "%s: %s",
		      file->name, status_name(status));
}

static uint64_t load(const void *object, const struct field *field)
{
	const uint8_t *at = (const uint8_t *)object + field->offset;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (field->size) {
	case sizeof(two): memcpy(&two, at, sizeof(two)); return two;
	case sizeof(four): memcpy(&four, at, sizeof(four)); return four;
	case sizeof(eight): memcpy(&eight, at, sizeof(eight)); return eight;
	default: ck_abort_msg("%s has %zu bytes", field->name, field->size);
	}
}

static void store(void *object, const struct field *field, uint64_t value)
{
	uint8_t *at = (uint8_t *)object + field->offset;
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	if (field->size == sizeof(two))
		memcpy(at, &two, sizeof(two));
	else if (field->size == sizeof(four))
		memcpy(at, &four, sizeof(four));
	else
		memcpy(at, &value, sizeof(value));
}

void vectorfield_each(struct vectorfile *file, const char *prefix, const struct field *fields,
		      size_t count, void *object, bool is_check)
{
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		char *text = (char *)object + field->offset;
		char key[64];

		snprintf(key, sizeof(key), "%s%s", prefix, field->name);
		const char *value = vectorfile_text(file, key);
		if (field->size > sizeof(uint64_t)) {
			ck_assert_uint_lt(strlen(value), field->size);
			if (!is_check)
				memcpy(text, value, strlen(value) + 1);
			ck_assert_msg(strcmp(text, value) == 0, "%s: %s is %s", file->name, key,
				      text);
			continue;
		}
		struct field whole = { .size = field->size };
		uint64_t number = vectorfile_number(file, key), expected = 0;

		store(&expected, &whole, number);
		expected = load(&expected, &whole);
		if (!is_check)
			store(object, field, number);
		ck_assert_msg(load(object, field) == expected, "%s: %s is %#" PRIx64, file->name,
			      key, load(object, field));
	}
}

void vectorfield_bytes(const struct vectorfile *file, const uint8_t *bytes, size_t size)
{
	if (size == file->size && memcmp(bytes, file->bytes, size) == 0)
		return;
	fprintf(stderr, "case %s", file->name);
	for (size_t i = 0; i < size; i++)
		fprintf(stderr, "%s%02x", i % 32 == 0 ? "\nbytes " : "", bytes[i]);
	fprintf(stderr, "\n");
	ck_abort_msg("%s: encoded otherwise", file->name);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_VECTORFIELD_H
#define ISO_VECTORFIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"
#include "tests/vectorfile.h"

/* The library's structs against a case of a vector file. */

/* A field under its name in the file; what is larger than 8 bytes is text. */
struct field {
	const char *name;
	size_t offset;
	size_t size;
};
#define FIELD(type, member)                                                                        \
	{                                                                                          \
#member, offsetof(type, member), sizeof(((type *)0)->member)                       \
	}
#define FIELD_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The case's line "status" names this one. */
void vectorfield_status(struct vectorfile *file, enum iso_status status);

/* The fields of the case into an object, or compared with it. */
void vectorfield_each(struct vectorfile *file, const char *prefix, const struct field *fields,
		      size_t count, void *object, bool is_check);

/* These are the case's bytes; on failure prints them all, in the format of the file. */
void vectorfield_bytes(const struct vectorfile *file, const uint8_t *bytes, size_t size);

#endif

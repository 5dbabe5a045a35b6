/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_VECTORFILE_H
#define ISO_VECTORFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads tests/vectors as isobar-protocol(7) describes it, one case at a time.
 * It knows nothing of the library, so that a test of a second implementation
 * can use it.  A file that cannot be read or parsed fails the test.
 */

#define VECTORFILE_LINES_MAX 1024u
#define VECTORFILE_BYTES_MAX 8193u

struct vectorfile_line {
	const char *key;
	const char *value; /* "" if there is none */
	bool used;	   /* somebody has asked for it */
};

struct vectorfile {
	char *text;
	char *at;	  /* the next line */
	unsigned cases;	  /* seen so far */
	const char *name; /* of the case at hand; also for messages */
	uint32_t count;
	struct vectorfile_line lines[VECTORFILE_LINES_MAX]; /* without bytes and zeros */
	uint8_t bytes[VECTORFILE_BYTES_MAX];
	size_t size;
};

/* Opens a file of the source's tests/vectors; the caller closes it. */
void vectorfile_open(const char *name, struct vectorfile *ret_file);
void vectorfile_close(struct vectorfile *file);

/*
 * Goes on to the next case; false at the end.  Every line of the case before
 * must have been used.
 */
bool vectorfile_next(struct vectorfile *file);

/* NULL: the case has no such line. */
const char *vectorfile_find(struct vectorfile *file, const char *key);

/* The line must be there. */
const char *vectorfile_text(struct vectorfile *file, const char *key);
uint64_t vectorfile_number(struct vectorfile *file, const char *key);

/* The bytes that a hexadecimal text stands for; returns how many. */
size_t vectorfile_hex(const char *text, uint8_t *ret_bytes, size_t capacity);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONFUTIL_H
#define ISO_CONFUTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"

/*
 * Configuration files by a table: each option is one row that says what it
 * is, where it goes in a plain struct, what it is by default and what it is
 * for.  The parser, the manual's list, the sample file and the nearest-key
 * hint all read the same rows.  The grammar is libconfuse's; quantities carry
 * their unit.  One file at a time: libconfuse's scanner is one per process.
 */

enum confutil_type {
	CONFUTIL_CPU = 1,  /* uint64_t, µCPU: "1.5cpu" */
	CONFUTIL_DURATION, /* uint64_t, ns: "100ms" */
	CONFUTIL_NUMBER,   /* double without a unit, min <= x <= max */
	CONFUTIL_INTEGER,  /* int64_t, min <= x <= max */
	CONFUTIL_BOOL,	   /* bool: yes no true false on off */
	CONFUTIL_NAME,	   /* char[size]: letter or digit first, then those and . _ - */
	CONFUTIL_PATH,	   /* char[size]: absolute */
	CONFUTIL_TEXT,	   /* char[size]: anything that fits */
	CONFUTIL_ADDRESS,  /* char[size]: tcp://HOST:PORT, ipc:///PATH or inproc://NAME */
	CONFUTIL_KEY,	   /* char[size >= 41]: Z85, as text or as the file that holds it */
	CONFUTIL_CHOICE,   /* int: index into choices, counted from 0 */
};

/* Set in flags. */
#define CONFUTIL_REQUIRED 1u
#define CONFUTIL_OR_OFF	  2u /* DURATION: "off" is zero, below any least */
#define CONFUTIL_OR_NONE  4u /* CPU: "none" is UINT64_MAX, above any most */

struct confutil_option {
	const char *section; /* "" at the top level */
	const char *name;
	enum confutil_type type;
	const char *initial;  /* as a person would write it; NULL: none (zero, empty) */
	const char *choices;  /* CHOICE: "a|b|c" */
	double min, max;      /* NUMBER, INTEGER; both 0: no bound */
	uint64_t least, most; /* CPU, DURATION; most 0: no bound */
	unsigned flags;
	size_t offset, size; /* in the struct of the section: the file's, or the repeated one's */
	const char *doc;     /* one line, no full stop */
};

/* A section that may come often, each with its own title: neighbour "b" { }. */
struct confutil_repeated {
	const char *section;
	size_t offset; /* of the first element in the file's struct */
	size_t stride;
	size_t count_max;
	size_t count_offset;		 /* of an unsigned: how many were found */
	size_t title_offset, title_size; /* in the element: char[], checked like a NAME */
	size_t line_offset;		 /* in the element: int, where it stands in the file */
	size_t lines_offset; /* ... struct confutil_lines of its own options; 0: not kept */
};

#define CONFUTIL_OPTIONS_MAX 96

struct confutil_schema {
	const struct confutil_option *options;
	size_t option_count;
	const struct confutil_repeated *repeated;
	size_t repeated_count;
};

/* Line of each option of the schema, 0 where the file, or this element, does not set it. */
struct confutil_lines {
	int of[CONFUTIL_OPTIONS_MAX];
};

/*
 * Fills *ret_struct (defaults first) from text, called name in messages.
 * Returns 0; -EINVAL with "NAME: line N: ..." for what the file says wrong;
 * -ENOMEM.  On failure *ret_struct and *ret_lines are untouched.
 */
int confutil_parse(const struct confutil_schema *schema, const char *name, const char *text,
		   size_t struct_size, void *ret_struct, struct confutil_lines *ret_lines,
		   struct error *reterr);

/* A whole file of at most so many MiB, with a NUL; free() it.  Error: -errno, "open NAME: why". */
int confutil_read_text(const char *path, unsigned mib_max, char **ret_text, struct error *reterr);

/* A configuration, which is of at most 1 MiB. */
int confutil_read_file(const char *path, char **ret_text, struct error *reterr);

/* The line of section.name, or 0. */
int confutil_line(const struct confutil_schema *schema, const struct confutil_lines *lines,
		  const char *section, const char *name);

/* The nearest of count candidates by edit distance, or NULL if none is near. */
const char *confutil_nearest(const char *word, const char *const *candidates, size_t count);

/* What a value of this type looks like, for messages and the manual: "CPU such as 1.5cpu". */
const char *confutil_expected(enum confutil_type type);

/* True for 40 characters of Z85 (a CURVE key in text). */
bool confutil_is_key(const char *text);

/* True if the address needs no name service: an IP number, or not TCP at all. */
bool confutil_is_numeric(const char *address);

#endif

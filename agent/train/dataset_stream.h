/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef AGENT_DATASET_STREAM_H
#define AGENT_DATASET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"

/* A file that is read once from its start, plain or gzip'd: the content tells. */
struct stream;

int stream_open(const char *path, struct stream **ret_stream, struct error *reterr);

/* Takes NULL; returns NULL. */
struct stream *stream_close(struct stream *stream);

/*
 * Reads until `size` bytes are there or the file ends; *ret_size says how many.  What
 * is wrong with a gzip'd file is an error, with the offset after unpacking.
 */
int stream_read(struct stream *stream, void *out, size_t size, size_t *ret_size,
		struct error *reterr);

/*
 * For decoders that take bytes as they come: reads more behind what was not used of
 * the bytes before, and says in *ret_bytes where all of it is and in *ret_available how
 * much; valid until the next call.  *ret_is_end: nothing comes after it.  -EFBIG:
 * nothing was used of STREAM_PIECE_MAX bytes.
 */
#define STREAM_PIECE_MAX ((size_t)64 << 20)
int stream_more(struct stream *stream, size_t used, const char **ret_bytes, size_t *ret_available,
		bool *ret_is_end, struct error *reterr);

#endif

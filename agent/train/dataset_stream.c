/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_stream.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct stream {
	gzFile file;
	char *path;
	uint64_t offset; /* of what is read next */
	/* stream_more()'s. */
	char *buffer;
	size_t size, start, end;
	bool is_end;
};

#define PIECE_FIRST ((size_t)256 << 10)

int stream_open(const char *path, struct stream **ret_stream, struct error *reterr)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (stream != NULL)
		stream->path = strdup(path);
	if (stream == NULL || stream->path == NULL) {
		stream_close(stream);
		return error_errno(reterr, -ENOMEM, "%s", path);
	}
	errno = 0;
	stream->file = gzopen(path, "rbe");
	if (stream->file == NULL) {
		int r = errno != 0 ? -errno : -ENOMEM;

		stream_close(stream);
		return error_errno(reterr, r, "%s", path);
	}
	(void)gzbuffer(stream->file, 128 * 1024); /* speed only */
	*ret_stream = stream;
	return 0;
}

struct stream *stream_close(struct stream *stream)
{
	if (stream == NULL)
		return NULL;
	if (stream->file != NULL)
		(void)gzclose(stream->file); /* read only: nothing can be lost */
	free(stream->path);
	free(stream->buffer);
	free(stream);
	return NULL;
}

/* A read error of zlib in words; gzread() does not tell them from a short file. */
static int refuse(struct stream *stream, struct error *reterr)
{
	int code = Z_OK;
	const char *text = gzerror(stream->file, &code);
	unsigned long long offset = stream->offset;

	if (code == Z_ERRNO)
		return error_errno(reterr, -errno, "%s: offset %llu", stream->path, offset);
	if (code == Z_BUF_ERROR)
		return error_set(reterr, -EBADMSG, "%s: offset %llu: gzip data is cut off",
				 stream->path, offset);
	return error_set(reterr, -EBADMSG, "%s: offset %llu: damaged gzip data: %s", stream->path,
			 offset, text);
}

int stream_read(struct stream *stream, void *out, size_t size, size_t *ret_size,
		struct error *reterr)
{
	size_t filled = 0;

	while (filled < size) {
		size_t rest = size - filled;
		unsigned piece = rest < INT_MAX ? (unsigned)rest : INT_MAX;
		int got = gzread(stream->file, (char *)out + filled, piece);

		if (got < 0)
			return refuse(stream, reterr);
		filled += (size_t)got;
		stream->offset += (size_t)got;
		if ((unsigned)got < piece) {
			/* The end, or a cut or damaged stream that still gave something. */
			int code = Z_OK;

			(void)gzerror(stream->file, &code);
			if (code != Z_OK && code != Z_STREAM_END)
				return refuse(stream, reterr);
			break;
		}
	}
	*ret_size = filled;
	return 0;
}

/* Room for at least as much again as is there. */
static int make_room(struct stream *stream, struct error *reterr)
{
	size_t rest = stream->end - stream->start;
	size_t size = rest > PIECE_FIRST / 2 ? 2 * rest : PIECE_FIRST;

	if (rest > 0)
		memmove(stream->buffer, stream->buffer + stream->start, rest);
	stream->start = 0;
	stream->end = rest;
	if (size <= stream->size)
		return 0;
	char *buffer = realloc(stream->buffer, size);
	if (buffer == NULL)
		return error_errno(reterr, -ENOMEM, "%s", stream->path);
	stream->buffer = buffer;
	stream->size = size;
	return 0;
}

int stream_more(struct stream *stream, size_t used, const char **ret_bytes, size_t *ret_available,
		bool *ret_is_end, struct error *reterr)
{
	size_t got;

	assert(used <= stream->end - stream->start);
	stream->start += used;
	if (stream->end - stream->start > STREAM_PIECE_MAX)
		return error_set(reterr, -EFBIG, "%s: a line is longer than %zu MiB", stream->path,
				 STREAM_PIECE_MAX >> 20);
	int r = make_room(stream, reterr);
	if (r < 0)
		return r;
	r = stream_read(stream, stream->buffer + stream->end, stream->size - stream->end, &got,
			reterr);
	if (r < 0)
		return r;
	stream->is_end = got < stream->size - stream->end;
	stream->end += got;
	*ret_bytes = stream->buffer + stream->start;
	*ret_available = stream->end - stream->start;
	*ret_is_end = stream->is_end;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define STORED_BYTES (128u * 1024)

/* Of a gzip'd file, where what is read next is. */
enum place {
	BEFORE,	 /* at its start, or between two of its members */
	WITHIN,	 /* a member */
	PADDING, /* zeros behind the last one, as tapes have them */
};

struct stream {
	int fd;
	char *path;
	bool is_packed, has_inflate;
	enum place place;
	z_stream zlib;
	uint8_t *stored;     /* STORED_BYTES, of the file as it is; zlib says what is left */
	uint64_t stored_end; /* bytes of the file that were read */
	bool is_stored_end;  /* there are no more */
	/* stream_more()'s. */
	char *buffer;
	size_t size, start, end;
	bool is_end;
};

#define PIECE_FIRST ((size_t)256 << 10)

static int refuse(const struct stream *stream, const char *why, struct error *reterr)
{
	uint64_t offset = stream->stored_end - stream->zlib.avail_in;

	return error_set(reterr, -EBADMSG, "%s: offset %llu: %s", stream->path,
			 (unsigned long long)offset, why);
}

/* Until it is full or the file ends; nothing of what was there is left. */
static int read_stored(struct stream *stream, struct error *reterr)
{
	size_t filled = 0;

	assert(stream->zlib.avail_in == 0);
	while (filled < STORED_BYTES && !stream->is_stored_end) {
		ssize_t got = read(stream->fd, stream->stored + filled, STORED_BYTES - filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(reterr, -errno, "%s: offset %llu", stream->path,
					   (unsigned long long)(stream->stored_end + filled));
		stream->is_stored_end = got == 0;
		filled += (size_t)got;
	}
	stream->stored_end += filled;
	stream->zlib.next_in = stream->stored;
	stream->zlib.avail_in = (unsigned)filled;
	return 0;
}

/* By its content: the name says nothing. */
static int find_out(struct stream *stream, struct error *reterr)
{
	int r = read_stored(stream, reterr);

	if (r < 0)
		return r;
	stream->is_packed =
	    stream->zlib.avail_in >= 2 && stream->stored[0] == 0x1f && stream->stored[1] == 0x8b;
	if (!stream->is_packed)
		return 0;
	/* 16: with the head and the checksum of gzip. */
	stream->has_inflate = inflateInit2(&stream->zlib, 16 + MAX_WBITS) == Z_OK;
	return stream->has_inflate ? 0 : error_errno(reterr, -ENOMEM, "%s", stream->path);
}

int stream_open(const char *path, struct stream **ret_stream, struct error *reterr)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int r = -ENOMEM;

	if (stream != NULL) {
		stream->fd = -1;
		stream->path = strdup(path);
		stream->stored = malloc(STORED_BYTES);
	}
	if (stream == NULL || stream->path == NULL || stream->stored == NULL) {
		stream_close(stream);
		return error_errno(reterr, r, "%s", path);
	}
	stream->fd = open(path, O_RDONLY | O_CLOEXEC);
	r = stream->fd < 0 ? error_errno(reterr, -errno, "%s", path) : find_out(stream, reterr);
	if (r < 0) {
		stream_close(stream);
		return r;
	}
	*ret_stream = stream;
	return 0;
}

struct stream *stream_close(struct stream *stream)
{
	if (stream == NULL)
		return NULL;
	if (stream->has_inflate)
		(void)inflateEnd(&stream->zlib);
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->stored);
	free(stream->path);
	free(stream->buffer);
	free(stream);
	return NULL;
}

/* Up to `size` bytes of a plain file; 0: it has ended. */
static size_t copy_some(struct stream *stream, void *out, size_t size)
{
	z_stream *zlib = &stream->zlib;
	size_t count = zlib->avail_in < size ? zlib->avail_in : size;

	memcpy(out, zlib->next_in, count);
	zlib->next_in += count;
	zlib->avail_in -= (unsigned)count;
	return count;
}

/* Between two members: 1, the next one begins here. */
static int begin_member(struct stream *stream, struct error *reterr)
{
	z_stream *zlib = &stream->zlib;

	while (zlib->avail_in > 0 && *zlib->next_in == 0) {
		stream->place = PADDING;
		zlib->next_in++;
		zlib->avail_in--;
	}
	if (zlib->avail_in == 0)
		return 0;
	if (stream->place == PADDING || *zlib->next_in != 0x1f)
		return refuse(stream, "bytes behind the gzip data", reterr);
	if (inflateReset(zlib) != Z_OK)
		return error_errno(reterr, -ENOMEM, "%s", stream->path);
	stream->place = WITHIN;
	return 1;
}

/* Some more of a gzip'd file, which is not at its end; *ret_count may be 0. */
static int inflate_some(struct stream *stream, void *out, size_t size, size_t *ret_count,
			struct error *reterr)
{
	z_stream *zlib = &stream->zlib;
	unsigned room = size < INT_MAX ? (unsigned)size : INT_MAX;

	*ret_count = 0;
	if (stream->place != WITHIN) {
		int r = begin_member(stream, reterr);
		if (r <= 0)
			return r;
	}
	zlib->next_out = out;
	zlib->avail_out = room;
	int code = inflate(zlib, Z_NO_FLUSH);
	*ret_count = room - zlib->avail_out;
	if (code == Z_STREAM_END)
		stream->place = BEFORE;
	else if (code == Z_MEM_ERROR)
		return error_errno(reterr, -ENOMEM, "%s", stream->path);
	else if (code != Z_OK && code != Z_BUF_ERROR) {
		char why[96];

		snprintf(why, sizeof(why), "damaged gzip data: %s",
			 zlib->msg != NULL ? zlib->msg : zError(code));
		return refuse(stream, why, reterr);
	}
	return 0;
}

int stream_read(struct stream *stream, void *out, size_t size, size_t *ret_size,
		struct error *reterr)
{
	size_t filled = 0, count;
	int r = 0;

	while (filled < size) {
		if (stream->zlib.avail_in == 0 && !stream->is_stored_end)
			r = read_stored(stream, reterr);
		if (r < 0)
			return r;
		char *next = (char *)out + filled;
		if (stream->is_packed)
			r = inflate_some(stream, next, size - filled, &count, reterr);
		else
			count = copy_some(stream, next, size - filled);
		if (r < 0)
			return r;
		filled += count;
		if (count > 0 || stream->zlib.avail_in > 0 || !stream->is_stored_end)
			continue;
		if (stream->is_packed && stream->place == WITHIN)
			return refuse(stream, "gzip data is cut off", reterr);
		break;
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
		return error_errno(reterr, -EFBIG, "%s", stream->path);
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

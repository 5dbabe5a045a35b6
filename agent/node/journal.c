/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/crash.h"

#define FRESH_NAME JOURNAL_NAME ".new"
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

struct journal {
	int fd;
	struct journal_io io;
	int dir_fd;	/* borrowed */
	bool is_read_only; /* the file system was when it was opened */
	bool failed;	/* what the disk holds is unknown: never write again */
	uint64_t seq;	/* of the newest record */
	uint8_t slots[ISO_JOURNAL_BYTES]; /* what they hold */
	char path[256]; /* for messages */
};

static ssize_t real_pread(void *context, int fd, void *bytes, size_t size, off_t offset)
{
	(void)context;
	return pread(fd, bytes, size, offset);
}

static ssize_t real_pwrite(void *context, int fd, const void *bytes, size_t size, off_t offset)
{
	(void)context;
	return pwrite(fd, bytes, size, offset);
}

static int real_fdatasync(void *context, int fd)
{
	(void)context;
	return fdatasync(fd);
}

static const struct journal_io real_io = { real_pread, real_pwrite, real_fdatasync, NULL };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/*
 * A call that was interrupted is repeated; one that wrote a part goes on behind it.
 * *ret_touched: some of it was written, or may have been.
 */
static int write_all(const struct journal_io *io, int fd, const uint8_t *bytes, size_t size,
		     off_t offset, bool *ret_touched)
{
	*ret_touched = false;
	while (size > 0) {
		ssize_t n = io->pwrite(io->context, fd, bytes, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int r = n < 0 ? -errno : -EIO;

			/* Refused before anything was done; others may be of the disk. */
			*ret_touched |= r != -ENOSPC && r != -EDQUOT && r != -EROFS;
			return r;
		}
		*ret_touched = true;
		bytes += n;
		offset += n;
		size -= (size_t)n;
	}
	return 0;
}

static int sync_fd(const struct journal_io *io, int fd)
{
	return io->fdatasync(io->context, fd) == 0 ? 0 : -errno;
}

/* Everything of the new journal but its name. */
static int write_fresh(const struct journal_io *io, int fd, const struct iso_record *record)
{
	uint8_t bytes[ISO_JOURNAL_BYTES];
	struct iso_record copy = *record;
	bool touched;
	int r;

	/* Both slots valid from the first, so that a damaged one can always be told. */
	for (uint64_t seq = 1; seq <= 2; seq++) {
		copy.seq = seq;
		iso_record_encode(&copy, bytes + seq % 2 * ISO_SLOT_BYTES);
	}
	r = write_all(io, fd, bytes, sizeof(bytes), 0, &touched);
	return r == 0 ? sync_fd(io, fd) : r;
}

int journal_create(int dir_fd, const char *dir_path, const struct journal_io *io,
		   const struct iso_record *record, struct error *reterr)
{
	__attribute__((cleanup(close_fd))) int fd = -1;
	int r;

	if (io == NULL)
		io = &real_io;
	/* Written under another name and linked when complete: a journal exists whole or not. */
	(void)unlinkat(dir_fd, FRESH_NAME, 0); /* left by an attempt that died; gone is fine */
	fd = openat(dir_fd, FRESH_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(reterr, -errno, "create journal '%s/" FRESH_NAME "'", dir_path);
	r = write_fresh(io, fd, record);
	if (r < 0) {
		error_errno(reterr, r, "write new journal '%s/" FRESH_NAME "'", dir_path);
	} else if (linkat(dir_fd, FRESH_NAME, dir_fd, JOURNAL_NAME, 0) < 0) {
		r = -errno;
		if (r == -EEXIST)
			error_set(reterr, r,
				  "journal '%s/" JOURNAL_NAME "' exists already and holds this "
				  "node's share; it is never replaced",
				  dir_path);
		else
			error_errno(reterr, r, "name journal '%s/" JOURNAL_NAME "'", dir_path);
	}
	(void)unlinkat(dir_fd, FRESH_NAME, 0);
	if (r == 0 && fsync(dir_fd) < 0)
		r = error_errno(reterr, -errno, "make the new journal durable in '%s'", dir_path);
	return r;
}

static int read_slots(const struct journal *journal, uint8_t bytes[ISO_JOURNAL_BYTES],
		      struct error *reterr)
{
	size_t size = 0;
	struct stat status;

	if (fstat(journal->fd, &status) < 0)
		return error_errno(reterr, -errno, "stat journal '%s'", journal->path);
	if (!S_ISREG(status.st_mode) || status.st_size != ISO_JOURNAL_BYTES)
		return error_set(reterr, -EUCLEAN,
				 "journal '%s' has %jd bytes where %u are expected: it is damaged "
				 "and a share is never made up; see CAVEATS in isobard(8)",
				 journal->path, (intmax_t)status.st_size, ISO_JOURNAL_BYTES);
	while (size < ISO_JOURNAL_BYTES) {
		ssize_t n = journal->io.pread(journal->io.context, journal->fd, bytes + size,
					      ISO_JOURNAL_BYTES - size, (off_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_errno(reterr, n < 0 ? -errno : -EIO, "read journal '%s'",
					   journal->path);
		size += (size_t)n;
	}
	return 0;
}

static int recover(struct journal *journal, uint64_t cluster, uint64_t node,
		   struct iso_record *ret_record, struct error *reterr)
{
	struct iso_record record;
	int r = read_slots(journal, journal->slots, reterr);

	if (r < 0)
		return r;

	enum iso_status status = iso_record_recover(journal->slots, &record);

	if (status == ISO_E_VERSION)
		return error_set(reterr, -EUCLEAN,
				 "journal '%s' was written by another version of isobar; use that "
				 "version",
				 journal->path);
	if (status != ISO_OK)
		return error_set(reterr, -EUCLEAN,
				 "journal '%s' is damaged (%s) and a share is never made up; see "
				 "CAVEATS in isobard(8)",
				 journal->path,
				 status == ISO_E_DAMAGED ? "no slot is surely the newest"
							 : iso_status_text(status));
	if (record.cluster != cluster)
		return error_set(reterr, -EXDEV, "journal '%s' is of another cluster",
				 journal->path);
	if (record.node != node)
		return error_set(reterr, -EXDEV, "journal '%s' is of another node", journal->path);
	/*
	 * What was read may have been in the page cache only, left by a process that was killed
	 * before its fdatasync.  It must be on the disk before the other slot is touched, or a
	 * power cut could tear both.
	 */
	r = sync_fd(&journal->io, journal->fd);
	if (r < 0)
		return error_errno(reterr, r, "make journal '%s' durable", journal->path);
	journal->seq = record.seq;
	*ret_record = record;
	return 0;
}

int journal_open(int dir_fd, const char *dir_path, const struct journal_io *io, uint64_t cluster,
		 uint64_t node, struct journal **ret_journal, struct iso_record *ret_record,
		 struct error *reterr)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int r;

	if (journal == NULL)
		return error_set(reterr, -ENOMEM, "out of memory");
	journal->io = io != NULL ? *io : real_io;
	(void)snprintf(journal->path, sizeof(journal->path), "%s/" JOURNAL_NAME, dir_path);
	journal->dir_fd = dir_fd;
	journal->fd = openat(dir_fd, JOURNAL_NAME, OPEN_FLAGS | O_RDWR);
	/* It can still be read, and what it says be enforced; nothing is said to anybody. */
	journal->is_read_only = journal->fd < 0 && errno == EROFS;
	if (journal->is_read_only)
		journal->fd = openat(dir_fd, JOURNAL_NAME, OPEN_FLAGS | O_RDONLY);
	if (journal->fd < 0) {
		r = -errno;
		if (r == -ENOENT)
			error_set(reterr, r,
				  "no journal '%s': make one with --init if this node is new; if "
				  "it is not, its share is lost here; see CAVEATS in isobard(8)",
				  journal->path);
		else
			error_errno(reterr, r, "open journal '%s'", journal->path);
		goto fail;
	}
	if (flock(journal->fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (r == -EBUSY)
			error_set(reterr, r, "journal '%s' is in use by another isobard",
				  journal->path);
		else
			error_errno(reterr, r, "lock journal '%s'", journal->path);
		goto fail;
	}
	r = recover(journal, cluster, node, ret_record, reterr);
	if (r < 0)
		goto fail;
	*ret_journal = journal;
	return 0;
fail:
	journal_close(journal);
	return r;
}

/*
 * The file system can be written again.  The lock cannot be handed over from one
 * descriptor to the other, so whether anybody has written in between is looked at.
 */
static int open_again(struct journal *journal, struct error *reterr)
{
	uint8_t bytes[ISO_JOURNAL_BYTES];
	int fd = openat(journal->dir_fd, JOURNAL_NAME, OPEN_FLAGS | O_RDWR);

	if (fd < 0)
		return error_errno(reterr, -errno, "open journal '%s'", journal->path);
	close(journal->fd);
	journal->fd = fd;
	journal->is_read_only = false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(reterr, -errno, "lock journal '%s' again", journal->path);
	int r = read_slots(journal, bytes, reterr);
	if (r == 0 && memcmp(bytes, journal->slots, sizeof(bytes)) != 0)
		r = error_set(reterr, -EUCLEAN, "journal '%s' is not what it was", journal->path);
	if (r < 0)
		return r;
	r = sync_fd(&journal->io, fd);
	return r < 0 ? error_errno(reterr, r, "make journal '%s' durable", journal->path) : 0;
}

/*
 * There was no room when fdatasync asked for it, as a network or a thin volume can say: what
 * the disk has of the older slot is unknown, and the page may be taken for clean.  Written
 * over, it is dirty again, so that the next fdatasync has to write it or to fail; and
 * who starts after a kill reads what was before, not what was never durable.  The disk may
 * have all of the record after a power cut: its successor, of which nobody has heard.
 */
static bool take_back(struct journal *journal, size_t offset)
{
	bool touched;

	return write_all(&journal->io, journal->fd, journal->slots + offset, ISO_SLOT_BYTES,
			 (off_t)offset, &touched) == 0;
}

/* what: for messages.  The slot holds the bytes from then on, and durably. */
static int write_slot(struct journal *journal, uint64_t seq, const uint8_t *slot, const char *what,
		      struct error *reterr)
{
	size_t offset = seq % 2 * ISO_SLOT_BYTES;
	bool touched;

	if (journal->failed)
		return error_set(reterr, -EIO,
				 "journal '%s' failed before; nothing more is written to it",
				 journal->path);
	if (journal->is_read_only) {
		int r = open_again(journal, reterr);

		journal->failed = r < 0 && r != -EROFS;
		if (r < 0)
			return r;
	}
	int r = write_all(&journal->io, journal->fd, slot, ISO_SLOT_BYTES, (off_t)offset, &touched);
	if (r < 0)
		error_errno(reterr, r, "write %s to journal '%s'", what, journal->path);
	if (r == 0) {
		crash_point("recorded");
		r = sync_fd(&journal->io, journal->fd);
		if (r < 0)
			error_errno(reterr, r, "make %s in journal '%s' durable", what,
				    journal->path);
	}
	journal->failed = r < 0 && touched &&
			  !((r == -ENOSPC || r == -EDQUOT) && take_back(journal, offset));
	if (r == 0 && slot != journal->slots + offset)
		memcpy(journal->slots + offset, slot, ISO_SLOT_BYTES);
	return r;
}

int journal_write(struct journal *journal, const struct iso_record *record, struct error *reterr)
{
	uint8_t slot[ISO_SLOT_BYTES];
	char what[40];

	iso_record_encode(record, slot);
	(void)snprintf(what, sizeof(what), "record %" PRIu64, record->seq);
	int r = write_slot(journal, record->seq, slot, what, reterr);
	if (r == 0)
		journal->seq = record->seq;
	return r;
}

int journal_probe(struct journal *journal, struct error *reterr)
{
	uint64_t seq = journal->seq + 1;

	return write_slot(journal, seq, journal->slots + seq % 2 * ISO_SLOT_BYTES, "a slot",
			  reterr);
}

bool journal_is_whole(const struct journal *journal)
{
	return !journal->failed;
}

struct journal *journal_close(struct journal *journal)
{
	if (journal == NULL)
		return NULL;
	if (journal->fd >= 0)
		close(journal->fd);
	free(journal);
	return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_JOURNAL_H
#define ISO_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "lib/ledger/record.h"

/*
 * The journal file: two slots of lib/ledger/record.h in one preallocated
 * file JOURNAL_NAME in the state directory.  Holding it open and locked is
 * what makes this process the only agent of its node.
 */
#define JOURNAL_NAME "journal"

struct journal;

/* Where the bytes go; tests put faults here.  NULL means the real calls. */
struct journal_io {
	ssize_t (*pread)(void *context, int fd, void *bytes, size_t size, off_t offset);
	ssize_t (*pwrite)(void *context, int fd, const void *bytes, size_t size, off_t offset);
	int (*fdatasync)(void *context, int fd);
	void *context;
};

/*
 * Makes the journal of a new node, durable with its directory entry when this returns.
 * dir_fd: the state directory, borrowed; dir_path: its name for messages.
 * -EEXIST: there is one; it is never replaced.
 */
int journal_create(int dir_fd, const char *dir_path, const struct journal_io *io,
		   const struct iso_record *record, struct error *reterr);

/*
 * Opens, locks, recovers and makes durable what was read (it may have been in
 * the page cache only).  The record is what to go on from.
 * On a file system that is read-only it can be opened as well; a write fails until that
 * can be written, see journal_is_whole().
 * dir_fd: borrowed until journal_close().
 * -ENOENT: no journal.  -EBUSY: another process has it.  -EUCLEAN: damaged, or
 * of another version.  -EXDEV: of another cluster or node.
 * *ret_journal is owned by the caller until journal_close().
 */
int journal_open(int dir_fd, const char *dir_path, const struct journal_io *io, uint64_t cluster,
		 uint64_t node, struct journal **ret_journal, struct iso_record *ret_record,
		 struct error *reterr);

/*
 * Writes the older slot and makes it durable.  A failure is final: nobody
 * can know what the disk holds, a second fdatasync could succeed without
 * having written, so this journal refuses every further write with -EIO.
 * The caller closes the trading core and ends, with the quota lowered.
 * But for those after which journal_is_whole().
 */
int journal_write(struct journal *journal, const struct iso_record *record, struct error *reterr);

/*
 * After a failure: the disk was full, over its quota or read-only and took not a byte; or
 * it was only found to be full or over its quota when the record was to be made durable,
 * and what was before has been put in its place.  Then a power cut before the next
 * success may leave this record or the one before, and in no other case anything
 * but the latter.  A later write may be tried, with the same number and other content.
 */
bool journal_is_whole(const struct journal *journal);

/*
 * Whether it can be written again: the older slot as it is, durably.  What was the newest
 * record still is.  Fails as journal_write() does.
 */
int journal_probe(struct journal *journal, struct error *reterr);

/* Releases the lock; NULL is fine; returns NULL. */
struct journal *journal_close(struct journal *journal);

#endif

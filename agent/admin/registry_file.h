/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_REGISTRY_FILE_H
#define ISO_REGISTRY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/base/error.h"
#include "lib/ledger/registry.h"

/*
 * The registry on disk: DIRECTORY/registry.jsonl, lines that are only ever
 * appended (agent/admin/entry.h).  Nothing is acted on before its line is
 * durable.  So a last line without its newline was never acted on and is
 * dropped; anything else that is wrong with the file refuses it, since some node
 * may have done what the damaged line said.
 */

#define REGISTRY_FILE_NAME "registry.jsonl"

struct registry_file;

/* Replaceable for tests; NULL stands for the system's. */
struct registry_io {
	ssize_t (*write)(void *context, int fd, const void *bytes, size_t size);
	int (*fdatasync)(void *context, int fd);
	void *context;
};

/*
 * Locks the file, reads it and brings the registry (initialised here) up to
 * date.  read_only: no lock, nothing is changed, and no append.
 * -EBUSY: somebody else has it open, with the pid.  -ENOENT: there is none yet.
 * -EUCLEAN: damaged; the message names the line.
 */
int registry_file_open(const char *directory, bool read_only, const struct registry_io *io,
		       struct iso_registry *registry, struct registry_file **ret_file,
		       struct error *reterr);

/*
 * A new one with these entries, all or nothing; the directory is made.
 * -EEXIST: there is one, and it is never replaced.
 */
int registry_file_create(const char *directory, const struct registry_io *io,
			 const struct iso_registry_entry *entries, uint32_t count,
			 struct error *reterr);

/*
 * Durable when it returns 0.  After an error the file takes nothing more: what
 * is on the disk is known only to whoever opens it again.
 */
int registry_file_append(struct registry_file *file, const struct iso_registry_entry *entry,
			 struct error *reterr);

const char *registry_file_path(const struct registry_file *file);

/* A half-written last line was dropped when it was opened. */
bool registry_file_torn(const struct registry_file *file);

/* Takes NULL; returns NULL. */
struct registry_file *registry_file_close(struct registry_file *file);

#endif

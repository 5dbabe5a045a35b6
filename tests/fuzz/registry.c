/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A registry file: its lines, sealed here so that what is in them is reached.  Whatever
 * they say, the books of a registry that is ready balance, what follows from it
 * can be entered, and each entry that was taken is written as it was read.
 */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/admin/entry.h"
#include "lib/checksum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct iso_registry registry;

static void check_written(const struct iso_registry_entry *entry)
{
	static char line[ENTRY_LINE_BYTES];
	struct iso_registry_entry again;
	struct error error;
	size_t size;

	if (entry_write(entry, 0, line, &size, &error) < 0)
		return;
	int r = entry_read(line, size - 1, &again, &error);
	assert(r == 0);
	assert(memcmp(entry, &again, sizeof(again)) == 0);
}

static void follow(void)
{
	struct iso_registry_entry entry;

	for (int i = 0; i < 64 && iso_registry_next(&registry, &entry) == ISO_OK; i++) {
		check_written(&entry);
		if (iso_registry_apply(&registry, &entry) != ISO_OK)
			return;
		assert(iso_registry_imbalance(&registry) == 0);
	}
}

static void take_line(const uint8_t *text, size_t length)
{
	char line[ENTRY_LINE_BYTES];
	struct iso_registry_entry entry;
	struct error error;

	if (length + 32 > sizeof(line))
		return;
	memcpy(line, text, length);
	int n = snprintf(line + length, sizeof(line) - length, ",\"sum\":\"%016" PRIx64 "\"}",
			 iso_checksum(line, length));
	if (entry_read(line, length + (size_t)n, &entry, &error) < 0) {
		assert(error.text[0] != '\0');
		return;
	}
	check_written(&entry);
	if (iso_registry_apply(&registry, &entry) == ISO_OK)
		assert(!registry.ready || iso_registry_imbalance(&registry) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_registry_entry entry;
	struct error error;

	/* As it is, too. */
	(void)entry_read((const char *)data, size, &entry, &error);
	iso_registry_init(&registry);
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t length = end != NULL ? (size_t)(end - (data + at)) : size - at;

		take_line(data + at, length);
		at += length + 1;
	}
	follow();
	return 0;
}

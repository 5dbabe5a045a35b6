/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PAGETABLE_H
#define ISO_PAGETABLE_H

/* Tables of isobar-protocol(7), read from its source. */

#define PAGETABLE_ROWS_MAX 64

/* Either "offset, type, name, meaning" or "member, type, meaning": then offset is 0. */
struct row {
	unsigned offset, size;
	char type[16], name[48], meaning[192];
};

struct table {
	struct row rows[PAGETABLE_ROWS_MAX];
	unsigned count;
};

/* A file of the source, to be freed by the caller. */
char *pagetable_source(const char *name);

/* The table behind the comment '.\" table: NAME', which must be there. */
void pagetable_read(const char *name, struct table *ret_table);

/* The row must be there. */
const struct row *pagetable_row(const struct table *table, const char *name);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_STATUS_H
#define ISO_STATUS_H

/*
 * The one result type of the library.  ISO_OK is zero; every other value is
 * an expected outcome that the caller must handle.  Bugs are not reported
 * here: they are assertions.
 */

#define ISO_MUST_USE __attribute__((warn_unused_result))

/* X(name, text) - keep the text a phrase that can follow "cannot do x: ". */
#define ISO_STATUS_MAP(X)                                     \
	X(ISO_OK, "success")                                  \
	X(ISO_E_RANGE, "value out of range")                  \
	X(ISO_E_UNIT, "unit missing or unknown")              \
	X(ISO_E_SYNTAX, "not a number")                       \
	X(ISO_E_FULL, "table is full")                        \
	X(ISO_E_UNKNOWN, "no such entry")                     \
	X(ISO_E_SHORT, "too short")                           \
	X(ISO_E_LONG, "too long")                             \
	X(ISO_E_MALFORMED, "malformed")                       \
	X(ISO_E_CHECKSUM, "checksum does not match")          \
	X(ISO_E_VERSION, "version is not supported")          \
	X(ISO_E_FOREIGN, "belongs to another cluster or node") \
	X(ISO_E_CONFIG, "shared configuration differs")       \
	X(ISO_E_DAMAGED, "damaged")                           \
	X(ISO_E_HALTED, "trading has stopped")                \
	X(ISO_E_STALE, "this operation or a later one was done before") \
	X(ISO_E_BUSY, "not possible yet")                     \
	X(ISO_E_STEPS, "not reached in as many steps as were allowed")

enum iso_status {
#define X(name, text) name,
	ISO_STATUS_MAP(X)
#undef X
};

/* A phrase without full stop; static, never NULL. */
const char *iso_status_text(enum iso_status status);

#endif

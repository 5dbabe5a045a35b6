/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_QUANTITY_H
#define ISO_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Quantities as people write them.  A number without its unit is refused:
 * nobody should have to guess whether 100 is milliseconds or microseconds.
 * Decimal point whatever the locale, no sign, no exponent, no blanks.
 */

#define ISO_UCPU_PER_CPU  1000000u
#define ISO_NS_PER_S      1000000000u

/*
 * "1.5cpu", "250mcpu", "37500ucpu" or "150%" (of one CPU) into µCPU: µs of
 * CPU time per second.  A value finer than 1 µCPU is ISO_E_RANGE, since the
 * ledger could not hold it exactly.
 */
ISO_MUST_USE enum iso_status iso_quantity_cpu(const char *text, uint64_t *ret_ucpu);

/* "100ms", "1s", "50us", "2min", "0.5s" into ns; finer than 1 ns is ISO_E_RANGE. */
ISO_MUST_USE enum iso_status iso_quantity_duration(const char *text, uint64_t *ret_ns);

/*
 * The shortest exact spelling that reads back the same, such as "1.5cpu" or
 * "37500ucpu"; always fits in 32 bytes with its NUL.
 */
#define ISO_QUANTITY_BYTES 32u
void iso_quantity_cpu_format(uint64_t ucpu, char ret_text[ISO_QUANTITY_BYTES]);

#endif

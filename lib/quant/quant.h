/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_QUANT_H
#define ISO_QUANT_H

#include <stdint.h>

#include "lib/trade/price.h"
#include "lib/status.h"

/*
 * The logarithmic quantiser of "Machine Learning and CPU Scheduling
 * Co-Optimization over a Network of Computing Centers" (arXiv 2510.25176):
 *
 *     q(v) = sgn(v) exp(rho * round(ln|v| / rho)),   q(0) = 0
 *
 * on fixed-point prices.  Both ends of an edge must reconstruct identical
 * bits, so the levels are a table built with integers alone; its digest goes
 * into the configuration digest.  Levels and decision bounds are rounded to
 * whole units of 2^-32, so e^(-rho/2) <= q(v)/v <= e^(rho/2) holds to ±1 unit.
 *
 * What is smaller than the first bound (less than 64 units, 1.5e-8) is zero.
 */

/* rho in units of 1/65536; 1/4 is what the project uses. */
#define ISO_QUANT_RHO_DEFAULT 16384u
#define ISO_QUANT_RHO_MIN     2048u   /* 1/32 */
#define ISO_QUANT_RHO_MAX     131072u /* 2 */

#define ISO_QUANT_LEVELS_MAX 1280u

/* 20 KiB; one table serves every node that shares the configuration. */
struct iso_quant {
	uint32_t rho_q16;
	uint32_t levels;
	uint64_t digest;                         /* of rho and every entry */
	int64_t level[ISO_QUANT_LEVELS_MAX + 1]; /* [1..levels], ascending; [0] is zero */
	int64_t bound[ISO_QUANT_LEVELS_MAX + 2]; /* level k: bound[k] <= |v| < bound[k+1] */
};

/* Values lie within [low, high], both included. */
struct iso_quant_interval {
	int64_t low;
	int64_t high;
};

/* ISO_E_RANGE: rho outside [ISO_QUANT_RHO_MIN, ISO_QUANT_RHO_MAX]. */
ISO_MUST_USE enum iso_status iso_quant_init(uint32_t rho_q16, struct iso_quant *ret_quant);

/*
 * The symbol of a value within ±2^62 (a difference of two prices): the sign
 * times the number of its level, 0 for zero.  Odd and monotone.
 */
int16_t iso_quant_symbol(const struct iso_quant *quant, int64_t value);

/*
 * What the symbol stands for.  ISO_E_UNKNOWN: no such level (it may come
 * from the network).
 */
ISO_MUST_USE enum iso_status iso_quant_value(const struct iso_quant *quant, int16_t symbol,
					     int64_t *ret_value);

/* Which values have this symbol: exact, since the bounds are integers. */
ISO_MUST_USE enum iso_status iso_quant_interval(const struct iso_quant *quant, int16_t symbol,
						struct iso_quant_interval *ret_interval);

#endif

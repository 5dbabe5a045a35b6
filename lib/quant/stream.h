/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_STREAM_H
#define ISO_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "lib/status.h"

/*
 * Vectors from one node to its neighbours, in few bits.  Both ends keep an
 * *estimate* of the vector, equal at the start (zeros, or what a message
 * of its own brought); a payload moves it to the same bits at both.  What one
 * calculates with is the estimate, at the sender too.
 *
 *   NONE, SINGLE  the values, as doubles or floats
 *   UNIFORM       step round(v / step)
 *   LOG           q(v) = sgn(v) exp(rho round(ln|v| / rho)), q(0) = 0, the co-optimisation
 *                 paper's (arXiv 2510.25176): e^(-rho/2) <= q(v)/v <= e^(rho/2), but
 *                 0 for what is below 2^-24 of the largest value
 *   INNOVATION    estimate += q'(v - estimate): q' has levels rho apart too, but they
 *                 end at the largest difference and lie where the error is least.  The
 *                 largest of the errors that are left is at most max(tanh(rho/2),
 *                 e^(-rho levels)) of the largest difference before, less than 1.
 *
 * Of UNIFORM and LOG an error stays that is relative to the step or the value; that of
 * INNOVATION goes to 0 when the values come to rest.  A lost payload ends
 * a stream of INNOVATION; the caller numbers them and starts anew.
 *
 * With `coarser` rho follows the stream: it is 2^k rho, with k bits less a component,
 * k <= coarser, as long as the largest change (v - estimate) is at least 3/2 of what an
 * estimate with such a rho may be off, e^(2^k rho / 2) - 1 of the largest value.  So it begins
 * coarse, and ends fine when the values come to rest, whatever was lost or joined on
 * the way: a payload says what it is made of.  It is for LOG, whose rho is fine only for the
 * sake of the end; INNOVATION may be coarse all the time.
 *
 * The payload (isobar-protocol(7) has the same), little-endian:
 *   0  u8   mode
 *   1  u8   bits   of a component
 *   2  u16  0
 *   4  f32  rho    UNIFORM: step; NONE, SINGLE: 0
 *   8  u32  anchor LOG: index of the highest level, as i32; INNOVATION: the highest
 *                  level, as f32; else 0
 *  12       n components: f64, f32 or codes as in pack.h
 *           f32 of each escape, in order: what is beyond UNIFORM's levels, or below LOG's
 */

#define ISO_STREAM_HEAD_BYTES 12u

enum iso_stream_mode {
	ISO_STREAM_NONE = 1,
	ISO_STREAM_SINGLE,
	ISO_STREAM_UNIFORM,
	ISO_STREAM_LOG,
	ISO_STREAM_INNOVATION,
};

struct iso_stream_config {
	enum iso_stream_mode mode;
	uint32_t n;	  /* components, at least 1 */
	unsigned bits;	  /* UNIFORM, LOG, INNOVATION: of a component, 2..16 */
	double rho;	  /* LOG, INNOVATION: rounded to float, as is step */
	double step;	  /* UNIFORM */
	unsigned coarser; /* LOG, INNOVATION: how often rho may double; 0: never */
};

/*
 * ISO_E_RANGE: a member that the mode uses is out of its range: rho and 2^coarser rho within
 * [1/1024, 4], step a normal float, coarser <= bits - 2.
 */
ISO_MUST_USE enum iso_status iso_stream_check(const struct iso_stream_config *config);

/* All functions below take a config that was checked. */

/* The longest payload. */
size_t iso_stream_bytes_max(const struct iso_stream_config *config);

/*
 * Sender: values[n] -> out, and estimate[n] moves to where the receivers' will be.
 * Returns the bytes written.  0: a value (or its difference to the estimate) is not finite
 * as a float, or as a double for NONE; nothing has changed then.
 */
size_t iso_stream_encode(const struct iso_stream_config *config, const double *values,
			 double *estimate, uint8_t *out);

/*
 * Receiver.  The estimate is untouched unless the result is ISO_OK.
 * ISO_E_SHORT, ISO_E_LONG: not the size of such a payload.  ISO_E_CONFIG: another mode, or rho,
 * step or bits that the config does not allow.  ISO_E_MALFORMED: what no sender
 * writes.  ISO_E_RANGE: a number that is not finite.
 */
ISO_MUST_USE enum iso_status iso_stream_decode(const struct iso_stream_config *config,
					       const uint8_t *in, size_t size, double *estimate);

/*
 * For simulators: the estimate as after encode and decode, without the bytes.  Returns
 * how many bits they would have been, 0 where encode returns 0.
 */
uint64_t iso_stream_apply(const struct iso_stream_config *config, const double *values,
			  double *estimate);

#endif

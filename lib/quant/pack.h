/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_PACK_H
#define ISO_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Signed codes in as few bits as they need: sign and magnitude, the sign above.
 * +0 is zero; the pattern of -0 says that the value itself comes elsewhere (escape).
 *
 * 512 codes at a time lie across each other, so that one instruction moves many
 * of them: code 16 r + l is at bits r * bits and up of lane l, and the 16 lanes'
 * words of 32 bits follow each other, first word of each lane first.  What is
 * left at the end comes one code after the other from bit 0 of the first byte
 * up, the last byte filled with zeros.  So n codes take ceil(n * bits / 8)
 * bytes, and block k of 512 begins at byte 64 * bits * k.
 */

#define ISO_PACK_BITS_MIN 2u
#define ISO_PACK_BITS_MAX 16u
#define ISO_PACK_BLOCK	  512u
#define ISO_PACK_ESCAPE	  INT16_MIN

/* The largest magnitude of a code. */
static inline int32_t iso_pack_most(unsigned bits)
{
	return (int32_t)((1u << (bits - 1)) - 1);
}

static inline size_t iso_pack_bytes(size_t n, unsigned bits)
{
	return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

/* codes[n], each an escape or within +-iso_pack_most(bits) -> out[iso_pack_bytes(n, bits)]. */
void iso_pack(const int16_t *codes, size_t n, unsigned bits, uint8_t *out);

/* in[iso_pack_bytes(n, bits)] -> codes[n].  Every pattern is a code. */
void iso_unpack(const uint8_t *in, size_t n, unsigned bits, int16_t *codes);

/* What fills the last byte of n codes is zero, as iso_pack() leaves it. */
bool iso_pack_is_filled(const uint8_t *in, size_t n, unsigned bits);

#endif

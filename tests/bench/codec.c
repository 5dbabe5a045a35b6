/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * Vectors on their way to a neighbour: quantise + pack and unpack + dequantise,
 * against memcpy of the same floats and against converting them to bfloat16 and back;
 * and the same with estimates, in doubles, as streams do it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hot.h"
#include "lib/quant/codec.h"
#include "lib/quant/pack.h"
#include "lib/quant/stream.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"

/* 32 MiB of floats: a model whose vectors do not stay in a cache between two rounds. */
#define FLOATS ((size_t)8 << 20)
#define PAIRS  15
#define BITS   4u
#define RHO    0.5f

static float *in, *out;
static double *values, *estimate, *receiver;
static uint8_t *packed;
static uint16_t *bfloats;
static size_t n, packed_bytes; /* of what is measured now */
static struct iso_codec codec;
static struct iso_stream_config stream;

static void quantise_pack(void)
{
	int16_t codes[ISO_PACK_BLOCK];

	for (size_t at = 0; at < n; at += ISO_PACK_BLOCK) {
		if (iso_codec_encode(&codec, in + at, ISO_PACK_BLOCK, codes) != 0)
			abort();
		iso_pack(codes, ISO_PACK_BLOCK, BITS, packed + iso_pack_bytes(at, BITS));
	}
}

static void unpack_dequantise(void)
{
	int16_t codes[ISO_PACK_BLOCK];

	for (size_t at = 0; at < n; at += ISO_PACK_BLOCK) {
		iso_unpack(packed + iso_pack_bytes(at, BITS), ISO_PACK_BLOCK, BITS, codes);
		iso_codec_decode(&codec, codes, ISO_PACK_BLOCK, out + at);
	}
}

static void copy(void)
{
	memcpy(out, in, n * sizeof(*in));
}

/* To nearest even, as processors do it; nothing here is NaN. */
static ISO_HOT void to_bfloat(const float *restrict from, size_t count, uint16_t *restrict to)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, from + i, sizeof(bits));
		to[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	}
}

static ISO_HOT void from_bfloat(const uint16_t *restrict from, size_t count, float *restrict to)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bits = (uint32_t)from[i] << 16;

		memcpy(to + i, &bits, sizeof(bits));
	}
}

static void narrow(void)
{
	to_bfloat(in, n, bfloats);
}

static void widen(void)
{
	from_bfloat(bfloats, n, out);
}

static void stream_encode(void)
{
	packed_bytes = iso_stream_encode(&stream, values, estimate, packed);
	if (packed_bytes == 0)
		abort();
}

static void stream_decode(void)
{
	if (iso_stream_decode(&stream, packed, packed_bytes, receiver) != ISO_OK)
		abort();
}

static void copy_doubles(void)
{
	memcpy(receiver, values, n * sizeof(*values));
}

static double time_ns(void (*work)(void))
{
	size_t rounds = FLOATS / n;
	uint64_t from_ns = bench_cpu_ns();

	for (size_t i = 0; i < rounds; i++) {
		work();
		/* The results count as used, so no round can be left out. */
		__asm__ volatile("" ::: "memory");
	}
	return (double)(bench_cpu_ns() - from_ns) / (double)(rounds * n);
}

static void measure(const char *name, void (*ours)(void), void (*reference)(void), double goal)
{
	struct bench_pairs pairs = { 0 };

	for (int i = 0; i < PAIRS; i++) {
		double our_ns = time_ns(ours);

		bench_add(&pairs, our_ns, time_ns(reference));
	}
	bench_print(name, "ns", &pairs, goal);
}

static void *memory(size_t bytes)
{
	void *block = malloc(bytes);

	if (block == NULL)
		abort();
	memset(block, 0, bytes); /* the pages are there before they are measured */
	return block;
}

int main(void)
{
	struct iso_rng rng = { 1 };

	in = memory(FLOATS * sizeof(*in));
	out = memory(FLOATS * sizeof(*out));
	packed = memory(FLOATS);
	bfloats = memory(FLOATS * sizeof(*bfloats));
	values = memory(FLOATS * sizeof(*values));
	estimate = memory(FLOATS * sizeof(*estimate));
	receiver = memory(FLOATS * sizeof(*receiver));
	/* Gradients: both signs, over some decades. */
	for (size_t i = 0; i < FLOATS; i++) {
		values[i] = (iso_rng_unit(&rng) - 0.5) * exp(-8 * iso_rng_unit(&rng));
		in[i] = (float)values[i];
	}
	iso_codec_init_scaled(RHO, BITS, 0.5f, &codec);
	n = FLOATS;
	measure("quantise + pack 32 MiB of floats / memcpy", quantise_pack, copy, 2.5);
	measure("unpack + dequantise 32 MiB of floats / memcpy", unpack_dequantise, copy, 2.5);
	measure("quantise + pack 32 MiB of floats / to bfloat16", quantise_pack, narrow, -1);
	measure("unpack + dequantise 32 MiB of floats / from bfloat16", unpack_dequantise, widen,
		-1);
	n = 8192;
	measure("quantise + pack 32 KiB of floats / memcpy", quantise_pack, copy, -1);
	measure("unpack + dequantise 32 KiB of floats / memcpy", unpack_dequantise, copy, -1);
	measure("quantise + pack 32 KiB of floats / to bfloat16", quantise_pack, narrow, -1);
	measure("unpack + dequantise 32 KiB of floats / from bfloat16", unpack_dequantise, widen,
		-1);
	n = FLOATS;
	stream = (struct iso_stream_config){
		.mode = ISO_STREAM_INNOVATION, .n = (uint32_t)n, .bits = BITS, .rho = (double)RHO
	};
	measure("encode an innovation of 64 MiB of doubles / memcpy", stream_encode, copy_doubles,
		-1);
	measure("decode an innovation of 64 MiB of doubles / memcpy", stream_decode, copy_doubles,
		-1);
	free(in);
	free(out);
	free(packed);
	free(bfloats);
	free(values);
	free(estimate);
	free(receiver);
	return 0;
}

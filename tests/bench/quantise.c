/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* Log-quantising a vector of floats, against the obvious loop and against memcpy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/quant/quant_vector.h"
#include "lib/rng.h"
#include "tests/bench/bench.h"

/* The parameters of a regression on Fashion-MNIST, rounded up: the first cache holds them. */
#define FLOATS 8192
#define ROUNDS 40
#define PAIRS  31
#define RHO    0.25f

static float in[FLOATS], out[FLOATS];
static int16_t codes[FLOATS];
static struct iso_quant_vector quant;

/* What one would write at first: formulas in the order of their definition. */
__attribute__((noinline)) static void plain_codes(void)
{
	for (int i = 0; i < FLOATS; i++) {
		float size = fabsf(in[i]);
		int code = 0;

		if (size > 0)
			code = (int)roundf(logf(size) / RHO) - quant.index_min + 1;
		codes[i] = (int16_t)(in[i] < 0 ? -code : code);
	}
}

__attribute__((noinline)) static void plain_values(void)
{
	for (int i = 0; i < FLOATS; i++) {
		float size = fabsf(in[i]);

		out[i] = 0;
		if (size > 0)
			out[i] = copysignf(expf(RHO * roundf(logf(size) / RHO)), in[i]);
	}
}

static void our_codes(void)
{
	if (iso_quant_vector_encode(&quant, in, FLOATS, codes) != 0)
		abort();
}

static void our_values(void)
{
	if (iso_quant_vector_apply(&quant, in, FLOATS, out) != 0)
		abort();
}

static void copy(void)
{
	memcpy(out, in, sizeof(in));
}

static double time_ns(void (*work)(void))
{
	uint64_t from_ns = bench_cpu_ns();

	for (int i = 0; i < ROUNDS; i++) {
		work();
		/* The results count as used, so no round can be left out. */
		__asm__ volatile("" ::: "memory");
	}
	return (double)(bench_cpu_ns() - from_ns) / ROUNDS / FLOATS;
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

int main(void)
{
	struct iso_rng rng = { 1 };

	if (iso_quant_vector_init(RHO, 0, 0, &quant) != ISO_OK)
		abort();
	/* Gradients: both signs, over six decades. */
	for (int i = 0; i < FLOATS; i++)
		in[i] = (float)((iso_rng_unit(&rng) - 0.5) * exp(-14 * iso_rng_unit(&rng)));
	measure("quantise to codes / logf loop", our_codes, plain_codes, 0.2);
	measure("quantise to values / logf and expf loop", our_values, plain_values, 0.2);
	measure("quantise to codes / memcpy", our_codes, copy, -1);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "lib/bytes.h"
#include "lib/quant/stream.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_MAX 1100u

/* Of 9 bytes: a config that is valid, whatever they are. */
static struct iso_stream_config config_of(const uint8_t *data)
{
	struct iso_stream_config config = {
		.mode = 1 + data[0] % 5,
		.n = 1 + (uint32_t)iso_get_le(data + 1, 2) % N_MAX,
		.bits = 2 + data[3] % 15,
		.rho = ldexp(1 + data[4] / 256.0, data[5] % 12 - 10),
		.step = ldexp(1 + data[6] / 256.0, data[7] % 250 - 125),
	};
	unsigned coarser = data[8] % 15;

	if (coarser > config.bits - 2)
		coarser = config.bits - 2;
	while (coarser > 0 && ldexp(config.rho, (int)coarser) > 4)
		coarser--;
	config.coarser = coarser;
	assert(iso_stream_check(&config) == ISO_OK);
	return config;
}

/* The values are the input's doubles, again and again. */
static void round_trip(const struct iso_stream_config *config, const uint8_t *data, size_t size)
{
	static double values[N_MAX], sender[N_MAX], receiver[N_MAX], simulated[N_MAX];
	const size_t bytes = config->n * sizeof(double);
	size_t doubles = size / 8;
	uint8_t *payload = malloc(iso_stream_bytes_max(config));

	memset(sender, 0, sizeof(sender));
	memset(receiver, 0, sizeof(receiver));
	memset(simulated, 0, sizeof(simulated));
	for (size_t round = 0; round < 2; round++) {
		size_t written;

		for (size_t i = 0; i < config->n; i++) {
			size_t at = (i + round) % (doubles + 1);

			values[i] =
			    at < doubles ? iso_double_of_bits(iso_get_le(data + 8 * at, 8)) : 0;
		}
		written = iso_stream_encode(config, values, sender, payload);
		assert(iso_stream_apply(config, values, simulated) == 8 * (uint64_t)written);
		if (written > 0) {
			uint8_t *exact = malloc(written);
			enum iso_status status;

			memcpy(exact, payload, written);
			status = iso_stream_decode(config, exact, written, receiver);
			assert(status == ISO_OK);
			free(exact);
		}
		assert(memcmp(sender, receiver, bytes) == 0);
		assert(memcmp(sender, simulated, bytes) == 0);
	}
	free(payload);
}

/* From an enemy: taken or refused whole, and what is taken is finite. */
static void hostile(const struct iso_stream_config *config, const uint8_t *payload, size_t size)
{
	static double estimate[N_MAX], before[N_MAX];
	enum iso_status status;

	for (size_t i = 0; i < N_MAX; i++)
		estimate[i] = before[i] = (double)i - 500;
	status = iso_stream_decode(config, payload, size, estimate);
	if (status != ISO_OK) {
		assert(memcmp(estimate, before, sizeof(before)) == 0);
		return;
	}
	for (size_t i = 0; i < config->n; i++)
		assert(isfinite(estimate[i]));
	assert(memcmp(estimate + config->n, before + config->n,
		      (N_MAX - config->n) * sizeof(double)) == 0);
}

/* The head that this config has: no mutation finds a float by itself. */
static void behind_a_head(const struct iso_stream_config *config, const uint8_t *data, size_t size)
{
	uint8_t *payload = malloc(iso_stream_bytes_max(config) + size);
	static double zeros[N_MAX], estimate[N_MAX];

	memset(estimate, 0, sizeof(estimate));
	(void)iso_stream_encode(config, zeros, estimate, payload);
	/* The anchor is the input's. */
	if (size < 4) {
		free(payload);
		return;
	}
	memcpy(payload + 8, data, size);
	uint8_t *exact = malloc(8 + size);
	memcpy(exact, payload, 8 + size);
	hostile(config, exact, 8 + size);
	free(exact);
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_stream_config config;

	if (size < 9)
		return 0;
	config = config_of(data);
	round_trip(&config, data + 9, size - 9);
	hostile(&config, data + 9, size - 9);
	behind_a_head(&config, data + 9, size - 9);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zmq.h>

#include "agent/net/curve.h"
#include "tests/fuzz/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reason that names the file, and nothing written. */
static void check_refusal(int r, const struct error *error, const char *key, const char *untouched)
{
	assert(r == -EINVAL && error->code == r);
	assert(strstr(error->text, "/proc/self/fd/") != NULL);
	assert(memcmp(key, untouched, CURVE_KEY_BYTES) == 0);
}

/* Any file is a key that libzmq can use, of one kind only, or refused. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[FUZZ_MEMORY_PATH_BYTES];
	struct curve_keypair pair, untouched;
	struct error error = { 0 };
	char public_key[CURVE_KEY_BYTES];
	uint8_t binary[32];

	fuzz_memory_write(&fd, path, data, size);
	memset(&untouched, 0x5a, sizeof(untouched));
	pair = untouched;
	int r = curve_secret_read(path, &pair, &error);
	if (r == 0) {
		assert(curve_key_valid(pair.secret_key) && curve_key_valid(pair.public_key));
		assert(memmem(data, size, pair.secret_key, CURVE_KEY_BYTES - 1) != NULL);
		assert(zmq_z85_decode(binary, pair.secret_key) != NULL);
	} else {
		check_refusal(r, &error, pair.secret_key, untouched.secret_key);
	}
	memcpy(public_key, untouched.public_key, sizeof(public_key));
	int other = curve_public_read(path, public_key, &error);
	assert(r < 0 || other < 0);
	if (other == 0) {
		assert(curve_key_valid(public_key));
		assert(memmem(data, size, public_key, CURVE_KEY_BYTES - 1) != NULL);
		assert(zmq_z85_decode(binary, public_key) != NULL);
	} else {
		check_refusal(other, &error, public_key, untouched.public_key);
	}
	return 0;
}

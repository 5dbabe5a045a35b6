/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ANSWERS_H
#define ISO_ANSWERS_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/export/http.h"

/*
 * The web server's answers.  One that stays fresh for a while is made once and
 * shared by all who ask for it until then; slow readers keep older ones, so their
 * sum is bounded, and who would need more is told to come again.
 */

#define ANSWERS_SHARED_MAX 4u
#define ANSWERS_PATH_BYTES 32u
#define ANSWERS_BYTES_MAX  (64u << 20)

struct answer {
	struct MHD_Response *response; /* NULL: none */
	unsigned status;
	uint64_t until_ns;
	char path[ANSWERS_PATH_BYTES];
};

/* Zeroes are an empty one. */
struct answers {
	size_t bytes; /* of all bodies that somebody still holds */
	struct answer shared[ANSWERS_SHARED_MAX];
};

/* Answers with what is shared for this path, or with what fn makes. */
enum MHD_Result answers_send(struct answers *answers, struct MHD_Connection *connection,
			     const char *path, http_fn *fn, void *context);

/* Answers with a line of text, which is static. */
enum MHD_Result answers_refuse(struct MHD_Connection *connection, unsigned status, const char *why);

/* Lets go of what is shared.  The connections must end before answers does. */
void answers_drop(struct answers *answers);

#endif

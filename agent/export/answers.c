/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/answers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"

/* For every answer; the page holds no script, and nobody else's page holds it. */
static const char *const headers[][2] = {
	{ "Cache-Control", "no-store" },
	{ "Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'none'; "
				     "base-uri 'none'; frame-ancestors 'none'" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Referrer-Policy", "no-referrer" },
	{ "X-Content-Type-Options", "nosniff" },
};

/* What a response holds on to until its last reader is through. */
struct body {
	struct answers *answers;
	char *bytes;
	size_t size;
};

static void free_body(void *context)
{
	struct body *body = context;

	assert(body->answers->bytes >= body->size);
	body->answers->bytes -= body->size;
	free(body->bytes);
	free(body);
}

static void add_headers(struct MHD_Response *response, const char *type)
{
	(void)MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		(void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

enum MHD_Result answers_refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
	    strlen(why), (void *)(uintptr_t)why, MHD_RESPMEM_PERSISTENT);

	if (response == NULL)
		return MHD_NO;
	add_headers(response, "text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		(void)MHD_add_response_header(response, "Retry-After", "1");
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static void drop(struct answer *answer)
{
	if (answer->response != NULL)
		MHD_destroy_response(answer->response);
	answer->response = NULL;
}

/* What is fresh for this path; what is no longer goes, as soon as its readers are through. */
static const struct answer *find(struct answers *answers, const char *path)
{
	uint64_t now_ns = clock_now_ns();
	const struct answer *found = NULL;

	for (unsigned i = 0; i < ANSWERS_SHARED_MAX; i++) {
		struct answer *answer = &answers->shared[i];

		if (answer->response != NULL && answer->until_ns <= now_ns)
			drop(answer);
		if (answer->response != NULL && strcmp(answer->path, path) == 0)
			found = answer;
	}
	return found;
}

/* Takes the response over; false: not to be shared, or no room, and it is made anew each time. */
static bool share(struct answers *answers, const char *path, const struct http_reply *reply,
		  struct MHD_Response *response)
{
	size_t size = strlen(path) + 1;

	if (reply->fresh_until_ns <= clock_now_ns() || size > ANSWERS_PATH_BYTES)
		return false;
	for (unsigned i = 0; i < ANSWERS_SHARED_MAX; i++) {
		struct answer *answer = &answers->shared[i];

		if (answer->response != NULL)
			continue;
		*answer = (struct answer){
			.response = response,
			.status = reply->status,
			.until_ns = reply->fresh_until_ns,
		};
		memcpy(answer->path, path, size);
		return true;
	}
	return false;
}

/* Takes the body over; NULL: no memory. */
static struct MHD_Response *make(struct answers *answers, const struct http_reply *reply)
{
	struct body *body = malloc(sizeof(*body));
	struct MHD_Response *response = NULL;

	if (body != NULL && reply->body != NULL) {
		*body = (struct body){ answers, reply->body, reply->size };
		response = MHD_create_response_from_buffer_with_free_callback_cls(
		    reply->size, reply->body, free_body, body);
	}
	if (response == NULL) {
		free(reply->body);
		free(body);
		return NULL;
	}
	answers->bytes += reply->size;
	add_headers(response, reply->type);
	return response;
}

enum MHD_Result answers_send(struct answers *answers, struct MHD_Connection *connection,
			     const char *path, http_fn *fn, void *context)
{
	const struct answer *found = find(answers, path);
	struct http_reply reply = { .status = MHD_HTTP_OK };

	if (found != NULL)
		return MHD_queue_response(connection, found->status, found->response);
	fn(context, path, &reply);
	if (reply.body != NULL && reply.size > ANSWERS_BYTES_MAX - answers->bytes) {
		free(reply.body);
		return answers_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "too much is on its way to slow readers; try again\n");
	}
	struct MHD_Response *response = make(answers, &reply);
	if (response == NULL)
		return answers_refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				      "this could not be made: out of memory\n");
	enum MHD_Result result = MHD_queue_response(connection, reply.status, response);
	if (!share(answers, path, &reply, response))
		MHD_destroy_response(response);
	return result;
}

void answers_drop(struct answers *answers)
{
	for (unsigned i = 0; i < ANSWERS_SHARED_MAX; i++)
		drop(&answers->shared[i]);
}

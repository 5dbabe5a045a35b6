/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_HTTP_H
#define ISO_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/error.h"

struct http;
struct loop;

/*
 * A small web server in the program's loop (libmicrohttpd does the protocol): it
 * answers GET and HEAD, from memory, and no body of a request is read.  At most
 * HTTP_LIVE_MAX connections, and from one address HTTP_SAME_MAX; one more takes the
 * place of who came, or was answered, longest ago, of those at the address that has most
 * of them: so nobody keeps out the others, be it at the same address, as behind a
 * loopback address or a proxy, or from several.  Each has
 * HTTP_MEMORY_BYTES for the request and HTTP_SILENCE_S without a word, and must have
 * its answer HTTP_PATIENCE_S after it began or got the one before, however it dawdles.
 * All answers under way together are bounded too: agent/export/answers.h.
 */

#define HTTP_CLIENTS_MAX  32u
#define HTTP_SAME_MAX	  20u
#define HTTP_SAME_MORE	  4u /* that have to go, and have not gone yet */
#define HTTP_LIVE_MAX	  (HTTP_CLIENTS_MAX - HTTP_SAME_MORE)
#define HTTP_MEMORY_BYTES (16u * 1024u)
#define HTTP_SILENCE_S	  10u
#define HTTP_PATIENCE_S	  30u
#define HTTP_SEND_BYTES	  (128 * 1024) /* for each in the kernel, which doubles it */

struct http_reply {
	unsigned status;
	const char *type; /* static */
	char *body;	  /* from malloc; taken over */
	size_t size;
	uint64_t fresh_until_ns; /* clock_now_ns(): others get the same until then; 0: none does */
};

/* Answers a path, such as "/metrics"; NULL in body: the server could not make it. */
typedef void http_fn(void *context, const char *path, struct http_reply *ret_reply);

struct http_config {
	const char *listen; /* "127.0.0.1:7700", "[::1]:7700"; port 0: any */
	http_fn *fn;
	void *context;
	uint64_t patience_ns; /* 0: HTTP_PATIENCE_S */
};

/*
 * -EINVAL: listen is no address with a port; other -errno as they come.  What
 * listens on a loopback address answers only those who call it one or localhost (the
 * header Host): a page from elsewhere must not read it through somebody's browser.
 */
int http_open(const struct http_config *config, struct loop *loop, struct http **ret_http,
	      struct error *reterr);

/* Where it listens, as a URL's beginning: "http://127.0.0.1:7700". */
const char *http_address(const struct http *http);

/* Takes NULL; returns NULL. */
struct http *http_close(struct http *http);

#endif

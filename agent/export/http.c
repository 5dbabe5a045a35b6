/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/export/answers.h"

#define ADDRESS_BYTES 96

/* A connection, and when it began or was answered last; NULL: free. */
struct client {
	struct MHD_Connection *connection;
	uint64_t since_ns;
	struct in6_addr from;
	bool is_ended; /* by us; the library learns it from the socket */
};

struct http {
	struct loop_source source, timer;
	struct loop *loop;
	struct MHD_Daemon *daemon;
	http_fn *fn;
	void *context;
	bool is_loopback;
	uint64_t patience_ns;
	struct answers answers;
	struct client clients[HTTP_CLIENTS_MAX];
	char address[ADDRESS_BYTES];
};

/* 127.0.0.0/8, also as IPv6 writes it, and ::1. */
static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6) {
		const struct in6_addr *ip =
		    &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(ip) ||
		       (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
	}
	return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
	       127;
}

/*
 * Whether Host, with a port or without, is this machine by a name that no name
 * server can give to another: "localhost", or a loopback address in figures.
 */
static bool is_local_name(const char *host)
{
	struct sockaddr_in ipv4 = { .sin_family = AF_INET };
	struct sockaddr_in6 ipv6 = { .sin6_family = AF_INET6 };
	char name[INET6_ADDRSTRLEN];

	if (host == NULL)
		return true; /* HTTP/1.0, no browser */
	bool has_brackets = host[0] == '[';
	host += has_brackets;
	size_t n = strcspn(host, has_brackets ? "]" : ":");
	if (n >= sizeof(name) || (has_brackets && host[n] != ']'))
		return false;
	const char *rest = host + n + has_brackets;
	if (rest[0] != '\0' && rest[0] != ':')
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	if (has_brackets)
		return inet_pton(AF_INET6, name, &ipv6.sin6_addr) == 1 &&
		       is_loopback((const struct sockaddr *)&ipv6);
	return strcasecmp(name, "localhost") == 0 ||
	       (inet_pton(AF_INET, name, &ipv4.sin_addr) == 1 &&
		is_loopback((const struct sockaddr *)&ipv4));
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *upload, size_t *upload_size, void **state)
{
	struct http *http = context;

	(void)version;
	(void)upload;
	/* Refused at the first call, before a body is read: then the connection is closed. */
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answers_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				      "only GET and HEAD: nothing can be changed here\n");
	if (http->is_loopback && !is_local_name(MHD_lookup_connection_value(
				     connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return answers_refuse(
		    connection, MHD_HTTP_FORBIDDEN,
		    "this listens on a loopback address and answers to localhost alone; "
		    "see --listen in isobar-exporter(8)\n");
	/* Answered at the second, where it may stay open; a body that comes before ends it. */
	if (*state == NULL) {
		*state = http;
		return MHD_YES;
	}
	if (*upload_size > 0)
		return MHD_NO;
	return answers_send(&http->answers, connection, url, http->fn, http->context);
}

/* Its complaints are about what clients send: nothing that a log should be filled with. */
static void on_complaint(void *context, const char *format, va_list ap)
{
	char text[256];

	(void)context;
	vsnprintf(text, sizeof(text), format, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("http: %s", text);
}

/* IPv4 as IPv6 writes it. */
static struct in6_addr address_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info != NULL ? info->client_addr : NULL;
	struct in6_addr from = IN6ADDR_ANY_INIT;

	if (address != NULL && address->sa_family == AF_INET6) {
		from = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	} else if (address != NULL && address->sa_family == AF_INET) {
		from.s6_addr[10] = from.s6_addr[11] = 0xff;
		memcpy(&from.s6_addr[12],
		       &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
	}
	return from;
}

static void hang_up(struct client *client)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(client->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info != NULL)
		(void)shutdown(info->connect_fd, SHUT_RDWR);
	client->is_ended = true;
}

static bool is_live(const struct client *client)
{
	return client->connection != NULL && !client->is_ended;
}

static unsigned count_from(const struct http *http, const struct in6_addr *from)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++)
		count += is_live(&http->clients[i]) &&
			 memcmp(&http->clients[i].from, from, sizeof(*from)) == 0;
	return count;
}

/*
 * Who holds connections does not keep out others: neither at the same address, nor, from
 * several addresses together, those elsewhere.
 */
static void make_room(struct http *http, const struct client *newest)
{
	struct client *oldest = NULL;
	unsigned live = 0, most = 0;

	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++) {
		struct client *client = &http->clients[i];

		if (!is_live(client))
			continue;
		live++;
		unsigned count = count_from(http, &client->from);
		if (client == newest || count < most)
			continue;
		if (count > most || client->since_ns < oldest->since_ns)
			oldest = client;
		most = count;
	}
	if (oldest != NULL &&
	    (count_from(http, &newest->from) > HTTP_SAME_MAX || live > HTTP_LIVE_MAX))
		hang_up(oldest);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **ret_client,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = context;
	struct client *client = *ret_client;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && client != NULL)
		client->connection = NULL;
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++) {
		if (http->clients[i].connection != NULL)
			continue;
		http->clients[i] = (struct client){
			.connection = connection,
			.since_ns = clock_now_ns(),
			.from = address_of(connection),
		};
		*ret_client = &http->clients[i];
		make_room(http, &http->clients[i]);
		return;
	}
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info != NULL ? info->socket_context : NULL;

	(void)context;
	(void)state;
	(void)code;
	if (client != NULL)
		client->since_ns = clock_now_ns();
}

/* Hangs up on those who have had their time; returns when the next one will have. */
static uint64_t end_slow(struct http *http)
{
	uint64_t now_ns = clock_now_ns(), next_ns = UINT64_MAX;

	for (unsigned i = 0; i < HTTP_CLIENTS_MAX; i++) {
		struct client *client = &http->clients[i];
		uint64_t until_ns = client->since_ns + http->patience_ns;

		if (client->connection == NULL || client->is_ended)
			continue;
		if (until_ns > now_ns) {
			next_ns = until_ns < next_ns ? until_ns : next_ns;
			continue;
		}
		hang_up(client);
	}
	return next_ns;
}

/* Lets the library do what there is to do, and comes back when it wants to. */
static void turn(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	(void)MHD_run(http->daemon);
	uint64_t next_ns = end_slow(http);
	if (MHD_get_timeout(http->daemon, &wait_ms) == MHD_YES) {
		uint64_t at_ns = clock_now_ns() + wait_ms * 1000000u;

		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	(void)timer_arm(http->timer.fd, next_ns);
}

static void on_socket(struct loop_source *source, short revents)
{
	(void)revents;
	turn((struct http *)(void *)source);
}

static void on_timer(struct loop_source *source, short revents)
{
	struct http *http = (struct http *)(void *)((char *)source - offsetof(struct http, timer));

	(void)revents;
	(void)timer_consume(source->fd);
	turn(http);
}

/* "ADDRESS:PORT", with brackets around one that has colons itself. */
static int parse(const char *text, struct addrinfo **ret_found, struct error *reterr)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	char host[64];
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;

	if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n) != NULL) {
		n = 0;
	}
	if (n > 0 && n < sizeof(host)) {
		memcpy(host, text, n);
		host[n] = '\0';
		if (getaddrinfo(host, colon + 1, &hints, ret_found) == 0)
			return 0;
	}
	return error_set(reterr, -EINVAL,
			 "no address with a port, such as 127.0.0.1:7700 or [::1]:7700");
}

static void describe(struct http *http, int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[64] = "?", port[8] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		(void)getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
				  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(http->address, sizeof(http->address),
		 strchr(host, ':') != NULL ? "http://[%s]:%s" : "http://%s:%s", host, port);
}

static int open_socket(struct http *http, const char *text, int *ret_fd, struct error *reterr)
{
	static const int on = 1, bytes = HTTP_SEND_BYTES;
	struct addrinfo *found;
	int r = parse(text, &found, reterr);

	if (r < 0)
		return error_wrap(reterr, "'%.60s'", text);
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) < 0 ||
	    bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		r = error_errno(reterr, -errno, "listen at '%s'", text);
	http->is_loopback = is_loopback(found->ai_addr);
	freeaddrinfo(found);
	if (r < 0) {
		if (fd >= 0)
			close(fd);
		return r;
	}
	describe(http, fd);
	*ret_fd = fd;
	return 0;
}

static int watch(struct http *http, struct error *reterr)
{
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info != NULL ? 0 : -ENOTSUP;

	http->timer.fd = timer_open();
	if (http->timer.fd < 0)
		r = http->timer.fd;
	if (r == 0) {
		http->source.fd = info->epoll_fd;
		r = loop_add(http->loop, &http->source);
	}
	if (r == 0)
		r = loop_add(http->loop, &http->timer);
	return r < 0 ? error_errno(reterr, r, "watch the web server's sockets") : 0;
}

int http_open(const struct http_config *config, struct loop *loop, struct http **ret_http,
	      struct error *reterr)
{
	struct http *http = calloc(1, sizeof(*http));
	int fd;

	if (http == NULL)
		return error_errno(reterr, -ENOMEM, "web server");
	http->loop = loop;
	http->fn = config->fn;
	http->context = config->context;
	http->patience_ns =
	    config->patience_ns != 0 ? config->patience_ns : HTTP_PATIENCE_S * UINT64_C(1000000000);
	http->source = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_socket };
	http->timer = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_timer };
	int r = open_socket(http, config->listen, &fd, reterr);
	if (r == 0) {
		/* The socket is the library's from here on, also if that fails. */
		http->daemon = MHD_start_daemon(
		    MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
		    MHD_OPTION_EXTERNAL_LOGGER, on_complaint, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		    MHD_OPTION_CONNECTION_LIMIT, HTTP_CLIENTS_MAX,
		    MHD_OPTION_PER_IP_CONNECTION_LIMIT, HTTP_SAME_MAX + HTTP_SAME_MORE,
		    MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		    MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
		    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
		    MHD_OPTION_CONNECTION_TIMEOUT, HTTP_SILENCE_S, MHD_OPTION_END);
		r = http->daemon != NULL ? watch(http, reterr)
					 : error_set(reterr, -EIO, "the web server did not start");
	}
	if (r < 0) {
		http_close(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

const char *http_address(const struct http *http)
{
	return http->address;
}

struct http *http_close(struct http *http)
{
	if (http == NULL)
		return NULL;
	loop_remove(http->loop, &http->source);
	loop_remove(http->loop, &http->timer);
	if (http->daemon != NULL)
		MHD_stop_daemon(http->daemon);
	answers_drop(&http->answers);
	if (http->timer.fd >= 0)
		close(http->timer.fd);
	free(http);
	return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightnet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 1000

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* An IPv4 number, an IPv6 number in brackets or an asterisk, and a port; false for a name. */
static bool parse_tcp(const char *text, union address *ret_address, socklen_t *ret_size)
{
	const char *host = text + strlen("tcp://"), *colon = strrchr(host, ':');
	char number[INET6_ADDRSTRLEN + 2];
	size_t length = colon != NULL ? (size_t)(colon - host) : sizeof(number);
	uint16_t port = colon != NULL ? htons((uint16_t)strtoul(colon + 1, NULL, 10)) : 0;
	union address address = { 0 };

	if (length >= sizeof(number))
		return false;
	memcpy(number, host, length);
	number[length] = '\0';
	if (strcmp(number, "*") == 0 || inet_pton(AF_INET, number, &address.v4.sin_addr) == 1) {
		address.v4.sin_family = AF_INET;
		address.v4.sin_port = port;
		*ret_size = sizeof(address.v4);
	} else if (number[0] == '[' && number[length - 1] == ']') {
		number[length - 1] = '\0';
		if (inet_pton(AF_INET6, number + 1, &address.v6.sin6_addr) != 1)
			return false;
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_port = port;
		*ret_size = sizeof(address.v6);
	} else {
		return false;
	}
	*ret_address = address;
	return true;
}

static bool is_tcp(const char *address)
{
	return strncmp(address, "tcp://", 6) == 0;
}

static int bind_tcp(const char *text, struct error *reterr)
{
	union address address;
	socklen_t size;
	int on = 1, r = 0;

	if (!parse_tcp(text, &address, &size))
		return 0;
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* As libzmq does: a port in TIME_WAIT is free. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &address.any, size) < 0 || listen(fd, 1) < 0)
		r = error_errno(reterr, -errno, "listen on %s", text);
	if (fd >= 0)
		close(fd);
	return r;
}

int preflightnet_bind(const char *address, struct error *reterr)
{
	char directory[200];

	if (is_tcp(address))
		return bind_tcp(address, reterr);
	if (strncmp(address, "ipc://", 6) != 0)
		return 0;
	snprintf(directory, sizeof(directory), "%s", address + 6);
	*strrchr(directory, '/') = '\0';
	if (access(directory[0] != '\0' ? directory : "/", W_OK | X_OK) < 0)
		return error_errno(reterr, -errno, "listen on %s", address);
	return 0;
}

static int finish_connect(int fd)
{
	struct pollfd item = { .fd = fd, .events = POLLOUT };
	int result = 0;
	socklen_t size = sizeof(result);
	int n = poll(&item, 1, PATIENCE_MS);

	if (n < 0)
		return -errno;
	if (n == 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) < 0)
		return -errno;
	return -result;
}

int preflightnet_connect(const char *text, struct error *reterr)
{
	union address address;
	socklen_t size;
	int r = 0;

	if (!is_tcp(text) || !parse_tcp(text, &address, &size))
		return 0;
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_errno(reterr, -errno, "open a socket");
	if (connect(fd, &address.any, size) < 0)
		r = errno == EINPROGRESS ? finish_connect(fd) : -errno;
	close(fd);
	return r < 0 ? error_errno(reterr, r, "connect to %s", text) : 0;
}

bool preflightnet_answers(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	bool answers = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return answers;
}

void preflightnet_check(struct preflight *preflight, const struct conf *conf, const char *what,
			const char *address)
{
	char running[CONF_PATH_BYTES + 16];
	struct error error;

	snprintf(running, sizeof(running), "%s/control", conf->run_directory);
	if (preflightnet_bind(address, &error) == 0)
		preflight_say(preflight, what, PREFLIGHT_OK, NULL, "%.120s is free", address);
	else if (error.code == -EADDRINUSE && preflightnet_answers(running))
		preflight_say(preflight, what, PREFLIGHT_OK, NULL, "in use: isobard is running");
	else
		preflight_say(preflight, what, PREFLIGHT_MISSING,
		    error.code == -EADDRINUSE ? "end what listens there, or choose another port"
					      : "an address of this machine, see ip addr",
		    "%.180s", error.text);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/ports.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket on a port that the kernel chose. */
static int claim(unsigned *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, size) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		int code = -errno;

		close(fd);
		return code;
	}
	*ret_port = ntohs(address.sin_port);
	return fd;
}

int ports_find(unsigned count, unsigned *ret_ports, struct error *reterr)
{
	int fds[PORTS_MAX], r = 0;
	unsigned open = 0;

	assert(count <= PORTS_MAX);
	/* All are held until the last is found, so that no two are the same. */
	while (open < count && r == 0) {
		fds[open] = claim(&ret_ports[open]);
		if (fds[open] < 0)
			r = error_errno(reterr, fds[open], "find a free port on 127.0.0.1");
		else
			open++;
	}
	while (open > 0)
		close(fds[--open]);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/system/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "tests/test.h"

#define CONNECTIONS_MAX 256u
#define CHUNK_BYTES	4096u
#define QUEUE_BYTES_MAX (1u << 20)
#define TURN_MS		5

struct chunk {
	struct chunk *next;
	uint64_t due_ns;
	size_t at, size;
	uint8_t bytes[CHUNK_BYTES];
};

/* One direction of one connection. */
struct flow {
	int from, to;
	bool ended;	 /* nothing more will come */
	struct chunk *first, **last;
	size_t queued;
};

struct connection {
	bool used;
	bool holed; /* something is missing: it must not go on after the hole */
	unsigned line;
	unsigned cuts; /* of the line when it was made */
	struct flow flows[2];
};

struct engine {
	const struct proxy *proxy;
	struct connection connections[CONNECTIONS_MAX];
};

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				     .sin_port = htons((uint16_t)port) };
}

static void drop_queue(struct flow *flow)
{
	while (flow->first != NULL) {
		struct chunk *chunk = flow->first;

		flow->first = chunk->next;
		free(chunk);
	}
	flow->last = &flow->first;
	flow->queued = 0;
}

/* Both ends get a RST when reset is set, else what TCP does for close(). */
static void hang_up(struct engine *engine, struct connection *connection, bool reset)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	for (unsigned i = 0; i < 2; i++) {
		int fd = connection->flows[i].from;

		if (reset)
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(fd);
		drop_queue(&connection->flows[i]);
	}
	if (reset)
		engine->proxy->lines[connection->line].resets++;
	connection->used = false;
}

static void join(struct engine *engine, unsigned line, int client, int server)
{
	struct proxy_line *state = &engine->proxy->lines[line];

	for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *connection = &engine->connections[i];

		if (connection->used)
			continue;
		*connection = (struct connection){
			.used = true,
			.line = line,
			.cuts = state->cuts_asked,
			.flows = { { .from = client, .to = server },
				   { .from = server, .to = client } },
		};
		for (unsigned k = 0; k < 2; k++)
			connection->flows[k].last = &connection->flows[k].first;
		state->connections++;
		return;
	}
	close(client);
	close(server);
}

static void take_connection(struct engine *engine, unsigned line)
{
	struct sockaddr_in address = loopback(engine->proxy->ports[line]);
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	int one = 1;
	int client = accept4(engine->proxy->listeners[line], NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (client < 0)
		return;
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* On loopback this is answered at once, one way or the other. */
	if (server < 0 || engine->proxy->lines[line].refuse ||
	    connect(server, (struct sockaddr *)&address, sizeof(address)) != 0) {
		(void)setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(client);
		if (server >= 0)
			close(server);
		return;
	}
	(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	join(engine, line, client, server);
}

static void take_bytes(struct engine *engine, struct connection *connection, unsigned direction)
{
	struct flow *flow = &connection->flows[direction];
	struct proxy_line *line = &engine->proxy->lines[connection->line];
	struct chunk *chunk = calloc(1, sizeof(*chunk));

	if (chunk == NULL)
		return;
	ssize_t n = recv(flow->from, chunk->bytes, sizeof(chunk->bytes), MSG_DONTWAIT);
	if (n > 0 && line->mode[direction] == PROXY_SWALLOW) {
		line->swallowed += (uint64_t)n;
		connection->holed = true;
	} else if (n > 0) {
		chunk->size = (size_t)n;
		chunk->due_ns = clock_now_ns() + (uint64_t)line->delay_ms[direction] * 1000000u;
		*flow->last = chunk;
		flow->last = &chunk->next;
		flow->queued += chunk->size;
		return;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		flow->ended = true;
	}
	free(chunk);
}

/* False when the other end is gone. */
static bool forward(struct engine *engine, struct connection *connection, unsigned direction,
		    uint64_t now_ns)
{
	struct flow *flow = &connection->flows[direction];
	struct proxy_line *line = &engine->proxy->lines[connection->line];

	while (flow->first != NULL && flow->first->due_ns <= now_ns) {
		struct chunk *chunk = flow->first;
		ssize_t n = send(flow->to, chunk->bytes + chunk->at, chunk->size - chunk->at,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		chunk->at += (size_t)n;
		line->forwarded += (uint64_t)n;
		flow->queued -= (size_t)n;
		if (chunk->at < chunk->size)
			return true;
		flow->first = chunk->next;
		if (flow->first == NULL)
			flow->last = &flow->first;
		free(chunk);
	}
	return true;
}

static void step(struct engine *engine, struct connection *connection, uint64_t now_ns)
{
	struct proxy_line *line = &engine->proxy->lines[connection->line];
	bool in_hole = line->mode[0] == PROXY_SWALLOW || line->mode[1] == PROXY_SWALLOW;

	if (connection->cuts != line->cuts_asked || line->refuse ||
	    (connection->holed && !in_hole)) {
		hang_up(engine, connection, true);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct flow *flow = &connection->flows[i];

		if (line->mode[i] != PROXY_FORWARD)
			continue;
		if (!forward(engine, connection, i, now_ns) ||
		    (flow->ended && flow->first == NULL)) {
			hang_up(engine, connection, false);
			return;
		}
	}
}

static void turn(struct engine *engine)
{
	struct pollfd polls[PROXY_LINES_MAX + 2 * CONNECTIONS_MAX];
	unsigned owner[PROXY_LINES_MAX + 2 * CONNECTIONS_MAX];
	nfds_t count = 0;

	for (unsigned i = 0; i < engine->proxy->count; i++)
		polls[count++] =
		    (struct pollfd){ .fd = engine->proxy->listeners[i], .events = POLLIN };
	for (unsigned i = 0; i < 2 * CONNECTIONS_MAX; i++) {
		const struct connection *connection = &engine->connections[i / 2];
		const struct flow *flow = &connection->flows[i % 2];

		if (!connection->used || flow->ended || flow->queued > QUEUE_BYTES_MAX ||
		    engine->proxy->lines[connection->line].mode[i % 2] == PROXY_HOLD)
			continue;
		owner[count] = i;
		polls[count++] = (struct pollfd){ .fd = flow->from, .events = POLLIN };
	}
	/* What was asked for through the shared memory is seen at the next turn. */
	if (poll(polls, count, TURN_MS) < 0)
		return;
	for (nfds_t i = engine->proxy->count; i < count; i++)
		if (polls[i].revents != 0)
			take_bytes(engine, &engine->connections[owner[i] / 2], owner[i] % 2);
	for (unsigned i = 0; i < engine->proxy->count; i++)
		if (polls[i].revents != 0)
			take_connection(engine, i);
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (engine->connections[i].used)
			step(engine, &engine->connections[i], clock_now_ns());
}

static int listen_on(unsigned port)
{
	struct sockaddr_in address = loopback(port);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	ck_assert_msg(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "port %u: %s",
		      port, strerror(errno));
	ck_assert_int_eq(listen(fd, 16), 0);
	return fd;
}

void proxy_open(struct proxy *proxy, unsigned count, const unsigned *listen_ports,
		const unsigned *ports)
{
	pid_t parent = getpid();

	ck_assert_uint_le(count, PROXY_LINES_MAX);
	*proxy = (struct proxy){ .count = count };
	proxy->lines = mmap(NULL, count * sizeof(*proxy->lines), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(proxy->lines != MAP_FAILED);
	for (unsigned i = 0; i < count; i++) {
		proxy->ports[i] = ports[i];
		proxy->listeners[i] = listen_on(listen_ports[i]);
	}
	proxy->pid = fork();
	ck_assert_int_ge(proxy->pid, 0);
	if (proxy->pid == 0) {
		struct engine *engine = calloc(1, sizeof(*engine));

		if (engine == NULL || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			_exit(1);
		engine->proxy = proxy;
		for (;;)
			turn(engine);
	}
	for (unsigned i = 0; i < count; i++)
		close(proxy->listeners[i]);
}

void proxy_close(struct proxy *proxy)
{
	if (proxy->pid > 0) {
		(void)kill(proxy->pid, SIGKILL);
		(void)waitpid(proxy->pid, NULL, 0);
	}
	(void)munmap(proxy->lines, proxy->count * sizeof(*proxy->lines));
	proxy->pid = 0;
}

static void calm(struct proxy_line *line)
{
	for (unsigned i = 0; i < 2; i++) {
		line->mode[i] = PROXY_FORWARD;
		line->delay_ms[i] = 0;
	}
	line->refuse = false;
}

void proxy_calm(struct proxy *proxy)
{
	for (unsigned i = 0; i < proxy->count; i++)
		calm(&proxy->lines[i]);
}

void proxy_weather(struct proxy *proxy, unsigned index, struct iso_rng *rng,
		   struct proxy_weather *counts)
{
	struct proxy_line *line = &proxy->lines[index];
	unsigned direction = (unsigned)iso_rng_below(rng, 2);

	calm(line);
	switch (iso_rng_below(rng, 8)) {
	case 0:
	case 1:
		line->delay_ms[0] = 20 + (unsigned)iso_rng_below(rng, 800);
		line->delay_ms[1] = 20 + (unsigned)iso_rng_below(rng, 800);
		counts->delays++;
		return;
	case 2:
		line->mode[0] = line->mode[1] = PROXY_HOLD;
		counts->holds++;
		return;
	case 3:
		line->mode[0] = line->mode[1] = PROXY_SWALLOW;
		counts->holes++;
		return;
	case 4:
		line->mode[direction] = PROXY_SWALLOW;
		counts->half_holes++;
		return;
	case 5:
		line->cuts_asked++;
		counts->cuts++;
		return;
	case 6:
		line->refuse = true;
		counts->refusals++;
		return;
	default:
		counts->calms++;
		return;
	}
}

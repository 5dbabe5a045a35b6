/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/control.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/control/controlsock.h"

#define GROUPS_MAX 256

/* Out of descriptors: how long nobody is let in, so that the loop does not spin. */
#define PAUSE_NS 1000000000u

struct client {
	struct loop_source source;
	struct control *control;
	bool may_change;
	uid_t uid;
	uint64_t active_ns; /* last request or connection */
	uint64_t waits_for; /* number of the request whose answer comes later; 0: none */
	char *reply;	    /* not sent yet; NULL: none */
	size_t reply_size;
};

struct control {
	struct loop_source listener;
	struct loop_source timer;
	struct loop *loop;
	int lock_fd;
	char lock_path[CONTROL_PATH_BYTES];
	char path[CONTROL_PATH_BYTES];
	bool has_group;
	gid_t group;
	struct control_table table;
	uint64_t number; /* of the newest request */
	uint64_t idle_ns;
	struct client clients[CONTROL_CLIENTS_MAX]; /* source.fd < 0: free */
	char request[CONTROL_PACKET_BYTES_MAX];
};

/* Root, this process's own user, or the control group. */
static bool may_change(const struct control *control, int fd, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	gid_t groups[GROUPS_MAX];
	socklen_t groups_size = sizeof(groups);

	*ret_uid = (uid_t)-1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	*ret_uid = peer.uid;
	if (peer.uid == 0 || peer.uid == geteuid())
		return true;
	if (!control->has_group)
		return false;
	if (peer.gid == control->group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &groups_size) < 0)
		return false;
	for (size_t i = 0; i < groups_size / sizeof(groups[0]); i++)
		if (groups[i] == control->group)
			return true;
	return false;
}

static void drop_client(struct client *client)
{
	loop_remove(client->control->loop, &client->source);
	close(client->source.fd);
	client->source.fd = -1;
	client->waits_for = 0;
	free(client->reply);
	client->reply = NULL;
}

/* When it will have been silent for too long; UINT64_MAX while it waits for us. */
static uint64_t silent_at_ns(const struct client *client)
{
	if (client->source.fd < 0 || client->waits_for != 0)
		return UINT64_MAX;
	return client->active_ns + client->control->idle_ns;
}

/* The first moment at which some client will have been idle for too long, or a pause is over. */
static void arm_timer(struct control *control)
{
	uint64_t at_ns = UINT64_MAX;

	if (control->listener.events == 0)
		at_ns = clock_now_ns() + PAUSE_NS;

	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		uint64_t silent_ns = silent_at_ns(&control->clients[i]);

		at_ns = silent_ns < at_ns ? silent_ns : at_ns;
	}
	(void)timer_arm(control->timer.fd, at_ns);
}

static void on_timer(struct loop_source *source, short revents)
{
	struct control *control =
	    (struct control *)(void *)((char *)source - offsetof(struct control, timer));
	uint64_t now_ns = clock_now_ns();

	(void)revents;
	timer_consume(source->fd);
	control->listener.events = ZMQ_POLLIN;
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (now_ns >= silent_at_ns(client))
			drop_client(client);
	}
	arm_timer(control);
}

/* Sends what is waiting; a client that does not read gets no further requests read. */
static void flush(struct client *client)
{
	static const char too_large[] = "{\"error\":\"the reply is too large\",\"ok\":false}";

	if (client->reply == NULL)
		return;
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	ssize_t n = send(client->source.fd, client->reply, client->reply_size, flags);
	if (n < 0 && errno == EMSGSIZE)
		n = send(client->source.fd, too_large, sizeof(too_large) - 1, flags);
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) {
		client->source.events = ZMQ_POLLOUT;
		return;
	}
	if (n < 0) {
		drop_client(client);
		return;
	}
	free(client->reply);
	client->reply = NULL;
	client->source.events = ZMQ_POLLIN;
}

/* Moves the reply. */
static void deliver(struct client *client, json_t *reply)
{
	client->reply = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(reply);
	if (client->reply == NULL) {
		drop_client(client);
	} else {
		client->reply_size = strlen(client->reply);
		flush(client);
	}
	arm_timer(client->control);
}

static void answer_later(void *transport, uint64_t number, json_t *reply)
{
	struct control *control = transport;

	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (client->source.fd < 0 || client->waits_for != number)
			continue;
		client->waits_for = 0;
		client->active_ns = clock_now_ns();
		deliver(client, reply);
		return;
	}
	json_decref(reply); /* it has gone, or was dropped */
}

/* Always a reply, unless memory runs out; NULL while the client waits for a later one. */
static json_t *answer(struct client *client, size_t size)
{
	struct control *control = client->control;
	struct control_token token = {
		.answer = answer_later, .transport = control, .number = ++control->number,
	};
	const char *may_not = control->has_group ? "only root and the control group may"
						 : "only root may";

	snprintf(token.who, sizeof(token.who), "uid %u", (unsigned)client->uid);
	client->waits_for = token.number;
	json_t *reply = control_dispatch(&control->table, control->request, size,
					 client->may_change ? NULL : may_not, &token);
	if (reply != NULL)
		client->waits_for = 0;
	return reply;
}

static void on_client(struct loop_source *source, short revents)
{
	struct client *client = (struct client *)(void *)source;
	struct control *control = client->control;

	if ((revents & ZMQ_POLLOUT) != 0 || client->reply != NULL) {
		flush(client);
		return;
	}
	ssize_t n =
	    recv(source->fd, control->request, sizeof(control->request), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/*
	 * Nobody sends an empty packet: it looks like the end, and is.  So is a second request
	 * before the answer to the first: which one would the answer be for?
	 */
	if (n <= 0 || client->waits_for != 0) {
		drop_client(client);
		arm_timer(control);
		return;
	}
	client->active_ns = clock_now_ns();
	json_t *reply = answer(client, (size_t)n);
	if (reply != NULL)
		deliver(client, reply);
	else
		arm_timer(control);
}

/*
 * A place for a new client, or NULL.  Everybody may ask, so everybody could take
 * all places: one user gets half of them, and who may change the state gets that
 * of the most silent one who may not.
 */
static struct client *find_place(struct control *control, bool may_change, uid_t uid)
{
	struct client *free_place = NULL, *silent = NULL;
	unsigned taken = 0;

	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct client *client = &control->clients[i];

		if (client->source.fd < 0) {
			free_place = client;
			continue;
		}
		taken += client->uid == uid;
		if (!client->may_change &&
		    (silent == NULL || client->active_ns < silent->active_ns))
			silent = client;
	}
	if (!may_change && taken >= CONTROL_CLIENTS_MAX / 2)
		return NULL;
	if (free_place != NULL || !may_change || silent == NULL)
		return free_place;
	drop_client(silent);
	return silent;
}

static void on_connection(struct loop_source *source, short revents)
{
	static const char full[] = "{\"error\":\"too many clients, try again\",\"ok\":false}";
	struct control *control = (struct control *)(void *)source;

	(void)revents;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			source->events = 0;
			arm_timer(control);
		}
		return;
	}
	uid_t uid;
	bool is_trusted = may_change(control, fd, &uid);
	struct client *client = find_place(control, is_trusted, uid);
	if (client != NULL) {
		client->source.fd = fd;
		client->source.events = ZMQ_POLLIN;
		if (loop_add(control->loop, &client->source) < 0)
			client->source.fd = -1;
	}
	if (client == NULL || client->source.fd < 0) {
		(void)send(fd, full, sizeof(full) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
		return;
	}
	controlsock_enlarge(fd);
	client->may_change = is_trusted;
	client->uid = uid;
	client->active_ns = clock_now_ns();
	arm_timer(control);
}

static int find_group(struct control *control, const char *name, struct error *reterr)
{
	if (name == NULL || name[0] == '\0')
		return 0;
	errno = 0;
	const struct group *group = getgrnam(name);
	if (group == NULL)
		return error_set(reterr, -ENOENT, "control-group: there is no group '%s'", name);
	control->has_group = true;
	control->group = group->gr_gid;
	return 0;
}

static int open_sources(struct control *control, const struct control_config *config,
			struct error *reterr)
{
	int r = find_group(control, config->group, reterr);

	if (r < 0)
		return r;
	r = controlsock_lock(control->lock_path, &control->lock_fd, reterr);
	if (r < 0)
		return r;
	r = controlsock_listen(control->path, config->group_only ? 0660 : 0666,
			       control->has_group ? &control->group : NULL, &control->listener.fd,
			       reterr);
	if (r < 0)
		return r;
	control->timer.fd = timer_open();
	r = control->timer.fd < 0 ? control->timer.fd : 0;
	if (r == 0)
		r = loop_add(control->loop, &control->timer);
	if (r == 0)
		r = loop_add(control->loop, &control->listener);
	return r < 0 ? error_errno(reterr, r, "watch the control socket") : 0;
}

int control_open(const struct control_config *config, struct loop *loop,
		 struct control **ret_control, struct error *reterr)
{
	struct control *control = calloc(1, sizeof(*control));

	if (control == NULL)
		return error_errno(reterr, -ENOMEM, "control socket");
	control->loop = loop;
	control->lock_fd = -1;
	control->table = (struct control_table){
		.commands = config->commands,
		.command_count = config->command_count,
		.context = config->context,
	};
	control->idle_ns = config->idle_ns != 0 ? config->idle_ns : CONTROL_IDLE_NS;
	control->listener =
	    (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_connection };
	control->timer = (struct loop_source){ .fd = -1, .events = ZMQ_POLLIN, .fn = on_timer };
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		control->clients[i].source = (struct loop_source){ .fd = -1, .fn = on_client };
		control->clients[i].control = control;
	}

	int r = controlsock_paths(config->directory, control->path, control->lock_path, reterr);
	if (r == 0)
		r = open_sources(control, config, reterr);
	if (r < 0) {
		control_close(control);
		return r;
	}
	*ret_control = control;
	return 0;
}

struct control *control_close(struct control *control)
{
	if (control == NULL)
		return NULL;
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (control->clients[i].source.fd >= 0)
			drop_client(&control->clients[i]);
	loop_remove(control->loop, &control->timer);
	loop_remove(control->loop, &control->listener);
	if (control->timer.fd >= 0)
		close(control->timer.fd);
	if (control->listener.fd >= 0) {
		(void)unlink(control->path); /* gone is fine */
		close(control->listener.fd);
	}
	/* Removed while it is held: whoever waits for it looks again (controlsock_lock). */
	if (control->lock_fd >= 0) {
		(void)unlink(control->lock_path);
		close(control->lock_fd);
	}
	free(control);
	return NULL;
}

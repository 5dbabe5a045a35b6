/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/peers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/wholefile.h"
#include "agent/node/crash.h"

#define PEERS_VERSION 1
#define BYTES_MAX     (64u * 1024u) /* sixty-four neighbours are a third of it */

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

struct peer *peers_find(struct peers *peers, uint64_t id)
{
	for (unsigned i = 0; i < peers->count; i++)
		if (peers->of[i].id == id)
			return &peers->of[i];
	return NULL;
}

static int read_text(int dir_fd, char bytes[BYTES_MAX], size_t *ret_size)
{
	__attribute__((cleanup(close_fd))) int fd =
	    openat(dir_fd, PEERS_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (size < BYTES_MAX && (n = read(fd, bytes + size, BYTES_MAX - size)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		size += (size_t)n;
	}
	if (size == BYTES_MAX)
		return -EFBIG;
	*ret_size = size;
	return 0;
}

static int parse(const char *bytes, size_t size,
		 struct opjson_neighbour ret_neighbours[CONF_NEIGHBOURS_MAX], uint32_t *ret_count,
		 struct error *reterr)
{
	json_error_t why;
	json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &why);
	int r;

	if (json == NULL)
		return error_set(reterr, -EUCLEAN, "%s", why.text);
	if (json_integer_value(json_object_get(json, "version")) != PEERS_VERSION)
		r = error_set(reterr, -EUCLEAN, "no version %d", PEERS_VERSION);
	else
		r = opjson_neighbours_read(json_object_get(json, "neighbours"), ret_neighbours,
					   ret_count, reterr);
	json_decref(json);
	return r < 0 ? -EUCLEAN : 0;
}

static int read_file(int dir_fd, struct opjson_neighbour ret_neighbours[CONF_NEIGHBOURS_MAX],
		     uint32_t *ret_count, struct error *reterr)
{
	char *bytes = malloc(BYTES_MAX);
	size_t size = 0;
	int r = bytes != NULL ? read_text(dir_fd, bytes, &size) : -ENOMEM;

	*ret_count = 0;
	if (r == 0)
		r = parse(bytes, size, ret_neighbours, ret_count, reterr);
	else if (r == -ENOENT)
		r = 0;
	else
		error_errno(reterr, r, "read");
	free(bytes);
	return r;
}

/* The place of this neighbour, an old one or the next; NULL: there is none. */
static struct peer *place(struct peers *peers, uint64_t id)
{
	struct peer *peer = peers_find(peers, id);

	if (peer != NULL || peers->count == PEERS_MAX)
		return peer;
	peer = &peers->of[peers->count++];
	*peer = (struct peer){ .id = id, .link = UINT32_MAX };
	return peer;
}

/* Reached in the same way. */
static bool is_same(const struct opjson_neighbour *a, const struct opjson_neighbour *b)
{
	return strcmp(a->address, b->address) == 0 && strcmp(a->public_key, b->public_key) == 0;
}

int peers_load(const struct conf *conf, int dir_fd, const char *dir_path, struct peers *ret_peers,
	       struct error *reterr)
{
	struct opjson_neighbour told[CONF_NEIGHBOURS_MAX];
	uint32_t count;
	int r = read_file(dir_fd, told, &count, reterr);

	*ret_peers = (struct peers){ 0 };
	for (unsigned i = 0; i < conf->neighbour_count; i++) {
		const struct conf_neighbour *from = &conf->neighbours[i];
		struct peer *peer = place(ret_peers, from->id);

		assert(peer != NULL);
		memcpy(peer->as.name, from->name, sizeof(peer->as.name));
		memcpy(peer->as.address, from->address, sizeof(peer->as.address));
		memcpy(peer->as.public_key, from->public_key, sizeof(peer->as.public_key));
	}
	if (r < 0) {
		error_wrap(reterr, "neighbours in '%s/" PEERS_NAME "'", dir_path);
		return -EUCLEAN;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct peer *peer = place(ret_peers, conf_node_id(conf->cluster, told[i].name));

		if (peer == NULL)
			return error_set(reterr, -ENOSPC,
					 "neighbours in '%s/" PEERS_NAME "': with those of the "
					 "configuration more than %u: the rest is left out",
					 dir_path, PEERS_MAX);
		peer->is_other = peer->as.name[0] != '\0' && !is_same(&peer->as, &told[i]);
		peer->as = told[i];
		peer->is_told = true;
	}
	return 0;
}

/* There is always one list, the old or the new. */
static int replace(int dir_fd, const char *text)
{
	int r = wholefile_prepare(dir_fd, PEERS_NAME, 0600, text, strlen(text));

	crash_point("neighbours written");
	return r == 0 ? wholefile_commit(dir_fd, PEERS_NAME) : r;
}

static int save(const struct peers *peers, int dir_fd, const char *dir_path, struct error *reterr)
{
	struct opjson_neighbour told[PEERS_MAX];
	uint32_t count = 0;

	for (unsigned i = 0; i < peers->count; i++)
		if (peers->of[i].is_told)
			told[count++] = peers->of[i].as;
	json_t *json = json_pack("{s:i, s:o}", "version", PEERS_VERSION, "neighbours",
				 opjson_neighbours_write(told, count));
	char *text = json != NULL ? json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
	int r = text != NULL ? replace(dir_fd, text) : -ENOMEM;

	free(text);
	json_decref(json);
	return r < 0 ? error_errno(reterr, r, "write '%s/" PEERS_NAME "'", dir_path) : 0;
}

int peers_tell(struct peers *peers, const struct conf *conf, int dir_fd, const char *dir_path,
	       const struct opjson_neighbour *neighbour, struct error *reterr)
{
	static struct peers next; /* too large for the stack; one thread */
	uint64_t id = conf_node_id(conf->cluster, neighbour->name);

	next = *peers;
	for (unsigned i = 0; i < next.count; i++)
		if (next.of[i].id != id &&
		    strcmp(next.of[i].as.public_key, neighbour->public_key) == 0)
			return error_set(reterr, -EEXIST, "neighbour %s has the key of %s",
					 neighbour->name, next.of[i].as.name);
	struct peer *peer = place(&next, id);
	if (peer == NULL)
		return error_set(reterr, -ENOSPC, "neighbour %s: %u are the most", neighbour->name,
				 PEERS_MAX);
	if (is_same(&peer->as, neighbour))
		return 0;
	peer->is_other = !peer->is_told && peer->as.name[0] != '\0';
	peer->as = *neighbour;
	peer->is_told = true;
	int r = save(&next, dir_fd, dir_path, reterr);
	if (r == 0)
		*peers = next;
	return r;
}

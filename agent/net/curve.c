/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/net/curve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define Z85 "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

/* A key, its label and a few lines of comment. */
#define FILE_BYTES_MAX 4096u

/*
 * Without a ZAP handler a domain then means nobody, not everybody.  A draft
 * option, so Debian's header hides it; its number has not changed since 4.3.0.
 */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

/* What CURVE puts around a message: command name, nonce, authenticator, flags; rounded up. */
#define CURVE_OVERHEAD_BYTES 64

bool curve_key_valid(const char *text)
{
	uint8_t binary[32];

	if (strlen(text) != CURVE_KEY_BYTES - 1 || strspn(text, Z85) != CURVE_KEY_BYTES - 1)
		return false;
	/* Five characters can stand for more than four bytes: then it is no key. */
	bool is_valid = zmq_z85_decode(binary, text) != NULL;
	explicit_bzero(binary, sizeof(binary));
	return is_valid;
}

int curve_keypair_new(struct curve_keypair *ret_keypair, struct error *reterr)
{
	struct curve_keypair keypair;

	if (zmq_curve_keypair(keypair.public_key, keypair.secret_key) < 0)
		return error_errno(reterr, -errno, "make a CURVE key pair");
	*ret_keypair = keypair;
	explicit_bzero(&keypair, sizeof(keypair));
	return 0;
}

void curve_keypair_wipe(struct curve_keypair *keypair)
{
	explicit_bzero(keypair->secret_key, sizeof(keypair->secret_key));
}

static int sync_folder_of(const char *path)
{
	char copy[PATH_MAX];

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return -ENAMETOOLONG;

	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int write_new(const char *path, mode_t mode, const char *text, struct error *reterr)
{
	size_t size = strlen(text);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0)
		return error_errno(reterr, -errno, "create '%s'", path);

	int r = 0;
	/* fchmod: the mode must not depend on the umask, to either side. */
	if (fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0) {
		ssize_t written = write(fd, text, size);

		if (written != (ssize_t)size)
			r = written < 0 ? -errno : -ENOSPC;
	}
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0)
		r = sync_folder_of(path);
	if (r < 0) {
		(void)unlink(path);
		return error_errno(reterr, r, "write '%s'", path);
	}
	return 0;
}

int curve_keypair_write(const struct curve_keypair *keypair, const char *secret_path,
			const char *public_path, struct error *reterr)
{
	char text[256];

	assert(curve_key_valid(keypair->public_key));
	assert(curve_key_valid(keypair->secret_key));
	snprintf(text, sizeof(text),
		 "# isobar: secret CURVE key.  Whoever reads it can act as this node.\n"
		 "secret-key %s\n",
		 keypair->secret_key);
	int r = write_new(secret_path, 0600, text, reterr);
	explicit_bzero(text, sizeof(text));
	if (r < 0)
		return r;
	snprintf(text, sizeof(text),
		 "# isobar: public CURVE key.  Give it to the peers.\n"
		 "public-key %s\n",
		 keypair->public_key);
	r = write_new(public_path, 0644, text, reterr);
	if (r < 0)
		(void)unlink(secret_path);
	return r;
}

/* Takes the one line "label KEY" out of the text; *ret_line counts from 1. */
static int parse_key(char *text, const char *label, char ret_key[CURVE_KEY_BYTES],
		     struct error *reterr)
{
	size_t label_length = strlen(label);
	const char *found = NULL;
	char *save = text, *line;

	for (unsigned number = 1; (line = strsep(&save, "\n")) != NULL; number++) {
		if (line[0] == '\0' || strncmp(line, "# ", 2) == 0 || strcmp(line, "#") == 0)
			continue;
		if (strncmp(line, label, label_length) != 0 || line[label_length] != ' ')
			return error_set(reterr, -EINVAL, "line %u: expected '%s' and a key",
					 number, label);
		if (found != NULL)
			return error_set(reterr, -EINVAL, "line %u: a second key", number);
		found = line + label_length + 1;
		if (!curve_key_valid(found))
			return error_set(reterr, -EINVAL,
					 "line %u: the key is not forty characters of Z85", number);
	}
	if (found == NULL)
		return error_set(reterr, -EINVAL, "no line '%s KEY'", label);
	memcpy(ret_key, found, CURVE_KEY_BYTES);
	return 0;
}

static int read_key(const char *path, mode_t forbidden, const char *label,
		    char ret_key[CURVE_KEY_BYTES], struct error *reterr)
{
	char text[FILE_BYTES_MAX + 1];
	struct stat stat;
	/* O_NONBLOCK: a FIFO in the place of the file must not hang us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_errno(reterr, -errno, "open '%s'", path);

	int r = fstat(fd, &stat) < 0 ? -errno : 0;
	ssize_t size = r == 0 ? read(fd, text, sizeof(text)) : -1;
	if (r == 0 && size < 0)
		r = -errno;
	close(fd);
	if (r < 0)
		return error_errno(reterr, r, "read '%s'", path);
	if ((stat.st_mode & forbidden) != 0)
		r = error_set(reterr, -EPERM,
			      "'%s': mode %04o lets others read a secret key; chmod 600 it", path,
			      (unsigned)stat.st_mode & 07777);
	else if (size > (ssize_t)FILE_BYTES_MAX || memchr(text, '\0', (size_t)size) != NULL)
		r = error_set(reterr, -EINVAL, "'%s': not a key file", path);
	if (r == 0) {
		text[size] = '\0';
		r = parse_key(text, label, ret_key, reterr);
		if (r < 0)
			error_wrap(reterr, "'%s'", path);
	}
	explicit_bzero(text, sizeof(text));
	return r;
}

int curve_secret_read(const char *path, struct curve_keypair *ret_keypair, struct error *reterr)
{
	struct curve_keypair keypair;
	int r = read_key(path, S_IRWXG | S_IRWXO, "secret-key", keypair.secret_key, reterr);

	if (r < 0)
		return r;
	if (zmq_curve_public(keypair.public_key, keypair.secret_key) < 0)
		return error_errno(reterr, -errno, "'%s': derive the public key", path);
	*ret_keypair = keypair;
	curve_keypair_wipe(&keypair);
	return 0;
}

int curve_public_read(const char *path, char ret_key[CURVE_KEY_BYTES], struct error *reterr)
{
	return read_key(path, 0, "public-key", ret_key, reterr);
}

int curve_endpoint_check(const char *endpoint, struct error *reterr)
{
	static const char scheme[] = "tcp://";
	uint8_t address[sizeof(struct in6_addr)];
	char host[INET6_ADDRSTRLEN + 2];
	const char *start = endpoint + sizeof(scheme) - 1;
	const char *colon = strrchr(endpoint, ':');

	if (strncmp(endpoint, scheme, sizeof(scheme) - 1) != 0)
		return error_set(reterr, -EINVAL, "'%s' does not begin with tcp://", endpoint);
	if (colon == NULL || colon <= start || (size_t)(colon - start) >= sizeof(host))
		return error_set(reterr, -EINVAL, "'%s' is not tcp://ADDRESS:PORT", endpoint);

	size_t length = (size_t)(colon - start);
	bool is_v6 = start[0] == '[' && start[length - 1] == ']';
	memcpy(host, start + is_v6, length - 2 * is_v6);
	host[length - 2 * is_v6] = '\0';
	if (inet_pton(is_v6 ? AF_INET6 : AF_INET, host, address) != 1)
		return error_set(reterr, -EINVAL, "'%s': the address must be numeric", endpoint);

	size_t digits = strspn(colon + 1, "0123456789");
	unsigned long port = strtoul(colon + 1, NULL, 10);
	if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' || port < 1 || port > 65535)
		return error_set(reterr, -EINVAL, "'%s': the port must be 1 to 65535", endpoint);
	return 0;
}

static int set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int set_common(void *socket, const struct curve_limits *limits)
{
	const struct {
		int option;
		int value;
	} options[] = {
		{ ZMQ_LINGER, 0 },
		{ ZMQ_SNDHWM, limits->queue_messages_max },
		{ ZMQ_RCVHWM, limits->queue_messages_max + CURVE_RECEIVE_SPARE },
		{ ZMQ_IMMEDIATE, 1 },
		{ ZMQ_HEARTBEAT_IVL, CURVE_SILENCE_MS / 3 },
		{ ZMQ_HEARTBEAT_TIMEOUT, CURVE_SILENCE_MS },
		{ ZMQ_HEARTBEAT_TTL, CURVE_SILENCE_MS },
		{ ZMQ_HANDSHAKE_IVL, CURVE_SILENCE_MS },
		{ ZMQ_CONNECT_TIMEOUT, CURVE_SILENCE_MS },
		{ ZMQ_RECONNECT_IVL, 100 },
		{ ZMQ_RECONNECT_IVL_MAX, 2000 },
	};
	int64_t bytes = limits->message_bytes_max + CURVE_OVERHEAD_BYTES;

	assert(limits->message_bytes_max > 0);
	assert(limits->queue_messages_max > 0);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int r = set_int(socket, options[i].option, options[i].value);

		if (r < 0)
			return r;
	}
	return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes, sizeof(bytes)) < 0 ? -errno : 0;
}

int curve_server(void *socket, const struct curve_keypair *keypair, const char *domain,
		 const struct curve_limits *limits, struct error *reterr)
{
	int r = set_common(socket, limits);

	assert(domain[0] != '\0');
	if (r == 0)
		r = set_int(socket, ZMQ_CURVE_SERVER, 1);
	if (r == 0 &&
	    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keypair->secret_key, CURVE_KEY_BYTES) < 0)
		r = -errno;
	if (r == 0 && zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) < 0)
		r = -errno;
	/* A libzmq that does not know it: messages then come without curve_user_id(). */
	if (r == 0)
		(void)set_int(socket, ZMQ_ZAP_ENFORCE_DOMAIN, 1);
	return r < 0 ? error_errno(reterr, r, "set up a CURVE server") : 0;
}

int curve_client(void *socket, const struct curve_keypair *keypair,
		 const char server_key[CURVE_KEY_BYTES], const struct curve_limits *limits,
		 struct error *reterr)
{
	int r = set_common(socket, limits);

	if (r == 0 && zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, CURVE_KEY_BYTES) < 0)
		r = -errno;
	if (r == 0 &&
	    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keypair->public_key, CURVE_KEY_BYTES) < 0)
		r = -errno;
	if (r == 0 &&
	    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keypair->secret_key, CURVE_KEY_BYTES) < 0)
		r = -errno;
	return r < 0 ? error_errno(reterr, r, "set up a CURVE client") : 0;
}

static int set_family(void *socket, const char *endpoint)
{
	/* With IPv6 on, IPv4 peers would show as ::ffff:192.0.2.1. */
	return set_int(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
}

int curve_bind(void *socket, const char *endpoint, struct error *reterr)
{
	int r = set_family(socket, endpoint);

	if (r == 0 && zmq_bind(socket, endpoint) < 0)
		r = -errno;
	return r < 0 ? error_set(reterr, r, "bind %s: %s", endpoint, zmq_strerror(-r)) : 0;
}

int curve_connect(void *socket, const char *endpoint, struct error *reterr)
{
	int r = set_family(socket, endpoint);

	if (r == 0 && zmq_connect(socket, endpoint) < 0)
		r = -errno;
	return r < 0 ? error_set(reterr, r, "connect %s: %s", endpoint, zmq_strerror(-r)) : 0;
}

const char *curve_user_id(zmq_msg_t *message)
{
	const char *name = zmq_msg_gets(message, "User-Id");

	return name != NULL && name[0] != '\0' ? name : NULL;
}

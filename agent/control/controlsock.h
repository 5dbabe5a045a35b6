/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_CONTROLSOCK_H
#define ISO_CONTROLSOCK_H

#include <sys/types.h>

#include "agent/base/error.h"

/* What is under the control socket: paths, the lock, the listening socket. */

/* As much as a socket address holds, with its NUL. */
#define CONTROL_PATH_BYTES 108

/* DIRECTORY/control and DIRECTORY/lock; -ENAMETOOLONG if they do not fit. */
int controlsock_paths(const char *directory, char ret_socket[CONTROL_PATH_BYTES],
		      char ret_lock[CONTROL_PATH_BYTES], struct error *reterr);

/* Creates and locks the file and writes our pid into it.  -EBUSY names the one who has it. */
int controlsock_lock(const char *path, int *ret_fd, struct error *reterr);

/* Call with the lock held: a socket that is there is stale.  group may be NULL. */
int controlsock_listen(const char *path, mode_t mode, const gid_t *group, int *ret_fd,
		       struct error *reterr);

/* Room for one packet of CONTROL_PACKET_BYTES_MAX, as far as the system allows. */
void controlsock_enlarge(int fd);

#endif

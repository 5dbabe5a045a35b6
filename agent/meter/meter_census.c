/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter_census.h"

#include <errno.h>

#ifdef HAVE_EBPF

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* As in ebpf/meter.bpf.c: each meter has one. */
#define PROGRAM "isobar_switch"

static bool is_meter(uint32_t id)
{
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	/* It has ended meanwhile. */
	if (fd < 0)
		return false;
	bool is =
	    bpf_obj_get_info_by_fd(fd, &info, &length) == 0 && strcmp(info.name, PROGRAM) == 0;
	close(fd);
	return is;
}

int meter_census(unsigned *ret_meters, struct error *reterr)
{
	unsigned meters = 0;
	uint32_t id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0)
		meters += is_meter(id);
	/* Behind the last there is none. */
	if (errno != ENOENT)
		return error_errno(reterr, -errno, "list the kernel's eBPF programs");
	*ret_meters = meters;
	return 0;
}

#else

int meter_census(unsigned *ret_meters, struct error *reterr)
{
	(void)ret_meters;
	return error_set(reterr, -ENOTSUP, "built without eBPF");
}

#endif

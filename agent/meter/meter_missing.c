/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter_missing.h"

#include <errno.h>

#ifdef HAVE_EBPF

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cap-ng.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static bool is_task_pointer(const struct btf *btf, const struct btf_type *prototype, unsigned i)
{
	const struct btf_type *type;

	if (i >= btf_vlen(prototype))
		return false;
	type = btf__type_by_id(btf, btf_params(prototype)[i].type);
	if (type == NULL || !btf_is_ptr(type))
		return false;
	type = btf__type_by_id(btf, type->type);
	return type != NULL && btf_is_struct(type) &&
	       strcmp(btf__name_by_offset(btf, type->name_off), "task_struct") == 0;
}

int meter_missing_arguments(const struct btf *btf, struct error *reterr)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	if (type != NULL)
		type = btf__type_by_id(btf, type->type);
	if (type != NULL && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	if (type == NULL || !btf_is_func_proto(type))
		return error_set(reterr, -ENOTSUP, "kernel has no tracepoint sched_switch");
	/* The first parameter is the hook's context, the second is preempt. */
	if (is_task_pointer(btf, type, 2) && is_task_pointer(btf, type, 3))
		return 0;
	return error_set(reterr, -ENOTSUP,
			 "kernel passes sched_switch other arguments than preempt, prev, next");
}

static int check_capabilities(struct error *reterr)
{
	static const struct {
		unsigned capability;
		const char *name;
	} needed[] = { { CAP_BPF, "CAP_BPF" }, { CAP_PERFMON, "CAP_PERFMON" } };

	if (capng_get_caps_process() != 0)
		return error_set(reterr, -EPERM, "cannot read this process's capabilities");
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN))
		return 0;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!capng_have_capability(CAPNG_EFFECTIVE, needed[i].capability))
			return error_set(reterr, -EPERM,
					 "eBPF needs %s (in a unit: AmbientCapabilities=%s)",
					 needed[i].name, needed[i].name);
	return 0;
}

bool meter_missing_lockdown(const char *root)
{
	char path[PATH_MAX], text[128] = "";

	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", root);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strstr(text, "[confidentiality]") != NULL;
}

int meter_missing(struct error *reterr)
{
	struct btf *btf;
	int r;

	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return error_set(reterr, -ENOTSUP,
				 "kernel has no BTF (/sys/kernel/btf/vmlinux; it needs "
				 "CONFIG_DEBUG_INFO_BTF)");
	r = check_capabilities(reterr);
	if (r < 0)
		return r;
	if (meter_missing_lockdown(""))
		return error_set(reterr, -EPERM,
				 "kernel lockdown is on (confidentiality): eBPF programs may not "
				 "read kernel memory");
	/* What it would say on stderr is in *reterr. */
	libbpf_set_print(NULL);
	btf = btf__load_vmlinux_btf();
	if (btf == NULL)
		return error_errno(reterr, -errno,
				   "read the kernel's BTF; libbpf %s may be too old for it",
				   libbpf_version_string());
	r = meter_missing_arguments(btf, reterr);
	btf__free(btf);
	return r;
}

/*
 * RLIMIT_MEMLOCK counts only where a vendor took our needs back to a kernel
 * before 5.11: since then eBPF memory is the memory cgroup's business.
 */
bool meter_missing_explains(int code, struct error *reterr)
{
	struct utsname kernel;
	unsigned major = 0, minor = 0;

	if (uname(&kernel) == 0 && sscanf(kernel.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 6 || (major == 6 && minor < 1))) {
		error_errno(reterr, code, "load eBPF: kernel %s is too old (needs 6.1)",
			    kernel.release);
		return true;
	}
	if (code == -EPERM) {
		error_errno(reterr, code,
			    "load eBPF: denied in spite of the capabilities, by a security "
			    "module (SELinux, AppArmor), a seccomp filter or RLIMIT_MEMLOCK");
		return true;
	}
	if (code == -ENOMEM) {
		error_errno(reterr, code, "load eBPF: limit of the memory cgroup");
		return true;
	}
	return false;
}

#else

int meter_missing(struct error *reterr)
{
	return error_set(reterr, -ENOTSUP, "built without eBPF");
}

bool meter_missing_explains(int code, struct error *reterr)
{
	(void)code;
	(void)reterr;
	return false;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/sandbox.h"

#include <assert.h>
#include <cap-ng.h>
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>

#define CAPABILITIES_MAX 64

/* For this process; what the service manager has put on us as well does not count. */
static bool is_filtered;

/*
 * What is dropped from the bounding set no program that we start gets back, as
 * root would.  Without CAP_SETPCAP that set is what the service manager left.
 */
static int drop_capabilities(uint64_t kept, struct error *reterr)
{
	const capng_type_t own = CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE;
	bool may_bound, has_more = false;

	if (capng_get_caps_process() != 0)
		return error_set(reterr, -EIO, "capabilities cannot be read");
	may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
	for (unsigned i = 0; i < CAPABILITIES_MAX; i++) {
		if ((kept >> i & 1) != 0)
			continue;
		has_more = has_more || capng_have_capability(CAPNG_PERMITTED, i) == 1 ||
			   capng_have_capability(CAPNG_INHERITABLE, i) == 1;
		(void)capng_update(CAPNG_DROP, own | CAPNG_BOUNDING_SET, i); /* if it is known */
	}
	if (may_bound && capng_apply(CAPNG_SELECT_BOUNDS) != 0)
		return error_set(reterr, -EPERM, "capabilities cannot be bounded");
	/*
	 * The kernel takes from the ambient ones what is not permitted.  Who has nothing to
	 * lose may be forbidden to try.
	 */
	if (has_more && capng_apply(CAPNG_SELECT_CAPS) != 0)
		return error_set(reterr, -EPERM, "capabilities cannot be dropped");
	return 0;
}

struct sandbox_view sandbox_look(void)
{
	struct sandbox_view view = {
		.has_filter = is_filtered,
		.has_no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
	};

	if (capng_get_caps_process() != 0)
		return view;
	for (unsigned i = 0; i < CAPABILITIES_MAX; i++)
		if (capng_have_capability(CAPNG_EFFECTIVE, i) == 1)
			view.capabilities |= SANDBOX_CAPABILITY(i);
	return view;
}

#ifdef HAVE_SECCOMP

#include <linux/sched.h>
#include <seccomp.h>
#include <sys/socket.h>

#include "agent/base/sandbox_calls.h"

static void release(scmp_filter_ctx *filter)
{
	if (*filter != NULL)
		seccomp_release(*filter);
}

/* A name that is not of this architecture is no failure, nor one that is there already. */
static int add_calls(scmp_filter_ctx filter, uint32_t action, const char *const *names)
{
	for (; *names != NULL; names++) {
		int number = seccomp_syscall_resolve_name(*names), r;

		if (number == __NR_SCMP_ERROR)
			continue;
		r = seccomp_rule_add(filter, action, number, 0);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

/*
 * No namespaces.  The flags of clone3 are where a filter cannot look, and every
 * libc that calls it takes ENOSYS for an old kernel.
 */
static int add_clone(scmp_filter_ctx filter)
{
	const scmp_datum_t spaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
				    CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
#ifdef __s390__
	const unsigned flags = 1;
#else
	const unsigned flags = 0;
#endif

	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				SCMP_CMP64(flags, SCMP_CMP_MASKED_EQ, spaces, 0));
}

/* The families of sockets that there are uses for; of the others one says what a kernel would. */
static int add_socket(scmp_filter_ctx filter)
{
	int r = 0;

	for (unsigned family = 0; r == 0 && family < AF_MAX; family++) {
		/* Netlink: libzmq and libc ask for the interfaces. */
		bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			     family == AF_NETLINK;

		/* An int: what the upper half of the register holds is nobody's business. */
		r = seccomp_rule_add(filter, known ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EAFNOSUPPORT),
				     SCMP_SYS(socket), 1,
				     SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, 0xffffffff, family));
	}
	return r;
}

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* AddressSanitizer looks for leaks by way of ptrace. */
static int add_sanitizers(scmp_filter_ctx filter)
{
#ifdef __SANITIZE_ADDRESS__
	static const char *const calls[] = { "ptrace", "process_vm_readv", NULL };

	return add_calls(filter, SCMP_ACT_ALLOW, calls);
#else
	(void)filter;
	return 0;
#endif
}

static int fill(scmp_filter_ctx filter, enum sandbox_program program)
{
	int r = add_calls(filter, SCMP_ACT_ALLOW, sandbox_calls_common);

	if (r == 0)
		r = add_sanitizers(filter);
	if (r == 0 && (program == SANDBOX_AGENT || program == SANDBOX_COORDINATOR))
		r = add_calls(filter, SCMP_ACT_ALLOW, sandbox_calls_starting);
	if (r == 0 && program == SANDBOX_AGENT)
		r = add_calls(filter, SCMP_ACT_ALLOW, sandbox_calls_agent);
	if (r == 0)
		r = add_clone(filter);
	if (r == 0)
		r = add_socket(filter);
	return r == 0 ? add_calls(filter, SCMP_ACT_ERRNO(EPERM), sandbox_calls_refused) : r;
}

static int open_filter(const struct sandbox_config *config, scmp_filter_ctx *ret_filter)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (filter == NULL)
		return -ENOMEM;
	*ret_filter = filter;
	/* A program for another architecture, started by us, would die otherwise. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	/*
	 * Each where it is to be had: all threads at once, no slower code, quick answers.
	 * A service manager whose own filter refuses seccomp(2) leaves prctl(2), which has none.
	 */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (config->audits)
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	return r == 0 ? fill(filter, config->program) : r;
}

static int load_filter(const struct sandbox_config *config, struct error *reterr)
{
	__attribute__((cleanup(release))) scmp_filter_ctx filter = NULL;
	int r = sandbox_supported(reterr);

	if (r < 0)
		return r;
	r = open_filter(config, &filter);
	if (r == 0)
		r = seccomp_load(filter);
	if (r < 0)
		return error_errno(reterr, r, "no filter of system calls");
	is_filtered = true;
	return 0;
}

int sandbox_supported(struct error *reterr)
{
	/* EFAULT: it knows filters, and the address is none. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT)
		return 0;
	return error_set(reterr, -ENOTSUP,
			 "no filter of system calls: this kernel has none (CONFIG_SECCOMP_FILTER)");
}

#else

static int load_filter(const struct sandbox_config *config, struct error *reterr)
{
	(void)config;
	return sandbox_supported(reterr);
}

int sandbox_supported(struct error *reterr)
{
	return error_set(reterr, -ENOTSUP,
			 "no filter of system calls: built without libseccomp");
}

#endif

int sandbox_enter(const struct sandbox_config *config, struct error *reterr)
{
	int r = drop_capabilities(config->capabilities, reterr), s;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 && r == 0)
		r = error_errno(reterr, -errno, "no_new_privs");
	s = load_filter(config, r == 0 ? reterr : NULL);
	return r < 0 ? r : s;
}

const char *sandbox_capability_name(unsigned capability)
{
	return capng_capability_to_name(capability);
}

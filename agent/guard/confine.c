/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/guard/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A group of another user may be attached at any time; locked memory that grows
 * without CAP_IPC_LOCK meets RLIMIT_MEMLOCK, and the mapping fails.
 */
static const unsigned kept[] = { CAP_DAC_OVERRIDE, CAP_IPC_LOCK };

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	uint32_t mask[2] = { 0 };

	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		mask[kept[i] / 32] |= 1u << kept[i] % 32;
	for (unsigned i = 0; i < 2; i++) {
		sets[i].effective &= mask[i];
		sets[i].permitted &= mask[i];
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#endif

/* AddressSanitizer calls what no guard does. */
#if defined(ARCHITECTURE) && !defined(__SANITIZE_ADDRESS__)

/*
 * The loop, the group's files, the log; and beside what libc makes of these today
 * what it did before and may do next.  Nothing opens a socket or starts a program.
 */
static const unsigned allowed[] = {
	/* wait, talk */
	SYS_ppoll, SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_sendmsg, SYS_sendto,
	SYS_accept, SYS_accept4, SYS_getsockopt, SYS_shutdown, SYS_timerfd_settime,
	SYS_timerfd_gettime,
	/* the limit, the log, the watchdog */
	SYS_openat, SYS_pread64, SYS_pwrite64, SYS_write, SYS_writev, SYS_lseek, SYS_fcntl,
	SYS_fstat, SYS_ioctl, SYS_close, SYS_unlinkat, SYS_flock, SYS_fsync,
	/* who is who */
	SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getppid,
	/* libc: memory, time, locks, signals, the end */
	SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_getrandom,
	SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_clock_nanosleep,
	SYS_nanosleep, SYS_futex, SYS_sched_yield, SYS_getcpu, SYS_rt_sigaction,
	SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_tgkill,
	SYS_kill, SYS_exit, SYS_exit_group,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_open
	SYS_open,
#endif
#ifdef SYS_unlink
	SYS_unlink,
#endif
#ifdef SYS_stat
	SYS_stat, SYS_lstat,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
#ifdef SYS_time
	SYS_time,
#endif
};

#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))
_Static_assert(ALLOWED < 250, "a jump goes no further");

static int filter_calls(void)
{
	const uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS;
	struct sock_filter code[ALLOWED + 6];
	struct sock_fprog program = { .filter = code };
	unsigned short at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, arch));
	code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, unknown);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, nr));
	/* Each that is found jumps over the rest of them, and over the refusal. */
	for (unsigned i = 0; i < ALLOWED; i++)
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
							  (uint8_t)(ALLOWED - i), 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, unknown);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = at;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
		return 0;
	return errno == EINVAL ? -ENOTSUP : -errno;
}

#else

static int filter_calls(void)
{
	return -ENOTSUP;
}

#endif

int confine_self(void)
{
	int r = drop_capabilities(), s;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 && r == 0)
		r = -errno;
	s = filter_calls();
	return r < 0 ? r : s;
}

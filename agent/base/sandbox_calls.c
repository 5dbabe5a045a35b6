/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/base/sandbox_calls.h"

#include <stddef.h>

/*
 * Broad on purpose: what the C library, libzmq, OpenBLAS and the tasks of users
 * call changes with their versions, and nothing here gives a privilege.
 * clone and socket are not on the list: they depend on an argument.
 */
const char *const sandbox_calls_common[] = {
	/* memory */
	"brk", "madvise", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall",
	"mmap", "mmap2", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap",
	"pkey_alloc", "pkey_free", "pkey_mprotect", "shmat", "shmctl", "shmdt", "shmget",
	/* NUMA: data of users' tasks may lie where they want it */
	"get_mempolicy", "mbind", "move_pages", "set_mempolicy", "set_mempolicy_home_node",
	/* files */
	"_llseek", "access", "chdir", "chmod", "chown", "chown32", "close", "close_range",
	"copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat", "faccessat2", "fadvise64",
	"fadvise64_64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
	"fchown32", "fchownat", "fcntl", "fcntl64", "fdatasync", "fgetxattr", "flistxattr", "flock",
	"fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate",
	"ftruncate64", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "lchown",
	"lchown32", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lseek", "lstat",
	"lstat64", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at", "newfstatat",
	"open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
	"pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "rename", "renameat",
	"renameat2", "rmdir", "sendfile", "sendfile64", "splice", "stat", "stat64", "statfs",
	"statfs64", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "sync_file_range2",
	"syncfs", "tee", "truncate", "truncate64", "umask", "unlink", "unlinkat", "utime",
	"utimensat", "utimensat_time64", "utimes", "vmsplice", "write", "writev",
	/* what waits */
	"_newselect", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "inotify_add_watch",
	"inotify_init", "inotify_init1", "inotify_rm_watch", "pipe", "pipe2", "poll", "ppoll",
	"ppoll_time64", "pselect6", "pselect6_time64", "select",
	/* sockets, once they are there */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
	"listen", "recv", "recvfrom", "recvmmsg", "recvmmsg_time64", "recvmsg", "send", "sendmmsg",
	"sendmsg", "sendto", "setsockopt", "shutdown", "socketcall", "socketpair",
	/* time */
	"alarm", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
	"clock_nanosleep", "clock_nanosleep_time64", "getitimer", "gettimeofday", "nanosleep",
	"setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime",
	"timer_gettime64", "timer_settime", "timer_settime64", "timerfd_create", "timerfd_gettime",
	"timerfd_gettime64", "timerfd_settime", "timerfd_settime64", "times",
	/* signals */
	"kill", "pause", "pidfd_open", "pidfd_send_signal", "restart_syscall", "rt_sigaction",
	"rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo", "sigaction",
	"sigaltstack", "signal", "signalfd", "signalfd4", "sigpending", "sigprocmask", "sigreturn",
	"sigsuspend", "tgkill", "tkill",
	/* processes and threads */
	"arch_prctl", "cacheflush", "exit", "exit_group", "fork", "futex", "futex_requeue",
	"futex_time64", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list",
	"get_thread_area", "getcpu", "getrandom", "map_shadow_stack", "prctl", "process_madvise",
	"riscv_flush_icache", "riscv_hwprobe", "rseq", "set_robust_list", "set_thread_area",
	"set_tid_address", "set_tls", "swapcontext", "uretprobe", "vfork", "wait4", "waitid",
	"waitpid",
	/* who one is, and how much one may have; only less, without a capability */
	"capget", "capset", "getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32",
	"getgroups", "getgroups32", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
	"getresgid", "getresgid32", "getresuid", "getresuid32", "getrlimit", "getrusage", "getsid",
	"gettid", "getuid", "getuid32", "ioctl", "ioprio_get", "ioprio_set", "landlock_add_rule",
	"landlock_create_ruleset", "landlock_restrict_self", "nice", "prlimit64",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
	"sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
	"sched_rr_get_interval_time64", "sched_setaffinity", "sched_setattr", "sched_setparam",
	"sched_setscheduler", "sched_yield", "seccomp", "semctl", "semget", "semop", "semtimedop",
	"semtimedop_time64", "setpgid", "setpriority", "setrlimit", "setsid", "sysinfo",
	"ugetrlimit", "uname",
	NULL,
};

const char *const sandbox_calls_starting[] = { "execve", "execveat", NULL };

const char *const sandbox_calls_agent[] = {
	"bpf",
	"setgid", "setgid32", "setgroups", "setgroups32", "setregid", "setregid32", "setresgid",
	"setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32", "setuid", "setuid32",
	NULL,
};

const char *const sandbox_calls_refused[] = {
	/* other processes */
	"kcmp", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace",
	/* mounts and namespaces */
	"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr",
	"move_mount", "open_by_handle_at", "open_tree", "pivot_root", "setns", "umount", "umount2",
	"unshare",
	/* the kernel and the machine */
	"acct", "adjtimex", "clock_adjtime", "clock_adjtime64", "clock_settime",
	"clock_settime64", "create_module", "delete_module", "finit_module", "init_module",
	"ioperm", "iopl", "kexec_file_load", "kexec_load", "lookup_dcookie", "nfsservctl",
	"quotactl", "quotactl_fd", "reboot", "setdomainname", "sethostname", "settimeofday",
	"stime", "swapoff", "swapon", "syslog", "vhangup",
	/* much code of the kernel that we have no use for */
	"add_key", "fanotify_init", "fanotify_mark", "io_uring_enter", "io_uring_register",
	"io_uring_setup", "keyctl", "modify_ldt", "perf_event_open", "personality", "request_key",
	"userfaultfd",
	/* of some programs only */
	"bpf", "execve", "execveat", "setfsgid", "setfsgid32", "setfsuid", "setfsuid32",
	"setgid", "setgid32", "setgroups", "setgroups32", "setregid", "setregid32", "setresgid",
	"setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32", "setuid", "setuid32",
	NULL,
};

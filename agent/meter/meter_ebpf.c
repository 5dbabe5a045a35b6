/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter_ebpf.h"

#include <errno.h>
#include <stddef.h>

#ifdef HAVE_EBPF

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/meter/meter_missing.h"
#include "ebpf/meter.h"
#include "ebpf/meter.skel.h"
#include "lib/enforce/telling.h"

struct meter_ebpf {
	struct meter_bpf *skeleton;
	struct bpf_link *sync; /* of the iterator over all tasks */
	const volatile struct meter_cpu *cpus;
	size_t cpus_bytes;
	uint32_t cpu_count;
	uint64_t synced_ns; /* when all tasks were visited last, or were to be */
	bool sync_failed;   /* then */
	struct iso_telling telling; /* of that */
	uint64_t failures_told;     /* of storage_failures */
	uint64_t failures_told_ns;  /* when; 0: never */
};

/* How often all tasks are visited anyhow: no hook is called for some rare moves. */
#define SYNC_NS 60000000000u

/* How long after it has failed. */
#define SYNC_AGAIN_NS 1000000000u

/* How often the log has that there was no memory, at most. */
#define FAILURES_QUIET_NS 60000000000u

/* What libbpf complained of while a program was loaded: shown once, if that fails. */
static struct {
	char text[16384];
	size_t length;
} complaints;

__attribute__((format(printf, 2, 0), nonnull(2))) static int
print(enum libbpf_print_level level, const char *format, va_list ap)
{
	size_t room = sizeof(complaints.text) - complaints.length;
	char line[1024];
	va_list again;
	int length;

	/* Thousands of lines about relocations. */
	if (level == LIBBPF_DEBUG)
		return 0;
	va_copy(again, ap);
	vsnprintf(line, sizeof(line), format, ap);
	log_debug("%.*s", (int)strcspn(line, "\n"), line);
	if (level == LIBBPF_WARN) {
		length = vsnprintf(complaints.text + complaints.length, room, format, again);
		if (length > 0)
			complaints.length += (size_t)length < room ? (size_t)length : room - 1;
	}
	va_end(again);
	return 0;
}

static void show_complaints(void)
{
	char *rest = complaints.text, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			log_error("%s", line);
}

/* Runs an iterator to its end: its programs print nothing. */
static int run_iterator(const struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link)), r = 0;
	char nothing[64];
	ssize_t length;

	if (fd < 0)
		return -errno;
	/* EAGAIN: a million tasks were visited, and there are more. */
	do
		length = read(fd, nothing, sizeof(nothing));
	while (length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR)));
	if (length < 0)
		r = -errno;
	close(fd);
	return r;
}

/* Runs an iterator for the one object that info names. */
static int run_iterator_on(const struct bpf_program *program, union bpf_iter_link_info *info)
{
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = info,
		    .link_info_len = sizeof(*info));
	struct bpf_link *link = bpf_program__attach_iter(program, &options);
	int r;

	if (link == NULL)
		return -errno;
	r = run_iterator(link);
	bpf_link__destroy(link);
	return r;
}

/* Leaves id and level of the cgroup in found_id and found_level. */
static int find_job(struct meter_ebpf *ebpf, int cgroup_fd)
{
	union bpf_iter_link_info info = { .cgroup = { .order = BPF_CGROUP_ITER_SELF_ONLY } };
	volatile struct meter_bpf__bss *shared = ebpf->skeleton->bss;
	int r, fd;

	/* A descriptor of 0 would mean none, and that the root. */
	fd = fcntl(cgroup_fd, F_DUPFD_CLOEXEC, 1);
	if (fd < 0)
		return -errno;
	info.cgroup.cgroup_fd = (uint32_t)fd;
	shared->found_id = 0;
	r = run_iterator_on(ebpf->skeleton->progs.find_job, &info);
	close(fd);
	return r == 0 && shared->found_id == 0 ? -ENOENT : r;
}

static void set_job(volatile struct meter_bpf__bss *shared, uint64_t id, uint32_t level)
{
	/* No id means no cgroup: never one's id with the other's level. */
	shared->job_id = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	shared->job_level = level;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	shared->job_id = id;
}

int meter_ebpf_set_cgroup(struct meter_ebpf *ebpf, int cgroup_fd, struct error *reterr)
{
	volatile struct meter_bpf__bss *shared = ebpf->skeleton->bss;
	uint64_t old_id = shared->job_id;
	uint32_t old_level = shared->job_level;
	int r;

	r = find_job(ebpf, cgroup_fd);
	if (r < 0)
		return error_errno(reterr, r, "find the job's cgroup in the kernel");
	set_job(shared, shared->found_id, shared->found_level);
	r = run_iterator(ebpf->sync);
	if (r == 0)
		return 0;
	/* Some of the old one's tasks may be taken for strangers by now. */
	set_job(shared, old_id, old_level);
	shared->sync_wanted = 1;
	return error_errno(reterr, r, "visit the job's tasks");
}

static int load(struct meter_ebpf *ebpf, enum meter_hierarchy hierarchy)
{
	struct meter_bpf *skeleton = ebpf->skeleton;
	int r, count = libbpf_num_possible_cpus();

	if (count < 0)
		return count;
	ebpf->cpu_count = (uint32_t)count;
	skeleton->rodata->hierarchy_v1 = hierarchy == METER_V1;
	skeleton->rodata->cpu_count = ebpf->cpu_count;
	r = bpf_map__set_max_entries(skeleton->maps.cpus, ebpf->cpu_count + 1);
	if (r < 0)
		return r;
	return meter_bpf__load(skeleton);
}

static int map_cpus(struct meter_ebpf *ebpf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *place;

	ebpf->cpus_bytes = (ebpf->cpu_count + 1) * sizeof(struct meter_cpu);
	ebpf->cpus_bytes = (ebpf->cpus_bytes + page - 1) / page * page;
	place = mmap(NULL, ebpf->cpus_bytes, PROT_READ, MAP_SHARED,
		     bpf_map__fd(ebpf->skeleton->maps.cpus), 0);
	if (place == MAP_FAILED)
		return -errno;
	ebpf->cpus = place;
	return 0;
}

/*
 * The hook at switches comes first: whoever is noted as waiting from then on is
 * also noted as running.
 */
static int attach(struct meter_ebpf *ebpf)
{
	struct meter_bpf *skeleton = ebpf->skeleton;
	struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} hooks[] = {
		{ skeleton->progs.isobar_switch, &skeleton->links.isobar_switch },
		{ skeleton->progs.isobar_fork, &skeleton->links.isobar_fork },
		{ skeleton->progs.isobar_attach, &skeleton->links.isobar_attach },
		{ skeleton->progs.isobar_wakeup, &skeleton->links.isobar_wakeup },
		{ skeleton->progs.isobar_wake_new, &skeleton->links.isobar_wake_new },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		*hooks[i].link = bpf_program__attach(hooks[i].program);
		if (*hooks[i].link == NULL)
			return -errno;
	}
	ebpf->sync = bpf_program__attach_iter(skeleton->progs.sync_tasks, NULL);
	return ebpf->sync != NULL ? 0 : -errno;
}

/* What r, a visit's result, is worth in the log: not how often it fails. */
static void tell_visit(struct meter_ebpf *ebpf, uint64_t now_ns, int r)
{
	uint32_t untold;
	enum iso_tell tell = iso_telling_look(&ebpf->telling, now_ns, r < 0, &untold);

	if (tell == ISO_TELL_BEGIN)
		log_warn("meter: cannot visit the job's tasks: %s; trying again each second",
			 strerror(-r));
	else if (tell == ISO_TELL_END)
		log_info("meter: the job's tasks can be visited again");
}

int meter_ebpf_open(int cgroup_fd, enum meter_hierarchy hierarchy, struct meter_ebpf **ret_ebpf,
		    struct error *reterr)
{
	struct meter_ebpf *ebpf;
	int r;

	r = meter_missing(reterr);
	if (r < 0)
		return r;
	libbpf_set_print(print);
	ebpf = calloc(1, sizeof(*ebpf));
	if (ebpf == NULL)
		return error_errno(reterr, -ENOMEM, "meter");
	complaints.length = 0;
	ebpf->skeleton = meter_bpf__open();
	r = ebpf->skeleton != NULL ? load(ebpf, hierarchy) : -errno;
	if (r < 0) {
		if (!meter_missing_explains(r, reterr)) {
			show_complaints();
			error_errno(reterr, r, "load eBPF (the verifier's log is above)");
		}
		goto fail;
	}
	/*
	 * The map of clocks goes to an unprivileged process: frozen, it can be written
	 * by the programs only, through no descriptor and no mapping.  A read-only
	 * descriptor would not do: the kernel maps maps shared, and shared mappings
	 * of read-only files are not what it calls shared.
	 */
	r = bpf_map_freeze(bpf_map__fd(ebpf->skeleton->maps.clocks));
	if (r == 0)
		r = map_cpus(ebpf);
	if (r == 0)
		r = attach(ebpf);
	if (r < 0) {
		r = error_errno(reterr, r, "attach eBPF");
		goto fail;
	}
	r = meter_ebpf_set_cgroup(ebpf, cgroup_fd, reterr);
	if (r < 0)
		goto fail;
	tell_visit(ebpf, clock_now_ns(), 0);
	*ret_ebpf = ebpf;
	return 0;
fail:
	meter_ebpf_close(ebpf);
	return r;
}

struct meter_ebpf *meter_ebpf_close(struct meter_ebpf *ebpf)
{
	if (ebpf == NULL)
		return NULL;
	bpf_link__destroy(ebpf->sync);
	if (ebpf->cpus != NULL)
		munmap((void *)(uintptr_t)ebpf->cpus, ebpf->cpus_bytes);
	meter_bpf__destroy(ebpf->skeleton);
	free(ebpf);
	return NULL;
}

/* The copy is of one moment: sequence is even and the same before and after. */
static void copy_cpu(const volatile struct meter_cpu *shared, struct meter_cpu *ret_cpu)
{
	uint64_t sequence;

	/* The other side has interrupts off and is done in no time, unless its CPU is virtual. */
	for (unsigned tries = 1;; tries++) {
		if (tries % 1024 == 0)
			sched_yield();
		sequence = __atomic_load_n(&shared->sequence, __ATOMIC_ACQUIRE);
		if (sequence % 2 != 0)
			continue;
		*ret_cpu = *shared;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (shared->sequence == sequence)
			return;
	}
}

/* Returns how long it took. */
static uint64_t read_once(const struct meter_ebpf *ebpf, struct meter_reading *ret_reading)
{
	uint64_t before_ns = clock_now_ns(), now_ns, waiting = 0, wait_sum_ns = 0, stint_ns;
	struct meter_reading reading = { 0 };
	struct meter_cpu cpu;

	for (uint32_t i = 0; i <= ebpf->cpu_count; i++) {
		copy_cpu(&ebpf->cpus[i], &cpu);
		now_ns = clock_now_ns();
		stint_ns = meter_stint_ns(&cpu, now_ns);
		reading.on_cpu_ns += cpu.on_cpu_ns + stint_ns;
		reading.realtime_ns += cpu.realtime_ns;
		if (cpu.running & METER_RUNS_REALTIME)
			reading.realtime_ns += stint_ns;
		reading.switches += cpu.switches;
		waiting += (uint64_t)cpu.waiting;
		wait_sum_ns += (uint64_t)cpu.wait_sum_ns;
	}
	now_ns = clock_now_ns();
	/* Modulo 2^64: every part may be negative, the sum is not, but for a switch just now. */
	reading.wait_ns = wait_sum_ns + waiting * now_ns;
	if ((int64_t)reading.wait_ns < 0)
		reading.wait_ns = 0;
	reading.at_ns = now_ns;
	*ret_reading = reading;
	return now_ns - before_ns;
}

static bool must_visit(const struct meter_ebpf *ebpf, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - ebpf->synced_ns;

	if (ebpf->sync_failed)
		return since_ns >= SYNC_AGAIN_NS;
	return ebpf->skeleton->bss->sync_wanted != 0 || since_ns >= SYNC_NS;
}

/* They are tried again when they next switch or are visited. */
static void tell_failures(struct meter_ebpf *ebpf, uint64_t now_ns)
{
	const volatile struct meter_bpf__bss *shared = ebpf->skeleton->bss;
	uint64_t failures = shared->storage_failures;

	if (failures == ebpf->failures_told)
		return;
	if (ebpf->failures_told_ns != 0 && now_ns - ebpf->failures_told_ns < FAILURES_QUIET_NS)
		return;
	log_warn("meter: the kernel has had no memory %" PRIu64 " times to note a thread of the "
		 "job: the waiting of such threads is not counted",
		 failures - ebpf->failures_told);
	ebpf->failures_told = failures;
	ebpf->failures_told_ns = now_ns;
}

static void visit_tasks(struct meter_ebpf *ebpf)
{
	volatile struct meter_bpf__bss *shared = ebpf->skeleton->bss;
	uint64_t now_ns = clock_now_ns();
	int r;

	if (!must_visit(ebpf, now_ns))
		return;
	ebpf->synced_ns = now_ns;
	shared->sync_wanted = 0;
	r = run_iterator(ebpf->sync);
	ebpf->sync_failed = r < 0;
	/* Until it succeeds the hooks find these tasks when they next switch. */
	if (r < 0)
		shared->sync_wanted = 1;
	tell_visit(ebpf, now_ns, r);
}

void meter_ebpf_read(struct meter_ebpf *ebpf, struct meter_reading *ret_reading)
{
	visit_tasks(ebpf);
	tell_failures(ebpf, clock_now_ns());
	/* Preempted in between, it would be a picture of two moments: once more then. */
	for (int tries = 0; tries < 4; tries++)
		if (read_once(ebpf, ret_reading) < 50000)
			break;
}

int meter_ebpf_register(struct meter_ebpf *ebpf, pid_t pid, pid_t tid, uint32_t slot,
			struct error *reterr)
{
	union bpf_iter_link_info info = { .task = { .tid = (uint32_t)tid } };
	volatile struct meter_bpf__bss *shared = ebpf->skeleton->bss;
	char path[64];
	int r;

	assert(slot < METER_CLOCKS_MAX);
	/* The worker may name its own threads only. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	if (access(path, F_OK) != 0)
		return error_set(reterr, -ESRCH, "process %d has no thread %d", (int)pid,
				 (int)tid);
	shared->register_clock = slot;
	shared->registered = 0;
	r = run_iterator_on(ebpf->skeleton->progs.clock_register, &info);
	if (r == 0 && shared->registered != 1)
		r = -ESRCH;
	if (r < 0)
		return error_errno(reterr, r, "give thread %d an on-CPU clock", (int)tid);
	return 0;
}

int meter_ebpf_clock_fd(const struct meter_ebpf *ebpf)
{
	return bpf_map__fd(ebpf->skeleton->maps.clocks);
}

#else

static int absent(struct error *reterr)
{
	return error_set(reterr, -ENOTSUP, "built without eBPF");
}

int meter_ebpf_open(int cgroup_fd, enum meter_hierarchy hierarchy, struct meter_ebpf **ret_ebpf,
		    struct error *reterr)
{
	(void)cgroup_fd;
	(void)hierarchy;
	(void)ret_ebpf;
	return absent(reterr);
}

struct meter_ebpf *meter_ebpf_close(struct meter_ebpf *ebpf)
{
	(void)ebpf;
	return NULL;
}

void meter_ebpf_read(struct meter_ebpf *ebpf, struct meter_reading *ret_reading)
{
	(void)ebpf;
	(void)ret_reading;
}

int meter_ebpf_set_cgroup(struct meter_ebpf *ebpf, int cgroup_fd, struct error *reterr)
{
	(void)ebpf;
	(void)cgroup_fd;
	return absent(reterr);
}

int meter_ebpf_register(struct meter_ebpf *ebpf, pid_t pid, pid_t tid, uint32_t slot,
			struct error *reterr)
{
	(void)ebpf;
	(void)pid;
	(void)tid;
	(void)slot;
	return absent(reterr);
}

int meter_ebpf_clock_fd(const struct meter_ebpf *ebpf)
{
	(void)ebpf;
	return -ENOTSUP;
}

#endif

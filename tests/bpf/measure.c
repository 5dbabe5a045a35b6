/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/bpf/measure.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "tests/test.h"

const char *measure_missing(void)
{
	const char *why = test_cgroup_missing();

	if (why == NULL && access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		why = "needs kernel BTF";
	return why;
}

struct meter_options measure_options(const struct test_cgroup *job)
{
	return (struct meter_options){ .cgroup_fd = job->fd,
				       .hierarchy = job->v2 ? METER_V2 : METER_V1,
				       .usage_fd = job->usage_fd,
				       .choice = METER_EBPF_ONLY };
}

struct meter *measure_open(const struct test_cgroup *job)
{
	struct meter_options options = measure_options(job);
	struct meter *meter = NULL;
	struct error error;

	ck_assert_msg(meter_open(&options, &meter, &error) == 0, "%s", error.text);
	ck_assert_int_eq(meter_source(meter), METER_SOURCE_EBPF);
	ck_assert_ptr_null(meter_degraded(meter));
	return meter;
}

struct meter_reading measure_read(struct meter *meter)
{
	struct meter_reading reading;

	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	return reading;
}

struct measure_use measure_during(struct meter *meter, unsigned ms)
{
	struct meter_reading a, b;
	double wall;

	a = measure_read(meter);
	load_wait_ms(ms);
	b = measure_read(meter);
	ck_assert_uint_eq(a.epoch, b.epoch);
	ck_assert_uint_ge(b.on_cpu_ns, a.on_cpu_ns);
	ck_assert_uint_ge(b.wait_ns, a.wait_ns);
	wall = (double)(b.at_ns - a.at_ns);
	return (struct measure_use){ .on_cpus = (double)(b.on_cpu_ns - a.on_cpu_ns) / wall,
			     .wait_cpus = (double)(b.wait_ns - a.wait_ns) / wall,
			     .switches = b.switches - a.switches };
}

struct meter_reading measure_settled(struct meter *meter)
{
	struct meter_reading before, now = measure_read(meter);
	int tries = 0;

	do {
		before = now;
		load_wait_ms(5);
		now = measure_read(meter);
	} while (now.on_cpu_ns != before.on_cpu_ns && ++tries < 100);
	return now;
}

void measure_assert_as_kernel(struct meter *meter, const struct load *load, uint64_t ms,
			     double share)
{
	struct meter_reading a, b;
	uint64_t kernel_a, kernel_b;
	double ours, kernel;

	load_hold(load);
	a = measure_settled(meter);
	kernel_a = load_cpu_ns(load);
	load_go_on(load);
	do
		load_wait_ms(20);
	while (load_cpu_ns(load) - kernel_a < ms * 1000000);
	load_hold(load);
	b = measure_settled(meter);
	kernel_b = load_cpu_ns(load);
	load_go_on(load);
	ours = (double)(b.on_cpu_ns - a.on_cpu_ns);
	kernel = (double)(kernel_b - kernel_a);
	ck_assert_msg(fabs(ours / kernel - 1) <= share, "meter %.0f, kernel %.0f us", ours / 1000,
		      kernel / 1000);
}

void measure_assert_nothing(struct meter *meter, unsigned ms)
{
	struct meter_reading a, b;

	a = measure_settled(meter);
	load_wait_ms(ms);
	b = measure_read(meter);
	ck_assert_uint_eq(a.on_cpu_ns, b.on_cpu_ns);
	ck_assert_uint_eq(a.wait_ns, b.wait_ns);
}

void measure_assert_demand(struct measure_use use, double threads)
{
	ck_assert_double_eq_tol(use.on_cpus + use.wait_cpus, threads, 0.05 * threads);
}

void measure_pin(pid_t pid, size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ck_assert_int_eq(sched_setaffinity(pid, sizeof(set), &set), 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/meter.h"
#include "tests/test.h"

START_TEST(a_stint_lasts_from_the_switch_to_now)
{
	struct meter_cpu cpu = { .switched_ns = 1000, .tid = 7, .running = METER_RUNS_JOB };

	ck_assert(meter_in_job(&cpu));
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 500);
	/* The reader's clock may be a little behind another CPU's. */
	ck_assert_uint_eq(meter_stint_ns(&cpu, 900), 0);
	cpu.running = 3; /* a clock, but not of the job */
	ck_assert(!meter_in_job(&cpu));
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 0);
}
END_TEST

START_TEST(a_task_counts_from_when_it_was_moved_in)
{
	struct meter_cpu cpu = { .switched_ns = 1000, .tid = 7,
				 .moved_tid = 7, .moved_ns = 1200, .moved_in = 1 };

	ck_assert(meter_in_job(&cpu));
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 300);
	/* It was in already. */
	cpu.running = METER_RUNS_JOB;
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 500);
	/* That was another stint, or another task. */
	cpu.running = 0;
	cpu.switched_ns = 1300;
	ck_assert(!meter_in_job(&cpu));
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 0);
	cpu.switched_ns = 1000;
	cpu.tid = 8;
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 0);
	/* No switch has been seen on this CPU: nobody else can be meant. */
	cpu.switched_ns = 0;
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 300);
}
END_TEST

START_TEST(a_task_counts_until_it_was_moved_out)
{
	struct meter_cpu cpu = { .switched_ns = 1000, .tid = 7, .running = METER_RUNS_JOB,
				 .moved_tid = 7, .moved_ns = 1200, .moved_in = 0 };

	ck_assert(!meter_in_job(&cpu));
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1500), 200);
	ck_assert_uint_eq(meter_stint_ns(&cpu, 1100), 100);
}
END_TEST

/* A directory as the kernel would show it. */
static char directory[64];

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static int make_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/isobar-meter-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_directory(int fd)
{
	close(fd);
	remove_file("cpu.stat");
	remove_file("cpu.pressure");
	remove_file("cpuacct.usage");
	ck_assert_int_eq(rmdir(directory), 0);
}

START_TEST(reads_cpu_stat_and_the_pressure)
{
	int fd = make_directory();
	struct meter_options options = { .cgroup_fd = fd, .hierarchy = METER_V2, .usage_fd = -1,
					 .choice = METER_KERNEL_ONLY };
	struct meter *meter = NULL;
	struct meter_reading a, b;
	struct meter_check check;
	struct error error;

	write_file("cpu.stat", "usage_usec 1000\nuser_usec 900\nsystem_usec 100\n");
	write_file("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=50\n");
	ck_assert_int_eq(meter_open(&options, &meter, &error), 0);
	ck_assert_int_eq(meter_source(meter), METER_SOURCE_CPU_STAT);
	ck_assert_str_eq(meter_source_name(meter_source(meter)), "cpu.stat");
	ck_assert_str_eq(meter_degraded(meter), "eBPF is switched off");
	ck_assert_int_eq(meter_read(meter, &a, &error), 0);
	ck_assert_uint_eq(a.on_cpu_ns, 0);

	write_file("cpu.stat", "usage_usec 4000\n");
	write_file("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\n");
	ck_assert_int_eq(meter_read(meter, &b, &error), 0);
	ck_assert_uint_eq(b.on_cpu_ns, 3000000);
	ck_assert_uint_eq(b.wait_ns, 20000);
	ck_assert_uint_eq(b.epoch, a.epoch);
	ck_assert_uint_gt(b.at_ns, a.at_ns);
	ck_assert_int_eq(meter_check(meter, &check, NULL), 0);
	ck_assert_int_eq(check.gap_ns, 0);

	/* Unreadable now: the last reading stays what it was. */
	write_file("cpu.stat", "nonsense\n");
	a = b;
	ck_assert_int_eq(meter_read(meter, &a, &error), -EBADMSG);
	ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);

	/* No clocks without eBPF. */
	uint32_t slot = 9;
	ck_assert_int_eq(meter_register_thread(meter, getpid(), getpid(), &slot, &error), -ENOTSUP);
	ck_assert_uint_eq(slot, 9);
	ck_assert_int_eq(meter_clock_fd(meter), -ENOTSUP);
	ck_assert_ptr_null(meter_close(meter));
	remove_directory(fd);
}
END_TEST

START_TEST(goes_on_with_a_new_cgroup)
{
	int fd = make_directory();
	struct meter_options options = { .cgroup_fd = fd, .hierarchy = METER_V1, .usage_fd = fd,
					 .choice = METER_KERNEL_ONLY };
	struct meter *meter = NULL;
	struct meter_reading reading;

	write_file("cpuacct.usage", "500\n");
	ck_assert_int_eq(meter_open(&options, &meter, NULL), 0);
	ck_assert_int_eq(meter_source(meter), METER_SOURCE_CPUACCT);
	write_file("cpuacct.usage", "700\n");
	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	ck_assert_uint_eq(reading.on_cpu_ns, 200);
	ck_assert_int_eq(meter_set_cgroup(meter, fd, fd, NULL), 0);
	write_file("cpuacct.usage", "710\n");
	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	ck_assert_uint_eq(reading.on_cpu_ns, 210);
	/* Counters never go back. */
	write_file("cpuacct.usage", "705\n");
	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	ck_assert_uint_eq(reading.on_cpu_ns, 210);

	/* It stays with the one it has where it cannot follow. */
	int empty = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(meter_set_cgroup(meter, empty, empty, NULL), -ENODATA);
	close(empty);
	write_file("cpuacct.usage", "730\n");
	ck_assert_int_eq(meter_read(meter, &reading, NULL), 0);
	ck_assert_uint_eq(reading.on_cpu_ns, 230);
	meter_close(meter);
	remove_directory(fd);
}
END_TEST

START_TEST(says_when_there_is_nothing_to_measure_with)
{
	int fd = make_directory();
	struct meter_options options = { .cgroup_fd = fd, .hierarchy = METER_V2, .usage_fd = -1,
					 .choice = METER_AUTO };
	struct meter *meter = NULL;
	struct error error = { 0 };

	/* No cgroup at all: neither source has anything. */
	ck_assert_int_eq(meter_open(&options, &meter, &error), -ENODATA);
	ck_assert_ptr_null(meter);
	ck_assert_ptr_nonnull(strstr(error.text, "cpu.stat"));
	ck_assert_ptr_null(meter_close(NULL));
	remove_directory(fd);
}
END_TEST

/* A directory that is no cgroup has no job to be found in it, whoever may load programs. */
START_TEST(closes_nobody_elses_descriptors_when_ebpf_cannot_be_had)
{
	int fd = make_directory(), zero = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct meter_options options = { .cgroup_fd = fd, .hierarchy = METER_V2, .usage_fd = -1,
					 .choice = METER_EBPF_ONLY };
	struct meter *meter = NULL;
	struct error error = { 0 };

	ck_assert_int_eq(dup2(zero, STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_lt(meter_open(&options, &meter, &error), 0);
	ck_assert_str_ne(error.text, "");
	ck_assert_ptr_null(meter);
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
	close(zero);
	remove_directory(fd);
}
END_TEST

#ifndef HAVE_EBPF
START_TEST(says_that_it_was_built_without_ebpf)
{
	struct error error;

	ck_assert_int_eq(meter_supported(&error), -ENOTSUP);
	ck_assert_str_eq(error.text, "built without eBPF");
}
END_TEST
#endif

Suite *test_suite(void)
{
	Suite *suite = suite_create("meter");
	TCase *tcase = tcase_create("meter");

	tcase_add_test(tcase, a_stint_lasts_from_the_switch_to_now);
	tcase_add_test(tcase, a_task_counts_from_when_it_was_moved_in);
	tcase_add_test(tcase, a_task_counts_until_it_was_moved_out);
	tcase_add_test(tcase, reads_cpu_stat_and_the_pressure);
	tcase_add_test(tcase, goes_on_with_a_new_cgroup);
	tcase_add_test(tcase, says_when_there_is_nothing_to_measure_with);
	tcase_add_test(tcase, closes_nobody_elses_descriptors_when_ebpf_cannot_be_had);
#ifndef HAVE_EBPF
	tcase_add_test(tcase, says_that_it_was_built_without_ebpf);
#endif
	suite_add_tcase(suite, tcase);
	return suite;
}

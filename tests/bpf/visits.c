/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/* What the meter says of its visits to the job's tasks, and that it recovers. */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "ebpf/meter.skel.h"
#include "tests/bpf/measure.h"
#include "tests/test.h"

/* stderr becomes a pipe; every test is a process of its own. */
static int said_fd;

static void listen_to_the_log(void)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	said_fd = fds[0];
	log_init(LOG_INFO, false);
}

static unsigned times_said(const char *what)
{
	static char text[16384];
	static size_t length;
	ssize_t more = read(said_fd, text + length, sizeof(text) - 1 - length);
	unsigned count = 0;

	length += more > 0 ? (size_t)more : 0;
	text[length] = '\0';
	for (const char *place = text; (place = strstr(place, what)) != NULL; place++)
		count++;
	return count;
}

static bool is_kind(int fd, const char *kind)
{
	char path[32], text[32] = { 0 };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof(text) - 1) > 0 && strcmp(text, kind) == 0;
}

/* The descriptor by which the meter runs its iterator over all tasks. */
static int find_iterator(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct bpf_link_info info = { 0 };
		unsigned bytes = sizeof(info);

		if (is_kind(fd, "anon_inode:bpf_link") &&
		    bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 &&
		    info.type == BPF_LINK_TYPE_ITER)
			return fd;
	}
	ck_abort_msg("the meter has no iterator");
}

/* What its programs and the agent share. */
static struct meter_bpf__bss *map_shared(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct bpf_map_info info = { 0 };
		unsigned bytes = sizeof(info);
		void *place;

		if (!is_kind(fd, "anon_inode:bpf-map") ||
		    bpf_obj_get_info_by_fd(fd, &info, &bytes) != 0 ||
		    strstr(info.name, ".bss") == NULL)
			continue;
		place = mmap(NULL, sizeof(struct meter_bpf__bss), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(place, MAP_FAILED);
		return place;
	}
	ck_abort_msg("the meter has no globals");
}

/* Anything else is in its place, as nothing makes an iterator fail on demand. */
static int hide(int iterator)
{
	int aside = fcntl(iterator, F_DUPFD_CLOEXEC, 0),
	    null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(aside, 0);
	ck_assert_int_eq(dup2(null, iterator), iterator);
	close(null);
	return aside;
}

static void show(int iterator, int aside)
{
	ck_assert_int_eq(dup2(aside, iterator), iterator);
	close(aside);
}

/* Asks for a visit, as a move does; at least a second later than the last that failed. */
static void move(struct meter *meter, const struct test_cgroup *to, const struct load *load)
{
	load_wait_ms(1100);
	test_cgroup_add(to, load->pid);
	measure_read(meter);
}

START_TEST(each_outage_of_the_visits_is_told_with_its_end)
{
	struct test_cgroup job, other;
	struct meter *meter;
	struct load load;
	int iterator;

	test_cgroup_make(&job, "visited");
	test_cgroup_make(&other, "beside");
	listen_to_the_log();
	meter = measure_open(&job);
	iterator = find_iterator();
	load = load_start(&other, LOAD_IDLE, 1);
	move(meter, &job, &load);
	ck_assert_uint_eq(times_said("meter: "), 0);
	int aside = hide(iterator);
	for (int i = 0; i < 2; i++)
		move(meter, i == 0 ? &other : &job, &load);
	ck_assert_uint_eq(times_said("cannot visit the job's tasks"), 1);
	ck_assert_uint_eq(times_said("can be visited again"), 0);
	show(iterator, aside);
	move(meter, &other, &load);
	ck_assert_uint_eq(times_said("can be visited again"), 1);
	move(meter, &job, &load);
	ck_assert_uint_eq(times_said("meter: "), 2);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&other);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(stays_with_the_old_cgroup_where_the_new_ones_tasks_cannot_be_visited)
{
	struct test_cgroup job, other;
	struct error error = { 0 };
	struct meter *meter;
	struct load load;
	int iterator;

	test_cgroup_make(&job, "old");
	test_cgroup_make(&other, "new");
	meter = measure_open(&job);
	load = load_start(&job, LOAD_PULSES, 2);
	iterator = find_iterator();
	int aside = hide(iterator);
	ck_assert_int_lt(meter_set_cgroup(meter, other.fd, other.usage_fd, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.text, "visit the job's tasks"));
	show(iterator, aside);
	measure_assert_as_kernel(meter, &load, 50, 0.01);
	load_stop(&load);
	meter_close(meter);
	test_cgroup_remove(&other);
	test_cgroup_remove(&job);
}
END_TEST

START_TEST(threads_that_the_kernel_has_no_memory_for_are_told)
{
	volatile struct meter_bpf__bss *shared;
	struct test_cgroup job;
	struct meter *meter;

	test_cgroup_make(&job, "memory");
	listen_to_the_log();
	meter = measure_open(&job);
	shared = map_shared();
	measure_read(meter);
	ck_assert_uint_eq(times_said("meter: "), 0);
	for (int i = 0; i < 3; i++) {
		shared->storage_failures += 2;
		measure_read(meter);
	}
	ck_assert_uint_eq(times_said("has had no memory 2 times"), 1);
	ck_assert_uint_eq(times_said("meter: "), 1);
	meter_close(meter);
	test_cgroup_remove(&job);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("bpf-visits");
	TCase *tcase = tcase_create("visits");
	const char *why = measure_missing();

	if (why != NULL)
		test_skip_all(why);
	tcase_set_timeout(tcase, 60);
	tcase_add_unchecked_fixture(tcase, NULL, test_cgroup_sweep);
	tcase_add_test(tcase, each_outage_of_the_visits_is_told_with_its_end);
	tcase_add_test(tcase, stays_with_the_old_cgroup_where_the_new_ones_tasks_cannot_be_visited);
	tcase_add_test(tcase, threads_that_the_kernel_has_no_memory_for_are_told);
	suite_add_tcase(suite, tcase);
	return suite;
}

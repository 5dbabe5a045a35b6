/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/meter/cpuclock.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/test.h"

START_TEST(is_the_kernels_clock_without_a_map)
{
	struct cpuclock clock = { .last_ns = 1 };
	uint64_t before_ns, read_ns;

	ck_assert_int_eq(cpuclock_init(&clock, NULL, 5), 0);
	before_ns = cpuclock_kernel_ns();
	read_ns = cpuclock_read(&clock);
	ck_assert_uint_ge(read_ns, before_ns);
	ck_assert_uint_le(read_ns, cpuclock_kernel_ns());
	ck_assert_ptr_null(cpuclock_map_close(NULL));
}
END_TEST

START_TEST(carries_the_shared_value_on)
{
	size_t bytes = METER_CLOCKS_MAX * sizeof(struct meter_clock);
	int fd = memfd_create("clocks", MFD_CLOEXEC);
	struct cpuclock_map *map = NULL;
	struct meter_clock *clocks;
	struct cpuclock clock;
	uint64_t now_ns, read_ns;

	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	clocks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(clocks, MAP_FAILED);
	ck_assert_int_eq(cpuclock_map_open(fd, &map, NULL), 0);
	close(fd);

	/* Not switched in yet: the kernel's. */
	ck_assert_int_eq(cpuclock_init(&clock, map, 3), 0);
	ck_assert_uint_le(cpuclock_read(&clock), cpuclock_kernel_ns());

	now_ns = clock_now_ns();
	clocks[3] = (struct meter_clock){ .accumulated_ns = 5000000000000, .started_ns = now_ns };
	read_ns = cpuclock_read(&clock);
	ck_assert_uint_ge(read_ns, 5000000000000);
	ck_assert_uint_le(read_ns, 5000000000000 + clock_now_ns() - now_ns);

	/* The kernel's account of the stint was less than the wall clock's. */
	clocks[3].accumulated_ns = 4000000000000;
	clocks[3].started_ns = clock_now_ns();
	ck_assert_uint_eq(cpuclock_read(&clock), read_ns);

	ck_assert_int_eq(cpuclock_init(&clock, map, METER_CLOCKS_MAX), -EINVAL);
	ck_assert_uint_le(cpuclock_read(&clock), cpuclock_kernel_ns());
	cpuclock_map_close(map);
}
END_TEST

START_TEST(says_what_cannot_be_mapped)
{
	struct cpuclock_map *map = NULL;
	struct error error;

	ck_assert_int_eq(cpuclock_map_open(-1, &map, &error), -EBADF);
	ck_assert_int_eq(error.code, -EBADF);
	ck_assert_ptr_null(map);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cpuclock");
	TCase *tcase = tcase_create("cpuclock");

	tcase_add_test(tcase, is_the_kernels_clock_without_a_map);
	tcase_add_test(tcase, carries_the_shared_value_on);
	tcase_add_test(tcase, says_what_cannot_be_mapped);
	suite_add_tcase(suite, tcase);
	return suite;
}

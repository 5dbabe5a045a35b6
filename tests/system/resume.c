/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/control/control.h"
#include "tests/system/course.h"
#include "tests/test.h"

/*
 * The coordinator is killed in the middle of it with each method and
 * allocation, and goes on exactly where its checkpoint is.
 */

static struct course *const course = &course_shared;
static struct crew *const crew = &course_shared.crew;

static void write_checkpoint(void)
{
	json_t *request = json_pack("{s:s}", "command", "checkpoint"), *reply = NULL;
	char path[128];
	struct error error;

	snprintf(path, sizeof(path), "%s/run/control", crew->cluster.folder);
	ck_assert_msg(control_call(path, request, 10000000000u, &reply, &error) == 0, "%s",
		      error.text);
	ck_assert(json_is_true(json_object_get(reply, "ok")));
	json_decref(request);
	json_decref(reply);
}

/* The whole file; the caller frees it. */
static uint8_t *read_checkpoint(size_t *ret_size)
{
	char path[128];
	struct stat status;

	snprintf(path, sizeof(path), "%s/state/checkpoint", crew->cluster.folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	*ret_size = (size_t)status.st_size;
	uint8_t *bytes = malloc(*ret_size);
	ck_assert_int_eq(read(fd, bytes, *ret_size), (ssize_t)*ret_size);
	close(fd);
	return bytes;
}

/* Words of eight bytes in which two files differ. */
static unsigned differences(const uint8_t *a, const uint8_t *b, size_t size)
{
	unsigned count = 0;

	for (size_t i = 0; i < size; i += 8)
		if (memcmp(a + i, b + i, size - i < 8 ? size - i : 8) != 0) {
			fprintf(stderr, "# offset %zu of %zu differs\n", i, size);
			count++;
		}
	return count;
}

START_TEST(a_killed_coordinator_goes_on_where_its_checkpoint_is)
{
	size_t size_before, size_after;

	course_configure(course, _i, "partition = iid");
	cluster_start_coordinator(&crew->cluster, NULL);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_start(crew, i, COURSE_SHARE_UCPU);
	course_goes_on(course, 15 * COURSE_BATCH, "with all three");
	json_t *status = course_look(course);
	double used = course_used(status), term = course_number(status, "term");
	json_decref(status);
	write_checkpoint();
	course_goes_on(course, 3 * COURSE_BATCH, "after the checkpoint");
	cluster_kill(&crew->cluster.coordinator, SIGKILL);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_end(crew, i, SIGKILL);

	/* It writes what it has read before it listens, under a new term: that and the checksum. */
	uint8_t *before = read_checkpoint(&size_before);
	cluster_start_coordinator(&crew->cluster, "--resume");
	status = course_look(course);
	uint8_t *after = read_checkpoint(&size_after);
	ck_assert_uint_eq(size_before, size_after);
	ck_assert_uint_ge(differences(before, after, size_before), 1);
	ck_assert_uint_le(differences(before, after, size_before), 2);
	free(before);
	free(after);
	ck_assert_double_gt(course_number(status, "term"), term);
	ck_assert_double_ge(course_used(status), used);
	used = course_used(status);
	json_decref(status);

	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_start(crew, i, COURSE_SHARE_UCPU);
	course_goes_on(course, 20 * COURSE_BATCH, "after the kill");
	json_t *report = course_end(course);
	ck_assert_double_ge(course_used(report), used + 20 * COURSE_BATCH);
	course_check_learnt(report);
	json_decref(report);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("resume");
	TCase *tcase = course_tcase_create("methods");

	tcase_add_loop_test(tcase, a_killed_coordinator_goes_on_where_its_checkpoint_is, 0,
			    course_combinations_count);
	suite_add_tcase(suite, tcase);
	return suite;
}

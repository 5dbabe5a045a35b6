/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/ata/ras.h"
#include "tests/system/course.h"
#include "tests/test.h"

/*
 * Every method and allocation with the real programs: a worker that is slowed
 * down, one that is killed and comes back and one that comes late do no harm,
 * and every gradient is accounted for.
 */

static struct course *const course = &course_shared;
static struct crew *const crew = &course_shared.crew;

/*
 * By the workers' own count, which they give once a second: the coordinator
 * has not counted what nobody did.  Worker 0 was killed before it could tell.
 */
static void check_computed(const json_t *report)
{
	for (unsigned i = 1; i < CLUSTER_WORKERS; i++) {
		double done = course_number(course_worker(report, i), "tasks_done");

		for (unsigned ms = 0; (double)crew_done(crew, i) < done; ms += 20) {
			ck_assert_msg(ms < CLUSTER_WAIT_MS,
				      "worker %u has done %ju tasks, not %.0f", i,
				      (uintmax_t)crew_done(crew, i), done);
			usleep(20000);
			crew_listen(crew);
		}
	}
}

START_TEST(a_slow_a_killed_and_a_late_worker_do_no_harm)
{
	course_configure(course, _i, "partition = dirichlet");
	cluster_start_coordinator(&crew->cluster, NULL);
	crew_start(crew, 0, COURSE_SHARE_UCPU);
	crew_start(crew, 1, COURSE_SHARE_UCPU);
	course_goes_on(course, 10 * COURSE_BATCH, "with two of three");

	crew_limit(crew, 1, COURSE_SHARE_UCPU / 10);
	course_goes_on(course, 10 * COURSE_BATCH, "with a slow worker");

	double before = course_tasks(course, 0);
	crew_end(crew, 0, SIGKILL);
	course_goes_on(course, 4 * COURSE_BATCH, "without a killed worker");
	crew_start(crew, 0, COURSE_SHARE_UCPU);
	if (!course->combination->leaves_out)
		course_takes_part(course, 0, before);

	crew_start(crew, 2, COURSE_SHARE_UCPU);
	if (!course->combination->leaves_out)
		course_takes_part(course, 2, 0);
	crew_limit(crew, 1, COURSE_SHARE_UCPU);
	course_goes_on(course, 20 * COURSE_BATCH, "with all three");

	json_t *report = course_end(course);
	course_check_learnt(report);
	check_computed(report);
	json_decref(report);
}
END_TEST

/* Mean times by the profile, and what follows from them for the shares. */
static void best_allocation(const char *profile_path, const uint64_t *share_ucpu,
			    uint32_t ret_tasks[CLUSTER_WORKERS])
{
	json_t *profile = json_load_file(profile_path, 0, NULL);
	double scores[CLUSTER_WORKERS], workspace[64];

	ck_assert_ptr_nonnull(profile);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		scores[i] =
		    course_number(course_worker(profile, i), "mean_s") / (double)share_ucpu[i];
	json_decref(profile);
	ck_assert_uint_le(iso_ras_workspace_bytes(CLUSTER_WORKERS), sizeof(workspace));
	iso_ras(scores, CLUSTER_WORKERS, COURSE_BATCH, workspace, ret_tasks);
}

/* OFTA knows the means from the start, here those that an earlier run has learnt. */
START_TEST(ofta_goes_by_the_profile_of_an_earlier_run)
{
	static const uint64_t share_ucpu[CLUSTER_WORKERS] = { 800000, 400000, 200000 };
	uint32_t best[CLUSTER_WORKERS];
	char path[128];

	snprintf(path, sizeof(path), "%s/profile", crew->cluster.folder);
	course_configure_allocation(course, "ata", path);
	cluster_start_coordinator(&crew->cluster, NULL);
	for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
		crew_start(crew, i, share_ucpu[i]);
	course_goes_on(course, 20 * COURSE_BATCH, "while it learns");
	json_decref(course_end(course));
	best_allocation(path, share_ucpu, best);
	ck_assert_uint_gt(best[0], best[1]);
	ck_assert_uint_gt(best[1], best[2]);

	course_configure_allocation(course, "ofta", path);
	cluster_start_coordinator(&crew->cluster, "--restart");
	for (int looks = 0; looks < 20; looks++) {
		course_goes_on(course, 1, "with what is known");
		json_t *status = course_look(course);
		ck_assert_str_eq(json_string_value(json_object_get(status, "allocation")), "ofta");
		for (unsigned i = 0; i < CLUSTER_WORKERS; i++)
			ck_assert_double_eq(course_number(course_worker(status, i), "allocation"),
					    best[i]);
		json_decref(status);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("train");
	TCase *tcase = course_tcase_create("methods");

	tcase_add_loop_test(tcase, a_slow_a_killed_and_a_late_worker_do_no_harm, 0,
			    course_combinations_count);
	tcase_add_test(tcase, ofta_goes_by_the_profile_of_an_earlier_run);
	suite_add_tcase(suite, tcase);
	return suite;
}

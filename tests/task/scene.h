/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_SCENE_H
#define ISO_TESTS_SCENE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What tests of users' tasks stand on.  scene.c also stands in for what an agent's
 * job is: there is no control group and no meter, so that agent/node/host.c runs workers
 * for anybody.
 */
#define SCENE_SAMPLES  250u
#define SCENE_FEATURES 9u

/* Training and test half of a small data set, pixels and classes 0 and 1. */
void scene_data(const char *folder);

/* isobar-worker of this build. */
void scene_worker_path(char *path, size_t size);

/* Whether the user that root's workers become could run it. */
bool scene_is_for_nobody(void);

/* Makes a file that user's, if we are root. */
void scene_give_to_nobody(const char *path);

/* No core dumps, and nothing in the log but what is fatal. */
void scene_be_quiet(void);

#endif

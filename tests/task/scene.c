/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/task/scene.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/log.h"
#include "agent/cgroup/cgroup.h"
#include "agent/node/job.h"
#include "tests/test.h"

struct cgroup *job_cgroup(const struct job *job)
{
	(void)job;
	return NULL;
}

struct meter *job_meter(const struct job *job)
{
	(void)job;
	return NULL;
}

void job_watch(struct job *job, pid_t worker)
{
	(void)job;
	(void)worker;
}

int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct error *reterr)
{
	(void)cgroup;
	(void)pid;
	(void)reterr;
	return 0;
}

static void put_file(const char *folder, const char *name, const unsigned char *head,
		     size_t head_bytes, size_t bytes)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(head, 1, head_bytes, file), head_bytes);
	for (size_t i = 0; i < bytes; i++)
		fputc((int)(i % 2), file);
	ck_assert_int_eq(fclose(file), 0);
}

void scene_data(const char *folder)
{
	static const unsigned char images[] = { 0, 0, 8, 3, 0, 0, 0, SCENE_SAMPLES,
						0, 0, 0, 3, 0, 0, 0, 3 };
	static const unsigned char labels[] = { 0, 0, 8, 1, 0, 0, 0, SCENE_SAMPLES };

	_Static_assert(SCENE_SAMPLES <= 255 && SCENE_FEATURES == 3 * 3, "as the heads say");
	put_file(folder, "train-images-idx3-ubyte", images, sizeof(images),
		 SCENE_SAMPLES * SCENE_FEATURES);
	put_file(folder, "train-labels-idx1-ubyte", labels, sizeof(labels), SCENE_SAMPLES);
	put_file(folder, "t10k-images-idx3-ubyte", images, sizeof(images),
		 SCENE_SAMPLES * SCENE_FEATURES);
	put_file(folder, "t10k-labels-idx1-ubyte", labels, sizeof(labels), SCENE_SAMPLES);
}

void scene_worker_path(char *path, size_t size)
{
	const char *builddir = getenv("top_builddir");
	char *full = realpath(builddir != NULL ? builddir : ".", NULL);

	/* Absolute, as configurations want it. */
	snprintf(path, size, "%s/agent/isobar-worker", full != NULL ? full : ".");
	free(full);
}

/* A build may be in a folder of root's alone. */
bool scene_is_for_nobody(void)
{
	const struct passwd *nobody = getpwnam("nobody");
	char path[256];
	int status;

	if (geteuid() != 0)
		return true;
	if (nobody == NULL)
		return false;
	scene_worker_path(path, sizeof(path));
	pid_t pid = fork();
	if (pid == 0)
		_exit(setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0 ||
		      access(path, X_OK) != 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

void scene_give_to_nobody(const char *path)
{
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, nobody->pw_uid, nobody->pw_gid), 0);
}

void scene_be_quiet(void)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	log_init(LOG_CRIT, false);
}

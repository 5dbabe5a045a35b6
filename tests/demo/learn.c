/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/learn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/demo/files.h"
#include "tests/demo/setup.h"
#include "tests/demo/training.h"

/* Goes when it is swept, too: see setup_sweep(). */
static const char *folder(void)
{
	static char path[DEMO_PATH_BYTES];
	char name[64];

	snprintf(name, sizeof(name), SETUP_PREFIX "%d-learnt", (int)getpid());
	path_join(path, temporary_directory(), name);
	return path;
}

const char *learn_path(void)
{
	static char path[DEMO_PATH_BYTES];

	if (path[0] == '\0')
		path_join(path, folder(), "profile");
	return path;
}

static bool is_missing(const struct training_options *training)
{
	return training->allocation != NULL && strcmp(training->allocation, "ofta") == 0 &&
	       access(training_profile(training), F_OK) != 0;
}

/* Minibatch measures all workers, and ata-pooled explores least. */
static int learn(const struct options *options, const char *profile, compare_fn *fn)
{
	struct options one = *options;

	if (mkdir(folder(), 0711) != 0 && errno != EEXIST) {
		fprintf(stderr, "demo: make %s: %s\n", folder(), strerror(errno));
		return 1;
	}
	printf("No profile for ofta: what the workers can do is learnt first, in %u s with "
	       "ata-pooled\n",
	       LEARN_SECONDS);
	fflush(stdout);
	one.seconds = LEARN_SECONDS;
	one.json_path = one.plot_path = NULL;
	one.training.method = NULL;
	one.training.learning_rate = NULL;
	one.training.allocation = "ata-pooled";
	one.training.profile = profile;
	return compare_one(&one, fn);
}

int learn_first(const struct compare *compare, const struct options *options, compare_fn *fn)
{
	const struct training_options *runs = compare->runs;
	unsigned count = compare->count;

	(void)learn_path(); /* this process's, for those that it makes */
	if (count == 0) {
		runs = &options->training;
		count = 1;
	}
	for (unsigned i = 0; i < count; i++) {
		if (!is_missing(&runs[i]))
			continue;
		int status = learn(options, training_profile(&runs[i]), fn);
		if (status != 0)
			return status;
		putchar('\n');
	}
	return 0;
}

void learn_forget(void)
{
	(void)tree_remove(folder(), NULL);
}

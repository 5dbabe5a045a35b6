/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/training.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/train/coordinator_conf.h"
#include "tests/demo/learn.h"

#define FILE_NAME "isobar-coordinator.conf"

static const struct {
	const char *section, *name;
} CHOICES[] = {
	[TRAINING_METHOD] = { "training", "method" },
	[TRAINING_ALLOCATION] = { "allocation", "strategy" },
	[TRAINING_PARTITION] = { "training", "partition" },
};

const char *training_names(enum training_choice choice)
{
	const struct confutil_schema *schema = cconf_schema();

	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];

		if (strcmp(option->section, CHOICES[choice].section) == 0 &&
		    strcmp(option->name, CHOICES[choice].name) == 0)
			return option->choices;
	}
	return NULL;
}

/*
 * Step sizes that suit the demo's tasks of 1024 samples.  A method that steps
 * with each gradient takes a smaller step, since more are under way meanwhile.
 */
static const char *learning_rate(const struct training_options *training)
{
	static const char *const each_gradient[] = {
		"asgd",	      "delay-adaptive", "naive-optimal", "ringmaster", "ringmaster-stops",
		"ringleader", "ia2sgd"
	};

	if (training->learning_rate != NULL || training->method == NULL)
		return training->learning_rate;
	for (size_t i = 0; i < sizeof(each_gradient) / sizeof(each_gradient[0]); i++)
		if (strcmp(training->method, each_gradient[i]) == 0)
			return "0.05";
	return NULL;
}

const char *training_profile(const struct training_options *training)
{
	bool is_ofta = training->allocation != NULL && strcmp(training->allocation, "ofta") == 0;

	return training->profile != NULL || !is_ofta ? training->profile : learn_path();
}

static void put_choice(FILE *out, const char *name, const char *value)
{
	if (value != NULL)
		fprintf(out, "\t%s = \"%s\"\n", name, value);
}

void training_write(FILE *out, const struct demo *demo)
{
	const struct training_options *training = &demo->options.training;
	const char *directory = demo->directory;

	fprintf(out,
		"run = demo\n"
		"listen = \"tcp://127.0.0.1:%u\"\n"
		"secret-key = \"%s/coordinator/coordinator.secret\"\n"
		"state-directory = \"%s/coordinator\"\n"
		"run-directory = \"%s/coordinator\"\n"
		"data = \"%s\"\n"
		"evaluation-interval = 1s\n"
		"training {\n"
		"\ttasks-per-round = 128\n"
		"\tsamples-per-task = 1024\n",
		demo->coordinator_port, directory, directory, directory, demo->options.data);
	put_choice(out, "method", training->method);
	put_choice(out, "partition", training->partition);
	put_choice(out, "dirichlet-alpha", training->alpha);
	put_choice(out, "learning-rate", learning_rate(training));
	fputs("}\nallocation {\n", out);
	put_choice(out, "strategy", training->allocation);
	if (training_profile(training) != NULL)
		fprintf(out, "\tprofile = \"%s/coordinator/profile\"\n", directory);
	fputs("}\n", out);
	for (unsigned i = 0; i < demo->options.nodes; i++)
		fprintf(out, "worker \"%s\" {\n\tpublic-key = '%s'\n}\n", demo->nodes[i].name,
			demo->nodes[i].worker_key);
}

/* What the configuration needs besides the options, with keys that open nothing. */
static int stand_in(struct demo *demo, const struct options *options, struct error *reterr)
{
	struct curve_keypair keypair;
	int r = 0;

	demo->options = *options;
	demo->coordinator_port = 1;
	for (unsigned i = 0; i < options->nodes && r == 0; i++) {
		snprintf(demo->nodes[i].name, sizeof(demo->nodes[i].name), "node%u", i + 1);
		r = curve_keypair_new(&keypair, reterr);
		if (r == 0)
			memcpy(demo->nodes[i].worker_key, keypair.public_key, CURVE_KEY_BYTES);
	}
	return r;
}

int training_check(const struct options *options, struct error *reterr)
{
	struct demo *demo = calloc(1, sizeof(*demo));
	struct cconf *conf = malloc(sizeof(*conf));
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int r = -ENOMEM;

	if (demo != NULL && conf != NULL && memory != NULL)
		r = stand_in(demo, options, reterr);
	else
		(void)error_errno(reterr, r, FILE_NAME);
	if (r == 0)
		training_write(memory, demo);
	if (memory != NULL && fclose(memory) != 0 && r == 0)
		r = error_errno(reterr, -ENOMEM, FILE_NAME);
	if (r == 0)
		r = cconf_parse(FILE_NAME, text, conf, reterr);
	free(text);
	free(conf);
	free(demo);
	return r;
}

/* Where a coordinator without privileges may read and write it. */
static void inside(const struct demo *demo, char ret_path[DEMO_PATH_BYTES])
{
	path_join(ret_path, demo->directory, "coordinator/profile");
}

int training_take_profile(const struct demo *demo, struct error *reterr)
{
	const char *profile = training_profile(&demo->options.training);
	char path[DEMO_PATH_BYTES];

	inside(demo, path);
	if (profile == NULL || access(profile, F_OK) != 0)
		return 0;
	int r = file_copy(profile, path, 0644, reterr);
	if (r == 0 && geteuid() == 0 && chown(path, demo->user, demo->gid) != 0)
		r = error_errno(reterr, -errno, "chown %s", path);
	return r;
}

int training_keep_profile(const struct demo *demo, struct error *reterr)
{
	const char *profile = training_profile(&demo->options.training);
	char path[DEMO_PATH_BYTES];

	inside(demo, path);
	if (profile == NULL || access(path, F_OK) != 0)
		return 0;
	(void)unlink(profile); /* that of the run before, or none */
	return file_copy(path, profile, 0644, reterr);
}

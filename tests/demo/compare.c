/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/demo/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/gnuplot.h"
#include "tests/demo/training.h"
#include "tests/demo/watch.h"

int compare_parse(const char *text, const struct options *options, struct compare *ret_compare,
		  struct error *reterr)
{
	struct compare *compare = ret_compare;
	char *rest = compare->text, *word;

	compare->count = 0;
	if (snprintf(compare->text, sizeof(compare->text), "%s", text) >=
	    (int)sizeof(compare->text))
		return error_set(reterr, -EINVAL, "the list is too long");
	while ((word = strsep(&rest, ",")) != NULL) {
		struct options one = *options;
		char *allocation = strchr(word, '+');

		if (compare->count == COMPARE_RUNS_MAX)
			return error_set(reterr, -EINVAL, "more than %d runs", COMPARE_RUNS_MAX);
		if (allocation != NULL)
			*allocation++ = '\0';
		if (word[0] != '\0')
			one.training.method = word;
		/* What suits one method need not suit the next. */
		if (word[0] != '\0' || allocation != NULL)
			one.training.allocation = allocation;
		int r = training_check(&one, reterr);
		if (r != 0)
			return r;
		compare->runs[compare->count++] = one.training;
	}
	return 0;
}

int compare_one(const struct options *options, compare_fn *fn)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		/* If we are killed, it cleans up by itself. */
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
			_exit(1);
		exit(fn(options));
	}
	return pid > 0 ? watch_child(pid) : 1;
}

static double number(const json_t *account, const char *key)
{
	const json_t *value = json_object_get(account, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void put(FILE *out, int width, int digits, double value)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, digits, value);
}

static void name_run(const json_t *report, char ret_name[64])
{
	const json_t *account = json_object_get(report, "account");
	const char *method = json_string_value(json_object_get(account, "method"));
	const char *allocation = json_string_value(json_object_get(account, "allocation"));

	if (method == NULL || allocation == NULL)
		snprintf(ret_name, 64, "?");
	else if (strcmp(allocation, "none") == 0)
		snprintf(ret_name, 64, "%s", method);
	else
		snprintf(ret_name, 64, "%s + %s", method, allocation);
}

void compare_print(FILE *out, const json_t *reports)
{
	const json_t *report;
	size_t i;

	fprintf(out, "%-32s %8s %6s %8s %7s %6s %7s %7s %5s\n", "", "accuracy", "steps", "worker/s",
		"in vain", "of gta", "started", "used", "delay");
	json_array_foreach (reports, i, report) {
		const json_t *account = json_object_get(report, "account");
		const json_t *gradients = json_object_get(account, "gradients");
		char name[64];

		name_run(report, name);
		fprintf(out, "%-32s", name);
		put(out, 8, 4, number(account, "accuracy"));
		put(out, 6, 0, number(account, "steps"));
		put(out, 8, 1, number(account, "worker_s"));
		put(out, 7, 1, number(account, "discarded_worker_s"));
		put(out, 6, 2, number(account, "worker_s") / number(account, "greedy_worker_s"));
		put(out, 7, 0, number(gradients, "started"));
		put(out, 7, 0, number(gradients, "used"));
		put(out, 5, 0, number(account, "delay_max"));
		fprintf(out, "%s\n",
			json_is_true(json_object_get(report, "held")) ? "" : "  something FAILED");
	}
}

/* Accuracy over the time and over the CPU time that it took, one curve a run each. */
struct drawing {
	struct chart_curve curves[2][COMPARE_RUNS_MAX];
	char titles[COMPARE_RUNS_MAX][64];
	double *values; /* of all */
};

static size_t samples_of(const json_t *reports)
{
	const json_t *report;
	size_t i, sum = 0;

	json_array_foreach (reports, i, report)
		sum += json_array_size(json_object_get(report, "samples"));
	return sum;
}

static void add_curve(struct drawing *drawing, size_t run, const json_t *report, double *values)
{
	const json_t *samples = json_object_get(report, "samples"), *sample;
	size_t count = json_array_size(samples), i;

	name_run(report, drawing->titles[run]);
	json_array_foreach (samples, i, sample) {
		values[i] = number(sample, "test_accuracy");
		values[count + i] = number(sample, "at_s");
		values[2 * count + i] = number(sample, "worker_cpu_s");
	}
	for (unsigned k = 0; k < 2; k++)
		drawing->curves[k][run] = (struct chart_curve){ .title = drawing->titles[run],
								.x = values + (k + 1) * count,
								.y = values,
								.count = count };
}

static int draw(const char *path, const json_t *reports, struct error *reterr)
{
	struct drawing *drawing = calloc(1, sizeof(*drawing));
	double *values = calloc(3 * samples_of(reports) + 1, sizeof(*values)), *next = values;
	int r = -ENOMEM;

	if (drawing != NULL && values != NULL) {
		const json_t *report;
		size_t i;
		struct chart charts[2] = {
			{ .title = "over time", .x_label = "s", .y_label = "test accuracy" },
			{ .title = "over worker time",
			  .x_label = "s of CPU",
			  .y_label = "test accuracy" },
		};

		json_array_foreach (reports, i, report) {
			add_curve(drawing, i, report, next);
			next += 3 * json_array_size(json_object_get(report, "samples"));
		}
		for (unsigned k = 0; k < 2; k++) {
			charts[k].curves = drawing->curves[k];
			charts[k].count = json_array_size(reports);
		}
		r = chart_draw(path, "isobar demo", charts, 2, 2, reterr);
	} else {
		(void)error_errno(reterr, r, "%s", path);
	}
	free(values);
	free(drawing);
	return r;
}

static int write_reports(const char *path, const json_t *reports, struct error *reterr)
{
	if (json_dump_file(reports, path, JSON_INDENT(1)) != 0)
		return error_errno(reterr, -errno, "write %s", path);
	return 0;
}

static int finish(const struct options *options, const json_t *reports)
{
	struct error error;
	int r = 0;

	fputs("\nComparison:\n", stdout);
	compare_print(stdout, reports);
	fputs("worker/s: what the workers computed, in seconds of CPU; in vain: of that; of gta: "
	      "the\n"
	      "same as a part of what greedy rounds would have taken; started, used: gradients;\n"
	      "delay: the most steps between a gradient's point and its use\n",
	      stdout);
	fflush(stdout);
	if (options->json_path != NULL)
		r = write_reports(options->json_path, reports, &error);
	if (r == 0 && options->plot_path != NULL)
		r = draw(options->plot_path, reports, &error);
	if (r != 0)
		fprintf(stderr, "demo: %s\n", error.text);
	return r == 0 ? 0 : 1;
}

int compare_run(const struct compare *compare, const struct options *options, compare_fn *fn)
{
	char path[] = "/tmp/isobar-demo-report-XXXXXX";
	json_t *reports = json_array();
	int fd = mkstemp(path), status = 0;

	if (fd < 0 || reports == NULL) {
		fprintf(stderr, "demo: %s: %s\n", path, strerror(errno));
		return 1;
	}
	for (unsigned i = 0; i < compare->count && status < 128; i++) {
		struct options one = *options;

		one.training = compare->runs[i];
		one.json_path = path;
		one.plot_path = NULL;
		printf("%sRun %u of %u\n", i > 0 ? "\n" : "", i + 1, compare->count);
		fflush(stdout);
		int result = compare_one(&one, fn);
		status = result > status ? result : status;
		(void)json_array_append_new(reports, json_load_file(path, 0, NULL));
		if (ftruncate(fd, 0) != 0)
			status = 1;
	}
	close(fd);
	(void)unlink(path);
	int result = status < 128 ? finish(options, reports) : 0;
	json_decref(reports);
	return result > status ? result : status;
}

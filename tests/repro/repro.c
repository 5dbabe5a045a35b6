/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/repro.h"

#include <assert.h>
#include <cblas.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clock.h"

struct repro {
	bool full;
	const char *json_path, *figures;
	json_t *rows;
	unsigned count, missed;
	unsigned known; /* of those that are missed */
	bool expect_unmet;
};

void repro_die(const char *text, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", repro_experiment.name);
	va_start(ap, text);
	vfprintf(stderr, text, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(99);
}

bool repro_full(const struct repro *repro)
{
	return repro->full;
}

uint64_t repro_seed(const struct repro *repro)
{
	const char *text = getenv("ISO_SEED");

	(void)repro;
	return text != NULL ? strtoull(text, NULL, 10) : 5;
}

/* JSON has no NaN. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* 0 as published, and found, is as it should be. */
static double ratio_of(double published, double ours)
{
	return ours == published ? 1 : ours / published;
}

/* To the JSON; with tolerance NaN it was not judged. */
static void note_row(struct repro *repro, const char *name, double published, double ours,
		     double tolerance, bool met)
{
	json_array_append_new(
	    repro->rows,
	    json_pack("{s:s++, s:o, s:o, s:o, s:o, s:o}", "name", repro_experiment.name, ": ", name,
		      "published", number(published), "ours", number(ours), "ratio",
		      number(ratio_of(published, ours)), "tolerance", number(tolerance), "met",
		      isnan(tolerance) ? json_null() : json_boolean(met)));
}

static void add(struct repro *repro, const char *name, double published, double ours,
		double tolerance, bool met)
{
	double ratio = ratio_of(published, ours);

	bool known = repro->expect_unmet && !met;

	repro->count++;
	repro->missed += !met;
	repro->known += known;
	repro->expect_unmet = false;
	if (repro->full)
		printf("%-66s %11.5g %11.5g %8.4f %7.3g  %s\n", name, published, ours, ratio,
		       tolerance,
		       met     ? "met"
		       : known ? "NOT MET, as is known"
			       : "NOT MET");
	else
		printf("%s %u - %s: published %.5g, ours %.5g, ratio %.4f, tolerance %.3g\n",
		       met ? "ok" : "not ok", repro->count, name, published, ours, ratio,
		       tolerance);
	fflush(stdout);
	note_row(repro, name, published, ours, tolerance, met);
}

#define FORMATTED(name, format)                                                                    \
	char name[160];                                                                            \
	va_list ap;                                                                                \
	va_start(ap, format);                                                                      \
	vsnprintf(name, sizeof(name), format, ap);                                                 \
	va_end(ap)

void repro_row(struct repro *repro, double published, double ours, double tolerance,
	       const char *format, ...)
{
	FORMATTED(name, format);
	assert(published > 0 && tolerance >= 0);
	add(repro, name, published, ours, tolerance,
	    ours <= published * (1 + tolerance) && ours * (1 + tolerance) >= published);
}

void repro_at_most(struct repro *repro, double bound, double ours, const char *format, ...)
{
	FORMATTED(name, format);
	add(repro, name, bound, ours, 0, ours <= bound);
}

void repro_at_least(struct repro *repro, double bound, double ours, const char *format, ...)
{
	FORMATTED(name, format);
	add(repro, name, bound, ours, 0, ours >= bound);
}

void repro_known_unmet(struct repro *repro)
{
	repro->expect_unmet = true;
}

void repro_unlike(struct repro *repro, double published, double ours, const char *format, ...)
{
	FORMATTED(name, format);
	if (repro->full)
		printf("%-66s %11.5g %11.5g %8.4g %7s  other data\n", name, published, ours,
		       ours / published, "-");
	fflush(stdout);
	note_row(repro, name, published, ours, NAN, false);
}

void repro_note(struct repro *repro, const char *format, ...)
{
	FORMATTED(text, format);
	(void)repro;
	printf("# %s\n", text);
	fflush(stdout);
}

static void wait_for_one(size_t *running)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		repro_die("a part has failed (wait status %#x)", pid < 0 ? 0u : (unsigned)status);
	--*running;
}

void repro_each(struct repro *repro, repro_work_fn *work, const void *parts, size_t part_size,
		size_t count, void *results, size_t result_size)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t running = 0, size = count * result_size;
	uint8_t *shared =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		repro_die("%zu bytes of shared memory: %s", size, strerror(errno));
	for (size_t i = 0; i < count; i++) {
		if (running >= (cpus > 1 ? (size_t)cpus : 1))
			wait_for_one(&running);
		fflush(NULL);
		pid_t pid = fork();

		if (pid < 0)
			repro_die("fork: %s", strerror(errno));
		if (pid == 0) {
			work((const uint8_t *)parts + i * part_size, shared + i * result_size);
			fflush(NULL);
			_exit(0);
		}
		running++;
		if (repro->full && isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %zu begun ", i + 1, count);
	}
	while (running > 0)
		wait_for_one(&running);
	if (repro->full && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	memcpy(results, shared, size);
	munmap(shared, size);
}

void repro_draw(struct repro *repro, const char *suffix, const char *title,
		const struct chart *charts, size_t count, size_t columns)
{
	struct error error;
	char path[512];

	if (repro->figures == NULL)
		return;
	snprintf(path, sizeof(path), "%s/%s%s%s.svg", repro->figures, repro_experiment.name,
		 suffix != NULL ? "-" : "", suffix != NULL ? suffix : "");
	int rc = chart_draw(path, title, charts, count, columns, &error);

	if (rc < 0)
		repro_note(repro, "%s", error.text);
	else
		repro_note(repro, "figure %s", path);
	if (rc < 0 && rc != -ENOENT)
		repro_die("no figure");
}

/* Rows of other experiments stay; ours are replaced. */
static void save(const struct repro *repro)
{
	json_t *all = json_load_file(repro->json_path, 0, NULL), *row;
	json_t *merged = json_array();
	char fresh[512];
	size_t i, length = strlen(repro_experiment.name);

	json_array_foreach (all, i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));

		if (name == NULL || strncmp(name, repro_experiment.name, length) != 0 ||
		    name[length] != ':')
			json_array_append(merged, row);
	}
	json_array_extend(merged, repro->rows);
	snprintf(fresh, sizeof(fresh), "%s-t", repro->json_path);
	if (json_dump_file(merged, fresh,
			   JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) < 0 ||
	    rename(fresh, repro->json_path) < 0)
		repro_die("%s not written", repro->json_path);
	json_decref(merged);
	json_decref(all);
}

static void parse(int argc, char **argv, struct repro *repro)
{
	static const struct option options[] = {
		{ "full", no_argument, NULL, 'f' },
		{ "json", required_argument, NULL, 'j' },
		{ "figures", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f': repro->full = true; break;
		case 'j': repro->json_path = optarg; break;
		case 'g': repro->figures = optarg; break;
		default: exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct repro repro = { .rows = json_array() };
	uint64_t began_ns = clock_now_ns();

	parse(argc, argv, &repro);
	/* The same run as that of isobar-sim: it depends on how BLAS adds up. */
	openblas_set_num_threads(1);
	printf("# %s: %s\n", repro_experiment.name, repro_experiment.about);
	if (repro.full)
		printf("%-66s %11s %11s %8s %7s\n", "", "published", "ours", "ratio", "within");
	repro_experiment.run(&repro);
	if (repro.json_path != NULL)
		save(&repro);
	json_decref(repro.rows);
	printf("# %s: %u of %u rows met, %u known not to be, %.0f s\n", repro_experiment.name,
	       repro.count - repro.missed, repro.count, repro.known,
	       (double)(clock_now_ns() - began_ns) * 1e-9);
	if (!repro.full)
		printf("1..%u%s\n", repro.count, repro.count == 0 ? " # SKIP left out here" : "");
	return repro.missed > repro.known;
}

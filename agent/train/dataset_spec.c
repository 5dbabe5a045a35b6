/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/dataset_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/text.h"
#include "lib/rng.h"

#define HOLDOUT_USUAL 0.1
#define HOLDOUT_MAX   0.9

/* One option, cut out of the spec. */
struct option {
	char name[32];
	char value[PATH_MAX];
};

static int take_path(const char *text, size_t length, char out[PATH_MAX], struct error *reterr)
{
	if (length == 0)
		return error_set(reterr, -EINVAL, "no path");
	if (length >= PATH_MAX)
		return error_errno(reterr, -ENAMETOOLONG, "path");
	memcpy(out, text, length);
	out[length] = '\0';
	return 0;
}

static int refuse(const struct option *option, const char *expected, struct error *reterr)
{
	return error_set(reterr, -EINVAL, "%s=%.100s: expected %s", option->name, option->value,
			 expected);
}

static int set_format(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	if (strcmp(option->value, "idx") == 0)
		spec->format = DATASET_FORMAT_IDX;
	else if (strcmp(option->value, "libsvm") == 0)
		spec->format = DATASET_FORMAT_LIBSVM;
	else if (strcmp(option->value, "csv") == 0)
		spec->format = DATASET_FORMAT_CSV;
	else
		return refuse(option, "idx, libsvm or csv", reterr);
	return 0;
}

static int set_separator(const struct option *option, struct dataset_spec *spec,
			 struct error *reterr)
{
	if (strcmp(option->value, "comma") == 0)
		spec->separator = ',';
	else if (strcmp(option->value, "semicolon") == 0)
		spec->separator = ';';
	else if (strcmp(option->value, "tab") == 0)
		spec->separator = '\t';
	else
		return refuse(option, "comma, semicolon or tab", reterr);
	return 0;
}

/* Relative to the folder of the training file, so that both can be moved together. */
static int set_test(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	const char *slash = strrchr(spec->path, '/');
	int folder = slash != NULL ? (int)(slash - spec->path) + 1 : 0;

	if (option->value[0] == '\0')
		return refuse(option, "a file", reterr);
	if (option->value[0] == '/')
		folder = 0;
	int length =
	    snprintf(spec->test, sizeof(spec->test), "%.*s%s", folder, spec->path, option->value);
	if (length < 0 || (size_t)length >= sizeof(spec->test))
		return error_errno(reterr, -ENAMETOOLONG, "test");
	return 0;
}

static int set_label(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	size_t length = strlen(option->value);

	if (length == 0 || length >= sizeof(spec->label))
		return refuse(option, "the name of a column", reterr);
	memcpy(spec->label, option->value, length + 1);
	return 0;
}

static int set_holdout(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	size_t length = strlen(option->value), used;
	float value;

	if (iso_text_number(option->value, length, &value, &used) != ISO_TEXT_FINE ||
	    used != length || !(value >= 0 && (double)value <= HOLDOUT_MAX))
		return refuse(option, "a number from 0 to 0.9", reterr);
	spec->has_holdout = true;
	spec->holdout = (double)value;
	return 0;
}

static int set_scale(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	if (strcmp(option->value, "usual") != 0 && strcmp(option->value, "unit") != 0)
		return refuse(option, "usual or unit", reterr);
	spec->unit_rows = option->value[1] == 'n';
	return 0;
}

static int set_unlabelled(const struct option *option, struct dataset_spec *spec,
			  struct error *reterr)
{
	if (strcmp(option->value, "refuse") != 0 && strcmp(option->value, "skip") != 0)
		return refuse(option, "refuse or skip", reterr);
	spec->skip_unlabelled = option->value[0] == 's';
	return 0;
}

static int set(const struct option *option, struct dataset_spec *spec, struct error *reterr)
{
	static const struct {
		const char *name;
		int (*fn)(const struct option *option, struct dataset_spec *spec,
			  struct error *reterr);
	} options[] = {
		{ "format", set_format },	  { "separator", set_separator },
		{ "label", set_label },		  { "test", set_test },
		{ "holdout", set_holdout },	  { "scale", set_scale },
		{ "unlabelled", set_unlabelled },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(option->name, options[i].name) == 0)
			return options[i].fn(option, spec, reterr);
	return error_set(reterr, -EINVAL,
			 "no option '%s': there are format, separator, label, test, holdout, "
			 "scale and unlabelled",
			 option->name);
}

/* NAME=VALUE up to `length`. */
static int cut(const char *text, size_t length, struct option *option, struct error *reterr)
{
	const char *equals = memchr(text, '=', length);
	size_t name = equals != NULL ? (size_t)(equals - text) : length;

	if (equals == NULL || name == 0 || name >= sizeof(option->name) ||
	    length - name > sizeof(option->value))
		return error_set(reterr, -EINVAL, "'%.*s': expected OPTION=VALUE",
				 (int)(length < 100 ? length : 100), text);
	snprintf(option->name, sizeof(option->name), "%.*s", (int)name, text);
	snprintf(option->value, sizeof(option->value), "%.*s", (int)(length - name - 1),
		 equals + 1);
	return 0;
}

int dataset_spec_parse(const char *text, struct dataset_spec *ret_spec, struct error *reterr)
{
	struct dataset_spec spec = { .holdout = HOLDOUT_USUAL };
	size_t length = strcspn(text, ",");
	struct option option;

	int r = take_path(text, length, spec.path, reterr);
	for (text += length; r == 0 && *text == ','; text += length) {
		text++;
		length = strcspn(text, ",");
		r = cut(text, length, &option, reterr);
		if (r == 0)
			r = set(&option, &spec, reterr);
	}
	if (r == 0 && spec.test[0] != '\0' && spec.has_holdout)
		r = error_set(reterr, -EINVAL, "test and holdout: one of both is meant");
	if (r < 0) {
		error_wrap(reterr, "data");
		return r;
	}
	*ret_spec = spec;
	return 0;
}

int dataset_spec_check(const char *text, struct error *reterr)
{
	struct dataset_spec spec;

	return dataset_spec_parse(text, &spec, reterr);
}

bool dataset_spec_holds_out(const struct dataset_spec *spec, uint64_t row)
{
	struct iso_rng rng = { row };

	return iso_rng_unit(&rng) < spec->holdout;
}

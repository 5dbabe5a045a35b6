/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/confutil.h"

#include <assert.h>
#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/conf/confscan.h"
#include "agent/conf/confvalue.h"

#define SECTIONS_MAX   16
#define FILE_MIB_MAX   1
#define WORD_BYTES_MAX 64
#define DISTANCE_MAX   3

/* What libconfuse keeps for each option that the file sets. */
struct value {
	int line;
	char text[];
};

/* The options of one section in libconfuse's form. */
struct table {
	const char *section;
	cfg_opt_t options[CONFUTIL_OPTIONS_MAX + SECTIONS_MAX + 1];
	size_t count;
};

struct parse {
	const struct confutil_schema *schema;
	struct error *reterr;
	bool failed;
	struct table tables[SECTIONS_MAX]; /* the first is the top level */
	size_t table_count;
};

/*
 * libconfuse hands no context to its callbacks; its scanner is one per
 * process anyway.  Set during confutil_parse() only.
 */
static struct parse *current;

static size_t distance(const char *a, const char *b)
{
	size_t row[WORD_BYTES_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > WORD_BYTES_MAX || nb > WORD_BYTES_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

const char *confutil_nearest(const char *word, const char *const *candidates, size_t count)
{
	const char *nearest = NULL;
	size_t best = DISTANCE_MAX + 1;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, candidates[i]);

		/* Half of the word changed is another word. */
		if (d < best && 2 * d <= strlen(candidates[i])) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}

/* "cost.kappa", or the name alone at the top level. */
static void spell(const char *section, const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", section, section[0] != '\0' ? "." : "", name);
}

static const char *section_of(const cfg_t *cfg)
{
	return strcmp(cfg->name, "root") == 0 ? "" : cfg->name;
}

static void fail(int line, const char *what)
{
	if (!current->failed)
		error_set(current->reterr, -EINVAL, "line %d: %s", line, what);
	current->failed = true;
}

/* Another section where an option of this name is at home, or NULL. */
static const struct confutil_option *elsewhere(const char *name)
{
	for (size_t i = 0; i < current->schema->option_count; i++)
		if (strcmp(current->schema->options[i].name, name) == 0)
			return &current->schema->options[i];
	return NULL;
}

static void unknown_option(const cfg_t *cfg, const char *name)
{
	const char *candidates[CONFUTIL_OPTIONS_MAX + SECTIONS_MAX];
	const char *section = section_of(cfg);
	char what[300], where[WORD_BYTES_MAX + 16] = "";
	size_t count = 0;

	for (const cfg_opt_t *option = cfg->opts; option->name != NULL; option++)
		candidates[count++] = option->name;
	if (section[0] != '\0')
		snprintf(where, sizeof(where), " in section %s", section);

	const char *nearest = confutil_nearest(name, candidates, count);
	const struct confutil_option *home = elsewhere(name);
	if (home != NULL && home->section[0] == '\0')
		snprintf(what, sizeof(what),
			 "unknown option '%.60s'%s; it belongs at the top level", name, where);
	else if (home != NULL)
		snprintf(what, sizeof(what), "unknown option '%.60s'%s; it belongs in section %s",
			 name, where, home->section);
	else if (nearest != NULL)
		snprintf(what, sizeof(what), "unknown option '%.60s'%s; did you mean '%s'?", name,
			 where, nearest);
	else
		snprintf(what, sizeof(what), "unknown option '%.60s'%s", name, where);
	fail(cfg->line, what);
}

static void on_error(cfg_t *cfg, const char *format, va_list ap)
{
	char what[300];

	if (strstr(format, "no such option '%s'") != NULL) {
		unknown_option(cfg, va_arg(ap, const char *));
		return;
	}
	if (strstr(format, "found duplicate title '%s'") != NULL)
		snprintf(what, sizeof(what), "section '%.60s' occurs twice",
			 va_arg(ap, const char *));
	else
		vsnprintf(what, sizeof(what), format, ap);
	fail(cfg->line, what);
}

static int on_value(cfg_t *cfg, cfg_opt_t *option, const char *text, void *result)
{
	size_t size = strlen(text) + 1;
	char what[160];

	/* The value before is gone by now; an unused number of this instance remembers its line. */
	if (option->def.number != 0) {
		snprintf(what, sizeof(what), "option '%s' was already set on line %ld",
			 option->name, option->def.number);
		fail(cfg->line, what);
		return -1;
	}
	option->def.number = cfg->line;
	struct value *value = malloc(sizeof(*value) + size);
	if (value == NULL) {
		fail(cfg->line, "out of memory");
		return -1;
	}
	value->line = cfg->line;
	memcpy(value->text, text, size);
	*(void **)result = value;
	return 0;
}

static const struct confutil_repeated *repeated_of(const struct confutil_schema *schema,
						   const char *section)
{
	for (size_t i = 0; i < schema->repeated_count; i++)
		if (strcmp(schema->repeated[i].section, section) == 0)
			return &schema->repeated[i];
	return NULL;
}

static struct table *table_of(struct parse *parse, const char *section)
{
	for (size_t i = 0; i < parse->table_count; i++)
		if (strcmp(parse->tables[i].section, section) == 0)
			return &parse->tables[i];
	assert(parse->table_count < SECTIONS_MAX);
	struct table *table = &parse->tables[parse->table_count++];
	table->section = section;
	return table;
}

/* The schema in libconfuse's form: every option is text that on_value() keeps with its line. */
static void build_tables(struct parse *parse)
{
	const struct confutil_schema *schema = parse->schema;

	assert(schema->option_count <= CONFUTIL_OPTIONS_MAX);
	struct table *top = table_of(parse, "");
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		struct table *table = table_of(parse, option->section);

		table->options[table->count++] =
		    (cfg_opt_t)CFG_PTR_CB(option->name, NULL, CFGF_NODEFAULT, on_value, free);
	}
	for (size_t i = 0; i < parse->table_count; i++) {
		struct table *table = &parse->tables[i];

		table->options[table->count] = (cfg_opt_t)CFG_END();
		if (table == top)
			continue;
		/* Plain sections are MULTI as well: otherwise the second would replace the first.
		 */
		int flags = CFGF_MULTI | CFGF_NODEFAULT;
		if (repeated_of(schema, table->section) != NULL)
			flags |= CFGF_TITLE | CFGF_NO_TITLE_DUPES;
		top->options[top->count++] =
		    (cfg_opt_t)CFG_SEC(table->section, table->options, flags);
	}
	top->options[top->count] = (cfg_opt_t)CFG_END();
}

/* Options of one section into owner; lines[] by the option's place in the schema. */
static int fill_section(const struct confutil_schema *schema, const char *section, cfg_t *cfg,
			void *owner, int *lines, struct error *reterr)
{
	for (size_t i = 0; i < schema->option_count; i++) {
		const struct confutil_option *option = &schema->options[i];
		char full[2 * WORD_BYTES_MAX];

		if (strcmp(option->section, section) != 0)
			continue;
		spell(section, option->name, full, sizeof(full));
		if (option->initial != NULL) {
			int r = confvalue_set(option, option->initial, owner, NULL);

			assert(r == 0);
		}
		cfg_opt_t *given = cfg != NULL ? cfg_getopt(cfg, option->name) : NULL;
		if (given == NULL || cfg_opt_size(given) == 0) {
			if ((option->flags & CONFUTIL_REQUIRED) == 0)
				continue;
			if (cfg != NULL && section[0] != '\0')
				return error_set(reterr, -EINVAL,
						 "line %d: %s is not set in this section",
						 cfg->line, full);
			return error_set(reterr, -EINVAL, "%s is not set; expected %s", full,
					 confutil_expected(option->type));
		}
		const struct value *value = cfg_opt_getnptr(given, 0);
		if (confvalue_set(option, value->text, owner, reterr) < 0)
			return error_wrap(reterr, "line %d: %s", value->line, full);
		if (lines != NULL)
			lines[i] = value->line;
	}
	return 0;
}

static int fill_element(const struct confutil_schema *schema,
			const struct confutil_repeated *repeated, cfg_t *cfg, char *element,
			struct error *reterr)
{
	const char *title = cfg_title(cfg);

	if (confvalue_check_name(title, repeated->title_size, reterr) < 0)
		return error_wrap(reterr, "line %d: %s", cfg->line, repeated->section);
	memcpy(element + repeated->title_offset, title, strlen(title) + 1);

	struct confutil_lines lines = { 0 };
	int r = fill_section(schema, repeated->section, cfg, element, lines.of, reterr);
	if (r < 0)
		return r;

	/* libconfuse knows where a section ends; its first option is nearer to the point. */
	int line = cfg->line;
	for (size_t i = 0; i < schema->option_count; i++)
		if (lines.of[i] != 0 && lines.of[i] < line)
			line = lines.of[i];
	memcpy(element + repeated->line_offset, &line, sizeof(line));
	if (repeated->lines_offset != 0)
		memcpy(element + repeated->lines_offset, &lines, sizeof(lines));
	return 0;
}

static int fill_repeated(const struct confutil_schema *schema,
			 const struct confutil_repeated *repeated, cfg_t *cfg, char *owner,
			 struct error *reterr)
{
	unsigned count = cfg_size(cfg, repeated->section);
	for (unsigned i = 0; i < count; i++) {
		cfg_t *section = cfg_getnsec(cfg, repeated->section, i);

		if (i >= repeated->count_max)
			return error_set(reterr, -EINVAL, "line %d: more than %zu sections %s",
					 section->line, repeated->count_max, repeated->section);
		char *element = owner + repeated->offset + i * repeated->stride;
		int r = fill_element(schema, repeated, section, element, reterr);
		if (r < 0)
			return r;
	}
	memcpy(owner + repeated->count_offset, &count, sizeof(count));
	return 0;
}

static int fill(const struct parse *parse, cfg_t *cfg, void *owner, struct confutil_lines *lines,
		struct error *reterr)
{
	const struct confutil_schema *schema = parse->schema;

	for (size_t i = 0; i < parse->table_count; i++) {
		const char *section = parse->tables[i].section;
		cfg_t *from = cfg;

		if (repeated_of(schema, section) != NULL)
			continue;
		if (section[0] != '\0') {
			unsigned count = cfg_size(cfg, section);

			if (count > 1)
				return error_set(reterr, -EINVAL,
						 "line %d: section %s occurs twice",
						 cfg_getnsec(cfg, section, 1)->line, section);
			from = count == 1 ? cfg_getnsec(cfg, section, 0) : NULL;
		}
		int r = fill_section(schema, section, from, owner, lines->of, reterr);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < schema->repeated_count; i++) {
		int r = fill_repeated(schema, &schema->repeated[i], cfg, owner, reterr);

		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_text(struct parse *parse, char *text, void *owner, struct confutil_lines *lines)
{
	int r = confscan(text, parse->reterr);

	if (r < 0)
		return r;
	build_tables(parse);
	cfg_t *cfg = cfg_init(parse->tables[0].options, CFGF_NONE);
	if (cfg == NULL)
		return error_errno(parse->reterr, -ENOMEM, "read the configuration");
	cfg_set_error_function(cfg, on_error);
	/* An empty buffer is an error to fmemopen() inside. */
	int result = cfg_parse_buf(cfg, text[0] != '\0' ? text : "\n");
	if (result == CFG_SUCCESS && !parse->failed)
		r = fill(parse, cfg, owner, lines, parse->reterr);
	else if (parse->failed)
		r = -EINVAL;
	else
		r = error_set(parse->reterr, -EINVAL, "cannot be parsed");
	cfg_free(cfg);
	return r;
}

int confutil_parse(const struct confutil_schema *schema, const char *name, const char *text,
		   size_t struct_size, void *ret_struct, struct confutil_lines *ret_lines,
		   struct error *reterr)
{
	struct parse *parse = calloc(1, sizeof(*parse));
	char *copy = strdup(text);
	void *filled = calloc(1, struct_size);
	struct confutil_lines lines = { 0 };
	int r;

	assert(current == NULL);
	if (parse == NULL || copy == NULL || filled == NULL) {
		r = error_errno(reterr, -ENOMEM, "read the configuration");
	} else {
		parse->schema = schema;
		parse->reterr = reterr;
		current = parse;
		r = parse_text(parse, copy, filled, &lines);
		current = NULL;
	}
	if (r < 0) {
		error_wrap(reterr, "%s", name);
	} else {
		memcpy(ret_struct, filled, struct_size);
		*ret_lines = lines;
	}
	free(filled);
	free(copy);
	free(parse);
	return r;
}

static ssize_t read_all(int fd, char *out, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, out + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int read_fd(int fd, const char *path, unsigned mib_max, char **ret_text,
		   struct error *reterr)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(reterr, -errno, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(reterr, -EINVAL, "'%s' is not a regular file", path);
	if (st.st_size > (off_t)mib_max << 20)
		return error_set(reterr, -EFBIG, "'%s' is larger than %u MiB", path, mib_max);

	size_t size = (size_t)st.st_size;
	char *text = malloc(size + 1);
	if (text == NULL)
		return error_errno(reterr, -ENOMEM, "read '%s'", path);
	ssize_t n = read_all(fd, text, size);
	if (n < 0) {
		free(text);
		return error_errno(reterr, (int)n, "read '%s'", path);
	}
	text[n] = '\0';
	if (strlen(text) != (size_t)n) {
		free(text);
		return error_set(reterr, -EINVAL, "'%s' holds a NUL byte: not a text file", path);
	}
	*ret_text = text;
	return 0;
}

int confutil_read_text(const char *path, unsigned mib_max, char **ret_text, struct error *reterr)
{
	/* Not to hang on a FIFO that somebody put there. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_errno(reterr, -errno, "open '%s'", path);
	int r = read_fd(fd, path, mib_max, ret_text, reterr);
	close(fd);
	return r;
}

int confutil_read_file(const char *path, char **ret_text, struct error *reterr)
{
	return confutil_read_text(path, FILE_MIB_MAX, ret_text, reterr);
}

int confutil_line(const struct confutil_schema *schema, const struct confutil_lines *lines,
		  const char *section, const char *name)
{
	for (size_t i = 0; lines != NULL && i < schema->option_count; i++)
		if (strcmp(schema->options[i].section, section) == 0 &&
		    strcmp(schema->options[i].name, name) == 0)
			return lines->of[i];
	return 0;
}

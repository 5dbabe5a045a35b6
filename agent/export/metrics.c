/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/metrics.h"

#include <assert.h>
#include <string.h>

#include "agent/export/metrics_family.h"

/* Reasons for dropping a message are few; another program's are not let through without end. */
#define REASONS_MAX 64

struct metrics {
	FILE *out;
	const struct metrics_source *sources;
	unsigned count;
	json_t *edges[METRICS_SOURCES_MAX]; /* of each source, once for all families */
};

static bool is_counter(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && strcmp(name + n - 6, "_total") == 0;
}

void metrics_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_label(FILE *out, const char *value)
{
	fputc('"', out);
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '\n')
			fputs("\\n", out);
		else if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else
			fputc(*p, out);
	}
	fputc('"', out);
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value != NULL ? value : "";
}

/* "a" or "a.b"; NULL: not there. */
static const json_t *find(const json_t *object, const char *path)
{
	const char *dot = strchr(path, '.');
	char outer[32];

	if (dot == NULL)
		return json_object_get(object, path);
	assert((size_t)(dot - path) < sizeof(outer));
	memcpy(outer, path, (size_t)(dot - path));
	outer[dot - path] = '\0';
	return json_object_get(json_object_get(object, outer), dot + 1);
}

/* The labels of a sample, without the closing brace: more may follow. */
static void begin(FILE *out, const char *name, const json_t *status, const json_t *edge)
{
	fprintf(out, "%s{cluster=", name);
	metrics_label(out, text(status, "cluster"));
	fputs(",node=", out);
	metrics_label(out, text(status, "node"));
	if (edge != NULL) {
		fputs(",neighbour=", out);
		metrics_label(out, text(edge, "name"));
	}
}

static void number(FILE *out, const struct metrics_family *family, const json_t *status,
		   const json_t *edge, double value)
{
	begin(out, family->name, status, edge);
	fprintf(out, "} %.15g\n", value);
}

static void one_hot(FILE *out, const struct metrics_family *family, const json_t *status,
		    const json_t *edge, const char *is)
{
	bool found = false;

	for (unsigned i = 0; family->values[i] != NULL; i++) {
		bool is_last = family->values[i + 1] == NULL;
		bool is_this = strcmp(family->values[i], is) == 0 || (is_last && !found);

		found |= is_this;
		begin(out, family->name, status, edge);
		fprintf(out, ",%s=", family->label);
		metrics_label(out, family->values[i]);
		fprintf(out, "} %d\n", is_this);
	}
}

/* One sample, or several of a one-hot, or none where nothing is known. */
static void sample(FILE *out, const struct metrics_family *family, const json_t *status,
		   const json_t *edge)
{
	const json_t *object = edge != NULL ? edge : status;
	const json_t *value = find(object, family->path);

	if (family->values != NULL) {
		if (json_is_string(value))
			one_hot(out, family, status, edge, json_string_value(value));
		return;
	}
	if (family->is != NULL) {
		if (json_is_string(value))
			number(out, family, status, edge,
			       strcmp(json_string_value(value), family->is) == 0);
		return;
	}
	if (family->is_text) {
		if (value != NULL)
			number(out, family, status, edge, json_is_string(value));
		return;
	}
	if (family->is_count) {
		if (json_is_array(value))
			number(out, family, status, edge, (double)json_array_size(value));
		return;
	}
	if (json_is_boolean(value)) {
		number(out, family, status, edge, json_is_true(value));
		return;
	}
	if (!json_is_number(value))
		return;
	double per = family->per != 0 ? family->per : 1;
	if (family->per_path != NULL)
		per *= json_number_value(find(object, family->per_path));
	if (per > 0)
		number(out, family, status, edge, json_number_value(value) / per);
}

static bool is_same(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(text(a, key), text(b, key)) == 0;
}

/* Whether this status is of a node, and of one that none before it is of. */
static bool is_shown(const struct metrics *metrics, unsigned index)
{
	const json_t *status = metrics->sources[index].status;

	if (text(status, "node")[0] == '\0')
		return false;
	for (unsigned i = 0; i < index; i++)
		if (is_same(metrics->sources[i].status, status, "node") &&
		    is_same(metrics->sources[i].status, status, "cluster"))
			return false;
	return true;
}

static json_int_t generation(const json_t *edge)
{
	return json_integer_value(json_object_get(edge, "generation"));
}

/* The edge to each neighbour, as they come: that of the newest generation, the first of those. */
static json_t *newest_edges(const json_t *edges)
{
	json_t *newest = json_array(), *index_of = json_object();
	size_t count = json_array_size(edges);

	for (size_t i = 0; i < count; i++) {
		const json_t *edge = json_array_get(edges, i);
		const json_t *best = json_object_get(index_of, text(edge, "name"));
		const json_t *other = json_array_get(edges, (size_t)json_integer_value(best));

		if (best == NULL || generation(edge) > generation(other))
			(void)json_object_set_new(index_of, text(edge, "name"),
						  json_integer((json_int_t)i));
	}
	for (size_t i = 0; i < count; i++) {
		json_t *edge = json_array_get(edges, i);
		const json_t *best = json_object_get(index_of, text(edge, "name"));

		if (best != NULL && (size_t)json_integer_value(best) == i)
			(void)json_array_append(newest, edge);
	}
	json_decref(index_of);
	return newest;
}

static void write_edges(FILE *out, const struct metrics_family *family, const json_t *status,
			const json_t *edges)
{
	for (size_t i = 0; i < json_array_size(edges); i++)
		sample(out, family, status, json_array_get(edges, i));
}

static void write_up(const struct metrics *metrics)
{
	metrics_head(metrics->out, "isobar_up", "gauge",
		     "1 if the agent with this directory or socket answers.");
	for (unsigned i = 0; i < metrics->count; i++) {
		fputs("isobar_up{agent=", metrics->out);
		metrics_label(metrics->out, metrics->sources[i].agent);
		fprintf(metrics->out, "} %d\n", metrics->sources[i].status != NULL);
	}
}

static void write_info(const struct metrics *metrics, const bool *shown)
{
	static const char *const labels[] = { "cgroup", "unit", "version" };

	metrics_head(metrics->out, "isobar_info", "gauge",
		     "1; which agent is which node, and which job it limits.");
	for (unsigned i = 0; i < metrics->count; i++) {
		const json_t *status = metrics->sources[i].status;

		if (!shown[i])
			continue;
		begin(metrics->out, "isobar_info", status, NULL);
		fputs(",agent=", metrics->out);
		metrics_label(metrics->out, metrics->sources[i].agent);
		for (size_t k = 0; k < sizeof(labels) / sizeof(labels[0]); k++) {
			fprintf(metrics->out, ",%s=", labels[k]);
			metrics_label(metrics->out, text(status, labels[k]));
		}
		fputs("} 1\n", metrics->out);
	}
}

static void write_drops(const struct metrics *metrics, const bool *shown)
{
	metrics_head(metrics->out, "isobar_messages_dropped_total", "counter",
		     "Messages that were not acted on, by reason.");
	for (unsigned i = 0; i < metrics->count; i++) {
		const json_t *status = metrics->sources[i].status;
		json_t *dropped = json_object_get(json_object_get(status, "messages"), "dropped");
		const char *reason;
		json_t *value;
		unsigned reasons = 0;

		if (!shown[i])
			continue;
		json_object_foreach (dropped, reason, value) {
			if (!json_is_number(value) || reasons++ >= REASONS_MAX)
				continue;
			begin(metrics->out, "isobar_messages_dropped_total", status, NULL);
			fputs(",reason=", metrics->out);
			metrics_label(metrics->out, reason);
			fprintf(metrics->out, "} %.15g\n", json_number_value(value));
		}
	}
}

/* A family's samples stand together, so the table is the outer loop. */
static void write_families(const struct metrics *metrics, const bool *shown)
{
	for (const struct metrics_family *family = metrics_families; family->name != NULL;
	     family++) {
		metrics_head(metrics->out, family->name,
			     is_counter(family->name) ? "counter" : "gauge", family->help);
		for (unsigned i = 0; i < metrics->count; i++) {
			if (!shown[i])
				continue;
			if (family->scope == METRICS_EDGE)
				write_edges(metrics->out, family, metrics->sources[i].status,
					    metrics->edges[i]);
			else
				sample(metrics->out, family, metrics->sources[i].status, NULL);
		}
	}
}

void metrics_write(FILE *out, const struct metrics_source *sources, unsigned count)
{
	struct metrics metrics = { .out = out, .sources = sources, .count = count };
	bool shown[METRICS_SOURCES_MAX];

	assert(count <= METRICS_SOURCES_MAX);
	for (unsigned i = 0; i < count; i++) {
		shown[i] = is_shown(&metrics, i);
		metrics.edges[i] = newest_edges(json_object_get(sources[i].status, "neighbours"));
	}
	write_up(&metrics);
	write_info(&metrics, shown);
	write_families(&metrics, shown);
	write_drops(&metrics, shown);
	for (unsigned i = 0; i < count; i++)
		json_decref(metrics.edges[i]);
}

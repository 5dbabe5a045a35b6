/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "agent/sim/train.h"

#define NUMBER_BYTES 32

static const char *stop_text(enum iso_training_stop stop)
{
	switch (stop) {
	case ISO_TRAINING_TIME: return "time";
	case ISO_TRAINING_ROUNDS: return "rounds";
	case ISO_TRAINING_UPDATES: return "updates";
	case ISO_TRAINING_EVENTS: return "events";
	case ISO_TRAINING_STUCK: return "stuck";
	case ISO_TRAINING_DIVERGED: return "diverged";
	}
	return "?";
}

static double events_per_s(const struct train_result *result)
{
	return result->cpu_s > 0 ? (double)result->end.totals.events / result->cpu_s : 0;
}

/* Also where the last gradient that a limit allowed made the point one. */
static bool has_diverged(const struct train_result *result)
{
	return result->stop == ISO_TRAINING_DIVERGED ||
	       (result->params > 0 && !isfinite(result->end.measure));
}

/* What is not measured, since there is no problem or no allocation, is `none`. */
static const char *spell(double value, int digits, const char *none, char out[NUMBER_BYTES])
{
	if (isnan(value))
		return none;
	snprintf(out, NUMBER_BYTES, "%.*g", digits, value);
	return out;
}

/* Of the column of names. */
static int name_width(const struct scenario *scenario)
{
	size_t width = 20;

	for (unsigned c = 0; c < scenario->curve_count; c++)
		if (strlen(scenario->curves[c].name) > width)
			width = strlen(scenario->curves[c].name);
	return (int)width;
}

static void print_text(FILE *out, const struct train_result *result, int width, bool timing)
{
	const struct iso_training_totals *totals = &result->end.totals;
	char measure[NUMBER_BYTES];

	fprintf(out, "%-*s %6" PRIu64 " %11.5g %9" PRIu64 " %9" PRIu64 " %11.5g %6.2f%% %10s",
		width, result->curve->name, result->seed, totals->time_s, totals->rounds,
		totals->updates, totals->worker_s,
		totals->worker_s > 0 ? 100 * totals->discarded_s / totals->worker_s : 0,
		has_diverged(result) ? "diverged" : spell(result->end.measure, 4, "-", measure));
	if (timing)
		fprintf(out, " %8.2f s %9.3g", result->cpu_s, events_per_s(result));
	if (result->stop == ISO_TRAINING_STUCK)
		fputs("  stuck: nobody computes any more", out);
	fputc('\n', out);
}

static void print_csv(FILE *out, const struct train_result *result)
{
	const char *no_measure = result->params > 0 ? "nan" : "";

	for (size_t i = 0; i < result->count; i++) {
		const struct iso_training_totals *t = &result->samples[i].totals;
		char measure[NUMBER_BYTES], regret[NUMBER_BYTES];

		fprintf(out, "%s,%" PRIu64 ",%.17g,%" PRIu64 ",%" PRIu64 ",%s,%.17g,%.17g,%.17g",
			result->curve->name, result->seed, t->time_s, t->rounds, t->updates,
			spell(result->samples[i].measure, 17, no_measure, measure), t->worker_s,
			t->cpu_s, t->discarded_s);
		fprintf(out,
			",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%" PRIu64 ",%" PRIu64 ",%s,0x%016" PRIx64 "\n",
			t->started, t->computed, t->used, t->buffered, t->ignored, t->stopped,
			t->lost, t->delay_max, spell(t->regret_s, 17, "", regret), t->digest);
	}
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *sample_json(const struct train_sample *sample)
{
	const struct iso_training_totals *totals = &sample->totals;
	json_t *json = json_object();

	json_object_set_new(json, "time", real(totals->time_s));
	json_object_set_new(json, "rounds", whole(totals->rounds));
	json_object_set_new(json, "updates", whole(totals->updates));
	json_object_set_new(json, "measure", real(sample->measure));
	json_object_set_new(json, "worker_time", real(totals->worker_s));
	json_object_set_new(json, "cpu_time", real(totals->cpu_s));
	json_object_set_new(json, "discarded_time", real(totals->discarded_s));
	json_object_set_new(json, "started", whole(totals->started));
	json_object_set_new(json, "computed", whole(totals->computed));
	json_object_set_new(json, "used", whole(totals->used));
	json_object_set_new(json, "buffered", whole(totals->buffered));
	json_object_set_new(json, "ignored", whole(totals->ignored));
	json_object_set_new(json, "stopped", whole(totals->stopped));
	json_object_set_new(json, "lost", whole(totals->lost));
	json_object_set_new(json, "delay_max", whole(totals->delay_max));
	json_object_set_new(
	    json, "delay_mean",
	    real(totals->used > 0 ? (double)totals->delay_sum / (double)totals->used : 0));
	json_object_set_new(json, "regret", real(totals->regret_s));
	return json;
}

static void print_json(FILE *out, const struct train_result *result, bool timing)
{
	json_t *json = sample_json(&result->end), *samples = json_array();
	char digest[24];

	snprintf(digest, sizeof(digest), "0x%016" PRIx64, result->digest);
	json_object_set_new(json, "curve", json_string(result->curve->name));
	json_object_set_new(json, "seed", whole(result->seed));
	json_object_set_new(json, "method", json_string(iso_method_text(result->parameters.kind)));
	json_object_set_new(json, "step", real(result->parameters.step));
	json_object_set_new(json, "batch", whole(result->parameters.batch));
	json_object_set_new(json, "ended_by", json_string(stop_text(result->stop)));
	json_object_set_new(json, "digest", json_string(digest));
	json_object_set_new(json, "events", whole(result->end.totals.events));
	json_object_set_new(json, "settled_round", whole(result->end.totals.settled_round));
	json_object_set_new(json, "memory_bytes", whole(result->bytes));
	if (timing) {
		json_object_set_new(json, "cpu_s", real(result->cpu_s));
		json_object_set_new(json, "events_per_s", real(events_per_s(result)));
	}
	if (result->parameters.kind == ISO_METHOD_RINGMASTER ||
	    result->parameters.kind == ISO_METHOD_RINGMASTER_STOPS)
		json_object_set_new(json, "delay_limit", whole(result->parameters.delay_max));
	if (result->parameters.updates > 0)
		json_object_set_new(json, "updates_by_theory", real(result->parameters.updates));
	for (size_t i = 0; i < result->count; i++)
		json_array_append_new(samples, sample_json(&result->samples[i]));
	json_object_set_new(json, "samples", samples);
	json_dumpf(json, out, JSON_SORT_KEYS);
	json_decref(json);
}

void train_print_head(FILE *out, enum train_format format, bool timing,
		      const struct scenario *scenario)
{
	json_t *title;

	switch (format) {
	case TRAIN_TEXT:
		if (scenario->title[0] != '\0')
			fprintf(out, "%s\n", scenario->title);
		fprintf(out, "%-*s %6s %11s %9s %9s %11s %7s %10s", name_width(scenario), "curve",
			"seed", "time", "rounds", "updates", "worker time", "wasted", "measure");
		if (timing)
			fprintf(out, " %10s %9s", "cpu", "events/s");
		fputc('\n', out);
		break;
	case TRAIN_CSV:
		fputs("curve,seed,time,rounds,updates,measure,worker_time,cpu_time,discarded_time,"
		      "started,computed,used,buffered,ignored,stopped,lost,delay_max,regret,"
		      "digest\n",
		      out);
		break;
	case TRAIN_JSON:
		title = json_string(scenario->title);
		fputs("{\"command\": \"train\", \"scenario\": ", out);
		json_dumpf(title, out, JSON_ENCODE_ANY);
		json_decref(title);
		fprintf(out, ", \"workers\": %" PRId64 ", \"batch\": %" PRId64 ",\n\"curves\": [\n",
			scenario->workers, scenario->batch);
		break;
	}
}

void train_print(FILE *out, enum train_format format, bool timing, const struct scenario *scenario,
		 const struct train_result *result, bool is_first)
{
	switch (format) {
	case TRAIN_TEXT: print_text(out, result, name_width(scenario), timing); break;
	case TRAIN_CSV: print_csv(out, result); break;
	case TRAIN_JSON:
		fputs(is_first ? " " : ",\n ", out);
		print_json(out, result, timing);
		break;
	}
}

void train_print_end(FILE *out, enum train_format format)
{
	if (format == TRAIN_JSON)
		fputs("\n]}\n", out);
}

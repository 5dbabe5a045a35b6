/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

/* Each test is a process of its own, and what it has made lives as long as it does. */
#define BLOCKS_MAX 16

void *timeline_memory(size_t size)
{
	static void *blocks[BLOCKS_MAX];
	static unsigned count;

	ck_assert_uint_lt(count, BLOCKS_MAX);
	blocks[count] = calloc(1, size);
	ck_assert_ptr_nonnull(blocks[count]);
	return blocks[count++];
}

struct iso_method *timeline_make(struct iso_method_config config)
{
	size_t size;
	struct iso_method *method = NULL;

	config.params = 1;
	if (config.depth_max == 0)
		config.depth_max = 4;
	if (config.step == 0)
		config.step = 1;
	size = iso_method_size(&config);
	ck_assert_ok(iso_method_init(timeline_memory(size), size, &config, &method));
	return method;
}

double timeline_x(const struct iso_method *method)
{
	return iso_method_exact_point(method)[0];
}

static void say(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	if (used > 0)
		text[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

static void say_orders(struct iso_method *method, char *text, size_t size)
{
	struct iso_method_order order;

	while (iso_method_next(method, &order)) {
		unsigned long long version = order.version;

		if (order.act == ISO_METHOD_STOP)
			say(text, size, "-%u<%llu", order.worker, version);
		else if (order.count == 1)
			say(text, size, "+%u@%llu", order.worker, version);
		else
			say(text, size, "+%u@%llu*%u", order.worker, version, order.count);
	}
}

static void arrive(struct iso_method *method, const char *event, char *text, size_t size)
{
	static const char *const verdicts[] = {
		[ISO_METHOD_USED] = "used",
		[ISO_METHOD_BUFFERED] = "kept",
		[ISO_METHOD_IGNORED] = "void",
	};
	unsigned long long version;
	struct iso_method_arrival arrival;
	float gradient;

	ck_assert_int_eq(sscanf(event, "a%u@%llu=%f", &arrival.worker, &version, &gradient), 3);
	arrival.version = version;
	arrival.gradient = &gradient;
	say(text, size, "%s", verdicts[iso_method_arrive(method, &arrival)]);
}

static void begin(struct iso_method *method, const char *event)
{
	uint32_t tasks[4] = { 0 };

	if (event[1] == '\0') {
		iso_method_begin(method, NULL);
		return;
	}
	ck_assert_int_ge(sscanf(event, "b%u,%u,%u,%u", &tasks[0], &tasks[1], &tasks[2], &tasks[3]),
			 1);
	iso_method_begin(method, tasks);
}

static void happen(struct iso_method *method, const char *event, char *text, size_t size)
{
	unsigned worker = 0, other = 1;
	unsigned long long version = 0;
	double x = timeline_x(method);

	(void)sscanf(event + 1, "%u%*[*>@]%u", &worker, &other);
	(void)sscanf(event + 1, "%*u@%llu", &version);
	if (event[0] == 'j')
		iso_method_join(method, worker, other);
	else if (event[0] == 'l')
		iso_method_leave(method, worker);
	else if (event[0] == 't')
		iso_method_set_depth(method, worker, other);
	else if (event[0] == 'b')
		begin(method, event);
	else if (event[0] == 'a')
		arrive(method, event, text, size);
	else if (event[0] == 'v')
		iso_method_lost(method, worker, version, 1);
	else if (event[0] == 'm')
		iso_method_move(method, worker, other, 1);
	else
		iso_method_admit(method, worker, event[0] == 'y');
	say_orders(method, text, size);
	if (timeline_x(method) != x)
		say(text, size, "x=%.6g", timeline_x(method));
	if (iso_method_between_rounds(method))
		say(text, size, ".");
}

struct iso_method_totals timeline_play(struct iso_method *method, const struct line *lines)
{
	for (uint32_t i = 0; lines[i].event != NULL; i++) {
		char text[256] = "", *start = text;

		happen(method, lines[i].event, text, sizeof(text));
		ck_assert_msg(strcmp(start, lines[i].outcome) == 0,
			      "line %u, %s: \"%s\", not \"%s\"", i, lines[i].event, text,
			      lines[i].outcome);
	}
	return iso_method_totals(method);
}

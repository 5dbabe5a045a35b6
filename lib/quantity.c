/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/quantity.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t scale; /* base units in one of these */
};

static const struct unit CPU_UNITS[] = {
	{ "cpu", ISO_UCPU_PER_CPU },
	{ "mcpu", ISO_UCPU_PER_CPU / 1000 },
	{ "ucpu", 1 },
	{ "%", ISO_UCPU_PER_CPU / 100 },
};

static const struct unit DURATION_UNITS[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", ISO_NS_PER_S },
	{ "min", 60ull * ISO_NS_PER_S },
	{ "h", 3600ull * ISO_NS_PER_S },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

/* value * scale + digit, or ISO_E_RANGE. */
static enum iso_status append(uint64_t *value, char digit)
{
	if (__builtin_mul_overflow(*value, 10u, value) ||
	    __builtin_add_overflow(*value, (uint64_t)(digit - '0'), value))
		return ISO_E_RANGE;
	return ISO_OK;
}

static enum iso_status parse(const char *text, const struct unit *units, size_t count,
			     uint64_t *ret_value)
{
	uint64_t whole = 0, value;
	const char *p = text;

	if (!is_digit(*p))
		return ISO_E_SYNTAX;
	for (; is_digit(*p); p++)
		if (append(&whole, *p) != ISO_OK)
			return ISO_E_RANGE;

	const char *fraction = NULL;
	if (*p == '.') {
		fraction = ++p;
		if (!is_digit(*p))
			return ISO_E_SYNTAX;
		while (is_digit(*p))
			p++;
	}

	const struct unit *unit = find_unit(units, count, p);
	if (unit == NULL)
		return ISO_E_UNIT;
	if (__builtin_mul_overflow(whole, unit->scale, &value))
		return ISO_E_RANGE;

	/* Each fractional digit is worth a tenth of the one before it. */
	uint64_t worth = unit->scale;
	for (; fraction != NULL && is_digit(*fraction); fraction++) {
		uint64_t digit = (uint64_t)(*fraction - '0');

		if (digit != 0 && worth % 10 != 0)
			return ISO_E_RANGE;
		worth /= 10;
		if (__builtin_add_overflow(value, digit * worth, &value))
			return ISO_E_RANGE;
	}
	*ret_value = value;
	return ISO_OK;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum iso_status iso_quantity_cpu(const char *text, uint64_t *ret_ucpu)
{
	return parse(text, CPU_UNITS, COUNT(CPU_UNITS), ret_ucpu);
}

enum iso_status iso_quantity_duration(const char *text, uint64_t *ret_ns)
{
	return parse(text, DURATION_UNITS, COUNT(DURATION_UNITS), ret_ns);
}

/* Decimal digits of value, most significant first; returns their number. */
static size_t put_digits(char *out, uint64_t value)
{
	char reversed[20];
	size_t count = 0;

	do
		reversed[count++] = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	for (size_t i = 0; i < count; i++)
		out[i] = reversed[count - 1 - i];
	return count;
}

void iso_quantity_cpu_format(uint64_t ucpu, char ret_text[ISO_QUANTITY_BYTES])
{
	size_t n = put_digits(ret_text, ucpu / ISO_UCPU_PER_CPU);
	uint64_t rest = ucpu % ISO_UCPU_PER_CPU;

	if (rest != 0)
		ret_text[n++] = '.';
	for (uint64_t worth = ISO_UCPU_PER_CPU / 10; rest != 0; worth /= 10) {
		ret_text[n++] = (char)('0' + rest / worth);
		rest %= worth;
	}
	memcpy(ret_text + n, "cpu", sizeof("cpu"));
	assert(n + sizeof("cpu") <= ISO_QUANTITY_BYTES);
}

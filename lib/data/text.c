/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/data/text.h"

#include <assert.h>
#include <float.h>
#include <string.h>

const char *iso_text_reason_text(enum iso_text_reason reason)
{
	switch (reason) {
	case ISO_TEXT_FINE: return "fine";
#define X(name, text)                                                                              \
	case name: return text;
		ISO_TEXT_REASON_MAP(X)
#undef X
	}
	return "unknown reason";
}

/* Without memchr: what lib/ may call is a short list, and lines are read again anyway. */
static size_t find_newline(const char *bytes, size_t available)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
	size_t at = 0;

	for (; at + 8 <= available; at += 8) {
		uint64_t word;

		memcpy(&word, bytes + at, 8);
		word ^= ones * '\n';
		if (((word - ones) & ~word & highs) != 0)
			break;
	}
	while (at < available && bytes[at] != '\n')
		at++;
	return at;
}

enum iso_status iso_text_line(const char *bytes, size_t available, bool is_end,
			      struct iso_text_line *ret_line, size_t *ret_used)
{
	size_t length = find_newline(bytes, available);
	bool is_whole = length < available;

	if (!is_whole && (!is_end || available == 0))
		return ISO_E_SHORT;
	*ret_used = length + is_whole;
	if (length > 0 && bytes[length - 1] == '\r')
		length--;
	*ret_line = (struct iso_text_line){ bytes, length };
	return ISO_OK;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number as digits times a power of ten; digits beyond the 19th only shift. */
struct decimal {
	uint64_t digits;
	int64_t exponent;
	unsigned count; /* significant ones taken up */
	bool any;
};

static size_t take_digits(const char *text, size_t at, size_t length, bool is_fraction,
			  struct decimal *decimal)
{
	for (; at < length && is_digit(text[at]); at++) {
		decimal->any = true;
		if (decimal->count == 19) {
			decimal->exponent += !is_fraction;
			continue;
		}
		decimal->digits = 10 * decimal->digits + (uint64_t)(text[at] - '0');
		decimal->count += decimal->digits > 0;
		decimal->exponent -= is_fraction;
	}
	return at;
}

/* e, E with a number behind it; anything else is not part of this number. */
static size_t take_exponent(const char *text, size_t at, size_t length, struct decimal *decimal)
{
	size_t end = at + 1;
	bool is_negative = false;
	int64_t exponent = 0;

	if (at >= length || (text[at] | 0x20) != 'e')
		return at;
	if (end < length && (text[end] == '+' || text[end] == '-'))
		is_negative = text[end++] == '-';
	if (end >= length || !is_digit(text[end]))
		return at;
	for (; end < length && is_digit(text[end]); end++)
		if (exponent < 1000000)
			exponent = 10 * exponent + (text[end] - '0');
	decimal->exponent += is_negative ? -exponent : exponent;
	return end;
}

static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
				 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
#define POWER_MAX 22

/* Up to 22 and 2^53 both factors are exact, so that the one rounding is the right one. */
static double scale(struct decimal decimal)
{
	double value = (double)decimal.digits;
	int64_t exponent = decimal.exponent;

	/* Far beyond what a float holds; 0 stays 0. */
	if (value <= 0 || exponent < -100)
		return 0;
	if (exponent > 100)
		return DBL_MAX;
	for (; exponent > POWER_MAX; exponent -= POWER_MAX)
		value *= powers[POWER_MAX];
	for (; exponent < -POWER_MAX; exponent += POWER_MAX)
		value /= powers[POWER_MAX];
	return exponent >= 0 ? value * powers[exponent] : value / powers[-exponent];
}

/* The word, in whatever case, and no longer one that begins so. */
static bool is_word(const char *text, size_t length, const char *word)
{
	size_t at = 0;

	for (; word[at] != '\0'; at++)
		if (at >= length || (text[at] | 0x20) != word[at])
			return false;
	if (at == length || is_digit(text[at]))
		return at == length;
	return (text[at] | 0x20) < 'a' || (text[at] | 0x20) > 'z';
}

static bool is_not_finite(const char *text, size_t length)
{
	return is_word(text, length, "nan") || is_word(text, length, "inf") ||
	       is_word(text, length, "infinity");
}

enum iso_text_reason iso_text_number(const char *text, size_t length, float *ret_value,
				     size_t *ret_used)
{
	struct decimal decimal = { .digits = 0 };
	bool is_negative = length > 0 && text[0] == '-';
	size_t at = length > 0 && (text[0] == '-' || text[0] == '+');
	size_t start = at;

	at = take_digits(text, at, length, false, &decimal);
	if (at < length && text[at] == '.')
		at = take_digits(text, at + 1, length, true, &decimal);
	if (!decimal.any)
		return is_not_finite(text + start, length - start) ? ISO_TEXT_NOT_FINITE
								   : ISO_TEXT_NOT_A_NUMBER;
	at = take_exponent(text, at, length, &decimal);
	assert(at <= length);
	double value = scale(decimal);
	/* Half a step above the largest float rounds down to it; no more does. */
	if (value >= (double)FLT_MAX * (1 + 0x1p-25))
		return ISO_TEXT_TOO_LARGE;
	*ret_value = (float)(is_negative ? -value : value);
	*ret_used = at;
	return ISO_TEXT_FINE;
}

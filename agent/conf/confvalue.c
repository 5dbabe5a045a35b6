/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/confvalue.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/net/curve.h"
#include "lib/quantity.h"

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const char *confutil_expected(enum confutil_type type)
{
	switch (type) {
	case CONFUTIL_CPU: return "CPU with its unit, such as 1.5cpu, 250mcpu or 150%";
	case CONFUTIL_DURATION: return "a duration with its unit, such as 100ms or 1s";
	case CONFUTIL_NUMBER: return "a number";
	case CONFUTIL_INTEGER: return "a whole number";
	case CONFUTIL_BOOL: return "yes or no";
	case CONFUTIL_NAME: return "a name of letters, digits, '.', '_' and '-'";
	case CONFUTIL_PATH: return "an absolute path";
	case CONFUTIL_TEXT: return "text";
	case CONFUTIL_ADDRESS: return "an address such as tcp://192.0.2.1:7400";
	case CONFUTIL_KEY: return "a public key of 40 characters or the absolute path of its file";
	case CONFUTIL_CHOICE: return "one of its choices";
	}
	return "a value";
}

static int refuse(const char *text, const char *expected, struct error *reterr)
{
	return error_set(reterr, -EINVAL, "'%.80s' is not %s", text, expected);
}

/* In the largest unit that keeps it whole: a bound should look as it would be written. */
static void format_duration(uint64_t ns, char *out, size_t size)
{
	static const struct {
		const char *unit;
		uint64_t scale;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i = 0;

	while (ns % units[i].scale != 0)
		i++;
	snprintf(out, size, "%" PRIu64 "%s", ns / units[i].scale, units[i].unit);
}

static int set_quantity(const struct confutil_option *option, const char *text, uint64_t *field,
			struct error *reterr)
{
	bool is_cpu = option->type == CONFUTIL_CPU;
	bool may_be_none = (option->flags & CONFUTIL_OR_NONE) != 0;
	uint64_t value;

	if ((option->flags & CONFUTIL_OR_OFF) != 0 && strcmp(text, "off") == 0) {
		*field = 0;
		return 0;
	}
	if (may_be_none && strcmp(text, "none") == 0) {
		*field = UINT64_MAX;
		return 0;
	}
	enum iso_status status =
	    is_cpu ? iso_quantity_cpu(text, &value) : iso_quantity_duration(text, &value);

	if (status == ISO_E_UNIT || status == ISO_E_SYNTAX)
		return refuse(text,
			      may_be_none ? "none, or CPU with its unit, such as 1.5cpu" :
					    confutil_expected(option->type),
			      reterr);
	if (status != ISO_OK)
		return error_set(reterr, -EINVAL, "'%.80s': %s (the finest step is %s)", text,
				 iso_status_text(status), is_cpu ? "1ucpu" : "1ns");

	char bound[ISO_QUANTITY_BYTES];
	bool is_small = value < option->least;
	if (is_small || (option->most != 0 && value > option->most)) {
		uint64_t limit = is_small ? option->least : option->most;

		if (is_cpu)
			iso_quantity_cpu_format(limit, bound);
		else
			format_duration(limit, bound, sizeof(bound));
		return error_set(reterr, -EINVAL,
				 is_small ? "'%.80s' is too small; at least %s"
					  : "'%.80s' is too large; at most %s",
				 text, bound);
	}
	*field = value;
	return 0;
}

static int check_range(const struct confutil_option *option, const char *text, double value,
		       struct error *reterr)
{
	if (option->min == 0.0 && option->max == 0.0)
		return 0;
	if (value >= option->min && value <= option->max)
		return 0;
	return error_set(reterr, -EINVAL, "'%.80s' is out of range; from %.10g to %.10g", text,
			 option->min, option->max);
}

static int set_number(const struct confutil_option *option, const char *text, double *field,
		      struct error *reterr)
{
	char *end;
	double value = strtod(text, &end);

	/* No inf, nan or hexadecimal: only what a person would write. */
	if (end == text || *end != '\0' || !isfinite(value) ||
	    strspn(text, "+-.0123456789eE") != strlen(text))
		return refuse(text, confutil_expected(option->type), reterr);
	if (check_range(option, text, value, reterr) < 0)
		return -EINVAL;
	*field = value;
	return 0;
}

static int set_integer(const struct confutil_option *option, const char *text, int64_t *field,
		       struct error *reterr)
{
	char *end;

	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || isspace((unsigned char)*text))
		return refuse(text, confutil_expected(option->type), reterr);
	if (check_range(option, text, (double)value, reterr) < 0)
		return -EINVAL;
	*field = value;
	return 0;
}

static int set_bool(const char *text, bool *field, struct error *reterr)
{
	static const char *const words[][2] = { { "no", "yes" },
						{ "false", "true" },
						{ "off", "on" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (int value = 0; value < 2; value++)
			if (strcmp(text, words[i][value]) == 0) {
				*field = value != 0;
				return 0;
			}
	return refuse(text, confutil_expected(CONFUTIL_BOOL), reterr);
}

static int set_choice(const struct confutil_option *option, const char *text, int *field,
		      struct error *reterr)
{
	size_t length = strlen(text);
	const char *p = option->choices;

	for (int i = 0;; i++) {
		size_t n = strcspn(p, "|");

		if (n == length && strncmp(p, text, n) == 0) {
			*field = i;
			return 0;
		}
		if (p[n] == '\0')
			break;
		p += n + 1;
	}

	char expected[160] = "one of";
	size_t used = strlen(expected);
	for (p = option->choices; *p != '\0' && used + 2 < sizeof(expected);) {
		size_t n = strcspn(p, "|");
		int wrote = snprintf(expected + used, sizeof(expected) - used, " %.*s%s", (int)n, p,
				     p[n] != '\0' ? "," : "");

		used += (size_t)wrote;
		p += n + (p[n] != '\0');
	}
	return refuse(text, expected, reterr);
}

int confvalue_check_name(const char *text, size_t size, struct error *reterr)
{
	size_t length = strlen(text);

	if (length == 0 || strspn(text, NAME_LETTERS) == 0 ||
	    strspn(text, NAME_LETTERS "._-") != length)
		return refuse(text, confutil_expected(CONFUTIL_NAME), reterr);
	if (length >= size)
		return error_set(reterr, -EINVAL, "'%.80s' is too long; at most %zu characters",
				 text, size - 1);
	return 0;
}

static int set_text(const struct confutil_option *option, const char *text, char *field,
		    struct error *reterr)
{
	size_t length = strlen(text);

	if (length >= option->size)
		return error_set(reterr, -EINVAL, "'%.80s' is too long; at most %zu characters",
				 text, option->size - 1);
	memset(field, 0, option->size);
	memcpy(field, text, length);
	return 0;
}

bool confutil_is_key(const char *text)
{
	return curve_key_valid(text);
}

/* Digits from 0 to 65535, or "*" where the kernel may choose. */
static bool is_port(const char *text)
{
	if (strcmp(text, "*") == 0)
		return true;
	size_t length = strlen(text);
	if (length == 0 || length > 5 || strspn(text, "0123456789") != length)
		return false;
	return strtoul(text, NULL, 10) <= 65535;
}

static bool is_address(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == ';')
			return false;
	if (strncmp(text, "ipc:///", 7) == 0)
		return text[7] != '\0';
	if (strncmp(text, "inproc://", 9) == 0)
		return text[9] != '\0';
	if (strncmp(text, "tcp://", 6) != 0)
		return false;
	const char *colon = strrchr(text, ':');
	return colon > text + 6 && is_port(colon + 1);
}

bool confutil_is_numeric(const char *address)
{
	char host[INET6_ADDRSTRLEN + 2];
	struct in6_addr ignored;

	if (strncmp(address, "tcp://", 6) != 0)
		return true;
	address += 6;
	const char *colon = strrchr(address, ':');
	size_t length = colon != NULL ? (size_t)(colon - address) : strlen(address);
	if (length == 1 && *address == '*')
		return true;
	if (length >= sizeof(host))
		return false;
	bool is_bracketed = length > 2 && address[0] == '[' && address[length - 1] == ']';
	if (is_bracketed) {
		address++;
		length -= 2;
	}
	memcpy(host, address, length);
	host[length] = '\0';
	return inet_pton(is_bracketed ? AF_INET6 : AF_INET, host, &ignored) == 1;
}

static bool goes_up(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")) != NULL; p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

static int set_checked_text(const struct confutil_option *option, const char *text, char *field,
			    struct error *reterr)
{
	bool is_good = true;

	if (option->type == CONFUTIL_PATH)
		is_good = text[0] == '/';
	if (option->type == CONFUTIL_PATH && goes_up(text))
		return refuse(text, "a path without '..'", reterr);
	if (option->type == CONFUTIL_ADDRESS)
		is_good = is_address(text);
	if (!is_good)
		return refuse(text, confutil_expected(option->type), reterr);
	return set_text(option, text, field, reterr);
}

static int set_key(const struct confutil_option *option, const char *text, char *field,
		   struct error *reterr)
{
	char key[CURVE_KEY_BYTES];

	if (confutil_is_key(text))
		return set_text(option, text, field, reterr);
	if (text[0] != '/')
		return refuse(text, confutil_expected(CONFUTIL_KEY), reterr);
	int r = curve_public_read(text, key, reterr);
	return r < 0 ? r : set_text(option, key, field, reterr);
}

int confvalue_set(const struct confutil_option *option, const char *text, void *owner,
		  struct error *reterr)
{
	/* The table is ours: its offsets are aligned for the type they name. */
	void *field = (char *)owner + option->offset;

	switch (option->type) {
	case CONFUTIL_CPU:
	case CONFUTIL_DURATION: return set_quantity(option, text, field, reterr);
	case CONFUTIL_NUMBER: return set_number(option, text, field, reterr);
	case CONFUTIL_INTEGER: return set_integer(option, text, field, reterr);
	case CONFUTIL_BOOL: return set_bool(text, field, reterr);
	case CONFUTIL_CHOICE: return set_choice(option, text, field, reterr);
	case CONFUTIL_NAME:
		if (confvalue_check_name(text, option->size, reterr) < 0)
			return -EINVAL;
		return set_text(option, text, field, reterr);
	case CONFUTIL_KEY: return set_key(option, text, field, reterr);
	case CONFUTIL_PATH:
	case CONFUTIL_TEXT:
	case CONFUTIL_ADDRESS: return set_checked_text(option, text, field, reterr);
	}
	assert(!"every type is handled");
	return -EINVAL;
}

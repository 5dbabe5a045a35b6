/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/confscan.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 8

struct scan {
	char *at;
	int line;
	bool in_token; /* inside an unquoted word: "//" does not begin a comment there */
	int depth;
	int opened_on[DEPTH_MAX];
};

static void blank_to_end_of_line(struct scan *scan)
{
	while (*scan->at != '\0' && *scan->at != '\n')
		*scan->at++ = ' ';
}

static int blank_block_comment(struct scan *scan, struct error *reterr)
{
	int begins_on = scan->line;
	char *end = strstr(scan->at + 2, "*/");

	if (end == NULL)
		return error_set(reterr, -EINVAL,
				 "line %d: the comment that begins here is not closed", begins_on);
	for (end += 2; scan->at < end; scan->at++) {
		if (*scan->at == '\n')
			scan->line++;
		else
			*scan->at = ' ';
	}
	return 0;
}

/* at is on the opening quote; afterwards behind the closing one. */
static int skip_string(struct scan *scan, struct error *reterr)
{
	char quote = *scan->at++;

	for (; *scan->at != quote; scan->at++) {
		if (*scan->at == '\\' && scan->at[1] != '\n' && scan->at[1] != '\0') {
			scan->at++;
			continue;
		}
		if (*scan->at == '\n' || *scan->at == '\0')
			return error_set(reterr, -EINVAL,
					 "line %d: the string is not closed on its line",
					 scan->line);
		if (quote == '"' && scan->at[0] == '$' && scan->at[1] == '{')
			return error_set(
			    reterr, -EINVAL,
			    "line %d: '${' in double quotes would be expanded: use single quotes",
			    scan->line);
	}
	scan->at++;
	return 0;
}

static int brace(struct scan *scan, struct error *reterr)
{
	if (*scan->at == '{') {
		if (scan->depth == DEPTH_MAX)
			return error_set(reterr, -EINVAL, "line %d: sections are nested too deeply",
					 scan->line);
		scan->opened_on[scan->depth++] = scan->line;
	} else if (scan->depth == 0) {
		return error_set(reterr, -EINVAL, "line %d: '}' closes nothing", scan->line);
	} else {
		scan->depth--;
	}
	return 0;
}

static int plain(struct scan *scan, struct error *reterr)
{
	char c = *scan->at;

	if (c == '|' || c == '*' || (c == '$' && scan->at[1] == '{'))
		return error_set(reterr, -EINVAL, "line %d: unexpected '%c' (quote the value)",
				 scan->line, c);
	/* Anything below a blank but these would only be looked for in vain by a person. */
	if (c == '\r')
		*scan->at = ' ';
	else if ((unsigned char)c < ' ' && c != '\t' && c != '\n')
		return error_set(reterr, -EINVAL, "line %d: control character 0x%02x", scan->line,
				 (unsigned)(unsigned char)c);
	if (c == '\n')
		scan->line++;
	scan->in_token = strchr(" \t\r\n=(),+", c) == NULL;
	scan->at++;
	return 0;
}

static int step(struct scan *scan, struct error *reterr)
{
	char c = *scan->at;
	int r;

	if (c == '#' || (c == '/' && scan->at[1] == '/' && !scan->in_token)) {
		blank_to_end_of_line(scan);
		return 0;
	}
	if (c == '/' && scan->at[1] == '*' && !scan->in_token)
		return blank_block_comment(scan, reterr);
	if (c == '"' || c == '\'') {
		scan->in_token = false;
		return skip_string(scan, reterr);
	}
	if (c == '{' || c == '}') {
		r = brace(scan, reterr);
		scan->in_token = false;
		scan->at++;
		return r;
	}
	return plain(scan, reterr);
}

int confscan(char *text, struct error *reterr)
{
	struct scan scan = { .at = text, .line = 1 };

	while (*scan.at != '\0') {
		int r = step(&scan, reterr);

		if (r < 0)
			return r;
	}
	if (scan.depth > 0)
		return error_set(reterr, -EINVAL,
				 "line %d: the section that begins here has no closing brace",
				 scan.opened_on[scan.depth - 1]);
	return 0;
}

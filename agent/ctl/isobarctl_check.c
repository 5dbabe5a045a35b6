/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ctl/isobarctl.h"
#include "agent/ctl/preflight.h"

#define DEFAULT_FILE ISO_SYSCONFDIR "/isobar/isobard.conf"

static void print_json(const struct preflight *preflight, const char *file)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < preflight->count; i++) {
		const struct preflight_row *row = &preflight->rows[i];
		json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "requirement", row->requirement,
					 "state", preflight_state_text(row->state), "detail",
					 row->detail, "remedy", row->remedy);

		(void)json_array_append_new(rows, json != NULL ? json : json_null());
	}
	json_t *json = json_pack("{s:b, s:b, s:s, s:o}", "ok", 1, "ready",
				 preflight_ready(preflight), "file", file, "checks", rows);
	ctl_print_json(json);
	json_decref(json);
}

static void print_text(const struct preflight *preflight)
{
	for (unsigned i = 0; i < preflight->count; i++) {
		const struct preflight_row *row = &preflight->rows[i];

		printf("%-8s %-18s %s\n", preflight_state_text(row->state), row->requirement,
		       row->detail);
		if (row->remedy[0] != '\0')
			printf("%-8s %-18s remedy: %s\n", "", "", row->remedy);
	}
	puts(preflight_ready(preflight) ? "\nready" : "\nnot ready");
}

int ctl_check(const struct ctl *ctl, int argc, char **argv)
{
	struct preflight preflight;
	char file[PATH_MAX];

	(void)argc;
	(void)argv;
	if (ctl->file != NULL)
		snprintf(file, sizeof(file), "%s", ctl->file);
	else if (ctl->instance != NULL)
		snprintf(file, sizeof(file), ISO_SYSCONFDIR "/isobar/%s.conf", ctl->instance);
	else
		snprintf(file, sizeof(file), "%s", DEFAULT_FILE);

	preflight_run(file, &preflight);
	if (ctl->json)
		print_json(&preflight, file);
	else
		print_text(&preflight);
	return preflight_ready(&preflight) ? CTL_DONE : CTL_FAILED;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>

#include "agent/base/log.h"
#include "agent/ctl/isobarctl.h"

/* Orders to one running isobard: to stop trading, to go on, and what to log. */

/* Steals the request; fine is what to say of a reply, or NULL to say its level. */
static int tell(const struct ctl *ctl, json_t *request, const char *fine)
{
	char path[CONTROL_PATH_BYTES];
	json_t *reply;
	int r = ctl_socket(ctl, path);

	if (r == CTL_DONE)
		r = ctl_ask_this(path, request, &reply);
	else
		json_decref(request);
	if (r != CTL_DONE)
		return r;
	if (ctl->json)
		ctl_print_json(reply);
	else if (fine != NULL)
		puts(fine);
	else
		puts(json_string_value(json_object_get(reply, "level")));
	json_decref(reply);
	return CTL_DONE;
}

int ctl_freeze(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(ctl, json_pack("{s:s}", "command", "freeze"),
		    "frozen: its share stays as it is and is enforced, until isobarctl thaw");
}

int ctl_thaw(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(ctl, json_pack("{s:s}", "command", "thaw"), "it trades");
}

int ctl_log_level(const struct ctl *ctl, int argc, char **argv)
{
	int level;

	if (argc == 0)
		return tell(ctl, json_pack("{s:s}", "command", "log-level"), NULL);
	if (argc > 1 || !log_level_parse(argv[0], &level)) {
		fputs("isobarctl: log-level: expected error, warning, info or debug\n", stderr);
		return CTL_USAGE;
	}
	return tell(ctl, json_pack("{s:s, s:s}", "command", "log-level", "level", argv[0]), NULL);
}

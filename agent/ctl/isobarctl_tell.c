/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>

#include "agent/base/log.h"
#include "agent/control/printable.h"
#include "agent/ctl/isobarctl.h"

/* Orders to one running isobard: to stop trading, to go on, what to log, to read its file anew. */

/* Says what a reply means. */
typedef void print_fn(const json_t *reply);

static void print_level(const json_t *reply)
{
	const char *level = printable(json_object_get(reply, "level"));

	puts(level != NULL ? level : "-");
}

static void print_frozen(const json_t *reply)
{
	puts(json_is_true(json_object_get(reply, "frozen"))
		 ? "frozen: its share stays as it is and is enforced, until isobarctl thaw"
		 : "it trades");
}

static void print_reload(const json_t *reply)
{
	const char *taken = printable(json_object_get(reply, "taken"));
	const char *restart = printable(json_object_get(reply, "restart"));

	if (taken != NULL && taken[0] != '\0')
		printf("in force: %s\n", taken);
	if (restart != NULL && restart[0] != '\0')
		printf("needs a restart: %s\n", restart);
	if ((taken == NULL || taken[0] == '\0') && (restart == NULL || restart[0] == '\0'))
		puts("nothing has changed");
}

/* Steals the request. */
static int tell(const struct ctl *ctl, json_t *request, print_fn *print)
{
	json_t *reply;
	int r = ctl_ask_this(ctl, request, &reply);

	if (r != CTL_DONE)
		return r;
	if (ctl->json)
		ctl_print_json(reply);
	else
		print(reply);
	json_decref(reply);
	return CTL_DONE;
}

int ctl_freeze(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(ctl, json_pack("{s:s}", "command", "freeze"), print_frozen);
}

int ctl_thaw(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(ctl, json_pack("{s:s}", "command", "thaw"), print_frozen);
}

int ctl_log_level(const struct ctl *ctl, int argc, char **argv)
{
	int level;

	if (argc == 0)
		return tell(ctl, json_pack("{s:s}", "command", "log-level"), print_level);
	if (argc > 1 || !log_level_parse(argv[0], &level)) {
		fputs("isobarctl: log-level: expected error, warning, info or debug\n", stderr);
		return CTL_USAGE;
	}
	return tell(ctl, json_pack("{s:s, s:s}", "command", "log-level", "level", argv[0]),
		    print_level);
}

int ctl_reload(const struct ctl *ctl, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(ctl, json_pack("{s:s}", "command", "reload"), print_reload);
}

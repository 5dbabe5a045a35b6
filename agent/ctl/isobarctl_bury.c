/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/ctl/desk.h"

/* Nodes that are dead, or taken to be; and what was kept for them. */

static int finish(struct desk *desk, int r)
{
	if (r == CTL_DONE && desk->ctl->json)
		desk_report(desk, true, NULL);
	return r;
}

static int heir_of(struct desk *desk, uint64_t *ret_heir)
{
	*ret_heir = 0;
	if (desk->ctl->heir == NULL)
		return CTL_DONE;
	uint32_t member = desk_member(desk, desk->ctl->heir);
	if (member == ISO_REGISTRY_NOBODY)
		return CTL_FAILED;
	*ret_heir = desk->registry->members[member].id;
	return CTL_DONE;
}

/* What burying does, what stays reserved, and what would break the budget. */
static bool confirm_bury(struct desk *desk, const char *name, const char *names)
{
	const struct iso_registry_member *member =
	    &desk->registry->members[iso_registry_find_name(desk->registry, name)];
	char question[1200], floor[32];

	desk_cpu(member->floor_ucpu, floor);
	if (desk->ctl->fenced)
		snprintf(question, sizeof(question),
			 "Burying %s as surely off.  The neighbours close their edges at once and "
			 "say what went over them; from that follows what is left, all of which, "
			 "the floor too, goes to an heir.  Nothing stays reserved.\n"
			 "You say that it is off, or that its job is stopped, and that it will "
			 "not come back with its journal: remove that (STATE-DIRECTORY/journal) "
			 "before its agent is started again, with isobard --init --join.\n"
			 "If it still runs, or comes back so, the kernels together may enforce "
			 "more than the budget: up to its whole share.",
			 names);
	else
		snprintf(question, sizeof(question),
			 "Burying %s.  Its neighbours stop to answer it, wait until every lease "
			 "that they gave it has run out, close their edges and say what went "
			 "over them; from that follows what is left, which goes to an heir.  %s "
			 "stay reserved, for that much it may enforce wherever it is: until it "
			 "joins again, or isobarctl forget %s once it is surely off.\n"
			 "If it lives after all it keeps its floor, learns that it was buried, "
			 "and can only join anew.%s",
			 names, floor, name,
			 desk->ctl->trust_guard
			     ? "\n--trust-guard: you say that its guard or its watchdog lowers its "
			       "limit to the floor when its lease ends.  If that does not "
			       "happen, the kernels together may enforce more than the budget: "
			       "up to its whole share."
			     : "");
	return desk_confirm(desk, question, name);
}

static int bury(struct desk *desk, int argc, char **argv)
{
	uint64_t others[ISO_REGISTRY_LIST_MAX];
	struct iso_registry_wish wish = {
		.flags = desk->ctl->fenced ? ISO_REGISTRY_FENCED : 0,
		.trust = desk->ctl->trust_guard,
		.list = others,
	};
	struct iso_registry_entry entry;
	char names[300] = "";

	for (int i = 0; i < argc; i++) {
		uint32_t member = desk_member(desk, argv[i]);
		size_t n = strlen(names);

		if (member == ISO_REGISTRY_NOBODY)
			return CTL_FAILED;
		snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? " and " : "", argv[i]);
		if (i == 0)
			wish.node = desk->registry->members[member].id;
		else
			others[wish.list_count++] = desk->registry->members[member].id;
	}
	if (heir_of(desk, &wish.heir) != CTL_DONE)
		return CTL_FAILED;
	struct iso_registry_reason reason = iso_registry_bury(desk->registry, &wish, &entry);
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	if (!confirm_bury(desk, argv[0], names))
		return CTL_FAILED;
	int r = desk_carry_out(desk, &entry);
	if (r == CTL_DONE)
		desk_say(desk, "%s: buried", names);
	return finish(desk, r);
}

int ctl_bury(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;

	if (argc < 1 || argc > (int)ISO_REGISTRY_LIST_MAX) {
		fputs("isobarctl: bury NODE, or bury NODE NODE... --fenced\n", stderr);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE)
		r = bury(&desk, argc, argv);
	desk_end(&desk);
	return r;
}

static int forget(struct desk *desk, const char *name)
{
	uint32_t index = desk_member(desk, name);
	struct iso_registry_wish wish = { .flags = 0 };
	struct iso_registry_entry entry;
	char question[500], cpu[32];

	if (index == ISO_REGISTRY_NOBODY || heir_of(desk, &wish.heir) != CTL_DONE)
		return CTL_FAILED;
	const struct iso_registry_member *member = &desk->registry->members[index];
	wish.node = member->id;
	wish.flags = desk->ctl->fenced || member->reserved_ucpu > 0 ? ISO_REGISTRY_FENCED : 0;
	struct iso_registry_reason reason = iso_registry_forget(desk->registry, &wish, &entry);
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	snprintf(
	    question, sizeof(question),
	    "Forgetting %s.  The %s that are reserved for it go to an heir.  You say that it is "
	    "off, or that its job is stopped, and that it will not come back with its "
	    "journal.  If it still runs, the kernels together may enforce more than the "
	    "budget: by that much.",
	    name, desk_cpu(member->reserved_ucpu, cpu));
	if (member->reserved_ucpu > 0 && !desk->ctl->fenced && !desk_confirm(desk, question, name))
		return CTL_FAILED;
	int r = desk_carry_out(desk, &entry);
	if (r == CTL_DONE)
		desk_say(desk, "%s: forgotten", name);
	return finish(desk, r);
}

int ctl_forget(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;

	if (argc != 1) {
		fputs("isobarctl: forget NODE\n", stderr);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE)
		r = forget(&desk, argv[0]);
	desk_end(&desk);
	return r;
}

int ctl_resume(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;

	(void)argc;
	(void)argv;
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE)
		r = desk_go_on(&desk, DRIVE_ALL);
	if (r == CTL_DONE)
		desk_say(&desk, "nothing is under way any more");
	r = finish(&desk, r);
	desk_end(&desk);
	return r;
}

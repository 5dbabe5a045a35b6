/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/ctl/desk.h"
#include "agent/ctl/desk_text.h"
#include "lib/quantity.h"

/* Budget in force and budget wanted, and what is between them. */

static void print_nodes(struct desk *desk)
{
	char endowment[32], share[32], floor[32];

	printf("%-16s %-10s %18s %18s %14s\n", "NODE", "STATE", "SHARE", "ENDOWMENT", "FLOOR");
	for (uint32_t i = 0; i < desk->registry->member_count; i++) {
		const struct iso_registry_member *member = &desk->registry->members[i];

		if (member->state == ISO_REGISTRY_FORGOTTEN || member->state == ISO_REGISTRY_NEW)
			continue;
		printf("%-16s %-10s %18s %18s %14s\n", member->name, desk_text_state(member),
		       member->seen ? desk_cpu(member->share_ucpu, share) : "-",
		       desk_cpu(member->endowment_ucpu, endowment),
		       desk_cpu(member->floor_ucpu, floor));
	}
}

static int show(struct desk *desk)
{
	const struct iso_registry *registry = desk->registry;
	char budget[32], target[32], least[32], amount[32];

	if (desk->ctl->json) {
		desk_report(desk, true, NULL);
		return CTL_DONE;
	}
	printf("cluster %s\nbudget in force %s\nbudget wanted   %s\nleast possible  %s\n\n",
	       office_conf(desk->office)->cluster, desk_cpu(registry->budget_ucpu, budget),
	       desk_cpu(registry->target_ucpu, target),
	       desk_cpu(iso_registry_least_budget(registry), least));
	print_nodes(desk);
	for (uint32_t i = 0; i < registry->member_count; i++)
		if (registry->members[i].reserved_ucpu > 0)
			printf("reserved for %s, which was buried: %s\n", registry->members[i].name,
			       desk_cpu(registry->members[i].reserved_ucpu, amount));
	if (registry->pool_ucpu > 0)
		printf("not given out yet: %s\n", desk_cpu(registry->pool_ucpu, amount));
	if (registry->op_count > 0)
		printf("%" PRIu32 " operations are not answered yet: isobarctl resume\n",
		       registry->op_count);
	return CTL_DONE;
}

/* Reached or not: what is in force, and why not more. */
static int set(struct desk *desk, int64_t amount_ucpu)
{
	struct iso_registry_wish wish = { .amount_ucpu = amount_ucpu };
	struct iso_registry_entry entry;
	char from[32], to[32];

	if (desk->ctl->node != NULL) {
		uint32_t member = desk_member(desk, desk->ctl->node);

		if (member == ISO_REGISTRY_NOBODY)
			return CTL_FAILED;
		wish.heir = desk->registry->members[member].id;
	}
	struct iso_registry_reason reason = iso_registry_budget(desk->registry, &wish, &entry);
	if (reason.why != ISO_REGISTRY_FINE)
		return desk_refuse(desk, &reason);
	desk_say(desk, "budget in force: %s, wanted: %s",
		 desk_cpu(desk->registry->budget_ucpu, from), desk_cpu(amount_ucpu, to));
	int r = desk_carry_out(desk, &entry);
	if (r != CTL_DONE)
		return r;
	desk_say(desk, "budget in force: %s", desk_cpu(desk->registry->budget_ucpu, to));
	if (desk->ctl->json)
		desk_report(desk, true, NULL);
	return CTL_DONE;
}

int ctl_budget(const struct ctl *ctl, int argc, char **argv)
{
	struct desk desk;
	uint64_t amount_ucpu = 0;
	bool shows = argc == 1 && strcmp(argv[0], "show") == 0;

	if (!shows && (argc != 2 || strcmp(argv[0], "set") != 0)) {
		fputs("isobarctl: budget show, or budget set AMOUNT\n", stderr);
		return CTL_USAGE;
	}
	if (!shows && (iso_quantity_cpu(argv[1], &amount_ucpu) != ISO_OK || amount_ucpu == 0 ||
		       amount_ucpu > INT64_MAX)) {
		fprintf(stderr, "isobarctl: budget: '%s' is no amount of CPU, such as 2.5cpu\n",
			argv[1]);
		return CTL_USAGE;
	}
	int r = desk_begin(&desk, ctl);
	if (r == CTL_DONE)
		r = desk_open(&desk, false);
	if (r == CTL_DONE)
		r = shows ? show(&desk) : set(&desk, (int64_t)amount_ucpu);
	desk_end(&desk);
	return r;
}

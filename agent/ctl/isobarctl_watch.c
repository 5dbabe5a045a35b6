/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/clock.h"
#include "agent/ctl/desk.h"

/*
 * Burial without a person: only what is safe without anybody's word, that is
 * of nodes whose guard was known to work, one at a time, and only if their
 * neighbours do not hear them either.  The registry is open for each look only,
 * so other commands have their turn.
 */

struct silence {
	uint64_t node;
	uint64_t since_ns; /* 0: it answers */
	enum iso_registry_refusal said;
};

struct watch {
	struct silence silences[ISO_REGISTRY_MEMBERS_MAX];
	unsigned count;
};

static struct silence *silence_of(struct watch *watch, uint64_t node)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->silences[i].node == node)
			return &watch->silences[i];
	if (watch->count == ISO_REGISTRY_MEMBERS_MAX)
		return NULL;
	watch->silences[watch->count] = (struct silence){ .node = node };
	return &watch->silences[watch->count++];
}

/* Whether some neighbour still hears it: then it is the way to us that is cut. */
static bool is_heard(struct desk *desk, uint32_t member)
{
	const struct iso_registry *registry = desk->registry;
	bool heard = false;

	for (uint32_t i = 0; i < registry->member_count && !heard; i++) {
		const struct cluster_conf_node *node =
		    cluster_conf_find(office_conf(desk->office), registry->members[i].id);

		if (node == NULL || !desk->drive->nodes[i].answers ||
		    !iso_registry_adjacent(registry, i, member))
			continue;
		heard = office_hears(desk->office, node, registry->members[member].name);
	}
	return heard;
}

static void consider(struct desk *desk, struct watch *watch, uint32_t member)
{
	const struct iso_registry_member *node = &desk->registry->members[member];
	struct silence *silence = silence_of(watch, node->id);
	const struct iso_registry_wish wish = { .node = node->id };
	struct iso_registry_entry entry;
	uint64_t now_ns = clock_now_ns();

	if (silence == NULL)
		return;
	if (desk->drive->nodes[member].answers || is_heard(desk, member)) {
		silence->since_ns = 0;
		silence->said = ISO_REGISTRY_FINE;
		return;
	}
	if (silence->since_ns == 0)
		silence->since_ns = now_ns;
	if (now_ns - silence->since_ns < desk->ctl->bury_after_ns ||
	    iso_registry_going(desk->registry, member))
		return;
	struct iso_registry_reason reason = iso_registry_bury(desk->registry, &wish, &entry);
	if (reason.why == ISO_REGISTRY_FINE) {
		desk_say(desk, "%s has been silent for %" PRIu64 " s: burying it", node->name,
			 (now_ns - silence->since_ns) / 1000000000u);
		(void)desk_carry_out(desk, &entry);
		return;
	}
	/* Once for each reason. */
	if (silence->said != reason.why)
		(void)desk_refuse(desk, &reason);
	silence->said = reason.why;
}

static int look(const struct ctl *ctl, struct watch *watch)
{
	struct desk desk;
	int r = desk_begin(&desk, ctl);

	/* Who is silent is said when something follows from it, not at each look. */
	if (r == CTL_DONE)
		r = desk_open_quietly(&desk);
	for (uint32_t i = 0; r == CTL_DONE && i < desk.registry->member_count; i++)
		if (desk.registry->members[i].state == ISO_REGISTRY_LIVE)
			consider(&desk, watch, i);
	/* What an earlier look could not finish. */
	struct error error;
	if (r == CTL_DONE && !drive_done(desk.drive, DRIVE_ALL))
		(void)drive_run(desk.drive, DRIVE_ALL, 1000000000u, &error);
	desk_end(&desk);
	return r;
}

int ctl_watch(const struct ctl *ctl, int argc, char **argv)
{
	static struct watch watch;
	struct ctl endless = *ctl;
	int r = CTL_DONE;

	(void)argc;
	(void)argv;
	if (ctl->bury_after_ns == 0) {
		fputs("isobarctl: watch needs --bury-after TIME: how long a node must be silent\n",
		      stderr);
		return CTL_USAGE;
	}
	endless.stream = true;
	for (uint64_t i = 0; ctl->count == 0 || i < ctl->count; i++) {
		const struct timespec pause = {
			.tv_sec = (time_t)(ctl->interval_ns / 1000000000u),
			.tv_nsec = (long)(ctl->interval_ns % 1000000000u),
		};

		if (i > 0)
			nanosleep(&pause, NULL);
		r = look(&endless, &watch);
	}
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>

#include "agent/control/trust.h"
#include "agent/ctl/audit.h"

/*
 * What each node could bring in that it does not have, from the same ledgers as the
 * proof.  The sum holds either way: this is how much of it rests on trust.
 */

typedef void judged_fn(void *context, const struct audit *audit, unsigned index,
		       const struct trust *trust);

static void judge_each(const struct audit *audit, judged_fn *fn, void *context)
{
	const struct status_ledger *ledgers[NODES_MAX];

	for (unsigned i = 0; i < audit->count; i++)
		ledgers[i] = &audit->sources[i].ledger;
	for (unsigned i = 0; i < audit->count; i++) {
		const struct source *source = &audit->sources[i];
		struct trust trust;

		/* A node in hostile hands says of itself what it likes. */
		if (!trust_applies(&source->ledger, source->is_registered))
			continue;
		trust_judge(ledgers, audit->count, i,
			    source->is_registered ? source->registered_ucpu :
						    source->ledger.snapshot.record.endowment_ucpu,
			    &trust);
		fn(context, audit, i, &trust);
	}
}

static void add_json(void *context, const struct audit *audit, unsigned index,
		     const struct trust *trust)
{
	json_t *because_of = json_array();

	for (unsigned k = 0; k < trust->because_count; k++)
		(void)json_array_append_new(because_of, json_string(trust->because_of[k]));
	(void)json_array_append_new(
	    context, json_pack("{s:s, s:s, s:I, s:I, s:o}", "node",
			       audit->sources[index].ledger.node, "verdict",
			       trust_verdict_name(trust->verdict), "limits_ucpu",
			       (json_int_t)trust->limits_ucpu, "spare_ucpu",
			       (json_int_t)trust->spare_ucpu, "because_of", because_of));
}

json_t *audit_trust_json(const struct audit *audit)
{
	json_t *array = json_array();

	judge_each(audit, add_json, array);
	return array;
}

struct count {
	unsigned bounded, all;
};

static void count(void *context, const struct audit *audit, unsigned index,
		  const struct trust *trust)
{
	struct count *sum = context;

	(void)audit;
	(void)index;
	sum->all++;
	sum->bounded += trust->verdict == TRUST_BOUNDED;
}

static void print_names(const struct trust *trust)
{
	for (unsigned k = 0; k < trust->because_count; k++)
		printf("%s %s", k > 0 ? "," : "", trust->because_of[k]);
	putchar('\n');
}

static void print(void *context, const struct audit *audit, unsigned index,
		  const struct trust *trust)
{
	const char *node = audit->sources[index].ledger.node;
	double limits = (double)trust->limits_ucpu / 1e6, spare = (double)trust->spare_ucpu / 1e6;

	(void)context;
	switch (trust->verdict) {
	case TRUST_BOUNDED: return;
	case TRUST_EXCESS:
		printf("  %s could bring in %.6f CPU more: limits %.6f, spare %.6f\n", node,
		       limits - spare, limits, spare);
		return;
	case TRUST_UNBOUNDED: printf("  %s is trusted without a limit by", node); break;
	case TRUST_UNKNOWN: printf("  %s: nothing is known of its limit at", node); break;
	}
	print_names(trust);
}

void audit_trust_print(const struct audit *audit)
{
	struct count sum = { 0 };

	judge_each(audit, count, &sum);
	printf("trust: in hostile hands, %u of %u nodes could bring in no more than they have\n",
	       sum.bounded, sum.all);
	judge_each(audit, print, NULL);
}

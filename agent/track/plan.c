/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/track/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/confplace.h"
#include "lib/bytes.h"
#include "lib/checksum.h"

/* Changes when workers of different versions could misunderstand each other. */
#define PLAN_VERSION 1u

static int check_nodes(const struct plan *plan, const struct confplace *place)
{
	if (plan->nodes_count < 2) {
		error_set(place->reterr, -EINVAL,
			  "%s: expected a section node NAME { } for each, two at least",
			  plan->nodes_count == 0 ? "no node" : "one node alone");
		return confplace_at_line(place, plan->nodes_count == 0 ? 0 : plan->nodes[0].line);
	}
	for (unsigned i = 0; i < plan->nodes_count; i++) {
		if (plan->overlap == 0 || plan->nodes[i].size == plan->nodes[0].size)
			continue;
		error_set(place->reterr, -EINVAL, "node %s: with overlap all parts are of one size",
			  plan->nodes[i].name);
		return confplace_at_line(place, plan->nodes[i].line);
	}
	return 0;
}

static int check_partition(const struct plan *plan, const struct confplace *place)
{
	if (plan->overlap != 0 && plan->partition != PLAN_PARTITION_IID) {
		error_set(place->reterr, -EINVAL, "overlap goes with partition iid only");
		return confplace_at_option(place, "", "overlap");
	}
	if (plan->overlap != 0 && plan->overlap * plan->nodes_count < 1) {
		error_set(place->reterr, -EINVAL,
			  "overlap: of %u nodes each has one part in %u at least",
			  plan->nodes_count, plan->nodes_count);
		return confplace_at_option(place, "", "overlap");
	}
	if (plan->samples != 0 && plan->samples < (int64_t)plan->nodes_count) {
		error_set(place->reterr, -EINVAL, "samples: fewer than nodes, %u",
			  plan->nodes_count);
		return confplace_at_option(place, "", "samples");
	}
	return 0;
}

static int check_times(const struct plan *plan, const struct confplace *place)
{
	if (plan->drop_ns >= plan->wait_ns)
		return 0;
	error_set(place->reterr, -EINVAL, "drop: shorter than wait");
	return confplace_at_option(place, "",
				   confplace_line(place, "", "drop") > 0 ? "drop" : "wait");
}

static int check(const struct plan *plan, const struct confplace *place)
{
	int r = check_nodes(plan, place);

	if (r == 0)
		r = check_partition(plan, place);
	return r == 0 ? check_times(plan, place) : r;
}

int plan_parse(const char *name, const char *text, struct plan *ret_plan, struct error *reterr)
{
	struct confutil_lines lines;
	struct plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	int r = confutil_parse(plan_schema(), name, text, sizeof(*plan), plan, &lines, reterr);
	if (r == 0)
		r = check(plan, &(struct confplace){ name, plan_schema(), &lines, reterr });
	if (r == 0)
		*ret_plan = *plan;
	free(plan);
	return r;
}

int plan_load(const char *path, struct plan *ret_plan, struct error *reterr)
{
	char *text;
	int r = confutil_read_file(path, &text, reterr);

	if (r < 0)
		return r;
	r = plan_parse(path, text, ret_plan, reterr);
	free(text);
	return r;
}

int plan_find(const struct plan *plan, const char *node)
{
	for (unsigned i = 0; i < plan->nodes_count; i++)
		if (strcmp(plan->nodes[i].name, node) == 0)
			return (int)i;
	return -ENOENT;
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
	iso_put_le(at, value, 8);
	return at + 8;
}

static uint8_t *put_number(uint8_t *at, double value)
{
	return put(at, iso_bits_of_double(value));
}

#define DIGEST_WORDS 20

uint64_t plan_digest(const struct plan *plan, uint64_t data_checksum)
{
	static uint8_t bytes[DIGEST_WORDS * 8 + PLAN_NODES_MAX * (PLAN_NAME_BYTES + 8)];
	uint8_t *p = bytes;

	memset(bytes, 0, sizeof(bytes));
	p = put(p, PLAN_VERSION);
	p = put(p, data_checksum);
	p = put(p, iso_checksum(plan->name, strlen(plan->name)));
	p = put(p, (uint64_t)plan->model);
	p = put(p, (uint64_t)plan->hidden);
	p = put_number(p, plan->l2);
	p = put(p, (uint64_t)plan->partition);
	p = put_number(p, plan->dirichlet_alpha);
	p = put_number(p, plan->overlap);
	p = put(p, (uint64_t)plan->seed);
	p = put(p, (uint64_t)plan->samples);
	p = put(p, (uint64_t)plan->batch);
	p = put(p, (uint64_t)plan->quantiser);
	p = put_number(p, plan->rho);
	p = put(p, (uint64_t)plan->bits);
	p = put_number(p, plan->uniform_step);
	p = put(p, (uint64_t)plan->adaptive);
	p = put_number(p, plan->step);
	p = put_number(p, plan->alpha);
	p = put(p, (uint64_t)plan->rounds);
	for (unsigned i = 0; i < plan->nodes_count; i++) {
		memcpy(p, plan->nodes[i].name, strlen(plan->nodes[i].name));
		p = put(p + PLAN_NAME_BYTES, (uint64_t)plan->nodes[i].size);
	}
	return iso_checksum(bytes, (size_t)(p - bytes));
}

const char *plan_model_text(const struct plan *plan)
{
	/* Here, and not of the models: who only reads a plan needs no BLAS. */
	static const char *const texts[] = { "softmax",	   "mlp",      "svm",
					     "svm-smooth", "logistic", "linear" };

	return texts[plan->model];
}

const char *plan_quantiser_text(const struct plan *plan)
{
	static const char *const texts[] = {
		[PLAN_QUANTISER_NONE] = "none",
		[PLAN_QUANTISER_SINGLE] = "single",
		[PLAN_QUANTISER_UNIFORM] = "uniform",
		[PLAN_QUANTISER_LOG] = "log",
		[PLAN_QUANTISER_INNOVATION] = "innovation",
	};

	return texts[plan->quantiser];
}

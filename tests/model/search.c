/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/model/search.h"

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/model/broken.h"

struct origin {
	uint32_t state;
	struct model_action action;
};

struct search {
	struct model_cluster *cluster;
	struct model_result *result;
	struct pool states;
	struct origin *origins; /* of each state: where it was first reached from */
	uint32_t origins_max;
	/* The natural steps: those of state s are next[first[s]] to next[first[s + 1]]. */
	uint64_t *first;
	uint32_t *next;
	uint64_t next_count, next_max;
	uint16_t *ways;	  /* how many natural steps lead to a state */
	uint32_t current; /* being expanded */
	bool at_rest;
	const char *wrong;
	uint32_t wrong_state;
};

static sigjmp_buf assertion;

enum model_mutant model_broken;

static void on_abort(int number)
{
	(void)number;
	siglongjmp(assertion, 1);
}

static void grow(struct search *search)
{
	uint32_t capacity = search->states.capacity;

	if (search->origins_max >= capacity)
		return;
	search->origins_max = capacity;
	search->origins = pool_resize(search->origins, capacity, sizeof(*search->origins));
	search->ways = pool_resize(search->ways, capacity, sizeof(*search->ways));
	search->first = pool_resize(search->first, (size_t)capacity + 1, sizeof(*search->first));
}

static void add_next(struct search *search, uint32_t state)
{
	if (search->next_count == search->next_max) {
		search->next_max += search->next_max / 2 + 4096;
		search->next = pool_resize(search->next, search->next_max, sizeof(*search->next));
	}
	search->next[search->next_count++] = state;
	assert(search->ways[state] < UINT16_MAX);
	search->ways[state]++;
}

static void on_next(void *context, struct model_action action, const struct model_key *key)
{
	struct search *search = context;
	bool added;
	uint32_t state = pool_add(&search->states, key, &added);

	search->result->transitions++;
	if (added) {
		grow(search);
		search->origins[state] = (struct origin){ search->current, action };
		search->ways[state] = 0;
	}
	if (model_natural(action)) {
		search->at_rest = false;
		add_next(search, state);
	}
	if (!added || search->wrong != NULL)
		return;
	search->wrong = model_check(search->cluster, key);
	search->wrong_state = state;
}

/* pool_add() may move the keys, so a copy is expanded. */
static void expand(struct search *search)
{
	struct model_key key;

	memcpy(&key, pool_get(&search->states, search->current), sizeof(key));
	search->first[search->current] = search->next_count;
	search->at_rest = true;
	model_expand(search->cluster, &key, on_next, search);
	if (!search->at_rest)
		return;
	search->result->rests++;
	if (search->wrong != NULL)
		return;
	search->wrong = model_check_rest(search->cluster, &key);
	search->wrong_state = search->current;
}

static void run(struct search *search, uint32_t states_max)
{
	uint32_t level_end = 1;

	while (search->current < search->states.count && search->wrong == NULL) {
		if (search->current == level_end) {
			level_end = search->states.count;
			search->result->depth++;
		}
		if (search->states.count >= states_max)
			return;
		expand(search);
		if (search->wrong == NULL)
			search->current++;
	}
	search->first[search->current] = search->next_count;
	search->result->complete = search->wrong == NULL;
}

/* Takes away, again and again, the states to which no natural step leads any more. */
static bool acyclic(struct search *search)
{
	uint32_t *queue = pool_resize(NULL, search->states.count, sizeof(*queue)), taken = 0,
		 queued = 0;

	for (uint32_t state = 0; state < search->states.count; state++)
		if (search->ways[state] == 0)
			queue[queued++] = state;
	for (; taken < queued; taken++) {
		uint32_t state = queue[taken];

		for (uint64_t n = search->first[state]; n < search->first[state + 1]; n++)
			if (--search->ways[search->next[n]] == 0)
				queue[queued++] = search->next[n];
	}
	free(queue);
	return taken == search->states.count;
}

static size_t bytes_of(const struct search *search)
{
	return model_cluster_bytes(search->cluster) + pool_bytes(&search->states) +
	       search->origins_max *
		   (sizeof(*search->origins) + sizeof(*search->ways) + sizeof(*search->first)) +
	       search->next_max * sizeof(*search->next) + search->states.count * sizeof(uint32_t);
}

static const struct model_key *key_of(const struct search *search, uint32_t state)
{
	return pool_get(&search->states, state);
}

/* From the first state, backwards in the origins, so by recursion. */
static uint32_t print_path(const struct search *search, uint32_t state, FILE *out)
{
	const struct origin *origin = &search->origins[state];
	uint32_t number;

	if (state == 0) {
		model_print_state(search->cluster, key_of(search, 0), NULL, out);
		return 0;
	}
	number = print_path(search, origin->state, out) + 1;
	fprintf(out, "%3u. ", number);
	model_print_action(out, origin->action);
	model_print_state(search->cluster, key_of(search, state), key_of(search, origin->state),
			  out);
	return number;
}

static char *trace(const struct search *search)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	print_path(search, search->wrong_state, out);
	fprintf(out, "     %s\n", search->wrong);
	fclose(out);
	return text;
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

void model_search(const struct model_setup *setup, uint32_t states_max,
		  struct model_result *ret_result)
{
	static struct search search;
	struct sigaction before, catch = { .sa_handler = on_abort };
	struct model_key first;
	double from = cpu_seconds();
	bool added;

	*ret_result = (struct model_result){ 0 };
	search = (struct search){ .result = ret_result };
	model_broken = setup->mutant;
	search.cluster = model_cluster_new(setup, &first);
	pool_init(&search.states, sizeof(first));
	pool_add(&search.states, &first, &added);
	grow(&search);
	search.ways[0] = 0;
	search.wrong = model_check(search.cluster, &first);
	sigaction(SIGABRT, &catch, &before);
	if (sigsetjmp(assertion, 1) == 0) {
		if (search.wrong == NULL)
			run(&search, states_max);
	} else {
		search.wrong = "an assertion has failed in the next step, see above";
		search.wrong_state = search.current;
		ret_result->complete = false;
	}
	sigaction(SIGABRT, &before, NULL);
	if (ret_result->complete && !acyclic(&search))
		ret_result->wrong = "L1: a run without faults can go round for ever";
	ret_result->states = search.states.count;
	ret_result->nodes = model_cluster_nodes(search.cluster);
	ret_result->channels = model_cluster_channels(search.cluster);
	ret_result->bytes = bytes_of(&search);
	if (search.wrong != NULL) {
		ret_result->wrong = search.wrong;
		ret_result->trace = trace(&search);
	}
	model_cluster_free(search.cluster);
	pool_done(&search.states);
	free(search.origins);
	free(search.ways);
	free(search.first);
	free(search.next);
	ret_result->seconds = cpu_seconds() - from;
}

void model_result_done(struct model_result *result)
{
	free(result->trace);
	*result = (struct model_result){ 0 };
}

void model_print_heading(FILE *out)
{
	fprintf(out, "# %-34s %10s %12s %6s %9s %8s %8s %6s\n", "configuration", "states",
		"transitions", "depth", "at rest", "nodes", "MiB", "s");
}

void model_print_result(FILE *out, const struct model_setup *setup,
			const struct model_result *result)
{
	fprintf(out, "# %-34s %10u %12llu %6u %9u %8u %8zu %6.1f%s%s\n", setup->name,
		result->states, (unsigned long long)result->transitions, result->depth,
		result->rests, result->nodes, result->bytes >> 20, result->seconds,
		result->complete || result->wrong != NULL ? "" : " (not all)",
		result->wrong != NULL ? " VIOLATED" : "");
}

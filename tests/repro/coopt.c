/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/repro/coopt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "lib/graph/spectrum.h"

#define DRAWS	  100u
#define STEPS_MAX 100u

void coopt_net_draw(struct coopt_net *net, double up, uint32_t dwell, uint64_t seed)
{
	iso_graph_init(&net->graph, COOPT_NODES, net->edges, COOPT_EDGES);
	if (iso_graph_complete(&net->graph) != ISO_OK)
		repro_die("no graph");
	net->switching = (struct iso_switching){
		.seed = seed,
		.up = up,
		.dwell = dwell,
		.promise = ISO_SWITCHING_CONNECTED,
		.turns = 1,
	};
}

void coopt_net_facts(const struct coopt_net *net, struct iso_track_facts *ret_facts)
{
	void *memory = malloc(iso_spectrum_size(COOPT_NODES, STEPS_MAX));
	uint32_t degrees[COOPT_NODES], scratch[COOPT_NODES];
	double weights[COOPT_EDGES];
	bool up[COOPT_EDGES];

	if (memory == NULL)
		repro_die("no memory");
	ret_facts->lambda2 = HUGE_VAL;
	ret_facts->lambda_max = 0;
	for (uint32_t draw = 0; draw < DRAWS; draw++) {
		uint64_t round = (uint64_t)draw * net->switching.dwell;
		struct iso_spectrum spectrum;

		(void)iso_switching_edges(&net->switching, &net->graph, round, scratch, up);
		iso_switching_weights(&net->graph, up, ISO_WEIGHTS_METROPOLIS, degrees, weights);
		if (iso_graph_spectrum(&net->graph, weights, 1e-6, STEPS_MAX, memory, &spectrum) !=
		    ISO_OK)
			repro_die("no eigenvalues");
		ret_facts->lambda2 = fmin(ret_facts->lambda2, spectrum.second);
		ret_facts->lambda_max = fmax(ret_facts->lambda_max, spectrum.largest);
	}
	free(memory);
}

static void look(struct coopt_run *run)
{
	struct iso_field_sums sums;

	iso_field_sums(run->field, &sums);
	/* A NaN is an error, too. */
	if (!(sums.share_error <= run->share_error))
		run->share_error = sums.share_error;
	if (!(sums.track_error / sums.track_bound <= run->track_error))
		run->track_error = sums.track_error / sums.track_bound;
}

void coopt_open(struct coopt_run *run, const struct iso_field_config *config)
{
	size_t size = iso_field_size(config);

	*run = (struct coopt_run){ .memory = malloc(size) };
	if (size == 0 || run->memory == NULL ||
	    iso_field_init(run->memory, size, config, &run->field) != ISO_OK)
		repro_die("a field of %zu bytes cannot be set up", size);
	look(run);
}

void coopt_rounds(struct coopt_run *run, uint32_t rounds)
{
	for (uint32_t k = 0; k < rounds && !run->diverged; k++) {
		run->diverged = iso_field_round(run->field) != ISO_OK;
		if (!run->diverged)
			look(run);
	}
}

void coopt_close(struct coopt_run *run)
{
	free(run->memory);
	run->memory = NULL;
}

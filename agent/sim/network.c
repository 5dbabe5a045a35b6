/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/network.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/graph/random.h"

#define DRAWS_MAX 100
#define EDGES_MAX (1u << 29)

const char *const network_names[NETWORK_KINDS] = {
	[NETWORK_RING] = "ring",	   [NETWORK_GRID] = "grid",
	[NETWORK_RANDOM] = "random",	   [NETWORK_EXPONENTIAL] = "exponential",
	[NETWORK_COMPLETE] = "complete",   [NETWORK_STAR] = "star",
	[NETWORK_LINE] = "line",	   [NETWORK_ERDOS_RENYI] = "erdos-renyi",
	[NETWORK_GEOMETRIC] = "geometric",
};

/* As square as it can be. */
static uint32_t grid_rows(uint32_t nodes)
{
	uint32_t rows = (uint32_t)sqrt((double)nodes);

	while (nodes % rows != 0)
		rows--;
	return rows;
}

static double mean_degree(const struct network_options *options)
{
	return fmin(2 * log(options->nodes), options->nodes - 1);
}

static double probability_of(const struct network_options *options)
{
	double probability = options->probability;

	return probability > 0 ? probability : mean_degree(options) / (options->nodes - 1);
}

static double radius_of(const struct network_options *options)
{
	double radius = options->radius;

	return radius > 0 ? radius : sqrt(mean_degree(options) / (M_PI * options->nodes));
}

static uint64_t room_for(const struct network_options *options)
{
	uint64_t nodes = options->nodes, hops = 1;

	switch (options->kind) {
	case NETWORK_RING:
	case NETWORK_STAR:
	case NETWORK_LINE: return nodes;
	case NETWORK_GRID:
	case NETWORK_RANDOM: return 2 * nodes;
	case NETWORK_EXPONENTIAL:
		while (nodes >> hops != 0)
			hops++;
		return nodes * hops;
	case NETWORK_COMPLETE: return nodes * (nodes - 1) / 2;
	case NETWORK_ERDOS_RENYI:
		return iso_graph_erdos_renyi_room(options->nodes, probability_of(options));
	case NETWORK_GEOMETRIC: return iso_graph_geometric_room(options->nodes, radius_of(options));
	case NETWORK_KINDS: break;
	}
	return 0;
}

static enum iso_status draw_points(const struct network_options *options, struct iso_graph *graph,
				   struct iso_rng *rng)
{
	size_t nodes = options->nodes;
	uint32_t *scratch = malloc(2 * nodes * sizeof(*scratch));
	struct iso_graph_point *points = malloc(nodes * sizeof(*points));
	enum iso_status status = ISO_E_FULL;

	if (scratch != NULL && points != NULL)
		status = iso_graph_geometric(graph, radius_of(options), rng, scratch, points);
	free(scratch);
	free(points);
	return status;
}

static enum iso_status draw(const struct network_options *options, struct iso_graph *graph,
			    struct iso_rng *rng)
{
	uint32_t rows = grid_rows(options->nodes);

	switch (options->kind) {
	case NETWORK_RING: return iso_graph_ring(graph);
	case NETWORK_GRID: return iso_graph_grid(graph, rows, options->nodes / rows);
	case NETWORK_RANDOM: return iso_graph_random(graph, options->nodes, rng);
	case NETWORK_EXPONENTIAL: return iso_graph_exponential(graph);
	case NETWORK_COMPLETE: return iso_graph_complete(graph);
	case NETWORK_STAR: return iso_graph_star(graph);
	case NETWORK_LINE: return iso_graph_line(graph);
	case NETWORK_ERDOS_RENYI: return iso_graph_erdos_renyi(graph, probability_of(options), rng);
	case NETWORK_GEOMETRIC: return draw_points(options, graph, rng);
	case NETWORK_KINDS: break;
	}
	return ISO_E_RANGE;
}

/* A grid that is a line by another name is refused: nobody means that. */
static int check_grid(const struct network_options *options, struct error *reterr)
{
	uint32_t rows = grid_rows(options->nodes);

	if (options->kind != NETWORK_GRID || options->nodes / rows <= 4 * rows)
		return 0;
	return error_set(reterr, -EINVAL, "%u nodes make no grid: it would be %u times %u",
			 options->nodes, rows, options->nodes / rows);
}

static int fill(const struct network_options *options, struct iso_rng *rng, struct network *network,
		struct error *reterr)
{
	bool is_drawn = options->kind == NETWORK_RANDOM || options->kind == NETWORK_ERDOS_RENYI ||
			options->kind == NETWORK_GEOMETRIC;
	uint64_t room = room_for(options);

	if (room > EDGES_MAX)
		return error_set(reterr, -EINVAL, "%ju edges are too many", (uintmax_t)room);
	network->edges = malloc((room + 1) * sizeof(*network->edges));
	network->degrees = malloc(options->nodes * sizeof(*network->degrees));
	if (network->edges == NULL || network->degrees == NULL)
		return error_errno(reterr, -ENOMEM, "%ju edges", (uintmax_t)room);
	for (int i = 0; i < (is_drawn ? DRAWS_MAX : 1); i++) {
		enum iso_status status;

		iso_graph_init(&network->graph, options->nodes, network->edges, (uint32_t)room);
		status = draw(options, &network->graph, rng);
		if (status != ISO_OK)
			return error_set(reterr, -EINVAL, "%s", iso_status_text(status));
		if (iso_graph_connected(&network->graph, network->degrees)) {
			iso_graph_degrees(&network->graph, network->degrees);
			return 0;
		}
	}
	return error_set(reterr, -EINVAL, "not connected in any of %d draws", DRAWS_MAX);
}

static int take_file(const char *path, struct network *network, struct error *reterr)
{
	int r = graph_names_read(path, &network->names, reterr);

	if (r < 0)
		return r;
	network->graph = network->names.graph;
	network->degrees = malloc(network->graph.nodes * sizeof(*network->degrees));
	if (network->degrees == NULL)
		return error_errno(reterr, -ENOMEM, "%s", path);
	if (!iso_graph_connected(&network->graph, network->degrees))
		return error_set(reterr, -EINVAL, "%s: not connected", path);
	iso_graph_degrees(&network->graph, network->degrees);
	return 0;
}

int network_open(const struct network_options *options, struct iso_rng *rng,
		 struct network *ret_network, struct error *reterr)
{
	struct network network = { 0 };
	int r;

	if (options->file != NULL)
		r = take_file(options->file, &network, reterr);
	else
		r = check_grid(options, reterr);
	if (r == 0 && options->file == NULL)
		r = fill(options, rng, &network, reterr);
	if (r < 0) {
		network_close(&network);
		return r;
	}
	*ret_network = network;
	return 0;
}

void network_close(struct network *network)
{
	free(network->edges);
	free(network->degrees);
	graph_names_close(&network->names);
	memset(network, 0, sizeof(*network));
}

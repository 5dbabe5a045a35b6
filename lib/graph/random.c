/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/graph/random.h"

#include <assert.h>
#include <math.h>

#include "lib/graph/build.h"

#define NO_NODE UINT32_MAX

static const double pi = 3.14159265358979323846;

static double pairs_of(uint32_t nodes)
{
	return 0.5 * nodes * ((double)nodes - 1);
}

/* `mean` plus eight times `deviation`, but no more than there are pairs. */
static uint64_t room_of(uint32_t nodes, double mean, double deviation)
{
	double room = ceil(mean + 8 * deviation + 16);

	assert(nodes >= 1);
	return (uint64_t)fmin(room, pairs_of(nodes));
}

uint64_t iso_graph_erdos_renyi_room(uint32_t nodes, double p)
{
	double mean = pairs_of(nodes) * fmin(fmax(p, 0), 1);

	return room_of(nodes, mean, sqrt(mean));
}

/* How many pairs are left out before the next one: geometric, at most `most`. */
static uint64_t draw_skip(struct iso_rng *rng, double log_missing, double most)
{
	double skip = floor(log1p(-iso_rng_unit(rng)) / log_missing);

	assert(log_missing < 0);
	return (uint64_t)(skip < most ? skip : most);
}

enum iso_status iso_graph_erdos_renyi(struct iso_graph *graph, double p, struct iso_rng *rng)
{
	uint32_t count = graph->edge_count, nodes = graph->nodes;
	double log_missing = log1p(-p), most = pairs_of(nodes);
	enum iso_status status = ISO_OK;
	uint32_t low = 0;

	if (!(p >= 0 && p <= 1))
		return ISO_E_RANGE;
	if (p == 1)
		return iso_graph_complete(graph);
	if (p == 0)
		return ISO_OK;
	/* high runs past the end of its row and is carried over into the next ones. */
	for (uint64_t high = 0; status == ISO_OK;) {
		high += 1 + draw_skip(rng, log_missing, most);
		while (low + 1 < nodes && high >= nodes) {
			high -= nodes - 1 - low;
			low++;
			high++;
		}
		if (low + 1 >= nodes)
			break;
		status = iso_graph_append(graph, low, (uint32_t)high);
	}
	return iso_graph_finish(graph, count, status);
}

uint64_t iso_graph_geometric_room(uint32_t nodes, double radius)
{
	double area = fmin(pi * radius * radius, 1), mean = pairs_of(nodes) * area;

	/* The nodes at the rim have fewer neighbours, and their number varies, too. */
	return room_of(nodes, mean, sqrt(mean) + mean / sqrt(nodes));
}

/* The nodes sorted into side x side cells: the first of each cell, then one after another. */
struct cells {
	uint32_t side;
	uint32_t *first;
	uint32_t *next;
};

static uint32_t cell_of(const struct cells *cells, double at)
{
	uint32_t cell = (uint32_t)(at * cells->side);

	return cell < cells->side ? cell : cells->side - 1;
}

static void fill(struct cells *cells, uint32_t nodes, const struct iso_graph_point *points)
{
	assert((uint64_t)cells->side * cells->side <= nodes);
	for (uint32_t c = 0; c < cells->side * cells->side; c++)
		cells->first[c] = NO_NODE;
	for (uint32_t i = nodes; i-- > 0;) {
		uint32_t *first = &cells->first[cell_of(cells, points[i].y) * cells->side +
						cell_of(cells, points[i].x)];

		cells->next[i] = *first;
		*first = i;
	}
}

static enum iso_status join_cell(struct iso_graph *graph, uint32_t i, uint32_t first,
				 const struct cells *cells, double radius,
				 const struct iso_graph_point *points)
{
	enum iso_status status = ISO_OK;

	for (uint32_t j = first; j != NO_NODE && status == ISO_OK; j = cells->next[j]) {
		double dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;

		if (j > i && dx * dx + dy * dy <= radius * radius)
			status = iso_graph_append(graph, i, j);
	}
	return status;
}

/* A cell is at least as wide as the radius: neighbours are in the cells around. */
static enum iso_status join_near(struct iso_graph *graph, uint32_t i, const struct cells *cells,
				 double radius, const struct iso_graph_point *points)
{
	uint32_t x = cell_of(cells, points[i].x), y = cell_of(cells, points[i].y);
	enum iso_status status = ISO_OK;

	for (uint32_t row = y > 0 ? y - 1 : 0; row <= y + 1 && row < cells->side; row++)
		for (uint32_t column = x > 0 ? x - 1 : 0;
		     column <= x + 1 && column < cells->side && status == ISO_OK; column++)
			status = join_cell(graph, i, cells->first[row * cells->side + column],
					   cells, radius, points);
	return status;
}

enum iso_status iso_graph_geometric(struct iso_graph *graph, double radius, struct iso_rng *rng,
				    uint32_t *scratch, struct iso_graph_point *ret_points)
{
	uint32_t count = graph->edge_count, nodes = graph->nodes;
	struct cells cells = { .side = 1, .first = scratch, .next = scratch + nodes };
	enum iso_status status = ISO_OK;

	if (!(radius >= 0))
		return ISO_E_RANGE;
	for (uint32_t i = 0; i < nodes; i++) {
		ret_points[i].x = iso_rng_unit(rng);
		ret_points[i].y = iso_rng_unit(rng);
	}
	/* A little wider than the radius, so that no rounding puts a neighbour too far. */
	while ((uint64_t)(cells.side + 1) * (cells.side + 1) <= nodes &&
	       (cells.side + 1) * radius < 1 - 1e-9)
		cells.side++;
	fill(&cells, nodes, ret_points);
	for (uint32_t i = 0; i < nodes && status == ISO_OK; i++)
		status = join_near(graph, i, &cells, radius, ret_points);
	return iso_graph_finish(graph, count, status);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * The tables that were published with the protocol, as scenarios: 20 nodes,
 * a random graph, quadratic costs, delay 30 ms, loss 10 %, duplicates 5 %, 2 %
 * a second late, clock rates ±1 %, fsync 5 ms.  Published cells: runs within
 * 1 % | median of the mean gap, worst gap, worst distance | time to 1 %: median,
 * worst | transfers in the last fifth: median, most.
 *
 * Gaps of 1e-5 where 1e-9 was published are the rounding of quotas: what is
 * enforced is a multiple of 10 µCPU, never more than the share.  References are
 * never too old here, whatever T_base: a node keeps what its neighbour names.
 * "any reference" therefore recovers, as was not so in the published form.
 *
 * Not here: the price coded with a rotating phase and the exact own price
 * against a quantised one (the code has neither), and dead band 0 with the window
 * of transfers opened for a curvature that is wrong (published without a table).
 */
#include "tests/sim/scenario.h"

#include <math.h>
#include <stddef.h>

#define FAIR                                                                                       \
	.nodes = 20, .topology = WORLD_RANDOM, .mode = ISO_SHARE_DIFFERENCE,                       \
	.cost = ISO_COST_QUADRATIC, .loss = 0.1, .duplicate = 0.05, .delay_s = 0.03, .tail = 0.02
#define CHAOS                                                                                      \
	FAIR, .dead_band = 0.005, .crash = 0.01, .partition = 0.05, .change = 0.02, .stuck = 0.05, \
	.lease_s = 5, .office = 0.5
#define ALWAYS	 .within_least = 100, .within_most = 100
#define ANY	 .within_least = 0, .within_most = 100
#define AT_FIRST .seed = 1
#define SMALL(s) .small_seeds = 1, .small_s = (s)

/* Here the setups differ from FAIR in a field or two, on purpose after it. */
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct scenario coding[] = {
	{ .name = "none (exact prices)", .setup = { FAIR, .mode = ISO_SHARE_NONE }, .until_s = 300,
	  AT_FIRST, .seeds = 40, ALWAYS, SMALL(30),
	  .published = " 40/40  1.7e-10 4.1e-06 4.7e-06 |   3.5   5.5 |     0     0" },
	{ .name = "difference", .setup = { FAIR }, .until_s = 300, AT_FIRST, .seeds = 40, ALWAYS,
	  .small_seeds = 3, .small_s = 30,
	  .published = " 40/40  2.3e-10 4.1e-06 4.7e-06 |   4.0   6.5 |     0     0" },
	{ .name = "log, as published", .setup = { FAIR, .mode = ISO_SHARE_LOG }, .until_s = 300,
	  AT_FIRST, .seeds = 40, .within_least = 25, .within_most = 75, .worst_least = 0.02,
	  .small_seeds = 4, .small_s = 30, .small_worst_least = 0.01,
	  .published = " 19/40  1.1e-02 6.4e-02 2.1e-02 | never never |     0  4366" },
	{ .name = "uniform, 1/64", .setup = { FAIR, .mode = ISO_SHARE_UNIFORM }, .until_s = 300,
	  AT_FIRST, .seeds = 40, ANY },
	{ .name = "difference, seeds 41-240", .setup = { FAIR }, .until_s = 300, .seed = 41,
	  .seeds = 200, ALWAYS,
	  .published = "200/200 2.5e-10 3.5e-06 6.8e-06 |   4.0   9.5 |     0     0" },
	{ 0 },
};

static const struct scenario topology[] = {
	{ .name = "ring", .setup = { FAIR, .topology = WORLD_RING }, .until_s = 600, AT_FIRST,
	  .seeds = 20, ALWAYS, SMALL(60),
	  .published = " 20/20  4.3e-09 3.1e-06 2.1e-05 |  13.0  22.5 |     0     0" },
	{ .name = "line", .setup = { FAIR, .topology = WORLD_LINE }, .until_s = 1200, AT_FIRST,
	  .seeds = 20, ALWAYS,
	  .published = " 20/20  2.0e-08 5.7e-06 3.2e-05 |  23.0  63.0 |     0     0" },
	{ .name = "star", .setup = { FAIR, .topology = WORLD_STAR }, .until_s = 600, AT_FIRST,
	  .seeds = 20, ALWAYS, SMALL(70),
	  .published = " 20/20  4.5e-06 1.5e-05 5.3e-06 |  23.5  31.0 |     0     0" },
	{ .name = "complete", .setup = { FAIR, .topology = WORLD_COMPLETE }, .until_s = 300,
	  AT_FIRST, .seeds = 20, ALWAYS, SMALL(10),
	  .published = " 20/20  6.9e-11 1.4e-10 2.1e-06 |   2.0   3.0 |     0     0" },
	{ .name = "60 nodes, random", .setup = { FAIR, .nodes = 60 }, .until_s = 300, AT_FIRST,
	  .seeds = 10, ALWAYS, SMALL(12),
	  .published = " 10/10  4.5e-10 1.2e-06 4.7e-06 |   5.0   7.0 |     0     0" },
	{ 0 },
};

#define DELAY(s, cells, open_cells)                                                                \
	{ .name = "delay " #s " s", .setup = { FAIR, .delay_s = (s) }, .until_s = 900, AT_FIRST,   \
	  .seeds = 10, ALWAYS, .published = (cells) },                                             \
	{                                                                                          \
		.name = "delay " #s " s, no stop-and-wait",                                        \
		.setup = { FAIR, .delay_s = (s), .no_wait = true }, .until_s = 900, AT_FIRST,      \
		.seeds = 10, ALWAYS, .published = (open_cells)                                     \
	}

static const struct scenario network[] = {
	DELAY(0.03, " 10/10  2.4e-10 4.1e-06 4.0e-06 |   4.0   6.0 |     0     0",
	      " 10/10  3.3e-10 4.1e-06 4.9e-06 |   3.5   5.0 |     0     0"),
	DELAY(0.3, " 10/10  3.0e-10 2.1e-06 4.3e-06 |   8.5  13.0 |     0     0",
	      " 10/10  2.0e-10 5.2e-06 4.7e-06 |   6.0   8.0 |     0     0"),
	DELAY(1.0, " 10/10  3.3e-10 2.1e-06 4.3e-06 |  14.5  22.5 |     0     0",
	      " 10/10  2.0e-10 4.1e-06 4.2e-06 |  10.0  12.5 |     0     0"),
	DELAY(3.0, " 10/10  1.6e-10 1.7e-06 4.7e-06 |  25.5  38.0 |     0     0",
	      " 10/10  2.7e-10 5.2e-06 4.5e-06 |  15.5  22.5 |     0     0"),
	{ .name = "loss 50 %", .setup = { FAIR, .loss = 0.5 }, .until_s = 900, AT_FIRST,
	  .seeds = 10, ALWAYS, SMALL(40),
	  .published = " 10/10  2.3e-10 1.3e-09 4.5e-06 |   8.0  12.5 |     0     0" },
	{ .name = "loss, duplicates 30 %, late 20 %",
	  .setup = { FAIR, .loss = 0.3, .duplicate = 0.3, .tail = 0.2 }, .until_s = 600, AT_FIRST,
	  .seeds = 10, ALWAYS, SMALL(40),
	  .published = " 10/10  3.3e-10 1.7e-06 6.0e-06 |   6.0   8.5 |     0     0" },
	{ 0 },
};

static const struct scenario relay[] = {
	{ .name = "random, no mu", .setup = { FAIR }, .ablated = SIM_NO_RELAY, .until_s = 300,
	  AT_FIRST, .seeds = 40, .within_least = 0, .within_most = 20, .worst_least = 0.05,
	  .small_seeds = 3, .small_s = 25, .small_worst_least = 0.02,
	  .published = "  1/40  5.4e-02 1.2e-01 6.1e-02 | never never |     0   221" },
	{ .name = "ring, no mu", .setup = { FAIR, .topology = WORLD_RING }, .ablated = SIM_NO_RELAY,
	  .until_s = 600, AT_FIRST, .seeds = 20, .within_least = 0, .within_most = 10,
	  .worst_least = 0.1, SMALL(60), .small_worst_least = 0.03,
	  .published = "  0/20  1.2e-01 2.5e-01 1.0e-01 | never never |     0     0" },
	{ 0 },
};

static const struct scenario ablations[] = {
	{ .name = "not certain, T_base 2 s, loss 50 %",
	  .setup = { FAIR, .loss = 0.5, .base_age_s = 2 }, .ablated = SIM_UNCERTAIN, .until_s = 900,
	  AT_FIRST, .seeds = 10, ALWAYS,
	  .published = " 10/10  6.8e-05 3.5e-03 1.2e-04 |   7.0  11.5 |  3111  4822" },
	{ .name = "not certain, loss 50 %", .setup = { FAIR, .loss = 0.5 },
	  .ablated = SIM_UNCERTAIN, .until_s = 900, AT_FIRST, .seeds = 10, ALWAYS,
	  .published = " 10/10  2.3e-10 1.7e-06 3.2e-06 |   7.0  11.0 |     0     0" },
	{ .name = "no remainder", .setup = { FAIR }, .ablated = SIM_NO_REMAINDER, .until_s = 300,
	  AT_FIRST, .seeds = 10, ALWAYS,
	  .published = " 10/10  1.4e-05 3.2e-05 6.5e-05 |   4.5   5.5 |     0     0" },
	{ .name = "a transfer may overshoot", .setup = { FAIR }, .ablated = SIM_NO_CAP,
	  .until_s = 300, AT_FIRST, .seeds = 10, ALWAYS,
	  .published = " 10/10  1.9e-06 3.6e-05 4.1e-06 |   4.0   6.0 |   159   215" },
	{ .name = "ring, cut 20 s, any reference",
	  .setup = { FAIR, .topology = WORLD_RING, .cut_s = 20, .base_age_s = INFINITY },
	  .until_s = 600, AT_FIRST, .seeds = 20, ALWAYS,
	  .published = "  0/20  4.8e-02 9.0e-02 1.1e-01 |  13.0  22.5 |     0     0" },
	{ .name = "random, cut 20 s, any reference",
	  .setup = { FAIR, .cut_s = 20, .base_age_s = INFINITY }, .until_s = 600, AT_FIRST,
	  .seeds = 20, ALWAYS,
	  .published = "  0/20  5.9e-02 1.0e-01 1.4e-01 |   4.0   6.0 |     0     0" },
	{ .name = "ring, cut 20 s", .setup = { FAIR, .topology = WORLD_RING, .cut_s = 20 },
	  .until_s = 600, AT_FIRST, .seeds = 20, ALWAYS,
	  .published = " 20/20  1.2e-09 1.1e-06 1.7e-05 |  13.0  22.5 |     0     0" },
	{ .name = "random, cut 20 s", .setup = { FAIR, .cut_s = 20 }, .until_s = 600, AT_FIRST,
	  .seeds = 20, ALWAYS, SMALL(110),
	  .published = " 20/20  6.2e-11 1.7e-06 4.3e-06 |   4.0   6.0 |     0     0" },
	{ .name = "ring, a node dies, any price",
	  .setup = { FAIR, .topology = WORLD_RING, .dies_s = 20, .fresh_age_s = INFINITY },
	  .until_s = 400, AT_FIRST, .seeds = 20, ALWAYS, .worst_least = 1e-4,
	  .published = " 20/20  2.2e-04 3.2e-03 8.4e-04 |  13.0  22.5 |     0     0" },
	{ .name = "ring, a node dies",
	  .setup = { FAIR, .topology = WORLD_RING, .dies_s = 20 }, .until_s = 400, AT_FIRST,
	  .seeds = 20, ALWAYS, SMALL(80),
	  .published = " 20/20  1.8e-08 7.3e-06 3.1e-05 |  13.0  22.5 |     0     0" },
	{ 0 },
};

#define CURVE(kind, text, factor, least, cells)                                                    \
	{                                                                                          \
		.name = text ", curvature x " #factor, .setup = { FAIR, .cost = (kind) },          \
		.ablated = SIM_CURVATURE, .curvature = (factor), .until_s = 600, AT_FIRST,         \
		.seeds = 10, .within_least = (least), .within_most = 100, .published = (cells)     \
	}

static const struct scenario curvature[] = {
	CURVE(ISO_COST_QUADRATIC, "quadratic", 0.25, 0,
	      "  7/10  4.0e-05 9.6e-01 4.8e-02 |  11.5 never |  7299 22398"),
	CURVE(ISO_COST_QUADRATIC, "quadratic", 0.5, 100,
	      " 10/10  1.8e-06 1.8e-05 3.8e-06 |   3.0   3.5 |   422   677"),
	CURVE(ISO_COST_QUADRATIC, "quadratic", 2, 100,
	      " 10/10  6.2e-09 5.9e-06 1.5e-05 |   7.0  11.0 |     0     0"),
	CURVE(ISO_COST_QUADRATIC, "quadratic", 4, 100,
	      " 10/10  7.5e-06 1.5e-05 3.8e-05 |  13.0  22.0 |     0     0"),
	CURVE(ISO_COST_LATENCY, "latency", 0.25, 0,
	      "  8/10  1.0e-05 7.7e-02 1.9e-02 |   6.0  34.5 |  6554 22574"),
	CURVE(ISO_COST_LATENCY, "latency", 0.5, 100,
	      " 10/10  6.2e-07 5.4e-06 3.6e-06 |   2.0   2.5 |   505   708"),
	CURVE(ISO_COST_LATENCY, "latency", 1, 100,
	      " 10/10  1.3e-10 1.5e-06 8.1e-06 |   2.5   2.5 |     0     0"),
	CURVE(ISO_COST_LATENCY, "latency", 2, 100,
	      " 10/10  2.1e-09 9.9e-07 1.9e-05 |   4.0   4.5 |     0     0"),
	CURVE(ISO_COST_LATENCY, "latency", 4, 100,
	      " 10/10  2.0e-06 4.1e-06 4.7e-05 |   7.0   8.5 |     0     0"),
	{ .name = "less demand than budget", .setup = { FAIR, .demand = 0.7 }, .until_s = 300,
	  AT_FIRST, .seeds = 20, ALWAYS, SMALL(30),
	  .published = " 20/20  2.4e-09 3.8e-09 5.0e-06 |   4.0   7.0 |     0     0" },
	{ .name = "quadratic, curvature x 2", .setup = { FAIR }, .ablated = SIM_CURVATURE,
	  .curvature = 2, .until_s = 40, AT_FIRST, .seeds = 1, ALWAYS, SMALL(40) },
	{ .name = "latency", .setup = { FAIR, .cost = ISO_COST_LATENCY }, .until_s = 30, AT_FIRST,
	  .seeds = 1, ALWAYS, SMALL(30) },
	{ 0 },
};

#define RHO(value, cells, least, most, log_cells)                                                  \
	{ .name = "difference, rho " #value, .setup = { FAIR, .rho = (value) }, .until_s = 300,    \
	  AT_FIRST, .seeds = 20, ALWAYS, .published = (cells) },                                   \
	{                                                                                          \
		.name = "log, rho " #value,                                                        \
		.setup = { FAIR, .mode = ISO_SHARE_LOG, .rho = (value) }, .until_s = 300,          \
		AT_FIRST, .seeds = 20, .within_least = (least), .within_most = (most),             \
		.published = (log_cells)                                                           \
	}

static const struct scenario resolution[] = {
	RHO(0.03125, " 20/20  1.7e-10 2.5e-06 4.4e-06 |   3.5   5.5 |     0     0", 100, 100,
	    " 20/20  2.0e-03 3.7e-03 2.4e-03 |   3.5   5.5 |     0  4273"),
	RHO(0.125, " 20/20  1.8e-10 1.3e-09 4.2e-06 |   3.5   5.5 |     0     0", 60, 100,
	    " 17/20  6.0e-03 1.8e-02 1.1e-02 |   4.5 never |     0  2890"),
	RHO(0.5, " 20/20  4.5e-10 2.3e-06 6.9e-06 |   4.5   6.5 |     0     0", 0, 40,
	    "  2/20  2.1e-02 1.7e-01 4.4e-02 | never never |     0  4581"),
	RHO(1.0, " 20/20  5.9e-07 5.4e-06 9.9e-06 |   6.0   9.0 |     0     0", 0, 20,
	    "  0/20  5.7e-02 1.5e-01 8.9e-02 | never never |     0  2247"),
	{ 0 },
};

#define NOISE(value, band, least, cells)                                                           \
	{                                                                                          \
		.name = "noise " #value ", dead band " #band,                                      \
		.setup = { FAIR, .noise = (value), .dead_band = (band) }, .until_s = 300,          \
		AT_FIRST, .seeds = 20, .within_least = (least), .within_most = 100,                \
		.published = (cells)                                                               \
	}

static const struct scenario noise[] = {
	NOISE(0.01, 0, 100, " 20/20  9.4e-04 3.6e-03 1.7e-03 |   4.0   6.0 |  7004  7599"),
	NOISE(0.01, 0.05, 100, " 20/20  2.0e-03 5.2e-03 6.6e-03 |   5.0   8.0 |    40    70"),
	NOISE(0.02, 0, 100, " 20/20  2.0e-03 8.3e-03 3.1e-03 |   4.5   6.0 |  7191  7631"),
	NOISE(0.02, 0.05, 100, " 20/20  1.1e-03 2.6e-03 1.6e-03 |   5.0   7.5 |   203   286"),
	NOISE(0.05, 0, 0, " 13/20  5.3e-03 1.8e-02 8.0e-03 |   4.5   7.5 |  7340  7770"),
	NOISE(0.05, 0.05, 90, " 20/20  2.8e-03 9.6e-03 5.9e-03 |   5.5   7.5 |  1828  2577"),
	{ .name = "noise 0.02, dead band 0.05",
	  .setup = { FAIR, .noise = 0.02, .dead_band = 0.05 }, .until_s = 40, AT_FIRST, .seeds = 1,
	  ALWAYS, SMALL(40) },
	{ 0 },
};

#define BAND(value, cells)                                                                         \
	{                                                                                          \
		.name = "dead band " #value, .setup = { FAIR, .dead_band = (value) },              \
		.until_s = 300, AT_FIRST, .seeds = 20, ALWAYS, .published = (cells)                \
	}
#define BAND_CURVE(factor, least, cells)                                                           \
	{                                                                                          \
		.name = "dead band 0.005, curvature x " #factor,                                   \
		.setup = { FAIR, .dead_band = 0.005 }, .ablated = SIM_CURVATURE,                   \
		.curvature = (factor), .until_s = 300, AT_FIRST, .seeds = 20,                      \
		.within_least = (least), .within_most = 100, .published = (cells)                  \
	}

static const struct scenario dead_band[] = {
	BAND(0.002, " 20/20  9.4e-05 2.3e-04         |             |     0     0"),
	BAND(0.005, " 20/20  2.6e-04 4.8e-04         |             |     0     0"),
	BAND(0.02, " 20/20  1.0e-03 2.7e-03         |             |     0     0"),
	BAND_CURVE(0.5, 100, " 20/20  4.1e-04 7.6e-04         |             |     0     0"),
	/* The published 20 seeds were lucky: of the next 100, 10 fail there, and 8 here. */
	BAND_CURVE(0.25, 80, " 20/20  6.8e-04 9.6e-04         |             |     0     0"),
	{ .name = "dead band 0.02, noise 0.02",
	  .setup = { FAIR, .dead_band = 0.02, .noise = 0.02 }, .until_s = 300, AT_FIRST,
	  .seeds = 20, ALWAYS,
	  .published = " 20/20  9.7e-04 3.7e-03         |             |  1769  2373" },
	{ 0 },
};

static const struct scenario chaos[] = {
	{ .name = "random", .setup = { CHAOS }, .events = 1000000, AT_FIRST, .seeds = 200,
	  .small_seeds = 1, .published = "200 runs, 2.00e+08 events, 0 violations" },
	{ .name = "ring", .setup = { CHAOS, .topology = WORLD_RING }, .events = 1000000, AT_FIRST,
	  .seeds = 50, .small_seeds = 1, .published = "50 runs, 5.00e+07 events, 0 violations" },
	{ .name = "complete", .setup = { CHAOS, .topology = WORLD_COMPLETE }, .events = 1000000,
	  AT_FIRST, .seeds = 20, .published = "20 runs, 2.00e+07 events, 0 violations" },
	{ .name = "loss 40 %, delay 0.5 s", .setup = { CHAOS, .loss = 0.4, .delay_s = 0.5 },
	  .events = 1000000, AT_FIRST, .seeds = 50, .small_seeds = 1,
	  .published = "50 runs, 5.00e+07 events, 0 violations" },
	{ .name = "one long run", .setup = { CHAOS }, .events = 50000000, .seed = 777, .seeds = 1,
	  .published = "1 run, 5.00e+07 events, 0 violations" },
	{ 0 },
};

static const struct scenario settling[] = {
	{ .name = "random", .setup = { CHAOS, .dead_band = 0 }, .calm_s = 600, .until_s = 1000,
	  AT_FIRST, .seeds = 100, ALWAYS,
	  .published = "100/100 3.1e-10 3.9e-06        | 0" },
	{ .name = "ring", .setup = { CHAOS, .dead_band = 0, .topology = WORLD_RING },
	  .calm_s = 600, .until_s = 1400, AT_FIRST, .seeds = 40, ALWAYS,
	  .published = " 40/40  4.6e-09 2.2e-06        | 0" },
	{ .name = "complete", .setup = { CHAOS, .dead_band = 0, .topology = WORLD_COMPLETE },
	  .calm_s = 600, .until_s = 900, AT_FIRST, .seeds = 20, ALWAYS,
	  .published = " 20/20  8.1e-11 1.4e-06        | 0" },
	{ 0 },
};

static const struct scenario audits[] = {
	{ .name = "in chaos", .setup = { CHAOS, .office = 0, .audit = true }, .until_s = 1500,
	  .seed = 3,
	  .seeds = 1, ANY,
	  .published = "500 audits, 479 of skewed snapshots, 5190 read again, 0 violations" },
	{ .name = "in peace", .setup = { FAIR, .audit = true }, .until_s = 300, .seed = 3,
	  .seeds = 1, ALWAYS,
	  .published = "100 audits, 7 of skewed snapshots, 88 read again, 0 violations" },
	{ 0 },
};

const struct scenario_section scenario_sections[] = {
	{ "price coding", coding },
	{ "topology", topology },
	{ "delay and loss", network },
	{ "without the neighbourhood's price", relay },
	{ "rules left out", ablations },
	{ "wrong curvature, other costs", curvature },
	{ "resolution of the prices", resolution },
	{ "noise in the measured marginal cost", noise },
	{ "chaos: invariants after every event", chaos },
	{ "600 s of chaos, then faults stop; the gap at the end", settling },
	{ "audits of snapshots that were not taken at one time", audits },
	{ "dead band", dead_band },
	{ NULL, NULL },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/sim/track.h"

#include <stdlib.h>

#include "agent/base/gnuplot.h"
#include "agent/base/output.h"
#include "agent/sim/sim.h"

static int run_all(const struct track_options *opts, struct track_run *runs, size_t *ret_count,
		   struct error *reterr)
{
	struct track_world world;
	int r = track_world_open(opts, &world, reterr);

	*ret_count = 0;
	if (r < 0)
		return r;
	track_print_head(stdout, &world);
	for (int method = 0; method < (int)TRACK_METHODS && r == 0; method++) {
		if (!opts->methods[method])
			continue;
		r = track_run(&world, method, &runs[*ret_count], reterr);
		if (r < 0) {
			(void)error_wrap(reterr, "%s", track_method_name(method));
			continue;
		}
		track_print_run(stdout, &world, &runs[*ret_count], *ret_count == 0);
		++*ret_count;
		r = output_flush(reterr);
	}
	track_print_end(stdout, opts);
	track_world_close(&world);
	return r;
}

static int compare(const struct track_options *opts, struct error *reterr)
{
	struct track_run runs[TRACK_METHODS];
	size_t count;
	int r = opts->plot != NULL ? gnuplot_try(opts->plot, reterr) : 0;

	if (r < 0)
		return r;
	r = run_all(opts, runs, &count, reterr);
	if (r == 0 && opts->plot != NULL)
		r = track_plot(opts, runs, count, reterr);
	for (size_t i = 0; i < count; i++)
		free(runs[i].points);
	return r;
}

int sim_track(int argc, char **argv)
{
	struct track_options opts;
	struct error error = { 0 };
	int r;

	if (!track_options_read(argc, argv, &opts))
		return SIM_USAGE;
	r = opts.scale ? track_scale(&opts, stdout, &error) : compare(&opts, &error);
	if (r == 0)
		return SIM_DONE;
	fprintf(stderr, "isobar-sim: %s\n", error.text);
	return SIM_FAILED;
}

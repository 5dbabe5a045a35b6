/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SIM_H
#define ISO_SIM_H

/* What the commands of isobar-sim share. */

#define SIM_DONE   0
#define SIM_FAILED 1
#define SIM_USAGE  2

/* argv[0] is the command's name. */
typedef int sim_fn(int argc, char **argv);

/* shares.c: how the share consensus scales. */
sim_fn sim_shares;
void sim_shares_usage(void);

/* graph.c: what a graph is like. */
sim_fn sim_graph;
void sim_graph_usage(void);

/* track.c: models and shares agreed without a coordinator. */
sim_fn sim_track;
void sim_track_usage(void);

/* train.c: methods and allocations compared, by scenarios; and which there are. */
sim_fn sim_train, sim_list;
void sim_train_usage(void);
void sim_list_usage(void);

#endif

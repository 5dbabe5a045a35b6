/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_RAS_H
#define ISO_ATA_RAS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Recursive Allocation Selection: the allocation a with sum a_i = B that
 * minimises max_i a_i s_i, and among those the one with the fewest
 * maximisers ("ATA: Adaptive Task Allocation ...", ICML 2025, Algorithm 8 and
 * Lemmas C.2 and C.3).
 *
 * Algorithm 8 is the same as giving one task after the other to the worker
 * with the smallest (a_i + 1) s_i, and that is the same as taking the B
 * smallest members of all the progressions s_i, 2 s_i, 3 s_i, ...  So we
 * search for the level below which about B of them lie, and only the rest
 * goes through a heap: O(n + B log B), and close to a few passes over the
 * scores in practice.
 */

/* Bytes of workspace for n workers; aligned like a double. */
size_t iso_ras_workspace_bytes(uint32_t n);

/*
 * scores[n] > 0 and below 2^960, n >= 1.  Fills ret_tasks[n], which
 * sums to batch.  Equal values of (a_i + 1) s_i go to the lower index, so the
 * same scores always give the same allocation.  The workspace is borrowed for
 * the call and may hold anything.
 */
void iso_ras(const double *scores, uint32_t n, uint32_t batch, void *workspace,
	     uint32_t *ret_tasks);

/*
 * Same, and the same result, but faster if the loss will be close to `level`, a finite
 * number that may as well be wrong; 0: no idea.
 */
void iso_ras_near(const double *scores, uint32_t n, uint32_t batch, double level, void *workspace,
		  uint32_t *ret_tasks);

/* max_i tasks_i scores_i: the proxy loss l(a, s) of the paper, section 4. */
double iso_ras_loss(const double *scores, const uint32_t *tasks, uint32_t n);

#endif

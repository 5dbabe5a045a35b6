/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_SCORE_H
#define ISO_ATA_SCORE_H

#include <stdint.h>

/*
 * What is known about one worker's task times, and the lower confidence
 * bounds on their mean that ATA allocates by (ATA, ICML 2025, section 4 and
 * Lemma 6.2).  Times are seconds, but any one unit will do.
 */

/* The constant in front of the confidence width: as printed in the final paper ... */
#define ISO_ATA_WIDTH_FINAL 2.0
/* ... and 4e, with which its Tables 1 and 2 were made (first version, authors' code). */
#define ISO_ATA_WIDTH_FIRST 10.873127313836181

struct iso_ata_samples {
	uint64_t count; /* K_i: task times seen so far */
	double sum_s;   /* T_i: their sum */
};

struct iso_ata_width {
	double constant; /* ISO_ATA_WIDTH_*, or any positive number */
	double alpha_s;  /* ATA: bound on the Orlicz psi_1 norm of X_i - mu_i, Assumption 3.1 */
	double eta;      /* ATA-Empirical: max_i ||X_i||_psi1 / mu_i: 1, in its code 2 */
};

/* Adds `count` task times that sum to sum_s. */
void iso_ata_samples_add(struct iso_ata_samples *samples, uint64_t count, double sum_s);

/* mu^_i = T_i / K_i; 0 while K_i = 0. */
double iso_ata_mean_s(const struct iso_ata_samples *samples);

/* ln(2 k^2) of round k, 1-based: what the widths of all workers of a round share. */
double iso_ata_log_term(uint64_t round);

/* ATA: max(0, mu^ - C alpha (sqrt(l/K) + l/K)) with l the log term; 0 while K = 0. */
double iso_ata_score(const struct iso_ata_samples *samples, const struct iso_ata_width *width,
		     double log_term);

/* ATA-Empirical: mu^ max(0, 1 - C eta (sqrt(l/K) + l/K)); 0 while K = 0. */
double iso_ata_score_empirical(const struct iso_ata_samples *samples,
			       const struct iso_ata_width *width, double log_term);

/*
 * CPUs at which a worker really runs: min(threads, share in CPUs).  A task
 * that needs c seconds on a CPU takes c / rate seconds of wall time from it.
 */
double iso_rate_cpus(uint32_t threads, uint64_t share_ucpu);

#endif

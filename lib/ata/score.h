/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_SCORE_H
#define ISO_ATA_SCORE_H

#include <stdbool.h>
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
	double count;	   /* K_i: task times seen so far; a fraction where old ones fade */
	double sum_s;	   /* T_i: their sum */
	double squares_s2; /* sum of (X - mu^_i)^2 over them */
};

struct iso_ata_width {
	double constant; /* ISO_ATA_WIDTH_*, or any positive number */
	double alpha_s;  /* ATA: bound on the Orlicz psi_1 norm of X_i - mu_i, Assumption 3.1 */
	double eta;      /* ATA-Empirical: max_i ||X_i||_psi1 / mu_i: 1, in its code 2 */
};

/* What may be a task time; so far apart that any unit will do, near enough to compute with. */
#define ISO_ATA_TIME_MIN 1e-15
#define ISO_ATA_TIME_MAX 1e15

/* NaN is none. */
bool iso_ata_time_valid(double time_s);

/* Samples from outside: none at all, or such as task times can add up to. */
bool iso_ata_samples_valid(const struct iso_ata_samples *samples);

/* One more task time. */
void iso_ata_samples_add(struct iso_ata_samples *samples, double time_s);

/* Old samples count for less: all weights times factor, in [0, 1]. */
void iso_ata_samples_fade(struct iso_ata_samples *samples, double factor);

/* mu^_i = T_i / K_i; 0 while K_i = 0. */
double iso_ata_mean_s(const struct iso_ata_samples *samples);

/* Variance over squared mean, from K - 1 degrees of freedom; 0 while K < 2. */
double iso_ata_relative_variance(const struct iso_ata_samples *samples);

/* ln(2 k^2) of round k, 1-based: what the widths of all workers of a round share. */
double iso_ata_log_term(uint64_t round);

/* ATA: max(0, mu^ - C alpha (sqrt(l/K) + l/K)) with l the log term; 0 while K = 0. */
double iso_ata_score(const struct iso_ata_samples *samples, const struct iso_ata_width *width,
		     double log_term);

/* ATA-Empirical: mu^ max(0, 1 - C eta (sqrt(l/K) + l/K)); 0 while K = 0. */
double iso_ata_score_empirical(const struct iso_ata_samples *samples,
			       const struct iso_ata_width *width, double log_term);

/*
 * Ours, in no paper ("ata-pooled"): mu^ / (1 + r (sqrt(2 l/K) + l/K)) with r^2
 * the relative variance that is taken for the worker; 0 while K = 0.
 *
 * If X/mu has variance r^2 and tails like an exponential of that spread, then by
 * Bernstein's inequality mu^ <= mu (1 + r (sqrt(2 l/K) + l/K)) but for a
 * probability e^-l = 1/(2k^2).  That is a statement about mu^/mu, so the bound on
 * mu is a quotient; the papers' difference mu^ (1 - w) is below it, and 0 for
 * w >= 1.
 */
double iso_ata_score_pooled(const struct iso_ata_samples *samples, double relative_variance,
			    double log_term);

/*
 * mu^ / (1 + w) with w the relative width of the two above: the same bound, but
 * never 0.  For a worker whose times have just changed.
 */
double iso_ata_score_reopened(const struct iso_ata_samples *samples, double relative_constant,
			      double log_term);

/*
 * CPUs at which a worker really runs: min(threads, share in CPUs).  A task
 * that needs c seconds on a CPU takes c / rate seconds of wall time from it.
 */
double iso_rate_cpus(uint32_t threads, uint64_t share_ucpu);

#endif

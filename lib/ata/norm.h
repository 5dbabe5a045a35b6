/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_ATA_NORM_H
#define ISO_ATA_NORM_H

#include <stdint.h>

/*
 * Calibration: the constants of ATA from measured task times.
 *
 * The Orlicz norm ||X - centre||_psi1 = inf { c > 0 : E exp(|X - centre|/c) <= 2 }
 * (ATA, Assumption 3.1) of `count` >= 1 measured times, each of the same weight.
 * 0 if all are at the centre.
 *
 * alpha is the largest norm of X_i - mu_i.  eta as the paper defines it,
 * ||X_i||_psi1 / mu_i, is at least 1/ln 2 even for times that never vary; what its proof
 * needs is ||X_i - mu_i||_psi1 / mu_i, and that is what we calibrate.
 */
double iso_ata_norm(const double *times, uint32_t count, double centre);

#endif

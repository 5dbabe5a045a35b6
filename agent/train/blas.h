/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_BLAS_H
#define ISO_BLAS_H

/*
 * First thing in main() of a program that computes: begins it anew with
 * OPENBLAS_NUM_THREADS=1, unless that is set.  OpenBLAS starts its threads when it is loaded,
 * before anybody can block signals in them: a SIGTERM would end the program there
 * instead of being heard.  Returns where nothing is to be done, or it cannot be.
 */
void blas_without_threads(char **argv);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_TASK_FILE_H
#define ISO_TESTS_TASK_FILE_H

#include <stdbool.h>

/*
 * tests/task/NAME.so of the build, copied to PATH, mode 644, with a fault written
 * into it ("crash", "crash:20"; NULL: none); fails the test if it cannot.
 */
void task_file(const char *name, const char *fault, const char *path);

/* Signals and exit statuses of a child are valgrind's then. */
bool task_file_under_valgrind(void);

#endif

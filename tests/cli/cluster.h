/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_TESTS_CLUSTER_H
#define ISO_TESTS_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One coordinator and its workers as real processes on loopback, in a folder
 * of their own, for tests that drive them from outside.
 */
#define CLUSTER_WORKERS 3
#define CLUSTER_WAIT_MS 60000u

struct cluster {
	char folder[64];
	char endpoint[64];
	char data[160]; /* the workers'; Fashion-MNIST unless a test says otherwise */
	pid_t coordinator;
	unsigned starts; /* of the coordinator */
	pid_t workers[CLUSTER_WORKERS];
};

/* Makes folder, keys and a port; starts nothing. */
void cluster_open(struct cluster *cluster);
/* Ends all processes and removes the folder. */
void cluster_close(struct cluster *cluster);

/* Writes the configuration: what every test needs, and then `more`. */
void cluster_configure(const struct cluster *cluster, const char *more);

/* `option` may be NULL.  What it says goes to FOLDER/coordinator.log. */
void cluster_start_coordinator(struct cluster *cluster, const char *option);
/* Worker 0 .. CLUSTER_WORKERS - 1, or with the key of nobody: 9. */
void cluster_start_worker(struct cluster *cluster, unsigned index);
/* The worker's command line, for an agent's end of the test; static. */
const char *const *cluster_worker_arguments(struct cluster *cluster, unsigned index,
					    char ret_path[256]);
void cluster_start_workers(struct cluster *cluster);

/* A whole run with all workers, which must end by itself and well; its report, the caller's. */
json_t *cluster_train(struct cluster *cluster, const char *more);

void cluster_kill(pid_t *pid, int signal);
/* Waits for the end of the process; its exit status, or -signal. */
int cluster_wait(pid_t *pid);

/* The coordinator's status, or NULL if it does not answer; the caller owns it. */
json_t *cluster_status(const struct cluster *cluster);

/* Numbers of the status; -1 without an answer or a value. */
double cluster_number(const struct cluster *cluster, const char *key);
double cluster_worker_number(const struct cluster *cluster, unsigned index, const char *key);
bool cluster_worker_is(const struct cluster *cluster, unsigned index, const char *state);

/* Waits for round `number`; fails the test after CLUSTER_WAIT_MS. */
void cluster_wait_round(const struct cluster *cluster, double number);
void cluster_wait_worker(const struct cluster *cluster, unsigned index, const char *state);

/* What FOLDER/NAME holds; the caller owns it. */
json_t *cluster_load(const struct cluster *cluster, const char *name);

/* What a program said: FOLDER/NAME; static, valid until the next call. */
const char *cluster_said(const struct cluster *cluster, const char *name);

#endif

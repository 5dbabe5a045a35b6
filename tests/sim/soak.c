/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

/*
 * make soak: chaos for a thousand million events, the invariants after every
 * one.  soak [NAME=NUMBER...]:
 *	from	first seed (1)
 *	events	all together (1e9)
 *	run	events of a seed (1e6)
 *	jobs	processes (one a CPU)
 *	replay	only this seed; if it fails, the last steps before that
 *	steps	how many of them (100)
 *	mutant	number of a rule to break, see tests/sim/world.h
 * Interrupted, it ends the runs under way and says how to go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/world.h"

#define JOBS_MAX 64u

struct settings {
	double from, events, run, jobs, replay, steps, mutant;
};

/* What the processes share. */
struct progress {
	atomic_uint_fast64_t next_seed;
	atomic_uint_fast64_t events, runs;
	atomic_uint_fast64_t kills, powers, partitions, credits, transfers, messages, lost;
	atomic_uint_fast64_t entries, budgets, ended, buried_alive, left, admitted;
	atomic_uint_fast64_t books, expired;
	atomic_uint_fast64_t failed_seed; /* 0: none */
	atomic_uint_fast64_t running[JOBS_MAX]; /* seeds */
	atomic_uint_fast64_t replayed; /* events of a replay */
	atomic_bool stop;
};

static struct progress *progress;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&progress->stop, true);
}

/* Different worlds, so that no one of them is looked at alone. */
static struct world_setup setup_of(uint64_t seed, const struct settings *settings)
{
	struct world_setup setup = {
		.seed = seed,
		.nodes = 20,
		.topology = WORLD_RANDOM,
		.mutant = (enum world_mutant)settings->mutant,
		.mode = ISO_SHARE_DIFFERENCE,
		.cost = ISO_COST_QUADRATIC,
		.dead_band = 0.005,
		.loss = 0.1,
		.duplicate = 0.05,
		.delay_s = 0.03,
		.tail = 0.02,
		.crash = 0.01,
		.partition = 0.05,
		.change = 0.02,
		.stuck = 0.05,
		.full = 0.05,
		.lease_s = 5,
		.office = 0.5,
	};

	switch (seed % 8) {
	case 0: setup.topology = WORLD_RING; break;
	case 1:
		setup.topology = WORLD_COMPLETE;
		setup.nodes = 6; /* a burial needs all neighbours at once */
		break;
	case 2:
		setup.loss = 0.4;
		setup.delay_s = 0.5;
		break;
	case 3: setup.nodes = 4; break;
	case 4: setup.crash = 0.02; break;
	case 5:
		/* Not by the registry, but one thing after the other, the books exact all the time.
		 */
		setup.office = 0;
		setup.admin = 0.5;
		break;
	case 6: setup.stall = 0.001; break;
	case 7: setup.drift = 0.024; break;
	default: break;
	}
	return setup;
}

static void add(const struct world *world)
{
	const struct world_counts *counts = world_counts(world);

	for (size_t k = 0; k < sizeof(counts->kills) / sizeof(counts->kills[0]); k++) {
		progress->kills += counts->kills[k];
		progress->powers += counts->powers[k];
	}
	progress->events += counts->events;
	progress->partitions += counts->partitions;
	progress->credits += counts->credits;
	progress->transfers += counts->transfers;
	progress->messages += counts->messages;
	progress->lost += counts->lost;
	progress->entries += counts->entries;
	progress->budgets += counts->budgets;
	progress->ended += counts->ended;
	progress->buried_alive += counts->buried_alive;
	progress->left += counts->left;
	progress->admitted += counts->admitted;
	progress->books += counts->books;
	progress->expired += counts->guard_lowered;
	progress->runs++;
}

/* True: nothing was violated. */
static bool run(uint64_t seed, const struct settings *settings)
{
	struct world_setup setup = setup_of(seed, settings);
	struct world *world = world_new(&setup);
	bool good;

	world_run(world, 1e9, (uint64_t)settings->run);
	good = world_violation(world) == NULL;
	if (!good)
		printf("VIOLATION %s\n", world_violation(world));
	fflush(stdout);
	add(world);
	world_free(world);
	return good;
}

static void work(const struct settings *settings, unsigned job)
{
	uint64_t runs = (uint64_t)((settings->events + settings->run - 1) / settings->run);

	while (!atomic_load(&progress->stop)) {
		uint64_t seed = atomic_fetch_add(&progress->next_seed, 1);

		if (seed >= (uint64_t)settings->from + runs) {
			atomic_fetch_sub(&progress->next_seed, 1);
			return;
		}
		atomic_store(&progress->running[job], seed);
		if (!run(seed, settings)) {
			atomic_store(&progress->failed_seed, seed);
			atomic_store(&progress->stop, true);
		}
	}
}

/* How far a run comes: to its end, a violation, or an assertion (hence a process of its own). */
static uint64_t measure(const struct world_setup *setup, uint64_t events)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct world *world = world_new(setup);

		for (uint64_t n = 1; n <= events && world_violation(world) == NULL; n++) {
			world_run(world, 1e9, n);
			atomic_store(&progress->replayed, world_counts(world)->events);
		}
		_exit(EXIT_SUCCESS);
	}
	(void)waitpid(pid, NULL, 0);
	return progress->replayed;
}

/* Again, and this time the last steps are shown. */
static int replay(const struct settings *settings)
{
	struct world_setup setup = setup_of((uint64_t)settings->replay, settings);
	uint64_t steps = (uint64_t)settings->steps, most = (uint64_t)settings->run;
	uint64_t at = measure(&setup, most);
	struct world *world = world_new(&setup);
	int status = EXIT_SUCCESS;

	world_run(world, 1e9, at > steps ? at - steps : 0);
	if (at < most || world_violation(world) != NULL)
		world_trace(world, stdout);
	fflush(stdout);
	world_run(world, 1e9, at + 1);
	if (world_violation(world) != NULL) {
		printf("VIOLATION %s\n", world_violation(world));
		status = EXIT_FAILURE;
	} else {
		printf("seed %" PRIu64 ": %" PRIu64 " events, no violation\n", setup.seed, at);
	}
	world_free(world);
	return status;
}

static void report(double seconds)
{
	struct rusage usage;
	double cpu_s;

	getrusage(RUSAGE_CHILDREN, &usage);
	cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
		(double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
	printf("%.3e events in %.0f s, %.2e a second; %" PRIu64 " runs; next seed %" PRIu64 "\n",
	       (double)progress->events, seconds,
	       (double)progress->events / (seconds > 0 ? seconds : 1), (uint64_t)progress->runs,
	       (uint64_t)progress->next_seed);
	/* Known of those that have ended. */
	if (cpu_s > 0)
		printf("%.2e events in a second of CPU\n", (double)progress->events / cpu_s);
	fflush(stdout);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int soak(const struct settings *settings)
{
	struct sigaction action = { .sa_handler = on_signal };
	double began = now_s(), said = began;
	pid_t pids[JOBS_MAX];
	unsigned left = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	atomic_store(&progress->next_seed, (uint64_t)settings->from);
	for (unsigned job = 0; job < (unsigned)settings->jobs; job++) {
		pids[job] = fork();
		if (pids[job] == 0) {
			work(settings, job);
			_exit(EXIT_SUCCESS);
		}
		left += pids[job] > 0;
	}
	while (left > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			/* An assertion of lib/ has failed, say. */
			if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
				printf("VIOLATION a process ended with status %d\n", status);
				for (unsigned job = 0; job < (unsigned)settings->jobs; job++)
					if (pids[job] == pid)
						atomic_store(&progress->failed_seed,
							     progress->running[job]);
				atomic_store(&progress->stop, true);
			}
			continue;
		}
		usleep(100000);
		if (now_s() - said >= 30) {
			said = now_s();
			report(said - began);
		}
	}
	report(now_s() - began);
	printf(
	    "kills %" PRIu64 ", power cuts %" PRIu64 ", partitions %" PRIu64 "; messages %" PRIu64
	    ", lost %" PRIu64 "; transfers %" PRIu64 ", credits %" PRIu64 "\n",
	    (uint64_t)progress->kills, (uint64_t)progress->powers, (uint64_t)progress->partitions,
	    (uint64_t)progress->messages, (uint64_t)progress->lost, (uint64_t)progress->transfers,
	    (uint64_t)progress->credits);
	printf("administrator: %" PRIu64 " entries, %" PRIu64 " budgets, %" PRIu64
	       " ended lives, %" PRIu64 " of them asked to leave, %" PRIu64
	       " buried alive, %" PRIu64 " admissions; leases ended by a guard %" PRIu64
	       "; books proven exact %" PRIu64 " times\n",
	       (uint64_t)progress->entries, (uint64_t)progress->budgets, (uint64_t)progress->ended,
	       (uint64_t)progress->left, (uint64_t)progress->buried_alive,
	       (uint64_t)progress->admitted, (uint64_t)progress->expired,
	       (uint64_t)progress->books);
	if (progress->failed_seed != 0) {
		printf("again, with its last steps: soak replay=%" PRIu64 " run=%.0f mutant=%.0f\n",
		       (uint64_t)progress->failed_seed, settings->run, settings->mutant);
		return EXIT_FAILURE;
	}
	if (progress->stop) {
		printf("stopped; to go on: soak from=%" PRIu64 " events=%.0f\n",
		       (uint64_t)progress->next_seed, settings->events - (double)progress->events);
		return EXIT_SUCCESS;
	}
	if ((double)progress->events >= settings->events)
		return EXIT_SUCCESS;
	printf("too few events: %.0f were asked for\n", settings->events);
	return EXIT_FAILURE;
}

static bool set(struct settings *settings, const char *argument)
{
	const struct {
		const char *name;
		double *value;
	} fields[] = {
		{ "from", &settings->from },	 { "events", &settings->events },
		{ "run", &settings->run },	 { "jobs", &settings->jobs },
		{ "replay", &settings->replay }, { "steps", &settings->steps },
		{ "mutant", &settings->mutant },
	};
	size_t length = strcspn(argument, "=");

	for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
		char *end;

		if (strlen(fields[k].name) != length ||
		    strncmp(fields[k].name, argument, length) != 0 || argument[length] == '\0')
			continue;
		*fields[k].value = strtod(argument + length + 1, &end);
		return *end == '\0' && *fields[k].value >= 0;
	}
	return false;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct settings settings = { .from = 1, .events = 1e9, .run = 1e6, .steps = 100 };

	settings.jobs = cpus > 0 ? (double)cpus : 1;
	for (int k = 1; k < argc; k++)
		if (!set(&settings, argv[k])) {
			fprintf(stderr,
				"soak: '%s' is not NAME=NUMBER of from, events, run, jobs, "
				"replay, steps, mutant\n",
				argv[k]);
			return 2;
		}
	if (settings.jobs < 1 || settings.jobs > JOBS_MAX) {
		fprintf(stderr, "soak: jobs is 1 to %u\n", JOBS_MAX);
		return 2;
	}
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED) {
		fprintf(stderr, "soak: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	return settings.replay > 0 ? replay(&settings) : soak(&settings);
}

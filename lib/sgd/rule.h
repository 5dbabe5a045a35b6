/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISO_SGD_RULE_H
#define ISO_SGD_RULE_H

#include <assert.h>

#include "lib/sgd/method.h"

/*
 * Private to lib/sgd/method*.c and lib/sgd/rule*.c.  method_event.c owns the workers and
 * the orders, and counts what starts, ends and is ignored; a rule (struct iso_rule, one for each
 * method) decides, and counts what it uses or keeps.
 *
 * A new method is a kind in method.h, a line in the table of method.c, a rule in a file of
 * its own, its plain form in tests/sim/method_oracle.c and a time line in tests/unit/rule_*.c.
 */

#define ISO_RULE_NONE UINT32_MAX /* no worker, the end of a list */

struct iso_rule_worker {
	uint64_t point;     /* version it was last given */
	uint32_t depth;     /* 0: absent */
	uint32_t in_flight; /* handed out, on its way */
	uint32_t pending;   /* ordered, not handed out yet */
	uint32_t tasks;     /* allocation: left to start (capped), or a_i + 1 (sgd-ata) */
	uint32_t arrived;   /* sgd-ata: of its tasks */
	uint32_t next;      /* in the queue of orders */
	uint32_t next_idle; /* in the queue of workers that are done (minibatch) */
	bool has_point;     /* false: its next START is at the current point */
	bool queued;
	bool stop;
	bool idle;     /* in that queue */
	bool refused;  /* naive-optimal: not among the fastest */
	bool expected; /* ringleader: its update of this round has not been made */
};

struct iso_rule_queue {
	uint32_t head;
	uint32_t tail;
};

/* One mean a worker, of gradients at one point, and the sum of the means. */
struct iso_rule_entry {
	uint64_t version;
	uint64_t use;   /* `fresh` was counted before this use of the table; 0 after it */
	uint32_t count; /* gradients in the mean; 0: empty */
	uint32_t fresh; /* of them, in no update yet */
};

struct iso_rule_table {
	struct iso_rule_entry *entries; /* by worker */
	float *means;                   /* params each */
	double *sum;
	uint32_t filled;
	uint64_t uses;           /* updates made with it */
	uint64_t fresh;          /* gradients that no update has used yet */
	uint64_t fresh_versions; /* the sum of their versions */
};

/* A computation in flight: ringmaster-stops must find those that have become too old. */
struct iso_rule_flight {
	uint64_t version;
	uint32_t prev, next; /* in the order of their versions */
	bool used;
};

struct iso_method {
	struct iso_method_config config;
	const struct iso_rule *rule;
	struct iso_method_totals totals; /* .updates is the version */
	double *x;
	double *sum; /* of the round's gradients (average rules) */
	struct iso_rule_worker *workers;
	uint32_t present;
	uint32_t depth; /* sum over the present workers */
	uint64_t pending; /* sum over the workers */
	struct iso_rule_queue orders;
	bool between;

	/* Rounds. */
	uint64_t expected; /* minibatch: B; sgd-ata: of the whole round; capped: left to start */
	uint64_t got;
	uint64_t owed; /* minibatch: lost work that waits for somebody */
	struct iso_rule_queue idle;
	uint32_t cursor;
	uint32_t weight_whole; /* sgd-ata: workers that are done */
	double weight_part;    /* ... and the parts of those that left */

	/* Tables. */
	struct iso_rule_table table;
	struct iso_rule_table table_next; /* ringleader: of the next round */
	uint32_t missing;                 /* present workers without an entry */
	uint32_t updates_left;            /* ringleader: workers whose update is to be made */
	bool updating;                    /* ringleader: phase 2; ia2sgd: warmed up */
	uint64_t oldest;                  /* ringleader: version in the table */
	double inverse_sum;               /* malenia: sum of 1/B_i over present workers */
	uint64_t forget_at;               /* ia2sgd: update that drops entries of the absent */

	struct iso_rule_flight *flights; /* worker i: depth_max from i depth_max */
	struct iso_rule_queue by_age;
};

/*
 * All may give orders and change x; none looks at time.  The worker of join is present
 * and idle; that of leave is absent already, and had `gone` computations in flight or
 * ordered, which are counted.
 */
struct iso_rule {
	void (*join)(struct iso_method *method, uint32_t worker);
	void (*leave)(struct iso_method *method, uint32_t worker, uint32_t gone);
	void (*begin)(struct iso_method *method, const uint32_t *tasks);
	enum iso_method_verdict (*arrive)(struct iso_method *method,
					  const struct iso_method_arrival *arrival);
	void (*lost)(struct iso_method *method, uint32_t worker, uint32_t count);
	void (*refill)(struct iso_method *method, uint32_t worker); /* NULL: by allocation */
	bool round_sum;                                             /* needs `sum` */
	bool table;                                                 /* needs `table` */
	bool table_next;                                            /* needs `table_next` */
	bool flights;                                               /* needs `flights` */
	bool same_point; /* all in flight is at the current version */
	bool last_point; /* all of a worker's is at the point it was last given */
};

extern const struct iso_rule iso_rule_minibatch, iso_rule_rennala, iso_rule_sgd_ata,
    iso_rule_malenia, iso_rule_async, iso_rule_async_stops, iso_rule_ringleader, iso_rule_ia2sgd;

static inline struct iso_rule_worker *iso_rule_worker_at(const struct iso_method *method,
							 uint32_t worker)
{
	assert(worker < method->config.workers);
	return &method->workers[worker];
}

static inline bool iso_rule_present(const struct iso_rule_worker *worker)
{
	return worker->depth > 0;
}

/* In flight or ordered. */
static inline uint32_t iso_rule_outstanding(const struct iso_rule_worker *worker)
{
	return worker->in_flight + worker->pending;
}

static inline uint64_t iso_rule_outstanding_all(const struct iso_method *method)
{
	return method->totals.in_flight + method->pending;
}

/* Gradients of the entry that no update has used yet. */
static inline uint32_t iso_rule_fresh(const struct iso_rule_table *table,
				      const struct iso_rule_entry *entry)
{
	assert(entry->fresh <= entry->count);
	return entry->use == table->uses ? entry->fresh : 0;
}

/* How many more the worker can run at once. */
static inline uint32_t iso_rule_free(const struct iso_rule_worker *worker)
{
	uint32_t outstanding = iso_rule_outstanding(worker);

	return worker->depth > outstanding ? worker->depth - outstanding : 0;
}

/* Orders `count` more computations of a present worker. */
void iso_rule_start(struct iso_method *method, uint32_t worker, uint32_t count);
/* ... as many as it can run at once. */
void iso_rule_fill(struct iso_method *method, uint32_t worker);
/* The same as a rule's `lost`. */
void iso_rule_fill_lost(struct iso_method *method, uint32_t worker, uint32_t count);

/* Stops all that the worker has in flight or ordered. */
void iso_rule_stop(struct iso_method *method, uint32_t worker);
/* One computation that is in flight and will be in vain. */
void iso_rule_stop_one(struct iso_method *method, uint32_t worker);

/* The average rules' end of a round: x moves by -gamma sum / weight, everything left is stopped. */
void iso_rule_finish(struct iso_method *method, const double *sum, double weight);

/* x -= gamma_k sum / weight; k++ */
void iso_rule_update(struct iso_method *method, const double *sum, double weight);
/* x -= gamma_k scale g; k++ */
void iso_rule_update_by(struct iso_method *method, const float *gradient, double scale);

/* Flights: rule_flight.c.  take: false if no such computation is in flight. */
void iso_rule_flights_add(struct iso_method *method, uint32_t worker, uint32_t count);
bool iso_rule_flight_take(struct iso_method *method, uint32_t worker, uint64_t version);
void iso_rule_flights_drop(struct iso_method *method, uint32_t worker);
/* The oldest: its worker if its version is below `version`, else ISO_RULE_NONE; taken out. */
uint32_t iso_rule_flight_take_older(struct iso_method *method, uint64_t version);

/* Tables: rule_table.c */
void iso_rule_table_clear(struct iso_method *method, struct iso_rule_table *table);
/* Into the worker's mean, or as its only gradient if the entry is of an older point. */
void iso_rule_table_add(struct iso_method *method, struct iso_rule_table *table,
			const struct iso_method_arrival *arrival);
/* As its only gradient whatever the entry's point. */
void iso_rule_table_replace(struct iso_method *method, struct iso_rule_table *table,
			    const struct iso_method_arrival *arrival);
void iso_rule_table_remove(struct iso_method *method, struct iso_rule_table *table,
			   uint32_t worker);
/* What was fresh has been used by the update that is about to be made. */
void iso_rule_table_use(struct iso_method *method, struct iso_rule_table *table);

#endif

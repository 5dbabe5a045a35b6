/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/ata/ras.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lib/bytes.h"

/* Scores to look at for a first guess of the level, when there are many. */
#define SAMPLE  1024u
#define GUESSES 24
/* Probes before the heap takes over, if it is not ready for it sooner. */
#define PROBES_MAX 48
/* ... or so many in a row told nothing. */
#define IN_VAIN_MAX 6
/* The heap is ready for this many cells and tasks. */
#define FEW 64u

struct cell {
	double score;
	union {
		double next;    /* heap: (tasks + 1) * score */
		uint32_t probe; /* search: tasks at the probed level */
	};
	uint32_t worker;
	uint32_t tasks; /* certain: all of them are among the B smallest */
};

/* The B smallest members of the progressions lie above `low` or are counted in cells. */
struct search {
	double low;       /* at most B members are <= low */
	double high;      /* at least B members are <= high */
	struct cell *cells;
	uint32_t count;
	uint64_t settled; /* tasks of workers that are no longer in cells */
	uint64_t given;   /* members <= low: settled and certain tasks */
	uint64_t over;    /* members <= high */
};

size_t iso_ras_workspace_bytes(uint32_t n)
{
	return (size_t)n * sizeof(struct cell);
}

/*
 * How many of score, 2 score, 3 score, ... batch * score, each rounded as the
 * heap would round it, are <= level.  Quotient and products are right to 2^-53
 * and the count is below 2^32, so it is off by one at most.
 */
static inline uint32_t members(double score, double level, uint32_t batch)
{
	double quotient = level / score;
	double most = (double)batch;
	int64_t count = (int64_t)(quotient < most ? quotient : most);

	count -= (double)count * score > level;
	count += (double)(count + 1) * score <= level;
	return count < batch ? (uint32_t)count : batch;
}

/* Scores are positive, so their order is that of their bit patterns. */
static double between(double low, double high)
{
	uint64_t low_bits = iso_bits_of_double(low), high_bits = iso_bits_of_double(high);

	return iso_double_of_bits(low_bits + (high_bits - low_bits) / 2);
}

static double just_below(double value)
{
	return iso_double_of_bits(iso_bits_of_double(value) - 1);
}

/* Members <= level over all workers, each one's capped at `batch`. */
static uint64_t probe(struct search *search, double level, uint32_t batch)
{
	uint64_t total = search->settled;

	for (uint32_t i = 0; i < search->count; i++) {
		struct cell *cell = &search->cells[i];

		cell->probe = members(cell->score, level, batch);
		total += cell->probe;
	}
	return total;
}

/* Moves a bound to the probed level and lets go of the cells that are decided by it. */
static void narrow(struct search *search, double level, bool raise_low, uint32_t *ret_tasks)
{
	uint32_t kept = 0;

	if (raise_low)
		search->low = level;
	else
		search->high = level;
	/* Both outcomes are written in any case, again to spare a branch. */
	for (uint32_t i = 0; i < search->count; i++) {
		struct cell cell = search->cells[i];

		cell.tasks = raise_low ? cell.probe : cell.tasks;
		bool keep = (double)(cell.tasks + 1) * cell.score <= search->high;
		search->cells[kept] = cell;
		kept += keep;
		ret_tasks[cell.worker] = cell.tasks;
		search->settled += keep ? 0 : cell.tasks;
	}
	search->count = kept;
}

/*
 * Where to look next: where about a sixteenth of the bracket's members lie
 * between the level and the B-th one, below it and above it in turn, as if they
 * were spread evenly; every fourth time in the middle of the floats, so that nothing
 * can make it slow.
 */
static double next_level(const struct search *search, int step, uint32_t batch)
{
	double inside = (double)(search->over - search->given);
	double wanted = (double)(batch - search->given) + (step % 2 != 0 ? inside : -inside) / 16;
	double level = search->low + (search->high - search->low) * (wanted / inside);

	if (step % 4 != 3 && level > search->low && level < search->high)
		return level;
	return between(search->low, search->high);
}

static void bisect(struct search *search, uint32_t batch, uint32_t *ret_tasks)
{
	int in_vain = 0;

	for (int step = 0; step < PROBES_MAX; step++) {
		if (search->given == batch ||
		    (search->count <= FEW && batch - search->given <= FEW))
			return;
		assert(search->given < batch);
		assert(search->over >= batch);
		double level = next_level(search, step, batch);
		/* No float between them: all that is left are ties at high. */
		if (level <= search->low)
			return;
		uint32_t count = search->count;
		uint64_t total = probe(search, level, batch);
		narrow(search, level, total <= batch, ret_tasks);
		bool is_vain = search->count == count &&
			       total == (total <= batch ? search->given : search->over);
		if (total <= batch)
			search->given = total;
		else
			search->over = total;
		/* What does not part is tied. */
		in_vain = is_vain ? in_vain + 1 : 0;
		if (in_vain == IN_VAIN_MAX)
			return;
	}
}

static bool cell_before(const struct cell *a, const struct cell *b)
{
	return a->next < b->next || (a->next == b->next && a->worker < b->worker);
}

static void sift_down(struct cell *heap, uint32_t count, uint32_t hole)
{
	struct cell moving = heap[hole];

	for (;;) {
		uint32_t child = 2 * hole + 1;

		if (child >= count)
			break;
		if (child + 1 < count && cell_before(&heap[child + 1], &heap[child]))
			child++;
		if (!cell_before(&heap[child], &moving))
			break;
		heap[hole] = heap[child];
		hole = child;
	}
	heap[hole] = moving;
}

/* The remaining tasks one by one, each to the worker with the smallest (a_i + 1) s_i. */
static void finish(struct search *search, uint32_t batch, uint32_t *ret_tasks)
{
	struct cell *heap = search->cells;
	uint64_t given = search->given;

	for (uint32_t i = 0; i < search->count; i++)
		heap[i].next = (double)(heap[i].tasks + 1) * heap[i].score;
	assert(given <= batch);
	assert(given == batch || search->count > 0);
	for (uint32_t i = search->count / 2; i-- > 0;)
		sift_down(heap, search->count, i);
	for (; given < batch; given++) {
		heap[0].tasks++;
		heap[0].next = (double)(heap[0].tasks + 1) * heap[0].score;
		sift_down(heap, search->count, 0);
	}
	assert(given == batch);
	for (uint32_t i = 0; i < search->count; i++)
		ret_tasks[heap[i].worker] = heap[i].tasks;
}

/* Cells for all scores <= high, and how many members <= high they have; enough? */
static bool gather(struct search *search, const double *scores, uint32_t n, uint32_t batch)
{
	uint32_t count = 0;

	/* Each is written, and kept or overwritten: no branch that would be guessed wrong. */
	for (uint32_t i = 0; i < n; i++) {
		search->cells[count] = (struct cell){ .score = scores[i], .worker = i };
		count += scores[i] <= search->high;
	}
	search->count = count;
	search->over = probe(search, search->high, batch);
	return search->over >= batch;
}

static double smallest(const double *scores, uint32_t n)
{
	double least = scores[0];

	for (uint32_t i = 1; i < n; i++)
		least = scores[i] < least ? scores[i] : least;
	/* B times that must not overflow, and NaN must not hide. */
	assert(least > 0);
	assert(least < 0x1p960);
	return least;
}

/* The level of the B-th member, estimated from evenly spaced workers; 0: no estimate. */
static double guess_level(const double *scores, uint32_t n, uint32_t batch, struct cell *cells)
{
	uint32_t stride = n / SAMPLE;

	if (stride < 4)
		return 0;
	uint64_t share = ((uint64_t)batch * SAMPLE + n - 1) / n;
	struct search search = { .cells = cells, .count = SAMPLE };

	assert(share <= batch);
	for (uint32_t i = 0; i < SAMPLE; i++)
		cells[i] = (struct cell){ .score = scores[(size_t)i * stride] };
	double least = cells[0].score;
	for (uint32_t i = 1; i < SAMPLE; i++)
		least = cells[i].score < least ? cells[i].score : least;
	search.high = least * (double)share;
	search.low = just_below(least);
	for (int i = 0; i < GUESSES; i++) {
		double level = between(search.low, search.high);

		if (probe(&search, level, (uint32_t)share) < share)
			search.low = level;
		else
			search.high = level;
	}
	return search.high;
}

void iso_ras(const double *scores, uint32_t n, uint32_t batch, void *workspace,
	     uint32_t *ret_tasks)
{
	iso_ras_near(scores, n, batch, 0, workspace, ret_tasks);
}

void iso_ras_near(const double *scores, uint32_t n, uint32_t batch, double level, void *workspace,
		  uint32_t *ret_tasks)
{
	struct search search = { .cells = workspace };

	assert(n >= 1);
	assert(level >= 0);
	memset(ret_tasks, 0, (size_t)n * sizeof(*ret_tasks));
	if (batch == 0)
		return;
	/*
	 * Bounds of workers that are out of it gather just above the level of a round, and move
	 * little until the next.
	 */
	search.high = 1.0009765625 * level;
	bool enough = level > 0 && gather(&search, scores, n, batch);
	if (!enough) {
		/* 1/16 is about two standard deviations of what the sample can tell. */
		search.high = 1.0625 *
			      (level > 0 ? level : guess_level(scores, n, batch, search.cells));
		enough = search.high > 0 && gather(&search, scores, n, batch);
	}
	/* A level t times as high has at least t times as many members, and mostly far more. */
	if (!enough && search.over > 0) {
		double times = (double)((batch + search.over - 1) / search.over);
		double low = search.high;

		search.high = low * (1 + times) / 2;
		enough = gather(&search, scores, n, batch);
		if (!enough) {
			search.high = low * times;
			enough = gather(&search, scores, n, batch);
		}
	}
	if (!enough) {
		search.high = smallest(scores, n) * (double)batch;
		(void)gather(&search, scores, n, batch);
	}
	assert(search.count > 0);
	double least = search.cells[0].score;
	for (uint32_t i = 1; i < search.count; i++)
		least = search.cells[i].score < least ? search.cells[i].score : least;
	assert(least > 0);
	search.low = just_below(least);
	bisect(&search, batch, ret_tasks);
	finish(&search, batch, ret_tasks);
}

double iso_ras_loss(const double *scores, const uint32_t *tasks, uint32_t n)
{
	double loss = 0;

	for (uint32_t i = 0; i < n; i++) {
		double time = scores[i] * (double)tasks[i];

		loss = time > loss ? time : loss;
	}
	return loss;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/export/watch.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/export/history.h"
#include "agent/export/metrics.h"
#include "agent/export/page.h"
#include "agent/export/verdict.h"

/* How each was at the last look, to log changes alone. */
struct known {
	char name[COLLECT_NAME_BYTES];
	bool answers;
};

struct watch {
	struct watch_config config;
	struct collect collect;
	struct known known[COLLECT_AGENTS_MAX];
	unsigned known_count;
	bool is_blind, is_full; /* said so: the directory cannot be read; there are too many */
	uint64_t looked_ns;	/* 0: never */
	double look_s;		/* how long that took */
	uint64_t looks;
	struct collect ledgers; /* their agents alone: replies are dropped after use */
	struct verdicts verdicts;
	struct history *history;
	char host[65];
};

int watch_open(const struct watch_config *config, struct watch **ret_watch, struct error *reterr)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (watch == NULL)
		return error_errno(reterr, -ENOMEM, "agents");
	watch->config = *config;
	watch->history = history_new();
	if (watch->history == NULL) {
		watch_close(watch);
		return error_errno(reterr, -ENOMEM, "history");
	}
	if (gethostname(watch->host, sizeof(watch->host) - 1) < 0)
		snprintf(watch->host, sizeof(watch->host), "this machine");
	for (unsigned i = 0; i < config->socket_count; i++) {
		int r = collect_add(&watch->collect, config->sockets[i], reterr);

		if (r < 0) {
			watch_close(watch);
			return r;
		}
	}
	*ret_watch = watch;
	return 0;
}

struct watch *watch_close(struct watch *watch)
{
	if (watch == NULL)
		return NULL;
	collect_drop(&watch->collect);
	watch->history = history_free(watch->history);
	free(watch);
	return NULL;
}

static void find(struct watch *watch)
{
	struct error error;

	if (watch->config.socket_count > 0)
		return;
	collect_drop(&watch->collect);
	int r = collect_find(watch->config.directory, &watch->collect, &error);
	if (r < 0 && !watch->is_blind)
		log_warn("%s; no agent can be seen until it can be", error.text);
	watch->is_blind = r < 0;
	if (watch->collect.is_full && !watch->is_full)
		log_warn("more than %d agents in '%s': the others are left out",
			 COLLECT_AGENTS_MAX, watch->config.directory);
	watch->is_full = watch->collect.is_full;
}

static const struct known *find_known(const struct watch *watch, const char *name)
{
	for (unsigned i = 0; i < watch->known_count; i++)
		if (strcmp(watch->known[i].name, name) == 0)
			return &watch->known[i];
	return NULL;
}

static bool is_there(const struct collect *collect, const char *name)
{
	for (unsigned i = 0; i < collect->count; i++)
		if (strcmp(collect->agents[i].name, name) == 0)
			return true;
	return false;
}

static void note_changes(struct watch *watch)
{
	const struct collect *collect = &watch->collect;

	for (unsigned i = 0; i < collect->count; i++) {
		const struct collect_agent *agent = &collect->agents[i];
		const struct known *known = find_known(watch, agent->name);
		bool answers = agent->reply != NULL;

		if (answers && known == NULL)
			log_info("agent %s answers", agent->name);
		else if (answers && !known->answers)
			log_info("agent %s answers again", agent->name);
		else if (!answers && (known == NULL || known->answers))
			log_warn("agent %s does not answer at '%s': %s; the others are shown",
				 agent->name, agent->path, agent->why);
	}
	for (unsigned i = 0; i < watch->known_count; i++)
		if (!is_there(collect, watch->known[i].name))
			log_info("agent %s has ended: its socket is gone", watch->known[i].name);
	watch->known_count = collect->count;
	for (unsigned i = 0; i < collect->count; i++) {
		memcpy(watch->known[i].name, collect->agents[i].name, COLLECT_NAME_BYTES);
		watch->known[i].answers = collect->agents[i].reply != NULL;
	}
}

uint64_t watch_fresh_until_ns(const struct watch *watch)
{
	return watch->looked_ns != 0 ? watch->looked_ns + WATCH_FRESH_NS : 0;
}

const struct collect *watch_look(struct watch *watch)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < watch_fresh_until_ns(watch))
		return &watch->collect;
	find(watch);
	collect_ask(&watch->collect, "status", watch->config.timeout_ns);
	watch->looked_ns = clock_now_ns();
	watch->look_s = (double)(watch->looked_ns - now_ns) / 1e9;
	watch->looks++;
	note_changes(watch);
	return &watch->collect;
}

static float cpus(const json_t *status, const char *key)
{
	const json_t *value = json_object_get(status, key);

	return json_is_number(value) ? (float)(json_number_value(value) / 1e6) : (float)NAN;
}

static void keep(struct watch *watch, uint64_t slot)
{
	for (unsigned i = 0; i < watch->collect.count; i++) {
		const json_t *status = watch->collect.agents[i].reply;
		const char *node = json_string_value(json_object_get(status, "node"));
		const char *cluster = json_string_value(json_object_get(status, "cluster"));
		const struct history_point point = {
			.share = cpus(status, "share_ucpu"),
			.quota = cpus(status, "enforced_ucpu"),
			.demand = cpus(status, "demand_ucpu"),
			.on_cpu = cpus(status, "on_cpu_ucpu"),
		};

		if (node != NULL)
			history_add(watch->history, slot, cluster != NULL ? cluster : "", node,
				    &point);
	}
}

static void audit(struct watch *watch)
{
	struct collect *ledgers = &watch->ledgers;

	/* Those that answer: one that hangs has cost its time already. */
	ledgers->count = 0;
	for (unsigned i = 0; i < watch->collect.count; i++) {
		if (watch->collect.agents[i].reply == NULL)
			continue;
		ledgers->agents[ledgers->count] = watch->collect.agents[i];
		ledgers->agents[ledgers->count++].reply = NULL;
	}
	collect_ask(ledgers, "ledger", watch->config.timeout_ns);
	verdicts_make(ledgers, watch->config.timeout_ns, &watch->verdicts);
	collect_drop(ledgers);
}

uint64_t watch_step(struct watch *watch)
{
	uint64_t slot;

	(void)watch_look(watch);
	slot = clock_now_ns() / HISTORY_STEP_NS;
	keep(watch, slot);
	audit(watch);
	return (slot + 1) * HISTORY_STEP_NS;
}

static long resident_pages(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages;
}

static void own_metrics(const struct watch *watch, FILE *out)
{
	metrics_head(out, "isobar_exporter_info", "gauge", "1; the exporter's version.");
	fputs("isobar_exporter_info{version=\"" PACKAGE_VERSION "\"} 1\n", out);
	metrics_head(out, "isobar_exporter_look_seconds", "gauge",
		     "How long it took to ask all agents.");
	fprintf(out, "isobar_exporter_look_seconds %.6f\n", watch->look_s);
	metrics_head(out, "isobar_exporter_looks_total", "counter",
		     "Times that all agents were asked.");
	fprintf(out, "isobar_exporter_looks_total %llu\n", (unsigned long long)watch->looks);
	metrics_head(out, "process_cpu_seconds_total", "counter",
		     "CPU time that the exporter has used.");
	fprintf(out, "process_cpu_seconds_total %.6f\n", clock_cpu_s());
	metrics_head(out, "process_resident_memory_bytes", "gauge",
		     "Memory that the exporter has.");
	fprintf(out, "process_resident_memory_bytes %ld\n",
		resident_pages() * sysconf(_SC_PAGESIZE));
}

void watch_metrics(struct watch *watch, FILE *out)
{
	const struct collect *collect = watch_look(watch);
	struct metrics_source sources[METRICS_SOURCES_MAX];

	_Static_assert(METRICS_SOURCES_MAX == COLLECT_AGENTS_MAX, "all of them");
	for (unsigned i = 0; i < collect->count; i++)
		sources[i] = (struct metrics_source){
			.agent = collect->agents[i].name,
			.status = collect->agents[i].reply,
		};
	metrics_write(out, sources, collect->count);
	verdicts_metrics(out, &watch->verdicts);
	own_metrics(watch, out);
}

void watch_page(struct watch *watch, FILE *out)
{
	struct page page = {
		.host = watch->host,
		.directory = watch->config.directory,
		.agents = watch_look(watch),
		.history = watch->history,
		.slot = clock_now_ns() / HISTORY_STEP_NS,
		.verdicts = &watch->verdicts,
	};
	time_t now = time(NULL);
	struct tm local;
	char when[64] = "";

	if (localtime_r(&now, &local) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", &local);
	page.when = when;
	page_write(out, &page);
}

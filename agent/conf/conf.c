/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/conf/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/checksum.h"

/* Changes when nodes of different versions could misunderstand each other. */
#define PROTOCOL_VERSION 2u

#define S_NS 1000000000ull

uint64_t conf_cluster_id(const char *cluster)
{
	return iso_checksum(cluster, strlen(cluster));
}

uint64_t conf_node_id(const char *cluster, const char *node)
{
	char text[2 * CONF_NAME_BYTES];
	size_t cluster_size = strlen(cluster) + 1, node_length = strlen(node);

	/* Names come from a checked configuration. */
	if (cluster_size + node_length > sizeof(text))
		return 0;
	memcpy(text, cluster, cluster_size);
	memcpy(text + cluster_size, node, node_length);
	return iso_checksum(text, cluster_size + node_length);
}

uint64_t conf_digest(const struct conf *conf)
{
	uint8_t bytes[4 + CONF_NAME_BYTES + 5 * 8];
	uint8_t *p = bytes;

	memset(bytes, 0, sizeof(bytes));
	iso_put_le(p, PROTOCOL_VERSION, 4);
	memcpy(p += 4, conf->cluster, strlen(conf->cluster));
	iso_put_le(p += CONF_NAME_BYTES, (uint64_t)conf->config_epoch, 8);
	iso_put_le(p += 8, (uint64_t)conf->trading.quantiser, 8);
	iso_put_le(p += 8, iso_bits_of_double(conf->trading.rho), 8);
	iso_put_le(p += 8, conf->trading.lease_ns, 8);
	iso_put_le(p += 8, conf->trading.promise_ns, 8);
	return iso_checksum(bytes, sizeof(bytes));
}

bool conf_is_guarded(const struct conf *conf)
{
	return conf->trading.lease_ns != 0 && conf->listen[0] != '\0' && !conf->dry_run;
}

bool conf_trains(const struct conf *conf)
{
	return conf->training.coordinator[0] != '\0' || conf->training.plan[0] != '\0';
}

/* For everything but the watchdog: the guard's and the timers' own lateness. */
#define GUARD_SLACK_NS (S_NS / 2)

unsigned conf_watchdog_s(const struct conf *conf)
{
	if (conf->trading.lease_slack_ns < GUARD_SLACK_NS)
		return 0;
	return (unsigned)((conf->trading.lease_slack_ns - GUARD_SLACK_NS) / S_NS);
}

int conf_parse(const char *name, const char *text, struct conf *ret_conf, struct error *reterr)
{
	struct confutil_lines lines;
	struct conf *conf = calloc(1, sizeof(*conf));

	if (conf == NULL)
		return error_errno(reterr, -ENOMEM, "%s", name);
	int r = confutil_parse(conf_schema(), name, text, sizeof(*conf), conf, &lines, reterr);
	if (r == 0)
		r = conf_check(conf, name, &lines, reterr);
	if (r == 0)
		*ret_conf = *conf;
	free(conf);
	return r;
}

int conf_load(const char *path, struct conf *ret_conf, struct error *reterr)
{
	char *text;
	int r = confutil_read_file(path, &text, reterr);

	if (r < 0)
		return r;
	r = conf_parse(path, text, ret_conf, reterr);
	free(text);
	return r;
}

const char *conf_job(const struct conf *conf)
{
	if (conf->delegated)
		return "delegated";
	return conf->unit[0] != '\0' ? conf->unit : conf->cgroup;
}

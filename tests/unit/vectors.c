/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library against the files of tests/vectors, which are frozen: bytes are
 * decoded to the fields of the file, the fields encoded to the bytes again,
 * and what is wrong gets the status that the file says.  A deliberate change
 * of a format is a new version of it, with vectors of its own.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conf/conf.h"
#include "lib/bytes.h"
#include "lib/ledger/record.h"
#include "lib/quant/quant.h"
#include "lib/trade/share.h"
#include "lib/trade/trade.h"
#include "lib/wire/edge.h"
#include "lib/wire/worker.h"
#include "tests/test.h"
#include "tests/vectorfield.h"
#include "tests/vectorfile.h"

static struct vectorfile file;

static void open_file(const char *name)
{
	vectorfile_open(name, &file);
}

static void close_file(unsigned cases)
{
	/* A file that was cut short would test nothing. */
	ck_assert_uint_eq(file.cases, cases);
	vectorfile_close(&file);
}

static const struct field edge_fields[] = {
#define F(member) FIELD(struct iso_edge_frame, member)
	F(cluster),	    F(epoch),	    F(flags),	    F(degree),
	F(digest),	    F(source),	    F(destination), F(source_gen),
	F(destination_gen), F(inc),	    F(echo_inc),    F(base_inc),
	F(symbol),	    F(seq),	    F(sent),	    F(received),
	F(echo_seq),	    F(base_seq),    F(exact_q32),   F(curvature),
	F(head_ucpu),	    F(budget_ucpu),
#undef F
};

START_TEST(edge_messages)
{
	open_file("edge.txt");
	while (vectorfile_next(&file)) {
		struct iso_edge_frame frame, again;
		uint8_t bytes[ISO_EDGE_BYTES];
		enum iso_status status = iso_edge_decode(file.bytes, file.size, &frame);

		vectorfield_status(&file, status);
		if (status != ISO_OK)
			continue;
		memset(&again, 0, sizeof(again));
		vectorfield_each(&file, "", edge_fields, FIELD_COUNT(edge_fields), &frame, true);
		vectorfield_each(&file, "", edge_fields, FIELD_COUNT(edge_fields), &again, false);
		iso_edge_encode(&again, bytes);
		vectorfield_bytes(&file, bytes, sizeof(bytes));
	}
	close_file(42);
}
END_TEST

static const struct field record_fields[] = {
#define F(member) FIELD(struct iso_record, member)
	F(edge_count), F(epoch), F(cluster),	    F(node),	    F(gen),	F(inc),
	F(halt),       F(flags), F(endowment_ucpu), F(budget_ucpu), F(last_op), F(last_op_ucpu),
	F(floor_ucpu), F(seq),
#undef F
};
static const struct field record_edge_fields[] = {
#define F(member) FIELD(struct iso_record_edge, member)
	F(peer), F(peer_gen), F(flags), F(sent), F(received),
#undef F
};

static void each_record_field(struct iso_record *record, bool is_check)
{
	vectorfield_each(&file, "", record_fields, FIELD_COUNT(record_fields), record, is_check);
	ck_assert_uint_le(record->edge_count, ISO_DEGREE_MAX);
	for (uint32_t k = 0; k < record->edge_count; k++) {
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "edge.%" PRIu32 ".", k);
		vectorfield_each(&file, prefix, record_edge_fields, FIELD_COUNT(record_edge_fields),
				 &record->edges[k], is_check);
	}
}

START_TEST(journal_slots)
{
	open_file("record.txt");
	while (vectorfile_next(&file)) {
		struct iso_record record, again;
		uint8_t slot[ISO_SLOT_BYTES];

		ck_assert_uint_eq(file.size, ISO_SLOT_BYTES);
		enum iso_status status = iso_record_decode(file.bytes, &record);
		vectorfield_status(&file, status);
		if (status != ISO_OK)
			continue;
		memset(&again, 0, sizeof(again));
		each_record_field(&record, true);
		each_record_field(&again, false);
		iso_record_encode(&again, slot);
		vectorfield_bytes(&file, slot, sizeof(slot));
	}
	close_file(62);
}
END_TEST

START_TEST(journals)
{
	open_file("recovery.txt");
	while (vectorfile_next(&file)) {
		struct iso_record record;

		ck_assert_uint_eq(file.size, ISO_JOURNAL_BYTES);
		enum iso_status status = iso_record_recover(file.bytes, &record);
		vectorfield_status(&file, status);
		if (status == ISO_OK)
			ck_assert_msg(record.seq == vectorfile_number(&file, "seq"),
				      "%s: record %" PRIu64, file.name, record.seq);
	}
	close_file(18);
}
END_TEST

/* The three values of the format in the terms of the type. */
static struct iso_worker_record worker_record(void)
{
	uint64_t first = vectorfile_number(&file, "first");
	uint32_t second = (uint32_t)vectorfile_number(&file, "second");
	uint32_t third = (uint32_t)vectorfile_number(&file, "third");
	struct iso_worker_record record = {
		.type = (enum iso_worker_type)vectorfile_number(&file, "type"),
	};

	switch (record.type) {
	case ISO_WORKER_REGISTER: record.enrol.tid = second; break;
	case ISO_WORKER_SLOT:
		record.slot.tid = second;
		record.slot.slot = third;
		break;
	case ISO_WORKER_SHARE:
		record.share.share_ucpu = first;
		record.share.cpus = second;
		break;
	case ISO_WORKER_PROGRESS:
		record.progress.tasks_done = first;
		record.progress.threads = second;
		record.progress.connected = third != 0;
		break;
	case ISO_WORKER_FAULT:
		record.fault.number = (uint32_t)first;
		record.fault.what = (enum iso_worker_fault)second;
		record.fault.call = (enum iso_worker_call)third;
		break;
	case ISO_WORKER_ROUND:
		record.round.round = first;
		record.round.live = second;
		record.round.phase = (enum iso_worker_phase)third;
		break;
	case ISO_WORKER_MEASURE:
		record.measure.value = iso_double_of_bits(first);
		record.measure.what = (enum iso_worker_measure)second;
		break;
	}
	return record;
}

START_TEST(worker_records)
{
	open_file("worker.txt");
	while (vectorfile_next(&file)) {
		uint8_t bytes[ISO_WORKER_RECORD_BYTES];
		struct iso_worker_record record;
		enum iso_status status = iso_worker_decode(file.bytes, file.size, &record);

		vectorfield_status(&file, status);
		if (status != ISO_OK)
			continue;
		/* Each value of the record is in its encoding. */
		iso_worker_encode(&record, bytes);
		vectorfield_bytes(&file, bytes, sizeof(bytes));
		record = worker_record();
		iso_worker_encode(&record, bytes);
		vectorfield_bytes(&file, bytes, sizeof(bytes));
	}
	close_file(30);
}
END_TEST

static struct iso_quant quant;

static void check_table(void)
{
	unsigned entries = 0;

	ck_assert_uint_eq(quant.levels, vectorfile_number(&file, "levels"));
	ck_assert_uint_eq(quant.digest, vectorfile_number(&file, "digest"));
	for (uint32_t k = 1; k <= quant.levels; k++) {
		char level[32], bound[32];

		snprintf(level, sizeof(level), "level.%" PRIu32, k);
		snprintf(bound, sizeof(bound), "bound.%" PRIu32, k);
		if (vectorfile_find(&file, level) == NULL)
			continue;
		ck_assert_int_eq(quant.level[k], (int64_t)vectorfile_number(&file, level));
		ck_assert_int_eq(quant.bound[k], (int64_t)vectorfile_number(&file, bound));
		entries++;
	}
	ck_assert_uint_ge(entries, 8);
}

static void check_symbol(void)
{
	int64_t input = (int64_t)vectorfile_number(&file, "input"), level = 0;
	int16_t symbol = iso_quant_symbol(&quant, input);
	struct iso_quant_interval interval;

	ck_assert_int_eq(symbol, (int16_t)vectorfile_number(&file, "symbol"));
	ck_assert_ok(iso_quant_value(&quant, symbol, &level));
	ck_assert_ok(iso_quant_interval(&quant, symbol, &interval));
	ck_assert_int_eq(level, (int64_t)vectorfile_number(&file, "level"));
	ck_assert_int_eq(interval.high, (int64_t)vectorfile_number(&file, "high"));
}

static void check_price(void)
{
	int64_t reference = (int64_t)vectorfile_number(&file, "reference");
	const struct iso_share_params params = {
		.mode = (enum iso_share_mode)vectorfile_number(&file, "mode"),
		.quant = &quant,
		.uniform_step_q32 = (int64_t)vectorfile_number(&file, "step"),
	};
	struct iso_share_code code =
	    iso_share_encode(&params, (int64_t)vectorfile_number(&file, "price"), reference);
	struct iso_share_price price;

	ck_assert_int_eq(code.symbol, (int16_t)vectorfile_number(&file, "symbol"));
	ck_assert_int_eq(code.exact_q32, (int64_t)vectorfile_number(&file, "exact_q32"));
	ck_assert_ok(iso_share_decode(&params, code.symbol, code.exact_q32, reference, &price));
	ck_assert_int_eq(price.value_q32, (int64_t)vectorfile_number(&file, "value"));
	ck_assert_int_eq(price.upper_q32, (int64_t)vectorfile_number(&file, "upper"));
}

START_TEST(quantiser_and_prices)
{
	open_file("quantiser.txt");
	while (vectorfile_next(&file)) {
		ck_assert_ok(iso_quant_init((uint32_t)vectorfile_number(&file, "rho_q16"), &quant));
		if (vectorfile_find(&file, "levels") != NULL)
			check_table();
		else if (vectorfile_find(&file, "input") != NULL)
			check_symbol();
		else
			check_price();
	}
	close_file(46);
}
END_TEST

static void check_ids(void)
{
	const char *cluster = vectorfile_text(&file, "cluster");
	const char *node = vectorfile_text(&file, "node");

	ck_assert_uint_eq(conf_cluster_id(cluster), vectorfile_number(&file, "cluster_id"));
	ck_assert_uint_eq(conf_node_id(cluster, node), vectorfile_number(&file, "node_id"));
}

/* As the agent computes it: what a trading core of this configuration would send. */
static uint64_t frame_digest(const struct conf *conf, uint64_t configuration)
{
	struct iso_trade_config config = {
		.shared_digest = configuration,
		.budget_ucpu = 1,
		.share = {
			.mode = (enum iso_share_mode)vectorfile_number(&file, "mode"),
			.quant = &quant,
			.uniform_step_q32 = iso_price_of_real(conf->trading.rho),
			.gamma = 0.9,
			.base_age_ns = 1,
			.fresh_age_ns = 1,
		},
	};
	size_t size = iso_trade_size(&config);
	void *memory = calloc(1, size);
	struct iso_trade_status status;
	struct iso_trade *trade;

	ck_assert_ptr_nonnull(memory);
	ck_assert_ok(iso_trade_init(memory, size, &config, &trade));
	iso_trade_status(trade, &status);
	free(memory);
	return status.digest;
}

static void check_digest(void)
{
	static struct conf conf;
	const char *cluster = vectorfile_text(&file, "cluster");

	memset(&conf, 0, sizeof(conf));
	ck_assert_uint_lt(strlen(cluster), sizeof(conf.cluster));
	memcpy(conf.cluster, cluster, strlen(cluster));
	conf.config_epoch = (int64_t)vectorfile_number(&file, "epoch");
	conf.trading.lease_ns = vectorfile_number(&file, "lease_ns");
	conf.trading.promise_ns = vectorfile_number(&file, "promise_ns");
	conf.trading.quantiser = (int)vectorfile_number(&file, "quantiser");
	conf.trading.rho = iso_double_of_bits(vectorfile_number(&file, "rho"));
	ck_assert_ok(iso_quant_init((uint32_t)(conf.trading.rho * 65536 + 0.5), &quant));

	uint64_t configuration = conf_digest(&conf);
	uint64_t step = vectorfile_number(&file, "step");

	ck_assert_uint_eq(configuration, vectorfile_number(&file, "configuration"));
	ck_assert_uint_eq(quant.digest, vectorfile_number(&file, "quantiser_digest"));
	if (conf.trading.quantiser == CONF_QUANTISER_UNIFORM)
		ck_assert_uint_eq(step, (uint64_t)iso_price_of_real(conf.trading.rho));
	else
		ck_assert_uint_eq(step, 0);
	ck_assert_uint_eq(frame_digest(&conf, configuration), vectorfile_number(&file, "digest"));
}

START_TEST(ids_and_digests)
{
	open_file("ids.txt");
	while (vectorfile_next(&file)) {
		if (vectorfile_find(&file, "node") != NULL)
			check_ids();
		else
			check_digest();
	}
	close_file(11);
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("vectors");
	TCase *tcase = tcase_create("files");

	tcase_add_test(tcase, ids_and_digests);
	tcase_add_test(tcase, quantiser_and_prices);
	tcase_add_test(tcase, edge_messages);
	tcase_add_test(tcase, journal_slots);
	tcase_add_test(tcase, journals);
	tcase_add_test(tcase, worker_records);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests/sim/peer*.c do not reach: arguments, addresses, the end of numbers. */
#include "config.h"

#include "lib/checksum.h"
#include "lib/track/peer_state.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define M 2u

static const uint64_t ids[] = { 1, 2, 3 };
static const double y_first[M] = { 0.5, -2 };

static struct iso_peer_config config_of(uint32_t who)
{
	return (struct iso_peer_config){
		.plan = 77,
		.node = ids[who],
		.neighbours = &ids[1 - who],
		.neighbour_count = 1,
		.boot = 10 + who,
		.stream = { .mode = ISO_STREAM_INNOVATION, .n = M, .bits = 8, .rho = 0.125 },
		.step = 0.5,
		.alpha = 0.25,
		.wait_ns = 1000,
		.drop_ns = 5000,
		.resend_ns = 100,
	};
}

static struct iso_peer *make(const struct iso_peer_config *config)
{
	struct iso_peer *peer = NULL;
	size_t size = iso_peer_size(config);

	ck_assert_uint_gt(size, 0);
	ck_assert_ok(iso_peer_init(malloc(size), size, config, y_first, 0, 0, &peer));
	return peer;
}

/* Two nodes whose frames arrive at once, and whose gradient is y. */
struct pair {
	struct iso_peer *peers[2];
	uint64_t now_ns;
	double curvatures[2];
	uint64_t snapshots, innovations;
	struct iso_peer_action last; /* with a payload of its own */
	uint8_t payload[64];
};

static bool turn(struct pair *pair, uint32_t who)
{
	struct iso_peer_action action;
	bool any = false;

	while (iso_peer_next(pair->peers[who], &action)) {
		any = true;
		if (action.what == ISO_PEER_COMPUTE) {
			memcpy(action.gradient, action.y, M * sizeof(double));
			ck_assert_ok(iso_peer_gradient(pair->peers[who], pair->now_ns, 1,
						       pair->curvatures[who]));
			continue;
		}
		pair->snapshots += action.head[6] == ISO_PEER_SNAPSHOT;
		pair->innovations += action.head[6] == ISO_PEER_INNOVATION;
		if (action.payload_size > 0) {
			ck_assert_uint_le(action.payload_size, sizeof(pair->payload));
			pair->last = action;
			memcpy(pair->payload, action.payload, action.payload_size);
		}
		(void)!iso_peer_receive(pair->peers[1 - who], pair->now_ns, 0, action.head,
					sizeof(action.head), action.payload, action.payload_size);
		if (iso_peer_round(pair->peers[0]) > 20)
			return false;
	}
	return any;
}

static void open_pair(struct pair *pair)
{
	struct iso_peer_config first = config_of(0), second = config_of(1);

	*pair = (struct pair){ .peers = { make(&first), make(&second) }, .curvatures = { 1, 1 } };
}

static void close_pair(struct pair *pair)
{
	free(pair->peers[0]);
	free(pair->peers[1]);
}

static void run_pair(struct pair *pair)
{
	while (turn(pair, 0) | turn(pair, 1))
		if (iso_peer_round(pair->peers[0]) > 20)
			break;
	ck_assert_uint_gt(iso_peer_round(pair->peers[0]), 20);
}

START_TEST(two_nodes_need_no_time)
{
	struct pair pair;

	open_pair(&pair);
	run_pair(&pair);
	/* One snapshot of each; from then on only what is new. */
	ck_assert_uint_eq(pair.snapshots, 2);
	ck_assert_uint_ge(pair.innovations, 38);
	struct iso_peer_edge edge;
	iso_peer_edge(pair.peers[0], 0, &edge);
	ck_assert_uint_eq(edge.node, 2);
	ck_assert_double_eq(edge.weight, 0.5);
	ck_assert_double_eq(edge.loss, 1);
	ck_assert_uint_gt(edge.bytes_in, edge.frames_in * ISO_PEER_HEAD_BYTES);
	ck_assert_uint_gt(edge.payload_out, 0);
	struct iso_peer_status status;
	iso_peer_status(pair.peers[0], &status);
	ck_assert_double_eq(status.alpha, 0.25);
	ck_assert_uint_eq(status.bytes_out, edge.bytes_out);
	ck_assert_double_lt(status.z_norm, 2);
	close_pair(&pair);
}
END_TEST

static void refused(struct iso_peer_config config)
{
	uint8_t memory[8];
	struct iso_peer *peer = NULL;

	ck_assert_uint_eq(iso_peer_size(&config), 0);
	ck_assert_int_eq(iso_peer_init(memory, 0, &config, y_first, 0, 0, &peer), ISO_E_RANGE);
	ck_assert_ptr_null(peer);
}

START_TEST(a_configuration_out_of_range_is_refused)
{
	const uint64_t twice[] = { 2, 2 }, self[] = { 1 };
	struct iso_peer_config good = config_of(0), bad;

	ck_assert_uint_gt(iso_peer_size(&good), 0);
#define REFUSED(change)             \
	do {                        \
		bad = good;         \
		bad.change;         \
		refused(bad);       \
	} while (0)
	REFUSED(boot = 0);
	REFUSED(step = 0);
	REFUSED(step = 2);
	REFUSED(step = (double)NAN);
	REFUSED(alpha = -1);
	REFUSED(alpha = (double)INFINITY);
	REFUSED(resend_ns = 0);
	REFUSED(wait_ns = 100);
	REFUSED(rounds = ISO_PEER_ROUND_MAX + 1);
	REFUSED(stream.bits = 40);
	REFUSED(stream.n = ISO_PEER_PARAMS_MAX + 1);
	REFUSED(neighbour_count = ISO_PEER_NEIGHBOURS_MAX + 1);
	REFUSED(neighbours = self);
	bad = good;
	bad.neighbours = twice;
	bad.neighbour_count = 2;
	refused(bad);
	struct iso_peer *peer = NULL;
	uint64_t memory[1];
	ck_assert_int_eq(iso_peer_init(memory, sizeof(memory), &good, y_first, 0, 0, &peer),
			 ISO_E_SHORT);
}
END_TEST

/* A frame of the pair's, and what another node says of it. */
static enum iso_status said_to(struct pair *pair, struct iso_peer_config config)
{
	struct iso_peer *peer = make(&config);
	struct iso_peer_frame frame;
	enum iso_status status;

	ck_assert_ok(iso_peer_frame_decode(pair->last.head, sizeof(pair->last.head), &frame));
	status = iso_peer_receive(peer, 0, 0, pair->last.head, sizeof(pair->last.head),
				  pair->payload, pair->last.payload_size);
	struct iso_peer_edge edge;
	iso_peer_edge(peer, 0, &edge);
	ck_assert_uint_eq(edge.frames_bad, status != ISO_OK);
	free(peer);
	return status;
}

START_TEST(what_is_not_for_this_node_is_refused)
{
	struct pair pair;
	struct iso_peer_frame frame;

	open_pair(&pair);
	run_pair(&pair);
	ck_assert_ok(iso_peer_frame_decode(pair.last.head, sizeof(pair.last.head), &frame));
	uint32_t from = frame.source == 1 ? 0 : 1;
	struct iso_peer_config good = config_of(1 - from), bad = good;
	/* Of a session that this node knows nothing of. */
	ck_assert_int_eq(said_to(&pair, good), ISO_E_STALE);
	bad.plan = 78;
	ck_assert_int_eq(said_to(&pair, bad), ISO_E_CONFIG);
	bad = good;
	bad.stream.n = M - 1;
	ck_assert_int_eq(said_to(&pair, bad), ISO_E_CONFIG);
	bad = good;
	bad.neighbours = &ids[2];
	ck_assert_int_eq(said_to(&pair, bad), ISO_E_FOREIGN);
	bad = good;
	bad.node = 3;
	ck_assert_int_eq(said_to(&pair, bad), ISO_E_FOREIGN);
	pair.last.head[100] ^= 1;
	ck_assert_int_eq(iso_peer_receive(pair.peers[0], 0, 0, pair.last.head,
					  sizeof(pair.last.head), NULL, 0),
			 ISO_E_CHECKSUM);
	close_pair(&pair);
}
END_TEST

/* Once a number is not finite the node says nothing more: its estimates are worth nothing. */
START_TEST(a_gradient_that_is_not_finite_ends_it)
{
	struct iso_peer_config config = config_of(0);
	struct iso_peer_action action;
	const double curvatures[] = { 1, 0, -1, (double)NAN, (double)INFINITY };

	for (unsigned i = 0; i < 5; i++) {
		struct iso_peer *peer = make(&config);

		do
			ck_assert(iso_peer_next(peer, &action));
		while (action.what != ISO_PEER_COMPUTE);
		ck_assert_uint_eq(action.round, 0);
		ck_assert_double_eq(action.y[1], -2);
		action.gradient[0] = i == 0 ? (double)INFINITY : 1;
		action.gradient[1] = 1;
		ck_assert_int_eq(iso_peer_gradient(peer, 0, 1, curvatures[i]), ISO_E_RANGE);
		iso_peer_tick(peer, 100000);
		ck_assert(!iso_peer_next(peer, &action));
		ck_assert_uint_eq(iso_peer_wake_ns(peer), UINT64_MAX);
		free(peer);
	}
}
END_TEST

/* A frame of the second node's, made up. */
static struct iso_peer_frame frame_from(enum iso_peer_kind kind)
{
	return (struct iso_peer_frame){
		.kind = kind,
		.plan = 77,
		.source = ids[1],
		.destination = ids[0],
		.own = { 11, 1 },
		.echo = { 10, 1 },
		.params = M,
		.alpha = 0.25,
		.curvature = 1,
		.loss = 0.5,
	};
}

static enum iso_status hear(struct iso_peer *peer, struct iso_peer_frame frame,
			    const double *snapshot)
{
	uint8_t head[ISO_PEER_HEAD_BYTES];

	if (snapshot != NULL) {
		frame.seq = 1;
		frame.degree = 1;
		frame.split = 8 * M;
		frame.payload_bytes = 16 * M;
		frame.payload_checksum = iso_checksum(snapshot, 16 * M);
	}
	iso_peer_frame_encode(&frame, head);
	return iso_peer_receive(peer, peer->now_ns, 0, head, sizeof(head),
				(const uint8_t *)snapshot, frame.payload_bytes);
}

static void act(struct iso_peer *peer)
{
	struct iso_peer_action action;

	while (iso_peer_next(peer, &action)) {
		if (action.what == ISO_PEER_COMPUTE) {
			memcpy(action.gradient, action.y, M * sizeof(double));
			ck_assert_ok(iso_peer_gradient(peer, peer->now_ns, 1, 1));
		}
	}
}

START_TEST(nobody_is_followed_beyond_the_last_round)
{
	const double theirs[2 * M] = { 7, 7, 0, 0 };
	struct iso_peer_config config = config_of(0);

	config.rounds = 500;
	for (uint64_t round = 500; round <= 501; round++) {
		struct iso_peer *peer = make(&config);
		struct iso_peer_frame hello = frame_from(ISO_PEER_HELLO);
		struct iso_peer_frame snapshot = frame_from(ISO_PEER_SNAPSHOT);

		hello.round = snapshot.round = round;
		ck_assert_ok(hear(peer, hello, NULL));
		ck_assert_ok(hear(peer, snapshot, theirs));
		act(peer);
		ck_assert_uint_eq(iso_peer_round(peer), round == 500 ? 500 : 1);
		free(peer);
	}
	struct iso_peer *peer = NULL;
	uint64_t memory[512];
	ck_assert_uint_le(iso_peer_size(&config), sizeof(memory));
	ck_assert_int_eq(iso_peer_init(memory, sizeof(memory), &config, y_first,
				       ISO_PEER_ROUND_MAX + 1, 0, &peer),
			 ISO_E_RANGE);
}
END_TEST

/* Its next run, or session, may say another one. */
START_TEST(the_round_is_that_of_the_snapshot)
{
	const double theirs[2 * M] = { 7, 7, 0, 0 };
	struct iso_peer_config config = config_of(0);
	struct iso_peer *peer = make(&config);
	struct iso_peer_frame hello = frame_from(ISO_PEER_HELLO);
	struct iso_peer_frame snapshot = frame_from(ISO_PEER_SNAPSHOT);

	hello.round = snapshot.round = 500;
	ck_assert_ok(hear(peer, hello, NULL));
	ck_assert_ok(hear(peer, snapshot, theirs));
	hello.own.session = 2;
	hello.round = 0;
	ck_assert_ok(hear(peer, hello, NULL));
	peer->compute_wanted = false;
	ck_assert_ok(iso_peer_gradient(peer, 0, 1, 1));
	ck_assert_uint_eq(iso_peer_round(peer), 500);
	ck_assert_double_eq(iso_peer_model(peer)[0], 7);
	free(peer);
}
END_TEST

/* Who acknowledges what was never sent, in session after session, comes to an end of them. */
START_TEST(sessions_run_out_without_harm)
{
	struct iso_peer_config config = config_of(0);
	struct iso_peer *peer = make(&config);
	struct iso_peer_frame hello = frame_from(ISO_PEER_HELLO), ack = frame_from(ISO_PEER_ACK);
	struct iso_peer_action action;
	struct iso_peer_edge edge;

	peer->edges[0].session = UINT32_MAX - 2;
	for (uint32_t i = 0; i < 3; i++) {
		hello.echo.session = ack.echo.session = UINT32_MAX - 2 + i;
		hello.own.session = ack.own.session = 1 + i;
		ack.ack = 17;
		hello.base_session = i;
		hello.base = i == 0 ? (struct iso_peer_nonce){ 0 }
				    : (struct iso_peer_nonce){ 10, UINT32_MAX - 3 + i };
		ck_assert_int_eq(hear(peer, hello, NULL), i < 2 ? ISO_OK : ISO_E_STALE);
		ck_assert_int_eq(hear(peer, ack, NULL), i < 2 ? ISO_E_MALFORMED : ISO_E_STALE);
		/* The gradient takes its time. */
		while (iso_peer_next(peer, &action))
			;
	}
	iso_peer_edge(peer, 0, &edge);
	ck_assert_int_eq(edge.state, ISO_PEER_IS_HELD);
	while (iso_peer_wake_ns(peer) != UINT64_MAX) {
		iso_peer_tick(peer, iso_peer_wake_ns(peer));
		ck_assert(!iso_peer_next(peer, &action));
	}
	iso_peer_edge(peer, 0, &edge);
	ck_assert_int_eq(edge.state, ISO_PEER_IS_DOWN);
	ck_assert_uint_eq(edge.sessions, 2);
	free(peer);
}
END_TEST

START_TEST(a_curvature_beyond_all_reason_is_not_believed)
{
	const double theirs[] = { 0x1p30, 0x1p31, ISO_PEER_AMOUNT_MAX };

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		struct iso_peer_status view;
		struct pair pair;

		open_pair(&pair);
		pair.curvatures[1] = theirs[i];
		run_pair(&pair);
		iso_peer_status(pair.peers[0], &view);
		ck_assert_double_eq(view.curvature, i == 0 ? theirs[i] : 1);
		iso_peer_status(pair.peers[1], &view);
		ck_assert_double_eq(view.curvature, theirs[i]);
		close_pair(&pair);
	}
}
END_TEST

/* The first thing that is to be sent, decoded. */
static struct iso_peer_frame next_frame(struct iso_peer *peer)
{
	struct iso_peer_action action;
	struct iso_peer_frame frame;

	ck_assert(iso_peer_next(peer, &action));
	ck_assert_int_eq(action.what, ISO_PEER_SEND);
	ck_assert_ok(iso_peer_frame_decode(action.head, sizeof(action.head), &frame));
	return frame;
}

/* y_first is 2 in size, and the gradient of 1 of curvature 1 is less. */
START_TEST(what_is_barred_is_2_to_the_40th_of_what_is_usual)
{
	const double usual = 2 * 0x1p40, more = 0x1.0000001p41;
	const double snapshots[][2 * M] = {
		{ usual, 0, 0, -usual }, { more, 0, 0, 0 }, { 0, -more, 0, 0 },
		{ 0, 0, more, 0 },	 { 0, 0, 0, more }, { 0, (double)NAN, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(snapshots) / sizeof(snapshots[0]); i++) {
		struct iso_peer_config config = config_of(0);
		struct iso_peer *peer = make(&config);
		struct iso_peer_edge edge;

		ck_assert_ok(hear(peer, frame_from(ISO_PEER_HELLO), NULL));
		act(peer);
		ck_assert_int_eq(hear(peer, frame_from(ISO_PEER_SNAPSHOT), snapshots[i]),
				 i == 0 ? ISO_OK : ISO_E_RANGE);
		iso_peer_edge(peer, 0, &edge);
		ck_assert_int_eq(edge.state, i == 0 ? ISO_PEER_IS_LIVE : ISO_PEER_IS_DOWN);
		ck_assert_uint_eq(edge.bars, i != 0);
		ck_assert_uint_eq(edge.drops, i != 0);
		ck_assert_uint_eq(edge.barred_ns, i == 0 ? 0 : 6000);
		free(peer);
	}
}
END_TEST

static void check_farewell(struct iso_peer *peer, uint32_t session)
{
	struct iso_peer_frame bye = next_frame(peer);

	ck_assert_int_eq(bye.kind, ISO_PEER_BYE);
	ck_assert_uint_eq(bye.flags, ISO_PEER_LEAVING);
	ck_assert_uint_eq(bye.own.session, session);
	ck_assert_uint_eq(bye.echo.boot, 11);
	ck_assert_uint_eq(bye.echo.session, 1);
}

/* Once it is over it is talked to again; the next time it is twice as long. */
START_TEST(who_is_barred_is_told_once_and_not_heard_for_a_while)
{
	const double huge[2 * M] = { 0x1p60, 0, 0, 0 };
	struct iso_peer_config config = config_of(0);
	struct iso_peer *peer = make(&config);
	struct iso_peer_action action;
	struct iso_peer_edge edge;

	ck_assert_ok(hear(peer, frame_from(ISO_PEER_HELLO), NULL));
	act(peer);
	ck_assert_int_eq(hear(peer, frame_from(ISO_PEER_SNAPSHOT), huge), ISO_E_RANGE);
	check_farewell(peer, 1);
	ck_assert(!iso_peer_next(peer, &action));
	ck_assert_int_eq(hear(peer, frame_from(ISO_PEER_HELLO), NULL), ISO_E_STALE);
	iso_peer_tick(peer, 5000);
	ck_assert_uint_eq(iso_peer_wake_ns(peer), 6000);
	iso_peer_tick(peer, 5999);
	ck_assert(!iso_peer_next(peer, &action));
	iso_peer_tick(peer, 6000);
	struct iso_peer_frame hello = next_frame(peer);
	ck_assert_int_eq(hello.kind, ISO_PEER_HELLO);
	ck_assert_uint_eq(hello.base_session, 0);

	struct iso_peer_frame answer = frame_from(ISO_PEER_HELLO);
	struct iso_peer_frame snapshot = frame_from(ISO_PEER_SNAPSHOT);
	answer.own.session = snapshot.own.session = 2;
	answer.echo = snapshot.echo = hello.own;
	ck_assert_ok(hear(peer, answer, NULL));
	act(peer);
	ck_assert_int_eq(hear(peer, snapshot, huge), ISO_E_RANGE);
	iso_peer_edge(peer, 0, &edge);
	ck_assert_uint_eq(edge.bars, 2);
	ck_assert_uint_eq(edge.barred_ns, 12000);
	free(peer);
}
END_TEST

/* What came before is judged by it; the neighbour may have begun a new session since. */
START_TEST(the_first_gradient_says_what_is_usual)
{
	const double late[2 * M] = { 0, 0, 0x1p60, 0 };

	for (int is_held = 0; is_held <= 1; is_held++) {
		struct iso_peer_config config = config_of(0);
		struct iso_peer *peer = make(&config);
		struct iso_peer_frame again = frame_from(ISO_PEER_HELLO);
		struct iso_peer_action action;
		struct iso_peer_edge edge;

		ck_assert_ok(hear(peer, frame_from(ISO_PEER_HELLO), NULL));
		ck_assert_ok(hear(peer, frame_from(ISO_PEER_SNAPSHOT), late));
		again.own.session = 2;
		again.base_session = 1;
		again.base = (struct iso_peer_nonce){ 10, 1 };
		if (is_held)
			ck_assert_ok(hear(peer, again, NULL));
		iso_peer_edge(peer, 0, &edge);
		ck_assert_int_eq(edge.state, is_held ? ISO_PEER_IS_HELD : ISO_PEER_IS_LIVE);
		do
			ck_assert(iso_peer_next(peer, &action));
		while (action.what != ISO_PEER_COMPUTE);
		memcpy(action.gradient, action.y, M * sizeof(double));
		ck_assert_ok(iso_peer_gradient(peer, 0, 1, 1));
		iso_peer_edge(peer, 0, &edge);
		ck_assert_uint_eq(edge.bars, 1);
		ck_assert_int_eq(edge.state, ISO_PEER_IS_DOWN);
		check_farewell(peer, 1);
		free(peer);
	}
}
END_TEST

/* Hears it in the session that it has just left for want of an answer. */
START_TEST(who_hears_that_it_is_barred_forgets)
{
	const double theirs[2 * M] = { 1, 1, 1, 1 };

	for (int is_held = 0; is_held <= 1; is_held++) {
		struct iso_peer_config config = config_of(0);
		struct iso_peer *peer = make(&config);
		struct iso_peer_frame bye = frame_from(ISO_PEER_BYE);
		struct iso_peer_edge edge;

		ck_assert_ok(hear(peer, frame_from(ISO_PEER_HELLO), NULL));
		act(peer);
		ck_assert_ok(hear(peer, frame_from(ISO_PEER_SNAPSHOT), theirs));
		act(peer);
		if (is_held)
			iso_peer_tick(peer, 1000);
		iso_peer_edge(peer, 0, &edge);
		ck_assert_int_eq(edge.state, is_held ? ISO_PEER_IS_HELD : ISO_PEER_IS_LIVE);
		ck_assert_double_ne(edge.flux[0], 0);
		bye.flags = ISO_PEER_LEAVING;
		bye.seq = 1;
		ck_assert_ok(hear(peer, bye, NULL));
		iso_peer_edge(peer, 0, &edge);
		ck_assert_int_eq(edge.state, ISO_PEER_IS_DOWN);
		ck_assert_double_eq(edge.flux[0], 0);
		free(peer);
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peer");
	TCase *tcase = tcase_create("node");

	tcase_add_test(tcase, two_nodes_need_no_time);
	tcase_add_test(tcase, a_configuration_out_of_range_is_refused);
	tcase_add_test(tcase, what_is_not_for_this_node_is_refused);
	tcase_add_test(tcase, a_gradient_that_is_not_finite_ends_it);
	tcase_add_test(tcase, nobody_is_followed_beyond_the_last_round);
	tcase_add_test(tcase, the_round_is_that_of_the_snapshot);
	tcase_add_test(tcase, sessions_run_out_without_harm);
	tcase_add_test(tcase, a_curvature_beyond_all_reason_is_not_believed);
	tcase_add_test(tcase, what_is_barred_is_2_to_the_40th_of_what_is_usual);
	tcase_add_test(tcase, who_is_barred_is_told_once_and_not_heard_for_a_while);
	tcase_add_test(tcase, the_first_gradient_says_what_is_usual);
	tcase_add_test(tcase, who_hears_that_it_is_barred_forgets);
	suite_add_tcase(suite, tcase);
	return suite;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/node/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/net/curve.h"
#include "tests/test.h"

#define KEY_B "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_C "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"

static char directory[64];
static int dir_fd;
static struct conf conf;
static struct peers peers;
static struct error error;

static void setup(void)
{
	snprintf(directory, sizeof(directory), "/tmp/isobar-peers-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	int r = conf_parse("x.conf",
			   "cluster = lab node = a budget = 2cpu endowment = 1cpu cgroup = /a\n"
			   "listen = tcp://192.0.2.1:7400 secret-key = /k\n"
			   "neighbour b { address = tcp://192.0.2.2:7400 public-key = '" KEY_B
			   "' limit = 1cpu }\n",
			   &conf, &error);
	ck_assert_msg(r == 0, "%s", error.text);
}

static void teardown(void)
{
	char command[96];

	close(dir_fd);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static int load(void)
{
	memset(&peers, 0x5a, sizeof(peers));
	return peers_load(&conf, dir_fd, directory, &peers, &error);
}

static struct opjson_neighbour named(const char *name, const char *key)
{
	struct opjson_neighbour neighbour = { .gen = 1 };

	snprintf(neighbour.name, sizeof(neighbour.name), "%s", name);
	snprintf(neighbour.address, sizeof(neighbour.address), "tcp://192.0.2.9:7400");
	snprintf(neighbour.public_key, sizeof(neighbour.public_key), "%s", key);
	return neighbour;
}

static int tell(const struct opjson_neighbour *neighbour)
{
	return peers_tell(&peers, &conf, dir_fd, directory, neighbour, &error);
}

static void put_file(const char *text)
{
	int fd = openat(dir_fd, PEERS_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static bool has_file(void)
{
	return faccessat(dir_fd, PEERS_NAME, F_OK, 0) == 0;
}

START_TEST(without_a_file_the_configuration_counts)
{
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(peers.count, 1);
	ck_assert_str_eq(peers.of[0].as.name, "b");
	ck_assert_uint_eq(peers.of[0].id, conf_node_id("lab", "b"));
	ck_assert(!peers.of[0].is_told);
	ck_assert_uint_eq(peers.of[0].link, UINT32_MAX);
}
END_TEST

START_TEST(what_was_told_is_known_after_a_restart)
{
	struct opjson_neighbour c = named("c", KEY_C);

	ck_assert_int_eq(load(), 0);
	peers.of[0].link = 5;
	ck_assert_int_eq(tell(&c), 0);
	ck_assert_uint_eq(peers.count, 2);
	ck_assert_uint_eq(peers.of[0].link, 5);
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(peers.count, 2);
	struct peer *peer = peers_find(&peers, conf_node_id("lab", "c"));
	ck_assert_ptr_nonnull(peer);
	ck_assert_mem_eq(&peer->as, &c, sizeof(c));
	ck_assert(peer->is_told);
	ck_assert(!peer->is_other);
	ck_assert_ptr_null(peers_find(&peers, 17));
}
END_TEST

START_TEST(what_was_told_goes_before_the_configuration_and_says_so)
{
	struct opjson_neighbour b = named("b", KEY_C);

	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(tell(&b), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(peers.count, 1);
	ck_assert_str_eq(peers.of[0].as.public_key, KEY_C);
	ck_assert(peers.of[0].is_other);
}
END_TEST

START_TEST(what_the_configuration_says_already_needs_no_file)
{
	struct opjson_neighbour b = named("b", KEY_B);

	memcpy(b.address, conf.neighbours[0].address, sizeof(b.address));
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(tell(&b), 0);
	ck_assert(!has_file());
	ck_assert(!peers.of[0].is_told);
}
END_TEST

START_TEST(a_key_stands_for_one_neighbour)
{
	struct opjson_neighbour c = named("c", KEY_B);

	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(tell(&c), -EEXIST);
	ck_assert_str_eq(error.text, "neighbour c has the key of b");
	ck_assert_uint_eq(peers.count, 1);
	ck_assert(!has_file());
}
END_TEST

START_TEST(a_damaged_file_costs_only_what_was_told)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"neighbours\": [], \"version\": 2}",
		"{\"neighbours\": [{\"name\": \"c\"}], \"version\": 1}",
		"{\"neighbours\": {}, \"version\": 1}",
	};
	struct opjson_neighbour c = named("c", KEY_C);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_file(texts[i]);
		ck_assert_int_eq(load(), -EUCLEAN);
		ck_assert_ptr_nonnull(strstr(error.text, directory));
		ck_assert_uint_eq(peers.count, 1);
		ck_assert_str_eq(peers.of[0].as.name, "b");
	}
	/* And the next that is told makes a good one of it. */
	ck_assert_int_eq(tell(&c), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(peers.count, 2);
}
END_TEST

START_TEST(a_file_that_is_none_or_far_too_large_is_damaged)
{
	static char large[70000];

	memset(large, ' ', sizeof(large) - 1);
	put_file(large);
	ck_assert_int_eq(load(), -EUCLEAN);
	ck_assert_uint_eq(peers.count, 1);
	ck_assert_int_eq(unlinkat(dir_fd, PEERS_NAME, 0), 0);
	ck_assert_int_eq(mkdirat(dir_fd, PEERS_NAME, 0700), 0);
	ck_assert_int_eq(load(), -EUCLEAN);
	struct opjson_neighbour c = named("c", KEY_C);
	/* Cannot be replaced either: then it is not known. */
	ck_assert_int_lt(tell(&c), 0);
	ck_assert_uint_eq(peers.count, 1);
	ck_assert_int_eq(faccessat(dir_fd, PEERS_NAME ".new", F_OK, 0), -1);
}
END_TEST

START_TEST(sixty_four_are_the_most)
{
	struct opjson_neighbour more = named("more", KEY_C);

	ck_assert_int_eq(load(), 0);
	for (unsigned i = 1; i < PEERS_MAX; i++) {
		struct curve_keypair keys;
		char name[16];

		ck_assert_int_eq(curve_keypair_new(&keys, &error), 0);
		snprintf(name, sizeof(name), "n%u", i);
		struct opjson_neighbour neighbour = named(name, keys.public_key);
		ck_assert_int_eq(tell(&neighbour), 0);
	}
	ck_assert_int_eq(tell(&more), -ENOSPC);
	ck_assert_uint_eq(peers.count, PEERS_MAX);
	ck_assert_int_eq(load(), 0);
	ck_assert_uint_eq(peers.count, PEERS_MAX);
	/* The configuration has one more meanwhile: it goes first. */
	conf.neighbours[1] = conf.neighbours[0];
	snprintf(conf.neighbours[1].name, sizeof(conf.neighbours[1].name), "late");
	conf.neighbours[1].id = conf_node_id("lab", "late");
	conf.neighbour_count = 2;
	ck_assert_int_eq(load(), -ENOSPC);
	ck_assert_uint_eq(peers.count, PEERS_MAX);
	ck_assert_str_eq(peers.of[1].as.name, "late");
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("peers");
	TCase *tcase = tcase_create("file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, without_a_file_the_configuration_counts);
	tcase_add_test(tcase, what_was_told_is_known_after_a_restart);
	tcase_add_test(tcase, what_was_told_goes_before_the_configuration_and_says_so);
	tcase_add_test(tcase, what_the_configuration_says_already_needs_no_file);
	tcase_add_test(tcase, a_key_stands_for_one_neighbour);
	tcase_add_test(tcase, a_damaged_file_costs_only_what_was_told);
	tcase_add_test(tcase, a_file_that_is_none_or_far_too_large_is_damaged);
	tcase_add_test(tcase, sixty_four_are_the_most);
	suite_add_tcase(suite, tcase);
	return suite;
}

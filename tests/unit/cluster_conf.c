/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/admin/cluster_conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/test.h"

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define NODE(name, port)                                                                           \
	"node " name " { admin = tcp://192.0.2.1:" port "\npublic-key = '" KEY "'\n"               \
	"address = tcp://192.0.2.1:1" port " }\n"

static struct cluster_conf conf;
static struct error error;

static void fails(const char *text, const char *expected)
{
	static struct cluster_conf before;

	memset(&conf, 0x5a, sizeof(conf));
	before = conf;
	ck_assert_int_eq(cluster_conf_parse("x.conf", text, &conf, &error), -EINVAL);
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(memcmp(&conf, &before, sizeof(conf)), 0);
}

START_TEST(says_where_the_nodes_are)
{
	const char *text = "cluster = lab\nsecret-key = /k\n" NODE("a", "7401") NODE("b", "7402");

	ck_assert_msg(cluster_conf_parse("x.conf", text, &conf, &error) == 0, "%s", error.text);
	ck_assert_uint_eq(conf.node_count, 2);
	ck_assert_str_eq(conf.registry, ISO_STATEDIR "/registry");
	ck_assert_uint_eq(conf.nodes[1].id, conf_node_id("lab", "b"));
	ck_assert_ptr_eq(cluster_conf_find(&conf, conf_node_id("lab", "a")), &conf.nodes[0]);
	ck_assert_ptr_eq(cluster_conf_find_name(&conf, "b"), &conf.nodes[1]);
	ck_assert_ptr_null(cluster_conf_find_name(&conf, "c"));
	/* On this machine no key is needed. */
	ck_assert_int_eq(cluster_conf_parse("x.conf",
					    "cluster = lab\nregistry = /r\nnode a {\n"
					    "admin = 'unix:/run/isobar/a/control'\n}\n",
					    &conf, &error),
			 0);
	ck_assert_str_eq(conf.registry, "/r");
}
END_TEST

START_TEST(says_where_and_what_is_wrong)
{
	fails("cluster = lab\n", "x.conf: no node: expected node NAME { admin = ... }");
	fails("cluster = lab\n" NODE("a", "7401"),
	      "x.conf: line 2: node a: a node at tcp:// needs secret-key at the top");
	fails("cluster = lab\nsecret-key = /k\nnode a { admin = tcp://192.0.2.1:7401 }\n",
	      "x.conf: line 3: node a: a node at tcp:// needs its public-key");
	fails("cluster = lab\nnode a { admin = 'unix:/c'\naddress = tcp://192.0.2.1:7400\n}\n",
	      "x.conf: line 2: node a: with its address neighbours need its public-key");
	fails("cluster = lab\nsecret-key = /k\n" NODE("a", "7401") NODE("b", "7401"),
	      "x.conf: line 6: node b is at the same place as node a");
}
END_TEST

START_TEST(a_place_that_is_none_is_refused)
{
	static const char *const places[] = { "tcp://localhost:7401", "tcp://192.0.2.1",
					      "unix:", "7401", "ipc:///x" };
	char text[200];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(text, sizeof(text),
			 "cluster = lab\nsecret-key = /k\nnode a { admin = '%s' }\n", places[i]);
		ck_assert_int_eq(cluster_conf_parse("x.conf", text, &conf, &error), -EINVAL);
		ck_assert_ptr_nonnull(strstr(error.text, "x.conf: line 3: node a: admin: "));
	}
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("cluster_conf");
	TCase *tcase = tcase_create("configuration");

	tcase_add_test(tcase, says_where_the_nodes_are);
	tcase_add_test(tcase, says_where_and_what_is_wrong);
	tcase_add_test(tcase, a_place_that_is_none_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

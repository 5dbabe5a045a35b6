/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/loop.h"
#include "tests/test.h"

#define SECOND_NS 1000000000ull
#define NOBODY	  65534
#define GROUP	  "daemon" /* exists everywhere, and nobody is in it */

static char directory[64], path[80];
static pid_t server;
static struct error error;

static json_t *on_ask(void *context, const json_t *request)
{
	return json_pack("{s:s, s:O}", "who", context, "you",
			 json_object_get(request, "you") != NULL ? json_object_get(request, "you")
								 : json_null());
}

static json_t *on_set(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return json_object();
}

static json_t *on_broken(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return NULL;
}

static json_t *on_refuse(void *context, const json_t *request)
{
	(void)context;
	(void)request;
	return control_refuse("not \xff today");
}

/* A reply of about as many bytes as asked for. */
static json_t *on_large(void *context, const json_t *request)
{
	size_t bytes = (size_t)json_integer_value(json_object_get(request, "bytes"));
	char *text = malloc(bytes + 1);

	(void)context;
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	json_t *reply = json_pack("{s:s}", "text", text);
	free(text);
	return reply;
}

/* Nobody is ever answered here: tests/unit/admin.c has the rest. */
static json_t *on_later(void *context, const json_t *request, const struct control_token *token)
{
	(void)context;
	(void)request;
	(void)token;
	return NULL;
}

static char who[] = "server";

static const struct control_command commands[] = {
	{ .name = "ask", .fn = on_ask },
	{ .name = "set", .changes_state = true, .fn = on_set },
	{ .name = "broken", .fn = on_broken },
	{ .name = "refuse", .fn = on_refuse },
	{ .name = "large", .fn = on_large },
	{ .name = "later", .later = on_later },
};

static struct control_config configure(void)
{
	return (struct control_config){
		.directory = directory,
		.commands = commands,
		.command_count = sizeof(commands) / sizeof(commands[0]),
		.context = who,
	};
}

/* Serves in a process of its own; returns once it listens. */
static void start_server(const struct control_config *config)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	server = fork();
	if (server == 0) {
		static struct loop loop;
		struct control *control;

		if (control_open(config, &loop, &control, &error) < 0) {
			fprintf(stderr, "%s\n", error.text);
			_exit(1);
		}
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		loop_run(&loop);
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void stop_server(int signal)
{
	int status;

	if (server <= 0)
		return;
	kill(server, signal);
	ck_assert_int_eq(waitpid(server, &status, 0), server);
	/* It was alive until we ended it. */
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), signal);
	server = 0;
}

static void setup(void)
{
	snprintf(directory, sizeof(directory), "/tmp/isobar-control-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chmod(directory, 0755), 0);
	snprintf(path, sizeof(path), "%s/control", directory);
	server = 0;
}

static void teardown(void)
{
	char command[96];

	stop_server(SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static json_t *call(const char *text)
{
	json_t *request = json_loads(text, 0, NULL), *reply = NULL;

	ck_assert_ptr_nonnull(request);
	int r = control_call(path, request, 5 * SECOND_NS, &reply, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	json_decref(request);
	return reply;
}

static void reply_is(json_t *reply, const char *expected)
{
	char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_str_eq(text, expected);
	free(text);
	json_decref(reply);
}

static int raw_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), bytes = 1 << 18;

	memcpy(address.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return fd;
}

/* The answer to one packet, as text; NULL when the server hung up. */
static const char *raw_call(int fd, const void *bytes, size_t size)
{
	static char reply[4096];
	struct pollfd item = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
	ck_assert_int_eq(poll(&item, 1, 5000), 1);
	ssize_t n = recv(fd, reply, sizeof(reply) - 1, 0);
	if (n <= 0)
		return NULL;
	reply[n] = '\0';
	return reply;
}

START_TEST(answers_one_packet_with_one_packet)
{
	struct control_config config = configure();

	start_server(&config);
	reply_is(call("{\"command\": \"ask\", \"you\": \"me\"}"),
		 "{\"ok\":true,\"who\":\"server\",\"you\":\"me\"}");
	reply_is(call("{\"command\": \"ask\"}"), "{\"ok\":true,\"who\":\"server\",\"you\":null}");
	/* Several questions over one connection. */
	int fd = raw_connect();
	for (int i = 0; i < 100; i++)
		ck_assert_str_eq(raw_call(fd, "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	close(fd);
}
END_TEST

START_TEST(bad_requests_get_a_reason)
{
	struct control_config config = configure();

	start_server(&config);
	reply_is(call("{\"command\": \"dance\"}"),
		 "{\"error\":\"there is no command 'dance'\",\"ok\":false}");
	reply_is(call("{\"commands\": \"ask\"}"),
		 "{\"error\":\"the request has no command\",\"ok\":false}");
	reply_is(call("{\"command\": 5}"),
		 "{\"error\":\"the request has no command\",\"ok\":false}");
	reply_is(call("[\"ask\"]"), "{\"error\":\"the request has no command\",\"ok\":false}");
	reply_is(call("{\"command\": \"broken\"}"), "{\"error\":\"internal error\",\"ok\":false}");
	reply_is(call("{\"command\": \"refuse\"}"), "{\"error\":\"not ? today\",\"ok\":false}");
	int fd = raw_connect();
	ck_assert_str_eq(raw_call(fd, "{\"command\":", 11),
			 "{\"error\":\"the request is no JSON object: "
			 "unexpected token near end of file\",\"ok\":false}");
	close(fd);
}
END_TEST

START_TEST(a_second_request_before_the_answer_ends_the_client)
{
	struct control_config config = configure();

	start_server(&config);
	int fd = raw_connect();
	ck_assert_int_eq(send(fd, "{\"command\":\"later\"}", 19, MSG_NOSIGNAL), 19);
	ck_assert_ptr_null(raw_call(fd, "{\"command\":\"set\"}", 17));
	close(fd);
	reply_is(call("{\"command\": \"set\"}"), "{\"ok\":true}");
}
END_TEST

START_TEST(refuses_packets_that_are_too_long_and_goes_on)
{
	struct control_config config = configure();
	size_t size = CONTROL_PACKET_BYTES_MAX + 1;
	char *bytes = malloc(size);

	start_server(&config);
	memset(bytes, ' ', size);
	int fd = raw_connect();
	ck_assert_str_eq(raw_call(fd, bytes, size),
			 "{\"error\":\"the request is longer than 262144 bytes\",\"ok\":false}");
	memcpy(bytes, "{\"command\":\"set\"}", 17);
	ck_assert_str_eq(raw_call(fd, bytes, size - 1), "{\"ok\":true}");
	close(fd);
	free(bytes);
}
END_TEST

START_TEST(sends_large_replies_and_says_when_one_is_too_large)
{
	struct control_config config = configure();

	start_server(&config);
	json_t *reply = call("{\"command\": \"large\", \"bytes\": 250000}");
	ck_assert_uint_eq(json_string_length(json_object_get(reply, "text")), 250000);
	json_decref(reply);
	reply_is(call("{\"command\": \"large\", \"bytes\": 5000000}"),
		 "{\"error\":\"the reply is too large\",\"ok\":false}");
}
END_TEST

START_TEST(a_client_that_never_reads_holds_nobody_up)
{
	struct control_config config = configure();
	static const char request[] = "{\"command\":\"large\",\"bytes\":100000}";
	int fd;

	start_server(&config);
	fd = raw_connect();
	for (int i = 0; i < 1000; i++)
		if (send(fd, request, sizeof(request) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	for (int i = 0; i < 20; i++)
		json_decref(call("{\"command\": \"ask\"}"));
	close(fd);
	json_decref(call("{\"command\": \"ask\"}"));
}
END_TEST

START_TEST(takes_sixteen_clients_and_tells_the_next)
{
	struct control_config config = configure();
	int fds[CONTROL_CLIENTS_MAX];

	start_server(&config);
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = raw_connect();
		ck_assert_str_eq(raw_call(fds[i], "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	}
	reply_is(call("{\"command\": \"ask\"}"),
		 "{\"error\":\"too many clients, try again\",\"ok\":false}");
	/* All of them are still served. */
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		ck_assert_str_eq(raw_call(fds[i], "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close(fds[i]);
	for (int i = 0; i < 100; i++) {
		json_t *reply = call("{\"command\": \"ask\"}");
		bool is_in = json_is_true(json_object_get(reply, "ok"));

		json_decref(reply);
		if (is_in)
			return;
		usleep(10000);
	}
	ck_abort_msg("the places are not free again");
}
END_TEST

START_TEST(drops_clients_that_stay_silent)
{
	struct control_config config = configure();
	char byte;

	config.idle_ns = SECOND_NS / 10;
	start_server(&config);
	int fd = raw_connect();
	struct pollfd item = { .fd = fd, .events = POLLIN };
	ck_assert_int_eq(poll(&item, 1, 10000), 1);
	ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
	close(fd);
}
END_TEST

START_TEST(only_one_instance_at_a_time)
{
	struct control_config config = configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char expected[200];

	start_server(&config);
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), -EBUSY);
	snprintf(expected, sizeof(expected),
		 "'%s/lock' is held by process %d: one instance at a time", directory, (int)server);
	ck_assert_str_eq(error.text, expected);
	ck_assert_ptr_null(control);
	ck_assert_uint_eq(loop.count, 0);
	/* The one that runs has lost nothing by it. */
	json_decref(call("{\"command\": \"ask\"}"));
}
END_TEST

START_TEST(takes_over_after_a_crash_and_leaves_nothing_behind)
{
	struct control_config config = configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char lock[96];

	start_server(&config);
	stop_server(SIGKILL);
	ck_assert_int_eq(access(path, F_OK), 0);
	int r = control_open(&config, &loop, &control, &error);
	ck_assert_msg(r == 0, "%s", error.text);
	control = control_close(control);
	ck_assert_ptr_null(control);
	snprintf(lock, sizeof(lock), "%s/lock", directory);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_lt(access(lock, F_OK), 0);
	ck_assert_uint_eq(loop.count, 0);
}
END_TEST

START_TEST(refuses_what_is_in_its_way)
{
	struct control_config config = configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char expected[200], deep[200];

	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), -EEXIST);
	snprintf(expected, sizeof(expected), "'%s' is in the way: it is not a socket", path);
	ck_assert_str_eq(error.text, expected);
	ck_assert_int_eq(rmdir(path), 0);

	memset(deep, 'd', sizeof(deep));
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	config.directory = deep;
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), -ENAMETOOLONG);
	config.directory = "/nonexistent";
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), -ENOENT);
	ck_assert_str_eq(error.text, "create '/nonexistent/lock': No such file or directory");
	config.directory = directory;
	config.group = "no-such-group";
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), -ENOENT);
	ck_assert_str_eq(error.text, "control-group: there is no group 'no-such-group'");
}
END_TEST

/* Asks as another user; returns whether it was allowed. */
static bool is_allowed(const char *request, gid_t gid, gid_t extra)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgroups(extra != 0, &extra) < 0 || setgid(gid) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		json_t *reply = call(request);
		_exit(json_is_true(json_object_get(reply, "ok")) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ne(WEXITSTATUS(status), 2);
	return WEXITSTATUS(status) == 0;
}

START_TEST(only_root_and_the_group_may_change_the_state)
{
	struct control_config config = configure();
	const struct group *group = getgrnam(GROUP);

	if (geteuid() != 0 || group == NULL)
		return;
	start_server(&config);
	ck_assert(is_allowed("{\"command\":\"ask\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", group->gr_gid, 0));
	stop_server(SIGKILL);

	config.group = GROUP;
	start_server(&config);
	ck_assert(is_allowed("{\"command\":\"ask\"}", NOBODY, 0));
	ck_assert(!is_allowed("{\"command\":\"set\"}", NOBODY, 0));
	ck_assert(is_allowed("{\"command\":\"set\"}", group->gr_gid, 0));
	ck_assert(is_allowed("{\"command\":\"set\"}", NOBODY, group->gr_gid));
}
END_TEST

/* One that may only ask cannot keep out those who may do more, nor all others who ask. */
START_TEST(a_stranger_cannot_take_all_places)
{
	struct control_config config = configure();
	int counted[2];
	unsigned places = 0;

	if (geteuid() != 0)
		return; /* we cannot become another user */
	start_server(&config);
	ck_assert_int_eq(pipe(counted), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(counted[0]);
		if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
			_exit(2);
		for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
			char reply[256] = "";
			int fd = raw_connect();

			/* Whoever gets no place is told so before it asks. */
			(void)send(fd, "{\"command\":\"ask\"}", 17, MSG_NOSIGNAL);
			if (recv(fd, reply, sizeof(reply) - 1, 0) < 0)
				(void)recv(fd, reply, sizeof(reply) - 1, 0);
			places += strstr(reply, "\"ok\":true") != NULL;
		}
		if (write(counted[1], &places, sizeof(places)) != sizeof(places))
			_exit(2);
		pause();
	}
	close(counted[1]);
	ck_assert_int_eq(read(counted[0], &places, sizeof(places)), sizeof(places));
	ck_assert_uint_eq(places, CONTROL_CLIENTS_MAX / 2);
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		int fd = raw_connect();

		ck_assert_str_eq(raw_call(fd, "{\"command\":\"set\"}", 17), "{\"ok\":true}");
	}
	/* Among equals it is as before: no place is taken from anybody. */
	reply_is(call("{\"command\": \"ask\"}"),
		 "{\"error\":\"too many clients, try again\",\"ok\":false}");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(the_mode_of_the_socket_is_as_configured)
{
	struct control_config config = configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	struct stat st;

	ck_assert_int_eq(control_open(&config, &loop, &control, &error), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
	control = control_close(control);
	config.group_only = true;
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0660);
	control = control_close(control);
}
END_TEST

/* Who can open the lock can hold it, and keep the agent from starting again after a crash. */
START_TEST(nobody_else_can_open_the_lock)
{
	struct control_config config = configure();
	struct loop loop = { 0 };
	struct control *control = NULL;
	char lock[96];
	struct stat st;

	snprintf(lock, sizeof(lock), "%s/lock", directory);
	/* Left behind by a version that was more generous. */
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	close(fd);
	ck_assert_int_eq(control_open(&config, &loop, &control, &error), 0);
	ck_assert_int_eq(stat(lock, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	control = control_close(control);
}
END_TEST

START_TEST(says_why_nobody_answers)
{
	json_t *request = json_pack("{s:s}", "command", "ask"), *reply = NULL;
	char expected[200];

	ck_assert_int_eq(control_call(path, request, SECOND_NS, &reply, &error), -ENOENT);
	snprintf(expected, sizeof(expected), "connect to '%s': No such file or directory", path);
	ck_assert_str_eq(error.text, expected);

	/* Listens, but never answers. */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(control_call(path, request, SECOND_NS, &reply, &error), -ECONNREFUSED);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(control_call(path, request, SECOND_NS / 20, &reply, &error), -ETIMEDOUT);
	close(fd);
	ck_assert_ptr_null(reply);
	json_decref(request);
}
END_TEST

/* Whatever comes, there is an answer or an end, and the next client is served. */
START_TEST(survives_random_packets)
{
	struct control_config config = configure();
	static const char seed[] = "{\"command\":\"ask\",\"you\":[1,2.5,{\"a\":null}]}";
	struct iso_rng rng = { test_seed_base() };

	start_server(&config);
	int fd = raw_connect();
	for (int i = 0; i < test_runs(2000); i++) {
		uint8_t bytes[300];
		size_t size = sizeof(seed) - 1;

		memcpy(bytes, seed, size);
		if (iso_rng_below(&rng, 4) == 0)
			size = 1 + iso_rng_below(&rng, sizeof(bytes));
		for (uint64_t flips = iso_rng_below(&rng, 5); flips > 0; flips--)
			bytes[iso_rng_below(&rng, size)] = (uint8_t)iso_rng_next(&rng);
		if (raw_call(fd, bytes, size) == NULL) {
			close(fd);
			fd = raw_connect();
		}
	}
	close(fd);
	json_decref(call("{\"command\": \"ask\"}"));
}
END_TEST

Suite *test_suite(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("socket");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, answers_one_packet_with_one_packet);
	tcase_add_test(tcase, bad_requests_get_a_reason);
	tcase_add_test(tcase, a_second_request_before_the_answer_ends_the_client);
	tcase_add_test(tcase, refuses_packets_that_are_too_long_and_goes_on);
	tcase_add_test(tcase, sends_large_replies_and_says_when_one_is_too_large);
	tcase_add_test(tcase, a_client_that_never_reads_holds_nobody_up);
	tcase_add_test(tcase, takes_sixteen_clients_and_tells_the_next);
	tcase_add_test(tcase, drops_clients_that_stay_silent);
	tcase_add_test(tcase, only_one_instance_at_a_time);
	tcase_add_test(tcase, takes_over_after_a_crash_and_leaves_nothing_behind);
	tcase_add_test(tcase, refuses_what_is_in_its_way);
	tcase_add_test(tcase, only_root_and_the_group_may_change_the_state);
	tcase_add_test(tcase, a_stranger_cannot_take_all_places);
	tcase_add_test(tcase, the_mode_of_the_socket_is_as_configured);
	tcase_add_test(tcase, nobody_else_can_open_the_lock);
	tcase_add_test(tcase, says_why_nobody_answers);
	tcase_add_test(tcase, survives_random_packets);
	suite_add_tcase(suite, tcase);
	return suite;
}

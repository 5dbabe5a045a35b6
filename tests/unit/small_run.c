/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/unit/small_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/base/log.h"
#include "tests/test.h"

char folder[64];
struct cconf conf;
struct error run_error;
struct run *run;
uint64_t now_ns;

void make_folder(void)
{
	log_init(LOG_ERR, false);
	snprintf(folder, sizeof(folder), "/tmp/isobar-run.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

void configure(const char *more)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "run = r\nlisten = tcp://127.0.0.1:7500\nsecret-key = /k\nstate-directory = %s\n"
		 "worker a { public-key = 'rq:rM>}U?@Lns47E1%%kR.o@n%%FcmmsL/@{H8]yf7' }\n"
		 "worker b { public-key = 'sq:rM>}U?@Lns47E1%%kR.o@n%%FcmmsL/@{H8]yf7' }\n"
		 "worker c { public-key = 'tq:rM>}U?@Lns47E1%%kR.o@n%%FcmmsL/@{H8]yf7' }\n%s\n",
		 folder, more);
	ck_assert_msg(cconf_parse("plan", text, &conf, &run_error) == 0, "%s", run_error.text);
}

static uint8_t pixels[4 * 3], labels[4] = { 0, 1, 1, 0 };
const struct dataset test = { .samples = 4, .features = 3, .classes = 2,
			      .pixels = pixels, .labels = labels };

void open_run(const char *more)
{
	configure(more);
	int r = run_open(&conf, &test, (struct run_options){ 0 }, &run, &run_error);
	ck_assert_msg(r == 0, "%s", run_error.text);
	now_ns = 1000 * MS;
	for (uint32_t i = 0; i < 3; i++)
		run_join(run, now_ns, i, (struct iso_train_speed){ 1, 1000000 });
	run_advance(run, now_ns);
}

void compute(const uint64_t on_cpu_ns[3])
{
	struct iso_train_task tasks[64];
	struct iso_dispatch_order orders[3];
	static struct iso_train_task first[3];
	uint32_t count = 0;
	float gradient[64] = { 0 };

	while (count < 3 && run_next_order(run, now_ns, tasks, 64, &orders[count]))
		first[count++] = tasks[0];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t worker = orders[i].worker;
		const struct iso_train_result result = {
			.term = 1, .model_version = orders[i].version, .task = first[i].task,
			.attempt = 1, .worker = worker, .samples = 256,
			.on_cpu_ns = on_cpu_ns[worker], .wall_ns = on_cpu_ns[worker], .loss = 1,
		};

		now_ns += MS;
		run_result(run, now_ns, worker, &result, gradient);
	}
}

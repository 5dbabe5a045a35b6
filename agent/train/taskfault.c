/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/train/taskfault.h"

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

/* Text put together without anything that a signal handler may not call. */
struct line {
	char text[400];
	size_t size;
};

static void add(struct line *line, const char *text)
{
	while (*text != '\0' && line->size < sizeof(line->text) - 2)
		line->text[line->size++] = *text++;
}

static void add_number(struct line *line, uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	add(line, digits + at);
}

void taskfault_tell(const struct taskfault_config *config, enum iso_worker_fault what,
		    enum iso_worker_call call, uint32_t number, const char *how)
{
	static atomic_flag is_told = ATOMIC_FLAG_INIT;
	const struct iso_worker_record record = {
		.type = ISO_WORKER_FAULT,
		.fault = { .what = what, .call = call, .number = number },
	};
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint8_t bytes[ISO_WORKER_RECORD_BYTES];
	struct line line = { .size = 0 };

	while (atomic_flag_test_and_set(&is_told))
		(void)pause();
	if (config->with_prefix) {
		add(&line, "<");
		add_number(&line, LOG_ERR);
		add(&line, ">");
	}
	add(&line, "this process ends: task ");
	if (what != ISO_WORKER_UNUSABLE) {
		add(&line, config->task);
		add(&line, ": ");
		add(&line, iso_worker_call_text(call));
		add(&line, ": ");
	}
	add(&line, how);
	if (what == ISO_WORKER_CRASHED) {
		add(&line, " (signal ");
		add_number(&line, number);
		add(&line, ")");
	}
	line.text[line.size++] = '\n';
	/* A reader that has stopped reading must not keep us. */
	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0)
		(void)!write(STDERR_FILENO, line.text, line.size);
	iso_worker_encode(&record, bytes);
	if (config->report_fd >= 0)
		(void)send(config->report_fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void taskfault_text(enum iso_worker_fault what, enum iso_worker_call call, uint32_t number,
		    char ret_text[TASKFAULT_TEXT_BYTES])
{
	const char *in = iso_worker_call_text(call), *name;

	switch (what) {
	case ISO_WORKER_CRASHED:
		name = sigdescr_np((int)number);
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "signal %u (%s) in %s", number,
			 name != NULL ? name : "unknown", in);
		return;
	case ISO_WORKER_EXITED:
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "exit(%u) in %s", number, in);
		return;
	case ISO_WORKER_ENDLESS:
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "%.1f s of CPU in one %s",
			 (double)number / 1e3, in);
		return;
	case ISO_WORKER_ASLEEP:
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "asleep for %.1f s in %s",
			 (double)number / 1e3, in);
		return;
	case ISO_WORKER_OVERRAN:
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "wrote beyond its arrays in %s", in);
		return;
	case ISO_WORKER_UNUSABLE:
		snprintf(ret_text, TASKFAULT_TEXT_BYTES, "cannot be used; its process said why");
		return;
	}
	snprintf(ret_text, TASKFAULT_TEXT_BYTES, "unknown");
}

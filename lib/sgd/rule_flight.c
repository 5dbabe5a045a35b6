/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/sgd/rule.h"

#include <assert.h>

/*
 * What is in flight, in the order of its versions: ringmaster-stops finds what has become
 * too old at the front.  Versions of STARTs never fall, so new ones go to the end.
 * Worker i has the slots depth_max i to depth_max (i + 1) - 1.
 */

static uint32_t first_slot(const struct iso_method *method, uint32_t worker)
{
	return worker * method->config.depth_max;
}

static void unlink_slot(struct iso_method *method, uint32_t slot)
{
	struct iso_rule_flight *flight = &method->flights[slot];
	struct iso_rule_queue *queue = &method->by_age;

	assert(flight->used);
	flight->used = false;
	if (flight->prev == ISO_RULE_NONE)
		queue->head = flight->next;
	else
		method->flights[flight->prev].next = flight->next;
	if (flight->next == ISO_RULE_NONE)
		queue->tail = flight->prev;
	else
		method->flights[flight->next].prev = flight->prev;
}

static void append(struct iso_method *method, uint32_t slot, uint64_t version)
{
	struct iso_rule_queue *queue = &method->by_age;
	uint32_t tail = queue->tail;

	assert(tail == ISO_RULE_NONE || method->flights[tail].version <= version);
	method->flights[slot] = (struct iso_rule_flight){
		.version = version,
		.prev = tail,
		.next = ISO_RULE_NONE,
		.used = true,
	};
	if (tail == ISO_RULE_NONE)
		queue->head = slot;
	else
		method->flights[tail].next = slot;
	queue->tail = slot;
}

void iso_rule_flights_add(struct iso_method *method, uint32_t worker, uint32_t count)
{
	uint32_t slot = first_slot(method, worker);
	uint32_t end = slot + method->config.depth_max;

	for (; slot < end && count > 0; slot++) {
		if (method->flights[slot].used)
			continue;
		append(method, slot, method->workers[worker].point);
		count--;
	}
	assert(count == 0);
}

bool iso_rule_flight_take(struct iso_method *method, uint32_t worker, uint64_t version)
{
	uint32_t slot = first_slot(method, worker);
	uint32_t end = slot + method->config.depth_max;

	for (; slot < end; slot++) {
		if (!method->flights[slot].used || method->flights[slot].version != version)
			continue;
		unlink_slot(method, slot);
		return true;
	}
	return false;
}

void iso_rule_flights_drop(struct iso_method *method, uint32_t worker)
{
	uint32_t slot = first_slot(method, worker);
	uint32_t end = slot + method->config.depth_max;

	for (; slot < end; slot++)
		if (method->flights[slot].used)
			unlink_slot(method, slot);
}

uint32_t iso_rule_flight_take_older(struct iso_method *method, uint64_t version)
{
	uint32_t slot = method->by_age.head;

	if (slot == ISO_RULE_NONE || method->flights[slot].version >= version)
		return ISO_RULE_NONE;
	unlink_slot(method, slot);
	return slot / method->config.depth_max;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/property.h"

#include <assert.h>

static void assert_valid(const struct iso_property *property)
{
	assert(property->bound_ucpu >= property->value_ucpu);
	assert(property->pause_ns <= ISO_PROPERTY_PAUSE_NS_MAX);
	if (property->pause_ns == 0)
		assert(property->call_at_ns == 0);
}

void iso_property_init(struct iso_property *property)
{
	*property = (struct iso_property){
		.value_ucpu = ISO_PROPERTY_UNLIMITED,
		.bound_ucpu = ISO_PROPERTY_UNLIMITED,
	};
	assert_valid(property);
}

uint64_t iso_property_of(uint64_t share_ucpu)
{
	uint64_t value_ucpu = share_ucpu - share_ucpu % ISO_PROPERTY_STEP_UCPU;

	assert(value_ucpu <= share_ucpu);
	return value_ucpu > 0 ? value_ucpu : ISO_PROPERTY_STEP_UCPU;
}

enum iso_property_wish iso_property_wish(const struct iso_property *property, uint64_t now_ns,
					 uint64_t share_ucpu)
{
	uint64_t target_ucpu = iso_property_of(share_ucpu), step_ucpu;

	assert_valid(property);
	/* What is between two steps is not worth a call; what is above the share is. */
	if (property->bound_ucpu > share_ucpu && property->bound_ucpu > target_ucpu)
		return now_ns < property->call_at_ns ? ISO_PROPERTY_WAIT : ISO_PROPERTY_LOWER;
	step_ucpu = target_ucpu / ISO_PROPERTY_RAISE_PART;
	if (step_ucpu < ISO_PROPERTY_STEP_UCPU)
		step_ucpu = ISO_PROPERTY_STEP_UCPU;
	/* Somebody else's value may lie between target and share. */
	if (target_ucpu < property->value_ucpu || target_ucpu - property->value_ucpu < step_ucpu)
		return ISO_PROPERTY_KEEP;
	if (now_ns < property->raise_at_ns || now_ns < property->call_at_ns)
		return ISO_PROPERTY_KEEP;
	return ISO_PROPERTY_RAISE;
}

void iso_property_tell(struct iso_property *property, uint64_t now_ns, uint64_t value_ucpu)
{
	assert_valid(property);
	assert(value_ucpu > 0);
	if (value_ucpu > property->value_ucpu)
		property->raise_at_ns = now_ns + ISO_PROPERTY_RAISE_GAP_NS;
	if (value_ucpu > property->bound_ucpu)
		property->bound_ucpu = value_ucpu;
	assert_valid(property);
}

void iso_property_confirm(struct iso_property *property, uint64_t value_ucpu)
{
	assert_valid(property);
	assert(value_ucpu > 0);
	property->value_ucpu = value_ucpu;
	property->bound_ucpu = value_ucpu;
	property->pause_ns = 0;
	property->call_at_ns = 0;
	assert_valid(property);
}

void iso_property_doubt(struct iso_property *property)
{
	assert_valid(property);
	property->bound_ucpu = ISO_PROPERTY_UNLIMITED;
	assert_valid(property);
}

void iso_property_fail(struct iso_property *property, uint64_t now_ns)
{
	assert_valid(property);
	property->pause_ns = property->pause_ns == 0 ? ISO_PROPERTY_PAUSE_NS_MIN
						     : 2 * property->pause_ns;
	if (property->pause_ns > ISO_PROPERTY_PAUSE_NS_MAX)
		property->pause_ns = ISO_PROPERTY_PAUSE_NS_MAX;
	property->call_at_ns = now_ns + property->pause_ns;
	assert_valid(property);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/enforce/demand.h"

#include <assert.h>
#include <math.h>

#include "lib/quantity.h"

void iso_demand_init(struct iso_demand *demand, uint64_t tau_ns)
{
	assert(tau_ns > 0);
	*demand = (struct iso_demand){ .tau_ns = tau_ns };
}

static bool is_continuation(const struct iso_demand *demand,
			    const struct iso_demand_reading *reading)
{
	return demand->started && reading->epoch == demand->epoch &&
	       reading->at_ns > demand->at_ns && reading->on_cpu_ns >= demand->on_cpu_ns &&
	       reading->wait_ns >= demand->wait_ns;
}

void iso_demand_read(struct iso_demand *demand, const struct iso_demand_reading *reading)
{
	assert(demand->tau_ns > 0);
	if (is_continuation(demand, reading)) {
		double elapsed = (double)(reading->at_ns - demand->at_ns);
		double on_cpu = (double)(reading->on_cpu_ns - demand->on_cpu_ns) / elapsed;
		double waiting = (double)(reading->wait_ns - demand->wait_ns) / elapsed;
		/* The first interval is all we know; later ones weigh by their length. */
		double weight = demand->known ? 1 - exp(-elapsed / (double)demand->tau_ns) : 1;

		demand->on_cpu += weight * (on_cpu - demand->on_cpu);
		demand->runnable += weight * (on_cpu + waiting - demand->runnable);
		demand->known = true;
	}
	demand->started = true;
	demand->at_ns = reading->at_ns;
	demand->epoch = reading->epoch;
	demand->on_cpu_ns = reading->on_cpu_ns;
	demand->wait_ns = reading->wait_ns;
}

static uint64_t to_ucpu(double cpus)
{
	assert(cpus >= 0);
	return (uint64_t)(cpus * ISO_UCPU_PER_CPU + 0.5);
}

uint64_t iso_demand_ucpu(const struct iso_demand *demand, uint32_t cpus)
{
	assert(cpus > 0);
	return to_ucpu(fmin(demand->runnable, (double)cpus));
}

uint64_t iso_demand_on_cpu_ucpu(const struct iso_demand *demand)
{
	return to_ucpu(demand->on_cpu);
}

uint64_t iso_demand_wait_ucpu(const struct iso_demand *demand)
{
	return to_ucpu(fmax(demand->runnable - demand->on_cpu, 0));
}

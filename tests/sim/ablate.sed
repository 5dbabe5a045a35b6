# SPDX-License-Identifier: LGPL-2.1-or-later
# How lib/ is changed for the scenarios' ablations: as tests/model/mutants.sed.
1a #include "tests/sim/ablate.h"

# lib/trade/share.c
/^int64_t iso_share_relay(/,/^}/s/if (crowd->weights == 0)/if (crowd->weights == 0 || broken(SIM_NO_RELAY))/
/^enum iso_status iso_share_decode(/,/^}/s/upper = params->mode == ISO_SHARE_DIFFERENCE ?/upper = params->mode == ISO_SHARE_DIFFERENCE \&\& !broken(SIM_UNCERTAIN) ?/
/^struct iso_share_decision iso_share_flow(/,/^}/s/due = iso_smaller_i64(due, useful);/if (!broken(SIM_NO_CAP)) &/
/^struct iso_share_decision iso_share_flow(/,/^}/s/\*remainder_ucpu = fmin(/*remainder_ucpu = broken(SIM_NO_REMAINDER) ? 0 : fmin(/

# lib/trade/cost.c
/^struct iso_marginal iso_cost_marginal(/,/^}/s/double curvature = at.second;/double curvature = at.second * (broken(SIM_CURVATURE) ? sim_curvature : 1);/

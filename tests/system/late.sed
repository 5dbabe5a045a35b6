# SPDX-License-Identifier: LGPL-2.1-or-later
# An agent that gives first and lowers its limit some ticks later: what the
# observer is there for.  The build fails when an edit finds no line (local.mk).
/^static int limit(/,/^}/s/	return job_limit(/	if (entitled_ucpu < node_enforced_ucpu(node) \&\& node->ticks % 8 != 0)\n		return 0;\n&/
/^static bool lower(/,/^}/s/iso_trade_lowered(node->trade, enforced_ucpu)/iso_trade_lowered(node->trade, enforced_ucpu < plan->limit_ucpu ? enforced_ucpu : plan->limit_ucpu)/

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "agent/ctl/preflightsandbox.h"

#include "agent/base/sandbox.h"

void preflightsandbox_check(struct preflight *preflight, const struct conf *conf)
{
	struct error error = { 0 };

	if (!conf->sandbox)
		preflight_say(preflight, "sandbox", PREFLIGHT_WARNING,
			      "remove it when you have found what you looked for",
			      "sandbox = no: isobard keeps all its privileges");
	else if (sandbox_supported(&error) < 0)
		preflight_say(preflight, "sandbox", PREFLIGHT_WARNING,
			      "build it with libseccomp, for a kernel with CONFIG_SECCOMP_FILTER",
			      "capabilities only; %.150s", error.text);
	else
		preflight_say(preflight, "sandbox", PREFLIGHT_OK, NULL,
			      "capabilities and system calls can be given up");
}

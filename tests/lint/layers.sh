#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Dependencies point one way: lib and ebpf know nobody, agent knows both,
# tests know all.  Includes carry their folder, so grep can see it.
cd "$top_srcdir" || exit 99
status=0
forbid() { # FOLDER PATTERN WHY
	if grep -rnE "#include \"($2)/" "$1" --include='*.[ch]'; then
		echo "  ^ $3"
		status=1
	fi
}
forbid lib 'agent|ebpf|tests' 'lib/ is pure and depends on nothing of ours'
forbid ebpf 'lib|agent|tests' 'ebpf/ depends on nothing of ours'
forbid agent 'tests' 'programs never depend on tests'
# A bare name would hide the folder from this check.
if grep -rnE '#include "[^/"]+"' lib agent tests --include='*.[ch]' | grep -v '"config.h"'; then
	echo '  ^ write the folder: #include "lib/status.h"'
	status=1
fi
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# One file of lib/ with the edits of a list, as a copy for the tests that break rules.
#   mutate.sh mutants.sed lib/ledger/ledger.c > copy.c
set -eu
edits=$1 source=$2
copy=$(sed -f "$edits" "$source")
printf '%s\n' "$copy"
# Every edit listed for this file must have found its line.
wanted=$(awk -v file="# $source" '/^# / { on = $0 == file } on && /broken\(/' "$edits" |
	grep -o 'broken([A-Z_]*)' | sort)
found=$(printf '%s\n' "$copy" | grep -o 'broken([A-Z_]*)' | sort)
[ "$wanted" = "$found" ] || {
	echo "mutate.sh: $source has changed; edits that must follow it:" >&2
	printf '%s\n' "$wanted" | grep -vxF "$found" >&2
	exit 1
}

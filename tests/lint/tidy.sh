#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules no compiler checks.  Each is one line: what is banned, where, and why.
cd "$top_srcdir" || exit 99
status=0
# Generated headers may lie beside ours when built in the source tree.
ours=$(find lib agent ebpf tests -name '*.[ch]' ! -name '*.skel.h')
libs=$(find lib -name '*.[ch]')
agents=$(find agent -name '*.c')
ban() { # WHY PATTERN FILES...
	why=$1 pattern=$2
	shift 2
	if grep -nE "$pattern" "$@"; then
		echo "  ^ $why"
		status=1
	fi
}
# shellcheck disable=SC2086 # the lists are meant to be split
{
ban 'lib/ is pure: no I/O, clock, allocation or logging' \
	'#include <(stdio|stdlib|unistd|time|fcntl|errno|pthread|syslog|sys/[a-z]+)\.h>|\b(malloc|calloc|realloc|free|printf|getenv)\(' $libs
ban 'unbounded string function' '\b(strcpy|strcat|sprintf|gets|strtok|atoi|atol|atof)\(' $libs $agents
ban 'fopen needs "e", open needs O_CLOEXEC' 'fopen\([^,]+, *"[^"e]+"\)' $agents
ban 'leave no note to yourself on main' '\b(FIXME|XXX|TODO)\b' $ours
ban 'what a wall clock says must not matter: it can be set' \
	'CLOCK_REALTIME|\btime\(NULL\)|gettimeofday\(' \
	$libs $(find agent/base agent/node agent/guard agent/net agent/cgroup agent/meter -name '*.[ch]')
ban 'assertions stay on' 'define NDEBUG' $ours
}
for file in $ours; do
	head -1 "$file" | grep -q 'SPDX-License-Identifier:' || { echo "$file: no SPDX line"; status=1; }
	expand -t 8 "$file" | awk -v f="$file" 'length > 100 { print f ":" NR ": longer than 100 columns"; bad = 1 } END { exit bad }' || status=1
done
scripts=$(find tests -name '*.sh' -o -name '*.tap')
for file in bootstrap $scripts; do
	head -2 "$file" | grep -q 'SPDX-License-Identifier:' || { echo "$file: no SPDX line"; status=1; }
done
exit $status

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
ban 'fopen needs "e"' 'fopen\([^,]+, *"[^"e]+"\)' $agents
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
# A call may have several lines, and its flags a name.
# shellcheck disable=SC2086 # a list
awk '
	FNR == 1 { call = "" }
	/^#define [A-Z_]+[ \t].*O_CLOEXEC/ { named = named "|" $2 }
	/(^|[^A-Za-z_])open(at)?\(/ && call == "" { call = " "; line = FNR }
	call != "" {
		call = call $0
		if ($0 !~ /;/)
			next
		if (call !~ ("O_CLOEXEC|/\\* inherited" named)) {
			print FILENAME ":" line ": open needs O_CLOEXEC, or a word on who inherits it"
			bad = 1
		}
		call = ""
	}
	END { exit bad }' $agents || status=1
scripts=$(find tests -name '*.sh' -o -name '*.tap')
# shellcheck disable=SC2046,SC2086 # lists
ban 'no white space at the end of a line' '[[:space:]]$' $ours $scripts bootstrap configure.ac \
	Makefile.am $(find lib agent ebpf man tests -name '*.mk' -o -name '*.[1578]')
for file in bootstrap $scripts; do
	head -2 "$file" | grep -q 'SPDX-License-Identifier:' || { echo "$file: no SPDX line"; status=1; }
done
exit $status

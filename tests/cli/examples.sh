#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each example configuration of the manual is one: its program takes it.
set -eu
# shellcheck disable=SC2154 # from the Makefile
agent=$top_builddir/agent
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
status=0
# shellcheck disable=SC2154 # from the Makefile
for page in "$top_srcdir"/man/*.[13578]; do
	# Comes out as NUMBER-PROGRAM.conf, one file an example.
	rm -f "$work"/*.conf
	awk -v folder="$work" '
		/^\.\\" example: / { number++; file = folder "/" number "-" $3 ".conf" }
		/^\.Ed/ { inside = 0; if (file) close(file); file = "" }
		inside { gsub(/\\e/, "\\"); gsub(/\/etc\/isobar/, folder); print >file }
		file && /^\.Bd/ { inside = 1 }' "$page"
	for example in "$work"/*.conf; do
		[ -f "$example" ] || continue
		program=${example##*/[0-9]-}
		program=${program%.conf}
		# Keys that it names as files; the start reads them, some the check does.
		sed -n "s|.*= \($work/.*\)\.pub|\1|p" "$example" | while read -r prefix; do
			[ -f "$prefix.pub" ] || "$agent/isobarctl" keygen -o "$prefix" >/dev/null
		done
		count=$((count + 1))
		"$agent/$program" -n -f "$example" >"$work/said" 2>&1 && continue
		echo "${page##*/}: $program refuses:"
		cat "$work/said" "$example"
		status=1
	done
done
[ $count -ge 3 ] || { echo "only $count examples found"; exit 1; }
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Man pages: no warning from mandoc, and each has the sections that people look for.
[ -n "$MANDOC" ] || exit 77
[ -n "$(ls "$top_srcdir"/man/*.[13578] 2>/dev/null)" ] || exit 77
status=0
for page in "$top_srcdir"/man/*.[13578]; do
	out=$("$MANDOC" -Tlint -W style "$page" 2>&1 | grep -v -e 'referenced manual not found' -e 'mandoc.db') || true
	if [ -n "$out" ]; then
		echo "$out"
		status=1
	fi
done

sections() { # SUFFIX SECTION...
	suffix=$1
	shift
	for page in "$top_srcdir"/man/*."$suffix"; do
		for section; do
			grep -qx "\.Sh $section" "$page" || {
				echo "man/${page##*/}: no section $section"
				status=1
			}
		done
	done
}
sections 1 FILES 'EXIT STATUS' EXAMPLES DIAGNOSTICS
sections 5 EXAMPLES DIAGNOSTICS
sections 8 FILES 'EXIT STATUS' EXAMPLES DIAGNOSTICS
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Man pages: no warning from mandoc, and each names a real page.
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
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every message that the manual explains must be in the programs, and every one
# of the programs in the manual.  A heading of a -diag list is the message with
# its variable parts in capitals (N for a number); what is between those must
# stand in a string of the source.
# shellcheck disable=SC2154 # from the Makefile
cd "$top_srcdir" || exit 99
source=$(mktemp) || exit 99
trap 'rm -f "$source"' EXIT

# The source with adjacent strings joined, as the compiler does, and without
# the %s of plurals.
find agent lib -name '*.[ch]' -exec cat {} + | sed 's/\([a-z]\)%s/\1/g' |
	awk '{ text = text $0 "\n" }
	END { gsub(/"[ \t\n]*"|"[ \t]*\\\n[ \t]*"/, "", text); gsub(/\\"/, "\"", text); printf "%s", text }' >"$source"

awk -v source="$source" '
	BEGIN { while ((getline line < source) > 0) text = text line "\n" }
	FNR == 1 { inside = 0 }
	/^\.Bl -diag/ { inside = 1 }
	/^\.El/ { inside = 0 }
	inside && /^\.It / {
		seen++
		heading = " " substr($0, 5) " "
		gsub(/[A-Z][A-Z]+/, "\001", heading)
		while (match(heading, /[^A-Za-z][A-Z][^A-Za-z]/))
			heading = substr(heading, 1, RSTART) "\001" substr(heading, RSTART + 2)
		count = split(heading, pieces, /[\047: ]*\001[\047: ]*|: /)
		good = 0
		for (i = 1; i <= count; i++) {
			gsub(/^[ ,;]+|[ ,;:]+$/, "", pieces[i])
			if (length(pieces[i]) < 4)
				continue
			good++
			if (index(text, pieces[i]) > 0)
				continue
			print FILENAME ":" FNR ": no program says \"" pieces[i] "\""
			bad = 1
		}
		# isobar(7) has the classes, which are all variable.
		if (good == 0 && FILENAME !~ /\/isobar\.7$/ && index(text, substr($0, 5)) == 0) {
			print FILENAME ":" FNR ": nothing to look for in: " $0
			bad = 1
		}
	}
	END {
		if (seen < 40) { print "only " seen + 0 " messages found"; bad = 1 }
		exit bad
	}' man/*.[13578]
status=$?

# The other way round.
find agent lib -name '*.[ch]' | LC_ALL=C sort |
	xargs awk -f tests/lint/mandiag.awk man/*.[13578] || status=1
exit $status

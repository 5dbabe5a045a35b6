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
	BEGIN {
		while ((getline line < source) > 0)
			text = text line "\n"
		system_says = "No such file or directory|Permission denied|Connection refused|" \
			"Cannot allocate memory|Too many open files|No space left on device|" \
			"Read-only file system|Input/output error"
	}
	# Whether what stands between the capitals is said somewhere.
	function look_for(said, is_heading,   count, pieces, i, good, parts) {
		parts = " " said " "
		gsub(/[A-Z][A-Z]+/, "\001", parts)
		while (match(parts, /[^A-Za-z][A-Z][^A-Za-z]/))
			parts = substr(parts, 1, RSTART) "\001" substr(parts, RSTART + 2)
		count = split(parts, pieces, /[\047: ]*\001[\047: ]*|: /)
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
		if (is_heading && good == 0 && FILENAME !~ /\/isobar\.7$/ && index(text, said) == 0) {
			print FILENAME ":" FNR ": nothing to look for in: " said
			bad = 1
		}
	}
	FNR == 1 { inside = 0 }
	/^\.Bl -diag/ { inside = 1 }
	/^\.El/ { inside = 0 }
	inside && /^\.It / {
		seen++
		look_for(substr($0, 5), 1)
	}
	# What an explanation quotes is said as well, by a program or by the system.
	inside && /^\.(Pq or |Pq )?Qq / {
		quoted = $0
		sub(/^\.(Pq or |Pq )?Qq /, "", quoted)
		sub(/ [.,;:]$/, "", quoted)
		gsub(/\\&/, "", quoted)
		if (index("|" system_says "|", "|" quoted "|") == 0)
			look_for(quoted, 0)
	}
	END {
		if (seen < 800) { print "only " seen + 0 " messages found"; bad = 1 }
		exit bad
	}' man/*.[13578]
status=$?

# The other way round.
find agent lib -name '*.[ch]' | LC_ALL=C sort |
	xargs awk -f tests/lint/mandiag.awk man/*.[13578] || status=1
exit $status

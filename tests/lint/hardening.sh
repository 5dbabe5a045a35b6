#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The flags that configure chose must have reached the binaries.
[ "${HARDENED:-yes}" = yes ] || exit 77
status=0
# shellcheck disable=SC2154 # programs comes from the Makefile
for binary in $programs; do
	file=$top_builddir/$binary
	check() { # NAME PATTERN READELF-OPTION
		readelf -W "$3" "$file" | grep -q -e "$2" || { echo "$binary: no $1"; status=1; }
	}
	check PIE 'Type: *DYN' -h
	check RELRO GNU_RELRO -l
	check 'immediate binding' 'BIND_NOW\|FLAGS.*NOW' -d
	check 'stack protector' __stack_chk_fail -s
	readelf -W -l "$file" | grep GNU_STACK | grep -q RWE && { echo "$binary: executable stack"; status=1; }
done
exit $status

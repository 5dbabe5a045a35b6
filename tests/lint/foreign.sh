#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Code that is not ours is loaded by isobar-worker alone: the linker's word.
# shellcheck disable=SC2154 # programs comes from the Makefile
[ "${HARDENED:-yes}" = yes ] || exit 77
status=0 seen=0
for binary in $programs; do
	loads=$(nm -D -u "$top_builddir/$binary" | grep -c -w -E 'dlopen|dlmopen') || true
	case $binary in
	*/isobar-worker)
		seen=1
		[ "$loads" -gt 0 ] || { echo "$binary does not load tasks any more?"; status=1; }
		;;
	*) [ "$loads" -eq 0 ] || { echo "$binary calls dlopen: only a worker may run foreign code"; status=1; } ;;
	esac
done
[ $seen = 1 ] || { echo "no isobar-worker among: $programs"; status=1; }
exit $status

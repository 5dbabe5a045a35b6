#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd finds no fault with the units, and their exposure, as it rates it, only falls:
# whoever lowers one lowers its bound here.
# shellcheck disable=SC2154 # top_builddir comes from the Makefile
set -eu
command -v systemd-analyze >/dev/null || {
	echo 'no systemd-analyze'
	exit 77
}
work=$(mktemp -d /tmp/isobar-units.XXXXXX)
trap 'rm -rf "$work"' EXIT
failures=0

check() { # UNIT EXPOSURE-TIMES-TEN
	# The programs as built: an installed one may be older, or none.
	sed -E "s,=.*/s?bin/(isobard|isobar-coordinator|isobar-exporter|isobarctl)\>,=$top_builddir/agent/\1," \
		"$top_builddir/etc/systemd/$1" >"$work/$1"
	# Not this system's other units: what is said of ours alone.
	systemd-analyze verify --man=no "$work/$1" 2>&1 | grep -F "${1%.service}" >"$work/said" || true
	[ ! -s "$work/said" ] || {
		cat "$work/said"
		failures=$((failures + 1))
	}
	exposure=$(systemd-analyze security --offline=true "$work/$1" |
		sed -n 's/.*Overall exposure level[^0-9]*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
	echo "$1: exposure $exposure of 100, bound $2"
	[ "${exposure:-100}" -le "$2" ] || failures=$((failures + 1))
}

# The unit that isobard(8) shows.
sed -n '/^\.\\" unit$/,/^\.Ed/{/^\./!p;}' "$top_srcdir/man/isobard.8" |
	sed "s,=/usr/sbin/,=$top_builddir/agent/," >"$work/isobard@.service"
if ! grep -q ExecStart "$work/isobard@.service" ||
	systemd-analyze verify --man=no "$work/isobard@.service" 2>&1 | grep -F isobard@; then
	echo 'isobard(8): the unit'
	failures=$((failures + 1))
fi

check isobard@.service 34
check isobar-coordinator@.service 15
# Built only where libmicrohttpd is.
[ ! -f "$top_builddir/etc/systemd/isobar-exporter.service" ] || check isobar-exporter.service 13
[ "$failures" -eq 0 ]

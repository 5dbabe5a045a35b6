#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The demo itself as a test: a short run whose checks hold, and nothing left
# behind after a run, an interrupted one, and one that is killed.
set -u
# Budgets are small, so that other tests get their turn meanwhile.
# shellcheck disable=SC2154 # top_builddir comes from the Makefile
demo=$top_builddir/tests/demo/demo
[ "$(id -u)" = 0 ] || { echo 'SKIP: needs root'; exit 77; }
[ -d /usr/share/datasets/fashion-mnist ] || { echo 'SKIP: needs dataset-fashion-mnist'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0

fail() {
	echo "FAIL: $*"
	cat "$work/out"
	status=1
}

# What a demo with this PID would leave: cgroups, files, processes.
nothing_left() { # PID WHEN
	for place in /sys/fs/cgroup/isobar-demo/"$1" /sys/fs/cgroup/*/isobar-demo/"$1" \
		"${TMPDIR:-/tmp}"/isobar-demo-"$1"-*; do
		[ ! -e "$place" ] || fail "$2 left $place"
	done
	pgrep -f "isobar-demo-$1-" >"$work/left" && fail "$2 left processes $(tr '\n' ' ' <"$work/left")"
}

# A demo that is told to end by this signal to this process after three seconds.
ended_by() { # SIGNAL guard|run STATUS
	"$demo" --nodes 2 --budget 0.4cpu >"$work/out" 2>&1 &
	guard=$!
	sleep 3
	run=$(pgrep -P "$guard" -x demo)
	victim=$guard
	[ "$2" = guard ] || victim=$run
	kill -"$1" "$victim"
	wait "$guard"
	got=$?
	[ "$got" = "$3" ] || fail "SIG$1 to the $2: exit status $got instead of $3"
	# A killed guard cannot wait until its run has cleaned up.
	tries=100
	while kill -0 "$run" 2>/dev/null && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	nothing_left "$guard" "SIG$1 to the $2"
}

# What cannot be written at the end is said at the beginning.
for option in --json --plot; do
	timeout 5 "$demo" $option "$work/none/file" >"$work/out" 2>&1
	[ $? = 2 ] || fail "$option into a directory that is not there"
done

"$demo" --seconds 8 --nodes 3 --budget 0.6cpu --json "$work/json" --plot "$work/svg" >"$work/out" 2>&1 &
pid=$!
wait $pid || fail "the short run: exit status $?"
head -1 "$work/out" | grep -q DRY-RUN && { echo 'SKIP: no writable cpu controller'; exit 77; }
nothing_left $pid 'the short run'
grep -q '"held": true' "$work/json" || fail 'no JSON report'
grep -q '</svg>' "$work/svg" || fail 'no picture'

ended_by INT guard 130
ended_by KILL run 1
ended_by KILL guard 137
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Commands, plans and data of the manual's EXAMPLES: the programs take them, as
# they stand there but for addresses, keys and data, which are of this machine.
set -eu
# shellcheck disable=SC2154 # from the Makefile
agent=$(cd "$top_builddir/agent" && pwd)
# shellcheck disable=SC2154 # from the Makefile
man=$(cd "$top_srcdir/man" && pwd)
work=$(mktemp -d)
pid=
trap 'test -z "$pid" || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "$*"
	[ ! -f said ] || cat said
	exit 1
}

# What stands in the block behind the comment MARK of PAGE.
block() { # PAGE MARK
	awk -v mark=".\\\\\" $2" '
		$0 == mark { seen = 1 }
		/^\.Ed/ { inside = seen = 0 }
		inside { sub(/\\e$/, "\\"); sub(/^# /, ""); print }
		seen && /^\.Bd/ { inside = 1 }' "$man/$1" >block
	[ -s block ] || fail "$1: no block \"$2\""
	cat block
}

for name in coordinator a-worker b-worker; do
	"$agent/isobarctl" keygen -o "$work/$name" >/dev/null
done
awk 'BEGIN {
	print "x,y,label"
	for (i = 0; i < 60; i++)
		print i % 7 ",", i % 5 "," i % 3
}' | tr -d ' ' >data.csv

# Nobody listens at port 9, and this address is nobody else's: what counts is how far the
# program comes.
ours=127.$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1)).7
here() {
	sed -e "s|^isobar-worker|exec $agent/isobar-worker|" \
		-e "s|/usr/share/datasets/[a-z-]*|$work/data.csv,holdout=0.3|" \
		-e "s|tcp://192.0.2.1:|tcp://$ours:|" \
		-e 's|tcp://192.0.2.[0-9]:[0-9]*|tcp://127.0.0.1:9|'
}

# The commands of a file, until they say WHAT.
until_said() { # FILE WHAT
	: >said
	sh "$1" >said 2>&1 &
	pid=$!
	tries=0
	while ! grep -q -e "$2" said; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || fail "$1 does not say '$2'"
		kill -0 $pid 2>/dev/null || grep -q -e "$2" said || fail "$1 ends without '$2'"
		sleep 0.1
	done
	kill $pid
	wait $pid || true
	pid=
}

block isobar-plan.conf.5 plan >plan.conf
block isobar-worker.8 coordinator | here >worker
until_said worker '^waiting for coordinator tcp://127.0.0.1:9$'
block isobar-worker.8 plan | here >planned
until_said planned "^plan 'fashion': node a, part 1 of 3 with"

# The coordinator's configuration with each of the data of isobar-data(5).
block isobar-coordinator.conf.5 'example: isobar-coordinator' |
	sed "s|/etc/isobar|$work|" >fashion.conf
block isobar-coordinator.8 coordinator |
	sed "s|^isobar-coordinator|$agent/isobar-coordinator -n|" >coordinate
sh -e coordinate >said 2>&1 || fail 'isobar-coordinator(8)'
count=0
block isobar-data.5 data >kinds
while read -r line; do
	count=$((count + 1))
	{ printf '%s\n' "$line" && cat fashion.conf; } >with.conf
	"$agent/isobar-coordinator" -n -f with.conf >said 2>&1 || fail "isobar-data(5): $line"
done <kinds
[ $count -ge 4 ] || fail "only $count kinds of data"
# Neither is it so that everything is taken.
{ echo 'data = "/srv/data/a9a,colour=red"' && cat fashion.conf; } >with.conf
! "$agent/isobar-coordinator" -n -f with.conf >said 2>&1 || fail 'data with an unknown option are taken'

# The least that a node needs: checked, and its journal made.
cat >isobard.conf <<END
cluster = alone
node = a
budget = 2cpu
endowment = 2cpu
cgroup = /jobs/a
state-directory = $work/state
run-directory = $work/run
END
block isobard.8 agent | sed -n "s|^isobard \(.*\)|$agent/isobard -f isobard.conf \1|p" >start
[ "$(wc -l <start)" -eq 2 ] || fail 'isobard(8): not two commands before the last'
sh -e start >said 2>&1 || fail 'isobard(8)'
[ -s state/journal ] || fail 'isobard(8): no journal'

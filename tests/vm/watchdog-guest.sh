#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For watchdog.tap, in the virtual machine: a node with a guard and a watchdog,
# and then neither agent nor guard.  Ends with the machine, or after a minute.
set -eu
# shellcheck disable=SC2154 # from the environment
isobard=$top_builddir/agent/isobard
isobarctl=$top_builddir/agent/isobarctl
dir=$(mktemp -d)
say() {
	echo "guest: $*"
}

"$isobarctl" keygen --output "$dir/key" >/dev/null
cat >"$dir/conf" <<END
cluster = vm
node = a
budget = 0.5cpu
endowment = 0.5cpu
cgroup = /isobar-watchdog
create-cgroup = yes
listen = tcp://127.0.0.1:7400
secret-key = $dir/key.key
state-directory = $dir/state
run-directory = $dir/run
trading { tick = 200ms lease = 5s lease-slack = 5500ms }
guard {
	executable = $top_builddir/agent/isobar-guard
	watchdog = /dev/watchdog0
}
END
"$isobarctl" check -f "$dir/conf" | grep 'guard\|watchdog\|burial' || true
"$isobard" --init -f "$dir/conf"
"$isobard" -f "$dir/conf" >"$dir/log" 2>&1 &
agent=$!
status() {
	"$isobarctl" status --json --socket "$dir/run/control" 2>/dev/null
}
left=40
until status | grep -q '"watchdog": "armed"'; do
	left=$((left - 1))
	[ $left -gt 0 ] || { cat "$dir/log"; say 'not armed'; exit 1; }
	sleep 0.3
done
status | grep -q '"auto_burial": true' || { say 'no automatic burial'; exit 1; }
say armed
guard=$(status | sed -n '/"guard": {/,/}/s/.*"pid": \([0-9]*\).*/\1/p')
sleep 12
[ "$(cat /proc/"$guard"/comm)" = isobar-guard ] || { say 'the guard has gone'; exit 1; }
say petted
kill -STOP "$agent" # so that it cannot start another one
kill -KILL "$guard"
kill -KILL "$agent"
say 'both ended'
for second in 1 2 3 4 5 6 7 8 9 10 15 20 30 40; do
	sleep 1
	echo "alive $second"
done
sleep 20
say 'nothing has reset this machine'
exit 1

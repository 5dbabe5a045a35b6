#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a running isobard is told: to freeze, to thaw, what to log, and to read its file anew.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
cat >a.conf <<END
cluster = lab
node = a
budget = 1cpu
endowment = 1cpu
cgroup = /isobar-no-such-group/job
create-cgroup = yes
dry-run = yes
state-directory = $work/state
run-directory = $work/run/a
END
mkdir run
"$top_builddir/agent/isobard" --init -f a.conf >/dev/null

start() {
	"$top_builddir/agent/isobard" -f a.conf 2>>log &
	agent=$!
	servers="$servers $agent"
	tries=0
	until "$ctl" --run-directory run status >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || { cat log; exit 1; }
		sleep 0.05
	done
}

# The screen's first line, and what machines are told.
frozen() { # yes|no
	run "$ctl" --run-directory run status
	keep 1q
	case $1 in
	yes) out 'node a of cluster lab: DRY-RUN, no limit is written; frozen' ;;
	no) out 'node a of cluster lab: DRY-RUN, no limit is written' ;;
	esac
	run "$ctl" --run-directory run status --json
	keep 's/,$//; /^  "frozen":/!d'
	case $1 in
	yes) out '  "frozen": true' ;;
	no) out '  "frozen": false' ;;
	esac
}

# as_json COMMAND [ARGUMENT...] - what machines are told is what the schema says.
as_json() {
	run "$ctl" --run-directory run "$@" --json
	ends 0
	err ''
	conforms "$1"
}

# logged COUNT TEXT
logged() {
	[ "$(grep -c "$2" log)" -eq "$1" ] || complain "not $1 times in the log: $2"
}

start
frozen no
for kind in status top ledger audit history explain log-level; do
	as_json "$kind"
done
run "$ctl" --run-directory run freeze
ends 0
out 'frozen: its share stays as it is and is enforced, until isobarctl thaw'
err ''
frozen yes
# Once more is no change, and is not told twice.
run "$ctl" --run-directory run freeze --json
ends 0
out '{
  "frozen": true,
  "ok": true
}'
conforms freeze
logged 1 'node a: frozen: an administrator has stopped trading'

# Killed or not, it is frozen when it comes back.
kill -KILL "$agent"
wait "$agent" 2>/dev/null || true
start
frozen yes
logged 1 'frozen since before this start'
run "$ctl" --run-directory run thaw
ends 0
out 'it trades'
err ''
frozen no
run "$ctl" --run-directory run thaw --json
ends 0
conforms freeze
kill "$agent"
wait "$agent"
start
frozen no
logged 1 'frozen since before this start'

# What cannot be made durable is refused.
mkdir state/frozen.d
mv state/frozen.d state/frozen
run "$ctl" --run-directory run freeze
ends 1
out ''
err "isobarctl: 'run/a/control': '$work/state/frozen': Is a directory; nothing has changed"
rmdir state/frozen
frozen no

run "$ctl" --run-directory run log-level
ends 0
out info
run "$ctl" --run-directory run log-level warning
ends 0
out warning
logged 1 'logs warning and above from now on'
run "$ctl" --run-directory run freeze
run "$ctl" --run-directory run thaw
logged 1 'an administrator lets it trade again'
run "$ctl" --run-directory run log-level debug --json
ends 0
out '{
  "level": "debug",
  "ok": true
}'
logged 1 'logs debug and above from now on'
run "$ctl" --run-directory run log-level loud
ends 2
out ''
err 'isobarctl: log-level: expected error, warning, info or debug'
run "$ctl" --run-directory run log-level debug info
ends 2

# ceiling CPU - looked at once a second.
ceiling() {
	tries=0
	until "$ctl" --run-directory run status | grep -q "^share.* ceiling $1 "; do
		tries=$((tries + 1))
		[ "$tries" -lt 100 ] || { complain "the ceiling is not $1"; return; }
		sleep 0.05
	done
}

# What may change does, what else has changed is named, and both are shown.
run "$ctl" --run-directory run reload
ends 0
out 'nothing has changed'
{ cat a.conf; echo 'ceiling = 0.6cpu cost { weight = 2 } config-epoch = 2'; } >b.conf
sed -i '/^budget/s/1/2/' b.conf
cp b.conf a.conf
run "$ctl" --run-directory run reload
ends 0
out 'in force: ceiling, cost.weight
needs a restart: budget, config-epoch'
ceiling 0.6000
run "$ctl" --run-directory run reload --json
ends 0
conforms reload
out '{
  "ok": true,
  "restart": "budget, config-epoch",
  "taken": ""
}'

# One that is wrong changes nothing, by whatever way it is read.
sed -i 's/0.6cpu/0.4cpu/; s/weight = 2/weihgt = 3/' a.conf
run "$ctl" --run-directory run reload
ends 1
out ''
err "isobarctl: 'run/a/control': a.conf: line 10: unknown option 'weihgt' in section cost; did\
 you mean 'weight'?; all stays as it was"
run "$ctl" --run-directory run status
keep '/^ *reload/!d; s/^ *//'
out "reload  failed, all stays as it was: a.conf: line 10: unknown option 'weihgt' in section cost;\
 did you mean 'weight'?"
kill -HUP "$agent"
tries=0
until [ "$(grep -c '^reload: .*weihgt' log)" -eq 2 ]; do
	tries=$((tries + 1))
	[ "$tries" -lt 200 ] || { complain 'SIGHUP reads nothing'; break; }
	sleep 0.05
done
ceiling 0.6000

# Nor does one that is right by itself, but not beside what stays.
sed -i 's/0.4cpu/1.5cpu/; s/weihgt/weight/' a.conf
run "$ctl" --run-directory run reload
ends 1
err "isobarctl: 'run/a/control': with what only a restart changes: ceiling: 1.5cpu is above the\
 budget, 1cpu; all stays as it was"

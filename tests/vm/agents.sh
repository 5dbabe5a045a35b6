# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Read by the programs in the virtual machine that have two nodes, a and b, without
# systemd: guest.sh, and the agents.  $cluster, $budget and $floor are of both.
# shellcheck source-path=SCRIPTDIR source=guest.sh
. "${0%/*}/guest.sh"
# shellcheck disable=SC2154 # from the environment
agent=$top_builddir/agent
pids=
dir=$(mktemp -d)
chmod 755 "$dir"

at_failure() {
	for n in a b; do
		tail -n 30 "$dir/$n.log" 2>/dev/null | sed "s/^/$n: /"
		"$agent/isobarctl" --socket "$dir/$n.run/control" status 2>&1 | sed "s/^/$n: /"
	done
	! command -v at_failure_too >/dev/null || at_failure_too
	# shellcheck disable=SC2086 # a list
	kill -9 $pids 2>/dev/null
}
ask() { # NODE JQ-FILTER
	"$agent/isobarctl" --socket "$dir/$1.run/control" status --json | jq -r "$2"
}
says() { # NODE JQ-FILTER
	[ "$(ask "$1" "$2")" = true ]
}

# With a lease of five seconds and a guard.
write_conf() { # NODE PORT OTHER OTHER-PORT
	[ -f "$dir/$3.pub" ] || "$agent/isobarctl" keygen --output "$dir/$3" >/dev/null
	[ -f "$dir/$1.pub" ] || "$agent/isobarctl" keygen --output "$dir/$1" >/dev/null
	# shellcheck disable=SC2154 # the program's
	cat >"$dir/$1.conf" <<END
cluster = $cluster
node = $1
budget = ${budget}ucpu
endowment = $((budget / 2))ucpu
floor = ${floor}ucpu
cgroup = /isobar-$cluster/$1
create-cgroup = yes
listen = tcp://127.0.0.1:$2
secret-key = $dir/$1.key
state-directory = $dir/$1.state
run-directory = $dir/$1.run
trading { tick = 200ms lease = 5s limit = none }
guard { executable = $agent/isobar-guard }
neighbour $3 { address = tcp://127.0.0.1:$4 public-key = $dir/$3.pub }
END
}
start() { # NODE
	"$agent/isobard" -f "$dir/$1.conf" 2>>"$dir/$1.log" &
	eval "pid_$1=$!"
	pids="$pids $!"
	until_true "node $1 answers" says "$1" .ok
}
pid_of() { # NODE
	eval "echo \$pid_$1"
}

# The independent witness of the sum, of tests/demo; what it has seen is in $dir/observed.
watch_sum() { # RATE-HZ
	# shellcheck disable=SC2154 # the program's
	"$top_builddir/tests/demo/observer" --budget-ucpu "$budget" --rate-hz "$1" \
		"${group_before}a$group_after" "${group_before}b$group_after" >"$dir/observed" &
	watcher=$!
	pids="$pids $watcher"
}
sum_was_kept() {
	"$agent/isobarctl" audit "$dir/a.run/control" "$dir/b.run/control" >"$dir/audit" ||
		{ sed 's/^/# /' "$dir/audit"; fail 'the audit does not prove the sum'; }
	kill "$watcher"
	wait "$watcher" || fail "the limits exceeded the budget: $(tail -n 1 "$dir/observed")"
	looks=$(tail -n 1 "$dir/observed" | jq .kept)
	[ "$looks" -gt 100 ] || fail "samples: $(tail -n 1 "$dir/observed")"
	shown "sum: the limits never were above the budget, $looks looks, and the audit proves it"
}

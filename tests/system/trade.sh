#!/bin/sh
# Three real agents share 0.6 CPU over CURVE.  Shares follow a busy process from
# node to node; an agent that is killed goes on with its durable share; the
# kernel's quotas never add up to more than the budget; the ledgers prove the sum.
set -eu

[ "$(id -u)" = 0 ] || { echo 'SKIP: needs root'; exit 77; }
command -v jq >/dev/null || { echo 'SKIP: no jq'; exit 77; }
isobard=$top_builddir/agent/isobard
isobarctl=$top_builddir/agent/isobarctl
observer=$top_builddir/tests/demo/observer
nodes='a b c'
budget=600000
# Emulated machines are slow: more patience there, the same results.
patience=${ISO_VM:+180}
patience=${patience:-60}

# The mount point of the hierarchy that has the cpu controller.
hierarchy=$(awk '{ for (i = 7; $i != "-"; i++); type = $(i + 1); options = "," $NF "," }
	type == "cgroup" && options ~ /,cpu,/ { print $5; exit }' /proc/self/mountinfo)
version=1
if [ -z "$hierarchy" ]; then
	hierarchy=$(awk '{ for (i = 7; $i != "-"; i++); type = $(i + 1) }
		type == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
	version=2
	grep -qw cpu "$hierarchy/cgroup.controllers" || { echo 'SKIP: no cpu controller'; exit 77; }
fi

top=isobar-test-$$
dir=$(mktemp -d)
pids=

cleanup() {
	status=$?
	trap - EXIT INT TERM
	[ $status = 0 ] || for n in $nodes; do echo "--- log of $n"; cat "$dir/$n.log" || true; done
	# shellcheck disable=SC2086 # a list
	kill -9 $pids 2>/dev/null || true
	wait 2>/dev/null || true
	for n in $nodes ''; do
		i=0
		while [ -d "$hierarchy/$top/$n" ] && ! rmdir "$hierarchy/$top/$n" 2>/dev/null; do
			i=$((i + 1))
			[ $i -lt 50 ] || break
			sleep 0.1
		done
	done
	rm -rf "$dir"
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

ask() { # NODE JQ-FILTER
	"$isobarctl" --socket "$dir/$1/run/control" status --json | jq -r "$2"
}

# Polls until the command succeeds; there is nothing else to wait for.
until_true() { # WHAT COMMAND...
	what=$1
	shift
	i=0
	until "$@" 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt $((patience * 5)) ] || fail "not within $patience s: $what"
		sleep 0.2
	done
}

answers() {
	[ "$(ask "$1" .ok)" = true ]
}

share_at_least() { # NODE UCPU
	[ "$(ask "$1" .share_ucpu)" -ge "$2" ]
}

share_at_most() {
	[ "$(ask "$1" .share_ucpu)" -le "$2" ]
}

quota_ucpu() { # NODE
	if [ $version = 1 ]; then
		echo $(($(cat "$hierarchy/$top/$1/cpu.cfs_quota_us") * 10))
	else
		read -r quota period <"$hierarchy/$top/$1/cpu.max"
		echo $((quota * 1000000 / period))
	fi
}

quota_is_within_share() {
	[ "$(quota_ucpu "$1")" -le "$(ask "$1" .share_ucpu)" ]
}

quota_at_least() { # NODE UCPU
	[ "$(quota_ucpu "$1")" -ge "$2" ]
}

all_up() { # NODE
	[ "$(ask "$1" '[.neighbours[] | select(.state == "up")] | length')" = 2 ]
}

start() { # NODE
	"$isobard" -f "$dir/$1/conf" 2>>"$dir/$1.log" &
	eval "pid_$1=$!"
	pids="$pids $!"
	until_true "node $1 answers" answers "$1"
}

pid_of() {
	eval "echo \$pid_$1"
}

burn() { # NODE -> burner
	sh -c 'while :; do :; done' &
	burner=$!
	pids="$pids $burner"
	echo "$burner" >"$hierarchy/$top/$1/cgroup.procs"
}

audit() {
	# shellcheck disable=SC2046 # a list of sockets
	"$isobarctl" audit $(for n in $nodes; do echo "$dir/$n/run/control"; done) >"$dir/audit" ||
		{ cat "$dir/audit"; fail 'the audit does not prove the sum'; }
}

port=$((20000 + $$ % 20000))
for n in $nodes; do
	mkdir -p "$dir/$n/state"
	"$isobarctl" keygen --output "$dir/$n/key" >/dev/null
	port=$((port + 1))
	eval "port_$n=$port"
done
public=$(cd "$dir/a" && for f in key*; do [ "$f" = key.key ] || echo "$f"; done | head -1)
for n in $nodes; do
	{
		echo "cluster = test"
		echo "budget = ${budget}ucpu"
		echo "node = $n"
		echo "endowment = 0.2cpu"
		echo "floor = 0.02cpu"
		echo "cgroup = /$top/$n"
		echo "create-cgroup = yes"
		echo "on-exit = remove"
		eval "echo \"listen = tcp://127.0.0.1:\$port_$n\""
		echo "secret-key = $dir/$n/key.key"
		echo "state-directory = $dir/$n/state"
		echo "run-directory = $dir/$n/run"
		echo "trading { tick = 200ms }"
		for m in $nodes; do
			[ "$m" = "$n" ] && continue
			echo "neighbour $m {"
			eval "echo \"address = tcp://127.0.0.1:\$port_$m\""
			echo "public-key = '$(sed -n 's/^public-key //p' "$dir/$m/$public")'"
			echo "}"
		done
	} >"$dir/$n/conf"
	"$isobard" -n -f "$dir/$n/conf"
	"$isobard" --init -f "$dir/$n/conf" >/dev/null
	"$isobard" --init -f "$dir/$n/conf" >/dev/null 2>&1 && fail 'a journal was made twice'
done

for n in $nodes; do start "$n"; done
# shellcheck disable=SC2046 # a list of directories
"$observer" --budget-ucpu $budget $(for n in $nodes; do echo "$hierarchy/$top/$n"; done) \
	>"$dir/observed" &
watcher=$!
pids="$pids $watcher"
audit

burn b
until_true 'b gets most of the budget' share_at_least b 400000
until_true 'its quota follows' quota_at_least b 300000
audit

# Killed, not ended: limit and ledger stay, and a new incarnation goes on with them.
share=$(ask b .share_ucpu)
incarnation=$(ask b .incarnation)
kill -9 "$(pid_of b)"
[ "$(quota_ucpu b)" -gt 0 ] || fail 'the limit did not survive the agent'
[ "$(quota_ucpu b)" -le $budget ] || fail 'the limit is gone'
start b
[ "$(ask b .incarnation)" -gt "$incarnation" ] || fail 'no new incarnation'
share_at_least b $((share / 2)) || fail "the share $share was forgotten: $(ask b .share_ucpu)"
until_true 'its neighbours are back' all_up b
audit

kill "$burner"
wait "$burner" 2>/dev/null || true
burn c
until_true 'c gets most of the budget' share_at_least c 400000
until_true 'b gave it back' share_at_most b 200000
for n in $nodes; do quota_is_within_share "$n" || fail "quota of $n above its share"; done
audit
cat "$dir/audit"

kill "$burner"
kill "$watcher"
wait "$watcher" || fail "the quotas exceeded the budget: $(tail -1 "$dir/observed")"
[ "$(tail -1 "$dir/observed" | jq .kept)" -gt 100 ] || fail "too few samples: $(tail -1 "$dir/observed")"
for n in $nodes; do
	kill "$(pid_of "$n")"
	wait "$(pid_of "$n")" || fail "node $n did not end well"
	[ ! -d "$hierarchy/$top/$n" ] || fail "on-exit = remove left $n"
done

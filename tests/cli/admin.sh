#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The administrator's commands on a cluster of nodes with real ledgers: the
# examples of the manual as they stand there, refusals, and what is said.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
page=$top_srcdir/man/isobarctl.8

# village BUDGET NAME... - a new cluster, with its configuration.
village() {
	rm -rf run registry
	mkdir run
	"$top_builddir/tests/cli/village" "$work/run" lab "$@" &
	servers="$servers $!"
	last_server=$!
	shift
	[ -f key.pub ] || "$ctl" keygen -o "$work/key" >/dev/null
	port=7500
	{
		echo "cluster = lab"
		echo "registry = $work/registry"
		for node; do
			[ "$node" = - ] && continue
			port=$((port + 1))
			echo "node $node {"
			echo "admin = 'unix:$work/run/$node/control'"
			echo "public-key = $work/key.pub"
			echo "address = 'tcp://127.0.0.1:$port'"
			echo "}"
		done
	} >cluster.conf
	for node; do
		tries=0
		while [ "$node" != - ] && [ ! -S "run/$node/control" ]; do
			tries=$((tries + 1))
			[ $tries -lt 200 ] || { echo "no node $node"; exit 1; }
			sleep 0.05
		done
	done
}

admin() {
	run "$ctl" -c "$work/cluster.conf" "$@" </dev/null
}

# silent NODE, and heard NODE: from its neighbours and from the administrator.
silent() {
	touch "run/$1/cut"
	mv "run/$1/control" "run/$1/hidden"
}

heard() {
	rm "run/$1/cut"
	mv "run/$1/hidden" "run/$1/control"
}

# said TEXT, warned TEXT - a line of stdout or stderr contains it.
said() {
	grep -qF -e "$1" stdout || complain "does not say '$1': $(tail -3 stdout)"
}

warned() {
	grep -qF -e "$1" stderr || complain "does not warn '$1': $(cat stderr)"
}

# As JSON, which is what the schema says whether it was done or not.
json() {
	admin "$@" --json
	conforms registry
}

proven() {
	admin audit
	ends 0
	said 'proven: share + in flight'
	said 'could bring in no more than they have'
}

# example MARK - what stands in the manual after it, one command a line.
example() {
	awk -v mark="village: $1" '
		index($0, mark) && /^\.\\"/ { found = 1 }
		/^\.Ed/ { inside = 0; if (found == 2) exit }
		inside { print }
		found == 1 && /^\.Bd/ { inside = 1; found = 2 }' "$page" >commands
	[ -s commands ] || { echo "no example '$1' in $page"; exit 1; }
	while read -r program rest; do
		[ "$program" = isobarctl ] || { echo "what is $program?"; exit 1; }
		rest=$(echo "$rest" | sed "s| -c /etc/isobar/cluster.conf||")
		# shellcheck disable=SC2086 # words of the manual
		admin $rest
		ends 0
		err ''
	done <commands
}

village 3000000 a b c d - e

# Before there is a registry.
admin budget show
ends 1
out ''
err "isobarctl: there is no registry '$work/registry/registry.jsonl'; make one: isobarctl registry create"

# The worked examples, one after the other.
example up
said 'proven: share + in flight'
admin registry show
ends 0
said 'cluster lab, budget in force 4 CPU, wanted 4 CPU'
said 'b                left'
said 'e                live'
silent d
admin budget show
ends 0
said "d does not answer: connect to '$work/run/d/control'"
example 'down d'
said 'proven: share + in flight'
admin registry show
said 'd                forgotten'

# It lived: it learns what happened, and joins as another generation.
heard d
tries=0
while :; do
	json join d --neighbour a --neighbour c --fenced --yes
	[ "$actual" -ne 0 ] || break
	tries=$((tries + 1))
	[ $tries -lt 50 ] || break
	sleep 0.1
done
ends 0
said 'd is to be admitted with 0.02 CPU, as generation 2'
said 'd is a member'
proven

# One node of the cluster is asked over its endpoint, and all of them at once.
admin status --node c
ends 0
said 'node c of cluster lab'
admin ledger --node c
ends 0
said '"node": "c"'
admin status
ends 2
err 'isobarctl: of a cluster one node is asked: --node NAME, and neither --instance nor --socket'
admin status --node c -i c
ends 2
admin status --node z
ends 2
err "isobarctl: the configuration of cluster lab has no node 'z'; it has: a b c d e"
admin freeze --node c
ends 1
err "isobarctl: 'c': there is no command 'freeze'"
silent d
admin top
ends 0
[ "$(wc -l <stdout)" = 7 ] || complain "$(cat stdout)"
said 'on 4 of 5 nodes'
grep -q '^d  *silent ' stdout || complain "$(cat stdout)"
admin top --json
[ "$(jq -r '.[].node' stdout | tr '\n' ' ')" = 'a b c d e ' ] || complain "$(cat stdout)"
admin status --node d
ends 1
warned "isobarctl: node d: connect to '$work/run/d/control'"
heard d
admin top -i a
ends 2
err 'isobarctl: top of a cluster takes neither --instance nor --socket'

# Questions without anybody to answer them.
json leave a
ends 1
admin leave a
ends 1
warned 'a gives its whole share to its neighbours'
warned 'not done: nobody is here to answer; --yes says that it is so'
admin bury c
ends 1
warned 'wait until every lease that they gave it has run out'
warned '0.02 CPU stay reserved'
warned 'not done'
admin bury c --fenced
ends 1
warned 'If it still runs, or comes back so, the kernels together may enforce more than the budget'

# What is not safe, or not possible.
admin budget set 0.01cpu
ends 1
warned 'the budget cannot be less than 0.08 CPU'
admin budget set 5
ends 2
err "isobarctl: budget: '5' is no amount of CPU, such as 2.5cpu"
admin budget set 5cpu --node x
ends 1
warned "no node 'x' in the registry; there are: a b c d e"
admin join e --neighbour a
ends 1
warned 'lives as generation 1 and trades'
admin join zz --neighbour a
ends 1
warned 'node zz is not in the configuration'
admin join a
ends 1
json forget a --yes
ends 1
said 'node a is a member; it must leave or be buried first'
admin bury c d --yes
ends 1
warned 'several nodes together can only be buried when they are surely off'
admin drain c --undo
ends 1
admin watch
ends 2
err 'isobarctl: watch needs --bury-after TIME: how long a node must be silent'
admin registry create
ends 1
warned 'already; it is never replaced'
admin registry
ends 2
proven

# A neighbour is silent: no burial, and it is said what to do instead.
silent c
silent d
admin bury c --yes
ends 1
warned 'd, a neighbour of c, does not answer'
warned 'bury both together with --fenced'
heard d

# Watching: c is buried without anybody; the budget goes on being kept.
admin watch --bury-after 300ms --interval 100ms --count 30 --timeout 20s --json
cp stdout lines
while read -r line; do
	echo "$line" >stdout
	conforms watch
done <lines
jq -r '.event // .error' lines >stdout
said 'c has been silent'
said 'all neighbours have certified: c void'
proven
admin registry show
said 'c                buried'

# What nobody answers for stays under way, and is gone on with.
silent a
json budget set 5cpu --node a --timeout 1s
ends 1
said 'not finished in time; what is under way stays under way'
said 'still to be given out: 1 CPU; who is to get it does not answer'
admin budget show
said 'budget in force 5 CPU'
said 'not given out yet: 1 CPU'
heard a
json resume
ends 0
said 'a has got 1 CPU'
said 'nothing is under way any more'
proven
# The least there can be: so all that e has above its floor is missed.
json budget set 8cpu --node e
ends 0
silent e
admin budget set 0.08cpu --timeout 2s
ends 1
said 'still to be given back: '
said 'the nodes that answer have nothing above their floors'
heard e
admin resume
ends 0
proven
for shown in budget registry; do
	json $shown show
	ends 0
done
grep -q '"budget_ucpu": 80000' stdout || complain 'the budget is not there'

# Killed at any moment, again and again: resume goes on, and the books are right.
i=0
while [ $i -lt 12 ]; do
	i=$((i + 1))
	timeout -s KILL "0.0$((i % 4))$i" "$ctl" -c cluster.conf budget set "$((2 + i % 3)).$i"cpu \
		>stdout 2>&1 </dev/null || true
	timeout -s KILL "0.0$((i % 3))$i" "$ctl" -c cluster.conf drain a >stdout 2>&1 </dev/null || true
	timeout -s KILL "0.0$i" "$ctl" -c cluster.conf resume >stdout 2>&1 </dev/null || true
done
json drain a --undo
admin budget set 3cpu
ends 0
admin resume
ends 0
proven

# Two at once.
flock -o "$work/registry/lock" sleep 20 &
servers="$servers $!"
sleep 0.3
admin resume
ends 1
warned "registry '$work/registry' is in use by process"
warned 'one administrator at a time'
admin registry show
ends 0
kill $!
wait $! 2>/dev/null || true

# Both of two neighbours are off.
touch run/d/off run/e/off
silent d
silent e
json bury d e --fenced --yes --heir a
ends 0
said 'all neighbours have certified: d and e void'
proven

# A registry that was changed by hand, and one that was cut off.
cp registry/registry.jsonl whole
sed -i '5s/[0-9]/7/' registry/registry.jsonl
admin registry show
ends 1
warned 'line 5 is damaged'
head -c -20 whole >registry/registry.jsonl
admin registry show
ends 0
said "the registry's last line was half written, and never acted on: dropped"
cp whole registry/registry.jsonl

# An old copy: the first node that knows more says so.
admin budget set 2cpu
ends 0
cp whole registry/registry.jsonl
admin budget set 2.5cpu
ends 1
warned 'another registry is in use, or this one is an old copy'

# The example configuration of the manual, but for its keys.
awk '/^\.\\" cluster: / { found = 1 } /^\.Ed/ { inside = 0 }
	inside { print } found && /^\.Bd/ { inside = 1 }' "$top_srcdir/man/isobar-cluster.conf.5" |
	sed -e "s|/etc/isobar/[a-z]*\.key|$work/key.key|" -e "s|/etc/isobar/[a-z]*\.pub|$work/key.pub|" \
		-e "s|^cluster.*|&\nregistry = $work/nowhere|" >cluster.conf
admin registry show
ends 1
warned "there is no registry '$work/nowhere/registry.jsonl'"
sed -e "s|/etc/isobar/[a-z]*\.key|$work/key.key|" -e "s|/etc/isobar/[a-z]*\.pub|$work/key.pub|" \
	-e "s|^#registry.*|registry = $work/nowhere|" "$top_srcdir/etc/cluster.conf" >cluster.conf
admin registry show
ends 1
warned "there is no registry '$work/nowhere/registry.jsonl'"

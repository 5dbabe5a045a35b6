#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The audit on recorded ledgers: proven, skewed, incomplete, tampered with.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cp "$here"/ledgers/*.json "$work"
chmod u+w "$work"/*.json
cd "$work"

# change FILE SED-SCRIPT
change() {
	sed "$2" "$here/ledgers/$1" >"$1"
}

restore() {
	cp "$here"/ledgers/*.json .
}

table='cluster lab, budget 1.500000 CPU, 3 nodes

NODE                    SHARE     ENFORCED        FLOOR      CEILING
a                    0.320000     0.320000     0.010000     1.500000
b                    0.576000     0.576000     0.010000     1.500000
c                    0.598500     0.598500     0.010000     1.500000

shares 1.494500 + in flight 0.005500 = 1.500000 CPU; budget 1.500000; enforced 1.494500
trust: in hostile hands, 3 of 3 nodes could bring in no more than they have'
run "$ctl" audit a.json b.json c.json
ends 0
out "$table
proven: share + in flight = budget"
err ''

# The order in which they were gathered does not matter.
run "$ctl" audit c.json b.json a.json
ends 0

# What a node writes in the place of a ledger is not written to the terminal as it is.
echo '{"ok": false, "error": "\u001b[2J\u009b31m"}' >d.json
run "$ctl" audit a.json d.json
ends 1
err "isobarctl: 'd.json': (unprintable)"
rm d.json

run "$ctl" audit --json a.json b.json c.json
ends 0
err ''
conforms audit
command='a field of the JSON'
for field in '"budget_ucpu": 1500000' '"complaints": \[\]' '"in_flight_ucpu": 5500' \
	'"proven": true' '"shares_ucpu": 1494500' '"rereads": 0'; do
	grep -q -e "^  $field,\{0,1\}$" stdout || complain "$field is not there"
done

# More than all can use is not lost, and is said.
for limits in 'a.json 320000' 'b.json 576000' 'c.json 598500'; do
	change "${limits% *}" "s/\"ceiling_ucpu\": .*/\"ceiling_ucpu\": ${limits#* },/"
done
run "$ctl" audit a.json b.json c.json
ends 0
keep '/^the ceilings/,$!d'
out 'the ceilings add up to 1.494500: 0.005500 of the budget can be used by nobody
trust: in hostile hands, 3 of 3 nodes could bring in no more than they have
proven: share + in flight = budget'
restore

# One that a names as its neighbour, and that does not name a.
sed 's/"node": "a"/"node": "d"/
s/ef851660593d645f/48b4e60784e48cbc/
s/"\(endowment\|enforced\|floor\|share\)_ucpu": [0-9]*/"\1_ucpu": 0/
/"edges"/,/^  \]/d' a.json | sed 's/"endowment_ucpu"/"edges": [],\n  &/' >d.json
jq '.edges += [.edges[0] + {peer: "d", peer_id: "48b4e60784e48cbc", sent_ucpu: 0,
	received_ucpu: 0}]' a.json >named.json
run "$ctl" audit d.json named.json b.json c.json
ends 0
keep '/^a has/,/^proven/!d; /^trust/d; /^  /d'
out 'a has d as a neighbour, which does not have a: they do not trade
proven: share + in flight = budget'
run "$ctl" audit --json d.json named.json b.json c.json
ends 0
conforms audit
[ "$(jq -c .one_sided stdout)" = '[{"neighbour":"d","node":"a"}]' ] || complain "$(cat stdout)"
# That has ended at one end is no such edge.
jq '.edges[2].flags = 1' named.json >ended.json
run "$ctl" audit --json d.json ended.json b.json c.json
[ "$(jq -c .one_sided stdout)" = '[]' ] || complain "$(cat stdout)"
rm d.json named.json ended.json

# One that waits for its admission has no part in it.
sed 's/"node": "a"/"node": "d"/
s/ef851660593d645f/48b4e60784e48cbc/
s/"\(budget\|endowment\|enforced\|share\)_ucpu": [0-9]*/"\1_ucpu": 0/
s/"generation": 1/"generation": 0/
/"edges"/,/^  \]/d' a.json | sed 's/"endowment_ucpu"/"edges": [],\n  &/' >d.json
run "$ctl" audit d.json a.json b.json c.json
ends 0
keep '/^proven/!d'
out 'proven: share + in flight = budget'
rm d.json

# How much of it rests on trust: it is proven all the same.
change a.json 's/"limit_ucpu": 245000/"limit_ucpu": 250000/'
change b.json 's/"limit_ucpu": 245000/"limit_ucpu": null/'
run "$ctl" audit a.json b.json c.json
ends 0
keep '/^trust/,/^proven/!d'
out 'trust: in hostile hands, 0 of 3 nodes could bring in no more than they have
  a is trusted without a limit by b
  b could bring in 0.005000 CPU more: limits 0.495000, spare 0.490000
  c is trusted without a limit by b
proven: share + in flight = budget'
run "$ctl" audit --json a.json b.json c.json
ends 0
conforms audit
command='the trust in the JSON'
jq -ce '.trust[] | [.node, .verdict, .limits_ucpu, .spare_ucpu, .because_of]' stdout >trust
printf '%s\n' '["a","unbounded",245000,490000,["b"]]' '["b","excess",495000,490000,[]]' \
	'["c","unbounded",250000,490000,["b"]]' | cmp -s - trust || complain "is $(cat trust)"
# Of an agent that does not say it yet.
change a.json '/limit_ucpu/d'
cp "$here/ledgers/b.json" .
run "$ctl" audit a.json b.json c.json
keep '/^ .*known/!d'
out '  b: nothing is known of its limit at a
  c: nothing is known of its limit at a'
restore

# A node is missing.
run "$ctl" audit a.json b.json
ends 1
out 'cluster lab, budget 1.500000 CPU, 2 nodes

NODE                    SHARE     ENFORCED        FLOOR      CEILING
a                    0.320000     0.320000     0.010000     1.500000
b                    0.576000     0.576000     0.010000     1.500000

shares 0.896000 + in flight 0.104000 = 1.000000 CPU; budget 1.500000; enforced 0.896000
trust: in hostile hands, 0 of 2 nodes could bring in no more than they have
  a: nothing is known of its limit at c
  b: nothing is known of its limit at c
NOT PROVEN:
  node c is not in the collection, and a has traded with it
  node c is not in the collection, and b has traded with it
  the endowments do not add up to the budget: 1.000000 against 1.500000 CPU'
err ''

# Skewed: a was read before it gave what b has already received.
change a.json 's/"sent_ucpu": 250000/"sent_ucpu": 240000/; s/"share_ucpu": 320000/"share_ucpu": 330000/'
run "$ctl" audit a.json b.json c.json
ends 1
out 'cluster lab, budget 1.500000 CPU, 3 nodes

NODE                    SHARE     ENFORCED        FLOOR      CEILING
a                    0.330000     0.320000     0.010000     1.500000
b                    0.576000     0.576000     0.010000     1.500000
c                    0.598500     0.598500     0.010000     1.500000

shares 1.504500 + in flight -0.004500 = 1.500000 CPU; budget 1.500000; enforced 1.494500
trust: in hostile hands, 3 of 3 nodes could bring in no more than they have
NOT PROVEN:
  a sent 0.240000 to b, which received 0.246000: a was read too early, or its journal is an old one'
err ''

# The same from a node that runs: it is read again.
mkdir live
cp a.json live/ledger.1.json
cp "$here/ledgers/a.json" live/ledger.json
serve "$work/live"
run "$ctl" audit live/control b.json c.json
ends 0
out "$table
proven: share + in flight = budget"
restore

# A share that the counters do not give.
change b.json 's/"share_ucpu": 576000/"share_ucpu": 586000/'
run "$ctl" audit a.json b.json c.json
ends 1
keep '/^NOT/,$!d'
out 'NOT PROVEN:
  b states a share that its counters do not give: 0.586000 against 0.576000 CPU
  the shares and transfers in flight do not add up to the endowments: 1.510000 against 1.500000 CPU'
restore

# A kernel that enforces more than the share, or nothing at all.
change c.json 's/"enforced_ucpu": 598500/"enforced_ucpu": 610000/'
run "$ctl" audit a.json b.json c.json
ends 1
keep '/^NOT/,$!d'
out 'NOT PROVEN:
  c enforces more than its share: 0.610000 against 0.598500 CPU
  the kernels together enforce more than the budget: 1.506000 against 1.500000 CPU'
change c.json 's/"enforced_ucpu": 598500/"enforced_ucpu": "unlimited"/'
run "$ctl" audit a.json b.json c.json
ends 1
command='an unlimited node'
grep -q '^c                    0.598500    unlimited' stdout || complain 'is not shown'
grep -q '^  c enforces more than its share: ' stdout || complain 'is not found'
restore

# A dry run enforces nothing that is known: the ledgers still add up.
change c.json 's/"enforced_ucpu": 598500/"enforced_ucpu": null/'
run "$ctl" audit a.json b.json c.json
ends 0
restore

# Another budget; a node that has stopped; the same node twice.
change b.json 's/"budget_ucpu": 1500000/"budget_ucpu": 1600000/; s/"halt": null/"halt": "amnesia"/'
run "$ctl" audit a.json b.json c.json a.json
ends 1
keep '1,/^NOT/d'
out '  b has a budget of 1.600000 CPU, a one of 1.500000
  b has stopped trading
  a appears twice
  the endowments do not add up to the budget: 2.000000 against 1.500000 CPU
  the kernels together enforce more than the budget: 1.814500 against 1.500000 CPU'
restore

# Amounts whose sum would wrap around to the right one.
for node in a b c; do
	change $node.json 's/"sent_ucpu": [0-9]*/"sent_ucpu": 4611686018427387904/
s/"share_ucpu": [0-9]*/"share_ucpu": 4611686018427387904/'
done
run "$ctl" audit a.json b.json c.json
ends 1
keep '1,/^NOT/d'
out '  a states amounts that no ledger can hold'
restore

# What is no ledger is no evidence.
change a.json 's/"node": "a"/"node": "z"/'
run "$ctl" audit a.json b.json c.json
ends 1
out ''
err "isobarctl: 'a.json': id: not that of this node and cluster"
head -c 100 "$here/ledgers/a.json" >a.json
run "$ctl" audit a.json
ends 1
out ''
err "isobarctl: 'a.json' line 6: premature end of input near '\"e'"
: >a.json
run "$ctl" audit a.json
ends 1
err "isobarctl: 'a.json' line 1: '[' or '{' expected near end of file"
run "$ctl" audit ./nothing.json
ends 1
err "isobarctl: './nothing.json': No such file or directory"
run "$ctl" audit --run-directory "$work/run" nobody
ends 1
err "isobarctl: connect to '$work/run/nobody/control': No such file or directory"
run "$ctl" audit --run-directory "$work/run"
ends 1
err "isobarctl: no isobard has a socket in $work/run
start one: systemctl start isobard@NAME, or isobard -f FILE; what it lacks: isobarctl check"
restore

# Without operands: all instances of this machine.
for node in a b c; do
	mkdir -p "run/$node"
	cp "$node.json" "run/$node/ledger.json"
	serve "$work/run/$node"
done
run "$ctl" audit --run-directory "$work/run"
ends 0
out "$table
proven: share + in flight = budget"
run "$ctl" audit --run-directory "$work/run" a b.json c
ends 0
out "$table
proven: share + in flight = budget"

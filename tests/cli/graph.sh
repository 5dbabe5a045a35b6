#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-sim graph from outside: known graphs, files there and back, sections for
# isobard.conf that isobard takes, and what it refuses.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
sim=$top_builddir/agent/isobar-sim

# What anybody can work out by hand.
run "$sim" graph --kind complete --nodes 5
ends 0
keep '/^safe/d'
out 'graph         complete
nodes         5
edges         10
degree        4
connected     yes
diameter      1
weights       metropolis
lambda2       1
lambda max    1
alpha         below 1'
run "$sim" graph --kind star --nodes 11 --weights max-degree --curvature 10 --rho 0.5
ends 0
keep '/^safe/d'
out 'graph         star
nodes         11
edges         10
degree        1 to 10
connected     yes
diameter      2
weights       max-degree
lambda2       0.0909091
lambda max    1
alpha         below 0.00708'

# The same again as a file: the graph and its numbers come back.
"$sim" graph --kind geometric --nodes 60 --radius 0.25 --seed 7 --edges >edges
[ "$(grep -c ' ' edges)" -gt 100 ] || complain "too few edges: $(cat edges)"
"$sim" graph --file edges --edges >again
cmp -s edges again || complain 'a file that was read is printed differently'
"$sim" graph --kind geometric --nodes 60 --radius 0.25 --seed 7 | sed 1d >want
"$sim" graph --file edges | sed 1d >got
cmp -s want got || complain "not the same graph: $(diff want got)"
"$sim" graph --kind geometric --nodes 60 --radius 0.25 --seed 8 --edges >other
cmp -s edges other && complain 'another seed, the same graph'

# In parts: nothing goes from one to the other, and no step is offered.
printf 'a b # of two\n\nc d\n' >parts
run "$sim" graph --file parts
ends 0
out 'graph         file
nodes         4
edges         2
degree        1
connected     no
weights       metropolis
lambda2       0
lambda max    1'

# What is not found is said, and bounded.
run "$sim" graph --kind ring --nodes 4000 --steps 50
ends 0
grep -q '^lambda2 .* at most, not found within 50 steps$' stdout || complain "it says $(cat stdout)"
grep -q '^alpha' stdout && complain 'a step from an eigenvalue that is not known'

# A graph that switches: the promises, and steps only where they are kept.
for promise in free connected union; do
	"$sim" graph --kind complete --nodes 12 --up 0.1 --promise $promise --json >$promise.json
done
jq -e '.switching.connected_draws < 20 and .switching.lambda2_least == 0 and .rates == null' \
	free.json >/dev/null || complain "free is $(cat free.json)"
jq -e '.switching.connected_draws == 100 and .switching.lambda2_least > 0 and
	.rates.alpha_max == .switching.lambda2_least and .switching.edges_mean < 20' \
	connected.json >/dev/null || complain "connected is $(cat connected.json)"
jq -e '.switching.edges_mean > 19 and .switching.edges_mean < 24' \
	union.json >/dev/null || complain "union is $(cat union.json)"

# JSON says what the text does.
"$sim" graph --kind exponential --nodes 16 --json >json
jq -e '.command == "graph" and .graph == "exponential" and .edges == 56 and .degree_most == 7 and
	.diameter_most == 2 and .lambda2 == 0.5 and .converged and .lambda2_error <= 1e-6 and
	.rates.safe_alpha <= .rates.alpha_max and .rates.safe_step < .rates.step_max' json >/dev/null || complain "it is $(cat json)"

# Neighbours, both ways, and in a configuration that isobard takes.
run "$sim" graph --kind line --names oslo,rome,paris --neighbours rome
ends 0
out 'neighbour oslo {
	address = tcp://IP-OF-oslo:PORT
	public-key = /etc/isobar/oslo.pub
	limit = SPARE-OF-oslo/1
}
neighbour paris {
	address = tcp://IP-OF-paris:PORT
	public-key = /etc/isobar/paris.pub
	limit = SPARE-OF-paris/1
}'
for name in oslo rome paris; do
	"$top_builddir/agent/isobarctl" keygen --output $name >/dev/null
done
{
	printf 'cluster = c\nbudget = 3cpu\nnode = rome\nendowment = 1cpu\ncgroup = /c/rome\n'
	printf 'listen = tcp://192.0.2.2:7400\nsecret-key = %s\n' "$work/rome.key"
	cat stdout
} >conf
sed "s|/etc/isobar|$work|" conf >with-keys
run "$top_builddir/agent/isobard" -n -f with-keys
[ "$actual" -ne 0 ] || complain 'isobard takes addresses that are not filled in'
sed 's/IP-OF-oslo:PORT/192.0.2.1:7400/; s/IP-OF-paris:PORT/192.0.2.3:7400/' with-keys >addresses
run "$top_builddir/agent/isobard" -n -f addresses
[ "$actual" -ne 0 ] || complain 'isobard takes limits that are not filled in'
sed 's|SPARE-OF-.*/1|990mcpu|' addresses >filled
run "$top_builddir/agent/isobard" -n -f filled
ends 0
run "$sim" graph --kind star --nodes 3 --neighbours node2
ends 0
grep -q '^neighbour node0 {' stdout || complain "its neighbours are $(cat stdout)"
grep -q '^	limit = SPARE-OF-node0/2$' stdout || complain "its neighbours are $(cat stdout)"

# What is refused.
run "$sim" graph
ends 2
err 'isobar-sim: which graph? --kind or --file says it'
run "$sim" graph --kind torus
ends 2
err "isobar-sim: --kind: 'torus' is none of ring, grid, random, exponential, complete, star, line, erdos-renyi, geometric"
run "$sim" graph --file parts --nodes 4
ends 2
err 'isobar-sim: --file says all: no --kind, --nodes or --names beside it'
run "$sim" graph --kind ring --edges --json
ends 2
err 'isobar-sim: --edges, --neighbours and --json exclude each other'
run "$sim" graph --kind ring --names oslo,rome,oslo
ends 1
err 'isobar-sim: names: one is empty, twice there or has a blank'
run "$sim" graph --kind ring --nodes 4 --neighbours node4
ends 1
err "isobar-sim: no node 'node4'"
run "$sim" graph --kind ring --nodes 4 --neighbours node03
ends 1
printf 'a b{\n' >braces
run "$sim" graph --file braces --neighbours a
ends 1
grep -q "isobard.conf takes no such node: 'b{'" stderr || complain "it says $(cat stderr)"
run "$sim" graph --file nowhere
ends 1
err 'isobar-sim: open nowhere: No such file or directory'
printf 'a b\nb c d\n' >three
run "$sim" graph --file three
ends 1
err 'isobar-sim: three: line 2: more than two names'
run "$sim" graph --kind erdos-renyi --nodes 50 --probability 0.01
ends 1
grep -q 'not connected in any of 100 draws' stderr || complain "it says $(cat stderr)"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-sim from outside: its manual's example, the three formats, what it refuses.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
sim=$top_builddir/agent/isobar-sim
page=$top_srcdir/man/isobar-sim.1

# The table of the manual comes out, give or take what a change in trading costs.
example=$(sed -n '/^\.Sh EXAMPLES/,/^\.Bd/s/^\.Dl isobar-sim //p' "$page")
sed -n '/^\.Bd -literal/,/^\.Ed/p;/^\.Ed/q' "$page" | grep -v '^\.' >manual
# shellcheck disable=SC2086 # the words of a command line
run "$sim" $example
ends 0
err ''
columns() { awk '{ print $1, $2, $3, $4, NF }' "$1"; }
columns manual >want
columns stdout >got
cmp -s want got || { diff want got || true; complain 'not the table of the manual'; }
paste manual stdout | awk 'NR > 1 && ($15 > 1.25 * $5 + 1 || $15 < 0.75 * $5 - 1) { exit 1 }' ||
	complain "other rounds than the manual has: $(cat stdout)"
awk 'NR > 1 && !($7 > 0 && $8 == "MiB" && $9 > 500 && $9 < 8192 && $10 == "B") { exit 1 }' stdout ||
	complain 'no node takes so much'

# The same seed, the same bits; another seed, others.
"$sim" shares --csv --graph random --nodes 50 --loss 0.2 --delay 2 >first
"$sim" shares --csv --graph random --nodes 50 --loss 0.2 --delay 2 >second
"$sim" shares --csv --graph random --nodes 50 --loss 0.2 --delay 2 --seed 2 >third
cmp -s first second || complain 'the same seed, another result'
cmp -s first third && complain 'another seed, the same result'
[ "$(sed 1d first | cut -d, -f1-3,5,6)" = random,50,98,1,1 ] || complain "other values: $(cat first)"

# JSON says what the other formats do.
"$sim" shares --json --timing --graph ring,grid --nodes 16 --seeds 2 >json
for word in '"file": null' '"probability": ' '"radius": ' '"command": "shares"' '"graph": "grid"' '"seed": 2' '"load": "halves"' '"reached": true' '"cpu_s": '; do
	grep -q "$word" json || complain "no $word in the JSON"
done
[ "$(grep -c '"rounds": ' json)" -eq 4 ] || complain 'not four runs'

# What does not come to its goal is said, and is no failure.
run "$sim" shares --graph ring --nodes 64 --rounds 10
ends 0
grep -q '  >10 ' stdout || complain 'a run that was given up looks like one that was not'

# Rows that nobody will see are none that were made.
for full in 'shares --graph ring --nodes 8' 'graph --kind ring' 'track --rounds 4' \
	'track --scale --graph exponential --nodes 8'; do
	run sh -c "\"\$0\" $full >/dev/full" "$sim"
	ends 1
	err 'isobar-sim: standard output: No space left on device'
done

run "$sim" shares --graph grid --nodes 17
ends 1
err 'isobar-sim: grid of 17 nodes, seed 1: 17 nodes make no grid: it would be 1 times 17'

run "$sim"
ends 2
err "isobar-sim: which command? see 'isobar-sim --help'"
run "$sim" share
ends 2
err "isobar-sim: no command 'share'; did you mean 'shares'?"
run "$sim" shares now
ends 2
err "isobar-sim: shares takes no argument 'now'"
run "$sim" shares --nodes 2
ends 2
err "isobar-sim: --nodes: '2' is no whole number from 3 to 1000000"
run "$sim" shares --loss 1
ends 2
err "isobar-sim: --loss: '1' is no number from 0 to 0.99"
run "$sim" shares --graph ring,torus
ends 2
err "isobar-sim: --graph: 'torus' is none of ring, grid, random, exponential, complete, star, line, erdos-renyi, geometric"
run "$sim" shares --graph star --nodes 66
ends 1
err 'isobar-sim: star of 66 nodes, seed 1: out of range, or a node with too many neighbours'

# A graph that was drawn, and the same one read, come to the same shares.
for kind in complete star line erdos-renyi geometric; do
	"$sim" shares --csv --graph $kind --nodes 20 | sed 1d >drawn
	[ "$(cut -d, -f1,2,6 drawn)" = "$kind,20,1" ] || complain "$kind is $(cat drawn)"
done
"$sim" graph --kind complete --nodes 20 --edges >complete
"$sim" shares --csv --graph complete --nodes 20 | sed '1d; s/^complete/file/' >drawn
"$sim" shares --csv --file complete | sed 1d >file
cmp -s drawn file || complain "a file makes a difference: $(cat drawn file)"
printf 'a b\n\nc d\n' >parts
run "$sim" shares --file parts
ends 1
err 'isobar-sim: seed 1: parts: not connected'

# What cannot be drawn is said before anything is simulated.
run "$sim" shares --graph ring --nodes 8 --plot plot.pdf
ends 2
out ''
err "isobar-sim: --plot: 'plot.pdf' ends neither in .svg nor in .png"
run "$sim" shares --graph ring --nodes 8 --plot nowhere/plot.svg
ends 1
out ''
err 'isobar-sim: nowhere/plot.svg cannot be drawn: No such file or directory'

# Without gnuplot the table is complete all the same.
mkdir empty
run env PATH="$work/empty" "$sim" shares --graph ring --nodes 8 --plot "$work/plot.svg"
ends 1
[ "$(wc -l <stdout)" -eq 2 ] || complain 'no table'
grep -q 'install gnuplot-nox' stderr || complain "gnuplot is missing and it says: $(cat stderr)"
if command -v gnuplot >/dev/null; then
	run "$sim" shares --graph ring,exponential --nodes 8,16 --plot "$work/plot.svg"
	ends 0
	grep -q '<svg' plot.svg || complain 'no drawing'
fi

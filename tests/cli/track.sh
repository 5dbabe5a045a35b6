#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-sim track from outside: its manual's example, the formats, what it refuses.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
sim=$top_builddir/agent/isobar-sim
page=$top_srcdir/man/isobar-sim.1

# The table of the manual comes out, rounding of the last bits apart.
sed -n '/^\.Dl isobar-sim track --problem/,/^\.Ed/p' "$page" | sed '1,/^\.Bd/d' | grep -v '^\.' >manual
command=$(sed -n 's/^\.Dl isobar-sim track --problem/--problem/p' "$page" | head -1)
# shellcheck disable=SC2086 # the words of a command line
run "$sim" track $command
ends 0
err ''
columns() { awk 'NF == 7 && $1 != "L" { print $1, $2, $3, $6 }' "$1"; }
columns manual >want
columns stdout >got
[ "$(wc -l <want)" -eq 5 ] || complain 'no table in the manual'
cmp -s want got || { diff want got || true; complain 'not the table of the manual'; }
head -1 stdout | grep -q '^logistic of 4 parameters, 640 samples; exponential of 16 nodes' ||
	complain "another head: $(head -1 stdout)"
# What was measured: innovation comes to the optimum, log stays in its band.
awk '$1 == "log" && !($4 > 1e-8 && $4 < 1e-2) { exit 1 }' stdout || complain "log: $(cat stdout)"
awk '$1 == "innovation" && $4 > 1e-9 { exit 1 }' stdout || complain "innovation: $(cat stdout)"

# The same seed, the same bits, also of links that come and go and of samples drawn.
same='--rounds 20 --up 0.5 --method log,innovation,s-addopt,push-saga --json --every 5'
# shellcheck disable=SC2086
for seed in 1 1 2; do
	"$sim" track $same --seed $seed >"json$seed"
	[ ! -e before ] || [ $seed = 2 ] || cmp -s before json1 || complain 'the same seed, another result'
	cp json1 before
done
cmp -s json1 json2 && complain 'another seed, the same result'
[ "$(grep -c '"digest": ' json1)" -eq 4 ] || complain 'not four runs'
[ "$(grep -o '"round": ' json1 | wc -l)" -ge 24 ] || complain 'not the points of the curves'
for word in '"command": "track"' '"method": "push-saga"' '"up": 0.5' '"share_gap": null'; do
	grep -q "$word" json1 || complain "no $word in the JSON"
done

# CSV has the curve: the start is 1, then it falls.
"$sim" track --csv --rounds 60 --every 20 --method innovation >csv
[ "$(wc -l <csv)" -eq 5 ] || complain "not four points: $(cat csv)"
awk -F, 'NR == 2 && ($2 != 0 || $3 != 1 || $5 != 0) { exit 1 }
	NR > 2 && !($3 < last && $5 > bits) { exit 1 } { last = $3; bits = $5 }' csv || complain "$(cat csv)"

# Every problem and partition, on a graph of each sort.
for words in 'svm --partition overlap --graph ring --nodes 6' 'waves --graph star --nodes 5' \
	'logistic --partition dirichlet --graph grid --nodes 9' 'regression --graph complete --nodes 5' \
	'regression --graph erdos-renyi --nodes 12 --weights max-degree'; do
	# shellcheck disable=SC2086
	run "$sim" track --method none,gp --rounds 5 --problem $words
	ends 0
	[ "$(wc -l <stdout)" -eq 6 ] || complain "$words: $(cat stdout)"
done
printf 'a b\nb c\nc a\nc d\n' >graph
run "$sim" track --file graph --method innovation --rounds 100
ends 0
grep -q 'graph of 4 nodes, 4 edges' stdout || complain "of a file: $(cat stdout)"

# Rounds against nodes: what is not reached says so and is told from lambda2.
run "$sim" track --scale --graph ring,exponential --nodes 8,16,64 --rounds 2000
ends 0
[ "$(wc -l <stdout)" -eq 7 ] || complain "not six rows: $(cat stdout)"
awk '$1 == "ring" && $3 == 64 && !($6 == ">2000" && $7 == ">2000" && $8 ~ /^~/) { exit 1 }
	$1 == "exponential" && ($6 > 200 || $7 > 400 || $8 != "-") { exit 1 }' stdout ||
	complain "$(cat stdout)"
"$sim" track --scale --csv --graph exponential --nodes 16 | sed 1d | cut -d, -f1-4 >row
[ "$(cat row)" = exponential,innovation,16,56 ] || complain "$(cat row)"
"$sim" track --scale --json --graph grid --nodes 16 --timing | grep -q '"predicted_rounds": null' ||
	complain 'no JSON of --scale'

# A result can be made again: every option that takes a value is in it.
"$sim" track --json --rounds 2 --weights max-degree --up 0.9 --promise union --every 2 >json
for option in $("$sim" track --help | sed -n '/^options of track:/,$s/^ *--\([a-z-]*\) [A-Z].*/\1/p' |
	tr - _); do
	case $option in
	plot | against) ;;
	*) grep -q "\"$option\(_max\)*\": " json || complain "no $option in the JSON" ;;
	esac
done

# What diverges is a result.
run "$sim" track --method s-addopt --push-step 2 --rounds 400
ends 0
grep -q 'diverged' stdout || complain "$(cat stdout)"

run "$sim" track --problem softmax
ends 1
err 'isobar-sim: softmax needs data: there is none made for it'
for problem in regression waves; do
	run "$sim" track --problem $problem --partition dirichlet
	ends 1
	err "isobar-sim: $problem has no classes that dirichlet could part unevenly"
done
run "$sim" track --graph grid --nodes 17
ends 1
err 'isobar-sim: grid of 17 nodes: 17 nodes make no grid: it would be 1 times 17'
run "$sim" track --samples 5
ends 1
err 'isobar-sim: 5 samples cannot be split so among 16 nodes'
run "$sim" track --graph ring,grid
ends 2
err 'isobar-sim: lists of graphs or nodes are for --scale'
run "$sim" track --method logs
ends 2
err "isobar-sim: --method: 'logs' is none of none, single, uniform, log, innovation, gp, sgp, addopt, s-addopt, push-saga, push-saga-cta"
run "$sim" track --classes 3,3
ends 2
err "isobar-sim: --classes: '3,3' is no pair of different classes"
run "$sim" track --scale --method gp
ends 2
err "isobar-sim: --method: 'gp' is no method that --scale has"
run "$sim" track --bits 3 --coarser 2
ends 2
err 'isobar-sim: --coarser: 3 bits allow at most 1'
run "$sim" track now
ends 2
err "isobar-sim: track takes no argument 'now'"

if command -v gnuplot >/dev/null; then
	run "$sim" track --rounds 30 --method none,log,gp --against bits --plot "$work/plot.svg"
	ends 0
	grep -q '<svg' plot.svg || complain 'no drawing'
fi

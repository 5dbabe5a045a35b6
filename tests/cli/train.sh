#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-sim train and list from outside: the manuals' examples, replay, what adds up, what
# is refused.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
sim=$top_builddir/agent/isobar-sim
page=$top_srcdir/man/isobar-sim.1
ISOBAR_SCENARIOS=$top_srcdir/etc/scenarios
export ISOBAR_SCENARIOS

# Every scenario that is installed is one, and has a title.
run "$sim" list
ends 0
err ''
ls "$ISOBAR_SCENARIOS" >want
awk 'NF > 1 { print $1 }' stdout >got
cmp -s want got || complain "not the scenarios that there are: $(cat stdout)"
run "$sim" list everything
ends 2
err "isobar-sim: list takes no argument 'everything'"

# The manuals' examples, the long one only so far that it shows.
example=$(sed -n 's/^\.Dl isobar-sim train //p' "$top_srcdir/man/isobar-sim.1")
command -v gnuplot >/dev/null || example=${example% --plot *}
# shellcheck disable=SC2086 # the words of a command line
run "$sim" train $example --set rounds=500
ends 0
err ''
[ "$(wc -l <stdout)" -ge 6 ] || complain "too few curves: $(cat stdout)"
if command -v gnuplot >/dev/null; then
	grep -q '<svg' ata.svg || complain 'no drawing'
fi
awk '/^\.Bd/ && seen { inside = 1; next } /^\.Ed/ { inside = 0 } inside { print }
	/^\.\\" scenario/ { seen = 1 }' "$top_srcdir/man/isobar-scenario.5" >example
run "$sim" train example
ends 0
err ''
awk 'NR > 2 && !($3 == 400 && $NF < 1) { exit 1 }' stdout || complain "no such end: $(cat stdout)"
[ "$(wc -l <stdout)" -eq 4 ] || complain "not two curves: $(cat stdout)"

# The same seed, the same bits, whatever it is run with; another seed, others.
"$sim" train example --json >first
"$sim" train example --json >second
"$sim" train example --json --seed 2 >third
cmp -s first second || complain 'the same seed, another result'
digests() { grep -o '"digest": "[^"]*"' "$1"; }
[ "$(digests first)" != "$(digests third)" ] || complain 'another seed, the same result'
"$sim" train example --json --seeds 2 >both
[ "$(digests both)" = "$(digests first; digests third)" ] || complain 'seeds depend on each other'
# The points on the way change nothing.
"$sim" train example --json --set samples=7 >fewer
[ "$(digests first)" = "$(digests fewer)" ] || complain 'samples change the run'

# Workers of 1, 2 and 4 s and 4 gradients a round: 3 s each, 9 s of work, 4 of them for nothing.
cat >small <<'END'
workers = 3
batch = 4
rounds = 50
samples = 5
times {
	law = constant
}
group "2" {
	mean = 2
}
group "3" {
	mean = 4
}
curve "rennala" {
	method = rennala
}
curve "gta" {
	allocation = gta
}
curve "ofta" {
	allocation = ofta
	batch = 7
}
END
run "$sim" train small --csv
ends 0
err ''
awk -F, 'NR > 1 && $1 != "ofta" && ($3 != 3 * $4 || $7 != 9 * $4 || $9 != 4 * $4 || $10 != 6 * $4) {
	exit 1 }' stdout || complain "other times: $(cat stdout)"
awk -F, '$1 == "ofta" && ($3 != 4 * $4 || $7 != 12 * $4 || $9 != 0 || $10 != 7 * $4) { exit 1 }' stdout ||
	complain "other times: $(cat stdout)"
[ "$(grep -c '^gta,' stdout)" -eq 6 ] || complain 'not the points that were asked for'
# The best allocation has a regret of 0, what has no allocation has none.
awk -F, 'NR > 1 && $18 != ($1 == "ofta" ? "0" : "") { exit 1 }' stdout ||
	complain "another regret: $(cat stdout)"
"$sim" train small --json --set samples=1 >out
[ "$(grep -o '"regret": null' out | wc -l)" -eq 6 ] || complain "not two curves without: $(cat out)"

# Every member is explained.
"$sim" train small --json --timing --set curve.rennala.method=ringmaster --set time=9 \
	--set theory.target=0.01 --set curve.rennala.by-theory=yes >out
grep -q '"delay_limit": ' out || complain "ringmaster without its limit: $(cat out)"
for member in $(grep -o '"[a-z_]*": ' out | tr -d '": ' | sort -u); do
	grep -qw "$member" "$page" || complain "$member is not in the manual"
done

# A million workers: 1000 tasks for the 1000 fastest of them, or for whoever is first.
cat >million <<'END'
workers = 1000000
batch = 1000
rounds = 2
samples = 1
times {
	law = constant
}
group "1001-1000000" {
	mean = 3
}
curve "gta" { method = rennala }
curve "uta" { allocation = uta }
curve "ofta" { allocation = ofta }
curve "ata" { allocation = ata }
curve "ata-empirical" { allocation = ata-empirical }
curve "ata-pooled" { allocation = ata-pooled }
END
run "$sim" train million --csv
ends 0
err ''
awk -F, 'NR > 1 && $4 > 0 {
	seen++
	if ($1 == "gta" && !($3 == 2 && $7 == 2e6 && $9 == 2e6 - 2000 && $11 == 2000))
		exit 1
	if ($1 != "gta" && !($10 == 2000 && $11 == 2000 && $9 == 0))
		exit 1
	if ($1 == "ofta" && !($3 == 2 && $7 == 2000 && $18 == 0))
		exit 1
	if ($1 ~ /ata|uta/ && !($3 == 6 && $7 > 5900 && $18 == 4))
		exit 1
} END { exit seen != 6 }' stdout || complain "of a million workers: $(cat stdout)"

# What becomes of computations adds up, at every point of every method.
for method in rennala malenia asgd delay-adaptive naive-optimal ringmaster ringmaster-stops \
	ringleader ia2sgd; do
	"$sim" train example --csv --set time=60 --set samples=20 --set curve.method=$method >out
	awk -F, 'NR > 1 && ($11 != $12 + $13 + $14 || $10 < $11 + $15 + $16 ||
		$10 > $11 + $15 + $16 + 8 || $7 > 8 * $3 * 1.000001) { exit 1 }' out ||
		complain "$method: does not add up: $(tail -1 out)"
done

# What a practice option is for: with it the allocation is better than without, by far.
cures() { # SCENARIO CURED OTHER: the regret is less than two thirds; further options follow
	scenario=$1 cured=$2 other=$3
	shift 3
	"$sim" train "$scenario" --csv --set samples=1 "$@" >out
	awk -F, -v cured="$cured" -v other="$other" 'NR > 1 { regret[$1] = $18 }
		END { exit !(0 < regret[cured] && 3 * regret[cured] < 2 * regret[other]) }' out ||
		complain "$scenario: $cured is not better than $other: $(cat out)"
}
cures slow-down drift ata-pooled --set time=4000
cures slow-down discount ata-pooled --set time=8000
cures uneven-tasks cost-normalised as-measured --set rounds=500
cures many-workers clustered ata-empirical --set rounds=2000

# What diverges looks neither like what is not measured nor like what came to its end.
cat >steep <<'END'
workers = 2
batch = 2
updates = 400
problem {
	kind = quadratic
	dimension = 20
	measure = gap
}
curve "steep" {
	method = rennala
	step = 10
}
END
for updates in 400 42; do
	run "$sim" train steep --set updates=$updates
	ends 0
	awk 'NR == 2 && !($NF == "diverged" && $5 <= 42) { exit 1 }' stdout || complain "not told: $(cat stdout)"
done
"$sim" train steep --csv --set samples=1 >out
awk -F, 'END { exit !($6 == "inf" || $6 == "nan") }' out || complain "measured: $(cat out)"
"$sim" train steep --json >out
grep -q '"ended_by": "diverged"' out || complain "ended otherwise: $(cat out)"

# Half a table is no success, and the next curve is not computed for it.
run sh -c '"$0" train small --csv >/dev/full' "$sim"
ends 1
err 'isobar-sim: standard output: No space left on device'
run sh -c '"$0" list >/dev/full' "$sim"
ends 1
err 'isobar-sim: standard output: No space left on device'

# Columns stay below their heads, whatever curves are called.
run "$sim" train ata-table-1 --set rounds=2
ends 0
awk 'NR > 1 && length($0) != (NR == 2 ? width = length($0) : width) { exit 1 }' stdout ||
	complain "a crooked table: $(cat stdout)"

# Who waits at a terminal sees a bar, no wider than the terminal; nobody else does.
if command -v script >/dev/null; then
	script -qefc "stty cols 50; '$sim' train small --set rounds=1000000000" typescript \
		</dev/null >/dev/null 2>&1 &
	tries=0
	while ! grep -q 'rennala .*\[' typescript 2>/dev/null && [ "$tries" -lt 300 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill $!
	wait $! || true
	tr '\r' '\n' <typescript | sed 's/^.\[K//' | grep '^rennala ' >bars || true
	grep -q '^rennala  *seed 1  *\[#* *' bars || complain "no bar: $(cat typescript)"
	awk 'length($0) > 49 { exit 1 }' bars || complain "too wide for the terminal: $(cat bars)"
fi
run timeout 2 "$sim" train small --set rounds=1000000000
out ''
err ''

# What is set on the command line.
run "$sim" train small --csv --set rounds=2 --set curve.gta.batch=1 --set group.3.mean=8 \
	--set samples=1
ends 0
grep -q '^gta,1,2,2,2,,6,' stdout || complain "not what was set: $(cat stdout)"
awk -F, '$1 == "gta"' stdout >minibatch
run "$sim" train small --csv --set rounds=2 --set curve.gta.batch=1 --set group.3.mean=8 \
	--set samples=1 --set curve.gta.method=rennala
ends 0
awk -F, '$1 == "gta"' stdout | cmp -s - minibatch || complain 'rennala is not greedy itself'
refused() { # SET MESSAGE
	run "$sim" train small --set "$1"
	ends 1
	err "isobar-sim: --set $1: $2"
}
refused rounds 'write KEY=VALUE'
refused round=1 "there is no option 'round'"
refused curve.none.batch=1 "there is no curve 'none'"
refused times.x.law=gamma 'there is only one section times'
refused curve.prior-rounds=1000000001 "'1000000001' is out of range; from 0 to 1000000000"
refused workers=0 "'0' is out of range; from 1 to 10000000"

# What is wrong in a scenario is said with its line.
bad() { # MESSAGE: the scenario comes on stdin
	cat >bad
	run "$sim" train ./bad
	ends 1
	out ''
	err "isobar-sim: ./bad: $1"
}
bad 'workers is not set; expected a whole number' </dev/null
bad 'no section curve: nothing to simulate' <<'END'
workers = 1
time = 1
END
bad 'no end: set time, rounds or updates' <<'END'
workers = 1
curve "a" {
	method = asgd
}
END
bad 'line 4: curve a: minibatch needs an allocation' <<'END'
workers = 1
time = 1
curve "a" {
	method = minibatch
}
END
bad 'line 5: curve a: malenia takes no allocation' <<'END'
workers = 1
time = 1
curve "a" {
	method = malenia
	allocation = ata
}
END
bad "line 3: group: '3-5' are no workers of 1 to 4" <<'END'
workers = 4
group "3-5" {
	mean = 2
}
time = 1
curve "a" {
	method = asgd
}
END
bad 'line 3: law trace and a file go together' <<'END'
workers = 4
times {
	law = trace
}
time = 1
curve "a" {
	method = asgd
}
END
bad "line 3: unknown option 'low' in section times; did you mean 'law'?" <<'END'
workers = 4
times {
	low = trace
}
END
bad 'line 6: event x: a share is above 0' <<'END'
workers = 4
event "x" {
	workers = "1"
	at = 1
	what = share
	value = 0
}
time = 1
curve "a" {
	method = asgd
}
END

bad 'line 4: curve a: asgd has no rounds to end by; set time or updates' <<'END'
workers = 4
rounds = 3
curve "a" {
	method = asgd
}
END
bad 'line 5: curve a: by-theory needs the target of section theory' <<'END'
workers = 4
time = 3
curve "a" {
	method = ringmaster
	by-theory = yes
}
END

for bad in method=sgd-ata method=asgd method=ringleader; do
	run "$sim" train small --set "curve.gta.$bad"
	ends 1
	err "isobar-sim: small: line 18: curve gta: gta goes with method minibatch only, not with ${bad#*=}"
done
for bad in calibrate-tasks=2/4 drift=2/4; do
	run "$sim" train small --set "curve.gta.${bad%/*}"
	ends 1
	err "isobar-sim: small: line 18: curve gta: ${bad%=*} is 0 or from ${bad#*/} on"
done
run "$sim" train small --set workers=1000 --set times.power=8 --set times.scale=1e9
ends 1
err 'isobar-sim: small: worker 6: a mean of 1.67962e+15 s; an allocation takes 1e-15 to 1e+15'

# By theory: R = 0.01/0.001, gamma = min(1/20, 0.001/(4 0.01)); S = 10 and 1/2.
cat >theory <<'END'
workers = 4
time = 20
samples = 1
group "2" {
	mean = 2
}
group "3" {
	mean = 4
}
group "4" {
	mean = 8
}
theory {
	noise-variance = 0.01
	target = 0.001
}
curve "ringmaster" {
	method = ringmaster
	by-theory = yes
}
curve "rennala" {
	method = rennala
	by-theory = yes
}
END
run "$sim" train theory --json
ends 0
for word in '"delay_limit": 10,' '"step": 0.025' '"batch": 10,' '"step": 0.5'; do
	grep -q -F "$word" stdout || complain "no $word in: $(cat stdout)"
done
run "$sim" train theory --set curve.rennala.method=ia2sgd
ends 1
err 'isobar-sim: theory: curve rennala: the papers choose no step for ia2sgd'
# The two fastest alone: 20 + 10 gradients.
run "$sim" train theory --csv --set curve.method=naive-optimal --set curve.by-theory=no \
	--set curve.fastest=2
ends 0
grep -q '^rennala,1,20,0,30,,40,' stdout || complain "others took part: $(cat stdout)"

# Traces: where they are, and what is wrong in them.
mkdir traces
cat >traces/scenario <<'END'
workers = 2
time = 12
times {
	law = trace
	trace = times
}
curve "a" {
	method = asgd
}
END
printf '# seconds\n1 # one\n\n3\n' >traces/times
run "$sim" train traces/scenario --csv --set samples=1
ends 0
# Six gradients each: a cycle of 1 and 3 s.
grep -q '^a,1,12,0,12,' stdout || complain "other times: $(cat stdout)"
# A million tasks that were measured are a usual trace.
yes 0.25 | head -n 1000000 >traces/times
run "$sim" train traces/scenario --csv --set samples=1
ends 0
grep -q '^a,1,12,0,96,' stdout || complain "other times: $(cat stdout stderr)"
printf '1\n-2\n' >traces/times
run "$sim" train traces/scenario
ends 1
out ''
err "isobar-sim: traces/scenario: traces/times: line 2: '-2' is no time; expected one number from 1e-15 to 1e+15 a line"
printf '1e308\n1e308\n' >traces/times
run "$sim" train traces/scenario
ends 1
err "isobar-sim: traces/scenario: traces/times: line 1: '1e308' is no time; expected one number from 1e-15 to 1e+15 a line"
printf '# none\n' >traces/times
run "$sim" train traces/scenario
ends 1
err 'isobar-sim: traces/scenario: traces/times: no times in it'

# The folder of a scenario may be as deep as the system allows.
printf '7\n' >traces/times
deep=traces
while [ ${#deep} -lt 600 ]; do
	deep=$deep/$(printf '%0100d' 0)
done
mkdir -p "$deep"
cp traces/scenario traces/times "$deep"
rm traces/times
run "$sim" train "$deep/scenario"
ends 0
err ''

# A folder has no scenario's name.
mkdir slow-down
run "$sim" train slow-down --set time=4
ends 0
err ''
mkdir nowhere
run "$sim" train nowhere
ends 1
err "isobar-sim: no scenario 'nowhere', neither here nor in $ISOBAR_SCENARIOS"
rmdir nowhere

run "$sim" train
ends 2
err "isobar-sim: which scenario? see 'isobar-sim list'"
run "$sim" train small example --plot both.svg
ends 2
err 'isobar-sim: --plot draws one scenario'
# What cannot be drawn is said before anything is simulated.
run "$sim" train small --plot small.pdf
ends 2
out ''
err "isobar-sim: --plot: 'small.pdf' ends neither in .svg nor in .png"
run "$sim" train small --plot nowhere/small.svg
ends 1
out ''
err 'isobar-sim: nowhere/small.svg cannot be drawn: No such file or directory'
# Without a problem the drawing is of worker time; and where there is nothing, none is left.
if command -v gnuplot >/dev/null; then
	run "$sim" train small --plot small.svg
	ends 0
	err ''
	grep -q 'total worker time' small.svg || complain 'another axis'
	run "$sim" train small --plot regret.svg --set plot.y=regret \
		--set curve.ofta.allocation=uta
	ends 0
	err ''
	grep -q ofta regret.svg || complain 'no regret is drawn'
	! grep -qE 'rennala|gta' regret.svg || complain 'a regret that is none is drawn'
	# Nobody is late with one worker, and nothing has no logarithm.
	cat >nothing <<-'END'
		workers = 1
		batch = 1
		rounds = 5
		curve "gta" { allocation = gta }
		plot {
			y = discarded
			y-log = yes
		}
	END
	run "$sim" train nothing --plot empty.png
	ends 1
	err 'isobar-sim: empty.png not drawn: there is nothing to draw'
	[ ! -e empty.png ] || complain 'an empty drawing is left'
fi

# Parts of the data that overlap, all of which together have all samples: 37, for three of the
# 40 go to the test half.
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d 1:%d 2:%d\n", i % 2, i % 2 * 5 + i % 3, i % 5 }' >points
cat >parts <<'END'
workers = 4
batch = 4
rounds = 300
problem {
	kind = data
	measure = loss
}
data {
	source = points
	model = logistic
	partition = overlap
	samples-per-task = 16
}
curve "rennala" {
	method = rennala
	step = 0.5
}
END
run "$sim" train ./parts --set data.overlap=0.5
ends 0
err ''
awk 'NR > 2 && !($NF < 0.2) { exit 1 }' stdout || complain "nothing is learnt: $(cat stdout)"
run "$sim" train ./parts --set data.overlap=0.4
ends 1
err 'isobar-sim: ./parts: section data: a worker has 15 samples, less than a task'
run "$sim" train ./parts --set data.overlap=0.2
ends 1
err 'isobar-sim: ./parts: section data: 37 samples cannot be split so among 4 workers'

# Sparse samples stay sparse: as rows of numbers a task would be 64 GB.
awk 'BEGIN { for (i = 0; i < 5000; i++) print i % 2, "1:" i % 2, 4e6 ":1" }' >sparse
run "$sim" train ./parts --set data.source=sparse,holdout=0 --set rounds=2 --set workers=1 \
	--set data.overlap=1 --set data.samples-per-task=4096 --set samples=1
ends 0
err ''
awk 'NR == 2 { exit !($NF > 0 && $NF < 0.69) }' stdout || complain "learnt otherwise: $(cat stdout)"
# And what is measured need not be kept as what is learnt from.
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 2, i % 2 + 1 ":1", "9:0" }' >few
printf '1 1:0 2:1 3:0 4:0 5:0 6:0 7:0 8:0 9:0\n' >few.t
run "$sim" train ./parts --set data.source=few --set problem.measure=accuracy
ends 0
err ''
awk 'NR == 2 { exit $NF != 1 }' stdout || complain "learnt otherwise: $(cat stdout)"

run "$sim" train ./parts --set data.model=linear --set problem.measure=accuracy
ends 1
err 'isobar-sim: ./parts: section data: linear has no classes, and so no accuracy'

# Bit for bit, however many processors BLAS would like to use: from 400 features on it adds up
# what each of them has.
awk 'BEGIN { for (i = 0; i < 200; i++) { printf "%d", i % 2
	for (j = 1; j <= 400; j++) printf " %d:%.3f", j, (i * j % 13) / 7
	print "" } }' >wide
for threads in 1 2; do
	OPENBLAS_NUM_THREADS=$threads "$sim" train ./parts --json --set data.source=wide --set rounds=3 \
		--set workers=2 --set data.overlap=0.5 --set data.model=mlp \
		--set data.samples-per-task=64 >"threads$threads"
done
cmp -s threads1 threads2 || complain 'another number of threads of BLAS makes another run'

run "$sim" train small --seeds 0
ends 2
err "isobar-sim: --seeds: '0' is no whole number from 1 to 1000"

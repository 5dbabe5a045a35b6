#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The demo itself as a test: a short run whose checks hold, and nothing left
# behind after a run, an interrupted one, and one that is killed.
set -u
# Budgets are small, so that other tests get their turn meanwhile.
# shellcheck disable=SC2154 # top_builddir comes from the Makefile
demo=$top_builddir/tests/demo/demo
[ "$(id -u)" = 0 ] || { echo 'SKIP: needs root'; exit 77; }
[ -d /usr/share/datasets/fashion-mnist ] || { echo 'SKIP: needs dataset-fashion-mnist'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0

fail() {
	echo "FAIL: $*"
	cat "$work/out"
	status=1
}

# What a demo with this PID would leave: cgroups, files, processes.
nothing_left() { # PID WHEN
	for place in /sys/fs/cgroup/isobar-demo/"$1" /sys/fs/cgroup/*/isobar-demo/"$1" \
		"${TMPDIR:-/tmp}"/isobar-demo-"$1"-*; do
		[ ! -e "$place" ] || fail "$2 left $place"
	done
	pgrep -f "isobar-demo-$1-" >"$work/left" && fail "$2 left processes $(tr '\n' ' ' <"$work/left")"
}

# A demo that is told to end by this signal to this process after three seconds.
ended_by() { # SIGNAL guard|run STATUS
	"$demo" --nodes 2 --budget 0.4cpu >"$work/out" 2>&1 &
	guard=$!
	sleep 3
	run=$(pgrep -P "$guard" -x demo)
	victim=$guard
	[ "$2" = guard ] || victim=$run
	kill -"$1" "$victim"
	wait "$guard"
	got=$?
	[ "$got" = "$3" ] || fail "SIG$1 to the $2: exit status $got instead of $3"
	# A killed guard cannot wait until its run has cleaned up.
	tries=100
	while kill -0 "$run" 2>/dev/null && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	nothing_left "$guard" "SIG$1 to the $2"
}

# What cannot be written at the end is said at the beginning.
for option in --json --plot; do
	timeout 5 "$demo" $option "$work/none/file" >"$work/out" 2>&1
	[ $? = 2 ] || fail "$option into a directory that is not there"
done

# So is what the coordinator would not take, in its words.
timeout 5 "$demo" --allocation atta >"$work/out" 2>&1
[ $? = 2 ] || fail 'an allocation that there is not'
grep -q "'atta' is not one of " "$work/out" || fail 'the reason for it'

# Long enough for a window of 10 s.
"$demo" --seconds 12 --nodes 3 --budget 0.6cpu --json "$work/json" --plot "$work/svg" >"$work/out" 2>&1 &
pid=$!
wait $pid || fail "the short run: exit status $?"
head -1 "$work/out" | grep -q DRY-RUN && { echo 'SKIP: no writable cpu controller'; exit 77; }
nothing_left $pid 'the short run'
# What is printed besides the checks, too.
claim() { # WHAT JQ-EXPRESSION
	[ "$(jq "$2" "$work/json")" = true ] || fail "the report: $1: $(jq -c '.account, .spent, .overhead' "$work/json")"
}
claim 'held' '.held'
claim 'gradients' '.account.gradients | .used > 100 and .started == ([del(.started)[]] | add)'
claim 'worker time' '.account | .worker_s > 0.5 and .worker_s < 1.1 * 0.6 * .wall_s and .discarded_worker_s <= .worker_s'
claim 'accuracy' '.account.accuracy > 0.3 and .account.accuracy == .samples[-1].test_accuracy'
claim 'steps' '.account | .method == "minibatch" and .allocation == "ata" and .steps == .rounds and .gradients.used >= 128 * .steps'
claim 'waste' '.account | .discarded_worker_s - ([.discarded[]] | add) / 1e9 | fabs < 1e-6'
claim 'the greedy rule' '.account | .greedy_worker_s > 0.3 * .worker_s and .greedy_worker_s < 3 * .worker_s'
claim 'used by the jobs' '.spent | .used_s > 0.5 and .worst_window > 0 and .worst_window < 1.1'
claim 'jobs did the work' '.account.worker_s < 1.5 * .spent.used_s'
claim 'overhead' '[.overhead[] | .cpu_percent < 50 and .rss_bytes > 500000] | all and length == 5'
claim 'shares' '[.phases[].nodes[].share_cpu] | length == 9 and all(. > 0.04 and . < 0.6)'
grep -q '</svg>' "$work/svg" || fail 'no picture'

# An asynchronous method, capped by an allocation, and what all are compared by.
"$demo" --compare ringmaster+ata,ringleader --profile "$work/profile" --seconds 5 --nodes 3 --budget 0.6cpu --json "$work/json" \
	--plot "$work/svg" >"$work/out" 2>&1 &
pid=$!
wait $pid || fail "the comparison: exit status $?"
grep -q '</svg>' "$work/svg" || fail 'no picture of the comparison'
grep -q '^ringmaster + ata  *0\.' "$work/out" || fail 'no line for ringmaster'
jq -e '.workers | length == 3 and all(.tasks > 10)' "$work/profile" >/dev/null || fail 'no profile'
claim 'both runs' 'length == 2 and all(.[]; .held)'
claim 'methods' '[.[].account.method] == ["ringmaster", "ringleader"]'
claim 'delays' '.[0].account | .delay_max <= .delay_limit - 1'
claim 'delays of ringleader' '.[1].account.delay_max <= 4'
claim 'a step for each' 'all(.[]; .account | .steps > 20 and .gradients.used >= .steps and .accuracy > 0.3)'

# Without a coordinator; one of the nodes is killed and returns.
"$demo" --decentralised --seconds 14 --nodes 3 --budget 0.6cpu --json "$work/json" >"$work/out" 2>&1 &
pid=$!
wait $pid || fail "the decentralised run: exit status $?"
nothing_left $pid 'the decentralised run'
claim 'held' '.held'
claim 'agreement' '.agreement | .spread <= 1e-3 and (.nodes | length == 3 and all(.round > 50)) and .accuracy > 0.3'
claim 'what is not known yet' 'all(.samples[]; .test_accuracy == null or .test_accuracy > 0.05)'
claim 'one machine' '.agreement.central | .accuracy > 0.75 and .at_rest'
claim 'the killed one' '[.checks[] | select(.name == "the killed node goes on") | .held] == [true]'
timeout 5 "$demo" --decentralised --method ringmaster >"$work/out" 2>&1
[ $? = 2 ] || fail 'a method without a coordinator'

ended_by INT guard 130
ended_by KILL run 1
ended_by KILL guard 137
exit $status

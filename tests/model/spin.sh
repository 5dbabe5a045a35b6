#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the Promela models: every state space must hold, every rule left out must be noticed.
#	spin.sh small	under a minute, by `make check`
#	spin.sh whole	up to an hour and below 4 GiB of memory, by `make model`
#	spin.sh trace MODEL "FLAGS" SETTING=N...	prints how a wrong state was reached
# The models say what the settings mean.  A table goes to standard output.
set -eu
models=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/model
size=${1:-small}
compiler=${CC:-cc}
if ! command -v spin >/dev/null || ! command -v "${compiler%% *}" >/dev/null; then
	echo 'skipped: spin or the C compiler is not installed'
	exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/isobar-spin.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
failed=0
pan_flags=
hash_bits=20
steps_max=100000 # in one run of the model; each takes memory

build() { # PROGRAM MODEL SPIN-FLAGS [COMPILER-FLAGS]
	mkdir "$work/$1"
	cp "$models"/*.pml "$work/$1/"
	# shellcheck disable=SC2086 # lists of flags
	if ! (
		cd "$work/$1"
		spin -a $3 "$2.pml" >log 2>&1
		$compiler -w -O2 -DCOLLAPSE -DMEMLIM=3900 ${4:--DSAFETY} -o pan pan.c >>log 2>&1
	); then
		cat "$work/$1/log"
		exit 1
	fi
}

heading() {
	printf '\n%s\n' "$1"
	printf '%-58s %11s %12s %8s %8s %6s  %s\n' settings states transitions depth seconds MiB \
		result
}

field() { # LOG PATTERN: the number before it
	sed -n "s/^[[:space:]]*\([0-9.e+]*\)[[:space:]]*$2.*/\1/p" "$1" | head -n 1
}

# Searches all states, or to the first error.  Rows appear as they are done.
search() { # EXPECTED PROGRAM NAME SETTING=N...
	expected=$1
	program=$2
	name=$3
	shift 3
	log=$work/$program/log
	rm -f "$work/$program"/*.trail
	# shellcheck disable=SC2086 # a list of flags
	(
		cd "$work/$program"
		env "$@" ./pan $pan_flags -m$steps_max -w$hash_bits >log 2>&1
	) || true
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$log")
	if [ -z "$errors" ] ||
		grep -q -e 'out of memory' -e 'max search depth too small' "$log"; then
		result=incomplete
	elif [ "$errors" != 0 ]; then
		result=caught
	elif grep -q 'Search not completed' "$log"; then
		result=incomplete
	else
		result=holds
	fi
	depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$log")
	seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+]*\).*/\1/p' "$log")
	printf '%-58s %11s %12s %8s %8s %6.0f  %s\n' "$name" "$(field "$log" 'states, stored')" \
		"$(field "$log" transitions)" "$depth" "$seconds" \
		"$(field "$log" 'total actual')" "$result"
	if [ "$result" != "$expected" ]; then
		echo "WRONG: expected '$expected': $program $name $*"
		grep -a -m 1 -e 'assertion violated' -e 'invalid end state' "$log" || true
		failed=1
	fi
}
holds() { search holds "$@"; }
caught() {
	search caught "$@"
}

trace() { # MODEL FLAGS SETTING=N...
	build trace "$1" "$2"
	shift 2
	cd "$work/trace"
	env "$@" ./pan -m3000000 >log 2>&1 || true
	env "$@" ./pan -r | grep -a -v '^ *$'
}

ledger_small() {
	heading 'ledger: transfers, crashes, lost messages'
	build core ledger ''
	holds core 'T2 C1 L1' DEBITS=2
	holds core 'T1 C2 L1' CRASHES=2
	holds core 'T2 C1 L1, ceiling 2' DEBITS=2 CEILING=2
	heading 'ledger: mint, burn, an operation that is given up'
	build budget ledger -DBUDGET
	holds budget 'T1 C1' LOSSES=0
	holds budget 'T0 C2 L1' DEBITS=0 CRASHES=2
	heading 'ledger: burial of a dead or unreachable node, admission anew'
	build bury ledger -DBURY
	holds bury 'T1 C1' LOSSES=0
	heading 'ledger: joint burial of two neighbours'
	build joint ledger -DJOINT
	holds joint 'T2' DEBITS=2 CRASHES=0 LOSSES=0
	heading 'ledger: leave and come back'
	build leave ledger -DLEAVE
	holds leave 'T1 C1' LOSSES=0
}

ledger_whole() {
	heading 'ledger: transfers, crashes, lost messages'
	build core ledger ''
	holds core 'T2 C2 L1' DEBITS=2 CRASHES=2
	holds core 'T3 C2 L1' DEBITS=3 CRASHES=2
	holds core 'T3 C3 L2' DEBITS=3 CRASHES=3 LOSSES=2
	holds core 'T4 C1 L1, by ones' DEBITS=4 DEBIT_MAX=1
	holds core 'T3 C2 L1, ceiling 2' DEBITS=3 CRASHES=2 CEILING=2
	holds core 'T3 C2 L1, raised before the record is durable' DEBITS=3 CRASHES=2 BROKEN=26
	heading 'ledger: mint, burn, an operation that is given up'
	build budget ledger -DBUDGET
	holds budget 'T1 C2 L1' CRASHES=2
	holds budget 'T2 C1 L1' DEBITS=2
	heading 'ledger: burial of a dead or unreachable node, admission anew'
	build bury ledger -DBURY
	holds bury 'T2 C1' DEBITS=2 LOSSES=0
	holds bury 'T1 C2' CRASHES=2 LOSSES=0
	holds bury 'T1 C1 L1'
	heading 'ledger: joint burial of two neighbours'
	build joint ledger -DJOINT
	holds joint 'T2 C2' DEBITS=2 CRASHES=2 LOSSES=0
	holds joint 'T3 C1' DEBITS=3 LOSSES=0
	holds joint 'T2 C1 L1' DEBITS=2
	heading 'ledger: leave and come back'
	build leave ledger -DLEAVE
	holds leave 'T2 C1' DEBITS=2 LOSSES=0
	holds leave 'T1 C2 L1' CRASHES=2
}

# Every space comes to an end, and what is asserted there is looked at.
ledger_ends() {
	heading 'ledger: a run does come to its end'
	for program in core budget bury joint leave; do
		caught $program $program BROKEN=27
	done
}

ledger_mutants() { # ONLY-SUM...
	for sum; do
		if [ "$sum" = 0 ]; then
			heading 'ledger: rules left out'
		else
			heading 'ledger: rules left out, only the sum is asserted'
		fi
		set -- ONLY_SUM="$sum"
		caught core 'messages before the record is durable' BROKEN=1 DEBITS=2 CRASHES=2 "$@"
		caught core 'messages before the quota is lowered' BROKEN=2 DEBITS=2 CRASHES=2 "$@"
		caught core 'a restart trusts the page cache' BROKEN=3 DEBITS=2 CRASHES=2 "$@"
		caught core 'amounts instead of totals' BROKEN=4 DEBITS=2 CRASHES=2 "$@"
		caught core 'nothing is sent again' BROKEN=5 DEBITS=2 CRASHES=2 "$@"
		caught budget "the operation's number apart from its effect" BROKEN=6 LOSSES=0 "$@"
		caught budget 'the answer apart from its effect' BROKEN=7 LOSSES=0 "$@"
		caught budget 'the budget rises after the mint' BROKEN=8 LOSSES=0 "$@"
		caught budget 'the budget falls before the burn' BROKEN=9 LOSSES=0 "$@"
		caught budget 'given up without taking its number' BROKEN=10 LOSSES=0 "$@"
		caught bury 'closed while a lease may be valid' BROKEN=11 LOSSES=0 "$@"
		caught bury 'a closed edge credits' BROKEN=12 LOSSES=0 "$@"
		caught bury 'granted with a certificate missing' BROKEN=13 LOSSES=0 "$@"
		caught bury 'certified before it is durable' BROKEN=14 LOSSES=0 "$@"
		caught bury 'the floor granted as well' BROKEN=15 LOSSES=0 "$@"
		caught bury 'admitted under the same generation' BROKEN=16 LOSSES=0 "$@"
		caught bury 'opened anew before it is folded' BROKEN=17 LOSSES=0 "$@"
		caught bury 'no tombstone' BROKEN=18 LOSSES=0 "$@"
		caught bury 'a tombstone counts for any generation' BROKEN=19 LOSSES=0 "$@"
		caught bury 'opened anew before the node is admitted' BROKEN=20 LOSSES=0 "$@"
		caught leave 'came back under the same generation' BROKEN=16 LOSSES=0 "$@"
		caught leave 'left with neighbours not frozen' BROKEN=21 LOSSES=0 "$@"
		caught leave 'frozen before it is durable' BROKEN=22 LOSSES=0 "$@"
		set -- DEBITS=2 CRASHES=0 LOSSES=0 "$@"
		caught joint 'a closed edge credits, joint burial' BROKEN=12 "$@"
		caught joint 'the edge between the buried is counted' BROKEN=23 "$@"
		caught joint 'one of the buried still runs' BROKEN=24 "$@"
		caught joint "one survivor's certificate is missing" BROKEN=25 "$@"
	done
}

# Neither core, budget nor leave can go round in circles: their rest is reached.
cycles() {
	heading 'ledger: cycles of steps'
	# In this mode it looks for runs that go on for ever.
	pan_flags=-l
	for program in core budget leave; do
		build "$program-np" ledger "$(flags_of $program)" '-DNP -DNOFAIR'
	done
	holds core-np 'T2 C2 L1' DEBITS=2 CRASHES=2
	holds budget-np 'T1 C1 L1'
	holds leave-np 'T1 C1 L1'
	pan_flags=
}
flags_of() {
	case $1 in
	core) ;;
	*) echo "-D$(echo "$1" | tr '[:lower:]' '[:upper:]')" ;;
	esac
}

lease_mutants() { # PROGRAM LEASE; the promise is the lease on the fastest clock, and slack
	program=$1
	lease=$2
	full=$((lease * 3 / 2))
	alone=ONE_AT_A_TIME=1
	set -- PROMISE=$((full + 3))
	caught "$program" 'agent and guard die, no watchdog' "$@" RESET=0
	caught "$program" 'the watchdog is slower than the promise allows' "$@" RESET=2
	caught "$program" 'a promise without slack' PROMISE=$full
	caught "$program" 'a promise as long as the lease' PROMISE="$lease"
	caught "$program" 'the lease counts from receipt' "$@" BROKEN=1
	caught "$program" 'a granter forgets its promise in a restart' "$@" BROKEN=2
	caught "$program" 'answers after the close' "$@" BROKEN=3
	caught "$program" 'an answer to an earlier incarnation counts' "$@" BROKEN=4
	caught "$program" 'the deadline outlives a reboot' "$@" BROKEN=5
	caught "$program" 'the agent writes past its guard' "$@" BROKEN=6
	caught "$program" 'the guard does whatever it is asked' "$@" BROKEN=7
	caught "$program" 'the agent does not see its guard die' "$@" BROKEN=8 RESET=0 "$alone"
	caught "$program" 'an agent without guard leaves the quota' "$@" BROKEN=9
	caught "$program" 'a stopped guard is taken for a good one' "$@" BROKEN=10 RESET=0 "$alone"
}

lease_small() {
	heading 'lease: a short one, two messages, clock rates up to 1.5 apart, time without end'
	steps_max=1000000
	build short lease '-DLEASE=4 -DMESSAGES=2'
	holds short 'watchdog; agent and guard die in any order' PROMISE=9
	holds short 'no watchdog; agent or guard dies' PROMISE=9 RESET=0 ONE_AT_A_TIME=1
	lease_mutants short 4
}

lease_whole() {
	heading 'lease: clock rates up to 1.5 apart, time without end'
	steps_max=3000000
	build lease lease ''
	holds lease 'watchdog; agent and guard die in any order'
	holds lease 'no watchdog; agent or guard dies' RESET=0 ONE_AT_A_TIME=1
	lease_mutants lease 6
}

case $size in
small)
	ledger_small
	ledger_ends
	ledger_mutants 0
	lease_small
	;;
whole)
	hash_bits=25
	ledger_whole
	ledger_ends
	ledger_mutants 0 1
	cycles
	lease_whole
	;;
trace)
	shift
	trace "$@"
	;;
*)
	sed -n 's/^#	//p' "$0" >&2
	exit 2
	;;
esac
exit $failed

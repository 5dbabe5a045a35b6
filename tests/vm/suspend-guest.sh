#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For suspend.tap, in the virtual machine: it sleeps for less than a lease and for
# longer than one while two nodes trade.  CLOCK_BOOTTIME goes on meanwhile and
# CLOCK_MONOTONIC does not, as in any suspend to memory: the kernel's own test of
# it goes as far, and wakes by itself.
set -eu
cluster=suspend budget=400000 floor=50000
# shellcheck source-path=SCRIPTDIR source=agents.sh
. "${0%/*}/agents.sh"
groups=$hierarchy/isobar-suspend
group_before=$groups/ group_after=
at_failure_too() {
	dmesg | tail -n 30 | sed 's/^/kernel: /'
}

boot_ms() {
	read -r boot rest </proc/uptime
	echo "${boot%.*}${boot#*.}0" | sed 's/^0*//'
}
monotonic_ms() {
	sed -n 's/^now at \([0-9]*\)[0-9]\{6\} nsecs.*/\1/p' /proc/timer_list
}
lapses() { # NODE: times that its guard found the lease run out
	grep -c 'no lease: the limit is lowered' "$dir/$1.log" || true
}

if ! grep -q deep /sys/power/mem_sleep || ! grep -q core /sys/power/pm_test; then
	echo '1..0 # SKIP a kernel that cannot test its suspend'
	exit 0
fi
write_conf a 7421 b 7422
write_conf b 7422 a 7421
for n in a b; do
	"$agent/isobard" --init -f "$dir/$n.conf" >/dev/null
done
start a
start b
goes_on() { # WHEN
	for n in a b; do
		until_true "$n has its lease, $1" says $n \
			'.lease.valid and .neighbours[0].state == "up" and .enforced_ucpu > .floor_ucpu'
	done
}
goes_on 'at the start'
watch_sum 100
shown 'two nodes with leases'

# Sets slept_ms, and lowest_a and lowest_b, the lowest limits until a while after.
sleep_for() { # SECONDS
	echo "$1" >/sys/module/suspend/parameters/pm_test_delay
	echo core >/sys/power/pm_test
	boot=$(boot_ms) monotonic=$(monotonic_ms)
	slept_times=$((slept_times + 1))
	rm -f "$dir/end"
	(
		low_a=$budget low_b=$budget
		while [ ! -e "$dir/end" ]; do
			read -r quota _ <$groups/a/cpu.max
			[ $((quota * 10)) -ge $low_a ] || low_a=$((quota * 10))
			read -r quota _ <$groups/b/cpu.max
			[ $((quota * 10)) -ge $low_b ] || low_b=$((quota * 10))
		done
		echo "$low_a $low_b" >"$dir/lowest"
	) &
	sampler=$!
	echo mem >/sys/power/state || fail "the machine does not sleep for $1 s"
	slept_ms=$(($(boot_ms) - boot - $(monotonic_ms) + monotonic))
	sleep 1
	: >"$dir/end"
	wait $sampler
	read -r lowest_a lowest_b <"$dir/lowest"
	echo "# slept $slept_ms ms, then the limits were at least $lowest_a and $lowest_b ucpu"
}

late=$(ask a .ticks_late)
slept_times=0
# On a busy host it takes longer, and then there may be no time left to renew them.
for try in 1 2 3 4 5; do
	goes_on "before sleep $try"
	lapses=$(($(lapses a) + $(lapses b)))
	sleep_for 1
	[ "$slept_ms" -gt 2500 ] || break
done
[ "$slept_ms" -le 2500 ] || fail "no sleep was a short one"
[ $(($(lapses a) + $(lapses b))) = "$lapses" ] || fail 'a guard took its lease to have run out'
for lowest in "$lowest_a" "$lowest_b"; do
	[ "$lowest" -gt $((2 * floor)) ] || fail "a limit went to $lowest in spite of the lease"
done
shown 'a sleep shorter than a lease: nothing changes'

sleep_for 7
[ "$slept_ms" -gt 5000 ] || fail "only $slept_ms ms"
for lowest in "$lowest_a" "$lowest_b"; do
	[ "$lowest" -le $floor ] || fail "a limit was still $lowest without a lease"
done
for n in a b; do
	[ "$(lapses $n)" -gt 0 ] || fail "the guard of $n did not see its lease end"
done
goes_on 'after a long sleep'
# Sleep is not lateness: its clock has stood still.
echo "# ticks missed: a $(($(ask a .ticks_late) - late))"
for n in a b; do
	[ "$(grep -c 'this machine slept for' "$dir/$n.log")" = "$(ask $n .sleeps)" ] ||
		fail "$n does not say once of each sleep that it was"
	says $n ".sleeps == $slept_times and .slept_s * 1000 > $slept_ms" ||
		fail "$n: $(ask $n '"\(.sleeps) sleeps, \(.slept_s) s"')"
	"$agent/isobarctl" --socket "$dir/$n.run/control" status |
		grep -q "this machine slept $slept_times times since" || fail "status of $n"
done
shown 'a longer one: the leases have run out, and only the floors are left until they are renewed'

sh -c 'while :; do :; done' &
burner=$!
pids="$pids $burner"
echo $burner >$groups/a/cgroup.procs
until_true 'the limit follows the busy process' quota_at_least a 24000
shown 'trading goes on'
sum_was_kept
# shellcheck disable=SC2086 # a list
kill -9 $pids 2>/dev/null || true
echo "1..$steps"

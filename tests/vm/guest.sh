# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Read by the programs that run in the virtual machine: results as TAP, patience,
# what the kernel enforces.
# The group of node N is ${group_before}N$group_after; at_failure, where a program
# has it, says more when something has failed.
# shellcheck disable=SC2034 # for whoever reads this
steps=0
patience=180 # seconds; the machine is an emulated one

case ${ISO_VM_CGROUP:=v2} in
v2) hierarchy=/sys/fs/cgroup version=2 ;;
*) hierarchy=/sys/fs/cgroup/cpu version=1 ;;
esac

seconds() {
	read -r uptime _ </proc/uptime
	uptime=${uptime%.*}
}
shown() {
	steps=$((steps + 1))
	seconds
	echo "ok $steps - $* ($uptime s)"
}
fail() {
	echo "not ok $((steps + 1)) - $*"
	! command -v at_failure >/dev/null || at_failure 2>&1 | sed 's/^/# /'
	exit 1
}
until_true() { # WHAT COMMAND...
	what=$1
	shift
	seconds
	until=$((uptime + patience))
	until "$@" 2>/dev/null; do
		seconds
		[ "$uptime" -lt $until ] || fail "not within $patience s: $what"
		sleep 0.2
	done
}

# Sets q: microseconds of each 100 ms, "max" where there is no limit.  Fails where
# there is no group, or another period.
look() { # NODE
	# shellcheck disable=SC2154 # the program's
	group=$group_before$1$group_after
	if [ $version = 2 ]; then
		read -r q p <"$group/cpu.max" || return 1
	else
		read -r q <"$group/cpu.cfs_quota_us" && read -r p <"$group/cpu.cfs_period_us" ||
			return 1
		[ "$q" != -1 ] || q=max
	fi 2>/dev/null
	[ "$q" = max ] || [ "$p" = 100000 ]
}
quota() { # NODE
	look "$1" && echo "$q"
}
is_limited() { # NODE
	look "$1" && [ "$q" != max ]
}
quota_at_least() { # NODE QUOTA
	is_limited "$1" && [ "$q" -ge "$2" ]
}
quota_at_most() { # NODE QUOTA
	is_limited "$1" && [ "$q" -le "$2" ]
}

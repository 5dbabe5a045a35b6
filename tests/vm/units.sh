# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Read by the programs that run under systemd in the virtual machine: guest.sh, and
# what systemd and the agents say.  $nodes are the instances that a failure tells of.
# shellcheck source-path=SCRIPTDIR source=guest.sh
. "${0%/*}/guest.sh"

at_failure() {
	# shellcheck disable=SC2154 # the program's
	for n in $nodes; do
		systemctl status --no-pager -n 20 "isobard@$n" || true
		echo "limit of $n: $(quota "$n" 2>&1)"
	done
	! command -v at_failure_too >/dev/null || at_failure_too
}

# Whether systemd has mounted the hierarchies that are to be tested.
hierarchy_is_right() {
	case $ISO_VM_CGROUP in
	v2) grep -q '^[^ ]* /sys/fs/cgroup cgroup2 ' /proc/mounts ;;
	v1) grep -q '^[^ ]* /sys/fs/cgroup/cpu,cpuacct cgroup ' /proc/mounts &&
		! grep -q '^[^ ]* [^ ]* cgroup2 ' /proc/mounts ;;
	hybrid) grep -q '^[^ ]* /sys/fs/cgroup/cpu,cpuacct cgroup ' /proc/mounts &&
		grep -q '^[^ ]* /sys/fs/cgroup/unified cgroup2 ' /proc/mounts ;;
	esac
}

# What `make install` has made, once in each machine.  Sets etc.
install_programs() {
	units=/usr/local/lib/systemd/system
	# shellcheck disable=SC2154 # from the environment
	[ -e /run/installed ] || cp -a "$ISO_VM_STAGE"/. /
	: >/run/installed
	etc=$(sed -n 's,^ExecStart=.* -f \(.*\)/%i.conf,\1,p' $units/isobard@.service)
	mkdir -p "$etc/isobar"
	hierarchy_is_right || fail "not $ISO_VM_CGROUP: $(grep cgroup /proc/mounts)"
}

is() { # UNIT STATE
	[ "$(systemctl is-active "$1")" = "$2" ]
}
main_pid() { # NODE
	systemctl show -P MainPID "isobard@$1"
}
other_pid() { # NODE PID
	pid=$(main_pid "$1")
	[ "$pid" != 0 ] && [ "$pid" != "$2" ]
}
property() { # UNIT; in ms a second, "infinity" where there is none
	systemctl show -P CPUQuotaPerSecUSec "$1"
}
property_is() { # UNIT VALUE
	[ "$(property "$1")" = "$2" ]
}
field() { # NODE FIELD
	isobarctl status -i "$1" --json | jq -r ".$2"
}
field_is() { # NODE FIELD VALUE
	[ "$(field "$1" "$2")" = "$3" ]
}
port() { # NODE
	echo $((7300 + $(printf %d "'$1")))
}

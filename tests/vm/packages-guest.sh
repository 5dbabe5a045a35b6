#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For packages.tap, in the virtual machine: the packages are installed, three agents
# limit three groups, and no limit lapses while they are upgraded, not even where a
# configuration is wrong by then; then all is removed and purged.
set -eu
# shellcheck source-path=SCRIPTDIR source=units.sh
. "${0%/*}/units.sh"
# shellcheck disable=SC2154 # from the environment
packages=$top_builddir/vm-packages
groups=$hierarchy
group_before=$groups/job- group_after=
nodes='a b c'
budget=40000 # of each 100 ms
at_failure_too() {
	for log in /tmp/dpkg /tmp/seen; do
		[ ! -f $log ] || sed "s,^,$log: ," $log
	done
}

guard_pid() {
	isobarctl status -i "$1" --json | jq .guard.pid
}
version() { # PACKAGE
	dpkg-query -W -f '${Version}' "$1"
}
dpkg_does() { # WHAT ARGUMENT...
	what=$1
	shift
	DEBIAN_FRONTEND=noninteractive dpkg --force-unsafe-io "$@" >/tmp/dpkg 2>&1 || fail "$what"
}

# The witness: what the kernel enforces, as often as a shell can look.
witness() {
	while [ ! -e /tmp/enough ]; do
		sum=0
		for n in a b c; do
			look $n
			[ "$q" != max ] || echo "$n has no limit at look $looks" >>/tmp/seen
			[ "$q" = max ] || [ $n = c ] || sum=$((sum + q))
		done
		looks=$((looks + 1))
		echo $looks >/tmp/looks
		[ $sum -le $budget ] || echo "the sum is $sum at look $looks" >>/tmp/seen
		sleep 0.05
	done
}

mount -t tmpfs dpkg /var/lib/dpkg
tar -C /var/lib/dpkg -xf "$packages/dpkg.tar"
rm -f /usr/sbin/policy-rc.d # of a host that is a container
dpkg_does 'dpkg installs' -i "$packages"/1/*.deb
[ "$(systemctl list-units --plain --no-legend 'isobard@*' 'isobar-coordinator@*')" = '' ] ||
	fail 'nothing is started by the installation'
is isobar-exporter active || fail 'the exporter runs'
shown 'installed: nothing is limited yet, and the exporter runs'
sh "$packages/installed" >/tmp/dpkg 2>&1 || fail 'what autopkgtest runs'
shown 'what autopkgtest runs'

echo +cpu >$groups/cgroup.subtree_control
for n in a b c; do
	mkdir $groups/job-$n
	sh -c "echo \$\$ >$groups/job-$n/cgroup.procs; while :; do [ -e /run/busy-$n ] || sleep 1; done" &
done
for n in a b; do
	isobarctl keygen --output "/etc/isobar/$n" >/dev/null
done
# On-exit would set b free whenever its agent ends.
for n in a b; do
	cat >"/etc/isobar/$n.conf" <<CONF
cluster = vm
node = $n
budget = 400mcpu
endowment = 200mcpu
cgroup = /job-$n
floor = 20mcpu
on-exit = $([ $n = b ] && echo restore || echo keep)
listen = tcp://127.0.0.1:$(port $n)
secret-key = /etc/isobar/$n.key
$(for other in a b; do
	[ $other = $n ] && continue
	echo "neighbour $other { address = tcp://127.0.0.1:$(port $other) public-key = /etc/isobar/$other.pub limit = none }"
done)
CONF
	isobard --init -f "/etc/isobar/$n.conf" >/dev/null
done
cat >/etc/isobar/c.conf <<CONF
cluster = alone
node = c
budget = 200mcpu
endowment = 200mcpu
cgroup = /job-c
on-exit = restore
CONF
isobard --init -f /etc/isobar/c.conf >/dev/null
systemctl enable -q isobard@a
systemctl start isobard@a isobard@b isobard@c || fail 'the units start'
# A mistake that nobody has noticed yet.
echo 'budgets = 300mcpu' >>/etc/isobar/c.conf
main_c=$(main_pid c)
for n in a b; do
	is_limited $n || fail "$n is limited when its unit has started"
	eval "main_$n=$(main_pid $n) guard_$n=$(guard_pid $n)"
done
is_limited c || fail 'c is limited when its unit has started'
shown 'three agents limit three groups'

looks=0
witness &
witness=$!
sleep 1
first=$(cat /tmp/looks)
dpkg_does 'dpkg upgrades' -i "$packages"/2/*.deb
last=$(cat /tmp/looks)
for package in isobar isobar-coordinator isobar-exporter isobar-sim; do
	case $(version $package) in
	*+1) ;;
	*) fail "$package is $(version $package)" ;;
	esac
done
for n in a b; do
	is isobard@$n active || fail "isobard@$n is active"
	eval "main=\$main_$n guard=\$guard_$n"
	# shellcheck disable=SC2154 # by eval
	[ "$(main_pid $n)" != "$main" ] || fail "isobard@$n is the old process"
	[ "$(readlink "/proc/$(main_pid $n)/exe")" = /usr/sbin/isobard ] || fail "isobard@$n is the old program"
	# shellcheck disable=SC2154 # by eval
	[ "$(guard_pid $n)" != "$guard" ] || fail "the guard of $n is the old process"
	[ "$(readlink "/proc/$(guard_pid $n)/exe")" = /usr/libexec/isobar/isobar-guard ] ||
		fail "the guard of $n is the old program"
	[ ! -e "/run/isobar/$n/keep-limit" ] || fail "$n: on-exit does not hold again"
done
is isobar-exporter active || fail 'the exporter runs after the upgrade'
shown 'upgraded: agents, guards and exporter are the new ones'
is isobard@c active || fail 'isobard@c is active'
[ "$(main_pid c)" = "$main_c" ] || fail 'isobard@c cannot start again, and was ended'
[ ! -e /run/isobar/c/keep-limit ] || fail 'c: on-exit does not hold'
grep -q '^isobar: isobard@c.service is not restarted' /tmp/dpkg || fail 'an upgrade says what is not restarted'
sed -i '$d' /etc/isobar/c.conf
isobard --hand-over -f /etc/isobar/c.conf || fail 'c hands over when it is mended'
systemctl restart isobard@c || fail 'isobard@c restarts when it is mended'
[ "$(main_pid c)" != "$main_c" ] || fail 'isobard@c is the old process'
shown 'an agent whose configuration is wrong was left alone, and named'
[ ! -f /tmp/seen ] || fail 'a limit lapsed'
[ $((last - first)) -gt 20 ] || fail "only $((last - first)) looks at the limits"
shown "no limit lapsed meanwhile, and their sum never was above the budget"
echo "# $((last - first)) looks"
# An idle machine starts the agents sooner.
touch /run/busy-a
until_true 'they trade again' quota_at_least a 25000
shown "they trade: a has $(quota a) of $budget"
touch /tmp/enough
wait $witness
[ ! -f /tmp/seen ] || fail 'a limit lapsed later'

dpkg_does 'dpkg removes' -r isobar isobar-coordinator isobar-exporter isobar-sim
for n in b c; do
	[ "$(quota $n)" = max ] || fail "on-exit = restore: $(quota $n) after the removal of $n"
done
is_limited a || fail 'on-exit = keep: no limit after the removal'
! pgrep -x isobard >/dev/null || fail 'an agent runs after the removal'
[ ! -e /usr/sbin/isobard ] || fail 'isobard is there after the removal'
[ -f /var/lib/isobar/a/journal ] || fail 'the journal stays'
[ -f /etc/isobar/a.conf ] || fail 'the configuration stays'
shown 'removed: agents end and do what on-exit says; journals stay'
no_guard() {
	! pgrep -x isobar-guard >/dev/null
}
until_true 'guards end with the leases' no_guard
[ "$(quota a)" = 2000 ] || fail "after the lease: $(quota a)"
shown 'without its agent a job has the floor when the lease has ended'

dpkg_does 'dpkg purges' -P isobar isobar-coordinator isobar-exporter isobar-sim
grep -q '^isobar: /var/lib/isobar is not empty and stays' /tmp/dpkg || fail 'a purge says what stays'
[ -f /var/lib/isobar/a/journal ] || fail 'a purge deletes no share'
[ -f /etc/isobar/a.conf ] || fail 'a purge deletes what an administrator has written'
[ ! -e /etc/systemd/system/multi-user.target.wants/isobard@a.service ] || fail 'an enabled unit of a purged package'
[ ! -d /var/lib/isobar-worker ] || fail 'an empty directory stays'
dpkg-query -W isobar >/dev/null 2>&1 && fail 'a purged package is known'
shown 'purged: journals and configurations stay, and it says so'
echo "1..$steps"

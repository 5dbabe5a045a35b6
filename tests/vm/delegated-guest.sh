#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For systemd.tap, in the virtual machine: an instance of isobard@.service that limits
# a child of its own group, while systemd does to it what administrators do.
set -eu
nodes=e
# shellcheck source-path=SCRIPTDIR source=units.sh
. "${0%/*}/units.sh"
install_programs
group_before=$hierarchy/system.slice/system-isobard.slice/isobard@ group_after=.service/job
child=${group_before}e$group_after

cat >"$etc/e.conf" <<END
cluster = child
node = e
budget = 300mcpu
endowment = 300mcpu
delegated = yes
state-directory = /var/lib/isobar/e
END
/usr/local/sbin/isobard --init -f "$etc/e.conf" >/dev/null
systemctl daemon-reload
systemctl start isobard@e || fail 'isobard@e starts'
sleep 20000 &
job=$!
# A threaded group has no other list.
members=$([ $version = 1 ] && echo cgroup.procs || echo cgroup.threads)
echo $job >"$child/cgroup.procs"
child_is_kept() {
	[ "$(quota e)" = 30000 ] && grep -qx $job "$child/$members"
}
child_is_kept || fail "the child: $(quota e)"
systemctl reload isobard@e || fail 'reload'
systemctl restart isobard@e || fail 'restart with a job in the child'
child_is_kept || fail 'the child after restart'
before=$(main_pid e)
kill -9 "$before"
child_is_kept || fail 'the child right after kill -9'
until_true 'started again after kill -9' other_pid e "$before"
until_true 'active again after kill -9' is isobard@e active
child_is_kept || fail 'the child after kill -9'
systemctl daemon-reload
child_is_kept || fail 'the child after daemon-reload'
systemctl stop isobard@e
child_is_kept || fail 'the child after stop'
systemctl start isobard@e || fail 'start with a job in the child'
child_is_kept || fail 'the child after start'
field_is e state ok || fail "state with a child: $(field e state), $(field e reason)"
systemctl stop isobard@e
kill $job
shown 'a delegated child stays limited over restart, kill -9, daemon-reload and stop'
echo "1..$steps"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For systemd.tap, in the virtual machine: instances of isobard@.service that limit a
# service, a slice and a scope, while systemd does to those what administrators do.
# ISO_VM_BRIEF: the service alone.
set -eu
nodes=d
# shellcheck source-path=SCRIPTDIR source=units.sh
. "${0%/*}/units.sh"
group_before=$hierarchy/system.slice/job- group_after=.service
install_programs
share=25430 # of each 100 ms
at_failure_too() {
	[ ! -f /tmp/unit-above ] || sed "s,^,above: ," /tmp/unit-above
}

# Alone, so the share is the budget; and no multiple of what systemd keeps.
write_conf() { # NODE UNIT
	cat >"$etc/$1.conf" <<END
cluster = unit-$1
node = $1
budget = 254300ucpu
endowment = 254300ucpu
unit = $2
on-exit = restore
state-directory = /var/lib/isobar/$1
END
	/usr/local/sbin/isobard --init -f "$etc/$1.conf" >/dev/null
}
has_its_share() { # NODE UNIT WHEN
	until_true "the share $3" quota_at_least "$1" $share
	until_true "systemd keeps the share $3" property_is "$2" 250ms
}
# A moment later it may have less, while it pays back what it has used too much.
survives_reload() { # NODE UNIT
	changes=$(field "$1" limit_changes)
	systemctl daemon-reload
	is_limited "$1" || fail 'limited after daemon-reload'
	has_its_share "$1" "$2" 'after daemon-reload'
	field_is "$1" limit_changes "$changes" || fail 'daemon-reload counts as a change by others'
}
is_let_go() { # NODE UNIT
	systemctl stop "isobard@$1"
	property_is "$2" infinity || fail "on-exit = restore: $(property "$2")"
	# Without any limit in it, a unit may have lost its group.
	! is_limited "$1" || fail "on-exit = restore: $(quota "$1")"
}

has_too_much() { # NODE
	look "$1" && { [ "$q" = max ] || [ "$q" -gt $share ]; }
}
# The witness: once limited it is never without a limit or above its share, but for the
# moment in which there is no group, or nobody in it.
witness() { # NODE
	seen=0
	while :; do
		seen=$((seen + 1))
		echo $seen >/tmp/unit-looks
		if has_too_much "$1" && grep -q . "$group"/cgroup.procs "$group"/*/cgroup.procs &&
			has_too_much "$1"; then
			echo "$q $p at look $seen" >>/tmp/unit-above
		fi 2>/dev/null
		sleep 0.02
	done
}

# systemd gives it no cpu controller by itself.
cat >/etc/systemd/system/job-d.service <<'END'
[Service]
ExecStart=/bin/sh -c 'while :; do sleep 1; done'
END
systemctl daemon-reload
write_conf d job-d.service
systemctl start isobard@d || fail 'isobard@d starts without its job'
field_is d state gone || fail "without the job: $(field d state)"
field d reason | grep -q 'job-d.service is not running' || fail "reason: $(field d reason)"
systemctl start job-d
witness d &
witness=$!
is_limited d || fail 'the unit is limited from its first moment'
has_its_share d job-d ''
field_is d unit job-d.service || fail "unit in status: $(field d unit)"
shown 'a unit is limited from its first moment, and systemd keeps the share'

survives_reload d job-d
survives_reload d job-d
shown 'daemon-reload does not lift it'

systemctl restart job-d
is_limited d || fail 'limited when started again'
has_its_share d job-d 'when started again'
until_true 'ok when started again' field_is d state ok
shown 'started again it is limited from its first moment'

kill $witness
[ ! -f /tmp/unit-above ] || fail 'the unit had more than its share'
[ "$(cat /tmp/unit-looks)" -gt 20 ] || fail "only $(cat /tmp/unit-looks) looks at the unit"
echo "# $(cat /tmp/unit-looks) looks"
systemctl set-property --runtime job-d CPUQuota=
has_its_share d job-d 'after set-property'
field_is d limit_changes 1 || fail "set-property: $(field d limit_changes) changes"
shown 'what set-property lifts is put right'

before=$(main_pid d)
kill -9 "$before"
until_true 'started again after kill -9' other_pid d "$before"
until_true 'limits were restored after kill -9 and set again' quota_at_least d $share
until_true 'active after kill -9' is isobard@d active
is_let_go d job-d
shown 'on-exit = restore puts back the quota of the unit'
[ -z "${ISO_VM_BRIEF:-}" ] || { echo "1..$steps"; exit 0; }

is_sound() {
	field d state | grep -qx 'ok\|drifted'
}
# A drop-in whose name sorts after that of what is set at run time.
systemctl revert job-d.service
refusal="'/etc/systemd/system/job-d.service.d/override.conf' has a CPUQuota"
mkdir /etc/systemd/system/job-d.service.d
cd /etc/systemd/system/job-d.service.d
printf '[Service]\nCPUQuota=90%%\n' >override.conf
systemctl daemon-reload
[ "$(quota d)" = 90000 ] || fail "with a drop-in of its own: $(quota d)"
! /usr/local/sbin/isobard -f "$etc/d.conf" 2>/tmp/refusal || fail 'the unit is not refused'
grep -q "$refusal" /tmp/refusal || fail "$(cat /tmp/refusal)"
! isobarctl check -f "$etc/d.conf" >/tmp/refusal || fail 'check finds nothing missing'
grep -q "$refusal" /tmp/refusal || fail "$(cat /tmp/refusal)"
[ "$(quota d)" = 90000 ] || fail "the refused unit was limited: $(quota d)"
# With that name it is read before.
mv override.conf 10-limit.conf
systemctl daemon-reload
systemctl start isobard@d || fail 'isobard@d starts with a drop-in that does not count'
has_its_share d job-d 'in spite of a drop-in'
survives_reload d job-d
# And one that counts more again, which is there for good, while the agent runs.
systemctl set-property job-d CPUQuota=80%
until_true 'what counts more is noticed' field_is d state degraded
field d reason | grep -q "'/etc/systemd/system.control/job-d.service.d/50-CPUQuota.conf' has a CPUQuota" ||
	fail "reason: $(field d reason)"
systemctl daemon-reload
until_true 'the share in spite of what a reload takes' quota_at_most d $share
rm -r /etc/systemd/system.control/job-d.service.d
systemctl daemon-reload
until_true 'what has gone is noticed' is_sound
has_its_share d job-d 'without the other quota'
systemctl stop isobard@d
[ "$(quota d)" = 90000 ] || fail "on-exit = restore, with a drop-in: $(quota d)"
systemctl stop job-d
shown 'a drop-in that a reload would prefer is named and refused, another is no danger'

nodes=g group_before=$hierarchy/ group_after=.slice
write_conf g g.slice
systemctl start isobard@g || fail 'isobard@g starts without its slice'
is_limited g || fail 'the slice is limited before anything is in it'
systemd-run -q --slice g --unit in-g sleep 20000
witness g &
witness=$!
has_its_share g g.slice ''
survives_reload g g.slice
systemd-run -q --slice g --unit in-g-too sleep 20000
systemctl restart in-g
is_limited g || fail 'the slice is limited when a service in it is started again'
systemctl stop g.slice
until_true 'gone with the slice' field_is g state gone
systemd-run -q --slice g --unit in-g sleep 20000
is_limited g || fail 'the slice is limited when it is there again'
has_its_share g g.slice 'when there again'
until_true 'ok when there again' field_is g state ok
kill $witness
[ ! -f /tmp/unit-above ] || fail 'the slice had more than its share'
is_let_go g g.slice
shown 'a slice is limited before anything is in it, over daemon-reload and a restart in it'

# A scope is not known before it runs, and not when it has ended.
nodes=s group_before=$hierarchy/system.slice/ group_after=.scope
write_conf s s.scope
! /usr/local/sbin/isobard -f "$etc/s.conf" 2>/tmp/refusal || fail 'a scope that is not there'
grep -q 'unit s.scope: systemd knows no such unit' /tmp/refusal || fail "$(cat /tmp/refusal)"
systemd-run -q --scope --unit s sleep 20000 &
until_true 'the scope' is s.scope active
systemctl start isobard@s || fail 'isobard@s starts'
is_limited s || fail 'the scope is limited when the unit has started'
has_its_share s s.scope ''
survives_reload s s.scope
systemctl stop s.scope
until_true 'gone with the scope' field_is s state gone
systemd-run -q --scope --unit s sleep 20000 &
until_true 'limited when there again' is_limited s
has_its_share s s.scope 'when there again'
until_true 'ok when there again' field_is s state ok
is_let_go s s.scope
shown 'a scope is limited over daemon-reload, and again when it comes back'
echo "1..$steps"

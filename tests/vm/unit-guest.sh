#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For systemd.tap, in the virtual machine: an instance of isobard@.service that limits a
# service, while systemd does to it what administrators do.
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
echo "1..$steps"

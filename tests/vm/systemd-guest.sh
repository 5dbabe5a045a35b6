#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For systemd.tap, in the virtual machine: three instances of isobard@.service limit
# three services, b as a unit of systemd, and trade; a fourth limits a unit alone and
# a fifth a child of its own group, while systemd does to them what administrators do.
set -eu
# shellcheck disable=SC2154 # from the environment
cp -a "$top_builddir"/vm-stage/. /
etc=$(sed -n 's,^ExecStart=.* -f \(.*\)/%i.conf,\1,p' /usr/local/lib/systemd/system/isobard@.service)
groups=/sys/fs/cgroup/system.slice
budget=60000 # of each 100 ms
patience=300 # fifths of a second; the machine is an emulated one
steps=0

shown() {
	steps=$((steps + 1))
	echo "ok $steps - $*"
}
fail() {
	echo "not ok $((steps + 1)) - $*"
	for n in a b c d e; do
		systemctl status --no-pager -n 20 "isobard@$n" 2>&1 | sed 's/^/# /' || true
		[ $n = e ] || echo "# cpu.max of $n: $(cat $groups/job-$n.service/cpu.max 2>&1)"
	done
	for file in /tmp/above /tmp/unit-above; do
		[ ! -f $file ] || sed "s,^,# ${file#/tmp/}: ," $file
	done
	exit 1
}
until_true() { # WHAT COMMAND...
	what=$1
	shift
	i=0
	until "$@" 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt $patience ] || fail "not within $((patience / 5)) s: $what"
		sleep 0.2
	done
}
quota() { # NODE; "max" where there is no limit
	read -r q p <"$groups/job-$1.service/cpu.max"
	[ "$q" = max ] || [ "$p" = 100000 ] || fail "period of $1: $p"
	echo "$q"
}
is_limited() {
	[ "$(quota "$1")" != max ]
}
quota_at_least() {
	is_limited "$1" && [ "$(quota "$1")" -ge "$2" ]
}
is() { # UNIT STATE
	[ "$(systemctl is-active "$1")" = "$2" ]
}
status_says() { # TEXT, of a
	systemctl status --no-pager isobard@a | grep -q "Status: \"$1"
}
port() {
	echo $((7300 + $(printf %d "'$1")))
}
main_pid() {
	systemctl show -P MainPID "isobard@$1"
}
other_pid() { # NODE PID
	pid=$(main_pid "$1")
	[ "$pid" != 0 ] && [ "$pid" != "$2" ]
}

# The witness: what the kernel enforces, as often as a shell can look; while
# systemd itself has taken a limit away, which it may, "max" is not counted.
witness() {
	while :; do
		sum=0
		for n in a b c; do
			read -r q p <"$groups/job-$n.service/cpu.max" || q=max
			[ "$q" = max ] && sum=-1000000 || sum=$((sum + q))
		done
		looks=$((looks + 1))
		echo $looks >/tmp/looks
		[ $sum -le $budget ] || echo "$sum at look $looks" >>/tmp/above
		sleep 0.05
	done
}

# The unit's witness: once limited it is never without a limit or above its share,
# but for the moment in which there is no group.
unit_witness() {
	seen=0
	while :; do
		seen=$((seen + 1))
		echo $seen >/tmp/unit-looks
		if read -r q p <$groups/job-d.service/cpu.max; then
			[ "$q" != max ] && [ "$q" -le 25430 ] ||
				echo "$q $p at look $seen" >>/tmp/unit-above
		fi 2>/dev/null
		sleep 0.02
	done
}
property() { # NODE; in ms a second, "infinity" where there is none
	systemctl show -P CPUQuotaPerSecUSec "job-$1"
}
property_is() { # NODE VALUE
	[ "$(property "$1")" = "$2" ]
}
field() { # NODE FIELD
	isobarctl status -i "$1" --json | jq -r ".$2"
}
field_is() { # NODE FIELD VALUE
	[ "$(field "$1" "$2")" = "$3" ]
}

mkdir -p "$etc/isobar"
for n in a b c; do
	/usr/local/bin/isobarctl keygen --output "$etc/$n" >/dev/null
	# One that wants a CPU, and two that do now and then.
	cat >/etc/systemd/system/job-$n.service <<END
[Service]
CPUAccounting=yes
CPUWeight=90
ExecStart=/bin/sh -c 'while :; do if [ -e /run/busy-$n ]; then :; else sleep 1; fi; done'
END
done
for n in a b c; do
	cat >"$etc/$n.conf" <<END
cluster = vm
node = $n
budget = 600mcpu
endowment = 200mcpu
$([ $n = b ] && echo 'unit = job-b.service' || echo "cgroup = /system.slice/job-$n.service")
floor = 20mcpu
on-exit = $([ $n = c ] && echo restore || echo keep)
listen = tcp://127.0.0.1:$(port $n)
secret-key = $etc/$n.key
state-directory = /var/lib/isobar/$n
$(for other in a b c; do
	[ $other = $n ] && continue
	echo "neighbour $other { address = tcp://127.0.0.1:$(port $other) public-key = $etc/$other.pub limit = none }"
done)
END
	/usr/local/sbin/isobard --init -f "$etc/$n.conf" >/dev/null
done
# Alone, so the share is the budget; and no multiple of what systemd keeps.
cat >"$etc/d.conf" <<END
cluster = unit
node = d
budget = 254300ucpu
endowment = 254300ucpu
unit = job-d.service
on-exit = restore
state-directory = /var/lib/isobar/d
END
# systemd gives it no cpu controller by itself.
cat >/etc/systemd/system/job-d.service <<END
[Service]
ExecStart=/bin/sh -c 'while :; do sleep 1; done'
END
cat >"$etc/e.conf" <<END
cluster = child
node = e
budget = 300mcpu
endowment = 300mcpu
delegated = yes
state-directory = /var/lib/isobar/e
END
for n in d e; do
	/usr/local/sbin/isobard --init -f "$etc/$n.conf" >/dev/null
done
systemctl daemon-reload
touch /run/busy-a /run/busy-b /run/busy-c
systemctl start job-a job-b job-c
systemctl start isobard@a isobard@b isobard@c || fail 'the units start'
for n in a b c; do
	is isobard@$n active || fail "isobard@$n is active"
	# Type=notify: started means limited.
	is_limited $n || fail "$n is limited when its unit has started"
	# Within the filter of the unit, which must let it make its own.
	field_is $n sandbox.seccomp true || fail "$n is in its sandbox: $(field $n sandbox)"
done
shown 'three units start, and started means limited'

looks=0
witness &
witness=$!
until_true 'systemctl status says how the node is' status_says 'node a: ok, share 0\.'
shown 'systemctl status says how the node is'
until_true 'b has its share' quota_at_least b 15000
property_is b 20ms || fail "systemd has more than the floor for b: $(property b)"
systemctl daemon-reload
until_true 'b has its share after daemon-reload' quota_at_least b 15000
field_is b limit_changes 0 || fail "daemon-reload counts as a change by others"
shown 'with a lease systemd keeps the floor of a unit, and the share comes back'
rm /run/busy-b /run/busy-c
until_true 'the idle ones give' quota_at_least a 35000
shown "the share follows the demand: a has $(quota a) of $budget"

# All three in one scrape, by somebody who may do nothing; the sockets are open to all.
systemd-sysusers /usr/local/lib/sysusers.d/isobar-exporter.conf
systemctl start isobar-exporter || fail 'isobar-exporter starts'
metric_is() { # METRIC VALUE
	curl -sf http://127.0.0.1:7700/metrics | grep -qxF "$1 $2"
}
for n in a b c; do
	until_true "metrics of $n" metric_is "isobar_state{cluster=\"vm\",node=\"$n\",state=\"ok\"}" 1
done
until_true 'an audit' metric_is 'isobar_audit{cluster="vm",result="proven"}' 1
curl -sf http://127.0.0.1:7700/ | grep -q 'audit: proven' || fail 'the status page'
systemctl stop isobar-exporter
shown 'isobar-exporter serves what all of them say'

systemctl daemon-reload
until_true 'limits are back after daemon-reload' is_limited a
until_true 'limits are back after daemon-reload' is_limited b
until_true 'limits are back after daemon-reload' is_limited c
property_is b 20ms || fail "systemd has more than the floor for b: $(property b)"
shown 'daemon-reload takes no limit away for long'

before=$(main_pid a)
systemctl restart isobard@a || fail 'restart'
is_limited a || fail 'limited after a restart'
other_pid a "$before" || fail 'another process after a restart'
shown 'restart goes on with the limit'

before=$(main_pid b)
kill -9 "$before"
is_limited b || fail 'limited right after kill -9'
until_true 'started again after kill -9' other_pid b "$before"
until_true 'active again after kill -9' is isobard@b active
is_limited b || fail 'limited after kill -9'
shown 'after kill -9 the limit stays and the agent comes back'

before=$(main_pid b)
kill -STOP "$before"
until_true 'a hung agent is replaced' other_pid b "$before"
until_true 'active again after it hung' is isobard@b active
is_limited b || fail 'limited after it hung'
shown 'an agent that hangs is killed by the watchdog and comes back'

before=$(main_pid c)
kill -9 "$before"
until_true 'started again after kill -9' other_pid c "$before"
until_true 'active again after kill -9' is isobard@c active
until_true 'limited again' is_limited c
shown 'with on-exit = restore it is limited again as well'

kill $witness
[ ! -f /tmp/above ] || fail "the sum of the limits was above the budget"
[ "$(cat /tmp/looks)" -gt 20 ] || fail "only $(cat /tmp/looks) looks at the limits"
shown "the sum of the limits never was above the budget"
echo "# $(cat /tmp/looks) looks"

systemctl stop isobard@c || fail 'stop'
[ "$(quota c)" = max ] || fail "on-exit = restore: $(quota c) after stop"
systemctl stop isobard@a
is_limited a || fail 'on-exit = keep: no limit after stop'
shown 'stop does what on-exit says'

echo 'budgte = 1cpu' >>"$etc/c.conf"
systemctl start isobard@c 2>/dev/null && fail 'a wrong configuration starts'
sleep 3
is isobard@c failed || fail "a wrong configuration is tried again: $(systemctl is-active isobard@c)"
shown 'a wrong configuration is not tried again'
systemd-analyze security isobard@b 2>&1 | tail -n 1 | sed 's/^/# /'
systemctl stop isobard@b

# A unit.  At first it does not run.
systemctl start isobard@d || fail 'isobard@d starts without its job'
field_is d state gone || fail "without the job: $(field d state)"
field d reason | grep -q 'job-d.service is not running' || fail "reason: $(field d reason)"
systemctl start job-d
unit_witness &
witness=$!
is_limited d || fail 'the unit is limited from its first moment'
until_true 'its share' quota_at_least d 25430
field_is d unit job-d.service || fail "unit in status: $(field d unit)"
until_true 'systemd keeps the share' property_is d 250ms
shown 'a unit is limited from its first moment, and systemd keeps the share'

# A moment later it may have less, while it pays back what it has used too much.
for i in 1 2; do
	systemctl daemon-reload
	is_limited d || fail 'limited after daemon-reload'
	until_true 'the exact share after daemon-reload' quota_at_least d 25430
done
field_is d limit_changes 0 || fail "daemon-reload counts as a change by others"
shown 'daemon-reload does not lift it'

systemctl restart job-d
is_limited d || fail 'limited when started again'
until_true 'its share when started again' quota_at_least d 25430
until_true 'ok when started again' field_is d state ok
shown 'started again it is limited from its first moment'

kill $witness
[ ! -f /tmp/unit-above ] || fail 'the unit had more than its share'
[ "$(cat /tmp/unit-looks)" -gt 20 ] || fail "only $(cat /tmp/unit-looks) looks at the unit"
echo "# $(cat /tmp/unit-looks) looks"
systemctl set-property --runtime job-d CPUQuota=
until_true 'limited after set-property' quota_at_least d 25430
until_true 'systemd keeps the share after set-property' property_is d 250ms
field_is d limit_changes 1 || fail "set-property: $(field d limit_changes) changes"
shown 'what set-property lifts is put right'

before=$(main_pid d)
kill -9 "$before"
until_true 'started again after kill -9' other_pid d "$before"
until_true 'limits were restored after kill -9 and set again' quota_at_least d 25430
until_true 'active after kill -9' is isobard@d active
systemctl stop isobard@d
property_is d infinity || fail "on-exit = restore: $(property d)"
quota d 2>/dev/null | grep -qvx max && fail "on-exit = restore: $(quota d)"
shown 'on-exit = restore puts back the quota of the unit'

# A child of the agent's own group.
systemctl start isobard@e || fail 'isobard@e starts'
child=$groups/system-isobard.slice/isobard@e.service/job
sleep 20000 &
job=$!
echo $job >"$child/cgroup.procs"
child_is_kept() {
	[ "$(cat "$child/cpu.max")" = '30000 100000' ] && grep -qx $job "$child/cgroup.threads"
}
child_is_kept || fail "the child: $(cat "$child/cpu.max")"
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

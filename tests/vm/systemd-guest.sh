#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For systemd.tap, in the virtual machine: three instances of isobard@.service limit
# three services, b as a unit of systemd, and trade, while systemd does to them what
# administrators do.
set -eu
nodes='a b c'
# shellcheck source-path=SCRIPTDIR source=units.sh
. "${0%/*}/units.sh"
group_before=$hierarchy/system.slice/job- group_after=.service
install_programs
budget=60000 # of each 100 ms
at_failure_too() {
	[ ! -f /tmp/above ] || sed "s,^,above: ," /tmp/above
}

status_says() { # TEXT, of a
	systemctl status --no-pager isobard@a | grep -q "Status: \"$1"
}
# The witness: what the kernel enforces, as often as a shell can look; while
# systemd itself has taken a limit away, which it may, "max" is not counted.
witness() {
	while :; do
		sum=0
		for n in a b c; do
			look $n || q=max
			[ "$q" = max ] && sum=-1000000 || sum=$((sum + q))
		done
		looks=$((looks + 1))
		echo $looks >/tmp/looks
		[ $sum -le $budget ] || echo "$sum at look $looks" >>/tmp/above
		sleep 0.05
	done
}

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
property_is job-b 20ms || fail "systemd has more than the floor for b: $(property job-b)"
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
property_is job-b 20ms || fail "systemd has more than the floor for b: $(property job-b)"
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

echo "1..$steps"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# For matrix.tap, in the virtual machine: what isobar promises on every kernel.  Two
# nodes trade, one of them trains, and each end does what on-exit says.
# ISO_VM_CGROUP and ISO_VM_BTF say what the kernel offers here.
set -eu
cluster=row budget=600000 floor=50000
# shellcheck source-path=SCRIPTDIR source=agents.sh
. "${0%/*}/agents.sh"
groups=$hierarchy/isobar-row
group_before=$groups/ group_after=
at_failure_too() {
	tail -n 10 "$dir/coordinator.log" 2>/dev/null | sed 's/^/coordinator: /'
}

for key in worker coordinator; do
	"$agent/isobarctl" keygen --output "$dir/$key" >/dev/null
done
chown nobody "$dir/worker.key" "$dir/coordinator.key"
awk 'BEGIN { for (i = 0; i < 200; i++) { x = i * 7 % 40 - 20; y = i * 13 % 30 - 15
	print (x + y > 0 ? "+1" : "-1"), "1:" x / 20, "2:" y / 15 } }' >"$dir/data.svm"
write_conf a 7411 b 7412
write_conf b 7412 a 7411
cat >>"$dir/a.conf" <<END
on-exit = restore
training {
	coordinator = tcp://127.0.0.1:7413
	coordinator-key = $dir/coordinator.pub
	worker-key = $dir/worker.key
	user = nobody
	data = $dir/data.svm
	threads = 1
	executable = $agent/isobar-worker
}
END
echo 'on-exit = remove' >>"$dir/b.conf"
mkdir "$dir/coordinator"
chown nobody "$dir/coordinator"
cat >"$dir/coordinator.conf" <<END
run = row
listen = tcp://127.0.0.1:7413
secret-key = $dir/coordinator.key
state-directory = $dir/coordinator/state
run-directory = $dir/coordinator/run
data = $dir/data.svm
training { model = logistic tasks-per-round = 2 samples-per-task = 64 }
worker a { public-key = $dir/worker.pub }
END

for n in a b; do
	"$agent/isobard" --init -f "$dir/$n.conf" >/dev/null
done

# What the administrator is told of this kernel, before anything runs.
"$agent/isobar-coordinator" -n -f "$dir/coordinator.conf" >/dev/null || fail 'the coordinator'
"$agent/isobarctl" check -f "$dir/a.conf" >"$dir/check" ||
	{ sed 's/^/# /' "$dir/check"; fail 'isobarctl check finds something missing'; }
grep -q "^ok  *cpu controller  *cgroup v$version at " "$dir/check" ||
	{ sed 's/^/# /' "$dir/check"; fail 'isobarctl check finds the wrong hierarchy'; }
if [ "${ISO_VM_BTF:=yes}" = yes ]; then
	grep -q '^ok  *eBPF meter ' "$dir/check" || fail "$(grep 'eBPF meter' "$dir/check")"
else
	grep -q '^warning  *eBPF meter  *kernel has no BTF' "$dir/check" ||
		fail "$(grep 'eBPF meter' "$dir/check")"
fi
shown 'check: all that is needed is there, and the meter is as it will be'

# The group of a is somebody's already, with a limit of its own.
[ $version = 1 ] || echo +cpu >$hierarchy/cgroup.subtree_control
mkdir $groups
[ $version = 1 ] || echo +cpu >$groups/cgroup.subtree_control
mkdir $groups/a
if [ $version = 2 ]; then
	echo 70000 100000 >$groups/a/cpu.max
else
	echo 70000 >$groups/a/cpu.cfs_quota_us
fi
start a
start b
for n in a b; do
	until_true "$n has its lease" says $n .lease.valid
	until_true "$n is limited by its share" says $n \
		'.readback_us == .quota_us and .enforced_ucpu > .floor_ucpu'
	quota_at_most $n 60000 || fail "the limit of $n is $(quota $n)"
done
watch_sum 50
shown 'start: both groups are limited'

sh -c 'while :; do :; done' &
burner=$!
pids="$pids $burner"
echo $burner >$groups/b/cgroup.procs
until_true 'the limit of the busy one rises' quota_at_least b 45000
until_true 'that of the idle one has fallen' quota_at_most a 15000
shown 'trade: the limit follows a busy process'
if [ "$ISO_VM_BTF" = yes ]; then
	says b '.meter == "ebpf" and .meter_reason == null' ||
		fail "the meter is $(ask b '.meter, .meter_reason')"
else
	says b '.state == "degraded" and .meter != "ebpf" and (.meter_reason | contains("BTF"))' ||
		fail "the meter is $(ask b '.state, .meter, .meter_reason')"
fi
until_true 'what it uses is measured' says b '.on_cpu_ucpu > 100000'
shown "meter: $(ask b .meter), $(ask b .on_cpu_ucpu) of $(ask b .enforced_ucpu) used"

# Killed, not ended: the limit stays, and the next one goes on with it.
kill -9 "$(pid_of b)"
wait "$(pid_of b)" || true
is_limited b || fail 'the limit did not survive the agent'
start b
shown 'kill: the limit stays, and the agent comes back'

kill $burner
su -s /bin/sh nobody -c "exec $agent/isobar-coordinator -f $dir/coordinator.conf" \
	>"$dir/coordinator.log" 2>&1 &
coordinator=$!
pids="$pids $coordinator"
until_true 'a has done tasks' says a '.worker.tasks > 5 and .on_cpu_ucpu > 0'
grep -qx "$(ask a .worker.pid)" $groups/a/cgroup.procs || fail 'the worker is not in the group'
kill -0 $coordinator || fail 'the coordinator has ended'
shown 'worker: it trains within the limit, and that is measured'

sum_was_kept

for n in a b; do
	kill "$(pid_of $n)"
	wait "$(pid_of $n)" || fail "node $n did not end well"
done
[ "$(quota a)" = 70000 ] || fail "on-exit = restore: $(quota a)"
[ ! -d $groups/b ] || fail 'on-exit = remove: the group is there'
shown 'on-exit: what was there before, and nothing where nothing was'
kill $coordinator
wait $coordinator || true # it has not finished
until_true 'nobody is left in the groups' rmdir $groups/a
rmdir $groups
rm -rf "$dir"
echo "1..$steps"

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The preflight: what is missing, by name and with the remedy.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"

# What this machine is like is not for this test to say.
machine='/^[a-z]* *privileges /d; /^[a-z]* *eBPF meter /d; /^[a-z]* *meters /d; /^[a-z]* *cpu controller /d
/^[a-z]* *scheduler /d; /^[a-z]* *effective limit /d; /^[a-z]* *real-time threads /d
/^[a-z]* *cgroup /d; /^[a-z]* *processes /d; /^[a-z]* *limit /d; /^ok *sandbox /d
/remedy: /d'

run "$ctl" check -f ./none.conf
ends 1
keep "$machine"
out "missing  configuration      open './none.conf': No such file or directory

not ready"
err ''

echo 'cluster = lab node = a buget = 1cpu' >bad.conf
run "$ctl" check -f bad.conf
ends 1
keep "$machine"
out "missing  configuration      bad.conf: line 1: unknown option 'buget'; did you mean 'budget'?

not ready"

"$ctl" keygen -o a >/dev/null
"$ctl" keygen -o b >/dev/null
cat >a.conf <<END
cluster = lab
node = a
budget = 1.5cpu
endowment = 0.5cpu
cgroup = /isobar-no-such-group/job
create-cgroup = yes
dry-run = yes
listen = tcp://127.0.0.1:0
secret-key = $work/a.key
state-directory = $work/state
run-directory = $work/run
control-group = isobar-no-such-group
neighbour b {
	address = tcp://localhost:7400
	public-key = $work/b.pub
	limit = 0.4cpu
}
training {
	coordinator = ipc://$work/nobody
	data = $work/no-data
	executable = $work/no-worker
}
END
run "$ctl" check -f a.conf
ends 1
keep "$machine"
out "ok       configuration      a.conf: node a of cluster lab
warning  configuration      line 14: neighbour b: 'tcp://localhost:7400' is looked up by name, which can block; a number cannot
ok       state directory    $work/state is not there yet and can be made
missing  journal            no state directory yet
ok       run directory      $work/run is not there yet and can be made
ok       keys               public key $(sed -n 's/^public-key //p' a.pub)
ok       permissions        configuration, keys, state and programs are nobody else's
ok       trust              each neighbour has a limit
ok       listen address     tcp://127.0.0.1:0 is free
ok       coordinator        ipc://$work/nobody listens
skipped  guard              none: a dry run limits nothing
missing  control group      there is no group 'isobar-no-such-group'
missing  worker             '$work/no-worker': No such file or directory

not ready"
err ''

# Nothing was made by looking.
command='look for what was made'
[ "$(ls)" = "a.conf
a.key
a.pub
b.key
b.pub
bad.conf
expected
stderr
stdout" ] || complain "$(ls)"

# How far neighbours are trusted.
sed 's/limit = 0.4cpu/limit = none/' a.conf >limit.conf
run "$ctl" check -f limit.conf
keep '/^[a-z]* *trust/!d'
out 'warning  trust              limit is none for b: a lie of theirs is believed'
port=7401
for n in c d e; do
	"$ctl" keygen -o $n >/dev/null
	echo "neighbour $n { address = tcp://192.0.2.2:$port public-key = $work/$n.pub }"
	port=$((port + 1))
done >>limit.conf
echo 'trading { limit = none }' >>limit.conf
run "$ctl" check -f limit.conf
keep '/^[a-z]* *trust/!d'
out 'warning  trust              limit is none for b, c, d, ...: a lie of theirs is believed'
sed '/limit = 0.4cpu/d' a.conf >limit.conf
run "$ctl" check -f limit.conf
ends 1
grep -q '^missing  configuration      limit.conf: line 14: neighbour b: limit is set neither' stdout ||
	complain "$(cat stdout)"
rm limit.conf c.key c.pub d.key d.pub e.key e.pub

# Where administrators are listened to, if anywhere.
{ echo "admin-listen = 'tcp://127.0.0.1:*'" && cat a.conf; } >admin.conf
echo "administrator alice { public-key = $work/b.pub }" >>admin.conf
run "$ctl" check -f admin.conf
ends 1
keep '/^[a-z]* *admin address/!d'
out 'ok       admin address      tcp://127.0.0.1:* is free'

{ echo 'sandbox = no' && cat a.conf; } >free.conf
run "$ctl" check -f free.conf
ends 1
keep '/^[a-z]* *sandbox/!d'
out 'warning  sandbox            sandbox = no: isobard keeps all its privileges'
rm free.conf

# A training by a plan: the file, the names in it, and where the worker listens.
"$ctl" keygen -o w >/dev/null
mkdir data
sed -e '/^neighbour/,$d' a.conf >plan-a.conf
cat >>plan-a.conf <<END
neighbour b {
	address = tcp://127.0.0.1:7400
	public-key = $work/b.pub
	limit = 0.4cpu
	worker-address = tcp://127.0.0.1:7401
	worker-public-key = $work/w.pub
}
training {
	plan = $work/plan.conf
	listen = tcp://127.83.12.9:7413
	worker-key = $work/w.key
	data = $work/data
	executable = $ctl
	user = nobody
}
END
plan_says() { # TEXT, of the row or of it and its remedy
	run "$ctl" check -f plan-a.conf
	ends 1
	keep '/^[a-z]* *\(worker address\|plan\|worker\)  /b;/remedy: \(the same\|a section\)/b;d'
	out "ok       worker address     tcp://127.83.12.9:7413 is free
ok       worker             $ctl
$1"
}
plan_says "missing  plan               open '$work/plan.conf': No such file or directory
                            remedy: the same file on all nodes, see isobar-plan.conf(5)"
printf 'name = p\nnode a { }\n' >plan.conf
plan_says "missing  plan               $work/plan.conf: line 2: one node alone: expected a section node NAME { } for each, two at least
                            remedy: the same file on all nodes, see isobar-plan.conf(5)"
printf 'name = p\nnode a { }\nnode c { }\n' >plan.conf
plan_says "missing  plan               '$work/plan.conf' has no node b
                            remedy: a section node NAME { } for it, in the file of all nodes"
printf 'name = p\nnode a { }\nnode b { }\n' >plan.conf
plan_says "ok       plan               $work/plan.conf: p, of 2 nodes"

# A copy of the agent's key, under another name.
cp w.key w.kept
cat a.key >w.key
run "$ctl" check -f plan-a.conf
ends 1
keep '/^[a-z]* *worker  /b;/remedy: a pair/b;d'
out "missing  worker             '$work/w.key' holds the agent's own secret-key
                            remedy: a pair of its own: isobarctl keygen"
cat w.kept >w.key

mkdir state
echo 'no journal at all' >state/journal
chmod 644 a.key
run "$ctl" check -f a.conf
ends 1
keep '/^missing *journal /,/remedy/!{/^missing *keys/,/remedy/!d}'
out "missing  journal            $(sed -n 's/^missing *journal *//p' stdout)
                            remedy: it is never replaced by a guess: see isobard(8), DIAGNOSTICS
missing  keys               $(sed -n 's/^missing *keys *//p' stdout)
                            remedy: chmod 600, and make a new pair if others could read it"
command='what is said of a damaged journal'
grep -q "journal.*$work/state/journal" stdout || complain 'does not name it'

# What another user may not look at is not missing: nobody is told to make it again.
other='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" -eq 0 ] && $other "$ctl" version >/dev/null 2>&1; then
	chmod 755 "$work"
	chmod 600 a.key
	chmod 700 state
	# shellcheck disable=SC2086 # a command
	run $other "$ctl" check -f a.conf
	ends 1
	keep '/^missing *\(journal\|keys\) /,/remedy/!d'
	out "missing  journal            open '$work/state': Permission denied
                            remedy: check as the user isobard runs as
missing  keys               open '$work/a.key': Permission denied
                            remedy: check as the user isobard runs as, its owner"
fi

# What others could change, by itself or by a directory on the way; a sticky one is fine.
mkdir open shared
chmod 777 open
chmod 1777 shared
sed "s|^state-directory.*|state-directory = $work/open/state|
	s|^run-directory.*|run-directory = $work/shared/run|" a.conf >weak.conf
mkdir open/state shared/run
chmod 666 weak.conf
run "$ctl" check -f weak.conf
ends 1
keep '/^[a-z]* *permissions /,/remedy/!d'
out "warning  permissions        '$work/weak.conf' can be changed by anybody
                            remedy: chown root, chmod go-w: who can change it commands this node
warning  permissions        '$work/open' can be changed by anybody
                            remedy: chown root, chmod go-w: who can change it commands this node"
if [ "$(id -u)" -eq 0 ]; then
	chmod 660 weak.conf
	chgrp 65534 weak.conf
	chmod 755 open
	chown 65534 open/state
	run "$ctl" check -f weak.conf
	keep '/^[a-z]* *permissions /!d'
	out "warning  permissions        '$work/weak.conf' can be changed by group 65534
warning  permissions        '$work/open/state' belongs to user 65534"
fi
rm -r open shared weak.conf

# Its own public key for a neighbour.
chmod 600 a.key
sed -i "s|public-key = .*|public-key = $work/a.pub|" a.conf
run "$ctl" check -f a.conf
keep '/^missing *keys/!d'
out "missing  keys               neighbour b is given this node's own public key"

# The guard, and what automatic burial would need.
sed '/^dry-run/d' a.conf >b.conf
cat >>b.conf <<END
guard {
	executable = $work/no-guard
	watchdog = $work/a.pub
}
END
run "$ctl" check -f b.conf
ends 1
keep '/^[a-z]* *\(guard\|watchdog\|automatic burial\)  /,/remedy/!d'
out "missing  guard              '$work/no-guard': No such file or directory
                            remedy: install it, set guard.executable, or lease = off; without it only the floor is enforced
warning  watchdog           $work/a.pub is no device
                            remedy: a device such as /dev/watchdog0
warning  automatic burial   not for this node: with agent and guard both dead nothing would lower the limit
                            remedy: see the rows above, or bury this node only when it is known to be off"
sed "s|$work/no-guard|$top_builddir/agent/isobar-guard|; s|$work/a.pub\$|/dev/null|" b.conf >c.conf
sed -i '/^neighbour/,/^}/s|public-key.*|public-key = b.pub|' c.conf
sed -i "s|= b.pub|= $work/b.pub|; s|^secret-key.*|secret-key = $work/a.key|" c.conf
run "$ctl" check -f c.conf
keep '/^[a-z]* *\(guard\|watchdog\|automatic burial\)  /!d'
out "ok       guard              $top_builddir/agent/isobar-guard
ok       watchdog           /dev/null, to be armed with 5 s
ok       automatic burial   safe, once the guard says that the watchdog is armed"
# What sysfs says of a device: a timeout that is as it is, and too long.
mkdir sysfs
echo 60 >sysfs/timeout
echo 0x8100 >sysfs/options
sed "s|/dev/null|$work/a.pub|" c.conf >d.conf
export LD_PRELOAD="$top_builddir/tests/fs/watchdog_device.so"
ISO_WATCHDOG="$work/a.pub" ISO_WATCHDOG_SYSFS="$work/sysfs" run "$ctl" check -f d.conf
unset LD_PRELOAD
keep '/^[a-z]* *watchdog  /!d'
out "warning  watchdog           $work/a.pub: no timeout of up to 5 s, which is what fits into the slack"
rm -r sysfs
# Nothing is said of a guard where there is none to be.
sed '/^guard/,/^}/d' c.conf >d.conf
echo 'trading { lease = off }' >>d.conf
run "$ctl" check -f d.conf
keep '/^[a-z]* *\(guard\|watchdog\|automatic burial\)  /!d'
out 'skipped  guard              none: trading.lease is off, and with it automatic burial'

run "$ctl" check --json -f a.conf
ends 1
err ''
conforms check
command='a field of the JSON'
for field in '"file": "a.conf"' '"ok": true' '"ready": false'; do
	grep -q -e "^  $field,\{0,1\}$" stdout || complain "$field is not there"
done

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobard before it runs: options, checking a configuration, making a journal.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
isobard=$top_builddir/agent/isobard
cd "$work"

help=$("$isobard" --help)
run "$isobard" -h
ends 0
out "$help"
err ''

# The libraries are those that are there; the rest is known.
run "$isobard" --version
ends 0
command="$command, its third line"
sed -n 3p stdout | grep -Eqx 'libraries: libzmq [0-9.]+ \(built with [0-9.]+\)(, libbpf [0-9]+\.[0-9]+ \(built with [0-9]+\.[0-9]+\))?' ||
	complain "$(cat stdout)"
keep 3d
has() {
	grep -q "^#define HAVE_$1 1" "$top_builddir/config.h" && echo "+$2" || echo "-$2"
}
out "isobard $(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$top_builddir/config.h")
features: $(has EBPF ebpf) $(has SECCOMP seccomp) $(has SYSTEMD systemd)"
err ''

run "$isobard" --frobnicate
ends 2
out ''
run "$isobard" now
ends 2
out ''
err "isobard: unexpected argument 'now'"

# Every bad file: the status for configurations, and what is wrong with it on one line.
for file in "$top_srcdir"/tests/unit/badconf/*.conf; do
	run "$isobard" -n -f "$file"
	ends 2
	out ''
	err "isobard: $file: $(sed -n '1s/^#: //p' "$file")"
done

run "$isobard" -n -f none.conf
ends 2
out ''
err "isobard: open 'none.conf': No such file or directory"

# What is allowed and unwise is said as well, and where.
cat >names.conf <<END
cluster = lab
node = a
budget = 1cpu
endowment = 1cpu
cgroup = /lab/a
listen = ipc:///run/a
neighbour b {
	address = tcp://localhost:7400
	public-key = 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'
	limit = 0.5cpu
}
secret-key = $work/a.key
END
run "$isobard" -n -f names.conf
ends 0
out ''
err "names.conf: line 8: neighbour b: 'tcp://localhost:7400' is looked up by name, which can\
 block; a number cannot"

run "$isobard" -n -f "$top_srcdir/etc/isobard.conf"
ends 0
out ''
err ''

cat >a.conf <<END
cluster = lab
node = a
budget = 1.5cpu
endowment = 1.5cpu
cgroup = /isobar-no-such-group/job
dry-run = yes
state-directory = $work/state
run-directory = $work/run
END

# A journal is made once, on demand, and never by a start, which says how.
run "$isobard" -f a.conf
ends 1
out ''
err "isobard: state directory $work/state: there is none: make it with --init if this\
 node is new; that of another one is on a disk that is not mounted"
mkdir -p state
run "$isobard" -f a.conf
ends 1
out ''
err "isobard: no journal '$work/state/journal': make one with --init if this node is new;\
 if it is not, its share is lost here; see CAVEATS in isobard(8)"
run "$isobard" --init -f a.conf
ends 0
out "isobard: node a of cluster lab: journal made in $work/state"
err ''
run "$isobard" --init -f a.conf
ends 1
out ''

# One that joins later has no endowment, and says what it waits for.
run "$isobard" --join -f a.conf
ends 2
out ''
err 'isobard: --join goes with --init'
sed -e '/^endowment/d' -e "s,^state-directory.*,state-directory = $work/joins," a.conf >joins.conf
run "$isobard" --init -f joins.conf
ends 1
out ''
err "isobard: endowment is not set: --init needs it; a node that joins a running cluster is made\
 with --init --join"
command='look for a state directory'
[ ! -e joins ] || complain 'it is there'
run "$isobard" --init --join -f joins.conf
ends 0
out "isobard: node a of cluster lab: journal made in $work/joins; it waits for isobarctl join"
err ''

# A wrong configuration makes nothing.
echo 'floor = 2cpu' >>a.conf
mv state/journal before
run "$isobard" --init -f a.conf
ends 2
out ''
err 'isobard: a.conf: line 3: budget: 1.5cpu is below the floor, 2cpu'
command='look for a journal'
[ ! -e state/journal ] || complain 'it is there'

# A log that nobody reads any more does not end it, and it still ends in order.
mv before state/journal
sed -i '$d' a.conf
echo 'create-cgroup = yes' >>a.conf
mkfifo log
"$isobard" -f a.conf 2>log &
pid=$!
servers="$servers $pid"
exec 5<log
line=
while [ "${line%ready}" = "$line" ] && read -r line <&5; do :; done
exec 5<&-
if [ "${line%ready}" = "$line" ]; then
	echo "not tested here: $line"
	exit 0
fi
kill "$pid"
actual=0
wait "$pid" || actual=$?
command="isobard, whose stderr was closed after: $line"
ends 0

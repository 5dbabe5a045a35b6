#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# status, top and ledger: with one node, with several, with none, with a dead one.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"

run_directory=$work/run
mkdir "$run_directory"

run "$ctl" --run-directory "$run_directory" status
ends 1
out ''
err "isobarctl: no isobard has a socket in $run_directory
start one: systemctl start isobard@NAME, or isobard -f FILE; what it lacks: isobarctl check"

run "$ctl" --run-directory "$run_directory" top
ends 1
out ''
err "isobarctl: no isobard has a socket in $run_directory
start one: systemctl start isobard@NAME, or isobard -f FILE; what it lacks: isobarctl check"

run "$ctl" --run-directory "$run_directory" -i a status
ends 1
out ''
err "isobarctl: connect to '$run_directory/a/control': No such file or directory
isobard is not running there; its job keeps the limit that the kernel has, and is lowered to the floor by the guard when the lease ends
start it: systemctl start isobard@a, or isobard -f FILE; why it has ended: journalctl -u isobard@a"

mkdir "$run_directory/a"
cp "$here/answers/a.json" "$run_directory/a/status.json"
serve "$run_directory/a"

run "$ctl" --run-directory "$run_directory" status
ends 0
out "$(cat "$here/answers/a.txt")"
err ''

# The same by name and by socket, and as JSON what the node says.
run "$ctl" status --run-directory "$run_directory" --instance a
ends 0
out "$(cat "$here/answers/a.txt")"
run "$ctl" status --socket "$run_directory/a/control" --json
ends 0
out "$(cat "$here/answers/a.json")"
err ''

# As the manual's examples do it.
for page in isobarctl isobar-guard isobar-coordinator; do
	sed -n '/^\.\\" status$/,/^\.Ed/{s/^# //;/^\./!p;}' "$top_srcdir/man/$page.8" |
		sed "s|/run/isobar/coordinator/[a-z]*/|$run_directory/a/|
			s|^isobarctl|$ctl --run-directory $run_directory|" >"$work/example"
	[ -s "$work/example" ] || complain "no example in $page(8)"
	run sh -e "$work/example"
	ends 0
	err ''
	case $page in
	isobarctl) out 300000 ;;
	isobar-guard) out "$(cat "$here/answers/a.txt")" ;;
	isobar-coordinator) out "$(cat "$here/answers/a.json")" ;;
	esac
done

# What changed the share, as a table, as JSON and in words.
cp "$here/answers/history.json" "$run_directory/a/history.json"
run "$ctl" --run-directory "$run_directory" history
ends 0
keep 's/^20[0-9-]* [0-9:]* /2026-11-29 22:15:04 /'
out 'TIME                    SHARE     MOVED  WITH               DEMAND      PRICE  ITS PRICE
2026-11-29 22:15:04    0.3040   -0.0040  b                  0.4500      -0.15      -0.14
2026-11-29 22:15:04    0.3240   +0.0200  operation 7        0.4500      -0.15          -
and 3 before them'
run "$ctl" --run-directory "$run_directory" history --json
ends 0
out "$(cat "$here/answers/history.json")"
conforms history
run "$ctl" --run-directory "$run_directory" explain
ends 0
keep '/^what moved/,$!d; s/20[0-9-]* [0-9:]* /2026-11-29 22:15:04  /'
out 'what moved it last:
  2026-11-29 22:15:04  gave 0.0040 CPU to b: price -0.15 here, -0.14 there, demand 0.4500; then it had 0.3040
  2026-11-29 22:15:04  got 0.0200 CPU from operation 7: price -0.15 here, - there, demand 0.4500; then it had 0.3240'
run "$ctl" --run-directory "$run_directory" explain --json
ends 0
[ "$(jq -c 'keys, .status.node, .history.forgotten' "$work/stdout" | tr '\n' ' ')" = \
	'["history","ok","status"] "a" 3 ' ] || complain "$(head -c 300 "$work/stdout")"
rm "$run_directory/a/history.json"

# A coordinator answers as well, and is no node full of dashes.
mkdir "$work/coordinator"
printf '{\n  "ok": true,\n  "run": "fashion"\n}\n' >"$work/coordinator/status.json"
serve "$work/coordinator"
run "$ctl" status --socket "$work/coordinator/control"
ends 0
out "$(cat "$work/coordinator/status.json")"
stop_last

run "$ctl" ledger --run-directory "$run_directory"
ends 1
out ''
err "isobarctl: '$run_directory/a/control': there is no ledger here"

cp "$here/ledgers/a.json" "$run_directory/a/ledger.json"
run "$ctl" ledger --run-directory "$run_directory"
ends 0
out "$(cat "$here/ledgers/a.json")"
err ''

mkdir "$run_directory/b"
sed 's/"node": "a"/"node": "b"/; s/"state": "ok"/"state": "isolated"/' \
	"$here/answers/a.json" >"$run_directory/b/status.json"
serve "$run_directory/b"

run "$ctl" --run-directory "$run_directory" status
ends 2
out ''
err "isobarctl: which one? choose with -i: a b"

table='NODE         STATE        SHARE    QUOTA   ON-CPU     WAIT   DEMAND   MARGINAL    TASKS UP/NB
a            ok          0.3000   0.3000   0.2980   0.1520   0.4500      -0.15      128   1/2
b            isolated    0.3000   0.3000   0.2980   0.1520   0.4500      -0.15      128   1/2'
sum='shares 0.600000 + in flight 0.008000 = 0.608000 CPU on 2 of 2 nodes'
run "$ctl" --run-directory "$run_directory" top
ends 0
out "$table
$sum"
err ''

run "$ctl" --run-directory "$run_directory" top --count 2 --interval 20ms
ends 0
out "$table
$sum

$table
$sum"

# A node that was killed leaves its socket: the others are still shown.
stop_last
run "$ctl" --run-directory "$run_directory" top -n 1
ends 0
out "NODE         STATE        SHARE    QUOTA   ON-CPU     WAIT   DEMAND   MARGINAL    TASKS UP/NB
a            ok          0.3000   0.3000   0.2980   0.1520   0.4500      -0.15      128   1/2
b            silent           -        -        -        -        -          -        -   0/0
shares 0.300000 + in flight 0.004000 = 0.304000 CPU on 1 of 2 nodes"
err ''

run "$ctl" --run-directory "$run_directory" status -i b
ends 1
out ''
err "isobarctl: connect to '$run_directory/b/control': Connection refused
isobard is not running there; its job keeps the limit that the kernel has, and is lowered to the floor by the guard when the lease ends
start it: systemctl start isobard@b, or isobard -f FILE; why it has ended: journalctl -u isobard@b"

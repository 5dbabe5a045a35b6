#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-exporter and isobarctl metrics: agents that answer, hang, are dead and come back.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
# shellcheck source=tests/cli/exporter_expect.sh
. "$top_srcdir/tests/cli/exporter_expect.sh"

# With nobody there it serves all the same.
begin --run-directory "$run_directory"
get /healthz
ends 0
out 'ok
200'
get /metrics
line 200
no_line '^isobar_up{'
grep '^# HELP' "$work/stdout" | awk '{ print $3 }' | sort >"$work/families"

# The manual lists the families that there are, with the words of their help.
sed -n 's/^\.It Li \(\(isobar\|process\)_[a-z_]*\).*/\1/p' "$top_srcdir/man/isobar-exporter.8" |
	sort >"$work/listed"
diff "$work/families" "$work/listed" || complain 'other metrics than in the manual'

# One that answers, one that was killed, one that hangs: each costs its own.
for name in a b dead hung; do
	mkdir "$run_directory/$name"
	sed "s/\"node\": \"a\"/\"node\": \"$name\"/" "$here/answers/a.json" >"$run_directory/$name/status.json"
done
serve "$run_directory/a"
serve "$run_directory/dead"
stop_last
serve "$run_directory/hung"
kill -STOP "$last_server"
hung=$last_server
sleep 1.1 # what it knows is a second old at most
get /metrics
kill -CONT "$hung"
line 200
line 'isobar_up{agent="a"} 1'
line 'isobar_up{agent="dead"} 0'
line 'isobar_up{agent="hung"} 0'
line 'isobar_info{cluster="lab",node="a",agent="a",cgroup="",unit="",version="0.1.0"} 1'
line 'isobar_share_cpus{cluster="lab",node="a"} 0.3'
line 'isobar_on_cpu_cpus{cluster="lab",node="a"} 0.298'
line 'isobar_state{cluster="lab",node="a",state="ok"} 1'
line 'isobar_neighbour_up{cluster="lab",node="a",neighbour="b"} 1'
line 'isobar_neighbour_in_flight_cpus{cluster="lab",node="a",neighbour="b"} 0.004'
line 'isobar_messages_dropped_total{cluster="lab",node="a",reason="busy"} 2'
no_line 'node="dead"'
log_has "agent a answers"
log_has "agent dead does not answer at '$run_directory/dead/control': Connection refused"
log_has "agent hung does not answer at '$run_directory/hung/control': no answer in time"
sed '$d' "$work/stdout" >"$work/metrics"
if command -v promtool >/dev/null; then
	run sh -c 'promtool check metrics <"$1"' sh "$work/metrics"
	ends 0
	out ''
fi

# As the manual looks at it.
sed -n '/^\.\\" curl$/,/^\.Ed/s/^curl/curl -sf/p' "$top_srcdir/man/isobar-exporter.8" |
	sed "s|http://127.0.0.1:7700|$url|" >"$work/example"
[ -s "$work/example" ] || complain 'no example in isobar-exporter(8)'
run sh -e "$work/example"
ends 0
line 'isobar_up{agent="a"} 1'

# Who comes and goes is seen, and said once.
serve "$run_directory/b"
kill -TERM "$hung"
wait "$hung" 2>/dev/null || true
rm -f "$run_directory/hung/control"
sleep 1.1
get /metrics
line 'isobar_up{agent="b"} 1'
no_line 'agent="hung"'
log_has 'agent hung has ended: its socket is gone'
[ "$(grep -c 'agent dead' "$work/log")" = 1 ] || complain 'said more than once'

# isobarctl writes the same, without what is the exporter's own.
run "$ctl" --run-directory "$run_directory" metrics
ends 0
err "isobarctl: '$run_directory/dead/control': Connection refused"
sed '/isobar_exporter\|isobar_audit\|process_/d' "$work/metrics" | grep '^# ' >"$work/heads"
grep '^# ' "$work/stdout" | diff "$work/heads" - || complain 'other families'
line 'isobar_share_cpus{cluster="lab",node="b"} 0.3'
run "$ctl" --run-directory "$run_directory" -i dead metrics
ends 1
line 'isobar_up{agent="dead"} 0'

# Nothing but reading, and for nobody from elsewhere.
get /nowhere
out 'not here; there are /, /metrics and /healthz
404'
get /metrics -X POST -d share=1
out 'only GET and HEAD: nothing can be changed here
405'
get /metrics -I
line 200
get /healthz -H 'Host: rebound.example'
line 403
# Loopback by name or in figures, and nothing that only looks like it.
for host in "LOCALHOST:${url##*:}" 127.0.0.1 127.255.0.9:1 '[::1]' '[::1]:7700' '[::ffff:127.0.0.1]'; do
	get /healthz -H "Host: $host"
	line 200
done
for host in localhost.example 127.0.0.1.example 128.0.0.1 192.0.2.7 ::1 '[::2]' '[::1' '[::1]x' \
	'[127.0.0.1]' '[::ffff:128.0.0.1]'; do
	get /healthz -H "Host: $host"
	line 403
done
for size in 8000 20000 100000; do
	printf 'header = "X: %0*d"\n' "$size" 0 >"$work/curlrc"
	get /healthz -K "$work/curlrc"
	case $size in
	8000) line 200 ;;
	*) no_line '^200' ;;
	esac
done
get /healthz
line 200

# As somebody without any privilege.
if [ "$(id -u)" = 0 ]; then
	run sed -n 's/^CapBnd:\t*//p; s/^NoNewPrivs:\t*//p; s/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$exporter_pid/status"
	out "$(id -u nobody)
0000000000000000
1"
	if grep -q '^#define HAVE_SECCOMP 1' "$top_builddir/config.h"; then
		run sed -n 's/^Seccomp:\t*//p' "/proc/$exporter_pid/status"
		out 2
		! grep -q sandbox: "$work/log" || complain 'no sandbox'
	fi
fi
end_exporter

# All of 127.0.0.0/8 is loopback, whichever way it is written.
listens='127.0.0.2:0'
[ ! -e /proc/net/if_inet6 ] || listens="$listens [::ffff:127.0.0.2]:0"
for listen in $listens; do
	begin --run-directory "$run_directory" --listen "$listen"
	get /healthz -g
	ends 0
	line 200
	get /healthz -g -H 'Host: rebound.example'
	line 403
	end_exporter
done

# What it is told wrongly.
run "$exporter" --user nobody --listen localhost
ends 2
err "isobar-exporter: 'localhost': no address with a port, such as 127.0.0.1:7700 or [::1]:7700"
run "$exporter" --timeout 1
ends 2
err "isobar-exporter: --timeout: '1' is no time from 10ms to 10s"
run "$exporter" now
ends 2
if [ "$(id -u)" = 0 ]; then
	run "$exporter" --user root
	ends 1
	err "isobar-exporter: --user: 'root' is root: it must not be"
	run "$exporter" --user no-such-user
	ends 1
	err "isobar-exporter: --user: there is no user 'no-such-user' on this host to become; make it, or name another"
fi

# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034,SC2154
# For the tests of isobar-exporter, after expect.sh: one at a free port, and its answers.

exporter=$top_builddir/agent/isobar-exporter
[ -x "$exporter" ] || { echo 'built without isobar-exporter'; exit 77; }
command -v curl >/dev/null || { echo 'no curl'; exit 77; }
run_directory=$work/run
mkdir "$run_directory"
# It becomes another user, who must get there.
chmod 0755 "$work"

# begin OPTION... - the exporter, at a free port unless they say where; sets $url.
begin() {
	: >"$work/log" # not that of the one before
	"$exporter" --listen 127.0.0.1:0 --user nobody "$@" 2>"$work/log" &
	servers="$servers $!"
	exporter_pid=$!
	tries=0
	until url=$(sed -n 's,^listening at \(http://[][0-9a-f.:]*\)/,\1,p' "$work/log") && [ -n "$url" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || { cat "$work/log"; exit 1; }
		sleep 0.05
	done
}
# get PATH [CURL-OPTION...] - the answer, and the status on a line of its own.
get() {
	path=$1
	shift
	run curl -s -m 20 -w '%{http_code}\n' "$@" "$url$path"
}
has() {
	grep -qF -e "$1" "$work/stdout" || complain "no '$1'"
}
# serve_cluster - all nodes of the cluster lab: a, b and c.
serve_cluster() {
	for name in a b c; do
		mkdir "$run_directory/$name"
		sed "s/\"node\": \"a\"/\"node\": \"$name\"/" "$here/answers/a.json" \
			>"$run_directory/$name/status.json"
		cp "$here/ledgers/$name.json" "$run_directory/$name/ledger.json"
		chmod u+w "$run_directory/$name/ledger.json"
		serve "$run_directory/$name"
	done
}
log_has() {
	grep -qF -e "$1" "$work/log" || complain "no '$1' in the log: $(cat "$work/log")"
}
line() {
	grep -qxF -e "$1" "$work/stdout" || complain "no line '$1'"
}
no_line() {
	! grep -q -e "$1" "$work/stdout" || complain "a line with '$1'"
}
# end_exporter - in good order.
end_exporter() {
	kill -TERM "$exporter_pid"
	run wait "$exporter_pid"
	ends 0
}

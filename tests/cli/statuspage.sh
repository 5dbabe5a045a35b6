#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The status page of isobar-exporter: what the audit says, and the page in a real browser.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
# shellcheck source=tests/cli/exporter_expect.sh
. "$top_srcdir/tests/cli/exporter_expect.sh"
for name in a b c; do
	mkdir "$run_directory/$name"
	sed "s/\"node\": \"a\"/\"node\": \"$name\"/" "$here/answers/a.json" >"$run_directory/$name/status.json"
	cp "$here/ledgers/$name.json" "$run_directory/$name/ledger.json"
	chmod u+w "$run_directory/$name/ledger.json"
	serve "$run_directory/$name"
done
has() {
	grep -qF -e "$1" "$work/stdout" || complain "no '$1'"
}

# All nodes of the cluster are here.
begin --run-directory "$run_directory"
get /
line 200
has 'audit: proven'
has 'shares 1.494500 + in flight 0.005500 = 1.500000 of 1.500000 CPU; enforced 1.494500; 3 nodes'
get /metrics
line 'isobar_audit{cluster="lab",result="proven"} 1'
line 'isobar_audit{cluster="lab",result="broken"} 0'
line 'isobar_audit_shares_cpus{cluster="lab"} 1.4945'
line 'isobar_audit_in_flight_cpus{cluster="lab"} 0.0055'
get / -I
line 200
for header in "Content-Security-Policy: default-src 'none'; style-src 'self'" \
	'X-Content-Type-Options: nosniff' 'Content-Type: text/html; charset=utf-8'; do
	has "$header"
done

# In a browser: the numbers are there, the style is taken, nothing else is asked for.
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -n "$browser" ]; then
	run timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
		--user-data-dir="$work/browser" --virtual-time-budget=2000 --window-size=1100,900 \
		--screenshot="$work/page.png" --dump-dom --enable-logging=stderr --log-level=0 "$url/"
	ends 0
	for text in 'cluster lab' '<dd>0.300</dd>' '<dd>0.450</dd>' 'audit: proven' '0.004000' \
		'<title>b: 0.300 CPU</title>' '</footer>'; do
		has "$text"
	done
	! grep -iE 'refused to|content security policy' "$work/stderr" || complain 'the browser refuses something'
	# A page without its style is white but for the text: this one's ground is another.
	[ "$(head -c 8 "$work/page.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || complain 'no picture'
else
	echo 'no chromium: the page was in no browser' >&2
fi
end_exporter

# One that is not asked: nothing is wrong with the others.
begin --socket "$run_directory/a/control" --socket "$run_directory/b/control"
get /
has 'audit: partial'
get /metrics
line 'isobar_audit{cluster="lab",result="partial"} 1'
end_exporter

# One that owns more than its counters give.
sed -i 's/"share_ucpu": 320000/"share_ucpu": 420000/' "$run_directory/a/ledger.json"
begin --run-directory "$run_directory"
get /
has 'audit: not proven'
has 'a states a share that its counters do not give'
get /metrics
line 'isobar_audit{cluster="lab",result="broken"} 1'
end_exporter

# No ledger at all: nothing is claimed.
rm "$run_directory"/?/ledger.json
begin --run-directory "$run_directory"
get /
line 200
! grep -q 'audit:' "$work/stdout" || complain 'an audit of nothing'
end_exporter

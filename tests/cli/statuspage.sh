#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The status page of isobar-exporter: what the audit says.  browser.sh looks at it.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
# shellcheck source=tests/cli/exporter_expect.sh
. "$top_srcdir/tests/cli/exporter_expect.sh"
serve_cluster

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
end_exporter

# One that is not asked: nothing is wrong with the others.
begin --socket "$run_directory/a/control" --socket "$run_directory/b/control"
get /
has 'audit: partial'
get /metrics
line 'isobar_audit{cluster="lab",result="partial"} 1'
end_exporter

# The budget grows or shrinks, and not all have been told yet: nothing exceeds the greatest.
told() { # NODE UCPU
	sed -i "s/\"budget_ucpu\": [0-9]*/\"budget_ucpu\": $2/" "$run_directory/$1/ledger.json"
}
told c 1700000
begin --run-directory "$run_directory"
get /
has 'audit: budget change under way'
has 'budget change under way: a was told 1.500000 CPU, c 1.700000'
get /metrics
line 'isobar_audit{cluster="lab",result="changing"} 1'
line 'isobar_audit{cluster="lab",result="broken"} 0'
line 'isobar_audit_budget_cpus{cluster="lab"} 1.7'
end_exporter
# More than even that is not what a change looks like.
told a 1300000
told b 1300000
told c 1400000
begin --run-directory "$run_directory"
get /
has 'audit: not proven'
get /metrics
line 'isobar_audit{cluster="lab",result="broken"} 1'
line 'isobar_audit{cluster="lab",result="changing"} 0'
end_exporter
for node in a b c; do
	told $node 1500000
done

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

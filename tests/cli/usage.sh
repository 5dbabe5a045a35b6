#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What isobarctl does with what it is told wrongly.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"

help=$("$ctl" help)

run "$ctl"
ends 2
out ''
err "$help"

for way in help --help -h; do
	run "$ctl" $way
	ends 0
	out "$help"
	err ''
done

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$top_builddir/config.h")
for way in version --version -V; do
	run "$ctl" $way
	ends 0
	out "isobarctl $version"
	err ''
done

# What could not be said is no success.
run sh -c '"$0" version >/dev/full' "$ctl"
ends 1
err 'isobarctl: standard output: No space left on device'

run "$ctl" version --json
ends 0
out "{
  \"ok\": true,
  \"version\": \"$version\"
}"
conforms version

# Whatever takes --json is in the schema, and nothing besides; --fenced is for three of them.
schema=$top_srcdir/etc/schema/isobarctl.json
for name in $(echo "$help" | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
	run "$ctl" "$name" --json --fenced --interval 1s --file x
	ends 2
	has_json=yes
	! grep -q 'takes no --json' "$work/stderr" || has_json=no
	in_schema=no
	! jq -r '."$defs"[].description' "$schema" | grep '^isobarctl ' | grep -qw -e "$name" || in_schema=yes
	[ "$has_json" = "$in_schema" ] || complain "--json of $name: $has_json, in the schema: $in_schema"
done

run "$ctl" statsu
ends 2
out ''
err "isobarctl: no command 'statsu'; did you mean 'status'?"

run "$ctl" dance
ends 2
out ''
err "isobarctl: no command 'dance'; see 'isobarctl help'"

run "$ctl" status now
ends 2
out ''
err "isobarctl: status takes no argument 'now'"

run "$ctl" status --count 3
ends 2
out ''
err "isobarctl: status takes no --count"

run "$ctl" keygen -i a
ends 2
out ''
err "isobarctl: keygen takes no --instance"

run "$ctl" --frobnicate status
ends 2
out ''
err "isobarctl: unrecognized option '--frobnicate'"

run "$ctl" top -n 0
ends 2
out ''
err "isobarctl: --count: '0' is no number above 0"

run "$ctl" top --interval 2
ends 2
out ''
err "isobarctl: --interval: '2' is no time of at least 10ms, such as 2s"

run "$ctl" status --socket "/$(printf '%0120d' 0)"
ends 2
out ''
err "isobarctl: the socket's path is longer than 107 characters"

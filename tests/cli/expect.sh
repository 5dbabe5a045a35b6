# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh disable=SC2034,SC2154
# For the scripts beside this one: run a program and compare its exit status,
# stdout and stderr whole.  The work directory is made here and goes with the script.

ctl=$top_builddir/agent/isobarctl
here=$top_srcdir/tests/cli
work=$(mktemp -d /tmp/isobar-cli.XXXXXX)
servers=
failures=0

finish() {
	status=$?
	for pid in $servers; do
		kill "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
	[ "$status" -eq 0 ] || exit "$status"
	[ "$failures" -eq 0 ] || exit 1
}
trap finish EXIT
trap 'exit 1' INT TERM

# run COMMAND... - keeps what it says and how it ends.
run() {
	command="$*"
	actual=0
	"$@" >"$work/stdout" 2>"$work/stderr" || actual=$?
}

complain() {
	echo "after: $command"
	echo "  $1"
	failures=$((failures + 1))
}

# ends STATUS
ends() {
	[ "$actual" -eq "$1" ] || complain "exit status $actual, expected $1"
}

# says FILE TEXT - whole, with the newline at the end.
says() {
	printf '%s' "$2" >"$work/expected"
	[ -z "$2" ] || echo >>"$work/expected"
	cmp -s "$work/$1" "$work/expected" || {
		complain "another $1:"
		diff "$work/expected" "$work/$1" | sed 's/^/    /' || true
	}
}

# out TEXT, err TEXT
out() {
	says stdout "$1"
}

err() {
	says stderr "$1"
}

# keep SED-SCRIPT - only a part of stdout is looked at from here on.
keep() {
	sed "$1" "$work/stdout" >"$work/kept"
	mv "$work/kept" "$work/stdout"
}

# conforms COMMAND - stdout is what the published schema says of it, and has nothing besides.
conforms() {
	[ -x /usr/bin/jsonschema ] || return 0
	jq --arg command "$1" '."$ref" = "#/$defs/" + $command | del(.anyOf) |
		walk(if type == "object" and has("properties") and .type != null
			then .additionalProperties //= false else . end)' \
		"$top_srcdir/etc/schema/isobarctl.json" >"$work/schema.json"
	/usr/bin/jsonschema --error-format '{error.path}: {error.message}' -i "$work/stdout" "$work/schema.json" >"$work/schema.said" 2>&1 ||
		complain "not what the schema of $1 says: $(head -c 2000 "$work/schema.said")"
}

# serve DIRECTORY - a node that answers from the files in it.
serve() {
	"$top_builddir/tests/cli/answer" "$1" &
	servers="$servers $!"
	last_server=$!
	tries=0
	while [ ! -S "$1/control" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || {
			echo "no answer from $1"
			exit 1
		}
		sleep 0.05
	done
}

# stop_last - ends the last server and waits for it.
stop_last() {
	kill -KILL "$last_server"
	wait "$last_server" 2>/dev/null || true
}

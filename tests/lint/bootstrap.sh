#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ./bootstrap check and sanitize are green only if tests have passed and none has failed:
# the script itself, with a make, an autoreconf and a configure that do nothing.
# shellcheck disable=SC2154 # top_srcdir comes from the Makefile
set -eu
work=$(mktemp -d /tmp/isobar-bootstrap.XXXXXX)
trap 'rm -rf "$work"' EXIT
failures=0

mkdir -p "$work/bin" "$work/tests/vm" "$work/build/tests" "$work/build-sanitize/tests"
cp "$top_srcdir/bootstrap" "$work/bootstrap"
program() { # NAME; what it does comes from standard input
	{ echo '#!/bin/sh'; cat; } >"$work/$1"
	chmod +x "$work/$1"
}
echo 'echo install ok installed' | program bin/dpkg-query
true | program bin/autoreconf
true | program configure
true | program tests/vm/fetch.sh
true | program tests/vm/matrix.tap
# As the real one: a list that cannot be printed is a failure, one without a test is none.
program bin/make <<'END'
for word; do
	case $word in
	print-*-tests)
		[ "$word" != "print-$FAILING-tests" ] || exit 2
		echo "tests/$word"
		exit
		;;
	TESTS=?*) echo ":test-result: $RESULT a test" >"$directory/${word#TESTS=}.trs" ;;
	esac
	[ "$before" != -C ] || directory=$word
	before=$word
done
END

outcome() { # green | red, COMMAND FAILING-LIST RESULT
	expected=$1
	shift
	is=green
	rm -f "$work/said"
	FAILING=$2 RESULT=$3 PATH="$work/bin:$PATH" sh "$work/bootstrap" "$1" >"$work/said" 2>&1 || is=red
	[ "$is" != "$expected" ] || return 0
	echo "bootstrap $*: $is, expected $expected"
	cat "$work/said"
	failures=$((failures + 1))
}

outcome green check none PASS
grep -q -x '4 passed, 0 failed, 0 skipped' "$work/said" || {
	echo 'not every list was run:'
	cat "$work/said"
	failures=$((failures + 1))
}
# Where .ci/run takes it from, whatever the environment says.
rm "$work/build/results"
ISO_BUILDDIR=elsewhere outcome green check none PASS
[ -f "$work/build/results" ] || {
	echo 'no results in build'
	failures=$((failures + 1))
}
outcome red check none FAIL
outcome red check none SKIP
for list in calm waiting alone vm; do
	outcome red check $list PASS
done
outcome green sanitize none PASS
outcome red sanitize pure PASS
outcome red sanitize none SKIP
[ $failures -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the README tells a newcomer to type must exist, and it stays one screen.
# shellcheck disable=SC2013,SC2016 # words are meant, and so are backquotes
# shellcheck disable=SC2154 # from the Makefile
cd "$top_srcdir" || exit 99
status=0
complain() {
	echo "README.md: $*"
	status=1
}
for command in $(grep -o '\./bootstrap [a-z]*' README.md | awk '{ print $2 }' | sort -u); do
	sh ./bootstrap help | grep -q "^\./bootstrap $command " || complain "bootstrap has no '$command'"
done
for command in $(grep -o '^    isobarctl [a-z]*' README.md | awk '{ print $2 }' | sort -u); do
	"$top_builddir/agent/isobarctl" help | grep -q "^  *$command " || complain "isobarctl has no '$command'"
done
for path in $(grep -o '`[a-z]*/[a-z./]*`' README.md | tr -d '`'); do
	[ -e "$path" ] || complain "there is no $path"
done
for folder in $(sed -n 's/^| `tests\/` | \([a-z, ]*\) |$/\1/p' README.md | tr -d ,); do
	[ -d "tests/$folder" ] || complain "there is no tests/$folder"
done
[ "$(wc -l <README.md)" -le 80 ] || complain 'more than one screen'
exit $status

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What --help says and what the manual says: the same options, in the same
# pairs, and for isobarctl the same commands, each with an example.
status=0
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

compare() { # WHAT: $scratch/help and $scratch/page, one entry a line
	sort -u "$scratch/help" >"$scratch/help.sorted"
	sort -u "$scratch/page" >"$scratch/page.sorted"
	diff "$scratch/help.sorted" "$scratch/page.sorted" >"$scratch/diff" && return
	echo "$1: < only in --help, > only in the page"
	grep '^[<>]' "$scratch/diff"
	status=1
}

# "-f, --file" and "--file" alone, one a line.
help_options() {
	grep -oE '(^|[[:space:]])(-[A-Za-z], )?--[a-z][a-z-]*' | sed 's/^[[:space:]]*//'
}

# The same from ".It Fl f , Fl -file Ar file".
page_options() {
	sed -n 's/^\.It Fl /Fl /p' "$1" |
		grep -oE '^Fl [A-Za-z-][a-z-]*( , Fl -[a-z-]*)?' | sed 's/Fl /-/g; s/ , /, /'
}

# shellcheck disable=SC2154 # programs comes from the Makefile
for binary in $programs; do
	name=${binary##*/}
	page=$top_srcdir/man/$name.8
	[ -f "$page" ] || page=$top_srcdir/man/$name.1
	[ -f "$page" ] || { echo "$name: no manual page man/$name.8 or .1"; status=1; continue; }
	"$top_builddir/$binary" --help >"$scratch/text" 2>&1 || { echo "$name --help fails"; status=1; }
	sed '/^usage:/,/^$/d' "$scratch/text" | help_options >"$scratch/help"
	page_options "$page" >"$scratch/page"
	compare "$name: options"
	# A synopsis must not name what the list lacks.
	sed '/^usage:/,/^$/!d' "$scratch/text" | grep -oE -- '--[a-z][a-z-]*' >"$scratch/used" || true
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/.*Fl -\([a-z-]*\).*/--\1/p' "$page" >>"$scratch/used"
	while read -r option; do
		grep -q -e "$option\$" "$scratch/help" || { echo "$name: $option is used and not listed"; status=1; }
	done <"$scratch/used"
	grep -q '^commands:' "$scratch/text" || continue
	sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$scratch/text" >"$scratch/help"
	sed -n '/^\.Ss Commands/,/^\.Sh/s/^\.It Ic \([a-z-]*\).*/\1/p' "$page" >"$scratch/page"
	compare "$name: commands"
	while read -r command; do
		grep -q "^\.Dl $name $command" "$page" || { echo "$name $command: no example"; status=1; }
	done <"$scratch/page"
done

# And nothing is described that is not built.
for page in "$top_srcdir"/man/*.[18]; do
	name=${page##*/}
	# shellcheck disable=SC2154 # left_out comes from the Makefile: what configure was told to
	case " $programs $left_out " in
	*"/${name%.[18]} "*) ;;
	*) echo "man/$name: there is no such program"; status=1 ;;
	esac
done
exit $status

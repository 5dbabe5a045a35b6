#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each page is installed, and names the paths of this build: those are what an
# operator types.
root=$(mktemp -d) || exit 99
trap 'rm -rf "$root"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck disable=SC2154 # from the Makefile
make -s -C "$top_builddir" install-data DESTDIR="$root" >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
sysconfdir=$(sed -n 's/^sysconfdir = //p' "$top_builddir/Makefile")
prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
case $sysconfdir in
"\${prefix}"*) sysconfdir=$prefix${sysconfdir#?\{prefix\}} ;;
esac
status=0
# shellcheck disable=SC2154 # from the Makefile
for page in "$top_srcdir"/man/*.[13578]; do
	name=${page##*/}
	# shellcheck disable=SC2154 # left_out comes from the Makefile: what configure was told to
	case " $left_out " in
	*"/${name%.[13578]} "*) continue ;;
	esac
	installed=$(find "$root" -path "*/man${name##*.}/$name")
	[ -f "$installed" ] || { echo "man/$name is not installed: add it to man/local.mk"; status=1; continue; }
	[ "$(grep -c -F "$sysconfdir/isobar" "$installed")" = "$(grep -c /etc/isobar "$page")" ] ||
		{ echo "man/$name: installed with other paths than $sysconfdir/isobar"; status=1; }
	[ "$(find "$installed" -perm 644)" ] || { echo "man/$name: not readable by all"; status=1; }
done
exit $status

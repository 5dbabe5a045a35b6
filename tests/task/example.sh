#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The example of isobar-task(3), built as the page says against what is installed.
set -eu
root=$(mktemp -d) || exit 99
trap 'rm -rf "$root"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck disable=SC2154 # from the Makefile
make -s -C "$top_builddir" install-pkgincludeHEADERS DESTDIR="$root" >"$root/log" 2>&1 ||
	{ cat "$root/log"; exit 1; }
include=$(dirname "$(find "$root" -name task.h | head -n 1)")
[ "${include##*/}" = isobar ] || { echo "isobar/task.h is not installed"; exit 1; }

# shellcheck disable=SC2154 # from the Makefile
"$top_srcdir/tests/task/ridge.sh" "$top_srcdir" "$root" "-I${include%/isobar}" || exit 1

# As others compile it: a C of 1999 without extensions, and C++.
warnings="-Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2086 # to be split
${CC:-cc} -std=c99 $warnings "-I${include%/isobar}" -fsyntax-only "$root/ridge.c" || exit 1
printf '#include <isobar/task.h>\n' >"$root/plus.cc"
if command -v "${CXX:-c++}" >/dev/null; then
	# shellcheck disable=SC2086 # to be split
	"${CXX:-c++}" $warnings "-I${include%/isobar}" -fsyntax-only "$root/plus.cc" || exit 1
fi
nm -D --defined-only "$root/ridge.so" | grep -q ' isobar_task$' || { echo "ridge.so: no isobar_task"; exit 1; }
exit 0

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every committed input must still pass its fuzz target.
set -eu
for dir in "$top_srcdir"/tests/fuzz/corpus/*/; do
	[ -d "$dir" ] || exit 77
	"$top_builddir/tests/fuzz/$(basename "$dir")" "$dir"*
done

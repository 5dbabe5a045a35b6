#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lib/ may call nothing but these: the linker's word, not a promise.
[ "${HARDENED:-yes}" = yes ] || exit 77
allowed='^(iso_.*|mem(set|cpy|move|cmp)|str(cmp|len)|__mem(set|cpy|move)_chk|__assert_fail|__stack_chk_fail|__cpu_(features2|model|indicator_init)|_GLOBAL_OFFSET_TABLE_|cblas_.*|(sqrt|fabs|fmin|fmax|floor|ceil|round|lround|llround|nearbyint|log|log1p|exp|expm1|log2|exp2|pow|logf|expf|cos|sin|sincos))$'
bad=$(nm -u "$top_builddir/lib/libisobar.a" | awk '$1 == "U" { print $2 }' | sort -u | grep -vE "$allowed")
[ -z "$bad" ] || { echo "lib/ calls: $bad"; exit 1; }

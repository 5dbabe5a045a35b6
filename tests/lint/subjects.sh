#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is not on main yet can still be named better: subjects of commits have at most 72
# characters, "module: what it does now".
# shellcheck disable=SC2154 # from the Makefile
cd "$top_srcdir" || exit 99
main=$(git rev-parse -q --verify refs/remotes/origin/main 2>/dev/null ||
	git rev-parse -q --verify refs/heads/main 2>/dev/null) || {
	echo 'no repository with a branch main'
	exit 77
}
git log --no-merges --format='%h %s' "$main..HEAD" | awk '{
	name = $1
	sub(/^[^ ]* /, "")
	if (length() > 72 || !/^[^ ].*: [^ ]/) {
		print name ": subject of " length() " characters: " $0
		bad = 1
	}
} END { exit bad }'

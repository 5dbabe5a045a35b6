#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# ridge.sh SOURCE FOLDER FLAGS...: takes the example out of isobar-task(3) and builds
# FOLDER/ridge.so from it with the command that the page gives.
set -eu
page=$1/man/isobar-task.3 folder=$2
shift 2
umask 022
awk '
	/^\.\\" code: ridge\.c/ { found = 1 }
	/^\.Ed/ { inside = 0 }
	inside { gsub(/\\e/, "\\"); print }
	found && /^\.Bd/ { inside = 1; found = 0 }' "$page" >"$folder/ridge.c"
[ -s "$folder/ridge.c" ] || { echo "$page: no code of ridge.c"; exit 1; }
command=$(sed -n 's/^\.Dl \(cc .*\)/\1/p' "$page")
case $command in
"cc "*) ;;
*) echo "$page: no command to build it"; exit 1 ;;
esac
cd "$folder"
# shellcheck disable=SC2086 # to be split
${CC:-cc} ${command#cc } "$@"

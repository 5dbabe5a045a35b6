#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Keys are made, kept private and never overwritten.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"

run "$ctl" keygen --output node
ends 0
err ''
public=$(sed -n 's/^public-key //p' node.pub)
[ "${#public}" -eq 40 ] || complain "node.pub holds no key: '$public'"
out "secret-key = node.key
# for the neighbours' configuration:
public-key = '$public'"
[ "$(stat -c %a node.key)" = 600 ] || complain "node.key has mode $(stat -c %a node.key)"

cp node.key before
run "$ctl" keygen -o node
ends 1
out ''
err "isobarctl: create 'node.key': File exists"
cmp -s node.key before || complain 'the key was overwritten'

run "$ctl" keygen -o ./nowhere/node
ends 1
out ''
err "isobarctl: create './nowhere/node.key': No such file or directory"

# To the terminal, as a key file would hold it; another pair every time.
run "$ctl" keygen
ends 0
err ''
sed 's/ .*//' stdout >names
[ "$(cat names)" = 'public-key
secret-key' ] || complain 'other lines'
cp stdout first
run "$ctl" keygen
cmp -s stdout first && complain 'the same keys again'

run "$ctl" keygen --json
conforms keygen
run "$ctl" keygen --json -o json
ends 0
conforms keygen
out "{
  \"ok\": true,
  \"public_key\": \"$(sed -n 's/^public-key //p' json.pub)\",
  \"public_key_file\": \"json.pub\",
  \"secret_key_file\": \"json.key\"
}"

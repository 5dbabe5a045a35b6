#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isobar-worker with a plan, before it learns anything: what it is told wrongly, and what
# files are wrong.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
worker=$top_builddir/agent/isobar-worker

"$ctl" keygen -o a >/dev/null
"$ctl" keygen -o b >/dev/null
awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 3 ? 1 : -1) " 1:" i % 7 " 2:" i % 5 }' >data.svm
printf 'name = p\nnode a { }\nnode b { }\nmodel = logistic\nevaluate-every = off\n' >plan.conf

# with OPTION... - a worker that is told all that is needed, but for these.
with() {
	run timeout 60 "$worker" --plan plan.conf --listen tcp://127.83.12.9:7413 --key a.key --name a \
		--data data.svm,holdout=0 --threads 1 "$@" 3>&-
}
b=tcp://127.0.0.1:9,$work/b.pub

# One way of training, or the other.
for option in '--coordinator tcp://127.0.0.1:9' '--coordinator-key a.pub' '--task x.so' --evaluate; do
	# shellcheck disable=SC2086 # an option and its value
	with --neighbour "b,$b" $option
	ends 2
	err '--plan, --listen, --neighbour and --state-directory go with neither --coordinator nor --task'
done
for neighbour in b 'b,' "b,$work/b.pub" ",$b" 'b,tcp://127.0.0.1:9,'; do
	with --neighbour "$neighbour"
	ends 2
	err "--neighbour $neighbour: expected NAME,tcp://ADDRESS:PORT,KEY|FILE"
done
with --neighbour "a,$b"
ends 2
err "--neighbour a: this is the worker's own --name"
with --neighbour "b,$b" --neighbour "b,$b"
ends 2
err '--neighbour b: given twice'
mkdir here
for folder in here ./here ''; do
	with --neighbour "b,$b" --state-directory "$folder"
	ends 2
	err "--state-directory $folder: expected an absolute path"
done
with
ends 2
grep -q '^usage: isobar-worker' stderr || complain 'no usage'

# last TEXT - the last line says why it does not start.
last() {
	ends 1
	command="$command (last line)"
	tail -n 1 stderr >last.line
	printf 'isobar-worker: %s\n' "$1" >want
	cmp -s last.line want || complain "$(cat last.line), expected: $(cat want)"
}
with --neighbour "b,tcp://localhost:9,$work/b.pub"
last "neighbour b: 'tcp://localhost:9': the address must be numeric"
with --neighbour "b,tcp://127.0.0.1:9,$work/none.pub"
last "neighbour b: open '$work/none.pub': No such file or directory"
with --neighbour "b,$b" --plan none.conf
last "open 'none.conf': No such file or directory"
with --neighbour "b,$b" --name c
last "plan 'plan.conf' has no node c"
with --neighbour "c,$b"
last "plan 'plan.conf' has no node c, a neighbour"
printf 'name = p\nnode a { }\nnode b { size = 1000000 }\nmodel = logistic\n' >unfair.conf
with --neighbour "b,$b" --plan unfair.conf
last "plan 'unfair.conf': 40 samples cannot be split among 2 nodes so"
sed 's/^evaluate.*//' plan.conf >tested.conf
with --neighbour "b,$b" --plan tested.conf --data "data.svm,test=$work/none.svm"
ends 1
grep -q 'test data (evaluate-every = off needs none): ' stderr || complain "$(cat stderr)"

# A model that is damaged is not thrown away, nor is one of another kind.
mkdir state
echo 'no model, but as long as the head of one would be, and then some more of the same' >state/model
with --neighbour "b,$b" --state-directory "$work/state"
last "'$work/state/model': it is no model of ours"
if [ "$(id -u)" -ne 0 ]; then
	chmod 500 state
	with --neighbour "b,$b" --state-directory "$work/state"
	last "state directory: write to '$work/state': Permission denied"
fi

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Modes and owners of all that the programs make, whatever the umask: each directory is
# listed whole, so that nothing new is there without a line here.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
agent=$top_builddir/agent
me=$(id -un)
# Who else has to reach what is made below it.
chmod 711 "$work"
cd "$work"

# has FOLDER TEXT - all that is in it: mode, owner and name.
has() {
	command="what is in $1"
	(cd "$1" && find . -printf '%M %u %P\n' | sed -e 's/ $/ ./' -e "s/ $me / me /" |
		LC_ALL=C sort -k 3) >stdout
	out "$2"
}

# until_there FILE PID - made by a process that may not end before.
until_there() {
	tries=0
	until [ -e "$1" ]; do
		tries=$((tries + 1))
		if [ $tries -ge 600 ] || ! kill -0 "$2" 2>/dev/null; then
			echo "no $1 of process $2:"
			cat log
			exit 1
		fi
		sleep 0.05
	done
}

# end_well PID
end_well() {
	kill "$1"
	wait "$1" || { echo "process $1 ended badly:"; cat log; exit 1; }
}

# Loopback addresses of this run's own: other tests may use the same port.
net=127.$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1))
i=0
while [ $i -lt 40 ]; do
	echo "$((i % 2 * 2 - 1)) 1:0.$((i % 7)) 2:0.$((i % 5))"
	i=$((i + 1))
done >data.svm
chmod 644 data.svm

# Of whom the coordinator's files are: USER.
coordinator_files() {
	has train/state "drwxr-xr-x $1 .
-rw-r--r-- $1 checkpoint
-rw------- $1 state.lock"
	has train/run "drwxr-xr-x $1 .
srw-rw-rw- $1 control
-rw------- $1 lock"
}

# train_as USER [LINE] - starts a coordinator with this line more, and ends it.
train_as() {
	rm -rf train
	mkdir train
	cat >train.conf <<-END
		run = modes
		listen = tcp://$net.3:7500
		secret-key = $work/keys/a.key
		data = $work/data.svm
		state-directory = $work/train/state
		run-directory = $work/train/run
		${2:-}
		training {
			model = logistic
			samples-per-task = 4
		}
		worker a { public-key = $work/keys/a.pub }
	END
	"$agent/isobar-coordinator" -f train.conf 2>log &
	servers="$servers $!"
	pid=$!
	until_there train/run/control $pid
	until_there train/state/checkpoint $pid
	coordinator_files "$1"
	owner=$(ps -o user= -p $pid)
	[ "$owner" = "$1" ] || [ "$1" = me ] || complain "the coordinator runs as $owner"
	end_well $pid
}

# Two that learn together.
learn() {
	printf 'name = p\nnode a { }\nnode b { }\nmodel = logistic\nevaluate-every = off\nrounds = 3\n' \
		>plan.conf
	learners=
	for node in a b; do
		other=$([ $node = a ] && echo b || echo a)
		timeout 120 "$agent/isobar-worker" --plan plan.conf --key keys/a.key --name $node \
			--data data.svm,holdout=0 --threads 1 --state-directory "$work/model/$node" \
			--listen "tcp://$net.$([ $node = a ] && echo 1 || echo 2):7600" \
			--neighbour "$other,tcp://$net.$([ $node = a ] && echo 2 || echo 1):7600,keys/a.pub" \
			3>&- 2>log.$node &
		learners="$learners $!"
		servers="$servers $!"
	done
	for pid in $learners; do
		wait "$pid" || { echo 'a worker ended badly:'; cat log.a log.b; exit 1; }
	done
	has model 'drwxr-xr-x me .
drwxr-xr-x me a
-rw-r--r-- me a/model
drwxr-xr-x me b
-rw-r--r-- me b/model'
}

for mask in 000 022; do
	umask $mask
	echo "umask $mask"
	rm -rf keys state run registry model
	mkdir -m 755 keys
	"$ctl" keygen -o "$work/keys/a" >/dev/null
	has keys 'drwxr-xr-x me .
-rw------- me a.key
-rw-r--r-- me a.pub'

	cat >a.conf <<-END
		cluster = modes
		node = a
		budget = 1cpu
		endowment = 1cpu
		cgroup = /isobar-modes-$$/job
		create-cgroup = yes
		dry-run = yes
		state-directory = $work/state
		run-directory = $work/run
	END
	"$agent/isobard" --init -f a.conf >/dev/null
	has state 'drwx------ me .
-rw------- me journal'
	"$agent/isobard" -f a.conf 2>log &
	servers="$servers $!"
	pid=$!
	until_there run/control $pid
	# The socket is there a moment before it is listened to.
	tries=0
	until "$ctl" --socket "$work/run/control" freeze >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { cat log; exit 1; }
		sleep 0.05
	done
	"$agent/isobard" --hand-over -f a.conf
	cat >cluster.conf <<-END
		cluster = modes
		registry = $work/registry
		node a {
			admin = 'unix:$work/run/control'
			public-key = $work/keys/a.pub
			address = 'tcp://$net.3:7500'
		}
	END
	run "$ctl" -c cluster.conf registry create </dev/null
	ends 0
	has registry 'drwx------ me .
-rw------- me lock
-rw------- me registry.jsonl'
	has state 'drwx------ me .
-rw------- me frozen
-rw------- me journal'
	has run 'drwxr-xr-x me .
srw-rw-rw- me control
-rw-r--r-- me keep-limit
-rw------- me lock'
	end_well $pid
	train_as me
	learn
done
grep -q 'running as root' log && warned=yes || warned=no
command='a coordinator that nobody named a user for'
[ "$warned" = "$([ "$(id -u)" = 0 ] && echo yes || echo no)" ] || complain "$(cat log)"

# Who is root becomes somebody else, once the key is read, which is still root's.
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	train_as nobody 'user = nobody'
	grep -q 'running as root' log && complain 'it still says that it is root'
	echo 'user = root' >>train.conf
	sed -i '/^user = nobody/d' train.conf
	run "$agent/isobar-coordinator" -f train.conf
	ends 1
	err "isobar-coordinator: user: 'root' is root: it must not be"
	sed -i 's/^user = root/user = no-such-user/' train.conf
	run "$agent/isobar-coordinator" -f train.conf
	ends 1
	err "isobar-coordinator: user: there is no user 'no-such-user' on this host to become; make\
 it, or name another"
	run "$agent/isobar-worker" --user no-such-user --coordinator tcp://$net.3:7500 \
		--coordinator-key keys/a.pub --key keys/a.key --name a --data data.svm
	ends 1
	err "isobar-worker: --user: there is no user 'no-such-user' on this host to become; make it,\
 or name another"
fi

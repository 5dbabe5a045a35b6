#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The quick start of isobar(7), as it is printed: two servers are two folders
# and two loopback addresses, and nothing is limited (dry-run).
set -eu
# shellcheck disable=SC2154 # from the Makefile
page=$top_srcdir/man/isobar.7
work=$(mktemp -d)
pids=
cleanup() {
	status=$?
	trap - EXIT INT TERM
	[ $status = 0 ] || tail -n 20 "$work"/*/log || true
	# shellcheck disable=SC2086 # a list
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$work"
	exit $status
}
trap cleanup EXIT
trap 'exit 143' INT TERM

fail() {
	echo "FAIL: $*"
	exit 1
}

# Loopback addresses of this run's own: other tests may use the same port.
net=127.$(($$ / 250 % 250 + 1)).$(($$ % 250 + 1))

# What a server's administrator types or writes, in that server's folder.
on_server() { # NAME
	sed -e 's|/etc/isobar|@/etc|g' -e 's|/tmp/|@/|g' -e "s|@|$work/$1|g" -e "s|192\.0\.2|$net|g"
}

# The lines of the block after each '.\" quickstart' line with this rest.
blocks() { # REST
	awk -v mark=".\\\\\" quickstart$1" '
		$0 == mark { armed = 1 }
		/^\.Ed/ { armed = inside = 0 }
		inside { print }
		armed && /^\.Bd/ { inside = 1 }' "$page"
}

for server in a b; do
	mkdir -p "$work/$server/bin" "$work/$server/etc"
	for tool in isobard isobarctl scp; do
		ln -s "$work/run" "$work/$server/bin/$tool"
	done
	blocks ": $server" | on_server "$server" >"$work/$server/etc/isobard.conf"
	[ -s "$work/$server/etc/isobard.conf" ] || fail "no configuration of $server in $page"
	cat >>"$work/$server/etc/isobard.conf" <<-END
		dry-run = yes
		state-directory = $work/$server/state/$server
		run-directory = $work/$server/run/$server
	END
done

# shellcheck disable=SC2154 # from the Makefile
agent=$top_builddir/agent
# The paths that an installed program has built in, and a network that is a folder.
cat >"$work/run" <<END
#!/bin/sh
here=\${0%/bin/*}
case \${0##*/} in
isobard) exec "$agent/isobard" -f "\$here/etc/isobard.conf" "\$@" ;;
scp) exec cp "\$1" "$work/\${2%%:*}/\${2#*:"\$here"/}" ;;
esac
case \$1 in
keygen) exec "$agent/isobarctl" "\$@" ;;
check) exec "$agent/isobarctl" "\$@" -f "\$here/etc/isobard.conf" ;;
*) exec "$agent/isobarctl" "\$@" --run-directory "\$here/run" ;;
esac
END
chmod +x "$work/run"

# A cluster that has just started has nothing to say yet.
settle() {
	tries=200
	until "$work/a/bin/isobarctl" status 2>/dev/null | grep -q '^b  *up ' &&
		"$work/b/bin/isobarctl" status 2>/dev/null | grep -q '^a  *up '; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail 'the two do not hear each other'
		sleep 0.1
	done
}

blocks '' >"$work/commands"
count=0
while read -r prompt command; do
	server=${prompt%\#}
	[ -d "$work/$server" ] || fail "no server '$server': $prompt $command"
	line=$(echo "$command" | on_server "$server")
	count=$((count + 1))
	case $line in
	*'&')
		PATH=$work/$server/bin:$PATH sh -c "exec ${line%&}" >"$work/$server/log" 2>&1 </dev/null &
		pids="$pids $!"
		;;
	*)
		[ -z "$pids" ] || settle
		PATH=$work/$server/bin:$PATH sh -c "$line" >"$work/output" 2>&1 </dev/null ||
			{ cat "$work/output"; fail "$prompt $command"; }
		;;
	esac
done <"$work/commands"
[ $count -ge 15 ] || fail "only $count commands"
tail -n 1 "$work/output" | grep -qx 'proven: share + in flight = budget' ||
	{ cat "$work/output"; fail 'the last command proves nothing'; }
grep -qx 'trust: in hostile hands, 2 of 2 nodes could bring in no more than they have' \
	"$work/output" || { cat "$work/output"; fail 'the limits do not add up'; }
# shellcheck disable=SC2086 # a list
kill $pids
for pid in $pids; do
	wait "$pid" || fail 'an agent did not end well'
done
pids=

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the packages do at an upgrade, a removal and a purge, of Debian's and of RPM's, with a
# systemd that is played: tests/vm/packages.tap has a real one, and fewer ways to fail.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
etc=$top_srcdir/etc

# Below the work directory, and with the programs in it.
mkdir -p "$work/bin" "$work/units" "$work/run/systemd/system" "$work/etc/isobar"
here_now() { # SCRIPT
	sed -e "s,/etc/,$work/etc/,g" -e "s,/run/,$work/run/,g" -e "s,/var/lib/,$work/var/,g" \
		-e "s,/usr/lib/,$work/lib/,g" >"$work/$1"
}
part_of_spec() { # HEAD SCRIPT
	awk -v head="$1" '$0 == head { inside = 1; next } /^[%#]/ { inside = 0 } inside' \
		"$etc/rpm/isobar.spec" | sed -e 's,%{_sysconfdir},/etc,g' -e 's,%{_sbindir}/,,g' \
		-e 's,%{_tmpfilesdir},/usr/lib/tmpfiles.d,g' -e 's,%%,%,g' | here_now "$2"
	grep -q isobar "$work/$2" || {
		echo "no $1 in the spec?"
		exit 1
	}
}
here_now debian <"$etc/debian/isobar.postinst"
part_of_spec %post rpm

# A unit is a file with its main process; "refused" and "failing" are how the world is.
cat >"$work/bin/systemctl" <<'END'
#!/bin/sh
cd "$work" || exit 1
command=$1
shift
case $command in
list-units)
	for unit in units/*; do
		[ ! -e "$unit" ] || echo "${unit#units/} loaded active running agent"
	done
	;;
show)
	shift 3
	cat "units/$1"
	;;
stop) echo "stop $*" >>did ;;
restart)
	echo "restart $*" >>did
	[ ! -e refused ] || exit 1
	for unit in "$@"; do
		instance=${unit#isobard@}
		order=run/isobar/${instance%.service}/keep-limit
		[ -e "$order" ] || echo "$unit is free for a moment" >>did
		if [ -e failing ]; then
			echo 0 >"units/$unit"
		else
			echo $(($(cat "units/$unit") + 1)) >"units/$unit"
			rm -f "$order"
		fi
	done
	[ ! -e failing ]
	;;
esac
END
cat >"$work/bin/deb-systemd-invoke" <<'END'
#!/bin/sh
[ ! -e "$work/refused" ] || { echo "$*" >>"$work/did"; exit 0; }
exec systemctl "$@"
END
for ours in systemd-sysusers systemd-tmpfiles; do
	printf '#!/bin/sh\n' >"$work/bin/$ours"
done
chmod +x "$work/bin"/*
ln -s "$top_builddir/agent/isobard" "$work/bin/isobard"
export work
PATH=$work/bin:$PATH

# Two that run.
world() {
	rm -rf "$work/did" "$work/refused" "$work/failing" "$work/units" "$work/run/isobar"
	mkdir "$work/units"
	: >"$work/did"
	for node in a b; do
		mkdir -p "$work/run/isobar/$node"
		echo 100 >"$work/units/isobard@$node.service"
		cat >"$work/etc/isobar/$node.conf" <<-END
			cluster = lab
			node = $node
			budget = 1cpu
			endowment = 1cpu
			cgroup = /lab/$node
			run-directory = $work/run/isobar/$node
		END
	done
}
upgrade() { # HOW
	case $1 in
	debian) run sh "$work/debian" configure 0.0.9-1 ;;
	rpm) run sh "$work/rpm" 2 ;;
	esac
	ends 0
	out ''
}
did() { # TEXT
	says did "$1"
}
no_order() {
	for node in a b; do
		[ ! -e "$work/run/isobar/$node/keep-limit" ] || complain "$node would keep its limit"
	done
}

for how in debian rpm; do
	world
	upgrade $how
	err ''
	did 'restart isobard@a.service isobard@b.service'
	no_order

	# What cannot start is not ended.
	world
	echo 'budgets = 2cpu' >>"$work/etc/isobar/a.conf"
	upgrade $how
	by_hand="isobard --hand-over -f $work/etc/isobar/a.conf && systemctl restart isobard@a.service"
	err "isobard: $work/etc/isobar/a.conf: line 7: unknown option 'budgets'; did you mean 'budget'?
isobar: isobard@a.service is not restarted and runs the old program; mend what is said above, then: $by_hand"
	did 'restart isobard@b.service'
	no_order

	world
	rm "$work/etc/isobar"/*.conf
	upgrade $how
	did ''
	no_order

	# Whoever is not restarted ends some day as on-exit says.
	world
	touch "$work/refused"
	upgrade $how
	both=$(for node in a b; do
		echo "isobar: isobard@$node.service was not restarted and runs the old program; when it suits:" \
			"isobard --hand-over -f $work/etc/isobar/$node.conf &&" \
			"systemctl restart isobard@$node.service"
	done)
	err "$both"
	did 'restart isobard@a.service isobard@b.service'
	no_order

	# It ended, and the next one does not start yet: the limit stays.
	world
	touch "$work/failing"
	upgrade $how
	err ''
	did 'restart isobard@a.service isobard@b.service'
	for node in a b; do
		[ -e "$work/run/isobar/$node/keep-limit" ] || complain "$node is free"
	done

	# None runs.
	world
	rm "$work/units"/*
	upgrade $how
	err ''
	did ''
	no_order
done

# The first installation starts and ends nothing.
world
run sh "$work/debian" configure ''
ends 0
did ''
run sh "$work/rpm" 1
ends 0
did ''
no_order

# A removal ends those that run, and each does what its on-exit says.
here_now removal-debian <"$etc/debian/isobar.prerm"
part_of_spec %preun removal-rpm
for how in debian rpm; do
	gone=$([ $how = rpm ] && echo 0 || echo remove)
	stays=$([ $how = rpm ] && echo 1 || echo upgrade)
	world
	touch "$work/run/isobar/a/keep-limit"
	run sh "$work/removal-$how" "$stays"
	ends 0
	did ''
	[ -e "$work/run/isobar/a/keep-limit" ] || complain 'an upgrade takes an order back'
	run sh "$work/removal-$how" "$gone"
	ends 0
	err ''
	did 'stop isobard@a.service isobard@b.service'
	no_order
	world
	rm "$work/units"/*
	run sh "$work/removal-$how" "$gone"
	ends 0
	err ''
	did ''
done

# Purges, which for RPM a removal is: what is empty goes, unless it is the other package's
# as well.
here_now purge-debian-isobar <"$etc/debian/isobar.postrm"
here_now purge-debian-coordinator <"$etc/debian/isobar-coordinator.postrm"
part_of_spec %postun purge-rpm-isobar
part_of_spec '%postun coordinator' purge-rpm-coordinator
purge() { # PACKAGE
	run sh "$work/purge-$how-$1" "$([ $how = rpm ] && echo 0 || echo purge)"
	ends 0
}
installed() { # PACKAGES...
	rm -rf "${work:?}/etc" "${work:?}/var" "${work:?}/lib"
	mkdir -p "$work/lib/tmpfiles.d" "$work/etc/isobar/coordinator" "$work/var/isobar/coordinator" \
		"$work/var/isobar-worker" "$work/etc/systemd/system/multi-user.target.wants"
	for package in isobard isobar-coordinator; do
		: >"$work/etc/systemd/system/multi-user.target.wants/$package@a.service"
	done
	for package in "$@"; do
		: >"$work/lib/tmpfiles.d/$package.conf"
	done
}
left() { # PATHS below the work directory
	(
		cd "$work"
		find etc/isobar etc/systemd/system/*/* var/* 2>/dev/null || true
	) | LC_ALL=C sort >"$work/tree"
	# shellcheck disable=SC2086 # a list
	says tree "$(printf '%s\n' $1)"
}

for how in debian rpm; do
	installed isobar
	purge coordinator
	err ''
	left 'etc/isobar etc/systemd/system/multi-user.target.wants/isobard@a.service var/isobar var/isobar-worker'
	rm "$work/lib/tmpfiles.d/isobar.conf"
	purge isobar
	err ''
	left ''

	installed isobar-coordinator
	rmdir "$work/etc/isobar/coordinator" "$work/var/isobar/coordinator"
	purge isobar
	err ''
	left 'etc/isobar etc/systemd/system/multi-user.target.wants/isobar-coordinator@a.service var/isobar'
	rm "$work/lib/tmpfiles.d/isobar-coordinator.conf"
	purge coordinator
	err ''
	left ''

	# Nothing that somebody has made is deleted.
	installed
	mkdir "$work/var/isobar/a"
	for file in etc/isobar/a.conf etc/isobar/coordinator/run.conf var/isobar/a/journal \
		var/isobar/coordinator/checkpoint var/isobar-worker/model; do
		: >"$work/$file"
	done
	purge coordinator
	err "isobar-coordinator: $work/var/isobar/coordinator is not empty and stays
isobar-coordinator: $work/etc/isobar/coordinator is not empty and stays"
	purge isobar
	err "isobar: $work/var/isobar-worker is not empty and stays
isobar: $work/var/isobar is not empty and stays; journals in it own a part of their cluster's budget
isobar: $work/etc/isobar is not empty and stays"
	[ -f "$work/var/isobar/a/journal" ] || complain 'a share is lost'
done

# A removal is no purge, and an upgrade no removal.
installed
for package in isobar coordinator; do
	run sh "$work/purge-debian-$package" remove
	ends 0
	err ''
	run sh "$work/purge-rpm-$package" 1
	ends 0
	err ''
done
[ -d "$work/var/isobar/coordinator" ] || complain 'directories are gone'

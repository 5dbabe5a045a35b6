#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packaging follows the rest: what make installs is in one package each, of
# Debian's and of RPM's; what configure needs, both ask for; versions are equal.
# shellcheck disable=SC2154 # from the Makefile
root=$(mktemp -d) || exit 99
trap 'rm -rf "$root"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
debian=$top_srcdir/etc/debian
spec=$top_srcdir/etc/rpm/isobar.spec
status=0
complain() {
	echo "$*"
	status=1
}

version=$(sed -n 's/^AC_INIT(\[isobar\], \[\([^]]*\)\].*/\1/p' "$top_srcdir/configure.ac")
[ "$(sed -n '1s/^isobar (\(.*\)-[^-]*) .*/\1/p' "$debian/changelog")" = "$version" ] ||
	complain "etc/debian/changelog does not begin with $version-1"
grep -q -x "Version: *$version" "$spec" || complain "etc/rpm/isobar.spec is not of version $version"

# Libraries with their least versions.
sed -n 's/^ *PKG_CHECK_MODULES(\[[A-Z]*\], \[\([^]]*\)\].*/\1/p' "$top_srcdir/configure.ac" >"$root/needs"
[ "$(wc -l <"$root/needs")" -gt 8 ] || complain 'configure.ac has no list of libraries any more?'
while read -r module _ least; do
	[ "$module" != check ] || continue # for tests alone
	grep -q -x "BuildRequires: *pkgconfig($module)${least:+ >= $least}" "$spec" ||
		complain "etc/rpm/isobar.spec: BuildRequires lacks pkgconfig($module)${least:+ >= $least}"
done <"$root/needs"
for package in $(sed -n "/^packages='/,/'/p" "$top_srcdir/bootstrap" | tr -s "[:space:]'" '[\n*]' | grep -e '-dev$'); do
	case $package in
	libsubunit-dev | libclang-rt-*) continue ;; # for tests alone
	esac
	grep -q "^ ${package}[ ,]" "$debian/control" || complain "etc/debian/control: Build-Depends lacks $package"
done

# What is installed, as a package has it.
make -s -C "$top_builddir" install DESTDIR="$root/stage" prefix=/usr exec_prefix=/usr sysconfdir=/etc \
	systemdsystemunitdir=/lib/systemd/system >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
(cd "$root/stage" && find . -type f -o -type l) | sed 's|^\./||' | sort >"$root/installed"
[ "$(wc -l <"$root/installed")" -gt 40 ] || complain 'make install installs hardly anything'

# LISTS... of patterns, one a line: a file or a folder, * is anything.
check_once() { # WHAT LIST
	awk -v what="$1" '
		NR == FNR {
			plain = $0
			sub(/\/$/, "", plain)
			gsub(/[.+@]/, "[&]", plain)
			gsub(/\*/, ".*", plain)
			patterns[++count] = "^" plain "(/.*)?$"
			names[count] = $0
			next
		}
		{
			seen = 0
			for (i = 1; i <= count; i++)
				if ($0 ~ patterns[i]) {
					seen++
					used[i] = 1
				}
			if (seen != 1) {
				print what ": /" $0 " is in " seen " packages"
				bad = 1
			}
		}
		END {
			for (i = 1; i <= count; i++)
				if (!used[i]) {
					print what ": nothing installs /" names[i]
					bad = 1
				}
			exit bad
		}' "$2" "$root/installed" || status=1
}
for list in "$debian"/*.install "$debian/not-installed"; do
	sed -e '/^#/d' -e 's/ .*//' "$list"
done >"$root/debian"
check_once etc/debian "$root/debian"

if command -v rpmspec >/dev/null; then
	rpmspec --define '_unitdir /lib/systemd/system' -P "$spec" >"$root/spec" 2>"$root/log" ||
		complain 'rpmspec -P finds a fault'
	rpmspec -q "$spec" >"$root/packages" 2>>"$root/log" || complain 'rpmspec -q finds a fault'
	cat "$root/log"
	[ "$(wc -l <"$root/packages")" = 4 ] || complain "packages of RPM: $(cat "$root/packages")"
	# Without "buildroot", and those that %install takes away.
	awk '/^%changelog/ { inside = 0 }
		inside && /^\// { print substr($0, 2) }
		/^%files/ { inside = 1 }
		$1 == "rm" { for (i = 2; i <= NF; i++) if (sub(/^.*\/usr\//, "usr/", $i)) print $i }' \
		"$root/spec" >"$root/rpm"
	check_once etc/rpm/isobar.spec "$root/rpm"
	grep -e '%{' "$root/spec" && complain 'etc/rpm/isobar.spec: macros that are not defined everywhere'
else
	echo 'no rpmspec: the spec is not looked at'
fi
exit $status

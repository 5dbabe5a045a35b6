#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the Debian packages from a tarball: DIR has them afterwards, the source
# package as well, and the .changes that lists all.
# usage: build.sh isobar-VERSION.tar.xz DIR
# ISO_DEB_OPTIONS is given to dpkg-buildpackage besides (-b: binaries alone).
set -eu
tarball=$1
name=${tarball##*/}
name=${name%.tar.xz}
mkdir -p "$2"
dir=$(cd "$2" && pwd)
die() {
	echo "build.sh: $*" >&2
	exit 1
}
command -v dpkg-buildpackage >/dev/null || die 'no dpkg-buildpackage: install dpkg-dev and debhelper'
rm -rf "${dir:?}"/*
# Always the same place: then a compiler cache finds again what it has.
mkdir "$dir/work"
cp "$tarball" "$dir/work/isobar_${name#isobar-}.orig.tar.xz"
tar -C "$dir/work" -xf "$tarball"
cd "$dir/work/$name"
cp -R etc/debian debian
rm debian/local.mk debian/build.sh
chmod +x debian/rules debian/tests/installed
version=$(dpkg-parsechangelog -S Version)
[ "${version%-*}" = "${name#isobar-}" ] ||
	die "etc/debian/changelog is of $version, the tarball is $name"
if command -v ccache >/dev/null && [ -d /usr/lib/ccache ]; then
	# debhelper gives the build a home directory of its own.
	CCACHE_DIR=$(ccache -k cache_dir)
	export CCACHE_DIR PATH="/usr/lib/ccache:$PATH"
fi
# What is being made knows nothing of the make that calls.
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck disable=SC2086 # a list
DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck parallel=$(nproc)}" \
	dpkg-buildpackage -us -uc ${ISO_DEB_OPTIONS:-} >"$dir/log" 2>&1 || {
	tail -n 30 "$dir/log" >&2
	die "dpkg-buildpackage failed; all it said is in $dir/log"
}
cd ..
rm -rf "$name"
mv -- * "$dir/"
rmdir "$dir/work"
cd "$dir"
ls -- *.deb *.changes

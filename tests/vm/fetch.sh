#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetches Debian's kernel for the virtual machine of tests/vm: nothing is
# installed, the package is unpacked into DIR.  Only the vmlinuz, the modules that
# a root file system over 9p needs, and those in extra that single tests ask for
# are kept.
# usage: fetch.sh DIR [PACKAGE]
set -eu
dir=$1
package=${2:-linux-image-amd64}
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci
	netfs fscache 9pnet 9pnet_virtio 9p overlay'
extra='watchdog i6300esb'

[ ! -f "$dir/vmlinuz" ] || [ ! -d "$dir/extra" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# linux-image-amd64 is empty and depends on the versioned package.
real=$(apt-cache depends "$package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$real" ] || { echo "fetch.sh: $package depends on no linux-image package" >&2; exit 1; }
(cd "$work" && apt-get download -q "$real" >/dev/null 2>&1) ||
	{ echo "fetch.sh: cannot download $real" >&2; exit 1; }
dpkg -x "$work"/*.deb "$work/root"
rm -rf "$dir.new"
mkdir -p "$dir.new/modules" "$dir.new/extra"
cp "$work"/root/boot/vmlinuz-* "$dir.new/vmlinuz"
number=10
find_module() { # NAME
	file=$(find "$work" -name "$1.ko" | head -n 1)
	[ -n "$file" ] || { echo "fetch.sh: $real has no module $1" >&2; exit 1; }
}
for module in $modules; do
	# Numbered in the order in which they must be loaded.
	find_module "$module"
	cp "$file" "$dir.new/modules/$number-$module.ko"
	number=$((number + 1))
done
for module in $extra; do
	find_module "$module"
	cp "$file" "$dir.new/extra/$module.ko"
done
echo "$real" >"$dir.new/package"
rm -rf "$dir"
mv "$dir.new" "$dir"

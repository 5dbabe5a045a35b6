#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetches Debian's kernel for the virtual machine of tests/vm: nothing is
# installed, the package is unpacked into DIR.  Only the vmlinuz and the modules
# that a root file system over 9p needs are kept.
# usage: fetch.sh DIR [PACKAGE]
set -eu
dir=$1
package=${2:-linux-image-amd64}
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci
	netfs fscache 9pnet 9pnet_virtio 9p overlay'

[ ! -f "$dir/vmlinuz" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# linux-image-amd64 is empty and depends on the versioned package.
real=$(apt-cache depends "$package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$real" ] || { echo "fetch.sh: $package depends on no linux-image package" >&2; exit 1; }
(cd "$work" && apt-get download -q "$real" >/dev/null 2>&1) ||
	{ echo "fetch.sh: cannot download $real" >&2; exit 1; }
dpkg -x "$work"/*.deb "$work/root"
mkdir -p "$dir.new/modules"
cp "$work"/root/boot/vmlinuz-* "$dir.new/vmlinuz"
number=10
for module in $modules; do
	# Numbered in the order in which they must be loaded.
	file=$(find "$work/root/lib/modules" -name "$module.ko" | head -n 1)
	[ -n "$file" ] || { echo "fetch.sh: $real has no module $module" >&2; exit 1; }
	cp "$file" "$dir.new/modules/$number-$module.ko"
	number=$((number + 1))
done
echo "$real" >"$dir.new/package"
rm -rf "$dir"
mv "$dir.new" "$dir"

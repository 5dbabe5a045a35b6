#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetches Debian's kernel for the virtual machine of tests/vm: nothing is
# installed, the package is unpacked into DIR.  Only the kernel, the modules that
# a root file system over 9p needs, and those in extra that single tests ask for
# are kept.  What a kernel has built in, or has not at all, is left out.
# usage: fetch.sh DIR [PACKAGE]
set -eu
dir=$1
package=${2:-linux-image-amd64}
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci
	netfs fscache 9pnet 9pnet_virtio 9p overlay'
extra='watchdog i6300esb'

[ ! -f "$dir/vmlinuz" ] || [ ! -d "$dir/extra" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work" "$dir.new"' EXIT
# linux-image-amd64 is empty and depends on the versioned package.
real=$(apt-cache depends "$package" | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$real" ] || { echo "fetch.sh: $package depends on no linux-image package" >&2; exit 1; }
(cd "$work" && apt-get download -q "$real" >/dev/null 2>&1) ||
	{ echo "fetch.sh: cannot download $real" >&2; exit 1; }
dpkg -x "$work"/*.deb "$work/root"
rm -rf "$dir.new"
mkdir -p "$dir" "$dir.new/modules" "$dir.new/extra"
cp "$work"/root/boot/vmlinuz-* "$dir.new/vmlinuz"

# An emulated processor takes longer to unpack the kernel than to start it.
unpack() { # VMLINUZ RESULT
	# The boot protocol's header: setup_sects, and payload_offset and payload_length.
	setup=$(od -An -t u1 -j 497 -N 1 "$1")
	# shellcheck disable=SC2046 # two numbers
	set -- "$1" "$2" $(od -An -t u4 -j 584 -N 8 "$1")
	start=$(((setup + 1) * 512 + $3))
	payload="tail -c +$((start + 1)) $1"
	case $($payload | od -An -t x4 -N 4) in
	*587a37fd) tool=xz ;;
	*fd2fb528) tool=zstd ;;
	*184c2102) tool=lz4 ;;
	*) return 1 ;;
	esac
	command -v $tool >/dev/null || return 1
	# The last four bytes are its size when unpacked.
	size=$(od -An -t u4 -j $((start + $4 - 4)) -N 4 "$1")
	$payload | head -c $(($4 - 4)) | $tool -dc >"$2" || return 1
	[ "$(stat -c %s "$2")" -eq "$size" ]
}
unpack "$dir.new/vmlinuz" "$dir.new/vmlinux" || rm -f "$dir.new/vmlinux"

copy_module() { # NAME RESULT
	file=$(find "$work/root" -name "$1.ko" -o -name "$1.ko.xz" | head -n 1)
	case $file in
	*.xz) xz -dc "$file" >"$2" ;;
	?*) cp "$file" "$2" ;;
	esac
}
number=10
for module in $modules; do
	# Numbered in the order in which they must be loaded.
	copy_module "$module" "$dir.new/modules/$number-$module.ko"
	number=$((number + 1))
done
for module in $extra; do
	copy_module "$module" "$dir.new/extra/$module.ko"
done
echo "$real" >"$dir.new/package"
# DIR may hold other kernels' folders.
for file in package vmlinuz vmlinux modules extra; do
	rm -rf "${dir:?}/$file"
	[ ! -e "$dir.new/$file" ] || mv "$dir.new/$file" "$dir/"
done

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs test programs under another kernel: qemu in software, no disk, the host's
# root file system under a layer in memory.  Speaks TAP: the results of all the
# programs as one list.
# usage: run.sh KERNELDIR PROGRAM...      (KERNELDIR as fetch.sh makes it)
# ISO_VM_CGROUP says which hierarchies are mounted: v2 with all controllers, which
# is the default, v1 or hybrid.  ISO_VM_BTF=no hides the kernel's type information.
# ISO_VM_FILES, for kernels without 9p, names files of the host: these with the
# libraries that they need, and the programs, are all that the machine has then,
# besides busybox.
# ISO_VM_SYSTEMD=1 boots systemd as the first process, which mounts the hierarchies
# then, and the programs under it; ISO_VM_STAGE and ISO_VM_BRIEF are for these.
# ISO_VM_SECONDS bounds the whole run; ISO_VM_LOG keeps the console there, and
# ISO_VM_RESULTS what the programs printed.  ISO_VM_MODULES names modules of
# KERNELDIR/extra, ISO_VM_DEVICES holds arguments of qemu.
set -eu
kernel=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

skip() {
	echo "1..0 # SKIP $*"
	exit 0
}
[ "$(id -u)" = 0 ] || skip 'needs root, to serve the whole root file system'
for tool in qemu-system-x86_64 cpio busybox; do
	command -v $tool >/dev/null || skip "no $tool"
done
[ -f "$kernel/vmlinuz" ] || skip "no kernel: tests/vm/fetch.sh $kernel gets one"
[ $# -gt 0 ] || skip 'no programs'
[ -n "${ISO_VM_FILES:-}" ] || [ -n "$(find "$kernel/modules" -name '*-9p.ko')" ] ||
	skip "no 9p in $(cat "$kernel/package")"

work=$(mktemp -d)
machine=
finish() {
	[ -z "$machine" ] || kill "$machine" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$work/root/bin" "$work/root/proc" "$work/root/sys" "$work/root/dev"
cp "$(command -v busybox)" "$work/root/bin/busybox"
if [ -n "${ISO_VM_FILES:-}" ]; then
	mkdir -p "$work/root/modules" "$work/root$(pwd)"
	for file in $ISO_VM_FILES "$@"; do
		# Of each library its name, and where it is.
		for part in "$file" $(ldd "$file" 2>/dev/null | sed -n 's,.*[ \t]\(/[^ ]*\) (0x.*,\1,p'); do
			[ -e "$work/root$part" ] || cp -L --parents "$part" "$work/root/"
		done
	done
else
	cp -R "$kernel/modules" "$work/root/modules"
fi
number=80
for module in ${ISO_VM_MODULES:-}; do
	cp "$kernel/extra/$module.ko" "$work/root/modules/$number-$module.ko"
	number=$((number + 1))
done
cp "$here/init.sh" "$work/root/init"
chmod +x "$work/root/init"
if [ -n "${ISO_VM_SYSTEMD:-}" ]; then
	cp "$here/vm.service" "$here/vm-programs.sh" "$work/root/"
fi
for program; do
	echo "$(pwd) $program"
done >"$work/root/programs"

# What the programs are told; software emulation is slow, so time-outs are long.
cat >"$work/root/environment" <<END
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export ISO_VM=1 HOME=/root CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
export CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-10}
export ISO_VM_CGROUP=${ISO_VM_CGROUP:-v2} ISO_VM_BTF=${ISO_VM_BTF:-yes}
export ISO_VM_FILES='${ISO_VM_FILES:-}'
export ISO_VM_STAGE='${ISO_VM_STAGE:-}' ISO_VM_BRIEF=${ISO_VM_BRIEF:-}
export top_srcdir='${top_srcdir:-}' top_builddir='${top_builddir:-}'
END
(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initrd"
image=$kernel/vmlinux
[ -f "$image" ] || image=$kernel/vmlinuz

# One thread for both processors: with one each, code that one patches while the
# other runs it (tracepoints, static branches) hangs the machine for good now and
# then.  The time stamp counter is the host's then; reading the HPET instead takes
# an exit to qemu, at every switch that is measured.  The machine is told its
# frequency, and not to test whether its timer works: what it finds out by itself
# depends on how busy the host is.
clock='tsc=reliable clocksource=tsc no_timer_check'
tsc=$("${top_builddir:-.}/tests/vm/tsc" 2>/dev/null) && clock="$clock tsc_early_khz=$tsc"
# What systemd mounts, if it is the first process.
case ${ISO_VM_CGROUP:-v2} in
v2) mounts= ;;
v1) mounts='systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1' ;;
*) mounts='systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=0' ;;
esac
status=0
# shellcheck disable=SC2086 # a list
timeout "${ISO_VM_SECONDS:-300}" qemu-system-x86_64 -accel tcg,thread=single \
	-m 1024 -smp 2 -display none -monitor none -no-reboot -nodefaults \
	-kernel "$image" -initrd "$work/initrd" \
	-append "console=ttyS0 quiet panic=-1 psi=1 $mounts $clock" \
	-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=host,mount_tag=host \
	${ISO_VM_DEVICES:-} \
	-serial "file:$work/console" -serial "file:$work/results" </dev/null &
# In the background, since a signal is acted on only between commands and in wait.
machine=$!
wait "$machine" || status=$?
machine=
[ -z "${ISO_VM_LOG:-}" ] || cp "$work/console" "$ISO_VM_LOG"
[ -z "${ISO_VM_RESULTS:-}" ] || tr -d '\r' <"$work/results" >"$ISO_VM_RESULTS"
[ "$status" = 0 ] || echo "# qemu ended with $status (124: out of time)"
tr -d '\r' <"$work/console" | tail -n 15 | sed 's/^/# console: /'
tr -d '\r' <"$work/results" | awk -f "$here/merge.awk" -v expected=$#

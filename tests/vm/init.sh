#!/bin/busybox sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=dash
# First process of the virtual machine: the host's root, read-only over 9p,
# under a layer in memory; then each program of /programs in turn.
# Console: ttyS0.  Results: ttyS1, where nothing else writes.
/bin/busybox --install -s /bin
# shellcheck disable=SC1091 # made by run.sh
. /environment
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in /modules/*.ko; do
	[ -e "$module" ] || continue
	insmod "$module" || echo "vm: cannot load $module"
done
if [ -n "${ISO_VM_FILES:-}" ]; then
	root=
	mkdir -p /run /tmp
else
	root=/root
	mkdir -p /host /layer /root
	mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /host || poweroff -f
	mount -t tmpfs layer /layer
	mkdir /layer/upper /layer/work
	mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root || poweroff -f
	cp /environment /root/environment
	mount -t proc proc /root/proc
	mount -t sysfs sysfs /root/sys
	mount -t devtmpfs dev /root/dev
fi
# As systemd mounts them, where it does not do so itself: in the legacy hierarchy v1
# alone, in the hybrid one also v2, which has no controller.
hierarchy=$ISO_VM_CGROUP
[ ! -e /vm.service ] || hierarchy=systemd
case $hierarchy in
v2)
	mount -t cgroup2 cgroup2 $root/sys/fs/cgroup
	;;
v1 | hybrid)
	groups=$root/sys/fs/cgroup
	mount -t tmpfs -o mode=755 cgroup $groups
	for controllers in cpu,cpuacct cpuset freezer; do
		mkdir $groups/$controllers
		# Newer kernels have no cpuset in v1.
		mount -t cgroup -o $controllers cgroup $groups/$controllers 2>/dev/null ||
			rmdir $groups/$controllers
	done
	ln -s cpu,cpuacct $groups/cpu
	ln -s cpu,cpuacct $groups/cpuacct
	mkdir $groups/systemd
	mount -t cgroup -o none,name=systemd cgroup $groups/systemd
	if [ "$hierarchy" = hybrid ]; then
		mkdir $groups/unified
		mount -t cgroup2 cgroup2 $groups/unified
	fi
	;;
esac
# No parameter takes a kernel's type information away: nobody finds it.
[ "$ISO_VM_BTF" = yes ] || mount -t tmpfs -o ro btf $root/sys/kernel/btf
mount -t bpf bpf $root/sys/fs/bpf
mkdir -p $root/dev/shm
mount -t tmpfs shm $root/dev/shm
mount -t tmpfs run $root/run
ifconfig lo 127.0.0.1 up
# The real first process instead, with the programs as its one goal.
if [ -e /vm.service ]; then
	cp /programs /root/programs
	cp /vm.service /vm-programs.sh /root/
	# A host that is a container itself would make this look like one.
	rm -f /root/.dockerenv
	units=/root/etc/systemd/system
	mkdir -p $units
	mv /root/vm.service $units/vm.service
	# Of the host: each would take minutes over 9p, or is not there in here.
	for unit in systemd-tmpfiles-setup systemd-tmpfiles-setup-dev systemd-sysusers \
		systemd-machine-id-commit systemd-firstboot systemd-hwdb-update \
		systemd-journal-flush systemd-update-utmp ldconfig; do
		ln -sf /dev/null $units/$unit.service
	done
	# They would be read and run at each reload.
	mkdir -p /root/etc/systemd/system-generators
	for generator in /root/lib/systemd/system-generators/*; do
		ln -sf /dev/null "/root/etc/systemd/system-generators/${generator##*/}"
	done
	umount /proc /sys 2>/dev/null || true
	exec switch_root /root /lib/systemd/systemd --unit=vm.service --log-level=warning
fi
stty -F /dev/ttyS1 raw
while read -r directory program; do
	echo "vm-program $program"
	# shellcheck disable=SC2016 # expanded inside
	chroot "${root:-/}" /bin/sh -c '. /environment; cd "$1" && exec "$2"' sh "$directory" "$program" </dev/null
	echo "vm-status $?"
done </programs >/dev/ttyS1
echo vm-end >/dev/ttyS1
# Waits until all of it has left, which nobody else does while a program still has it open.
stty -F /dev/ttyS1 raw
poweroff -f

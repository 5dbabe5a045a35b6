#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Under systemd in the virtual machine: each program of /programs in turn, as
# init.sh does it without.
# shellcheck disable=SC1091 # made by run.sh
. /environment
while read -r directory program; do
	echo "vm-program $program"
	status=0
	(cd "$directory" && exec "$program") </dev/null || status=$?
	echo "vm-status $status"
done </programs
echo vm-end

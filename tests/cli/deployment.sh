#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What etc/deployment has for those who let Slurm, Kubernetes or Ansible start the agents:
# the configurations that come out are good ones, and their sums are right.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
cd "$work"
deployment=$top_srcdir/etc/deployment

# amounts KEY FILE... - the sum of what they say, in thousandths.
amounts() {
	key=$1
	shift
	sed -n "s/^$key = \([0-9]*\)mcpu$/\1/p" "$@" | awk '{ sum += $1 } END { print sum + 0 }'
}

# good FILE - isobard takes it, but for the files that are on the servers alone.
good() {
	"$top_builddir/agent/isobard" -n -f "$1" >said 2>&1 || complain "$1: $(cat said)"
}

# The file of the first five minutes, as it is printed.
page=$top_srcdir/man/isobar-deployment.7
awk '/deployment: pair.conf/ { armed = 1 } /^\.Ed/ { armed = inside = 0 }
	inside { print } armed && /^\.Bd/ { inside = 1 }' "$page" | sed "s|/etc/isobar|$work|" >pair.conf
"$ctl" keygen -o a >/dev/null
"$ctl" keygen -o b >/dev/null
good pair.conf
# Each sample that it names is installed where it says.
for sample in slurm kubernetes ansible; do
	grep -q "examples/$sample" "$page" || complain "$page does not name $sample"
	grep -q "^${sample}dir = .(sampledir)/$sample$" "$top_srcdir/etc/local.mk" ||
		complain "$sample is installed somewhere else"
done

# Slurm: three jobs, of one, three and six nodes, each prolog on its own host.
mkdir bin state
cat >bin/scontrol <<'END'
#!/bin/sh
[ "$1 $2" = 'show hostnames' ] && echo "$3" | tr , '\n'
END
cat >bin/getent <<'END'
#!/bin/sh
echo "192.0.2.${2#n} STREAM $2"
END
# shellcheck disable=SC2016 # expanded inside
printf '#!/bin/sh\necho "$*" >>%s\n' "$work/started" >bin/systemctl
printf '#!/bin/sh\nexec "%s" "$@"\n' "$top_builddir/agent/isobard" >bin/isobard
chmod +x bin/*
PATH=$work/bin:$PATH
job() { # ID HOST,...
	for host in $(echo "$2" | tr , ' '); do
		mkdir -p "$host/hosts"
		[ -f "$host/host.key" ] || "$ctl" keygen -o "$host/host" >/dev/null
		for known in $(echo "$2" | tr , ' '); do
			[ ! -f "$known/host.pub" ] || cp "$known/host.pub" "$host/hosts/$known.pub"
		done
	done
	for host in $(echo "$2" | tr , ' '); do
		cp n*/hosts/*.pub "$host/hosts/" 2>/dev/null || true
		printf 'etc=%s\nstate=%s\nrun=%s\nper_node=1500\n' "$work/$host" \
			"$work/$host/state" "$work/$host/run" >"$host/settings"
		run env SLURM_JOB_ID="$1" SLURM_JOB_NODELIST="$2" SLURMD_NODENAME="$host" \
			ISOBAR_SLURM_SETTINGS="$work/$host/settings" "$deployment/slurm/prolog"
		ends 0
		err ''
	done
}
job 41 n1
[ ! -e n1/slurm-41.conf ] || complain 'an agent for a job of one node'
for nodes in n1,n2,n3 n1,n2,n3,n4,n5,n6; do
	count=$(echo "$nodes" | tr , '\n' | wc -l)
	rm -f started
	job 42 "$nodes"
	for host in $(echo "$nodes" | tr , ' '); do
		good "$host/slurm-42.conf"
		[ "$(amounts budget "$host/slurm-42.conf")" = $((count * 1500)) ] ||
			complain "the budget of $host"
		# All trust it with no more than it has above its floor, and hardly less.
		edges=$(grep -c '^neighbour' "$host/slurm-42.conf")
		limits=$((edges * $(sed -n 's/^trading { limit = \(.*\)ucpu }$/\1/p' "$host/slurm-42.conf")))
		if [ $limits -gt 1490000 ] || [ $limits -le 1489990 ]; then
			complain "limits of $host: $limits"
		fi
		# Edges are two-way.
		sed -n "s/^neighbour '\(.*\)' {/\1/p" "$host/slurm-42.conf" >near
		while read -r other; do
			grep -q "^neighbour '$host' {" "$other/slurm-42.conf" ||
				complain "$host has $other as neighbour, not the other way round"
		done <near
		[ -s "$host/state/slurm-42/journal" ] || complain "no journal of $host"
	done
	[ "$(amounts endowment n*/slurm-42.conf)" = $((count * 1500)) ] || complain 'endowments'
	[ "$(grep -c '^start isobard@slurm-42$' started)" = "$count" ] || complain "$(cat started)"
	for host in $(echo "$nodes" | tr , ' '); do
		run env SLURM_JOB_ID=42 ISOBAR_SLURM_SETTINGS="$work/$host/settings" \
			"$deployment/slurm/epilog"
		ends 0
		[ ! -e "$host/slurm-42.conf" ] || complain "$host keeps its configuration"
		[ ! -e "$host/state/slurm-42" ] || complain "$host keeps its journal"
	done
done
# Hosts with little to give, and more neighbours than thousandths above the floor.
sed -i 's/^per_node=.*/per_node=20/' n1/settings
many=n1
for i in $(seq 2 64); do
	many=$many,n$i
done
for i in 2 3 5 9 17 33 49 57 61 63 64; do
	"$ctl" keygen -o key >/dev/null
	mv key.pub "n1/hosts/n$i.pub"
	rm key.key
done
run env SLURM_JOB_ID=44 SLURM_JOB_NODELIST="$many" SLURMD_NODENAME=n1 \
	ISOBAR_SLURM_SETTINGS="$work/n1/settings" "$deployment/slurm/prolog"
ends 0
err ''
grep -q '^trading { limit = 909ucpu }$' n1/slurm-44.conf || complain "$(grep limit n1/slurm-44.conf)"
# Without an address no configuration, and a prolog that fails.
printf '#!/bin/sh\nexit 2\n' >bin/getent
run env SLURM_JOB_ID=43 SLURM_JOB_NODELIST=n1,n2 SLURMD_NODENAME=n1 \
	ISOBAR_SLURM_SETTINGS="$work/n1/settings" "$deployment/slurm/prolog"
[ "$actual" -ne 0 ] || complain 'a host without an address'

/usr/bin/python3 -c 'import jinja2, yaml' 2>/dev/null || exit 0
# Kubernetes: what the pod runs on the node, with the node's programs in the place of both.
cat >bin/nsenter <<'END'
#!/bin/sh
[ "$1 $2 $3" = '--target=1 --mount --' ] || exit 1
shift 3
exec "$@"
END
printf '#!/bin/sh\necho "journalctl $*" >>%s\n' "$work/started" >bin/journalctl
chmod +x bin/*
rm -f started
for part in command preStop; do
	/usr/bin/python3 - "$deployment" $part >words <<'END'
import sys, yaml
spec = yaml.safe_load(open(sys.argv[1] + "/kubernetes/daemonset.yaml"))["spec"]["template"]["spec"]
container = spec["containers"][0]
assert spec["hostPID"] and container["securityContext"]["privileged"]
stop = container["lifecycle"]["preStop"]["exec"]["command"]
print("\n".join(container["command"] if sys.argv[2] == "command" else stop))
END
	xargs -d '\n' sh -c '"$@"' sh <words || complain "the pod's $part fails"
done
[ "$(cat started)" = 'start isobard@kubernetes
journalctl -n 20 -fu isobard@kubernetes
stop isobard@kubernetes' ] || complain "$(cat started)"

# Ansible: the template as three hosts get it, and each module's arguments are there.
/usr/bin/python3 - "$deployment/ansible" <<'END'
import base64, os, sys, jinja2, yaml
folder = sys.argv[1]
play = yaml.safe_load(open(folder + "/playbook.yml"))[0]
handlers = {handler["name"] for handler in play["handlers"]}
for task in play["tasks"]:
    modules = [key for key in task if key.startswith("ansible.builtin.")]
    assert len(modules) == 1, task
    assert task.get("notify", "Reload") in handlers, task
hosts = ["web1", "web2", "web3"]
key = lambda host: open("n%s/host.pub" % host[-1], "rb").read()
states = lambda *there: {host: {"isobar_journal": {"stat": {"exists": yes}}}
                         for host, yes in zip(hosts, there)}
facts = {host: {"ansible_default_ipv4": {"address": "192.0.2." + host[-1]},
                "isobar_public": {"content": base64.b64encode(key(host)).decode()}}
         for host in hosts}
environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), trim_blocks=True,
                                 undefined=jinja2.StrictUndefined)
environment.filters["b64decode"] = lambda text: base64.b64decode(text).decode()
# A host that came later than the others is refused.
(check,) = [task["ansible.builtin.assert"]["that"] for task in play["tasks"]
            if "ansible.builtin.assert" in task]
environment.filters["extract"] = lambda key, table, more: table[key][more]
holds = environment.compile_expression(check)
for there, good in (((1, 1, 1), True), ((0, 0, 0), True), ((1, 1, 0), False)):
    assert holds(groups={"isobar": hosts}, hostvars=states(*there)) is good, there
def write(host, budget_mcpu, name):
    values = dict(play["vars"], isobar_budget_mcpu=budget_mcpu, groups={"isobar": hosts},
                  inventory_hostname=host, hostvars=facts)
    text = environment.get_template("isobard.conf.j2").render(values)
    open(name, "w").write(text.replace("/etc/isobar/%s.key" % host, os.getcwd() + "/n1/host.key"))
for host in hosts:
    write(host, 4001, host + ".conf")
# Less than a thousandth of a CPU for each edge, as with many small hosts.
write("web1", 3 * 11, "small.conf")
END
for host in web1 web2 web3 small; do
	good $host.conf
done
grep -q '^	limit = 500ucpu$' small.conf || complain "$(grep limit small.conf)"
[ "$(amounts endowment web?.conf)" = 4001 ] || complain "$(grep endowment web?.conf)"
# 4001 - 2 * 1333 for the first, but the limits are those of all.
for host in web1 web2 web3; do
	grep -q '^	limit = 661500ucpu$' $host.conf || complain "$(grep limit $host.conf)"
done
[ "$(cat web?.conf | grep -c ^neighbour)" = 6 ] || complain 'not all are neighbours of all'

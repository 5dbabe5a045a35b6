#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A real Prometheus scrapes isobar-exporter; the alert rules and the Grafana dashboard ask
# for nothing that it does not have.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
# shellcheck source=tests/cli/exporter_expect.sh
. "$top_srcdir/tests/cli/exporter_expect.sh"
for program in prometheus promtool jq; do
	command -v $program >/dev/null || { echo "no $program"; exit 77; }
done
rules=$top_srcdir/etc/prometheus/isobar.rules.yml
dashboard=$top_srcdir/etc/grafana/isobar.json

# The rules, by themselves: each fires on what it is for and on nothing else.
run promtool check rules "$rules"
ends 0
cp "$rules" "$top_srcdir/tests/cli/rules.yml" "$work"
run promtool test rules "$work/rules.yml"
ends 0
[ "$actual" -eq 0 ] || cat "$work/stdout" "$work/stderr"
grep -o 'alert: .*' "$rules" | sed 's/alert: //' | sort >"$work/alerts"
grep -o 'alertname="[A-Za-z]*"}'"'" "$work/rules.yml" | cut -d'"' -f2 | sort >"$work/tried"
diff "$work/alerts" "$work/tried" || complain 'not each alert is tried'

for name in a b dead; do
	mkdir "$run_directory/$name"
	sed "s/\"node\": \"a\"/\"node\": \"$name\"/" "$here/answers/a.json" >"$run_directory/$name/status.json"
done
serve "$run_directory/a"
serve "$run_directory/b"
serve "$run_directory/dead"
stop_last
begin --run-directory "$run_directory"

# Whatever is asked for there is.
get /metrics
sed -n 's/^# HELP \([a-z_]*\) .*/\1/p' "$work/stdout" | sort >"$work/families"
for file in "$rules" "$dashboard"; do
	grep -oE '\bisobar_[a-z_]+' "$file" | sort -u >"$work/used"
	[ "$(wc -l <"$work/used")" -gt 10 ] || complain "hardly a metric in $file"
	comm -13 "$work/families" "$work/used" >"$work/missing"
	[ ! -s "$work/missing" ] || { cat "$work/missing"; complain "$file asks for what is not there"; }
done
run jq -e '[.panels[].targets[].expr] | length > 8' "$dashboard"
ends 0
run jq -e '.uid and .title and .schemaVersion and all(.panels[]; .gridPos and .title and .type and
	.datasource.uid == "${datasource}" and all(.targets[]; .refId and .expr))' "$dashboard"
ends 0

# Every state that the published schema has is a label, and none is called "other".
jq -r '."$defs".status.properties | (.halt.enum, .guard.properties.state.enum,
	.neighbours.items.properties.edge.enum)[] // empty' \
	"$top_srcdir/etc/schema/isobarctl.json" >"$work/states"
jq -r '."$defs".status.properties | .state.description, .presence.description' \
	"$top_srcdir/etc/schema/isobarctl.json" |
	sed 's/; or where it is in its life: /, /; s/^of the job: //; s/ or /, /; s/, /\n/g' >>"$work/states"
[ "$(wc -l <"$work/states")" -ge 31 ] || complain "only $(wc -l <"$work/states") states in the schema"
while read -r state; do
	grep -qF "\"$state\"" "$top_srcdir/agent/export/metrics_family.c" ||
		complain "the metrics do not know '$state'"
done <"$work/states"

# Prometheus at a free port: whoever has one already makes it end, and another is tried.
cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [isobar.rules.yml]
scrape_configs:
  - job_name: isobar
    static_configs: [{targets: ["${url#http://}"]}]
END
run promtool check config "$work/prometheus.yml"
ends 0

# As is that of the manual, with these rules.
sed -n '/^\.\\" prometheus$/,/^\.Ed/{/^\./!p;}' "$top_srcdir/man/isobar-exporter.8" |
	sed 's|/usr/share/isobar/prometheus/||' >"$work/manual.yml"
grep -q scrape_configs "$work/manual.yml" || complain 'no prometheus.yml in isobar-exporter(8)'
run promtool check config "$work/manual.yml"
ends 0

# Ready, and ours: what is at this port may be somebody else's, until ours has ended for it.
is_ready() {
	curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null &&
		curl -sf "http://127.0.0.1:$port/api/v1/status/flags" |
		jq -e --arg path "$work/tsdb" '.data."storage.tsdb.path" == $path' >/dev/null
}
start_prometheus() {
	for port in 1 2 3 4 5; do
		port=$((20000 + ($$ * 7 + port * 1013) % 12000))
		prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" \
			--web.listen-address="127.0.0.1:$port" --log.level=warn 2>"$work/prometheus.log" &
		servers="$servers $!"
		tries=0
		while kill -0 $! 2>/dev/null && [ "$tries" -lt 300 ]; do
			is_ready && return 0
			tries=$((tries + 1))
			sleep 0.1
		done
	done
	cat "$work/prometheus.log"
	exit 1
}
start_prometheus
prometheus=http://127.0.0.1:$port

# ask EXPRESSION - "labels value" a line, once there is something, or after 15 s what there is.
ask() {
	command="query $1"
	tries=0
	while :; do
		curl -sG --data-urlencode "query=$1" "$prometheus/api/v1/query" |
			jq -r '.data.result[] | "\(.metric | del(.instance, .job) | tojson) \(.value[1])"' |
			sort >"$work/stdout"
		[ ! -s "$work/stdout" ] || return 0
		tries=$((tries + 1))
		[ "$tries" -lt 75 ] || return 0
		sleep 0.2
	done
}
ask 'isobar_share_cpus'
out '{"__name__":"isobar_share_cpus","cluster":"lab","node":"a"} 0.3
{"__name__":"isobar_share_cpus","cluster":"lab","node":"b"} 0.3'
ask 'isobar_up == 0'
out '{"__name__":"isobar_up","agent":"dead"} 0'
ask 'sum by (cluster) (isobar_share_cpus) + sum by (cluster) (isobar_neighbour_in_flight_cpus)'
out '{"cluster":"lab"} 0.608'
ask 'ALERTS{alertname="IsobarAgentDown"}'
out '{"__name__":"ALERTS","agent":"dead","alertname":"IsobarAgentDown","alertstate":"pending","severity":"critical"} 1'
command='the state of target and rules'
curl -s "$prometheus/api/v1/targets" | jq -r '.data.activeTargets[] | "\(.health) \(.lastError)"' >"$work/stdout"
out 'up '
curl -s "$prometheus/api/v1/rules" | jq -r '.data.groups[].rules[] | select(.health == "err") | .lastError' >"$work/stdout"
out ''
# The expressions of the dashboard, with its variables as Grafana would fill them in.
# shellcheck disable=SC2016 # Grafana's, not the shell's
jq -r '.panels[].targets[].expr' "$dashboard" | sed 's/\$cluster/.*/g; s/\$node/.*/g; s/\$__rate_interval/1m/g' >"$work/expressions"
while read -r expression; do
	command="the dashboard's $expression"
	curl -sG --data-urlencode "query=$expression" "$prometheus/api/v1/query" | jq -r .status >"$work/stdout"
	out success
done <"$work/expressions"
end_exporter

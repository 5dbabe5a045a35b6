# SPDX-License-Identifier: LGPL-2.1-or-later
# What the programs say, and whether the manual explains it: the manual's pages
# first, then C sources.  See mandiag.sh.
#
# All strings of the sources are looked at, so that no way to say something can
# be overlooked: the first string argument of a call that says something is a
# message, and so is every other string that reads like one, three words or
# more, since it may be the reason in another message.  What is none of these
# is in the lists below.

function list(names, set,   n, parts, i) {
	n = split(names, parts, " ")
	for (i = 1; i <= n; i++)
		set[parts[i]] = 1
}

BEGIN {
	# Calls whose first string is a message, or the reason in one.
	says = "^(error_set|error_errno|log_(error|warn|info|at)|fprintf|report|taskwatch_fault" \
		"|end|end_child|note|damaged|busy|warn_forced|confcheck_at_neighbour" \
		"|(.*_)?(say|say_bye|send_bye|fail|fails|failed|refuse|complain|warn))$"
	# Calls whose strings are none: questions, which explain themselves; rows of "check",
	# which name their remedy; what a frame adds in front of a message; what is for those
	# who mend the programs; and what is no language.
	list("log_debug desk_confirm row preflight_say error_wrap " \
	     "printf puts fputs put progress_show page_text page_number metrics_head amounts assert " \
	     "_Static_assert crash_point strcmp strstr json_pack", silent)
	# Files whose other strings are none: help of keys and commands, what is shown on a
	# screen, a page or a drawing, questions of isobarctl, rows of "check", heads of key
	# files, and what only tests print.
	quiet = "^agent/(conf/conf_schema\\.c|conf/allocation\\.h|admin/cluster_conf\\.c|isobar[a-z-]*\\.c" \
		"|train/coordinator_options\\.c|track/plan_options\\.c|sim/scenario_schema\\.c" \
		"|control/statusprint\\.c|export/(page|metrics|chart|html|answers)[a-z_]*\\.[ch]" \
		"|base/gnuplot\\.c|sim/[a-z_]*(plot|print|machine)\\.c" \
		"|ctl/(preflight[a-z]*|isobarctl_bury|isobarctl_member|audit_report)\\.c" \
		"|net/curve\\.c)$|^lib/trade/trade_view\\.c$"
	# The pages that explain what a file's functions say.
	at["agent/export/"] = "isobar-exporter.8"
	at["agent/sim/"] = at["lib/sim/"] = at["lib/graph/"] = "isobar-sim.1 isobar-scenario.5"
	at["agent/ctl/"] = at["agent/admin/"] = at["lib/ledger/audit"] = \
		"isobarctl.8 isobar-cluster.conf.5"
	at["agent/guard/guard.c"] = at["agent/guard/guard_start"] = at["agent/guard/watchdog"] = \
		"isobar-guard.8"
	at["agent/guard/"] = at["agent/node/"] = at["agent/cgroup/"] = at["agent/meter/"] = \
		at["lib/trade/"] = at["lib/ledger/"] = "isobard.8"
	at["agent/control/"] = "isobard.8 isobarctl.8 isobar-protocol.7"
	at["agent/net/"] = "isobard.8 isobarctl.8 isobar-coordinator.8"
	at["agent/net/curve"] = at["agent/net/"] " isobard.conf.5 isobar-coordinator.conf.5"
	at["agent/conf/"] = "isobard.conf.5 isobar-coordinator.conf.5"
	at["agent/track/"] = "isobar-worker.8 isobar-plan.conf.5"
	at["agent/train/"] = "isobar-worker.8 isobar-task.3"
	at["agent/train/coordinator"] = at["agent/train/checkpoint"] = \
		at["agent/train/profile"] = at["agent/train/e"] = "isobar-coordinator.8 " \
		"isobar-coordinator.conf.5 isobar-worker.8 isobar-task.3"
	at["agent/train/dataset"] = at["lib/data/"] = "isobar-data.5"
	at["agent/train/spawn"] = "isobard.8 isobar-coordinator.8"
	at["agent/isobar-worker"] = "isobar-worker.8"
	at["agent/isobar-coordinator"] = "isobar-coordinator.8 isobar-coordinator.conf.5"
	at["agent/isobar-exporter"] = "isobar-exporter.8"
	at["agent/isobar-guard"] = "isobar-guard.8"
	at["agent/isobar-sim"] = "isobar-sim.1"
	at["agent/isobarctl"] = "isobarctl.8"
	at["agent/isobard"] = "isobard.8"
}

# A message and a heading that mean the same are one text: what varies is a
# star, whether it is %s there or NAME here.
function plain(text) {
	sub(/^isobar[a-z-]*: /, "", text)
	gsub(/\\n/, " ", text)
	gsub(/\\"/, "\"", text)
	gsub(/%%s/, "*", text)
	while (match(text, /[a-z]%s/)) # of a plural
		text = substr(text, 1, RSTART) substr(text, RSTART + 3)
	gsub(/%[-+#0]*[0-9*]*(\.[0-9*]*)?(hh|h|ll|l|j|z|t)?[acdefgiopsuxXGE]/, "*", text)
	gsub(/%%/, "%", text)
	gsub(/--[a-z][a-z-]*/, "--*", text)
	gsub(/[A-Z][A-Z_]+/, "*", text)
	text = " " text " "
	while (match(text, /[^A-Za-z][A-Z][^A-Za-z]/))
		text = substr(text, 1, RSTART) "*" substr(text, RSTART + 2)
	gsub(/['"()]/, "", text)
	gsub(/\*([ ,\/]*\*)+/, "*", text)
	gsub(/ +/, " ", text)
	gsub(/^[ *,;:.?]+|[ *,;:.?]+$/, "", text)
	return text
}

function letters(text) {
	gsub(/[^A-Za-z]/, "", text)
	return length(text)
}

function words(text,   n, parts, i, count) {
	n = split(text, parts, / +/)
	for (i = 1; i <= n; i++)
		if (parts[i] ~ /^[("\047]?[a-z][a-z\047-]+[,:;.)]?$/)
			count++
	return count + 0
}

# Whether part is in text, whole words of it.
function has(text, part,   i) {
	i = index(" " text " ", part)
	return i > 0 && \
		substr(" " text " ", i - 1, 1) !~ /[a-z]/ && \
		substr(" " text " ", i + length(part), 1) !~ /[a-z]/
}

function add_heading(text, page,   n, parts, i, tail) {
	text = plain(text)
	if (text == "")
		return
	heading[++headings] = text
	on[headings] = page
	# Without what a frame has put in front of it.
	n = split(text, parts, ": ")
	for (i = n; i > 1; i--) {
		tail = parts[i] (tail == "" ? "" : ": " tail)
		heading[++headings] = tail
		on[headings] = page
	}
}

function is_explained(text, file,   i, prefix, best, pages) {
	for (prefix in at)
		if (index(file, prefix) == 1 && length(prefix) > length(best))
			best = prefix
	pages = best == "" ? "" : " " at[best] " isobar.7 "
	for (i = 1; i <= headings; i++) {
		if (heading[i] != text && !(letters(heading[i]) >= 12 && has(text, heading[i])) &&
		    !(letters(text) >= 12 && has(heading[i], text)))
			continue
		if (pages == "" || index(pages, " " on[i] " ") > 0)
			return 1
		elsewhere = on[i]
	}
	return 0
}

# The classes that are explained as such, in isobar(7): what ends in the words
# of the system, and a frame around the reason that follows.
function is_of_a_class(text, raw, caller) {
	if (caller == "failed" || (caller == "fail" && FILENAME == "agent/train/spawn.c"))
		return 1
	if (caller == "error_errno" && text !~ /[:;]/ && raw !~ /\(/)
		return 1
	return letters(text) <= 10 && raw ~ /%s/
}

function judge(raw, caller, first, is_format, line,   text) {
	if (caller in silent || raw == "it has not")
		return
	if (caller == "fprintf" && first != "stderr" || raw ~ /\\r|\\"error\\"/)
		return
	if (caller ~ says ? !is_format || raw !~ / / : FILENAME ~ quiet)
		return
	if (caller !~ says && words(raw) < 3)
		return
	text = plain(raw)
	messages++
	if (text == "" || is_of_a_class(text, raw, caller)) {
		classed++
		return
	}
	elsewhere = ""
	if (is_explained(text, FILENAME))
		return
	print FILENAME ":" line ": the manual does not explain \"" raw "\"" \
		(elsewhere != "" ? " where it is said, only in " elsewhere : "")
	bad++
}

# The first column of isobarctl check.
function judge_row(text, line) {
	if (text in rows)
		return
	print FILENAME ":" line ": isobarctl(8) has no row of check \"" text "\""
	bad++
}

function flush(   is_format) {
	if (is_run && text != "") {
		if (depth > 0 && format_at[depth] == "")
			format_at[depth] = commas[depth]
		is_format = depth > 0 && format_at[depth] == commas[depth]
		if (name[depth] ~ /^(row|preflight_say|preflightnet_check|check_directory)$/ &&
		    commas[depth] == 1)
			judge_row(text, from)
		judge(text, name[depth], first[depth], is_format, from)
	}
	is_run = 0
	text = ""
}

FILENAME ~ /\.[1-8]$/ {
	if (FNR == 1)
		inside = 0
	if (/^\.Bl -diag/)
		inside = 1
	else if (/^\.El/)
		inside = 0
	page = FILENAME
	sub(/.*\//, "", page)
	if (/^\.It / && inside) {
		add_heading(substr($0, 5), page)
	} else if (/^\.It Sy /) {
		rows[substr($0, 8)] = 1
		add_heading(substr($0, 8), page)
	} else if (inside && /^\.(Pq or |Pq )?Qq /) {
		quoted = $0
		sub(/^\.(Pq or |Pq )?Qq /, "", quoted)
		sub(/ [.,;:]$/, "", quoted)
		gsub(/\\&/, "", quoted)
		add_heading(quoted, page)
	}
	next
}

# From here on C: strings that stand together are one, and each knows the call
# that it is an argument of.
FNR == 1 { depth = is_run = comment = 0; text = word = name[0] = first[0] = "" }
/^[ \t]*#/ && !/^[ \t]*#define/ { next }
/^[{}]/ { depth = 0 }
{
	rest = $0
	while (rest != "") {
		if (comment) {
			if ((i = index(rest, "*/")) == 0)
				break
			rest = substr(rest, i + 2)
			comment = 0
			continue
		}
		c = substr(rest, 1, 1)
		if (c == "\"") {
			match(rest, /^"([^"\\]|\\.)*"/)
			if (!is_run)
				from = FNR
			is_run = 1
			text = text (word ~ /^[A-Z][A-Z_0-9]+$/ ? "%s" : "") \
				substr(rest, 2, RLENGTH - 2)
			word = ""
			rest = substr(rest, RLENGTH + 1)
		} else if (substr(rest, 1, 2) == "/*") {
			comment = 1
			rest = substr(rest, 3)
		} else if (substr(rest, 1, 2) == "//") {
			break
		} else if (c == "\047") {
			match(rest, /^\047([^\047\\]|\\.)*\047/)
			rest = substr(rest, RLENGTH + 1)
		} else if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
			word = substr(rest, 1, RLENGTH)
			rest = substr(rest, RLENGTH + 1)
			if (depth > 0 && commas[depth] == 0)
				first[depth] = word
			if (is_run) { # a macro, such as PRIu64
				text = text "%s"
				word = ""
			}
		} else if (c ~ /[ \t]/) {
			rest = substr(rest, 2)
		} else {
			flush()
			if (c == "(") {
				name[++depth] = word
				commas[depth] = 0
				format_at[depth] = first[depth] = ""
			} else if (c == ")" && depth > 0) {
				depth--
			} else if (c == "," && depth > 0) {
				commas[depth]++
			}
			word = ""
			rest = substr(rest, 2)
		}
	}
}

END {
	if (messages < 800) {
		print "only " messages + 0 " messages found"
		bad++
	}
	if (verbose)
		print messages " messages, " classed " of a class, " bad + 0 " not explained"
	exit bad > 0
}

# SPDX-License-Identifier: LGPL-2.1-or-later
# Many programs' TAP into one list.  Each test keeps its name behind that of its
# program; a program without a plan, or that ends badly without a failed test
# of its own, is a failed test.
function result(ok, text) {
	print (ok ? "ok " : "not ok ") ++count " - " text
}
/^vm-program / {
	program = $2
	plan = -1
	seen = failed = skipped = 0
	programs++
	next
}
/^vm-status / {
	if (plan < 0 || seen != plan && !skipped)
		result(0, program ": ended with " $2 " after " seen " of its tests")
	else if ($2 != 0 && !failed)
		result(0, program ": all its tests passed but it ended with " $2)
	program = ""
	next
}
/^vm-end/ { finished = 1; next }
/^1\.\.0/ {
	plan = 0
	skipped = 1
	sub(/^1\.\.0 *#? *(SKIP|skip)? */, "")
	result(1, program " # SKIP " $0)
	next
}
/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; next }
/^(not )?ok / {
	ok = $1 == "ok"
	failed += !ok
	seen++
	sub(/^(not )?ok *[0-9]* *-? */, "")
	result(ok, program ": " $0)
	next
}
{ print "# " $0 }
END {
	if (program != "")
		result(0, program ": the machine stopped in it")
	if (!finished || programs != expected)
		result(0, "ran " programs + 0 " of " expected " programs")
	print "1.." count
}

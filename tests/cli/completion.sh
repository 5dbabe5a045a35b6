#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the shells offer is what isobarctl has: its commands, their words and its options.
set -eu
# shellcheck source=tests/cli/expect.sh disable=SC2154
. "$top_srcdir/tests/cli/expect.sh"
PATH=$top_builddir/agent:$PATH
commands=$("$ctl" help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | sort)
options=$("$ctl" help | sed -n '/^options:/,$s/.* \(--[a-z-]*\) .*/\1/p' | sort)
tried=0

# bash_offers WORD... - for the last of them.
bash_offers() {
	# shellcheck disable=SC2016 # for bash
	run bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _isobarctl isobarctl
		printf "%s\n" "${COMPREPLY[@]}"' bash "$top_srcdir/etc/completion/isobarctl.bash" isobarctl "$@"
	LC_ALL=C sort -o "$work/stdout" "$work/stdout"
}
fish_offers() { # LINE
	run fish --no-config -c "source $top_srcdir/etc/completion/isobarctl.fish; complete -C '$1'"
	sed 's/	.*//' "$work/stdout" | LC_ALL=C sort >"$work/kept"
	mv "$work/kept" "$work/stdout"
}
# zsh completes in a terminal alone; what it would offer is taken from the calls it makes.
zsh_offers() { # WORD...
	cat >"$work/zsh" <<'END'
_describe() { local -a all; all=("${(@P)2}"); print -l -- ${all%%:*} }
compadd() { print -l -- "${(@P)2}" }
_files() { print files }
file=$1; shift
words=(isobarctl "$@") CURRENT=$(($# + 1))
source $file
END
	run zsh -f "$work/zsh" "$top_srcdir/etc/completion/_isobarctl" "$@"
	LC_ALL=C sort -o "$work/stdout" "$work/stdout"
}

if command -v bash >/dev/null; then
	tried=$((tried + 1))
	bash_offers ''
	out "$commands"
	bash_offers -i a log
	out log-level
	bash_offers registry ''
	out 'create
show'
	bash_offers log-level w
	out warning
	bash_offers status --soc
	out --socket
	for option in $options; do
		bash_offers status "$option"
		out "$option"
	done
fi
if command -v fish >/dev/null; then
	tried=$((tried + 1))
	fish_offers 'isobarctl '
	out "$commands"
	fish_offers 'isobarctl registry '
	out 'create
show'
	fish_offers 'isobarctl status --soc'
	out --socket
fi
if command -v zsh >/dev/null; then
	tried=$((tried + 1))
	zsh_offers ''
	out "$commands"
	zsh_offers registry ''
	out 'create
show'
	zsh_offers status --
	out "$options"
	zsh_offers check -f ''
	out files
fi
[ "$tried" -gt 0 ] || { echo 'no shell to complete in'; exit 77; }

# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Completion for bash.  It asks `isobarctl help`, so it knows what isobarctl knows.
_isobarctl() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} word command=
	local help commands
	help=$("$1" help 2>/dev/null) || return 0
	commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<<"$help")
	COMPREPLY=()
	case $before in
	-i | --instance)
		mapfile -t COMPREPLY < <(cd /run/isobar 2>/dev/null && compgen -d -- "$current")
		return 0
		;;
	-f | --file | -o | --output | -c | --cluster | --socket | --run-directory)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return 0
		;;
	esac
	if [[ $current == -* ]]; then
		word=$(sed -n '/^options:/,$s/^ *\(-.\)\{0,1\},\{0,1\} *\(--[a-z-]*\).*/\1 \2/p' <<<"$help")
		mapfile -t COMPREPLY < <(compgen -W "$word" -- "$current")
		return 0
	fi
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		if grep -qxF -e "$word" <<<"$commands"; then
			command=$word
		fi
	done
	if [[ -n $command ]]; then # its words: create|show
		commands=$(sed -n "s/^  $command \[*\([a-z]*|[a-z|]*\).*/\1/p" <<<"$help" | tr '|' '\n')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
}
complete -o filenames -F _isobarctl isobarctl

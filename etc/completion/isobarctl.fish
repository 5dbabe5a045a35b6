# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion for fish.  It asks `isobarctl help`, so it knows what isobarctl knows.
function __isobarctl_commands
    isobarctl help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'
end
function __isobarctl_command
    set -l known (__isobarctl_commands)
    for word in (commandline -opc)[2..-1]
        if contains -- $word $known
            echo $word
            return 0
        end
    end
    return 1
end
function __isobarctl_words
    set -l command (__isobarctl_command)
    isobarctl help 2>/dev/null | sed -n "s/^  $command \[*\([a-z]*|[a-z|]*\).*/\1/p" | string split '|'
end
function __isobarctl_options
    isobarctl help 2>/dev/null | sed -n '/^options:/,$s/^ *\(-., \)\{0,1\}\(--[a-z-]*\) .*/\2/p'
end
complete -c isobarctl -f
complete -c isobarctl -n 'not __isobarctl_command >/dev/null' -a '(__isobarctl_commands)'
complete -c isobarctl -n '__isobarctl_command >/dev/null' -a '(__isobarctl_words)'
complete -c isobarctl -n 'string match -q -- "-*" (commandline -ct)' -a '(__isobarctl_options)'
complete -c isobarctl -s i -l instance -x -a '(for d in /run/isobar/*/; basename $d; end)'
complete -c isobarctl -s f -l file -r -F
complete -c isobarctl -s c -l cluster -r -F
complete -c isobarctl -s o -l output -r -F

# SPDX-License-Identifier: MIT
# fish completion for ohsandbox. Names come from --help, so that there is one list.

function __ohsandbox_commands
	ohsandbox --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end

function __ohsandbox_command
	set -l words (commandline -opc)
	test (count $words) -ge 2; and echo $words[2]
end

function __ohsandbox_options
	ohsandbox (__ohsandbox_command) --help 2>/dev/null |
		sed -n 's/^ *\(-[A-Za-z],\)\{0,1\} *\(--[a-z-]*\)\( [^ ]*\)\{0,1\}  *\(.*\)/\2\t\4/p'
end

function __ohsandbox_sessions
	ohsandbox list 2>/dev/null | awk 'NR > 1 { print $1; if ($4 != "-") print $4 }'
end

function __ohsandbox_is
	contains -- (__ohsandbox_command) $argv
end

complete -c ohsandbox -f
complete -c ohsandbox -n 'test -z (__ohsandbox_command)' -a '(__ohsandbox_commands)'
complete -c ohsandbox -n 'test -n (__ohsandbox_command)' -a '(__ohsandbox_options)'
complete -c ohsandbox -n '__ohsandbox_is stop pause resume show act diff' -a '(__ohsandbox_sessions)'
complete -c ohsandbox -n '__ohsandbox_is policy' -a 'check show'
complete -c ohsandbox -n '__ohsandbox_is run start' -l repo -x -a '(__fish_complete_directories)'
complete -c ohsandbox -n '__ohsandbox_is run start' -l dir -x -a '(__fish_complete_directories)'
complete -c ohsandbox -n '__ohsandbox_is run start' -l rootfs -x -a '(__fish_complete_directories)'
complete -c ohsandbox -n '__ohsandbox_is run start' -l env-file -r -F
complete -c ohsandbox -n '__ohsandbox_is run start' -l net -x -a 'none nat'
complete -c ohsandbox -n '__ohsandbox_is run start' -s u -l user -x -a 'agent openhands root'
complete -c ohsandbox -n '__ohsandbox_is run' -a '(__fish_complete_command)'
complete -c ohsandbox -n '__ohsandbox_is serve' -s c -l config -r -F
complete -c ohsandbox -n '__ohsandbox_is serve' -l key-file -r -F
complete -c ohsandbox -n '__ohsandbox_is serve' -l socket -r -F
complete -c ohsandbox -n '__ohsandbox_is serve' -l allow-repo -x -a '(__fish_complete_directories)'
complete -c ohsandbox -n '__ohsandbox_is serve' -l log -x -a 'text json'

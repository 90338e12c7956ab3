# SPDX-License-Identifier: MIT
# 24_sudo.sh - `sudo` inside: who may, what the command gets, its terminal, its end.
#
# With a single id there is nobody else to be had, and that is said.
# shellcheck shell=bash disable=SC2154

file_setup() {
	make_repo "$BASE/work/repo"
	# Says when it is there, and when it was told to go on: only then is a key for it. It starts nothing: a
	# shell that vforks and whose child is stopped before its exec waits for it, and is never seen to stop.
	as_me mkdir "$BASE/work/t"
	as_me tee "$BASE/work/t/wait" >/dev/null <<-'END'
		#!/bin/bash
		trap 'echo goes on' CONT
		exec 9<> <(:)
		echo up
		while :; do read -r -t 0.05 -u 9; done
	END
	as_me chmod 755 "$BASE/work/t/wait"
	cd "$BASE/work/repo" || return 1
	ohs start >"$BASE/session.json" || return 1
	kept "$(session_id)"
}

file_teardown() { ohs stop "$(session_id)"; }

session_id() { jq -r .id "$BASE/session.json"; }

# In the session of this file: sets $out to what the terminal of the actions' shell shows.
inside() {
	run ohs act "$(session_id)" run "$1"
	out=$(jq -r .content <<<"$out")
}

# In one of its own.
in_run() { run ohs run -q --empty "$@"; }

# One id is one user: the rest of the file is about two.
need_two() { [ "$OHS_AS" != single ] || not_mine; }

test_with_a_single_id_nobody_else_is_to_be_had_and_that_is_said() {
	[ "$OHS_AS" = single ] || not_mine
	in_run -- sudo true
	assert_status 1
	assert_contains "$err" "sudo: 'root' cannot be had: this session has a single id, because who started it has no subordinate ids"
	in_run -- sudo -v
	assert_status 1
	# Who wants to be who he is needs nobody's leave: scripts of images call sudo as root, too.
	in_run -- sudo -u openhands sh -c 'echo "$USER $SUDO_USER"'
	assert_eq "openhands openhands" "$out"
	in_run --user root -- sudo sh -c 'id -u; echo "$SUDO_UID"; exit 5'
	assert_status 5
	assert_eq $'0\n0' "$out"
	in_run --user root -- sudo -u openhands id -u
	assert_status 1
	assert_contains "$err" "'openhands' cannot be had: this session has a single id"
}

test_a_policy_without_root_says_so() {
	[ "$OHS_AS" = root ] || not_mine
	in_run --policy strict -- sudo true
	assert_status 1
	assert_contains "$err" "sudo: 'root' cannot be had: the policy of this session does not allow root"
	in_run --policy strict -- sudo -u openhands id -u
	assert_eq 1000 "$out"
}

test_the_program_is_the_first_that_is_found_in_every_session() {
	inside 'command -v sudo; sudo --version'
	assert_contains "$out" "/usr/local/bin/sudo"
	assert_contains "$out" "sudo of ohsandbox"
	in_run -- sh -c 'command -v sudo; PATH=/usr/bin:/bin; sudo -V || echo none'
	assert_contains "$out" "/usr/local/bin/sudo"
	# Where /usr can be written it is in /usr/bin too: a host's sudo does not show.
	need root
	inside '/usr/bin/sudo --version; PATH=/usr/bin:/bin; sudo -V'
	assert_eq 2 "$(grep -c 'sudo of ohsandbox' <<<"$out")"
	in_run --user root -- /usr/bin/sudo -V
	assert_contains "$out" "sudo of ohsandbox"
}

test_python_is_there_where_python3_is() {
	need cmd python3
	inside 'python -c "print(6 * 7)"; head -c 0 /dev/null; command -v python'
	assert_contains "$out" 42
	in_run -- python -c 'import sys; print(sys.version_info[0], sys.prefix)'
	assert_match "$out" '^[23] '
}

test_a_command_runs_as_root_and_as_the_user() {
	need_two
	inside 'sudo id -u; sudo -u openhands id -u; sudo sudo -u openhands id -un; sudo -u "#0" id -un; sudo -u root whoami'
	assert_eq $'0\n1000\nopenhands\nroot\nroot' "$out"
	inside 'sudo sudo sudo id -u'
	assert_eq 0 "$out"
}

test_others_are_refused_by_name() {
	need_two
	inside 'sudo -u bob id; echo $?'
	assert_eq $'sudo: unknown user \'bob\'\n1' "$out"
	inside 'sudo -u nobody id; echo $?'
	assert_eq $'sudo: user \'nobody\': the users of this session are \'openhands\' and \'root\'\n1' "$out"
	inside 'sudo -u "#4242" id; echo $?'
	assert_contains "$out" "user '#4242': the users of this session"
}

test_other_users_of_the_session_may_not() {
	need_two
	need cmd perl
	# setpriv wants to keep capabilities, which is locked.
	inside 'sudo perl -e "\$) = \$( = 33; \$> = \$< = 33; exec @ARGV" sudo id -u; echo $?'
	assert_eq $'sudo: uid 33 may not: only \'openhands\' and \'root\' may\n1' "$out"
	inside 'sudo perl -e "\$) = \$( = 33; \$< = \$> = 33; exec @ARGV" sudo -u openhands id -u; echo $?'
	assert_contains "$out" "uid 33 may not"
}

test_root_by_sudo_has_what_the_policy_gives_root_and_no_more() {
	need_two
	in_run --user root -- grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status
	assert_match "$out" 'CapEff:.*fb'
	local by_policy=$out
	in_run -- sudo grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status
	assert_eq "$by_policy" "$out"
	in_run -- grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status
	by_policy=$out
	in_run -- sudo sudo -u openhands grep -E '^(Cap|NoNewPrivs|Seccomp)' /proc/self/status
	assert_eq "$by_policy" "$out"
}

test_exit_status_and_death_by_signal_are_the_commands() {
	need_two
	inside 'sudo true; echo $?; sudo sh -c "exit 7"; echo $?; sudo sh -c "kill -TERM \$\$"; echo $?; sudo sh -c "kill -9 \$\$"; echo $?'
	assert_eq "0 7 143 137" "$(grep -E '^[0-9]+$' <<<"$out" | paste -sd' ')"
	inside 'sudo nosuchcommand; echo $?; sudo /etc/passwd; echo $?; sudo /no/such; echo $?'
	assert_eq $'sudo: nosuchcommand: command not found\n1\nsudo: /etc/passwd: Permission denied\n1\nsudo: /no/such: command not found\n1' "$out"
}

test_directory_and_umask_are_the_callers() {
	need_two
	inside 'mkdir -p /tmp/d/deep && cd /tmp/d/deep && umask 027 && sudo sh -c "pwd; umask; touch f" && stat -c "%a %U" f; cd /tmp; umask 022'
	assert_eq $'/tmp/d/deep\n0027\n640 root' "$out"
	inside 'sudo -D /usr pwd; sudo --chdir=/no/such pwd; echo $?'
	assert_eq $'/usr\nsudo: enter \'/no/such\': No such file or directory\n1' "$out"
	# Where the user may not go he does not stay, and is told.
	inside 'sudo mkdir -pm 700 /srv/shut; sudo sh -c "cd /srv/shut && sudo -u openhands pwd" 2>&1'
	assert_eq $'sudo: the command begins in \'/\': the current directory cannot be entered: Permission denied\n/' "$out"
}

test_descriptors_are_the_callers_and_no_others() {
	need_two
	inside 'echo x | sudo tee /etc/made >/dev/null; cat /etc/made; stat -c %U /etc/made'
	assert_eq $'x\nroot' "$out"
	inside 'sudo sh -c "echo out; echo err >&2" 2>/tmp/err >/tmp/out; cat /tmp/out /tmp/err'
	assert_eq $'out\nerr' "$out"
	inside 'exec 7</etc/passwd; sudo ls /proc/self/fd | paste -sd" "; exec 7<&-'
	assert_eq "0 1 2 3" "$out"
	inside 'sudo sh -c "readlink /proc/self/fd/0 /proc/self/fd/1" <&- | sed "s/[0-9]\+/N/"'
	assert_eq $'/dev/null\npipe:[N]' "$out"
}

test_much_data_goes_through_as_it_is() {
	need_two
	inside 'head -c 30000000 /dev/urandom >/tmp/bytes; sudo cat <bytes </tmp/bytes | sudo cat | cmp - /tmp/bytes && echo same'
	assert_eq same "$out"
	in_run -- sh -c 'seq 1 200000 | sudo tee /dev/stderr 2>&1 >/dev/null | tail -n 1'
	assert_eq 200000 "$out"
}

test_the_environment_is_that_of_sudo_anywhere() {
	need_two
	inside 'SECRET=1 LD_X=2 sudo env | grep -E "^(SECRET|LD_X|HOME|PATH|USER|LOGNAME|SUDO_)" | sort'
	assert_eq 'HOME=/root
LOGNAME=root
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
SUDO_COMMAND=env
SUDO_GID=0
SUDO_UID=1000
SUDO_USER=openhands
USER=root' "$out"
	inside 'SECRET=1 sudo -E sh -c "echo \$SECRET \$HOME \$USER"; sudo A="b c" sh -c "echo \$A"; SECRET=1 sudo --preserve-env=SECRET printenv SECRET'
	assert_eq $'1 /home/openhands root\nb c\n1' "$out"
	# What the session gives every process is there, as /etc/environment would be.
	in_run --env GIVEN=yes -- sudo printenv GIVEN
	assert_eq yes "$out"
}

test_shells_are_login_shells_and_others() {
	need_two
	inside "sudo -i pwd; sudo -i echo 'a  b' '\$HOME'; sudo -s echo 'a;b' \"'\"; echo 'echo \$0 \$-; pwd' | sudo -i"
	assert_eq $'/root\na  b /root\na;b \'\n-bash s\n/root' "$(tr -d '\r' <<<"$out" | sed 's/^-bash .*/-bash s/')"
	inside 'cd /tmp; echo "pwd; echo \$USER" | sudo -s'
	assert_eq $'/tmp\nroot' "$out"
}

test_options_that_need_no_password_here_are_taken() {
	need_two
	inside 'sudo -n true && sudo -S true </dev/null && sudo -k true && sudo -K && sudo -k && sudo -v && sudo -p x true && sudo -nHE -- true && echo well'
	assert_eq well "$out"
	inside 'sudo -l; sudo -l id'
	assert_contains "$out" "(root) NOPASSWD: SETENV: ALL"
	assert_contains "$out" "/usr/bin/id"
	inside 'sudo -g adm id; sudo; echo $?'
	assert_contains "$out" "option '-g' (--group) is not to be had here"
	assert_contains "$out" "usage: sudo"
	assert_contains "$out" $'\n1'
}

test_a_long_command_line_arrives() {
	need_two
	inside 'sudo printf "%s\n" $(seq 1 50000) | tail -n 1; sudo sh -c "echo \${#1}" x "$(head -c 120000 /dev/zero | tr "\0" x)"'
	assert_eq $'50000\n120000' "$out"
}

test_a_signal_to_sudo_reaches_the_command() {
	need_two
	inside 'sudo sh -c "trap \"echo got; exit 3\" TERM; echo up; while :; do sleep 0.05; done" >/tmp/log & until grep -qs up /tmp/log; do sleep 0.05; done; sudo kill -TERM $!; wait $!; echo $?; cat /tmp/log'
	assert_contains "$out" $'3\nup\ngot'
}

test_without_sudo_its_command_ends() {
	need_two
	inside 'sudo sh -c "echo \$\$ >/tmp/pid; exec sleep 1000" & until [ -s /tmp/pid ]; do sleep 0.05; done; kill -9 $!; wait $!; until ! sudo kill -0 "$(cat /tmp/pid)" 2>/dev/null; do sleep 0.05; done; echo gone'
	assert_contains "$out" gone
}

# Each of its stops is told of: that is no reason to wait for ever.
test_a_command_that_never_keeps_still_ends_without_sudo() {
	need_two
	in_run -- bash -c 'sudo sh -c "trap \"\" HUP TERM; echo \$\$ >/tmp/pid; while :; do sleep 0.05; done" & until [ -s /tmp/pid ]; do sleep 0.05; done; pid=$(cat /tmp/pid); (sudo sh -c "while kill -STOP $pid && kill -CONT $pid; do sleep 0.3; done" 2>/dev/null &); kill -9 $!; for ((i = 0; i < 400; i++)); do sudo kill -0 "$pid" 2>/dev/null || exit 0; sleep 0.05; done; echo "it is still there"'
	assert_eq "" "$out"
}

test_sudo_outlives_its_shell_in_the_background() {
	need_two
	inside 'rm -f /tmp/bg; sudo -b sh -c "sleep 0.3; id -u >/tmp/bg"; echo "$?"; until [ -s /tmp/bg ]; do sleep 0.05; done; cat /tmp/bg'
	assert_eq $'0\n0' "$out"
	inside 'rm -f /tmp/nh; (nohup sudo sh -c "trap - HUP; until [ -e /tmp/go ]; do sleep 0.05; done; id -u >/tmp/nh" >/dev/null 2>&1 &); until pid=$(pgrep -x sudo); do sleep 0.05; done; kill -HUP $pid; touch /tmp/go; until [ -s /tmp/nh ]; do sleep 0.05; done; cat /tmp/nh'
	assert_eq 0 "$out"
}

# Of what init started and is no program yet: no porter and no monitor is left.
only_the_server() { [ "$(pgrep -c -P "$(jq .init_pid "$BASE/session.json")" -f '^ohsandbox-init')" -eq 1 ]; }

test_many_at_once_are_served() {
	need_two
	inside 'for i in $(seq 40); do sudo id -u & done | sort | uniq -c | tr -s " "; wait'
	assert_eq "40 0" "${out# }"
	wait_until 10 only_the_server
}

# ---- a terminal ---------------------------------------------------------------------------------

# terminal: an interactive shell of a `run` in a terminal. `keys TEXT` types, `shows TEXT` waits for it behind what
# was waited for before. Its prompts are numbered, so that `prompt` knows the next one; `line TEXT` types and waits
# for that. What is typed while a command of sudo's runs is that command's.
terminal() {
	need cmd script
	as_me mkfifo keys
	as_me script -qfec "stty rows 30 cols 99; '$STAGE/bin/ohsandbox' run -q --empty --mount '$BASE/work/t:/t:ro' -- env PS1='<\#>' TERM=xterm bash --norc --noprofile --noediting -i" typescript <keys >/dev/null 2>&1 &
	terminal_job=$!
	exec {terminal_fd}>keys
	trap 'kill $terminal_job 2>/dev/null || true' EXIT # where the test fails on its way
	seen=0
	number=0
	prompt
}

keys() { printf "$1" >&"$terminal_fd"; }

shows() { wait_until 20 shown "$1" || fail "the terminal does not show '$1' but: $(tail -c +$((seen + 1)) typescript | tr -d '\r')"; }

shown() {
	local at

	at=$(LC_ALL=C grep -aobF -- "$1" typescript 2>/dev/null | cut -d: -f1 | awk -v from="$seen" '$1 >= from { print; exit }')
	[ -n "$at" ] || return 1
	seen=$((at + ${#1}))
}

prompt() { shows "<$((++number))>"; }

line() {
	keys "$1\r"
	prompt
}

leave() {
	keys 'exit\r'
	exec {terminal_fd}>&-
	wait $terminal_job
}

test_a_command_in_a_terminal_has_one_of_its_own() {
	need_two
	terminal
	keys 'sudo sh -c "tty; stty size; test -t 0 -a -t 1 -a -t 2 && echo a""ll; stat -c %%U \\$(tty)"\r'
	shows /dev/pts/
	shows '30 99'
	shows all
	shows root
	prompt
	line 'stty rows 20 cols 50'
	keys 'sudo stty size\r'
	shows '20 50'
	prompt
	leave
}

test_a_change_of_size_reaches_the_command() {
	need_two
	terminal
	keys 'sudo sh -c "trap \\"stty size; exit\\" WINCH; echo u""p; while :; do sleep 0.05; done"\r'
	shows $'up\r'
	as_me stty rows 25 cols 77 <"$(terminal_of_script)"
	shows '25 77'
	prompt
	leave
}

# The one that script made, as the host sees it: its first child's.
terminal_of_script() { readlink "/proc/$(children_of "$(pgrep -P "$terminal_job" -x script || echo "$terminal_job")" | head -n 1)/fd/0"; }

test_ctrl_c_ends_the_command_and_not_the_shell() {
	need_two
	terminal
	keys 'sudo /t/wait\r'
	shows $'up\r'
	keys '\003'
	prompt
	line 'echo "status $?"'
	shown_before 'status 130'
	line 'stty -a'
	shown_before ' icanon'
	leave
}

# Between the last prompt but one and the last.
shown_before() { assert_contains "$(head -c "$seen" typescript | tail -n 20)" "$1"; }

test_ctrl_z_stops_it_and_fg_goes_on() {
	need_two
	terminal
	keys 'sudo sh -c "echo u""p; read x; echo \\"got $""x\\""\r'
	shows $'up\r'
	keys '\032'
	shows Stopped
	prompt
	line 'jobs'
	shown_before Stopped
	# It reads from behind: it stops for that.
	line 'bg'
	line 'until jobs | grep Stopped; do sleep 0.05; done'
	keys 'fg\r'
	shows 'sudo sh'
	keys 'word\r'
	shows 'got word'
	prompt
	leave
}

# Does it have the foreground of its terminal? A shell that gives it tells nobody.
in_front() { [ "$(awk '{ print ($5 == $8) }' "/proc/$(pgrep -f "^$1\$")/stat")" = 1 ]; }

test_a_job_in_the_background_is_one() {
	need_two
	local name=in-front-$RANDOM
	terminal
	keys "sudo /t/wait $name &\\r"
	shows $'up\r'
	prompt_or_seen
	line 'jobs'
	shown_before Running
	keys 'fg\r'
	wait_until 20 in_front "sudo /t/wait $name"
	keys '\003'
	prompt
	line 'echo "status $?"'
	shown_before 'status 130'
	leave
}

# The prompt and what a job in the background writes come in any order.
prompt_or_seen() {
	number=$((number + 1))
	wait_until 20 grep -aqF "<$number>" typescript || fail "no prompt $number"
}

test_ctrl_c_ends_both_ends_of_a_pipeline() {
	need_two
	terminal
	keys 'sudo /t/wait | cat\r'
	shows $'up\r'
	keys '\003'
	prompt
	line 'echo "status ${PIPESTATUS[*]}"; pgrep -f ^/bin/bash./t/wait || echo no""ne'
	shown_before 'status 130 130'
	shown_before none
	keys 'sudo cat | tr a-z A-Z\r'
	keys 'words\r'
	shows WORDS
	keys '\004'
	prompt
	leave
}

test_an_interactive_shell_of_roots_has_job_control() {
	need_two
	terminal
	keys "sudo PS1='[\\#]' bash --norc --noediting\\r"
	shows '[1]'
	keys 'id -u; /t/wait\r'
	shows $'0\r'
	shows $'up\r'
	keys '\032'
	shows Stopped
	shows '[2]'
	keys 'fg\r'
	shows 'goes on'
	keys '\003'
	shows '[3]'
	keys 'suspend\r'
	shows Stopped
	prompt
	keys 'fg\r'
	shows '[4]'
	keys 'sudo -u openhands id -u\r'
	shows 1000
	shows '[5]'
	keys 'exit 4\r'
	prompt
	line 'echo "status $?"'
	shown_before 'status 4'
	leave
}

test_an_editor_works() {
	need_two
	need cmd vim
	terminal
	keys 'sudo vim -u NONE -n /etc/edited\r'
	shows '[New'
	keys 'ihello'
	shows hello
	keys '\033:stop\r'
	shows Stopped
	prompt
	keys 'fg\r'
	shows hello
	keys '\003'
	shows 'Type  :qa'
	keys ':wq\r'
	prompt
	line 'cat /etc/edited; stat -c "of %%U" /etc/edited'
	shown_before hello
	shown_before 'of root'
	leave
}

test_lines_end_once_wherever_the_command_runs() {
	need_two
	terminal
	keys 'sudo sh -c "echo a""b; echo c""d"; sudo sh -c "echo e""f; echo g""h" | cat; sudo sh -c "echo i""j; echo k""l" </dev/null\r'
	shows $'ab\r\ncd\r\n'
	shows $'ef\r\ngh\r\n'
	shows $'ij\r\nkl\r\n'
	leave
}

# action COMMAND SECONDS: by the session's address; the observation is in the file "seen".
action() {
	jq -nc --arg c "$1" --argjson t "$2" '{action: {action: "run", args: {command: $c}, timeout: $t}}' |
		curl -s -m 60 -H "X-Session-API-Key: $(jq -r .session_api_key "$BASE/session.json")" -d @- \
			"$(jq -r .url "$BASE/session.json")/execute_action" >seen
}

# As the host sees them.
groups_of() { cat "/proc/$(pgrep -f "^$1\$")/cgroup"; }

test_the_command_is_in_the_group_of_who_asked() {
	need root
	need cmd curl
	local number=$((20000 + RANDOM))
	action "sudo sleep $number" 1
	assert_contains "$(groups_of "sudo sleep $number")" "$(session_id)/work/"
	assert_eq "$(groups_of "sudo sleep $number")" "$(groups_of "sleep $number")" "groups"
	action C-c 20
	assert_eq 130 "$(jq .extras.metadata.exit_code seen)"
}

test_the_shell_of_actions_takes_keys_too() {
	need_two
	need cmd curl
	action 'sudo sleep 1000' 1
	assert_eq -1 "$(jq .extras.metadata.exit_code seen)"
	action C-c 20
	assert_eq 130 "$(jq .extras.metadata.exit_code seen)"
	action 'sudo sleep 1000' 1
	action C-z 20
	assert_eq 148 "$(jq .extras.metadata.exit_code seen)"
	action 'kill %1; wait 2>/dev/null; pgrep -x sleep || echo none' 20
	assert_contains "$(jq -r .content seen)" none
}

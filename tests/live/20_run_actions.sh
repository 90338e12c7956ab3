#!/bin/bash
# SPDX-License-Identifier: MIT
# The action `run` where the golden exchanges and 16_executor do not reach: what was said in time, what a
# terminal shows, who gets a key, what is left of a shell that ended, and what all that may cost.
# deadline: 180

file_setup() {
	ohs start --empty --env NO_CHANGE_TIMEOUT_SECONDS=1 >"$BASE/session.json" || return 1
	kept "$(jq -r .id "$BASE/session.json")"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

# ask PATH [CURL_ARGS]
ask() {
	curl -s -m 100 -H "X-Session-API-Key: $(jq -r .session_api_key "$BASE/session.json")" "${@:2}" \
		"$(jq -r .url "$BASE/session.json")/$1"
}
post() { ask execute_action -d "$1"; }

# act COMMAND [TIMEOUT [MORE_ARGS]]: sets $seen to the observation. Without a time it has plenty.
act() {
	seen=$(post "$(jq -nc --arg c "$1" --argjson t "${2:-60.0}" --argjson more "${3:-{\}}" \
		'{action: {action: "run", args: ({command: $c, blocking: true} + $more), timeout: $t}}')")
}

type='{"is_input": true}'
content() { jq -r .content <<<"$seen"; }
meta() { jq -r ".extras.metadata.$1" <<<"$seen"; }
shows() { assert_eq "$1" "$(content)"; }
ends() { # EXIT_CODE CONTENT
	assert_eq "$2" "$(content)"
	assert_eq "$1" "$(meta exit_code)" "exit code of '$(jq -r .extras.command <<<"$seen")'"
}

# started COMMAND: it has begun and said so, and is pending.
started() {
	local i

	act "echo started; $1" 0.2
	for ((i = 0; i < 20; i++)); do
		[[ $(content) != started* ]] || break
		act '' 10.0 '{"blocking": false}'
	done
	[[ $(content) = started* ]] || fail "it did not begin: $seen"
	assert_eq -1 "$(meta exit_code)"
}

# --- time --------------------------------------------------------------------------------------------

test_silence_is_counted_from_the_last_output_and_named_as_a_whole_number() {
	act 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.25; done; sleep 60' 60.0 '{"blocking": false}'
	ends -1 $'1\n2\n3\n4\n5\n6'
	assert_match "$(meta suffix)" '^.\[The command has no new output after 1 seconds\. You may wait longer to see additional output by sending empty command'
	assert_eq "" "$(meta prefix)"
	assert_eq null,null,null,null,-1 "$(jq -r '.extras.metadata | [.username, .hostname, .working_dir, .py_interpreter_path, .pid] | map(tostring) | join(",")' <<<"$seen")"
	act '' 60.0 '{"blocking": false}'
	ends -1 ""
	assert_eq "[Below is the output of the previous command.]" "$(meta prefix)"
	act C-c 60.0 "$type"
	ends 130 "^C"
}

test_a_time_is_named_in_its_shortest_form_with_a_point() {
	local given want

	act 'sleep 60' 0.05
	for given in 0.1:0.1 0.25:0.25 1e-3:0.001 1:1.0 0.30000000000000004:0.30000000000000004; do
		want=${given#*:}
		act '' "${given%:*}"
		assert_contains "$(meta suffix)" "[The command timed out after $want seconds. You may"
	done
	act C-c 60.0 "$type"
	ends 130 "^C"
}

test_a_time_of_zero_is_none_and_a_hidden_command_that_is_not_done_is_not_hidden() {
	act 'sleep 0.3; echo end' 0
	ends 0 "end"
	act 'for i in {1..9000}; do echo "line $i"; done; sleep 60' 1.0 '{"hidden": true}'
	assert_eq false "$(jq -r .extras.hidden <<<"$seen")"
	act C-c 60.0 "$type"
	assert_eq 130 "$(meta exit_code)"
}

# --- who gets a key, and what is typed ----------------------------------------------------------------

# The times go through the whole way from the request over bash's fork and exec to the program.
test_a_key_is_not_lost_wherever_it_finds_the_command() {
	local i

	for i in 1 2 3 4 5 6 7 8 9 10 11 12 15 20; do
		act 'sleep 60' "0.00$i"
		assert_eq -1 "$(meta exit_code)"
		act C-c 20.0 "$type"
		ends 130 "^C"
	done
	for i in 1 3 5 9; do
		act 'for ((i = 0; i < 20000; i++)); do /bin/true; done' "0.0$i"
		act C-c 20.0 "$type"
		assert_eq 130 "$(meta exit_code)"
	done
}

test_keys_at_an_idle_shell_do_what_they_do_at_a_prompt() {
	act '(exit 4)'
	act C-z
	ends 4 ""
	act C-c
	ends 130 "^C"
	assert_contains "$(meta suffix)" "CTRL+C was sent.]"
	act C-c 5.0 "$type"
	ends -1 "ERROR: No previous running command to interact with."
}

test_a_stopped_program_goes_on_in_the_foreground() {
	started 'sh -c "read x; echo x is \$x"'
	act C-z 20.0 "$type"
	assert_eq 148 "$(meta exit_code)"
	act fg 0.1
	assert_eq -1 "$(meta exit_code)"
	act word 20.0 "$type"
	assert_contains "$(content)" "x is word"
	assert_eq 0 "$(meta exit_code)"
}

test_what_a_program_does_not_echo_is_not_shown() {
	started 'stty -echo; read secret; stty echo; echo "length ${#secret}"'
	act hunter2 20.0 "$type"
	ends 0 "length 7"
}

test_what_nobody_read_is_not_the_next_commands_input() {
	started 'sleep 60'
	act 'touch precious' 0.1 "$type"
	act C-c 20.0 "$type"
	act 'read -t 0.1 line; echo "[$line]"; ls precious'
	assert_contains "$(content)" "[]"
	assert_eq 2 "$(meta exit_code)"
}

test_an_end_of_input_and_a_quit_reach_a_program() {
	started 'cat; echo end'
	act 'a b' 0.1 "$type"
	act C-d 20.0 "$type"
	ends 0 "end"
	started 'ulimit -c 0; exec sleep 60' # the shell itself: it ends
	act 'C-\' 20.0 "$type"
	assert_eq 131 "$(meta exit_code)"
	assert_contains "$(meta suffix)" "The shell has ended."
}

test_input_that_comes_too_late_runs_as_a_command() {
	act 'sleep 0.3' 0.05
	wait_until 20 has_ended "$(jq -r .action_id <<<"$seen")"
	act 'echo typed' 20.0 "$type"
	assert_contains "$(content)" typed
	assert_eq 0 "$(meta exit_code)"
}
has_ended() { [ "$(ask "actions/$1" | jq -r .state)" != running ]; }

# --- what is shown ------------------------------------------------------------------------------------

test_what_is_shown_is_the_screen() {
	act "printf 'one\\ntwo\\nthree\\033[2A\\rONE\\033[1B\\033[3Ddeux\\n\\n'"
	shows $'ONE\ndeux\nthree'
	act "printf 'a\\tb\\n12345678\\tc\\n'"
	shows $'a       b\n12345678        c'
	act "printf '%s\\033[2K\\rrest\\n' gone; printf 'abc\\b\\bX\\n'; printf 'keep\\033[1;31m red\\033[0m\\007\\n'"
	shows $'rest\naXc\nkeep red'
	act "printf 'lost\\n'; clear; echo after"
	shows after
	act 'printf "%02500d\n" 7; echo end' # longer than the screen is wide
	assert_eq 2500 "$(content | head -n 1 | tr -d '\n' | wc -c)"
	act 'for i in 1 2 3; do printf "\r%d0%%" $i; done; echo; echo "  done  "'
	shows $'30%\n  done'
	act "printf 'before\\n\\033[?1049hfull screen\\033[?1049lafter\\n'"
	shows $'before\nafter'
}

test_prompts_are_not_shown_wherever_they_are_set() {
	act 'PS1="one> " PS2="two> " PS0="run " PROMPT_COMMAND="echo prompt"'
	shows ""
	act $'for i in 1\ndo\necho $i\ndone'
	shows 1
	act 'echo "PS1=\"rc> \" PROMPT_COMMAND=\"echo prompt\"; echo noise" >>~/.bashrc; exit'
	act 'echo clean'
	shows clean
	act 'source ~/.bashrc'
	shows noise
	act 'echo clean'
	shows clean
	act 'sed -i "/rc>/d" ~/.bashrc'
}

test_a_killed_job_is_told_of_with_the_command_that_saw_it() {
	act "sh -c 'kill -9 \$\$'"
	ends 137 "Killed"
	act "sh -c 'kill -SEGV \$\$'; echo after"
	assert_match "$(content)" $'^Segmentation fault.*\nafter$'
	act 'sleep 100 &'
	act 'kill %1; while kill -0 $! 2>/dev/null; do :; done'
	assert_match "$(content)" '^\[1\]\+  Terminated +sleep 100$'
	act 'echo nothing more'
	shows "nothing more"
}

test_what_the_background_writes_later_comes_with_what_is_asked_next() {
	act 'mkfifo gate; { read x <gate; echo from behind; echo >gate; } & echo "at once"'
	assert_eq "at once" "$(content | tail -n 1)"
	assert_eq "$(content | sed -n 's/^\[1\] //p')" "$(meta pid)"
	act 'echo go >gate; read x <gate; wait; rm gate'
	assert_contains "$(content)" "from behind"
}

# --- the shell --------------------------------------------------------------------------------------------

test_options_of_the_shell_are_the_users_and_do_no_harm() {
	act 'set -u; set -o noclobber; shopt -s nullglob; trap "echo bye" USR1'
	act 'echo $nosuch'
	assert_eq 1 "$(meta exit_code)"
	assert_contains "$(content)" "unbound variable"
	act 'kill -USR1 $$; echo /no*such; set +u +o noclobber; shopt -u nullglob; trap - USR1'
	shows $'bye'
	act 'set -x'
	act 'echo x; set +x'
	assert_contains "$(content)" "+ echo x"
	assert_not_contains "$(content)" __ohs
	act 'set -e; false'
	assert_eq 1 "$(meta exit_code)"
	assert_contains "$(meta suffix)" "The shell has ended."
	act 'mkdir gone && cd gone && rmdir ../gone'
	assert_eq /workspace/gone "$(meta working_dir)"
	act 'cd /workspace; unset -f $(compgen -A function)'
	act 'echo well'
	shows well
}

test_a_shell_that_cannot_start_is_told_of_and_can_be_mended() {
	act 'cp ~/.bashrc bashrc; echo "exit 7" >~/.bashrc; exit'
	act 'echo never'
	ends -1 "ERROR: the shell ended while it started: look at ~/.bashrc."
	assert_eq write "$(json "$(post '{"action":{"action":"write","args":{"path":"/home/openhands/.bashrc","content":"\n"}}}')" .observation)"
	act 'echo again; mv bashrc ~/.bashrc'
	ends 0 again
}

test_a_shell_killed_while_its_command_is_pending_is_told_of_by_the_next_poll() {
	started 'sleep 60'
	act "kill -9 $(act 'ps -o pid= -C bash | head -n 1 | tr -d " "' 20.0 '{"is_static": true}'; content)" 20.0 '{"is_static": true}'
	act ''
	assert_eq 137 "$(meta exit_code)"
	assert_contains "$(meta suffix)" "The shell has ended. A new one takes its place"
	act 'echo new'
	ends 0 new
	assert_not_contains "$(meta suffix)" "The shell has ended."
}

test_a_static_command_reads_bashrc_and_is_given_up_after_its_time() {
	act 'echo "export FROM_RC=yes" >>~/.bashrc; alias only=here; only_f() { :; }'
	act 'echo "$FROM_RC"; alias only; type -t only_f' 20.0 '{"is_static": true}'
	assert_match "$(content)" '^yes'
	assert_eq 1 "$(meta exit_code)"
	act 'echo begun; exec -a given-up sleep 1000' 1.0 '{"is_static": true}'
	ends -1 begun
	act '' 5.0 '{"is_static": true}'
	ends -1 "ERROR: No previous running command to retrieve logs from."
	act 'while pgrep -f ^given-up; do :; done; pwd'
	shows /workspace
	act 'sed -i /FROM_RC/d ~/.bashrc'
}

test_a_history_lives_on() {
	act 'echo first word'
	act 'echo again !$'
	shows $'echo again word\nagain word'
	act 'echo "no!such"; echo not run'
	assert_eq "bash: !such: event not found" "$(content)"
	act "echo 'a!b'"
	shows 'a!b'
}

# --- what it costs ----------------------------------------------------------------------------------------

# held: bytes that init and server have in memory or in swap, each.
held() {
	local init pid

	init=$(jq -r .init_pid "$BASE/session.json")
	for pid in "$init" "$(children_of "$init" | head -n 1)"; do
		awk '/^(Rss|Swap):/ { n += $2 } END { print n * 1024 }' "/proc/$pid/smaps_rollup"
	done
}

# Of a terminal whose history was full once, nothing more is needed, however much is written.
test_output_without_end_costs_no_more_than_the_history() {
	local before=() during=() after=() seconds=${OHS_YES_SECONDS:-2} i

	is_root || not_mine # only root may look at the memory of others
	[ -z "${OHS_SANITIZED:-}" ] || skip "a sanitizer keeps freed memory for a while"
	act 'echo'
	mapfile -t before < <(held)
	act yes "$seconds.0"
	assert_eq -1 "$(meta exit_code)"
	mapfile -t during < <(held)
	act C-c 60.0 "$type"
	assert_eq 130 "$(meta exit_code)"
	mapfile -t after < <(held)
	echo "init ${before[0]} ${during[0]} ${after[0]} server ${before[1]} ${during[1]} ${after[1]}"
	assert_eq "${before[0]}" "${during[0]}" "init's bytes"
	for i in "${during[1]}" "${after[1]}"; do
		[ "$i" -gt 0 ] && [ $((i - before[1])) -le $((4 << 20)) ] || fail "the server held ${before[1]} bytes and $i"
	done
}

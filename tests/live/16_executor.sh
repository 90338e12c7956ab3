#!/bin/bash
# SPDX-License-Identifier: MIT
# The executor of a living session: HTTP as strict as it must be, the persistent shell, files.

file_setup() {
	make_repo "$BASE/work/repo"
	cd "$BASE/work/repo" || return 1
	ohs start >"$BASE/session.json" || return 1
	kept "$(jq -r .id "$BASE/session.json")"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

url() { jq -r .url "$BASE/session.json"; }
key() { jq -r .session_api_key "$BASE/session.json"; }

# raw TEXT: what comes back for these bytes, without carriage returns, until the server closes.
raw() {
	exec 9<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
	printf "$1" >&9
	timeout $((20 * OHS_SLOW)) cat <&9 | tr -d '\r'
	exec 9>&-
}

statuses() { grep -a -o 'HTTP/1.1 [0-9]*' <<<"$1" | cut -d' ' -f2 | tr '\n' ' '; }

post() { curl -s -m 60 -H "X-Session-API-Key: $(key)" -d "$1" "$(url)/execute_action"; }

# act COMMAND [TIMEOUT [MORE_ARGS]]: sets $seen to the observation of a run.
act() {
	seen=$(jq -nc --arg c "$1" --argjson t "${2:-20.0}" --argjson more "${3:-{\}}" \
		'{action: {action: "run", args: ({command: $c} + $more), timeout: $t}}' | post @-)
}

content() { jq -r .content <<<"$seen"; }
code() { jq -r .extras.metadata.exit_code <<<"$seen"; }
suffix() { jq -r .extras.metadata.suffix <<<"$seen"; }
prefix() { jq -r .extras.metadata.prefix <<<"$seen"; }
cwd() { jq -r .extras.metadata.working_dir <<<"$seen"; }

test_requests_of_one_connection_are_answered_in_order() {
	local got

	got=$(raw 'GET /alive HTTP/1.1\r\nHost: x\r\n\r\nGET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
	assert_eq "200 403 " "$(statuses "$got")"
	assert_contains "$got" "connection: close"
}

test_a_request_that_two_parsers_could_read_differently_ends_the_connection() {
	local got

	got=$(raw 'POST /execute_action HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /alive HTTP/1.1\r\nHost: x\r\n\r\n')
	assert_eq "400 " "$(statuses "$got")"
	got=$(raw 'GET /alive HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\nGET /alive HTTP/1.1\r\nHost: x\r\n\r\n')
	assert_eq "400 " "$(statuses "$got")"
}

test_the_key_is_asked_for_before_the_path() {
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/nope")"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: $(key)x" "$(url)/nope")"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: " "$(url)/nope")"
	assert_eq 404 "$(curl -s -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: $(key)" "$(url)/nope")"
	assert_eq 405 "$(curl -s -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: $(key)" "$(url)/execute_action")"
	assert_eq '{"detail":"Invalid API Key"}' "$(curl -s -d '{}' "$(url)/execute_action")"
}

test_a_body_too_large_is_413_and_the_session_lives_on() {
	local k

	k="X-Session-API-Key: $(key)"
	assert_eq 413 "$(head -c 40000000 /dev/zero | curl -s -o /dev/null -w '%{http_code}' -H "$k" --data-binary @- "$(url)/execute_action")"
	assert_eq 413 "$(head -c 104857600 /dev/zero | curl -s -o /dev/null -w '%{http_code}' -H "$k" -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary @- "$(url)/execute_action")"
	assert_eq 422 "$(head -c 1000000 /dev/zero | tr '\0' '[' | curl -s -o /dev/null -w '%{http_code}' -H "$k" --data-binary @- "$(url)/execute_action")"
	assert_eq '{"status":"ok"}' "$(curl -s "$(url)/alive")"
}

test_a_thousand_connections_that_say_nothing_keep_nobody_out() {
	local port i fd

	port=$(url | sed 's/.*://')
	ulimit -n 2048 2>/dev/null || skip "no thousand descriptors"
	for i in $(seq 1000); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" || fail "connection $i"; done
	assert_eq '{"status":"ok"}' "$(curl -s -m 10 "$(url)/alive")"
}

test_info_has_what_clients_read() {
	assert_eq number,number,number,number,number "$(curl -s "$(url)/server_info" |
		jq -r '[.uptime, .idle_time, .resources.memory.rss, .resources.disk.total, .resources.cpu_percent] | map(type) | join(",")')"
}

test_state_of_the_shell_lives_on() {
	act 'cd /tmp && export A=1; f() { echo "f $1"; }; alias g="echo aliased"'
	assert_eq 0 "$(code)"
	act 'f "$A"; g; pwd'
	assert_eq $'f 1\naliased\n/tmp' "$(content)"
	assert_eq /tmp "$(cwd)"
	act false
	assert_eq 1 "$(code)"
	act 'echo $?'
	assert_eq 1 "$(content)"
	act 'cd /workspace'
}

test_a_missing_command_is_127_in_bashs_words() {
	act nosuchcommand
	assert_eq "bash: nosuchcommand: command not found" "$(content)"
	assert_eq 127 "$(code)"
}

test_texts_of_several_lines_run_as_one() {
	act $'cat <<EOF\na $HOME\nEOF'
	assert_eq 'a /home/openhands' "$(content)"
	act $'for i in 1 2\ndo\n\techo $i\ndone'
	assert_eq $'1\n2' "$(content)"
	act "echo it\\'s \"a\\\\b\" '\$x' \$'\\t|' !"
	assert_eq $'it\'s a\\b $x \t| !' "$(content | sed 's/ *|/ \t|/')"
	act 'echo "unfinished'
	assert_eq 2 "$(code)"
	act 'echo well'
	assert_eq well "$(content)"
}

test_a_command_that_takes_longer_is_looked_after() {
	act 'echo one; read x; echo "got $x"; read y; exit_code() { return 5; }; exit_code' 0.5
	assert_eq one "$(content)"
	assert_eq -1 "$(code)"
	assert_contains "$(suffix)" "[The command timed out after 0.5 seconds. You may wait longer"
	act 'echo other'
	assert_contains "$(suffix)" '[Your command "echo other" is NOT executed.'
	act two 0.5 '{"is_input": true}'
	assert_contains "$(content)" "got two"
	assert_eq "[Below is the output of the previous command.]" "$(prefix)"
	act three 20.0 '{"is_input": true}'
	assert_eq 5 "$(code)"
	act ''
	assert_eq "ERROR: No previous running command to retrieve logs from." "$(content)"
	act x 20.0 '{"is_input": true}'
	assert_eq "ERROR: No previous running command to interact with." "$(content)"
}

test_a_command_that_ended_meanwhile_is_told_of() {
	act 'echo first; sleep 0.5; echo second; (exit 9)' 0.1
	wait_until 20 none_runs
	act ''
	assert_eq second "$(content)"
	assert_eq 9 "$(code)"
	act 'echo first; sleep 0.5; echo second' 0.1
	wait_until 20 none_runs
	act 'echo third'
	assert_eq $'second\nthird' "$(content)"
	assert_eq 0 "$(code)"
}

# What became of the action that was asked for last.
last_state() { curl -s -m 20 -H "X-Session-API-Key: $(key)" "$(url)/actions" | jq -r '.actions[0].state'; }
none_runs() { [ "$(last_state)" != running ]; }
one_runs() { [ "$(last_state)" = running ]; }

test_keys_reach_the_program() {
	act 'sleep 60' 0.3
	act C-c
	assert_eq "^C" "$(content)"
	assert_eq 130 "$(code)"
	assert_contains "$(suffix)" "exit code 130. CTRL+C was sent.]"
	act 'sleep 60' 0.3
	act C-z
	assert_eq 148 "$(code)"
	assert_contains "$(content)" "Stopped"
	act 'kill %1'
	act cat 0.3
	act C-d 20.0 '{"is_input": true}'
	assert_eq 0 "$(code)"
}

test_a_shell_that_ended_is_started_again_and_that_is_said() {
	act 'B=1; exit 3'
	assert_eq 3 "$(code)"
	assert_contains "$(suffix)" "The shell has ended."
	act 'echo "B=$B in $PWD"'
	assert_eq "B= in /workspace" "$(content)"
	act 'kill -9 $$'
	assert_eq 137 "$(code)"
	act 'echo there'
	assert_eq there "$(content)"
}

test_a_static_command_knows_nothing_of_the_shell() {
	act 'C=1; cd /tmp'
	act 'echo "C=$C $PWD"' 20.0 '{"is_static": true, "cwd": "/usr"}'
	assert_eq "C= /usr" "$(content)"
	act 'echo $PWD' 20.0 '{"is_static": true, "cwd": "/no/such"}'
	assert_eq /workspace "$(content)"
	act 'echo "C=$C $PWD"; cd /workspace'
	assert_eq "C=1 /tmp" "$(content)"
}

test_output_is_what_a_terminal_shows() {
	act "printf '\\033[31mred\\033[0m\\ttab\\rover\\n  10%%\\r 100%%\\n'"
	assert_eq $'over    tab\n 100%' "$(content)"
	act 'stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal'
	assert_eq $'1000 1000\nterminal' "$(content)"
	act 'printf "\xff\xfe|"'
	assert_eq $'\xef\xbf\xbd\xef\xbf\xbd|' "$(content)"
}

test_much_output_keeps_its_end() {
	act 'for i in {1..50000}; do echo "Line $i"; done' 60.0
	assert_contains "$(prefix)" "Previous command outputs are truncated. Showing the last"
	assert_contains "$(content)" "Line 40000"
	assert_contains "$(content)" "Line 50000"
	assert_contains "$(content)" "[... Observation truncated due to length ...]"
	act 'yes' 2.0
	act C-c
	assert_eq 130 "$(code)"
}

test_the_shell_hands_nothing_to_its_children() {
	act 'ls /proc/self/fd | tr "\n" " "'
	assert_eq "0 1 2 3" "$(content)"
	act 'env | grep -ic key; echo x >/dev/stdout'
	assert_eq $'0\nx' "$(content)"
}

test_files_are_written_and_read() {
	local got

	got=$(post '{"action":{"action":"write","args":{"path":"made/deep/file.txt","content":"one\ntwo"}}}')
	assert_eq /workspace/made/deep/file.txt "$(json "$got" .extras.path)"
	got=$(post '{"action":{"action":"read","args":{"path":"/workspace/made/deep/file.txt"}}}')
	assert_eq $'one\ntwo' "$(json "$got" .content)"
	act 'stat -c "%U %a" made/deep/file.txt; cat made/deep/file.txt'
	assert_eq $'openhands 664\none\ntwo' "$(content)"
	got=$(post '{"action":{"action":"read","args":{"path":"none"}}}')
	assert_eq "File not found: /workspace/none. Your current working directory is /workspace." "$(json "$got" .content)"
	got=$(post '{"action":{"action":"read","args":{"path":"/workspace"}}}')
	assert_eq "Path is a directory: /workspace. You can only read files" "$(json "$got" .content)"
	got=$(post '{"action":{"action":"read","args":{"path":"/dev/zero"}}}')
	assert_eq error "$(json "$got" .observation)"
}

test_files_are_reached_with_the_rights_of_the_user() {
	local got

	act 'touch secret; chmod 0 secret; mkfifo pipe; mkdir -m 555 locked; ln -s locked/x link'
	got=$(post '{"action":{"action":"read","args":{"path":"secret"}}}')
	assert_contains "$(json "$got" .detail)" "[Errno 13] Permission denied: '/workspace/secret'"
	got=$(post '{"action":{"action":"write","args":{"path":"link","content":"x"}}}')
	assert_contains "$(json "$got" .detail)" "[Errno 13] Permission denied: '/workspace/link'"
	got=$(post '{"action":{"action":"read","args":{"path":"pipe"}}}')
	assert_contains "$(json "$got" .content)" "not a regular file"
}

test_what_is_not_there_is_said_in_the_references_words() {
	assert_eq "Browser functionality is not supported or disabled." \
		"$(json "$(post '{"action":{"action":"browse","args":{"url":"x"}}}')" .content)"
	assert_contains "$(post '{"action":{"action":"think","args":{"thought":""}}}')" "object has no attribute 'think'"
	assert_contains "$(post '{"action":{"action":"fly","args":{}}}')" "is not defined. Available actions:"
	assert_contains "$(post '{"action":{}}')" "Unknown event type"
	assert_contains "$(post 'x')" "Invalid request parameters"
}

test_the_executor_survives_what_the_workload_does_to_it() {
	act 'kill -9 1 2; kill -STOP 1; kill -9 -1; pkill -9 ohsandbox; echo done' 20.0
	assert_eq '{"status":"ok"}' "$(curl -s "$(url)/alive")"
	act 'echo still'
	assert_eq still "$(content)"
	assert_contains "$(post '{"action":{"action":"read","args":{"path":"README"}}}')" hello
}

test_orphans_leave_no_zombie() {
	act 'for i in {1..2000}; do (: &) ; done; sleep 0.5; grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l' 120.0 '{"blocking": true}'
	assert_eq 0 "$(content)"
}

test_a_client_that_goes_away_leaves_its_action_running() {
	curl -s -H "X-Session-API-Key: $(key)" -d '{"action":{"action":"run","args":{"command":"sleep 2; D=done"},"timeout":20.0}}' "$(url)/execute_action" &
	local client=$!
	wait_until 20 one_runs
	kill "$client"
	wait "$client" || true
	act 'echo $D'
	assert_eq "done" "$(content)"
}

test_a_published_port_reaches_what_listens_inside() {
	local id port=$((20000 + RANDOM % 10000)) ids

	id=$(json "$(ohs start --publish "$port:8123" --empty)" .id)
	assert_eq 000 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/")"
	ids='python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & until : 2>/dev/null </dev/tcp/127.0.0.1/8123; do sleep 0.1; done'
	ohs act "$id" run "head -c 30000000 /dev/zero >big; $ids" >/dev/null
	assert_eq 30000000 "$(curl -s -m 20 "http://127.0.0.1:$port/big" | wc -c)"
	ohs stop "$id"
	assert_eq 000 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/")"
}

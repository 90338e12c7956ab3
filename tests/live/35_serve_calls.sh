#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# What clients ask of a session through the daemon: commands and changes, when they leave, crowd or meet a
# session that dies.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

CALLS_SESSION_MAX=32

calls_are() { # COUNT
	api GET /metrics
	[[ $body = *"ohsandbox_calls $1"$'\n'* ]]
}

# In the background, with its answer in file NAME and its status in NAME.code; sets $!.
exec_behind() { # SESSION COMMAND NAME
	quote "$2"
	curl -sS -m 100 -H "X-API-Key: $api_key" -d "{\"command\":$quoted}" -o "$3" -w '%{http_code}' \
		"$base/v1/sessions/$1/exec" >"$3.code" 2>/dev/null &
}

is_in_session() { # FILE
	expect 200 POST /v1/sessions/s1/exec "{\"command\":\"test -e $1\"}"
	is_zero "$body"
}

is_zero() { command jq -e '.exit_code == 0' <<<"$1" >/dev/null; }

none_of() { [ -z "$(ours "$1")" ]; }

test_who_leaves_ends_his_command_and_no_other() {
	local id url key other

	serve_up
	start_session s1
	exec_behind s1 'touch /tmp/begun; exec sleep 4321' left
	other=$!
	wait_until 30 calls_are 1 || fail "no call is at work: $body"
	wait_until 30 eval '! none_of "^sleep 4321"' || fail "the command does not begin"
	kill -9 "$other"
	wait_until 30 none_of '^sleep 4321' || fail "the command goes on"
	wait_until 30 calls_are 0 || fail "the call goes on: $body"
	is_in_session /tmp/begun || fail "the session has lost its files"
	# A client of the session's own leaves his to be done.
	curl -sS -m 100 -H "X-Session-API-Key: $key" -d '{"action":{"action":"run","args":{"command":"sleep 5432"}}}' "$url/execute_action" >/dev/null 2>&1 &
	other=$!
	wait_until 30 eval '! none_of "^sleep 5432"' || fail "the other command does not begin"
	kill -9 "$other"
	! none_of '^sleep 5432' || fail "an action has ended with its client"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_hung_calls_of_one_session_starve_no_other() {
	local i id url key

	serve_up
	start_session s1
	start_session s2
	for ((i = 0; i < CALLS_SESSION_MAX; i++)); do exec_behind s1 'exec sleep 4321' "hung$i"; done
	wait_until 60 calls_are "$CALLS_SESSION_MAX" || fail "not all are at work: $body"
	expect 429 POST /v1/sessions/s1/exec '{"command":"true"}'
	is "$body" '.detail | contains("this session")'
	expect 429 GET /v1/sessions/s1/diff
	expect 200 POST /v1/sessions/s2/exec '{"command":"echo on"}'
	is "$body" '.output == "on"'
	# Each hears of the end.
	expect 200 POST /stop '{"runtime_id":"s1"}'
	for ((i = 0; i < CALLS_SESSION_MAX; i++)); do
		wait_until 30 test -s "hung$i.code" || fail "the call $i is never answered"
		assert_match "$(<"hung$i.code")" "^4(09|10)$"
	done
	expect 200 POST /stop '{"runtime_id":"s2"}'
	serve_down
}

test_a_session_that_dies_says_so_to_who_waits() {
	local id url key init

	serve_up
	start_session s1
	exec_behind s1 'exec sleep 4321' died
	wait_until 30 eval '! none_of "^sleep 4321"' || fail "the command does not begin"
	init=$(ohs show --json "$id" | command jq .init_pid)
	kill -9 "$init"
	wait_until 30 test -s died.code || fail "no answer"
	assert_eq 409 "$(<died.code)"
	is "$(<died)" '.detail | contains("does not run")'
	expect 409 POST /v1/sessions/s1/exec '{"command":"true"}'
	is "$body" '.detail | contains("does not run")'
	expect 200 POST /stop '{"runtime_id":"s1"}'
	expect 404 POST /v1/sessions/s1/exec '{"command":"true"}'
	serve_down
}

test_changes_that_cannot_be_read_say_why() {
	local id url key dir format

	make_repo "$T/repo"
	serve_up --allow-repo "$T/repo"
	expect 200 POST /start "{\"image\":\"worktree:$T/repo\",\"session_id\":\"s1\"}"
	take_session
	says 'echo x >new' >/dev/null
	dir=$OHS_STATE_DIR/sessions/$id
	as_root mv "$dir/layers" "$dir/kept"
	for format in json patch; do
		expect 500 GET "/v1/sessions/s1/diff?format=$format"
		is "$body" '.detail | (contains("layers") and contains("No such file") and (contains("ended with") | not))'
	done
	as_root mv "$dir/kept" "$dir/layers"
	expect 200 GET /v1/sessions/s1/diff
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

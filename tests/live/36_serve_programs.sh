#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# Programs of the image's own that end, or take their time, and starts that fail or are not wanted any more:
# what their clients are told.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

JOBS_MAX=64 # of the daemon: starts, stops and the like at once

file_setup() {
	make_repo "$BASE/work/repo"
}

test_the_log_of_a_program_that_ends_at_its_start_is_told() {
	serve_up
	api POST /start '{"image":"img","session_id":"bad","command":["sh","-c","echo its first line; echo its last words; exit 3"]}'
	assert_eq 500 "$code"
	is "$body" '.detail | contains("its last words")'
	expect 200 GET /sessions/bad
	is "$body" '.status == "error" and .pod_status == "failed" and (.status_detail | contains("its last words"))'
	is "$body" '.pod_logs | test("its first line\r?\nits last words")'
	assert_eq "" "$(sessions_left)"
	# A start of it is another try.
	expect 200 POST /start '{"image":"img","session_id":"bad"}'
	is "$body" '.status == "running" and .pod_logs == "" and .status_detail == null'
	expect 200 POST /stop '{"runtime_id":"bad"}'
	serve_down
}

has_status() { # NAME STATUS
	api GET "/sessions/$1"
	[ "$code" = 200 ] && [ "$(json "$body" .status)" = "$2" ]
}

test_a_program_that_ends_later_is_told_of_and_can_be_started_again() {
	local id url key

	need cmd python3
	serve_up
	start_session s1 '"command":"python3 -m http.server","working_dir":"/workspace"'
	assert_eq 200 "$(curl -sS -o /dev/null -w '%{http_code}' "$url/")"
	expect 200 POST /v1/sessions/s1/exec '{"command":"echo what it said last >>/tmp/.ohsandbox-program/log; pkill -f http.server"}'
	# Nobody is behind the port: its clients hear that at once, and no answer that could be a program's.
	run curl -sS -m 20 -o /dev/null -w '%{http_code}' "$url/"
	assert_match "$status $out" '^(7|52|56) 000$'
	wait_until 60 has_status s1 error || fail "nobody notices: $body"
	is "$body" '.pod_status == "failed" and (.pod_logs | contains("what it said last")) and (.status_detail | contains("has ended"))'
	expect 200 POST /resume '{"runtime_id":"s1"}'
	is "$body" ".status == \"running\" and .runtime_id == \"$id\" and .url == \"$url\" and .pod_logs == \"\""
	assert_eq 200 "$(curl -sS -o /dev/null -w '%{http_code}' "$url/")"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

all_have_begun() { # COUNT
	api GET /list
	[ "$(command jq '[.runtimes[] | select(.url != "")] | length' <<<"$body")" -ge "$1" ] && return
	api GET /metrics
	[[ $body = *"ohsandbox_jobs $1"$'\n'* ]]
}

test_programs_that_take_their_time_keep_nobody_else_waiting() {
	local i starts=()

	serve_up
	for ((i = 0; i <= JOBS_MAX; i++)); do
		curl -sS -m 100 -H "X-API-Key: $api_key" -d "{\"image\":\"img\",\"session_id\":\"slow$i\",\"command\":\"sleep 4321\"}" -o /dev/null "$base/start" 2>/dev/null &
		starts+=($!)
	done
	wait_until 90 all_have_begun $((JOBS_MAX + 1)) || fail "they do not all begin"
	start_session other
	is "$body" '.status == "running"'
	expect 200 POST /stop '{"runtime_id":"other"}'
	for ((i = 0; i <= JOBS_MAX; i++)); do
		expect 200 POST /stop "{\"runtime_id\":\"slow$i\"}"
	done
	wait "${starts[@]}"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	serve_down
}

test_what_a_client_names_is_not_found_and_what_the_host_lacks_is_its_own_failure() {
	mkdir -p "$T/root/usr/bin" "$T/root/bin"
	echo "{\"templates\":[{\"name\":\"t\",\"image\":\"t\",\"rootfs\":\"$T/root\"}]}" >serve.json
	serve_up --config "$T/serve.json" --allow-repo "$BASE/work/repo"
	expect 404 POST /start "{\"image\":\"worktree:$BASE/work/repo@nonsense\",\"session_id\":\"s1\"}"
	is "$body" '.detail | contains("nonsense")'
	mv root gone
	expect 500 POST /start '{"image":"t","session_id":"s2"}'
	is "$body" '.detail | contains("/root") and contains("No such file")'
	# Neither is there; what failed is stopped already.
	expect 404 POST /pause '{"runtime_id":"s2"}'
	expect 200 POST /stop '{"runtime_id":"s2"}'
	expect 404 GET /sessions/s2
	expect 404 POST /stop '{"runtime_id":"s2"}'
	serve_down
}

test_a_start_that_is_on_its_way_can_be_stopped() {
	local starting

	serve_up
	curl -sS -m 100 -H "X-API-Key: $api_key" -d '{"image":"img","session_id":"s1","command":"sleep 4321"}' -o told -w '%{http_code}' "$base/start" >code &
	starting=$!
	wait_until 20 has_status s1 starting || fail "it does not start: $body"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	expect 404 GET /sessions/s1
	wait "$starting"
	assert_eq 409 "$(<code)"
	assert_eq "" "$(sessions_left)"
	serve_down
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# What comes to the daemon at the wrong moment, or finds something broken.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# One request as it goes over the wire.
post() { # PATH BODY [CONNECTION]
	printf 'POST %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nConnection: %s\r\nContent-Length: %d\r\n\r\n%s' \
		"$1" "${base#http://}" "$api_key" "${3:-keep-alive}" "${#2}" "$2"
}

# Two connections, as descriptors 5 and 6: what is sent over the first is taken up first.
connect() {
	local place=${base#http://}

	exec 5<>"/dev/tcp/${place%:*}/${place##*:}" 6<>"/dev/tcp/${place%:*}/${place##*:}"
}

statuses() { grep -ao 'HTTP/1.1 [0-9]*' "$1" | cut -d' ' -f2 | paste -sd' '; }

test_a_stop_right_behind_what_needs_nothing_done_is_heard() {
	serve_up
	connect
	post /start '{"image":"img","session_id":"s1"}' >&5
	# While that is at work this waits, and has nothing to do then; the stop is read as it is answered.
	printf %s "$(
		post /resume '{"runtime_id":"s1"}'
		post /stop '{"runtime_id":"s1"}'
		post /stop '{"runtime_id":"none"}' close
	)" >&6
	timeout 60 cat <&6 >answers || fail "not all is answered: $(<answers)"
	assert_eq "200 200 404" "$(statuses answers)"
	expect 404 GET /sessions/s1
	serve_down
}

test_a_start_that_is_stopped_meanwhile_says_so() {
	serve_up
	connect
	post /start '{"image":"img","session_id":"s1"}' close >&5
	post /stop '{"runtime_id":"s1"}' close >&6
	timeout 60 cat <&5 >answer || fail "it is not answered"
	timeout 60 cat <&6 >/dev/null || fail "the stop is not answered"
	assert_eq 409 "$(statuses answer)"
	assert_contains "$(<answer)" "it was stopped meanwhile"
	serve_down
}

test_after_a_resume_that_failed_the_port_tells_of_the_pause_again() {
	local id url key dir

	serve_up
	start_session s1
	dir=$OHS_STATE_DIR/sessions/$id
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	assert_eq 503 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/alive")"
	as_me bash -c 'mv "$0/request.json" "$0/kept"; echo "{}" >"$0/request.json"' "$dir"
	api POST /resume '{"runtime_id":"s1"}'
	[ "$code" -ge 400 ] || fail "it came back: $body"
	assert_eq 503 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/alive")"
	as_me mv "$dir/kept" "$dir/request.json"
	expect 200 POST /resume '{"runtime_id":"s1"}'
	assert_eq 200 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/alive")"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_one_that_cannot_be_read_hides_no_other() {
	local id url key dir

	serve_up
	start_session whole
	start_session broken
	dir=$OHS_STATE_DIR/sessions/$id
	serve_down
	as_me bash -c 'cp "$0/record.json" "$0/kept"; echo "{" >"$0/record.json"' "$dir"
	serve_up
	expect 200 GET /list
	is "$body" '[.runtimes[].session_id] == ["whole"]'
	expect 404 GET /sessions/broken
	as_me mv "$dir/kept" "$dir/record.json"
	expect 200 POST /stop '{"runtime_id":"broken"}'
	expect 200 POST /stop '{"runtime_id":"whole"}'
	serve_down
}

test_why_it_failed_stays_known() {
	serve_up
	api POST /start '{"image":"worktree:/nowhere","session_id":"s1"}'
	assert_eq 403 "$code"
	expect 404 POST /pause '{"runtime_id":"s1"}'
	expect 200 GET /sessions/s1
	assert_contains "$body" "/nowhere"
	serve_down
}

test_a_command_resumes_what_the_daemon_keeps_on_the_disk() {
	local id url key before

	serve_up
	start_session s1
	before=$url
	says 'echo kept >kept' >/dev/null
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	assert_eq 503 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/alive")"
	ohs resume s1 || fail "it is not resumed"
	expect 200 GET /sessions/s1
	is "$body" '.pod_status == "ready"'
	assert_eq "$before" "$(json "$body" .url)"
	assert_eq kept "$(says 'cat kept')"
	# What the daemon cannot do it says.
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	as_me bash -c 'mv "$0/request.json" "$0/kept"; echo "{}" >"$0/request.json"' "$OHS_STATE_DIR/sessions/$id"
	if ohs resume s1 2>why; then fail "it is resumed"; fi
	assert_contains "$(<why)" request.json
	as_me mv "$OHS_STATE_DIR/sessions/$id/kept" "$OHS_STATE_DIR/sessions/$id/request.json"
	# Nor does one that was killed, and its socket, stand in the way.
	kill -9 "$daemon"
	wait_until 20 is_gone "$daemon"
	assert_file "$OHS_STATE_DIR/daemon.sock"
	ohs resume s1 || fail "it is not resumed without a daemon"
	assert_eq kept "$(says 'cat kept')"
	serve_up
	serve_down
	assert_no_file "$OHS_STATE_DIR/daemon.sock"
	ohs stop s1
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# What nobody uses gives its memory back, and comes back by itself when it is wanted.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

configure() { # TEMPLATE-MEMBERS [MEMBERS]
	echo "{\"templates\": [{\"name\": \"t\", \"image\": \"*\", $1}]${2:+, $2}}" | as_me tee "$T/serve.json" >/dev/null
}

# paused NAME: its record says that it is on the disk, whoever is asked.
paused() { [ "$(ohs show "$1" | command jq -r '.paused // "-"')" = disk ]; }

wakes() { grep -qx wakes "$OHS_STATE_DIR/sessions/$1/journal"; }

alive() { curl -s -m 5 -o /dev/null -w '%{http_code}' "$url/alive"; }

keyed() { curl -sS -m 60 -H "X-Session-API-Key: $key" "$@"; }

held() { [ "$(alive)" = 503 ]; }

test_what_is_idle_sleeps_and_an_action_wakes_it() {
	local id url key before

	serve_up --idle-timeout 1s
	start_session s1
	assert_eq "" "$(says 'echo kept >/workspace/made')"
	before=$(ohs show s1 | command jq -c '[.id, .url, .session_api_key]')
	wait_until 60 held || fail "it is never idle"
	expect 200 GET /sessions/s1
	is "$body" '.status == "paused"'
	assert_eq kept "$(says 'cat /workspace/made')"
	assert_eq "$before" "$(ohs show s1 | command jq -c '[.id, .url, .session_api_key]')"
	expect 200 GET /sessions/s1
	is "$body" '.status == "running"'
	wait_until 60 held || fail "it is idle once only"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

# A neighbour's look at the ports wakes nobody, nor does what connects again by itself.
test_only_a_request_with_its_key_wakes_it() {
	local id url key

	serve_up --idle-timeout 1s
	start_session s1
	wait_until 60 held || fail "it is never idle"
	assert_eq 503 "$(curl -s -o /dev/null -w '%{http_code}' -H 'X-Session-API-Key: none' -d '{}' "$url/execute_action")"
	assert_eq 503 "$(curl -s -o /dev/null -w '%{http_code}' -H "X-API-Key: $api_key" "$url/actions")"
	assert_eq 503 "$(keyed -o /dev/null -w '%{http_code}' -H 'Connection: Upgrade' -H 'Upgrade: websocket' "$url/sockets")"
	assert_eq "" "$(keyed -m 5 telnet://127.0.0.1:"${url##*:}" </dev/null || true)"
	expect 200 GET /sessions/s1
	is "$body" '.status == "paused"'
	assert_eq 200 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_what_a_client_has_paused_answers_503_until_it_is_resumed() {
	local id url key

	configure '"idle_timeout": "1s"' '"pause_to_disk_after": "300ms"'
	serve_up --config "$T/serve.json"
	start_session frozen
	expect 200 POST /pause '{"runtime_id":"frozen"}'
	wait_until 60 paused frozen || fail "it is never put to disk"
	! wakes "$id" || fail "nobody has asked for it to wake"
	wait_until 10 held
	assert_eq 503 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	# And what slept already sleeps no more.
	start_session idle
	wait_until 60 held || fail "it is never idle"
	wakes "$id" || fail "who wakes it?"
	expect 200 POST /pause '{"runtime_id":"idle"}'
	assert_eq 503 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	expect 200 POST /resume '{"runtime_id":"idle"}'
	assert_eq 200 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	ohs stop --all
	serve_down
}

test_a_later_daemon_knows_who_sleeps_and_who_is_paused() {
	local id url key

	serve_up --idle-timeout 1s
	start_session paused
	expect 200 POST /v1/sessions/paused/pause '{"to_disk":true}'
	start_session asleep
	wait_until 60 held || fail "it is never idle"
	kill -9 "$daemon"
	wait_until 10 is_gone "$daemon"
	serve_up
	assert_eq here "$(says 'echo here')"
	expect 200 GET /sessions/paused
	take_session
	assert_eq 503 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	ohs stop --all
	serve_down
}

# Nobody has wished that either.
test_what_has_died_comes_back_for_a_request() {
	local id url key

	serve_up
	start_session s1
	assert_eq "" "$(says 'echo kept >/workspace/made')"
	kill -9 "$(ohs show s1 | command jq .init_pid)"
	wait_until 30 held || fail "its port is nobody's"
	assert_eq kept "$(says 'cat /workspace/made')"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_many_requests_at_once_wake_it_once_and_all_are_answered() {
	local id url key i asks=()

	serve_up --idle-timeout 1s
	start_session s1
	head -c 3000000 /dev/zero >large
	wait_until 60 held || fail "it is never idle"
	for i in 1 2 3 4 5 6; do
		keyed -o "told-$i" -w '%{http_code}' "$url/actions" >"code-$i" &
		asks+=($!)
	done
	keyed -o told-7 -w '%{http_code}' -F file=@large "$url/upload_file?destination=/workspace" >code-7 &
	asks+=($!)
	wait "${asks[@]}"
	assert_eq "200200200200200200200" "$(cat code-*)"
	assert_eq 3000000 "$(says 'stat -c %s /workspace/large')"
	assert_eq 1 "$(grep -c 's1): resume:' "$T/serve.log")"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_a_wake_that_fails_is_no_503_and_the_next_one_may_succeed() {
	local id url key dir

	serve_up --idle-timeout 1s
	start_session s1
	wait_until 60 held || fail "it is never idle"
	dir=$OHS_STATE_DIR/sessions/$id
	as_me bash -c 'mv "$0/request.json" "$0/kept"; echo "{}" >"$0/request.json"' "$dir"
	assert_eq 500 "$(keyed -o told -w '%{http_code}' "$url/actions")"
	is "$(<told)" '.detail | length > 0'
	as_me mv "$dir/kept" "$dir/request.json"
	assert_eq 200 "$(keyed -o /dev/null -w '%{http_code}' "$url/actions")"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_who_waits_for_an_action_is_not_idle() {
	local id url key

	serve_up --idle-timeout 1s
	start_session s1
	# Were it paused meanwhile, nobody would be told of its end.
	assert_eq 'done' "$(says 'for i in 1 2 3 4; do sleep 1; done; echo done')"
	wait_until 60 paused s1 || fail "it is never idle afterwards"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

test_what_is_to_be_stopped_is_gone() {
	configure '"idle_timeout": "1s", "reclaim": "stop"'
	serve_up --config "$T/serve.json"
	start_session s1
	gone() {
		api GET /sessions/s1
		[ "$code" = 404 ]
	}
	wait_until 60 gone || fail "it stays"
	assert_eq "[]" "$(ohs list --json)"
	serve_down
}

test_a_life_time_is_that_of_its_processes() {
	local id url key first

	configure '"lifetime": "2s"'
	serve_up --config "$T/serve.json"
	start_session s1
	assert_eq "" "$(says 'echo kept >/workspace/made')"
	first=$(ohs show s1 | command jq .init_pid)
	wait_until 60 held || fail "it lives for ever"
	assert_eq kept "$(says 'cat /workspace/made')"
	[ "$first" != "$(ohs show s1 | command jq .init_pid)" ] || fail "it has never been paused"
	wait_until 60 held || fail "the second life has no end"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
}

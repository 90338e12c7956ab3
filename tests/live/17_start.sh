#!/bin/bash
# SPDX-License-Identifier: MIT
# A session that stays: start, act, show, stop.

file_setup() {
	make_repo "$BASE/work/repo"
}

test_a_session_answers_and_goes() {
	local id url key

	cd "$BASE/work/repo"
	run ohs start
	assert_status 0
	id=$(json "$out" .id)
	url=$(json "$out" .url)
	key=$(json "$out" .session_api_key)
	assert_match "$key" '^[0-9a-f]{64}$'
	assert_eq /workspace "$(json "$out" .workspace)"
	assert_eq '{"status":"ok"}' "$(curl -s "$url/alive")"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -d '{}' "$url/execute_action")"
	assert_contains "$(curl -s -H "X-Session-API-Key: $key" -d '{"action":{"action":"run","args":{"command":"cat README"}}}' "$url/execute_action")" hello
	run ohs list
	assert_contains "$out" "$id running"
	run ohs stop "$id"
	assert_status 0
	run ohs list --json
	assert_eq "[]" "$out"
}

test_the_veth_address_answers_too() {
	local id

	need net_admin
	run ohs start --empty
	assert_status 0
	id=$(json "$out" .id)
	assert_eq '{"status":"ok"}' "$(curl -s "http://$(json "$out" .address)/alive")"
	ohs stop "$id"
}

test_act_sends_actions_and_prints_observations() {
	local id

	cd "$BASE/work/repo"
	id=$(json "$(ohs start)" .id)
	run ohs act --text "$id" run 'echo $((6 * 7)) >answer; cat answer'
	assert_status 0
	assert_contains "$out" 42
	printf 'line one\nline two\n' | ohs act "$id" write notes.txt >/dev/null
	run ohs act --text "$id" read notes.txt
	assert_contains "$out" "line two"
	run as_me bash -c "printf '%s\n' '{\"action\":\"run\",\"args\":{\"command\":\"echo a\"}}' '{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"echo b\"}}}' | '$STAGE/bin/ohsandbox' act $id"
	[ "$OHS_AS" != root ] || assert_eq 2 "$(printf '%s\n' "$out" | wc -l)"
	run ohs act "$id" dance
	assert_status 1
	assert_contains "$err" "'dance' is none of run, read, write"
	ohs stop "$id"
	run ohs act "$id" run true
	assert_status 1
}

test_it_outlives_who_started_it_and_ends_by_its_deadline() {
	local id

	id=$(json "$(ohs start --empty --timeout $((2 * OHS_SLOW))s)" .id)
	run ohs list
	assert_contains "$out" "$id running"
	gone() { ! ohs list | grep -q "$id"; }
	wait_until 20 gone
}

test_kept_layers_of_a_stopped_session_can_be_shown() {
	local id

	cd "$BASE/work/repo"
	id=$(json "$(ohs start)" .id)
	ohs act "$id" run 'echo x >made-here' >/dev/null
	run ohs stop --keep "$id"
	assert_status 0
	run ohs diff "$id"
	assert_contains "$out" "A made-here"
	ohs stop "$id"
}

test_root_of_the_session_is_who_its_actions_run_as() {
	local id

	id=$(json "$(ohs start --empty --user root)" .id)
	kept "$id"
	run ohs act "$id" run 'id -un; echo $HOME; touch ~/.bashrc made && stat -c %U made'
	assert_eq root:/root:root "$(json "$out" .content | paste -sd:)"
	assert_eq root "$(json "$out" .extras.metadata.username)"
	ohs act "$id" write /root/of-root.txt <<<text >/dev/null
	run ohs act "$id" run 'stat -c %U /root/of-root.txt'
	assert_eq root "$(json "$out" .content)"
	ohs stop "$id"
}

# Or nothing that they find in the executor would ever be told.
test_what_sanitizers_find_in_an_executor_is_heard() {
	need root
	[ -n "${OHS_SANITIZED:-}" ] || not_mine
	local started id init

	started=$(ohs start --empty)
	id=$(json "$started" .id)
	init=$(ohs show "$id" | jq .init_pid)
	kill -SEGV "$(children_of "$init" | head -n 1)" # as if it had happened to the server
	wait_until 20 grep -q '^ohsandbox-executor: the server' "$BASE/reports"
	assert_match "$(<"$BASE/reports")" 'AddressSanitizer: SEGV'
	: >"$BASE/reports"
	ohs stop "$id" || true # it has ended, which whoever looks first cleans up
}

test_stop_all_stops_all() {
	ohs start --empty >/dev/null
	ohs start --empty >/dev/null
	run ohs stop --all
	assert_status 0
	run ohs list --json
	assert_eq "[]" "$out"
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# A session stands still and comes back: frozen, on disk, killed half-way.
# deadline: 900

file_setup() {
	make_repo "$BASE/work/repo"
	(cd "$BASE/work/repo" && ohs run -q -- true)
}

in_repo() { (cd "$BASE/work/repo" && ohs "$@"); }

need_hooks() {
	OHS_FAIL_STAGE=base run in_repo run -q -- true
	[ "$status" -eq 125 ] || skip "needs a build with --enable-test-hooks"
}

# start_one ARGS...: sets $id, $url, $key.
start_one() {
	run in_repo start "$@"
	assert_status 0
	id=$(json "$out" .id) url=$(json "$out" .url) key=$(json "$out" .session_api_key)
}

alive() { curl -s -m 5 "$1/alive"; }

state_of() { ohs show "$1" | command jq -r '.state + " " + (.paused // "-")'; }

act_says() { json "$(ohs act "$1" run "$2")" .content; }

listed() { ohs show --json "$1" | command jq -c '[.id, .url, .address, .session_api_key, .slot, .label, .name]'; }

no_process_of() { ! kill -0 "$1" 2>/dev/null; }

test_what_was_written_comes_back_with_id_key_and_port() {
	local id url key before

	start_one --env GREETING='two  words' --workdir src
	act_says "$id" 'echo kept >../made; rm ../README; chmod 700 /workspace; touch /usr/local/mine; git -C .. switch -qc topic'
	before=$(listed "$id")
	run ohs pause --to-disk "$id"
	assert_status 0
	assert_eq "paused disk" "$(state_of "$id")"
	assert_eq "$before" "$(listed "$id")"
	assert_eq "" "$(session_groups | grep "$id" || true)" groups
	assert_eq "" "$(alive "$url" || true)"
	run ohs act "$id" run true
	assert_status 1
	assert_contains "$err" "is paused"
	run ohs diff "$id"
	assert_contains "$out" "A made"
	run ohs resume "$id"
	assert_status 0
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	assert_eq "running -" "$(state_of "$id")"
	assert_eq "$before" "$(listed "$id")"
	run act_says "$id" 'cat ../made; ls ../README; stat -c %a /workspace; ls /usr/local/mine; git branch --show-current; echo "$GREETING"; pwd'
	assert_contains "$out" "kept"
	assert_contains "$out" "No such file"
	assert_contains "$out" "700"
	assert_contains "$out" "/usr/local/mine"
	assert_contains "$out" "topic"
	assert_contains "$out" "two  words"
	assert_contains "$out" "/workspace/src"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -d '{}' "$url/execute_action")"
	ohs stop "$id"
}

test_limits_come_back() {
	local id url key

	need controller memory
	start_one --empty --memory 200M
	ohs pause --to-disk "$id"
	ohs resume "$id"
	limit=$(cat "$(session_groups | sed -n "s|^group ||; /memory.*$id\/work$/p" | head -n 1)"/memory.{limit_in_bytes,max} 2>/dev/null || true)
	assert_eq $((200 << 20)) "$limit"
	ohs stop "$id"
}

test_it_comes_back_again_and_again() {
	local id url key n

	start_one
	for n in 1 2 3 4 5; do
		act_says "$id" "echo $n >>/workspace/count" >/dev/null
		ohs pause --to-disk "$id"
		ohs resume "$id"
	done
	assert_eq 5 "$(act_says "$id" 'wc -l <count')"
	ohs stop "$id"
}

test_pausing_and_resuming_twice_is_no_error() {
	local id url key

	start_one --empty
	run ohs resume "$id"
	assert_status 0
	ohs pause --to-disk "$id"
	run ohs pause --to-disk "$id"
	assert_status 0
	run ohs pause "$id"
	assert_status 0
	assert_eq "paused disk" "$(state_of "$id")"
	ohs resume "$id"
	run ohs resume "$id"
	assert_status 0
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	ohs stop "$id"
}

test_what_it_was_started_with_counts_not_what_has_become_of_it() {
	local id url key policy=$T/mine.json

	echo '{"extends": "default", "environment": {"set": {"FROM_POLICY": "first"}}}' | as_me tee "$policy" >/dev/null
	run as_me env "OHS_STATE_DIR=$OHS_STATE_DIR" TZ=Asia/Tokyo "$STAGE/bin/ohsandbox" start --empty --policy "$policy" --hostname before
	assert_status 0
	id=$(json "$out" .id)
	ohs pause --to-disk "$id"
	echo '{"extends": "default", "environment": {"set": {"FROM_POLICY": "second"}}}' | as_me tee "$policy" >/dev/null
	ohs resume "$id"
	assert_eq "first Asia/Tokyo before" "$(act_says "$id" 'echo "$FROM_POLICY $TZ $(hostname)"')"
	ohs pause --to-disk "$id"
	as_me rm "$policy"
	ohs resume "$id"
	ohs stop "$id"
}

test_a_new_commit_does_not_change_what_it_stands_on() {
	local id url key

	start_one
	ohs pause --to-disk "$id"
	as_me bash -ec 'cd "$1"; echo later >README; git commit -qam later' bash "$BASE/work/repo"
	ohs clean --cache 2>/dev/null
	ohs resume "$id"
	assert_contains "$(act_says "$id" 'cat README')" hello
	assert_eq "" "$(act_says "$id" 'git status --porcelain')"
	ohs stop "$id"
}

test_a_port_that_somebody_else_has_is_named_and_nothing_changes() {
	local id url key port holder

	need cmd python3
	start_one --empty
	port=${url##*:}
	ohs pause --to-disk "$id"
	python3 -c '
import signal, socket, sys
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print("up", flush=True); signal.pause()' \
		"$port" >up &
	holder=$!
	wait_until 10 grep -q up up
	run ohs resume "$id"
	kill "$holder"
	wait "$holder" || true
	assert_status 1
	assert_contains "$err" "port $port"
	assert_eq "paused disk" "$(state_of "$id")"
	run ohs resume "$id"
	assert_status 0
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	ohs stop "$id"
}

# The daemon answers for a paused session meanwhile.
test_it_comes_back_on_listeners_that_somebody_held_for_it() {
	local id url key holder

	start_one --empty
	ohs pause --to-disk "$id"
	mkfifo say
	as_me "$STAGE/bin/hold_demo" "$id" "${url##*:}" <say >said 2>&1 &
	holder=$!
	exec {say}>say
	wait_until 10 grep -q held said
	run ohs resume "$id"
	assert_status 1
	assert_contains "$err" "port ${url##*:}"
	echo go >&"$say"
	exec {say}>&-
	wait "$holder" || fail "$(cat said)"
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	assert_eq "running -" "$(state_of "$id")"
	ohs stop "$id"
}

test_a_paused_session_keeps_its_slot_and_stop_gives_it_back() {
	local id url key other

	need root
	start_one --empty
	ohs pause --to-disk "$id"
	other=$(json "$(ohs start --empty)" .id)
	[ "$(ohs show "$id" | command jq .slot)" != "$(ohs show "$other" | command jq .slot)" ] || fail "the slot is another's"
	ohs stop "$other"
	run ohs clean
	assert_status 0
	ohs resume "$id"
	assert_eq '{"status":"ok"}' "$(alive "http://$(ohs show "$id" | command jq -r .address)")"
	ohs pause --to-disk "$id"
	run ohs stop "$id"
	assert_status 0
	assert_eq "[]" "$(ohs list --json)"
}

# A boot empties /run: the table of slots knows of nobody.
test_a_lost_table_of_slots_is_mended() {
	local id url key slot

	need root
	start_one --empty
	slot=$(ohs show "$id" | command jq .slot)
	ohs pause --to-disk "$id"
	rm /run/ohsandbox/slots
	ohs resume "$id"
	assert_eq "$slot" "$(ohs show "$id" | command jq .slot)"
	ohs stop "$id"
}

test_published_ports_come_back() {
	local id url key

	start_one --empty --publish 28128:8000
	act_says "$id" '(while :; do printf "HTTP/1.0 200 OK\r\n\r\nhere" | nc -l -p 8000 -q 1 || break; done) >/dev/null 2>&1 &' >/dev/null || true
	ohs pause --to-disk "$id"
	ohs resume "$id"
	curl -s -o /dev/null -m 5 http://127.0.0.1:28128/ || [ $? -ne 7 ] || fail "nobody listens on the published port"
	ohs stop "$id"
}

test_a_resume_that_fails_at_any_stage_leaves_it_paused() {
	local id url key stage

	need_hooks
	start_one
	act_says "$id" 'echo kept >made' >/dev/null
	for stage in base root slot listen session overlay cgroup ids clone groups network boot go before:clone before:go; do
		ohs pause --to-disk "$id"
		OHS_FAIL_STAGE=$stage run ohs resume "$id"
		assert_status 1
		assert_contains "$err" "made to fail"
		assert_eq "paused disk" "$(state_of "$id")" "after $stage"
		assert_eq "" "$(session_groups | grep "$id" || true)" "groups after $stage"
		run ohs resume "$id"
		assert_status 0
		assert_eq kept "$(act_says "$id" 'cat made')" "after $stage"
	done
	ohs stop "$id"
}

test_a_resume_that_is_killed_at_any_stage_leaves_it_paused() {
	local id url key stage

	need_hooks
	start_one
	act_says "$id" 'echo kept >made' >/dev/null
	for stage in base root slot listen session overlay cgroup ids clone groups network boot go before:clone before:go; do
		ohs pause --to-disk "$id"
		OHS_KILL_STAGE=$stage run ohs resume "$id"
		assert_status 137
		run ohs list
		assert_status 0
		assert_eq "paused disk" "$(state_of "$id")" "killed after $stage"
		assert_eq "" "$(session_groups | grep "$id" || true)" "groups after $stage"
		run ohs resume "$id"
		assert_status 0
		assert_eq kept "$(act_says "$id" 'cat made')" "killed after $stage"
	done
	ohs stop "$id"
}

test_a_pause_that_is_killed_or_fails_half_way_is_ended_by_the_next_command() {
	local id url key stage how

	need_hooks
	start_one
	act_says "$id" 'echo kept >made' >/dev/null
	for stage in network clone cgroup session slot; do
		for how in KILL FAIL; do
			export "OHS_${how}_STAGE=down:$stage"
			run ohs pause --to-disk "$id"
			unset "OHS_${how}_STAGE"
			[ "$status" -ne 0 ] || [ $stage = slot ] || fail "$how at $stage: it succeeded"
			run ohs list
			assert_contains "$out" "$id paused"
			assert_eq "" "$(session_groups | grep "$id" || true)" "groups after $how at $stage"
			run ohs resume "$id"
			assert_status 0
			assert_eq kept "$(act_says "$id" 'cat made')" "$how at $stage"
		done
	done
	ohs stop "$id"
}

test_a_paused_session_that_a_killed_stop_left_goes() {
	local id url key

	need_hooks
	start_one --empty
	ohs pause --to-disk "$id"
	OHS_KILL_STAGE=down:session run ohs stop "$id"
	assert_status 137
	assert_eq "[]" "$(ohs list --json)"
}

test_many_at_once_leave_one_state() {
	local id url key n jobs=()

	start_one --empty
	for n in 1 2 3 4; do
		ohs pause --to-disk "$id" &
		jobs+=($!)
		ohs resume "$id" &
		jobs+=($!)
		ohs list >/dev/null &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	run ohs resume "$id"
	assert_status 0
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	ohs stop "$id"
}

# What the daemon asks of its sessions.
persists() { echo persists | as_me tee -a "$OHS_STATE_DIR/sessions/$1/journal" >/dev/null; }

test_one_that_persists_survives_the_death_of_its_processes() {
	local id url key

	start_one
	persists "$id"
	act_says "$id" 'echo kept >made' >/dev/null
	kill -9 "$(ohs show "$id" | command jq .init_pid)"
	listed_as_paused() { ohs list | grep -q "$id paused"; }
	wait_until 10 listed_as_paused
	assert_eq "" "$(session_groups | grep "$id" || true)" groups
	ohs resume "$id"
	assert_eq kept "$(act_says "$id" 'cat made')"
	assert_eq '{"status":"ok"}' "$(alive "$url")"
	ohs stop "$id"
	assert_eq "[]" "$(ohs list --json)"
}

test_one_that_persists_and_is_over_its_time_is_paused() {
	local id url key

	start_one --empty --timeout 700ms
	persists "$id"
	listed_as_paused() { ohs list | grep -q "$id paused"; }
	wait_until 20 listed_as_paused
	ohs stop "$id"
}

test_a_stopped_one_can_be_kept_and_is_no_paused_one_then() {
	local id url key

	start_one
	act_says "$id" 'echo x >made' >/dev/null
	ohs pause --to-disk "$id"
	ohs stop --keep "$id"
	assert_eq "kept -" "$(state_of "$id")"
	assert_no_file "$OHS_STATE_DIR/sessions/$id/request.json"
	assert_contains "$(ohs diff "$id")" "A made"
	run ohs resume "$id"
	assert_status 1
	assert_contains "$err" "was kept"
	ohs stop "$id"
}

test_what_cannot_be_paused_is_refused() {
	local id job

	run ohs pause
	assert_status 2
	run ohs pause 0123456789ab
	assert_status 1
	assert_contains "$err" "no session '0123456789ab'"
	in_repo run -q -- sh -c 'echo up; exec sleep 1000' >up &
	job=$!
	wait_until 20 grep -q up up
	id=$(ohs list --json | command jq -r '.[0].id')
	run ohs pause --to-disk "$id"
	assert_status 1
	assert_contains "$err" "only those of 'start'"
	ohs stop "$id"
	wait $job || true
}

test_names_stand_for_ids() {
	local id url key other

	run ohs start --empty --name 'no way'
	assert_status 2
	run ohs start --empty --name 0123456789ab
	assert_status 2
	start_one --empty --name my.box
	assert_contains "$(ohs list)" my.box
	assert_eq my.box "$(json "$(ohs show my.box)" .name)"
	run ohs start --empty --name my.box
	assert_status 1
	assert_contains "$err" "the name 'my.box' is session $id's"
	assert_eq 1 "$(ohs list --json | command jq length)"
	ohs pause --to-disk my.box
	run ohs start --empty --name my.box
	assert_status 1
	ohs resume my.box
	ohs stop --keep my.box
	other=$(json "$(ohs start --empty --name my.box)" .id)
	assert_eq "$other" "$(json "$(ohs show my.box)" .id)"
	ohs stop my.box
	run ohs show my.box
	assert_status 1
	assert_contains "$err" "no session 'my.box'"
	ohs stop "$id"
}

# An ordinary user has groups of his own where there is one tree of them.
need_freezing() {
	need controller memory
	[ -e /sys/fs/cgroup/cgroup.controllers ] || {
		need root
		need controller freezer
	}
}

answers() { curl -s -m 10 -o /dev/null -w '%{http_code}' "$@"; }

ask_counter() { curl -s -m 20 -H "X-Session-API-Key: $key" -d '{"action":{"action":"run","args":{"command":"cat count"}}}' "$url/execute_action"; }

test_a_frozen_session_stands_still_and_goes_on() {
	local id url key one two pid

	need_freezing
	start_one --empty
	act_says "$id" '(while :; do echo x >>/workspace/count; sleep 0.01; done) & sleep 0.1; jobs -p' >/dev/null
	counted() { [ "$(stat -c %s "$counter" 2>/dev/null || echo 0)" -gt "$1" ]; }
	counter=$OHS_STATE_DIR/sessions/$id/layers/workspace/upper/count
	wait_until 10 counted 4
	run ohs pause "$id"
	assert_status 0
	assert_eq "paused frozen" "$(state_of "$id")"
	assert_contains "$(ohs list)" "$id paused"
	one=$(stat -c %s "$counter")
	two=$one
	assert_eq 200 "$(answers "$url/alive")"
	assert_eq 200 "$(answers "$url/server_info")"
	assert_eq 503 "$(answers -H "X-Session-API-Key: $key" "$url/actions")"
	assert_contains "$(curl -s -H "X-Session-API-Key: $key" -d '{}' "$url/execute_action")" '{"detail":"The session is paused."}'
	assert_eq 403 "$(answers -d '' "$url/resume")"
	wait_until 1 counted "$one" && fail "it counts though it is frozen"
	run ohs pause "$id"
	assert_status 0
	run ohs resume "$id"
	assert_status 0
	assert_eq "running -" "$(state_of "$id")"
	wait_until 10 counted "$one"
	assert_contains "$(ask_counter)" '"exit_code":0'
	run ohs resume "$id"
	assert_status 0
	ohs stop "$id"
}

test_time_outs_do_not_run_while_it_is_frozen() {
	local id url key job

	need_freezing
	start_one --empty --timeout 60s
	curl -s -m 60 -H "X-Session-API-Key: $key" -d '{"action":{"action":"run","args":{"command":"echo begun >/workspace/begun; sleep 0.7; echo done"},"timeout":2}}' "$url/execute_action" >answer &
	job=$!
	wait_until 10 test -e "$OHS_STATE_DIR/sessions/$id/layers/workspace/upper/begun"
	ohs pause "$id"
	# Longer than the action may take.
	wait_until 3 false || true
	ohs resume "$id"
	wait $job
	assert_contains "$(cat answer)" '"exit_code":0'
	assert_contains "$(cat answer)" 'done'
	ohs stop "$id"
}

test_a_frozen_session_can_be_stopped_put_to_disk_and_killed() {
	local id url key

	need_freezing
	start_one
	act_says "$id" 'echo kept >made; sleep 1000 & true' >/dev/null
	ohs pause "$id"
	run ohs pause --to-disk "$id"
	assert_status 0
	assert_eq "paused disk" "$(state_of "$id")"
	assert_eq "" "$(session_groups | grep "$id" || true)" groups
	ohs resume "$id"
	assert_eq kept "$(act_says "$id" 'cat made')"
	ohs pause "$id"
	kill -9 "$(ohs show "$id" | command jq .init_pid)"
	on_disk() { [ "$(state_of "$id")" = "paused disk" ]; }
	wait_until 10 on_disk
	ohs resume "$id"
	act_says "$id" 'sleep 1000 & true' >/dev/null
	ohs pause "$id"
	run ohs stop "$id"
	assert_status 0
	assert_eq "[]" "$(ohs list --json)"
}

test_where_it_cannot_be_frozen_it_says_how_else() {
	local id url key

	need user
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || not_mine
	start_one --empty
	run ohs pause "$id"
	assert_status 1
	assert_contains "$err" "cannot be frozen"
	assert_contains "$err" "pause --to-disk"
	assert_eq "running -" "$(state_of "$id")"
	assert_eq 0 "$(json "$(ohs act "$id" run true)" .extras.metadata.exit_code)"
	ohs stop "$id"
}

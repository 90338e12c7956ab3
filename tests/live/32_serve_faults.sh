#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# What clients were told stays true, whoever is killed; what is refused leaves nothing.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

AT_ONCE=20

file_setup() {
	make_repo "$BASE/work/repo"
}

sessions_there() { find "$OHS_STATE_DIR/sessions" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

at_least() { # COUNT COMMAND...
	local least=$1

	shift
	[ "$("$@")" -ge "$least" ]
}

answers() { find . -name 'told-*' -size +0 | wc -l; }

status_is_settled() { # NAME
	api GET "/sessions/$1"
	[ "$code" != 200 ] || [ "$(json "$body" .status)" != starting ]
}

# The daemon dies when so many of the starts have come so far.
kill_when() { # COMMAND COUNT
	local i starts=()

	for ((i = 0; i < AT_ONCE; i++)); do
		curl -sS -m 60 -H "X-API-Key: $api_key" -d "{\"image\":\"img\",\"session_id\":\"s$i\"}" -o "told-$i" -w '%{http_code}' "$base/start" >"code-$i" 2>/dev/null &
		starts+=($!)
	done
	wait_until 60 at_least "$2" "$1" || fail "never $2 of $1"
	kill -9 "$daemon"
	wait "${starts[@]}" || true
	wait_until 10 is_gone "$daemon"
}

# told NAME: a client was told of it, so it is there, and as it was told.
check_told() {
	local id url key

	body=$(<"told-$1")
	take_session
	expect 200 GET "/sessions/s$1"
	is "$body" ".status == \"running\" and .runtime_id == \"$id\" and .url == \"$url\" and .session_api_key == \"$key\""
	assert_eq "$1" "$(says "echo $1")"
}

check_all() {
	local i

	for ((i = 0; i < AT_ONCE; i++)); do
		wait_until 60 status_is_settled "s$i" || fail "s$i starts for ever: $body"
		if [ "$(<"code-$i")" = 200 ]; then
			check_told "$i"
		elif [ "$code" = 200 ] && [ "$(json "$body" .status)" = running ]; then
			take_session
			assert_eq "$i" "$(says "echo $i")"
		fi
	done
}

stop_all() {
	local i

	for ((i = 0; i < AT_ONCE; i++)); do
		api POST /stop "{\"runtime_id\":\"s$i\"}"
		assert_match "$code" '^(200|404)$'
	done
	expect 200 GET /list
	is "$body" '.runtimes == []'
	assert_eq 0 "$(sessions_there)" "sessions that are left"
}

test_killed_amid_many_starts_it_loses_none_that_was_told() {
	local round

	for round in "sessions_there 1" "answers 1" "sessions_there $AT_ONCE" "answers $((AT_ONCE / 2))" "answers $AT_ONCE"; do
		rm -f told-* code-*
		serve_up
		# shellcheck disable=SC2086 # two words
		kill_when $round
		serve_up
		check_all
		stop_all
		serve_down
	done
}

test_killed_it_finds_again_what_runs_and_what_is_paused() {
	local id url key

	serve_up
	start_session runs
	says 'echo 1 >/tmp/one' >/dev/null
	expect 200 POST /v1/sessions '{"image":"img","session_id":"sleeps"}'
	expect 200 POST /v1/sessions/sleeps/pause '{"to_disk":true}'
	expect 200 POST /v1/sessions '{"image":"img","session_id":"frozen"}'
	expect 200 POST /pause '{"runtime_id":"frozen"}'
	kill -9 "$daemon"
	wait_until 10 is_gone "$daemon"
	assert_eq 1 "$(says 'cat /tmp/one')" "without a daemon"
	serve_up
	expect 200 GET '/sessions/batch?ids=runs&ids=sleeps&ids=frozen'
	is "$body" '[.[].status] == ["running", "paused", "paused"]'
	is "$body" ".[0].url == \"$url\" and .[0].session_api_key == \"$key\""
	for name in runs sleeps frozen; do
		expect 200 POST /resume "{\"runtime_id\":\"$name\"}"
		is "$body" '.status == "running"'
	done
	assert_eq 1 "$(says 'cat /tmp/one')"
	for name in runs sleeps frozen; do
		expect 200 POST /stop "{\"runtime_id\":\"$name\"}"
	done
	serve_down
}

has_status() { # NAME REGEX
	api GET "/sessions/$1"
	[ "$code" = 200 ] && [[ $(json "$body" .status) =~ $2 ]]
}

test_a_session_whose_processes_were_killed_comes_back_by_a_start() {
	local id url key known init

	serve_up
	start_session s1
	known="$id $url $key"
	assert_eq kept "$(says 'echo kept >/workspace/made; cat /workspace/made')"
	init=$(ohs show --json "$id" | command jq .init_pid)
	kill -9 "$init"
	wait_until 20 has_status s1 '^(error|paused)$' || fail "nobody notices: $body"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	start_session s1
	assert_eq "$known" "$id $url $key"
	assert_eq kept "$(says 'cat /workspace/made')"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

calls_are() { # COUNT
	api GET /metrics
	[[ $body = *"ohsandbox_calls $1"* ]]
}

test_asked_to_end_it_finishes_what_is_under_way() {
	local id url key slow

	serve_up --drain-timeout 30s
	start_session s1
	curl -sS -m 60 -H "X-API-Key: $api_key" -d '{"command":"until test -e /workspace/go; do read -t 0.1 <> <(:); done; echo done"}' -o slow "$base/v1/sessions/s1/exec" &
	slow=$!
	wait_until 20 calls_are 1 || fail "no call is at work: $body"
	kill -TERM "$daemon"
	wait_until 20 grep -q "ending: 1 at work" serve.log || fail "nothing is waited for"
	api GET /list
	assert_match "$code" '^(503|000)$'
	kill -0 "$daemon" || fail "it did not wait"
	: >go
	curl -sS -m 20 -f -o uploaded -H "X-Session-API-Key: $key" -F file=@go "$url/upload_file?destination=/workspace"
	wait "$slow" || fail "no answer"
	assert_eq done "$(json "$(<slow)" .output)"
	wait_until 20 is_gone "$daemon" || fail "it does not end"
	assert_eq alive "$(says 'echo alive')"
	serve_up
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_it_waits_for_the_drain_timeout_and_no_longer() {
	serve_up --drain-timeout 300ms
	start_session s1
	curl -sS -m 60 -H "X-API-Key: $api_key" -d '{"command":"sleep 60"}' -o slow "$base/v1/sessions/s1/exec" 2>/dev/null &
	wait_until 20 calls_are 1 || fail "no call is at work: $body"
	serve_down
	wait $! || true
	ohs stop s1
}

configure_with() { printf '%s\n' "$1" >"$T/serve.json"; }

images_are() {
	api GET /api/warm-runtime-configs
	[ "$(command jq -r '[.configs[].image] | join(" ")' <<<"$body")" = "$1" ]
}

test_a_hang_up_reads_the_configuration_again_if_it_is_good() {
	local bad

	configure_with '{"templates": [{"name": "a", "image": "one"}]}'
	serve_up --config "$T/serve.json"
	images_are one
	configure_with '{"templates": [{"name": "b", "image": "two"}], "hosts": ["mine.example"]}'
	kill -HUP "$daemon"
	wait_until 20 images_are two || fail "not read: $(<serve.log)"
	expect 200 GET /list '' -H 'Host: mine.example'
	for bad in '{"templates": [' '{"tmeplates": []}' '{"templates": [{"name": "c", "image": "three", "rootfs": "/nowhere"}]}'; do
		: >serve.log
		configure_with "$bad"
		kill -HUP "$daemon"
		wait_until 20 grep -q "the configuration stays as it was" serve.log || fail "no word of: $bad"
		images_are two || fail "a bad configuration is taken: $bad"
	done
	run ohs serve --check --config "$T/serve.json"
	assert_status 1
	assert_contains "$err" /nowhere
	serve_down
}

refused() { # CODE PART BODY
	expect "$1" POST /start "$3"
	is "$body" ".detail | type == \"string\" and contains(\"$2\")"
}

test_what_is_refused_says_why_and_leaves_nothing() {
	local field

	mkdir -p "$BASE/work/secret/.git"
	ln -sfn "$BASE/work/secret" "$BASE/work/repo/link"
	serve_up --allow-repo "$BASE/work/repo"
	refused 403 "not among the repositories" "{\"image\":\"worktree:$BASE/work/secret\",\"session_id\":\"s\"}"
	refused 403 "not among the repositories" "{\"image\":\"worktree:$BASE/work/repo/link\",\"session_id\":\"s\"}"
	refused 403 "not among the repositories" "{\"image\":\"worktree:$BASE/work/repo/../secret\",\"session_id\":\"s\"}"
	refused 403 "not among the repositories" "{\"image\":\"i\",\"session_id\":\"s\",\"environment\":{\"OHSANDBOX_REPO\":\"/etc\"}}"
	for field in '{' '' '[]' 'null' '{"image":"i"}x' $'{"image":"\xff"}'; do
		refused 422 "" "$field"
	done
	refused 422 image '{"image":1,"session_id":"s"}'
	refused 422 image '{"session_id":"s"}'
	for field in session_id:1 session_id:'"a/b"' command:1 command:'"openhands.x -m openhands.runtime.action_execution_server"' working_dir:1 environment:1 resource_factor:0 run_as_user:-1 run_as_group:true; do
		refused 422 "${field%%:*}" "{\"image\":\"i\",\"${field%%:*}\":${field#*:}}"
	done
	head -c $((1 << 20)) /dev/zero | tr '\0' ' ' >large
	echo '{"image":"i","session_id":"s"}' >>large
	expect 413 POST /start @large
	expect 422 POST /stop '{}'
	expect 422 POST /stop '{"runtime_id":7}'
	expect 422 POST /stop '['
	assert_eq 0 "$(sessions_there)" "sessions that were made"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	serve_down
	rm -r "$BASE/work/secret" "$BASE/work/repo/link"
}

# Where the command keeps it, the daemon does; where it does not, both say which one it is.
test_a_limit_that_this_host_cannot_keep_is_refused_by_name() {
	echo '{"templates": [{"name": "small", "image": "small", "limits": {"memory": "512M", "pids": 200}}]}' >serve.json
	serve_up --config "$T/serve.json"
	run ohs run --dir "$T" --memory 512M --pids 200 -- true
	if [ "$status" -eq 0 ]; then
		expect 200 POST /start '{"image":"small","session_id":"s1"}'
		expect 200 POST /stop '{"runtime_id":"s1"}'
	else
		assert_match "$err" "memory|pids"
		refused 501 "cannot be kept" '{"image":"small","session_id":"s1"}'
		is "$body" '.detail | contains("memory") or contains("pids")'
		assert_eq 0 "$(sessions_there)"
	fi
	serve_down
}

test_failed_starts_take_no_place_of_others() {
	echo '{"max_sessions": 1}' >serve.json
	serve_up --config "$T/serve.json"
	refused 403 "" '{"image":"worktree:/nowhere","session_id":"bad"}'
	start_session good
	refused 503 max_sessions '{"image":"img","session_id":"more"}'
	expect 200 POST /stop '{"runtime_id":"good"}'
	serve_down
}

test_on_a_full_disk_a_start_fails_whole_and_works_again() {
	need root
	export OHS_STATE_DIR=$T/small
	mkdir "$OHS_STATE_DIR"
	mount -t tmpfs -o size=64m,mode=700 small "$OHS_STATE_DIR"
	serve_up
	trap 'clean_up_after $?; umount -l "$OHS_STATE_DIR"' EXIT
	start_session first # what all sessions share is made
	dd if=/dev/zero of="$OHS_STATE_DIR/ballast" bs=64k 2>/dev/null || true
	refused 507 "no space left" '{"image":"img","session_id":"second"}'
	assert_eq 1 "$(sessions_there)"
	expect 200 GET /sessions/first
	is "$body" '.status == "running"'
	rm "$OHS_STATE_DIR/ballast"
	start_session second
	assert_eq 1 "$(says 'echo 1')"
	expect 200 POST /stop '{"runtime_id":"first"}'
	expect 200 POST /stop '{"runtime_id":"second"}'
	serve_down
}

# What there is of room is taken, or given back.
fill_disk() { dd if=/dev/zero of="$OHS_STATE_DIR/ballast" bs=4k 2>/dev/null || true; }

empty_disk() { rm "$OHS_STATE_DIR/ballast"; }

# On a full disk it is done or refused by its reason; then it is done when there is room.
done_at_last() { # PATH
	fill_disk
	api POST "$1" '{"runtime_id":"s1","to_disk":true}'
	case $code in
	200) ;;
	507) is "$body" '.detail | contains("o space left")' ;;
	*) fail "$1 on a full disk: $code '$body'" ;;
	esac
	is "$(curl -sS -H "X-API-Key: $api_key" "$base/sessions/s1")" ".runtime_id == \"$id\" and .url == \"$url\" and .session_api_key == \"$key\""
	empty_disk
	expect 200 POST "$1" '{"runtime_id":"s1","to_disk":true}'
}

test_on_a_full_disk_a_pause_or_a_resume_loses_nothing() {
	local id url key

	need root
	export OHS_STATE_DIR=$T/small
	mkdir "$OHS_STATE_DIR"
	mount -t tmpfs -o size=64m,mode=700 small "$OHS_STATE_DIR"
	serve_up
	trap 'clean_up_after $?; umount -l "$OHS_STATE_DIR"' EXIT
	start_session s1
	assert_eq kept "$(says 'echo kept >/workspace/made; cat /workspace/made')"
	done_at_last /pause
	done_at_last /resume
	assert_eq kept "$(says 'cat /workspace/made')"
	fill_disk
	api POST /v1/sessions/s1/pause '{"to_disk":true}'
	assert_match "$code" '^(200|507)$'
	empty_disk
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	done_at_last /resume
	assert_eq kept "$(says 'cat /workspace/made')"
	# To end it needs no room.
	fill_disk
	expect 200 POST /stop '{"runtime_id":"s1"}'
	empty_disk
	assert_eq 0 "$(sessions_there)"
	serve_down
}

# Every port that a session could be given is somebody's.
take_all_ports() {
	echo "61000 61001" >/proc/sys/net/ipv4/ip_local_port_range
	python3 - "$T/taken" <<-'END' &
		import resource, signal, socket, sys
		resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
		held = []
		for port in list(range(16384, 30000)) + [61000, 61001]:
		    s = socket.socket()
		    try:
		        s.bind(("127.0.0.1", port))
		    except OSError:
		        pass  # somebody else's already
		    held.append(s)
		open(sys.argv[1], "w").close()
		signal.pause()
	END
	taker=$!
	wait_until 60 test -e taken || fail "the ports are not taken"
}

test_without_a_free_port_a_start_is_refused_and_works_again() {
	need root
	need cmd python3
	[ "$(ulimit -Hn)" -ge 20000 ] || skip "needs 20000 descriptors"
	serve_up --socket "$T/sock"
	start_session first
	take_all_ports
	expect 409 POST /start '{"image":"img","session_id":"second"}' --unix-socket "$T/sock"
	is "$body" '.detail | contains("no port is free") or contains("Address already in use")'
	assert_eq 1 "$(sessions_there)"
	kill -9 "$taker"
	wait "$taker" 2>/dev/null || true
	echo "32768 60999" >/proc/sys/net/ipv4/ip_local_port_range
	start_session second
	expect 200 POST /stop '{"runtime_id":"first"}'
	expect 200 POST /stop '{"runtime_id":"second"}'
	serve_down
}

test_clients_that_vanish_leave_nothing_behind() {
	local i id

	serve_up
	for i in 1 2 3 4 5 6; do
		curl -sS -m 60 -H "X-API-Key: $api_key" -d "{\"image\":\"img\",\"session_id\":\"v$i\"}" "$base/start" >/dev/null 2>&1 &
		starts[i]=$!
	done
	wait_until 20 at_least 1 sessions_there
	kill -9 "${starts[@]}" 2>/dev/null || true
	for i in 1 2 3 4 5 6; do
		wait_until 60 status_is_settled "v$i"
		api POST /stop "{\"runtime_id\":\"v$i\"}"
		assert_match "$code" '^(200|404)$'
	done
	assert_eq 0 "$(sessions_there)"
	serve_down
}

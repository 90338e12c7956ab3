#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# Who is let in by the daemon, and what of it a session can find.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# knock CODE CURL-ARGS...: with no key but what these say.
knock() {
	local want=$1 got

	shift
	got=$(curl -sS -m 20 -o "$T/knocked" -w '%{http_code}' "$@") || true
	[ "$got" = "$want" ] || fail "$*: $got, not $want: '$(<"$T/knocked")'"
}

test_nobody_is_heard_without_the_key() {
	serve_up
	for path in /list /sessions/x /v1/sessions /metrics /nowhere /registry_prefix /v1/events; do
		knock 403 "$base$path"
	done
	knock 403 -d '{"image":"i","session_id":"s1"}' "$base/start"
	is "$(<"$T/knocked")" '.detail | type == "string"'
	for wrong in "" x "${api_key%?}" "${api_key}0" "${api_key^^}x" "$api_key$api_key" "${api_key:0:63} "; do
		knock 403 -H "X-API-Key: $wrong" "$base/list"
	done
	knock 403 -H "X-Session-API-Key: $api_key" "$base/list"
	knock 403 -H "Authorization: Bearer $api_key" "$base/list"
	knock 403 "$base/list?X-API-Key=$api_key"
	knock 403 -H "X-API-Key: $api_key" -H "X-API-Key: x" "$base/list"
	knock 200 "$base/healthz"
	knock 200 -H "X-API-Key: $api_key" -H "X-Session-API-Key: x" "$base/list"
	assert_eq "" "$(sessions_left)"
	serve_down
}

# They have the user's browser, and names of their own that lead here.
test_pages_and_foreign_names_are_refused_with_the_key_too() {
	serve_up
	for origin in http://evil.example null "$base"; do
		knock 403 -H "X-API-Key: $api_key" -H "Origin: $origin" "$base/list"
	done
	knock 403 -X OPTIONS -H 'Origin: http://evil.example' -H 'Access-Control-Request-Method: POST' "$base/start"
	for host in evil.example "127.0.0.1:1" "127.0.0.1" "${base#http://}.evil.example"; do
		knock 421 -H "X-API-Key: $api_key" -H "Host: $host" "$base/list"
	done
	knock 421 -0 -H "X-API-Key: $api_key" -H "Host:" "$base/list"
	knock 200 -H "X-API-Key: $api_key" -H "Host: LOCALHOST:${base##*:}" "$base/list"
	serve_down
}

test_beyond_the_loopback_it_listens_on_demand_alone() {
	for where in 0.0.0.0:0 '[::]:0'; do
		run ohs serve --listen "$where"
		assert_status 1
		assert_contains "$err" "--insecure-listen"
		assert_contains "$err" "$where"
	done
	listen=0.0.0.0:0 serve_up --insecure-listen
	expect 200 GET /list
	serve_down
}

test_the_key_is_kept_from_others() {
	local was

	rm -f "$OHS_STATE_DIR/serve.key"
	serve_up
	assert_eq 600 "$(stat -c %a "$OHS_STATE_DIR/serve.key")"
	assert_match "$api_key" '^[0-9a-f]{64}$'
	assert_contains "$(<"$T/serve.log")" "$OHS_STATE_DIR/serve.key"
	assert_not_contains "$(<"$T/serve.log")" "$api_key"
	was=$api_key
	serve_down
	chmod 644 "$OHS_STATE_DIR/serve.key"
	run ohs serve --listen 127.0.0.1:0
	chmod 600 "$OHS_STATE_DIR/serve.key"
	assert_status 1
	assert_contains "$err" "can be read by others"
	serve_up
	assert_eq "$was" "$api_key" "the key of the second start"
	serve_down
}

test_a_check_says_what_would_be_refused_and_makes_nothing() {
	local bad

	checks() { run ohs serve --check "$@"; }
	export OHS_STATE_DIR=$T/nothing
	checks
	assert_status 0
	assert_no_file "$OHS_STATE_DIR"
	for bad in 0.0.0.0:0 nowhere:80 127.0.0.1:70000; do
		checks --listen "$bad"
		assert_status 1
		assert_contains "$err" "$bad"
	done
	checks --insecure-listen --listen 203.0.113.7:8000
	assert_status 1
	assert_contains "$err" "Cannot assign requested address"
	checks --socket "$T/no/such/socket"
	assert_status 1
	checks --key-file "$T/none"
	assert_status 1
	assert_contains "$err" "No such file"
	as_me bash -c 'echo short >"$0"; chmod 600 "$0"' "$T/key"
	checks --key-file "$T/key"
	assert_status 1
	assert_contains "$err" "must hold a key"
	as_me bash -c 'echo 0123456789abcdef0123 >"$0"; chmod 644 "$0"' "$T/key"
	checks --key-file "$T/key"
	assert_status 1
	assert_contains "$err" "can be read by others"
	as_me chmod 600 "$T/key"
	checks --key-file "$T/key" --listen localhost:0 --socket "$T/socket"
	assert_status 0
	assert_no_file "$T/socket"
	assert_no_file "$OHS_STATE_DIR"
}

test_there_is_one_daemon_for_a_state_directory() {
	serve_up --socket "$T/sock"
	run ohs serve --listen 127.0.0.1:0 --socket "$T/sock"
	assert_status 1
	assert_contains "$err" "another daemon serves '$OHS_STATE_DIR' already"
	expect 200 GET /list
	knock 200 --unix-socket "$T/sock" -H "X-API-Key: $api_key" http://localhost/list
	serve_down
}

test_a_socket_is_its_users_and_wants_the_key_too() {
	serve_up --socket "$T/sock"
	assert_eq 600 "$(stat -c %a "$T/sock")"
	knock 200 --unix-socket "$T/sock" -H "X-API-Key: $api_key" http://localhost/list
	knock 403 --unix-socket "$T/sock" http://localhost/list
	knock 421 --unix-socket "$T/sock" -H "X-API-Key: $api_key" http://evil.example/list
	serve_down
	assert_no_file "$T/sock"
	echo precious >file
	run ohs serve --listen 127.0.0.1:0 --socket "$T/file"
	assert_status 1
	assert_eq precious "$(<file)"
}

# Every process of the session of this init, by the host's numbers.
processes_of() { # INIT
	local ns

	ns=$(readlink "/proc/$1/ns/pid")
	for at in /proc/[0-9]*; do
		[ "$(readlink "$at/ns/pid" 2>/dev/null)" != "$ns" ] || echo "${at#/proc/}"
	done
}

# memory_has TEXT PID...: names those in whose memory, environment or arguments it stands.
memory_has() {
	python3 - "$@" <<-'END'
		import sys
		text = sys.argv[1].encode()
		for pid in sys.argv[2:]:
		    found = False
		    for name in ("environ", "cmdline"):
		        found |= text in open(f"/proc/{pid}/{name}", "rb").read()
		    memory = open(f"/proc/{pid}/mem", "rb", 0)
		    for line in open(f"/proc/{pid}/maps"):
		        words = line.split()
		        if "r" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
		            continue
		        begin, end = (int(x, 16) for x in words[0].split("-"))
		        try:
		            memory.seek(begin)
		            found |= text in memory.read(end - begin)
		        except (OSError, OverflowError, ValueError):
		            pass
		    if found:
		        print(pid)
	END
}

test_the_daemons_key_is_nowhere_in_a_session() {
	local id url key init pids

	need root
	[ -z "${OHS_SANITIZED:-}" ] || skip "a sanitizer keeps freed memory for a while"
	need cmd python3
	serve_up
	start_session s1
	assert_contains "$(says 'sleep 1000 & echo started')" started
	# Clients send it along, also where nobody answers, and in heads that are refused.
	for path in /alive /nowhere /server_info "/list_files?path=/"; do
		curl -sS -o /dev/null -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" "$url$path"
	done
	curl -sS -o /dev/null -H "X-API-Key: $api_key" -H "X-Session-API-Key: wrong" -d '{}' "$url/execute_action"
	curl -sS -o /dev/null -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" -H 'Content-Length: x' "$url/alive"
	curl -sS -o /dev/null -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" -F file=@"$T/serve.log" "$url/upload_file?destination=/workspace"
	expect 200 POST /v1/sessions/s1/exec '{"command":"env"}'
	assert_not_contains "$body" "$api_key"
	expect 200 POST /pause "{\"runtime_id\":\"$id\"}"
	expect 200 POST /resume "{\"runtime_id\":\"$id\"}"
	init=$(ohs show --json "$id" | command jq .init_pid)
	mapfile -t pids < <(processes_of "$init")
	[ ${#pids[@]} -ge 3 ] || fail "only ${#pids[@]} processes were found"
	# Whoever searches so finds what is there.
	[ -n "$(memory_has "$key" "${pids[@]}")" ] || fail "the session's own key is in no memory"
	[ -n "$(memory_has "$api_key" "$daemon")" ] || fail "the daemon's key is not in its own memory"
	assert_eq "" "$(memory_has "$api_key" "${pids[@]}")" "processes that have the daemon's key"
	for pid in "${pids[@]}"; do
		! grep -rqsF "$api_key" "/proc/$pid/root/tmp" "/proc/$pid/root/workspace" "/proc/$pid/root/run" "/proc/$pid/root/etc" ||
			fail "a file of the session has it"
	done
	! grep -rqsF "$api_key" "$OHS_STATE_DIR/sessions" || fail "a file of the session's directory has it"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

# Does anybody answer in there?
reaches() { # ADDRESS
	expect 200 POST /v1/sessions/s1/exec "{\"command\":\"timeout 3 bash -c 'exec 3<>/dev/tcp/$1/${base##*:} && echo came in'\"}"
	[[ $(json "$body" .output) = *"came in"* ]]
}

# Though it listens everywhere: the worst that an operator can do.
test_no_network_of_a_session_leads_to_the_daemon() {
	local id address

	need net_admin
	echo '{"templates": [{"name": "n", "image": "nat", "net": "nat"}]}' >serve.json
	listen=0.0.0.0:0 serve_up --insecure-listen --config "$T/serve.json"
	expect 200 POST /start '{"image":"nat","session_id":"s1"}'
	take_session
	mapfile -t addresses < <(ip -4 -o addr show | awk '{ sub(/\/.*/, "", $4); print $4 }')
	[ ${#addresses[@]} -ge 2 ] || fail "no bridge: ${addresses[*]}"
	for address in "${addresses[@]}"; do
		curl -sS -m 5 -o /dev/null "http://$address:${base##*:}/healthz" || fail "the host does not reach $address"
		! reaches "$address" || fail "the session reaches the daemon at $address"
	done
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

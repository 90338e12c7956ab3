# Rows of tables 2 and 7: the executor is neither traced, killed, limited, read nor impersonated.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

# A process of our own as the control's target: `victim PROBE ARGS` must succeed on it.
victim() {
	as_me sleep 100 &
	local shell=$! pid
	wait_until 5 pgrep -P "$shell" sleep >/dev/null 2>&1 || true
	pid=$(pgrep -P "$shell" -x sleep || echo "$shell")
	control probe "$1" "$pid" "${@:2}"
	kill -9 "$pid" "$shell" 2>/dev/null || true # one probe has killed it already
	wait "$shell" 2>/dev/null || true
}

both_pids() { # PROBE ARGS: init is 1
	refused "$1" 1 "${@:2}"
	refused "$1" "$(server_pid)" "${@:2}"
}

# The rows below are about this number: were it another, they would prove nothing.
test_the_server_has_the_number_that_these_tests_attack() {
	local started child numbers=
	started=$(ohs start --repo "$BASE/work/repo")
	for child in $(children_of "$(json "$started" .init_pid)"); do
		numbers="$numbers $(awk '/^NSpid/ { print $NF }' "/proc/$child/status")"
	done
	ohs stop "$(json "$started" .id)" >/dev/null
	assert_contains "$numbers " " $(server_pid) "
}

test_executor_cannot_be_traced() {
	both_pids ptrace
	victim ptrace
}

test_executor_cannot_be_killed() {
	# To pid 1 the kernel accepts the signal and drops it: the oracle is that the session lives on.
	local server
	server=$(server_pid)
	for U in openhands root; do
		session "$U" sh -c "/probe/probe kill 1; /probe/probe kill $server; kill -9 1 $server; kill -9 -$server; echo alive"
		assert_status 0
		assert_contains "$out" alive
		assert_not_contains "$out" "kill -9: succeeded
kill -9: succeeded"
	done
	attack root kill "$server"
	assert_eq 1 "$status" "root's kill of the server"
	victim kill
}

test_server_answers_after_every_process_was_signalled() {
	local id
	id=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro" | jq -r .id)
	run ohs act "$id" run "for p in 1 $(server_pid) -$(server_pid); do kill -9 \$p; done; /probe/probe kill $(server_pid); /probe/probe prlimit-cpu $(server_pid); echo still here"
	assert_contains "$out" "still here"
	run ohs act "$id" run 'echo second'
	assert_contains "$out" second
	ohs stop "$id" >/dev/null
}

test_executor_cannot_be_limited() {
	both_pids prlimit-cpu
	victim prlimit-cpu
}

test_executor_cannot_be_slowed() {
	both_pids priority
	both_pids affinity
	both_pids scheduler
	both_pids ioprio
	victim priority
	victim affinity
	victim scheduler
	victim ioprio
}

test_executors_memory_cannot_be_read() {
	both_pids read-memory
	victim read-proc maps
}

test_executors_environment_maps_and_descriptors_cannot_be_read() {
	local file
	for file in environ maps mem auxv syscall stack; do
		both_pids read-proc "$file"
	done
	for U in openhands root; do
		session "$U" sh -c "ls /proc/1/fd /proc/$(server_pid)/fd /proc/1/cwd/ /proc/1/root/ 2>/dev/null | wc -l"
		assert_eq 0 "$out" "names seen through the executor"
	done
	victim read-proc environ
}

test_executors_descriptors_cannot_be_taken() {
	both_pids pidfd-getfd
	victim pidfd-getfd
}

test_the_sessions_key_is_nowhere_in_what_the_workload_sees() {
	local started id key
	started=$(ohs start --repo "$BASE/work/repo")
	id=$(json "$started" .id)
	key=$(json "$started" .session_api_key)
	assert_match "$key" '^[0-9a-f]{64}$'
	run ohs act "$id" run 'cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n"; env; grep -rs . /run /tmp /home 2>/dev/null'
	assert_not_contains "$out" "$key"
	ohs stop "$id" >/dev/null
	control env CANARY=seen grep -zq CANARY=seen /proc/self/environ
}

test_the_executors_port_cannot_be_taken_over() {
	need root
	local started id address port
	started=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro")
	id=$(json "$started" .id)
	address=$(json "$started" .address)
	port=${address##*:}
	run ohs act "$id" run "/probe/probe bind-port ${address%:*} $port; /probe/probe bind-port 0.0.0.0 $port"
	assert_not_contains "$out" succeeded
	run ohs act "$id" run '/probe/probe bind-port 0.0.0.0 12345'
	assert_contains "$out" succeeded
	ohs stop "$id" >/dev/null
}

test_a_crowd_of_connections_from_inside_does_not_shut_the_host_out() {
	need root
	need cmd curl
	local started id address
	started=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro")
	id=$(json "$started" .id)
	address=$(json "$started" .address)
	run ohs act "$id" run "(/probe/probe crowd ${address%:*} ${address##*:} >/tmp/crowd &); until grep -q there /tmp/crowd; do sleep 0.1; done; sleep 1"
	for _ in 1 2 3; do
		assert_eq 200 "$(curl -s -m 30 -o /dev/null -w '%{http_code}' "$(json "$started" .url)/alive")"
	done
	# Control: the crowd is there, with as many connections as its listener takes; one made room for each of ours.
	run ohs act "$id" run "grep -c ' 01 ' /proc/net/tcp"
	[ "$(json "$out" .content)" -ge 60 ] || fail "no crowd: $out"
	ohs stop "$id" >/dev/null
}

test_no_key_and_a_wrong_key_are_refused() {
	local started id url key
	need cmd curl
	started=$(ohs start --repo "$BASE/work/repo")
	id=$(json "$started" .id)
	url=$(json "$started" .url)
	key=$(json "$started" .session_api_key)
	local body='{"action":{"action":"run","args":{"command":"echo hi"}}}'
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -d "$body" -H 'Content-Type: application/json' "$url/execute_action")"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -d "$body" -H 'Content-Type: application/json' -H "X-Session-API-Key: ${key%?}x" "$url/execute_action")"
	# Control: the right one is taken.
	assert_eq 200 "$(curl -s -o /dev/null -w '%{http_code}' -d "$body" -H 'Content-Type: application/json' -H "X-Session-API-Key: $key" "$url/execute_action")"
	ohs stop "$id" >/dev/null
}

test_kernel_counters_of_one_session_are_not_anothers() {
	# inotify instances are charged to the creator of the user namespace.
	need root
	local id
	id=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro" | jq -r .id)
	run ohs act "$id" run '(sleep 1000 | /probe/probe inotify >/tmp/held) & until grep -qs instances /tmp/held; do sleep 0.05; done'
	session openhands /probe/probe inotify
	assert_match "$out" '^[1-9][0-9]* instances'
	run "$P/probe" inotify
	assert_match "$out" '^[1-9][0-9]* instances'
	ohs stop "$id" >/dev/null
	# Control: two processes of one id share the counter.
	mkfifo "$T/hold"
	exec 8<>"$T/hold"
	as_user "$P/probe" inotify <&8 8>&- >"$T/first" &
	wait_until 10 grep -q instances "$T/first"
	run as_user "$P/probe" inotify 8>&-
	exec 8>&-
	kill $(ours "$P/probe inotify")
	wait 2>/dev/null || true
	assert_contains "$out" "0 instances"
}

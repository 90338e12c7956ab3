#!/bin/bash
# SPDX-License-Identifier: MIT
# What is known of each action, and what each is bounded by: /actions, its groups, cancelling, following,
# repeating.
# deadline: 900

file_setup() {
	cd "$BASE/work" || return 1
	ohs start --empty --memory 128M --pids 200 >"$BASE/session.json" 2>"$BASE/start.err" ||
		ohs start --empty >"$BASE/session.json" || return 1 # no groups for this identity
	kept "$(jq -r .id "$BASE/session.json")"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

url() { jq -r .url "$BASE/session.json"; }
key() { echo "X-Session-API-Key: $(jq -r .session_api_key "$BASE/session.json")"; }

post() { curl -s -m 100 -H "$(key)" "${@:2}" -d "$1" "$(url)/execute_action"; }

# body COMMAND [TIMEOUT [MORE_ARGS]]
body() {
	jq -nc --arg c "$1" --argjson t "${2:-60.0}" --argjson more "${3:-{\}}" \
		'{action: {action: "run", args: ({command: $c} + $more), timeout: $t}}'
}

# act COMMAND [TIMEOUT [MORE_ARGS]]: sets $seen to the observation and $n to the action's id.
act() {
	seen=$(body "$@" | post @-)
	n=$(jq -r .action_id <<<"$seen")
}

# behind COMMAND [TIMEOUT [MORE_ARGS]]: the same without waiting: $n is the id it will have, $job its job
# here; what it is answered goes to the file "answer".
behind() {
	n=$(($(last_id) + 1))
	body "$@" | post @- >answer &
	job=$!
	wait_until 20 in_state "$n" running
}

last_id() { get actions | jq -r '.actions[0].id // 0'; }
get() { curl -s -m 20 -H "$(key)" "$(url)/$1"; }
of() { get "actions/$1" | jq -r "$2"; }
status_of() { curl -s -m 20 -o /dev/null -w '%{http_code}' -H "$(key)" "${@:2}" "$(url)/$1"; }
in_state() { [ "$(of "$1" .state)" = "$2" ]; }
cancel() { curl -s -m 20 -X POST -H "$(key)" "$(url)/actions/$1/cancel"; }
content() { jq -r .content <<<"$seen"; }
code() { jq -r .extras.metadata.exit_code <<<"$seen"; }

# many N BODY [CONTENT]: so many actions over one connection, each with this content.
many() {
	python3 - "$(url)" "$(key)" "$@" <<-'PY'
		import socket, sys
		host, port = sys.argv[1].replace("http://", "").split(":")
		body = sys.argv[4].encode()
		want = ('"content":"%s"' % sys.argv[5]).encode() if len(sys.argv) > 5 else b""
		request = (f"POST /execute_action HTTP/1.1\r\nHost: x\r\n{sys.argv[2]}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
		s = socket.create_connection((host, int(port)))
		for i in range(int(sys.argv[3])):
		    s.sendall(request)
		    reply = s.recv(65536)
		    assert reply.startswith(b"HTTP/1.1 200") and want in reply, reply
	PY
}

# Leaves are there for who may make groups.
need_leaves() {
	need root
	need controller memory
	need controller pids
}

test_each_action_has_an_id_in_its_reply_and_its_head() {
	local first head

	act 'echo one'
	first=$n
	head=$(body 'echo two' | curl -s -D - -o /dev/null -H "$(key)" -d @- "$(url)/execute_action" | tr -d '\r')
	assert_contains "$head" "x-action-id: $((first + 1))"
	assert_eq $((first + 1)) "$(last_id)"
	assert_eq "echo one" "$(of "$first" .what)"
	assert_eq run,done,0 "$(of "$first" '[.kind, .state, (.exit_code | tostring)] | join(",")')"
	assert_match "$(of "$first" .asked_at)" '^20[0-9-]*T[0-9:]*Z$'
}

test_files_and_refusals_have_ids_too() {
	local got

	got=$(post '{"action":{"action":"write","args":{"path":"f","content":"x"}}}')
	assert_eq write,f "$(of "$(json "$got" .action_id)" '[.kind, .what] | join(",")')"
	got=$(post '{"action":{"action":"read","args":{"path":"none"}}}')
	assert_eq read,done "$(of "$(json "$got" .action_id)" '[.kind, .state] | join(",")')"
	got=$(post '{"action":{"action":"browse","args":{"url":"x"}}}')
	assert_eq browse "$(of "$(json "$got" .action_id)" .kind)"
}

test_ids_that_no_action_has_are_refused() {
	local given

	for given in 999999 0 -1 x 1x 18446744073709551616 184467440737095516160000000; do
		assert_eq 400 "$(status_of "actions/$given")"
		assert_eq string "$(get "actions/$given" | jq -r '.detail | type')"
	done
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' "$(url)/actions")"
	assert_eq 405 "$(status_of actions -d x)"
	assert_eq 405 "$(status_of actions/1/cancel)"
	assert_eq 404 "$(status_of actions/1/none)"
}

test_what_has_ended_long_ago_is_forgotten() {
	need cmd python3
	local before

	act 'echo first'
	before=$n
	many 300 '{"action":{"action":"run","args":{"command":""}}}'
	assert_eq 410 "$(status_of "actions/$before")"
	assert_eq 50 "$(get actions | jq '.actions | length')"
	act 'echo last'
	assert_eq "done" "$(of "$n" .state)"
}

test_time_and_processes_are_counted() {
	act 'sleep 0.3; /bin/true; /bin/true'
	assert_eq true "$(of "$n" '.wall_ms >= 300 and .processes.made >= 3')"
	act 'read -t 0.2 x </dev/ptmx'
	assert_eq true "$(of "$n" '.processes.made == 0')"
}

test_bytes_that_were_written_are_counted() {
	act 'head -c 3000000 /dev/zero >big'
	wait_until 20 counted "$n" '. >= 3000000 and . < 3001000'
	act 'echo hi'
	wait_until 20 counted "$n" '. == 3'
	act 'head -c 70000 /dev/zero >big' 20.0 '{"is_static": true}'
	wait_until 20 counted "$n" '. >= 70000 and . < 71000'
}

counted() { [ "$(of "$1" ".bytes_written | $2")" = true ]; }

test_cpu_and_memory_are_counted() {
	need_leaves
	act 'python3 -c "x = bytearray(60000000); sum(range(3000000))"'
	assert_eq true "$(of "$n" '.cpu_ms > 10 and .peak_memory_bytes > 55000000 and .peak_memory_bytes < 110000000')"
	# The next is its own.
	act '/bin/true'
	assert_eq true "$(of "$n" '.peak_memory_bytes < 20000000')"
}

test_what_cannot_be_counted_says_so() {
	act 'echo hi'
	if [ "$OHS_AS" = root ]; then
		assert_eq files "$(of "$n" '[.not_observed[].layer] | join(",")')"
	else
		assert_contains "$(of "$n" '[.not_observed[].layer] | join(",")')" memory,pids,cpu
		assert_eq null,null "$(of "$n" '[.cpu_ms, .peak_memory_bytes | tostring] | join(",")')"
	fi
}

# Whoever moves and edits files: children of init, behind the server.
test_files_are_moved_and_edited_with_the_ids_of_the_workload_and_in_a_group_of_their_own() {
	need cmd python3
	local init pid uid job

	init=$(jq -r .init_pid "$BASE/session.json")
	post '{"action":{"action":"write","args":{"path":"f","content":"x"}}}' >/dev/null
	act ': there is a shell'
	uid=$(ids_of "$(children_of "$init" | xargs -I {} grep -l '^bash' /proc/{}/comm | cut -d/ -f3)")
	held_upload &
	job=$!
	wait_until 20 moves_files "$init"
	for pid in $(executors "$init"); do
		assert_eq "$uid" "$(ids_of "$pid")"
		[ "$(of "$n" .group)" = null ] || assert_contains "$(cat "/proc/$pid/cgroup")" /work/0
	done
	# Not so init and the server.
	for pid in "$init" "$(children_of "$init" | head -n 1)"; do
		assert_not_contains "$(cat "/proc/$pid/cgroup")" /work
		[ "$OHS_AS" = single ] || [ "$uid" != "$(ids_of "$pid")" ] || fail "the workload's ids"
	done
	kill "$job"
	wait
}

ids_of() { grep '^[UG]id' "/proc/$1/status" | tr -s '[:space:]' ' '; }

# Children of init that are none of the workload's programs, but for the server.
executors() {
	local pid

	for pid in $(children_of "$1" | tail -n +2); do
		! grep -q '^ohsandbox' "/proc/$pid/comm" 2>/dev/null || echo "$pid"
	done
}

moves_files() { [ "$(executors "$1" | wc -l)" -ge 2 ]; }

# An upload that does not go on until it is killed.
held_upload() {
	exec python3 - "$(url)" "$(key)" <<-'PY'
		import socket, sys
		host, port = sys.argv[1].replace("http://", "").split(":")
		s = socket.create_connection((host, int(port)))
		s.sendall(f"POST /upload_file?destination=/tmp HTTP/1.1\r\nHost: x\r\n{sys.argv[2]}\r\n"
		          "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n"
		          "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"q\"\r\n\r\nxxxx".encode())
		s.recv(1)
	PY
}

test_a_command_that_exhausts_the_memory_dies_alone() {
	need_leaves
	act 'KEPT=1; cd /tmp'
	act 'python3 -c "x = bytearray(500000000)"; echo "status $?"'
	assert_contains "$(content)" "status 137"
	assert_eq memory "$(jq -r '.violations[0].layer' <<<"$seen")"
	assert_contains "$(of "$n" '.violations[0].what')" "1 process killed"
	act 'echo "$KEPT $PWD"'
	assert_eq "1 /tmp" "$(content)"
	assert_eq null "$(jq -r .violations <<<"$seen")"
	act 'cd /workspace'
}

test_a_command_that_exhausts_processes_dies_alone() {
	need_leaves
	act 'KEPT=2'
	# The shell's own loop, a program's, and a bomb that goes on when its command is done.
	act 'for i in {1..300}; do sleep 1000 & done 2>/dev/null; echo reached' 60.0 '{"blocking": true}'
	assert_not_contains "$(content)" reached
	assert_eq pids "$(jq -r '.violations[0].layer' <<<"$seen")"
	act 'echo "$KEPT"'
	assert_contains "$(content)" 2
	act 'python3 -c "
import os, time
while True:
	if os.fork() == 0: time.sleep(1000)" 2>&1 | tail -n 1' 60.0 '{"blocking": true}'
	assert_eq pids "$(of "$n" '.violations[0].layer')"
	act ':() { : | : & }; :' 60.0 '{"blocking": true}'
	wait_until 20 refused_forks "$n"
	act 'unset -f :; /bin/echo "$KEPT"' 60.0 '{"blocking": true}'
	assert_contains "$(content)" 2
	assert_eq 0 "$(of "$n" '.violations | length')"
}

refused_forks() { [ "$(of "$1" '[.violations[] | select(.layer == "pids")] | length')" = 1 ]; }

test_what_a_command_leaves_running_does_not_count_for_the_next() {
	need_leaves
	local left

	act 'sleep 1000 & sleep 1000 & sleep 1000 &'
	left=$n
	assert_eq 3 "$(of "$left" .processes.left_running)"
	act 'echo hi'
	[ "$(of "$n" .group)" != "$(of "$left" .group)" ] || fail "the shell stayed in the group of what it left"
	assert_eq 0 "$(of "$n" '.processes.left_running')"
	assert_eq 0 "$(of "$n" '.shares_group_with | length')"
	act 'kill %1 %2 %3; wait'
}

test_groups_are_used_again() {
	need_leaves
	local i before

	before=$(groups)
	for i in 1 2 3 4 5 6; do act 'sleep 1000 &'; done
	act 'echo hi'
	assert_eq hi "$(content)"
	[ "$(of "$n" '.shares_group_with | length')" -gt 0 ] || fail "more commands than groups, and none is shared"
	act 'kill $(jobs -p); wait'
	act '/bin/true'
	act '/bin/true'
	assert_eq 0 "$(of "$n" '.shares_group_with | length')"
	assert_eq "$before" "$(groups)"
}

groups() { find "${own_groups[@]}" -type d 2>/dev/null | grep -c .; }

test_the_number_of_groups_is_the_same_after_ten_thousand_actions() {
	need_leaves
	local before

	before=$(awk '$1 == "memory" || $1 == "pids" { print $3 }' /proc/cgroups | tr '\n' ' ')
	before="$before$(groups)"
	many 10000 "$(body 'echo hi')" hi
	# Other sessions of this machine come and go: what is ours is counted exactly, the host's within reason.
	assert_eq "${before##* }" "$(groups)"
	[ "$(awk '$1 == "memory" { print $3 }' /proc/cgroups)" -lt $((${before%% *} + 1000)) ] ||
		fail "groups of the memory controller: $(cat /proc/cgroups)"
}

test_calls_that_the_filter_refuses_are_told_of() {
	act 'unshare -U true; mount -t tmpfs none /mnt'
	assert_contains "$(of "$n" '[.violations[].what] | join("\n")')" "system call unshare(0x10000000"
	assert_contains "$(of "$n" '[.violations[].what] | join("\n")')" "system call mount("
	assert_contains "$(of "$n" '.violations[0].remedy')" "--policy nested"
	assert_contains "$(content)" "Operation not permitted"
	act 'echo hi'
	assert_eq 0 "$(of "$n" '.violations | length')"
	act 'unshare -U true' 20.0 '{"is_static": true}'
	assert_contains "$(of "$n" '[.violations[].what] | join("\n")')" "system call unshare("
}

test_many_refused_calls_are_counted() {
	need cmd python3
	act 'python3 -c "
import ctypes
c = ctypes.CDLL(None, use_errno=True)
for i in range(3000):
	assert c.syscall(165, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 1
print(3000)"'
	assert_eq 3000 "$(content)"
	wait_until 20 told_all "$n"
}

told_all() { [[ $(of "$1" '.violations[0].what') == *"and 2999 more of it"* ]]; }

test_packets_without_a_way_are_told_of() {
	act 'curl -s -m 5 http://192.0.2.1/'
	assert_eq network "$(of "$n" '.violations[0].layer')"
	assert_contains "$(of "$n" '.violations[0].why')" "reaches nobody"
	assert_contains "$(of "$n" '.violations[0].remedy')" "--net nat"
	act 'curl -s -m 5 http://127.0.0.1:1/'
	assert_eq 0 "$(of "$n" '.violations | length')"
}

test_a_command_can_be_cancelled() {
	act 'KEPT=3; cd /tmp'
	behind 'sleep 1000; echo not reached'
	assert_eq "$n" "$(cancel "$n" | jq -r .id)"
	wait "$job"
	assert_not_contains "$(jq -r .content answer)" reached
	assert_eq cancelled "$(of "$n" .state)"
	assert_match "$(jq -r .extras.metadata.exit_code answer)" '^1(30|37)$'
	act 'echo "$KEPT $PWD"; cd /workspace'
	assert_eq "3 /tmp" "$(content)"
}

test_a_loop_of_the_shells_own_can_be_cancelled() {
	behind 'while :; do :; done'
	cancel "$n" >/dev/null
	wait "$job"
	assert_eq 130 "$(jq -r .extras.metadata.exit_code answer)"
}

test_a_command_that_will_not_be_interrupted_costs_its_shell() {
	behind 'trap "" INT; while :; do :; done'
	cancel "$n" >/dev/null
	wait "$job"
	assert_contains "$(jq -r .extras.metadata.suffix answer)" "The shell has ended."
	assert_eq cancelled "$(of "$n" .state)"
	act 'echo there'
	assert_eq there "$(content)"
}

test_a_static_command_can_be_cancelled() {
	behind 'sleep 1000' 60.0 '{"is_static": true}'
	cancel "$n" >/dev/null
	wait "$job"
	assert_eq cancelled "$(of "$n" .state)"
}

test_a_cell_can_be_cancelled() {
	need cmd python3
	local code first job

	code="open('begun', 'w').close()\nwhile True: pass"
	first=$(last_id)
	post "{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"$code\"}}}" >answer &
	job=$!
	wait_until 30 is_there begun
	cancel $((first + 1)) >/dev/null
	wait "$job"
		assert_contains "$(jq -r .content answer)" "[Execution was cancelled.]"
	assert_eq cancelled "$(of $((first + 1)) .state)"
	# One whose Python is still being started.
	act 'pkill -9 python3; rm begun'
	post "{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"$code\"}}}" >answer &
	job=$!
	wait_until 20 in_state $((first + 3)) running
	cancel $((first + 3)) >/dev/null
	wait "$job"
	assert_eq run_ipython "$(jq -r .observation answer)"
		assert_contains "$(jq -r .content answer)" "[Execution was cancelled.]"
	got=$(post '{"action":{"action":"run_ipython","args":{"code":"print(6 * 7)"}}}')
	assert_match "$(json "$got" .content)" '^42'
}

is_there() { curl -s -m 20 -H "$(key)" -d '{"path":"/workspace"}' "$(url)/list_files" | grep -q "\"$1\""; }

test_what_waits_can_be_cancelled_before_it_begins() {
	local first waiting

	behind 'sleep 1000'
	first=$n
	body 'echo never' 20.0 '{"hidden": true}' | post @- >waited &
	waiting=$!
	wait_until 20 in_state $((first + 1)) waiting
	cancel $((first + 1)) >/dev/null
	wait "$waiting"
	assert_eq run "$(jq -r .observation waited)"
	assert_contains "$(jq -r .extras.metadata.suffix waited)" "cancelled before it began"
	assert_eq running "$(of "$first" .state)"
	cancel "$first" >/dev/null
	wait "$job"
}

test_what_has_ended_or_cannot_be_ended_is_refused() {
	act 'echo done'
	assert_eq "the action has ended" "$(cancel "$n" | jq -r .detail)"
	assert_eq 409 "$(status_of "actions/$n/cancel" -X POST)"
	assert_eq 400 "$(status_of actions/99999999/cancel -X POST)"
}

test_a_command_that_goes_on_after_its_answer_goes_on_here() {
	local first

	act 'sleep 1000' 0.2
	first=$n
	assert_eq running "$(of "$first" .state)"
	act '' 0.2
	assert_eq "$first" "$(of "$n" .continues)"
	assert_contains "$(cancel "$n" | jq -r .detail)" "ended"
	cancel "$first" >/dev/null
	wait_until 20 in_state "$first" cancelled
	act 'echo next'
	assert_contains "$(content)" next
}

test_output_can_be_followed() {
	behind 'echo first; read -r x; printf "\033[31msecond \xc3\xa4\n"; (exit 7)' 0.1
	curl -s -N -m 30 -H "$(key)" "$(url)/actions/$n/output" >events &
	wait_until 20 grep -q '"first' events
	body 'go' 20.0 '{"is_input": true}' | post @- >/dev/null &
	wait_until 20 grep -q '^event: done' events
	wait
	assert_contains "$(cat events)" 'second ä\r\n'
	assert_eq '{"state":"done","exit_code":7}' "$(sed -n '/^event: done/{n;s/^data: //p}' events)"
	# One that has ended has nothing more to say, and says so.
	curl -s -N -m 30 -H "$(key)" "$(url)/actions/$n/output" >events
	assert_eq "event: done" "$(grep event events)"
}

# One who does not read before the command has ended.
test_whoever_follows_slowly_is_told_what_was_lost() {
	need cmd python3
	behind 'read -r x; yes | head -c 4000000' 0.1
	python3 - "$(url)" "$(key)" "$n" >events <<-'PY' &
		import http.client, json, re, socket, sys, time
		host, port = sys.argv[1].replace("http://", "").split(":")
		name, value = sys.argv[2].split(": ")
		def ask(method, path, body=None):
		    c = http.client.HTTPConnection(host, int(port), timeout=60)
		    c.request(method, path, body, {name: value})
		    return json.load(c.getresponse())
		s = socket.socket()
		s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		s.connect((host, int(port)))
		s.sendall(f"GET /actions/{sys.argv[3]}/output HTTP/1.1\r\nHost: x\r\n{sys.argv[2]}\r\nConnection: close\r\n\r\n".encode())
		head = s.recv(200)
		ask("POST", "/execute_action", json.dumps({"action": {"action": "run", "args": {"command": "go", "is_input": True}, "timeout": 60.0}}))
		while ask("GET", "/actions/" + sys.argv[3])["state"] == "running": pass
		got = b""
		while piece := s.recv(65536): got += piece
		print(b"event: done" in got, bool(re.search(rb"event: lost\ndata: {\"bytes\":[1-9]", got)), len(got) < 4000000)
	PY
	wait
	assert_eq "True True True" "$(cat events)"
	assert_eq '{"status":"ok"}' "$(curl -s "$(url)/alive")"
}

test_who_follows_may_come_late_leave_and_be_many() {
	local first second third

	behind 'echo first; read -r x; echo second; read -r x; echo third' 0.1
	follow events.1
	first=$!
	follow events.2
	second=$!
	wait_until 20 grep -q '"first' events.1
	wait_until 20 grep -q '"first' events.2
	kill "$first"
	wait "$first" || true
	body 'go' 0.1 '{"is_input": true}' | post @- >/dev/null
	wait_until 20 grep -q 'second' events.2
	# Who comes late is shown what the screen has.
	follow events.3
	third=$!
	wait_until 20 grep -q '^event: screen' events.3
	body 'go' 20.0 '{"is_input": true}' | post @- >/dev/null
	wait "$second" "$third" "$job"
	assert_contains "$(grep -A 1 '^event: screen' events.3)" second
	for second in events.2 events.3; do
		assert_contains "$(cat "$second")" third
		assert_eq '{"state":"done","exit_code":0}' "$(sed -n '/^event: done/{n;s/^data: //p}' "$second")"
	done
	assert_not_contains "$(cat events.1)" third
}

follow() { curl -s -N -m 60 -H "$(key)" "$(url)/actions/$n/output" >"$1" & }

test_a_request_repeated_with_its_key_is_done_once() {
	local first again one

	one=$(body 'echo x >>once; wc -l <once')
	first=$(post "$one" -H "Idempotency-Key: $T.1")
	again=$(post "$one" -H "Idempotency-Key: $T.1")
	assert_eq "$first" "$again"
	act 'wc -l <once'
	assert_eq 1 "$(content)"
	assert_contains "$(post "$(body 'echo other')" -H "Idempotency-Key: $T.1")" "another body"
	assert_eq 422 "$(curl -s -o /dev/null -w '%{http_code}' -H "$(key)" -H "Idempotency-Key: $T.1" \
		-d "$(body 'echo other')" "$(url)/execute_action")"
	assert_contains "$(curl -s -D - -o /dev/null -H "$(key)" -H "Idempotency-Key: $T.1" -d "$one" "$(url)/execute_action")" \
		"idempotent-replayed: true"
}

test_a_repetition_waits_for_the_first() {
	local one

	one=$(body 'echo x >>twice; sleep 1; wc -l <twice')
	post "$one" -H "Idempotency-Key: $T.2" >first &
	post "$one" -H "Idempotency-Key: $T.2" >second &
	wait
	cmp first second
	assert_eq 1 "$(jq -r .content first)"
	# The client that asked first went away: it is done all the same, and once.
	one=$(body 'sleep 1; echo x >>thrice; wc -l <thrice')
	! curl -s -m 0.5 -H "$(key)" -H "Idempotency-Key: $T.3" -d "$one" "$(url)/execute_action"
	assert_eq 1 "$(post "$one" -H "Idempotency-Key: $T.3" | jq -r .content)"
}

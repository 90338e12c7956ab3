# Rows of tables 6 and 7. Init and server are neither starved nor outwaited from inside, and whoever
# stands at their port hears nobody.
# storms: yes
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	need cmd curl
	escape_setup
	install -m 755 "$OHS_BUILD/tests/escape/storm" "$P/storm"
}

# A session whose commands are $U's: $id, $url, $key, $init.
begin() { # OPTIONS OF START...
	local started

	started=$(ohs start --user "$U" --mount "$P:/probe:ro" --repo "$BASE/work/repo" "$@")
	id=$(json "$started" .id)
	url=$(json "$started" .url)
	key=$(json "$started" .session_api_key)
	init=$(json "$started" .init_pid)
	address=$(json "$started" '.address // "127.0.0.1:1"')
}

end() { ohs stop "$id" >/dev/null; }

ask() { curl -s -m 60 -H "X-Session-API-Key: $key" "$@"; }
post() { ask -d "$1" "$url/execute_action"; }

# inside COMMAND: what it wrote.
inside() {
	jq -nc --arg c "$1" --argjson t "$((100 * OHS_SLOW)).0" \
		'{action: {action: "run", args: {command: $c, blocking: true}, timeout: $t}}' |
		ask -m "$((110 * OHS_SLOW))" -d @- "$url/execute_action" | jq -r .content
}

# What a session is for, without one process more of the shell's: the server, init and their helpers.
serves() {
	assert_eq '{"status":"ok"}' "$(ask "$url/alive")"
	post '{"action":{"action":"write","args":{"path":"/tmp/served","content":"by the helper"}}}' >/dev/null
	assert_contains "$(post '{"action":{"action":"read","args":{"path":"/tmp/served"}}}')" "by the helper"
	assert_eq there "$(json "$(post '{"action":{"action":"run","args":{"command":"echo there","is_static":true},"timeout":60.0}}')" .content)"
	ask -F "file=@$0" "$url/upload_file?destination=/tmp" >/dev/null
}

zombies() { children_of "$1" | xargs -I {} grep -l '^State:.Z' /proc/{}/status 2>/dev/null | wc -l; }
has_no_zombie() { [ "$(zombies "$init")" = 0 ]; }

hundred_thousand_orphans() { # N
	begin
	assert_eq "orphans: $1 made, 0 refused" "$(inside "/probe/storm orphans $1")"
	wait_until 10 has_no_zombie || fail "$(zombies "$init") zombies below init, as $U"
	assert_eq there "$(inside 'echo there')"
	end
}

test_a_hundred_thousand_double_forks_leave_no_zombie() {
	U=openhands hundred_thousand_orphans 100000
	U=root hundred_thousand_orphans 10000
	# Control: below one that does not look after them they stay.
	as_me "$P/storm" orphans 50 stay >"$T/made" &
	local shell=$! pid
	wait_until 20 grep -q made "$T/made"
	pid=$(pgrep -P "$shell" -x storm || echo "$shell")
	assert_eq 50 "$(zombies "$pid")"
	kill -9 "$pid"
	wait "$shell" || true
}

storm_of() { # KIND N
	local room=()

	# On a busy machine orphans are made faster than they are taken away, and what uses up all processes is ended.
	if [ "$1" = forks ] && [ "$OHS_AS" = root ] && has_controller pids; then room=(--pids 100000); fi
	begin "${room[@]}"
	inside "(/probe/storm $1 $2 >/tmp/storm 2>&1 &); until grep -q there /tmp/storm; do :; done" >/dev/null
	serves
	assert_eq 1 "$(inside "pgrep -x storm >/tmp/left && echo 1")" # it still rages
	inside 'pkill -9 storm' >/dev/null
	serves
	end
}

test_processes_that_never_rest_do_not_starve_them() { both_users storm_of processor 4; }
test_calls_that_are_refused_without_end_do_not_starve_them() { both_users storm_of calls 8; }
test_orphans_without_end_do_not_starve_them() { both_users storm_of forks 4; }

full_of_processes() {
	begin --pids 100
	inside '(/probe/probe fork-storm 5000 >/tmp/storm; sleep 1000) & trap "" TERM; sleep 1000 & sleep 1000 &' >/dev/null
	inside "for i in {1..150}; do sleep 1000 & done 2>/dev/null" >/dev/null
	serves
	end
}

test_a_session_full_of_processes_is_served() {
	need root
	need controller pids
	both_users full_of_processes
}

full_of_memory() {
	begin --memory 64M
	# The oracle that it is full: who takes more is killed.
	assert_contains "$(inside '/probe/probe memory 512; echo "status $?"')" "status 137"
	serves
	# Files in memory outlive who made them.
	inside 'head -c 70M /dev/zero >/dev/shm/full; cat /dev/shm/full >/dev/shm/more; df /dev/shm; ls -l /dev/shm'
	post '{"action":{"action":"run","args":{"command":"echo there","is_static":true},"timeout":60.0}}'
	assert_eq '{"status":"ok"}' "$(ask "$url/alive")"
	inside ': >/dev/shm/full; : >/dev/shm/more'
	serves
	end
}

test_a_session_full_of_memory_is_served() {
	need root
	need controller memory
	both_users full_of_memory
}

# Deaf to every signal, in sessions of their own, stopped, or without their parents.
stubborn() {
	local name=stubborn-$RANDOM$RANDOM

	begin
	inside "cp /bin/sleep /tmp/$name && trap '' HUP INT TERM QUIT PIPE &&
		(setsid sh -c '(setsid /tmp/$name 1000 &); /tmp/$name 1000' >/dev/null 2>&1 &) &&
		{ /tmp/$name 1000 & until [ \$(pgrep -c -f ^/tmp/$name) = 3 ]; do :; done; kill -STOP \$!; }" >/dev/null
	assert_eq 3 "$(pgrep -c -f "^/tmp/$name")"
	end
	assert_eq "" "$(pgrep -f "^/tmp/$name")" "what outlived the session"
	assert_no_file "/proc/$init"
}

test_whoever_ignores_every_signal_ends_with_the_session() {
	both_users stubborn
	# Control: on the host one like it outlives whoever started it.
	install -m 755 "$(command -v sleep)" "$P/stays"
	as_me setsid -w sh -c 'trap "" HUP TERM; (setsid "$0" 1000 >/dev/null 2>&1 &); kill -HUP 0' "$P/stays"
	stays() { [ -n "$(ours "^$P/stays")" ]; }
	wait_until 10 stays
	kill -9 $(ours "^$P/stays")
}

# A shell that does not say when it is done, a terminal that is never read, a request that never ends.
test_whoever_lets_them_wait_waits_alone() {
	both_users waits_alone
}

waits_alone() {
	local port

	begin
	port=${url##*:}
	post '{"action":{"action":"run","args":{"command":"trap \"\" INT; exec 3>&- 4>&- 5>&- 6>&-; while :; do :; done"},"timeout":0.1}}' >/dev/null
	exec 7<>"/dev/tcp/127.0.0.1/$port"
	printf 'POST /execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\nContent-Length: 100\r\n\r\n{' "$key" >&7
	serves
	exec 7>&-
	ask -X POST "$url/actions/1/cancel" >/dev/null
	wait_until 20 was_cancelled
	assert_eq there "$(inside 'echo there')"
	end
}

was_cancelled() { [ "$(ask "$url/actions/1" | jq -r .state)" = cancelled ]; }

stands_at_the_port() {
	local port

	begin
	port=${url##*:}
	inside "for at in 127.0.0.1:$port 0.0.0.0:$port ${address%:*}:${address##*:} 0.0.0.0:${address##*:}; do
(/probe/storm impostor \${at%:*} \${at##*:} >/tmp/at-\$at 2>&1 &); until [ -s /tmp/at-\$at ]; do :; done; done" >/dev/null
	# Control: it answers whoever asks inside.
	assert_eq impostor "$(inside "curl -s http://127.0.0.1:$port/alive")"
	assert_eq '{"status":"ok"}' "$(ask "$url/alive")"
	[ "$OHS_AS" != root ] || assert_eq '{"status":"ok"}' "$(ask "http://$address/alive")"
	assert_eq 403 "$(curl -s -o /dev/null -w '%{http_code}' -d x "$url/execute_action")"
	end
}

test_an_impostor_at_the_executors_port_hears_nobody() { both_users stands_at_the_port; }

# Rows of table 5: the host, other sessions and the outside cannot be reached.
# as: root user single
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

# A listener of the host that notes who came; its log is the oracle.
canary() { # PORT
	python3 - "$1" "$T/visitors" <<-'PY' &
		import socket, sys
		s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		s.bind(("0.0.0.0", int(sys.argv[1]))); s.listen(50); open(sys.argv[2] + ".ready", "w").close()
		while True:
		    c, peer = s.accept(); open(sys.argv[2], "a").write(peer[0] + "\n"); c.close()
	PY
	canary_pid=$!
	wait_until 10 test -e "$T/visitors.ready"
}

end_canary() {
	kill "$canary_pid"
	wait "$canary_pid" 2>/dev/null || true
}

test_services_of_the_host_cannot_be_reached() {
	canary 18080
	local address
	for address in 127.0.0.1 198.18.0.1 169.254.169.254; do
		attack openhands connect "$address" 18080
		attack root connect "$address" 18080
	done
	assert_no_file "$T/visitors"
	control "$P/probe" connect 127.0.0.1 18080
	end_canary
}

test_services_of_the_host_cannot_be_reached_with_nat() {
	need net_admin
	canary 18081
	local address
	ip address add 203.0.113.77/32 dev lo
	for address in 127.0.0.1 198.18.0.1 203.0.113.77; do
		SESSION_OPTIONS='--net nat' attack openhands connect "$address" 18081
		SESSION_OPTIONS='--net nat' attack root connect "$address" 18081
	done
	assert_no_file "$T/visitors"
	control "$P/probe" connect 203.0.113.77 18081
	ip address del 203.0.113.77/32 dev lo
	end_canary
}

# SSRF: link-local and private ranges are shut also where there is a way out.
test_metadata_and_private_ranges_are_shut_with_nat() {
	need net_admin
	local address
	for address in 169.254.169.254 100.100.100.200 10.77.0.1 192.168.77.1; do
		ip address add "$address/32" dev lo
	done
	canary 18082
	for address in 169.254.169.254 100.100.100.200 10.77.0.1 192.168.77.1; do
		SESSION_OPTIONS='--net nat' attack openhands connect "$address" 18082
	done
	assert_no_file "$T/visitors"
	control "$P/probe" connect 169.254.169.254 18082
	end_canary
	for address in 169.254.169.254 100.100.100.200 10.77.0.1 192.168.77.1; do
		ip address del "$address/32" dev lo
	done
}

test_one_session_cannot_reach_another() {
	need net_admin
	local started id address port
	started=$(ohs start --repo "$BASE/work/repo")
	id=$(json "$started" .id)
	address=$(json "$started" .address)
	address=${address#http://}
	port=${address##*:}
	attack openhands connect "${address%:*}" "$port"
	assert_eq 1 "$status" "another session's executor was reached: $out"
	attack root connect "${address%:*}" "$port"
	assert_eq 1 "$status" "another session's executor was reached: $out"
	control "$P/probe" connect "${address%:*}" "$port"
	ohs stop "$id" >/dev/null
}

test_abstract_sockets_of_the_host_cannot_be_reached() {
	python3 - "$T/ready" <<-'PY' &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX); s.bind("\0ohs-canary"); s.listen(5); open(sys.argv[1], "w").close(); time.sleep(100)
	PY
	local pid=$!
	wait_until 10 test -e "$T/ready"
	refused connect-abstract ohs-canary
	control "$P/probe" connect-abstract ohs-canary
	kill "$pid"
	wait "$pid" 2>/dev/null || true
}

test_no_socket_file_of_the_host_is_visible() {
	session root sh -c 'find / -xdev -type s 2>/dev/null; find /run /tmp /var/run -type s 2>/dev/null'
	assert_eq "" "$out" "sockets visible inside"
	as_me python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/sock"
	control sh -c '[ -S "$0" ]' "$T/sock"
	run ohs run --quiet --repo "$BASE/work/repo" --mount "$T/sock:/tmp/sock" -- true
	assert_status 125
	assert_contains "$err" "$T/sock"
}

test_the_executor_is_reached_by_the_host_over_loopback_and_veth() {
	local started id
	started=$(ohs start --repo "$BASE/work/repo")
	id=$(json "$started" .id)
	control curl -sf "$(json "$started" .url)/alive"
	if [ "$OHS_AS" = root ]; then
		control curl -sf "http://$(json "$started" '.address | sub("^http://"; "")')/alive"
	fi
	ohs stop "$id" >/dev/null
}

# A session whose server obeys: an executor of this name in place of ours.
obeying() { # PROGRAM
	local bin=$BASE/$1
	mkdir -p "$bin"
	install -m 755 "$STAGE/bin/ohsandbox" "$STAGE"/bin/ohsandbox-[!e]* "$bin/"
	install -m 711 "$OHS_BUILD/tests/escape/$1" "$bin/ohsandbox-executor"
	started=$(as_me "$bin/ohsandbox" start --repo "$BASE/work/repo")
}

order() { # WORDS
	curl -s -m 30 -d "$1" -H "X-Session-API-Key: $(json "$started" .session_api_key)" \
		"$(json "$started" .url)/obey" || true
}

test_a_server_that_was_taken_over_calls_and_starts_nobody() {
	need cmd curl
	local started
	obeying obey
	run order calls
	ohs stop "$(json "$started" .id)" >/dev/null
	assert_match "$out" '^tried: [1-9][0-9]*$'
	obeying obey_uncaged
	run order calls
	ohs stop "$(json "$started" .id)" >/dev/null
	for call in connect sendmsg socket execve clone openat "sendto an address"; do
		assert_contains "$out" "reached: $call ("
	done
}

test_sockets_of_the_host_in_a_server_that_was_taken_over_lead_nowhere() {
	need cmd curl
	local started
	canary 18085
	obeying obey
	run order "reconnect 18085"
	assert_eq tried "$out"
	run order calls
	assert_contains "$out" tried
	ohs stop "$(json "$started" .id)" >/dev/null
	assert_no_file "$T/visitors"
	# Control: without its filter the server reaches the host's canary over what it holds.
	obeying obey_uncaged
	run order "reconnect 18085"
	wait_until 10 test -s "$T/visitors"
	ohs stop "$(json "$started" .id)" >/dev/null 2>&1 || true
	end_canary
}

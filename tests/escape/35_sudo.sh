# SPDX-License-Identifier: MIT
# The doors of sudo: they give what the policy gives root and nothing more, to who may, and nobody at them
# stops init.
# shellcheck shell=bash disable=SC2034,SC2154
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	escape_setup
	cp "$OHS_BUILD/tests/escape/knock" "$P/knock"
	chmod a+rX "$P/knock"
}

# knocks USER WORDS: by hand, in a session of its own.
knocks() { session "$1" /probe/knock "${@:2}"; }

need_two() { [ "$OHS_AS" != single ] || not_mine; }

# A session that stays, with what is tried in it: $id.
begin() { id=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro" "$@" | jq -r .id); }
inside() {
	run ohs act "$id" run "$1"
	out=$(jq -r .content <<<"$out")
}
end() { ohs stop "$id" >/dev/null; }

test_there_is_no_door_where_there_is_one_id() {
	[ "$OHS_AS" = single ] || not_mine
	for door in root user; do
		knocks openhands connect $door
		assert_eq "connect: Connection refused" "$out"
		knocks root connect $door
		assert_status 1
	done
}

test_there_is_no_door_where_the_policy_gives_no_root() {
	need root
	local door
	for door in root user; do
		SESSION_OPTIONS="--policy strict" knocks openhands connect $door
		assert_eq "connect: Connection refused" "$out"
		# Control: by another policy it is there.
		knocks openhands connect $door
		assert_status 0
	done
}

test_nobody_can_stand_in_the_place_of_a_door() {
	need_two
	for door in root user; do
		both_users knock_bind_is_refused $door
		control as_me "$P/knock" bind $door
	done
}

knock_bind_is_refused() {
	knocks "$U" bind "$1"
	assert_eq "bind: Address already in use" "$out"
}

test_the_door_says_who_it_is_whatever_the_request_says() {
	need_two
	both_users asks_are_refused
}

asks_are_refused() {
	knocks "$U" ask user 0
	assert_status 1
	knocks "$U" ask root 1000
	assert_status 1
	knocks "$U" ask root 65520 # the executor's own id, as init counts them
	assert_status 1
	# Control: each gives his own.
	knocks "$U" ask user 1000
	assert_status 0
	knocks "$U" ask root 0
	assert_status 0
}

test_root_has_the_capabilities_of_the_policy_and_no_other() {
	need root
	jq '{extends: "default", description: "x", root: {allowed: true, capabilities: {CAP_CHOWN: "x"}}}' \
		"$STAGE/policy/net.json" >"$T/few.json"
	SESSION_OPTIONS="--policy $T/few.json" session openhands sudo grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status
	assert_eq "CapPrm:	0000000000000001 CapEff:	0000000000000001 CapBnd:	0000000000000001" "$(paste -sd' ' <<<"$out")"
	SESSION_OPTIONS="--policy $T/few.json" session openhands sudo su openhands -c id
	[ "$status" -ne 0 ] || fail "root became another without CAP_SETUID"
	session openhands sudo perl -e '$< = $> = 33; exit($> != 33)'
	assert_status 0 # the control
}

test_who_is_neither_user_nor_root_is_refused() {
	need_two
	need cmd perl
	local door
	for door in root user; do
		session openhands sudo perl -e '$) = $( = 33; $< = $> = 33; exec @ARGV' /probe/knock ask $door "$([ $door = root ] && echo 0 || echo 1000)"
		assert_status 1
	done
	# Control: it is who he is, not how he came to be it.
	session openhands sudo perl -e '$) = $( = 0; $< = $> = 1000; exec @ARGV' /probe/knock ask root 0
	assert_status 0
}

test_executor_is_out_of_the_reach_of_root_by_sudo() {
	need_two
	local pid word
	for pid in 1 "$(server_pid)"; do
		for word in ptrace prlimit-cpu priority "read-proc $pid environ" pidfd-getfd; do
			# shellcheck disable=SC2086
			session openhands sudo /probe/probe ${word%% *} "$pid" ${word#* }
			assert_status 1
		done
	done
	# Control: its own processes are in its reach.
	session openhands sudo sh -c '/probe/probe read-proc $$ environ'
	assert_status 0
}

test_a_monitor_shows_nothing_of_init() {
	need_two
	# The parent of what sudo starts is a fork of init's: its memory stays the host's.
	session openhands sudo sh -c 'for f in maps environ auxv mem; do /probe/probe read-proc $PPID $f && exit 0; done; exit 1'
	assert_status 1
	session openhands sudo sh -c '/probe/probe ptrace $PPID'
	assert_status 1
	session openhands sudo sh -c 'ls /proc/$PPID/fd | wc -l'
	assert_eq 0 "${out:-0}"
	session openhands sudo sh -c 'sh -c "/probe/probe read-proc \$PPID maps"; exit $?'
	assert_status 0 # the control: another parent's
}

test_root_by_sudo_puts_nothing_into_the_callers_terminal() {
	need_two
	need cmd script
	as_me script -qec "$STAGE/bin/ohsandbox run --quiet --repo $BASE/work/repo --mount $P:/probe:ro -- sudo /probe/probe tiocsti" /dev/null >"$T/out" 2>&1 </dev/null || true
	grep -q 'not permitted\|Input/output' "$T/out" || fail "$(cat "$T/out")"
	need root
	control script -qec "$P/probe tiocsti" /dev/null
}

test_odd_requests_stop_nobody() {
	need_two
	begin
	inside '/probe/knock garbage root; /probe/knock garbage user; sudo id -u'
	assert_match "$out" '[1-9][0-9]* odd requests'
	assert_eq 0 "${out##*$'\n'}"
	# All that they started is gone.
	wait_until 20 only_the_server
	end
}

only_the_server() { [ "$(pgrep -c -P "$(ohs show "$id" | jq .init_pid)" -f '^ohsandbox-init')" -eq 1 ]; }

test_a_crowd_at_the_door_keeps_nobody_out() {
	need_two
	begin
	inside '(/probe/knock crowd root 300 >/tmp/crowd 2>&1 &); until grep -q there /tmp/crowd; do sleep 0.1; done; cat /tmp/crowd; sudo id -u; sudo -u openhands id -u'
	assert_contains "$out" "300 are there"
	assert_contains "$out" $'\n0\n1000'
	assert_eq '{"status":"ok"}' "$(curl -s -m 60 "$(ohs show "$id" | jq -r .url)/alive")"
	end
}

test_a_crowd_at_the_door_counts_as_who_knocks() {
	need root
	need controller pids
	begin --pids 300
	# What it makes others do is a part of the command: that one exhausts its processes, and ends.
	inside '/probe/knock crowd root 1000'
	assert_not_contains "$out" "1000 are there"
	[ "$(processes)" -lt 50 ] || fail "$(processes) processes are left of the crowd"
	inside 'sudo id -u'
	assert_eq 0 "$out"
	# Control: a small one stays.
	inside '(/probe/knock crowd root 100 >/tmp/crowd 2>&1 &); until grep -q there /tmp/crowd; do sleep 0.1; done; cat /tmp/crowd'
	assert_contains "$out" "100 are there"
	wait_until 10 eval '[ "$(processes)" -gt 100 ]'
	end
}

# Of the session, by its groups; the executor's two are not among them.
processes() { cat "$(find /sys/fs/cgroup -path "*/$id/work/pids.current" | head -n 1)"; }

test_a_descriptor_that_takes_its_time_to_close_stops_nobody() {
	need_two
	begin
	inside '/probe/knock linger root 40; /probe/knock linger user 20; sudo id -u; sudo -u openhands id -u'
	assert_contains "$out" "40 are left"
	assert_contains "$out" "20 are left"
	assert_contains "$out" $'\n0\n1000'
	# Theirs are the closes that wait: of monitors, which are the session's own.
	wait_until 10 eval '[ "$(pgrep -c -P "$(ohs show "$id" | jq .init_pid)" -f "^ohsandbox-init")" -gt 30 ]'
	inside 'echo the next'
	assert_contains "$out" "the next"
	end
	# Control: whoever closes the last one does wait.
	control as_me "$P/knock" close root
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# The daemon is killed under load, again and again: OHS_KILLS times (100). Nothing is lost that a client
# was told of, and nothing is there that nobody owns.
# as: root user
# storms: yes
# deadline: 1500

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

KILLS=${OHS_KILLS:-$([ -n "${OHS_SANITIZED:-}" ] && echo 20 || echo 100)}
CLIENTS=6

answers() { stat -c %s "$T/answers"; }

# So many answers, or the clients have ended: they found something.
have_come() { [ "$(answers)" -ge "$1" ] || [ -e end ]; }

session_directories() { find "$OHS_STATE_DIR/sessions" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

kill_again_and_again() {
	local i at

	for ((i = 0; i < KILLS; i++)); do
		at=$(answers)
		wait_until 120 have_come $((at + RANDOM % 24 + 1)) || fail "nothing is answered any more: $(<load.out)"
		[ ! -e end ] || return 0
		kill -9 "$daemon"
		wait_until 10 is_gone "$daemon"
		serve_up --socket "$T/sock"
	done
}

test_killed_again_and_again_under_load_it_loses_nothing() {
	local load

	need cmd python3
	: >answers
	chmod 666 answers
	serve_up --socket "$T/sock"
	python3 "$OHS_SRC/tests/live/serve_load.py" "$T/sock" "$api_key" $CLIENTS "$T" >load.out 2>&1 &
	load=$!
	kill_again_and_again
	: >end
	wait "$load" || fail "$(tail -n 20 load.out)"
	cat load.out >&2
	assert_eq 0 "$(session_directories)" "sessions that are left"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	serve_down
}

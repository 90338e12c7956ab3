#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# Clients that are slow, and very many, or go away: others are answered, and nothing is left of them.
# as: root user
# storms: yes

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

CROWD=10000
GROWS_KB=32768 # what the daemon may take for all of them

resident() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon/status"; }

gather() { # COUNT
	[ "$(ulimit -Hn)" -gt $(($1 + 200)) ] || skip "needs $1 descriptors"
	python3 "$OHS_SRC/tests/live/slow.py" crowd "$base" "$api_key" "$1" "$T" &
	crowd=$!
	wait_until 60 test -e begun || fail "no crowd"
}

disperse() {
	: >over
	wait "$crowd" || fail "the crowd ended badly"
	[ "$(<closed)" -gt 0 ] || fail "nobody was sent away"
}

healthy() { curl -sS -f -m $((10 * OHS_SLOW)) -o /dev/null "$base/healthz"; }

test_ten_thousand_slow_clients_keep_nobody_from_an_answer() {
	local i was

	need cmd python3
	serve_up
	was=$(resident)
	gather $CROWD
	trap 'result=$?; kill -9 "$crowd" 2>/dev/null || true; clean_up_after $result' EXIT
	for i in 1 2 3 4 5; do
		healthy || fail "it does not answer"
		start_session "s$i"
		expect 200 POST "/v1/sessions/s$i/exec" '{"command":"echo 1"}'
		expect 200 GET /list
		expect 200 POST /stop "{\"runtime_id\":\"s$i\"}"
	done
	[ -n "${OHS_SANITIZED:-}" ] || [ $(($(resident) - was)) -lt $GROWS_KB ] || fail "it has grown from $was to $(resident) KiB"
	disperse
	healthy || fail "it does not answer afterwards"
	start_session after
	expect 200 POST /stop '{"runtime_id":"after"}'
	expect 200 GET /list
	is "$body" '.runtimes == []'
	serve_down
}

settled() { # NAME
	api GET "/sessions/$1"
	[ "$code" != 200 ] || [ "$(json "$body" .status)" != starting ]
}

test_clients_that_vanish_at_each_stage_leave_what_can_be_stopped() {
	local i n

	need cmd python3
	serve_up
	n=$(python3 "$OHS_SRC/tests/live/slow.py" vanish "$base" "$api_key")
	[ "$n" -gt 20 ] || fail "only $n clients"
	for ((i = 1; i <= n; i++)); do
		wait_until 60 settled "v$i" || fail "v$i starts for ever: $body"
		api POST /stop "{\"runtime_id\":\"v$i\"}"
		assert_match "$code" '^(200|404)$'
	done
	expect 200 GET /v1/sessions
	is "$body" '[.sessions[] | select(.state != "failed")] == []'
	assert_eq "" "$(sessions_left)"
	serve_down
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# An executor that has been taken over answers as it likes: who asks it ends in time, takes no more than
# it needs, and shows nothing that could be taken for its own words. The answers are those of hostile.py.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

AT_ONCE=24 # calls of one session: the daemon takes 32
HOSTILE=$OHS_SRC/tests/live/hostile.py
TAKEN_MAX=$((128 << 20)) # of an answer without an end: six bytes for each that is kept, and what was on its way

# An executor of a session that nobody asks but at this port.
stand_in() {
	need cmd python3
	echo good >case
	python3 "$HOSTILE" "$T" &
	hostile=$!
	wait_until 20 test -s port || fail "no stand-in"
	serve_up "$@"
	start_session s1
	serve_down
	as_me sed -i.kept "s/\"host_port\": *[0-9]*/\"host_port\":$(<port)/" "$OHS_STATE_DIR/sessions/$id/record.json"
	grep -q "\"host_port\":$(<port)" "$OHS_STATE_DIR/sessions/$id/record.json" || fail "the record has no host_port"
	serve_up "$@"
	trap 'result=$?; kill -9 "$hostile" 2>/dev/null || true; clean_up_after $result' EXIT
}

stand_no_more() {
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
	kill -9 "$hostile"
	wait "$hostile" 2>/dev/null || true
}

# High water of its memory, in KiB.
daemon_peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$daemon/status"; }

no_endless_answer_is_taken() {
	local file most

	for file in taken-*; do
		most=$(sort -n "$file" | tail -n 1)
		[ "$most" -le "$TAKEN_MAX" ] || fail "$file: $most bytes"
	done
}

# No control character but the ends of lines, and no line that is another's.
is_clean() { # FILE
	! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" || fail "control characters in $1"
	! grep -n '^ohsandbox: forged' "$1" || fail "a forged line in $1"
}

# The first of `asking` ends, and its place is free.
wait_for_one() {
	wait "${asking[0]}" || fail "not answered: $(sort curl-* | uniq -c)"
	asking=("${asking[@]:1}")
}

test_the_daemon_bears_every_answer() {
	local name outcome asking=() was

	stand_in
	was=$(daemon_peak)
	while read -r name outcome; do
		[ ${#asking[@]} -lt $AT_ONCE ] || wait_for_one
		curl -sS -m 60 -H "X-API-Key: $api_key" -d "{\"command\":\"$name\",\"timeout\":0.1}" \
			-o "said-$name" -w '%{http_code}' "$base/v1/sessions/s1/exec" >"code-$name" 2>"curl-$name" &
		asking+=($!)
	done < <(python3 "$HOSTILE" list | grep -E ' (ok|bad)$')
	# Others are answered meanwhile.
	curl -sS -f -m 10 -o /dev/null "$base/healthz" || fail "nobody else is answered"
	while [ ${#asking[@]} -gt 0 ]; do
		wait_for_one
	done
	while read -r name outcome; do
		case $outcome in
		ok) assert_eq "$name 200" "$name $(<"code-$name")" "$(<"said-$name")" ;;
		bad)
			assert_match "$name $(<"code-$name")" "^$name [45]..$"
			is "$(<"said-$name")" '.detail | type == "string" and length < 1000'
			;;
		esac
	done < <(python3 "$HOSTILE" list)
	is "$(<said-json-controls)" '.output | contains("forged")'
	no_endless_answer_is_taken
	[ -n "${OHS_SANITIZED:-}" ] || [ $(($(daemon_peak) - was)) -lt 65536 ] || fail "it has grown from $was to $(daemon_peak) KiB"
	is_clean serve.log
	expect 200 GET /sessions/s1
	is "$body" '.status == "running"'
	expect 200 POST /v1/sessions/s1/exec '{"command":"good"}'
	stand_no_more
}

test_commands_bear_every_answer() {
	local name outcome asking=()

	stand_in
	while read -r name outcome; do
		(
			run ohs act --timeout 3s s1 run "$name"
			echo "$status" >"status-$name"
			printf '%s\n' "$err" >"err-$name"
		) &
		asking+=($!)
	done < <(python3 "$HOSTILE" list | grep -E ' (ok|bad)$')
	wait "${asking[@]}"
	for file in status-*; do
		assert_match "$file $(<"$file")" "^$file [01]$"
		is_clean "err-${file#status-}"
	done
	while read -r name outcome; do
		[ "$outcome" != ok ] || assert_eq "$name 0" "$name $(<"status-$name")"
	done < <(python3 "$HOSTILE" list)
	for name in close silence reset interim-endless head-drip chunks-tiny-endless json-deep detail-forged-500; do
		assert_eq "$name 1" "$name $(<"status-$name")"
		[ -s "err-$name" ] || fail "$name: nothing is said of it"
	done
	stand_no_more
}

test_a_pause_that_is_answered_badly_leaves_a_session_that_can_be_stopped() {
	local name

	stand_in
	for name in close reset no-http head-line-endless interim-endless chunk-much length-much status-escape redirect; do
		echo "$name" >case
		api POST /pause '{"runtime_id":"s1"}'
		assert_match "$name $code" "^$name (200|[45]..)$"
		expect 200 GET /sessions/s1
		is "$body" '.status | IN("running", "paused")'
	done
	no_endless_answer_is_taken
	is_clean serve.log
	echo good >case
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	stand_no_more
}

times_asked() { wc -l <"taken-$1" 2>/dev/null || echo 0; }

was_asked() { [ "$(times_asked "$1")" -ge "$2" ]; } # NAME TIMES

is_paused() {
	api GET /sessions/s1
	[ "$(json "$body" .status)" = paused ]
}

test_who_lies_of_being_idle_changes_nothing_but_itself() {
	local name outcome

	stand_in --idle-timeout 1s
	start_session other
	while read -r name outcome; do
		echo "$name" >case
		wait_until 30 was_asked "$name" 2 || fail "$name: nobody asks"
		expect 200 GET /sessions/s1
		is "$body" '.status == "running"'
	done < <(python3 "$HOSTILE" list | grep -E ' busy$'; echo no-http bad; echo json-deep bad; echo interim-endless bad)
	is_clean serve.log
	echo idle-long >case
	wait_until 30 is_paused || fail "it is not paused: $body"
	expect 200 POST /stop '{"runtime_id":"other"}'
	stand_no_more
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash source=tests/live/lib.sh
# daemon.sh - what tests of `ohsandbox serve` share. A file of tests reads it.
#
#   serve_up ARGS...           begin a daemon; sets $daemon (its pid), $base (its URL), $api_key
#   serve_down                 end it by SIGTERM, and wait for that
#   api METHOD PATH [BODY] [CURL-ARGS...]
#                              ask it: sets $code and $body
#   expect CODE METHOD PATH... the same, and it must answer so
#   start_session NAME [MEMBERS]
#                              POST /start, which must succeed; sets $id, $url, $key
#   says COMMAND               what the session of $url and $key prints
#   is TEXT FILTER             jq finds the filter true of it

# V0's own, as its client sends it.
v0_command='["/openhands/micromamba/bin/micromamba","run","-n","openhands","poetry","run","python","-u","-m","openhands.runtime.action_execution_server","60000","--working-dir","/workspace","--plugins","agent_skills","jupyter","--username","openhands","--user-id","1000","--no-enable-browser"]'

is() { command jq -e "$2" <<<"$1" >/dev/null || fail "'$1' is not so: $2"; }

# A test that fails leaves nothing to the next one.
clean_up_after() {
	[ "$1" -ne 0 ] || return 0
	sed 's/^/daemon: /' "$T/serve.log"
	kill -9 "$daemon" 2>/dev/null || true
	ohs stop --all >/dev/null 2>&1 || true
}

is_listening() {
	base=$(sed -n 's/.*listening at \(http:[^,]*\).*/\1/p' "$T/serve.log" | tail -n 1)
	[ -n "$base" ] || ! kill -0 "$daemon" 2>/dev/null
}

# launch_daemon WORDS...: in the background; sets $daemon.
launch_daemon() {
	rm -f "$T/serve.pid"
	: >>"$T/serve.log"
	as_me bash -c 'echo $$ >"$0"; exec "$@"' "$T/serve.pid" "$@" >>"$T/serve.log" 2>&1 &
	wait_until 20 test -s "$T/serve.pid"
	daemon=$(<"$T/serve.pid")
}

serve_up() {
	trap 'clean_up_after $?' EXIT
	rm -f "$T/serve.log"
	launch_daemon "$STAGE/bin/ohsandbox" serve --listen "${listen:-127.0.0.1:0}" "$@"
	wait_until 30 is_listening && [ -n "$base" ] || fail "no daemon: $(<"$T/serve.log")"
	base=${base/0.0.0.0/127.0.0.1}
	api_key=$(<"$OHS_STATE_DIR/serve.key")
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

serve_down() {
	kill -TERM "$daemon"
	wait_until 30 is_gone "$daemon" || fail "the daemon does not end"
}

api() {
	local method=$1 path=$2 data=()

	shift 2
	[ $# -eq 0 ] || [ -z "$1" ] || data=(--data-binary "$1")
	[ $# -eq 0 ] || shift
	code=$(curl -sS -g -m 100 -o "$T/body" -w '%{http_code}' -X "$method" -H "X-API-Key: $api_key" \
		"${data[@]}" "$@" "$base$path") || true
	body=$(tr -d '\0' <"$T/body")
}

expect() {
	local want=$1

	shift
	api "$@"
	[ "$code" = "$want" ] || fail "$1 $2 ${3:-}: $code, not $want: '$body'"
}

take_session() {
	id=$(json "$body" .runtime_id) url=$(json "$body" .url) key=$(json "$body" .session_api_key)
}

start_session() {
	expect 200 POST /start "{\"image\":\"img\",\"session_id\":\"$1\"${2:+,$2}}"
	take_session
}

# As clients do: the daemon's key is sent along.
act() {
	curl -sS -m 60 -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" -H 'Content-Type: application/json' \
		--data-binary "$1" "$url/execute_action"
}

says() {
	quote "$1"
	json "$(act "{\"action\":{\"action\":\"run\",\"args\":{\"command\":$quoted}}}")" .content
}

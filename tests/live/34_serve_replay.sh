#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# The sequences of the clients of both generations as they go over the wire: their bodies, their headers,
# their time limits, and what each of them does not survive in an answer.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# What they wait for: V0 for everything, V1's SDK for pauses and stops, its application server for
# everything, and both for the executor.
V0_S=180 SDK_S=30 APP_S=15 ALIVE_S=5

# within SECONDS METHOD PATH [BODY] [CURL-ARGS...]: answered by 2xx and an object (or V1's one list) by then.
within() {
	local limit=$1 from=$EPOCHREALTIME took

	shift
	if [ $# -lt 3 ]; then
		set -- "$@" ''
	fi
	api "$@" -D head -H 'Content-Type: application/json'
	took=$(((${EPOCHREALTIME/./} - ${from/./}) / 1000000))
	[ "$took" -le $((limit * OHS_SLOW)) ] || fail "$1 $2 took $took s, not $limit"
	assert_match "$1 $2 $code" ' 2..$'
	grep -qi '^content-type: application/json' head || fail "$1 $2: no JSON: $(<head)"
	is "$body" 'type == "object" or type == "array"'
}

# at EXECUTOR-PATH STATUS [CURL-ARGS...]: as the executor answers.
at() {
	local got path=$1 want=$2

	shift 2
	got=$(curl -sS -m $((ALIVE_S * OHS_SLOW)) -o at -w '%{http_code}' "$@" "$url$path") || true
	[[ $got =~ ^($want)$ ]] || fail "$path answers '$got', not '$want': $(<at)"
}

# What V0 and V1's strictest readers ask of every answer that shows a session.
strict='(.runtime_id | type == "string" and . != "") and (.url | type == "string" and (endswith("/") | not) and test("^http://[^/]+$"))
	and (.session_api_key | type == "string" and . != "") and (.session_id | type == "string")
	and (.status | IN("starting", "running", "paused", "error")) and (.pod_status | IN("pending", "ready", "not found", "failed"))
	and (.status_detail | type | IN("string", "null")) and (.restart_count | type == "number" and . >= 0)
	and (.work_hosts | type == "object" and all(type == "number"))'

start_v0() { # NAME [MEMBERS]
	within $V0_S POST /start '{"image":"img","command":'"$v0_command"',"working_dir":"/openhands/code/","environment":{},"session_id":"'"$1"'","resource_factor":1'"${2:-}"'}'
	is "$body" "$strict"
	take_session
}

# Once it is "ready" it is asked at once, and by no one again: a refused connection ends the whole.
poll_v0() {
	local pod

	while :; do
		within $V0_S GET "/runtime/$id" '' -H "X-Session-API-Key: $key"
		is "$body" ".runtime_id == \"$id\" and (.pod_status | type == \"string\")"
		pod=$(json "$body" .pod_status)
		case ${pod,,} in
		ready) break ;;
		"not found" | pending | running) ;;
		*) fail "V0 gives up at '$pod'" ;;
		esac
	done
	at /alive '2..' -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key"
}

test_v0_meets_a_new_session_again_and_again() {
	local id url key i

	serve_up
	for i in 1 2 3 4 5 6 7 8; do
		expect 404 GET "/sessions/rt_$i"
		is "$body" 'type == "object" and (.detail | type == "string")'
		start_v0 "rt_$i" ',"runtime_class":"sysbox-runc"'
		poll_v0
		is "$(act '{"action":{"message":"Running command: echo hi","action":"run","args":{"command":"echo hi","is_input":false,"thought":"","blocking":false,"is_static":false,"cwd":null,"hidden":false,"confirmation_state":"confirmed","security_risk":-1},"timeout":120.0}}')" \
			'.observation == "run" and .content == "hi" and .success == true and .extras.metadata.exit_code == 0'
		within $V0_S POST /stop "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	done
	# It closes what never came to life.
	api POST /stop '{"runtime_id":null}'
	assert_match "$code" '^(200|404)$'
	is "$body" 'type == "object"'
	serve_down
}

test_v0_attaches_again_and_starts_what_it_cannot_use() {
	local id url key known

	serve_up
	start_v0 s1
	poll_v0
	known="$id $url $key"
	says 'echo kept >/workspace/kept' >/dev/null
	within $V0_S GET /sessions/s1
	is "$body" "$strict and .status == \"running\""
	take_session
	poll_v0
	# keep_runtime_alive: it is paused by close(), and found so by the next.
	within $V0_S POST /pause "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	within $V0_S GET /sessions/s1
	is "$body" "$strict and .status == \"paused\""
	within $V0_S POST /resume "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	poll_v0
	# A start falls through to what is there, in every state.
	start_v0 s1
	assert_eq "$known" "$id $url $key"
	within $V0_S POST /pause "{\"runtime_id\":\"$id\"}"
	start_v0 s1
	assert_eq "$known" "$id $url $key"
	poll_v0
	assert_eq kept "$(says 'cat /workspace/kept')"
	within $V0_S POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_v0_never_comes_to_a_build() {
	serve_up
	within $V0_S GET /registry_prefix
	is "$body" '.registry_prefix | type == "string"'
	for tag in oh_v0.62.0_0123456789abcdef_0123456789abcdef oh_v0.62.0_0123456789abcdef oh_v0.62.0; do
		within $V0_S GET "/image_exists?image=$(json "$body" '.registry_prefix // "ohsandbox.local"')/runtime:$tag"
		is "$body" '.exists == true and (.image | has("upload_time")) and (.image.image_size_bytes | type == "number")'
	done
	serve_down
}

sdk_start='"command":"/usr/local/bin/no-such-agent-server --port 60000","working_dir":"/","environment":{"NAME":"value"},"run_as_user":10001,"fs_group":10001,"image_pull_policy":"IfNotPresent","runtime_class":"sysbox-runc","resource_factor":2'

test_v1s_sdk_waits_for_ready_and_asks_without_a_key() {
	local id url key name=agent-server-0b1a2c3d-0000-4000-8000-0123456789ab

	serve_up
	expect 404 GET "/sessions/$name"
	within 300 POST /start "{\"image\":\"ghcr.io/openhands/agent-server:latest-python\",\"session_id\":\"$name\",$sdk_start}"
	is "$body" "$strict"
	take_session
	until [ "$(json "$body" .pod_status)" = ready ]; do
		within 60 GET "/sessions/$name"
		is "$body" "$strict and (.pod_status | IN(\"pending\", \"running\", \"ready\", \"not found\"))"
	done
	at /health '2..'
	at /health '2..' -H 'X-OpenHands-Observability-Metadata: {"a":1}' -H 'X-OpenHands-Observability-Tags: a,b'
	# Its one client sends both keys from now on.
	within $SDK_S POST /pause "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	within 300 POST /resume "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	within 60 GET "/sessions/$name" '' -H "X-Session-API-Key: $key"
	is "$body" "$strict and .session_api_key == \"$key\" and .url == \"$url\""
	within $SDK_S POST /stop "{\"runtime_id\":\"$id\"}" -H "X-Session-API-Key: $key"
	expect 404 GET "/sessions/$name"
	serve_down
}

app_start() { # NAME COMMAND
	within $APP_S POST /start "{\"image\":\"ghcr.io/openhands/agent-server:1.58.0-python\",\"command\":$2,\"working_dir\":\"/workspace/project\",\"environment\":{\"LOG_JSON\":\"true\",\"WORKER_1\":\"12000\",\"WORKER_2\":\"12001\"},\"session_id\":\"$1\",\"resource_factor\":1,\"run_as_user\":10001,\"run_as_group\":10001,\"fs_group\":10001}"
	is "$body" "$strict and (.status | IN(\"starting\", \"running\"))"
	take_session
}

test_v1s_application_server_has_each_answer_in_fifteen_seconds() {
	local id url key

	serve_up
	app_start 4WJrT0b6mGk2Xq9ZyLpVnA 'null'
	until [ "$(json "$body" .status)" = running ]; do
		within $APP_S GET /sessions/4WJrT0b6mGk2Xq9ZyLpVnA
	done
	at /alive '2..'
	# A program that does not come up in its time: told of at once, with all that is known of it.
	app_start slow '["sleep","1000"]'
	is "$body" '.status == "starting"'
	within $APP_S GET '/sessions/batch?ids=slow&ids=nobody&ids=4WJrT0b6mGk2Xq9ZyLpVnA'
	is "$body" "type == \"array\" and map(.session_id) == [\"slow\", \"4WJrT0b6mGk2Xq9ZyLpVnA\"] and all($strict)"
	within $APP_S GET /list
	is "$body" ".runtimes | length == 2 and all($strict)"
	within $APP_S POST /stop '{"runtime_id":"slow"}'
	within $APP_S GET /sessions/4WJrT0b6mGk2Xq9ZyLpVnA
	within $APP_S POST /pause "{\"runtime_id\":\"$(json "$body" .runtime_id)\"}"
	within $APP_S GET /list
	is "$body" '.runtimes == []'
	within $APP_S GET /sessions/4WJrT0b6mGk2Xq9ZyLpVnA
	is "$body" "$strict and .status == \"paused\""
	within $APP_S POST /resume "{\"runtime_id\":\"$(json "$body" .runtime_id)\"}"
	is "$body" "$strict and .status == \"running\""
	# Once more, when two of its tasks do it: it is there.
	within $APP_S POST /resume "{\"runtime_id\":\"$(json "$body" .runtime_id)\"}"
	within $APP_S POST /stop "{\"runtime_id\":\"$(json "$body" .runtime_id)\"}"
	for path in /pause /resume /stop; do
		expect 404 POST $path '{"runtime_id":"0123456789ab"}'
		is "$body" '.detail | type == "string"'
	done
	within $APP_S GET /api/warm-runtime-configs
	is "$body" '.configs | type == "array"'
	serve_down
}

test_members_that_nobody_knows_yet_are_passed_over() {
	local id url key

	serve_up
	within $APP_S POST /start '{"image":"img","session_id":"s1","registry":{"a":[1,{"b":null}]},"storage_size":null,"volumes":["x"],"timeout":1.5}'
	take_session
	for path in /pause /resume /stop; do
		within $APP_S POST $path "{\"runtime_id\":\"$id\",\"reason\":\"idle\",\"force\":true,\"more\":{}}"
	done
	serve_down
}

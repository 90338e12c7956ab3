#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# What clients of both generations ask of the daemon, in the order in which they do.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# Each field in the type that its strictest reader wants, in every state; and the two columns agree.
runtime_object='([.session_id, .runtime_id, .url, .session_api_key, .status, .pod_status, .pod_logs] | all(type == "string"))
	and ([.status, .pod_status] | IN(["starting", "pending"], ["running", "ready"], ["paused", "not found"], ["error", "failed"]))
	and (.status_detail | type | IN("string", "null"))
	and (.restart_count | type == "number" and . >= 0 and . == floor)
	and ([.restart_reasons, .container_statuses, .events] | all(type == "array"))
	and (.work_hosts | [.[]] | sort | IN([], [12000, 12001, 60001]))
	and (.pod_status != "ready" or (.work_hosts | length == 3))'

file_setup() {
	make_repo "$BASE/work/repo"
}

has_pod_status() { # ID STATUS
	api GET "/runtime/$1"
	[ "$code" = 200 ] && [ "$(json "$body" .pod_status)" = "$2" ]
}

test_a_v0_client_starts_acts_and_stops() {
	local id url key

	serve_up
	expect 404 GET /sessions/s1
	is "$body" '.detail | type == "string"'
	expect 200 POST /start '{"image":"img","command":'"$v0_command"',"working_dir":"/openhands/code/","environment":{"K":"V w"},"session_id":"s1","resource_factor":1}'
	is "$body" "$runtime_object"
	take_session
	assert_match "$id" '^[0-9a-f]{12}$'
	assert_match "$url" '^http://localhost:[0-9]+$'
	wait_until 30 has_pod_status "$id" ready || fail "never ready: $body"
	is "$body" "$runtime_object"
	assert_eq "$id" "$(json "$body" .runtime_id)"
	assert_eq '{"status":"ok"}' "$(curl -sS "$url/alive")"
	assert_eq "V w" "$(says 'echo "$K"')"
	assert_eq /workspace "$(says pwd)"
	assert_eq openhands "$(says whoami)"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	expect 404 GET /sessions/s1
	expect 404 GET "/runtime/$id"
	run curl -sS -m 5 "$url/alive"
	[ "$status" -ne 0 ] || fail "its port still answers: $out"
	serve_down
}

test_a_second_client_attaches_to_what_runs() {
	local id url key was

	serve_up
	start_session s1 "\"command\":$v0_command"
	says 'echo here >left' >/dev/null
	was=$(command jq -S . <<<"$body")
	expect 200 GET /sessions/s1
	is "$body" "$runtime_object"
	assert_eq "$was" "$(command jq -S . <<<"$body")"
	expect 200 GET "/runtime/$id"
	assert_eq '{"status":"ok"}' "$(curl -sS "$url/alive")"
	assert_eq here "$(says 'cat left')"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_a_start_of_what_is_there_gives_the_same() {
	local id url key was

	serve_up
	start_session s1
	was=$id
	start_session s1
	assert_eq "$was" "$id"
	for i in 1 2 3 4 5 6; do
		curl -sS -m 60 -H "X-API-Key: $api_key" -d '{"image":"img","session_id":"twice"}' "$base/start" >"start-$i" &
		starts[i]=$!
	done
	wait "${starts[@]}"
	assert_eq 1 "$(json "$(cat start-?)" .runtime_id | sort -u | wc -l)"
	expect 200 GET /list
	assert_eq 2 "$(command jq '.runtimes | length' <<<"$body")"
	expect 200 POST /stop "{\"runtime_id\":\"$was\"}"
	expect 200 POST /stop '{"runtime_id":"twice"}'
	serve_down
}

# pause_and_resume WHERE [BODY]: what a client knows stays good, and what it made is there.
pause_and_resume() {
	local known="$id $url $key"

	expect 200 POST "$1" "$2"
	expect 200 GET /sessions/s1
	is "$body" "$runtime_object and .status == \"paused\" and .pod_status == \"not found\""
	take_session
	assert_eq "$known" "$id $url $key"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	expect 200 POST /resume "{\"runtime_id\":\"$id\"}"
	is "$body" "$runtime_object and .status == \"running\""
	take_session
	assert_eq "$known" "$id $url $key"
	wait_until 30 has_pod_status "$id" ready || fail "never ready: $body"
	assert_eq '{"status":"ok"}' "$(curl -sS "$url/alive")"
	assert_eq kept "$(says 'cat /workspace/made')"
}

test_pause_and_resume_keep_url_key_and_files() {
	local id url key

	serve_up
	start_session s1
	assert_eq kept "$(says 'echo kept >/workspace/made; cat /workspace/made')"
	pause_and_resume /pause "{\"runtime_id\":\"$id\"}"
	pause_and_resume "/v1/sessions/s1/pause" '{"to_disk":true}'
	# The fall-through of a client whose resume failed: a start of what is paused takes it up.
	expect 200 POST /pause "{\"runtime_id\":\"$id\"}"
	start_session s1
	assert_eq kept "$(says 'cat /workspace/made')"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_who_is_not_known_is_not_found() {
	serve_up
	for path in /stop /pause /resume; do
		expect 404 POST $path '{"runtime_id":"0123456789ab"}'
		is "$body" '.detail | type == "string"'
		expect 404 POST $path '{"runtime_id":null}'
	done
	expect 404 GET /runtime/0123456789ab
	expect 404 GET /sessions/nobody
	expect 404 DELETE /v1/sessions/nobody
	expect 404 GET /v1/sessions/nobody
	expect 404 GET /nowhere
	expect 405 GET /start
	serve_down
}

test_images_exist_and_none_is_built() {
	serve_up
	expect 200 GET /registry_prefix
	is "$body" '.registry_prefix | type == "string" and length > 0'
	expect 200 GET '/image_exists?image=ohsandbox.local/runtime:oh_v1_abc'
	is "$body" '.exists == true and (.image | has("upload_time") and (.image_size_bytes | type == "number"))'
	expect 422 GET /image_exists
	expect 501 POST /build '' -F context=@/dev/null -F target_image=a:b
	is "$body" '.detail | contains("runtime_container_image")'
	expect 501 GET '/build_status?build_id=1'
	serve_down
}

test_only_what_a_template_names_exists() {
	cat >serve.json <<-END
		{"only_templates": true, "templates": [{"name": "py", "image": "python:*"},
		 {"name": "plain", "image": "plain", "command": ["a", "b"], "environment": {"A": "1", "B": ""}}]}
	END
	serve_up --config "$T/serve.json"
	expect 200 GET '/image_exists?image=python%3A3'
	is "$body" '.exists'
	expect 200 GET '/image_exists?image=ruby'
	is "$body" '.exists == false'
	expect 200 GET /api/warm-runtime-configs
	is "$body" '.configs | length == 1'
	is "$body" '.configs[0] | .name == "plain" and .image == "plain" and .command == ["a", "b"] and .environment == {"A": "1", "B": ""} and (.working_dir | type == "string")'
	expect 404 POST /start '{"image":"ruby","session_id":"s1"}'
	is "$body" '.detail | contains("ruby")'
	expect 404 POST /start '{"image":"worktree:","session_id":"s1"}'
	assert_eq "" "$(sessions_left)"
	serve_down
}

test_a_command_is_a_string_a_list_or_nothing() {
	local id url key

	serve_up
	for command in '"/usr/local/bin/no-such-agent-server --port 60000"' '["/usr/local/bin/no-such-agent-server","--port","60000"]' null; do
		start_session s1 "\"command\":$command,\"working_dir\":\"/\",\"run_as_user\":10001,\"run_as_group\":10001,\"fs_group\":10001,\"image_pull_policy\":\"IfNotPresent\",\"runtime_class\":\"sysbox-runc\",\"resource_factor\":2"
		assert_eq 1 "$(says 'echo 1')"
		expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	done
	serve_down
}

test_a_program_of_the_image_is_what_the_url_leads_to() {
	local id url key own executor environment

	need cmd python3
	serve_up
	expect 200 POST /start '{"image":"img","session_id":"s1","command":"python3 -m http.server","working_dir":"/workspace/project","environment":{"SESSION_API_KEY":""}}'
	is "$body" "$runtime_object"
	take_session
	wait_until 30 has_pod_status "$id" ready || fail "never ready: $body"
	expect 200 POST /v1/sessions/s1/exec '{"command":"echo served >project/page; env"}'
	environment=$(json "$body" .output)
	assert_eq served "$(curl -sS "$url/page")"
	# Its clients' key is the program's, and opens nothing else.
	assert_contains "$environment" "OH_SESSION_API_KEYS_0=$key"
	assert_contains "$environment" "
SESSION_API_KEY=$key"
	assert_contains "$environment" "LITELLM_LOCAL_MODEL_COST_MAP=True"
	executor=$(curl -sS -o /dev/null -w '%{redirect_url}' -H "X-API-Key: $api_key" "$base/v1/sessions/s1/files?path=/workspace")
	assert_match "$executor" '^http://localhost:[0-9]+/download_files\?path=/workspace$'
	own=${executor%/download_files*}
	assert_eq 403 "$(curl -sS -o /dev/null -w '%{http_code}' -H "X-Session-API-Key: $key" "$executor")"
	[ "$own" != "$url" ] || fail "the program's URL is the executor's"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_what_starts_slowly_is_starting_and_what_fails_says_why() {
	serve_up
	expect 200 POST /start '{"image":"img","session_id":"slow","command":"sleep 1000"}'
	is "$body" "$runtime_object and .status == \"starting\" and (.url | startswith(\"http://localhost:\")) and (.session_api_key | length > 16)"
	expect 200 GET /sessions/slow
	is "$body" "$runtime_object and .status == \"starting\""
	expect 200 POST /stop '{"runtime_id":"slow"}'
	expect 404 GET /sessions/slow
	api POST /start '{"image":"img","session_id":"bad","command":["sh","-c","echo its last words; exit 3"]}'
	assert_match "$code" '^[45]'
	is "$body" '.detail | contains("its last words")'
	expect 200 GET /sessions/bad
	is "$body" "$runtime_object and .status == \"error\" and (.status_detail | contains(\"its last words\")) and (.pod_logs | contains(\"its last words\"))"
	serve_down
}

test_a_batch_is_a_list_and_a_list_is_wrapped() {
	serve_up
	start_session a
	start_session b
	expect 200 GET '/sessions/batch?ids=a&ids=nobody&ids=b'
	is "$body" "type == \"array\" and map(.session_id) == [\"a\", \"b\"] and all($runtime_object)"
	expect 200 GET '/sessions/batch?ids=nobody'
	is "$body" '. == []'
	expect 200 GET /sessions/batch
	is "$body" '. == []'
	expect 200 GET /list
	is "$body" ".runtimes | (map(.session_id) | sort) == [\"a\", \"b\"] and all($runtime_object)"
	expect 200 POST /stop '{"runtime_id":"a"}'
	expect 200 POST /stop '{"runtime_id":"b"}'
	serve_down
}

test_a_repository_is_named_by_image_or_by_variable() {
	local id url key

	serve_up --allow-repo "$BASE/work/repo"
	expect 200 POST /start "{\"image\":\"worktree:$BASE/work/repo\",\"session_id\":\"s1\"}"
	take_session
	assert_eq "hello more" "$(says 'cat README' | paste -sd' ')"
	says 'echo x >new' >/dev/null
	expect 200 GET /v1/sessions/s1/diff
	assert_contains "$body" '"new"'
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	expect 200 POST /start "{\"image\":\"worktree:$BASE/work/repo@HEAD~1\",\"session_id\":\"s2\"}"
	take_session
	assert_eq hello "$(says 'cat README')"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	start_session s3 "\"environment\":{\"OHSANDBOX_REPO\":\"$BASE/work/repo\"}"
	assert_eq built "$(says ./build.sh)"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	assert_no_file "$BASE/work/repo/new"
	serve_down
}

native_session='(.id | test("^[0-9a-f]{12}$")) and (.name | type == "string") and (.url | test("^http://localhost:[0-9]+$"))
	and (.session_api_key | type == "string") and (.created | type == "string") and (.ports | type == "array" and all(.host > 0 and .inside > 0))'

test_the_native_api_does_all_that_the_commands_do() {
	local id

	serve_up
	expect 200 POST /v1/sessions '{"image":"img"}'
	is "$body" "$native_session and .state == \"running\""
	id=$(json "$body" .id)
	expect 200 GET /v1/sessions
	is "$body" ".sessions | length == 1 and all($native_session)"
	expect 200 GET "/v1/sessions/$id"
	is "$body" "$native_session"
	expect 200 POST "/v1/sessions/$id/exec" '{"command":"echo out; echo err >&2; echo x >file; exit 3"}'
	is "$body" '.exit_code == 3 and (.output | contains("out") and contains("err"))'
	expect 200 POST "/v1/sessions/$id/exec" '{"command":"pwd","cwd":"/usr","timeout":5.5}'
	is "$body" '.exit_code == 0 and .output == "/usr"'
	for bad in '{}' '{"command":1}' '{"command":"x","timeout":0}' '{"command":"x","timeout":4000}' '{"command":"x","more":1}' '[]' ''; do
		expect 422 POST "/v1/sessions/$id/exec" "$bad"
	done
	expect 200 GET "/v1/sessions/$id/diff"
	assert_contains "$body" '"file"'
	expect 200 GET "/v1/sessions/$id/diff?format=patch"
	assert_contains "$body" '+x'
	expect 422 POST "/v1/sessions/$id/pause" '{"to_disk":1}'
	expect 200 POST "/v1/sessions/$id/pause" '{"to_disk":true}'
	is "$body" "$native_session and .state == \"paused\""
	expect 409 POST "/v1/sessions/$id/exec" '{"command":"true"}'
	expect 409 GET "/v1/sessions/$id/files?path=/workspace"
	expect 200 GET "/v1/sessions/$id/diff"
	assert_contains "$body" '"file"'
	expect 200 POST "/v1/sessions/$id/resume"
	is "$body" '.state == "running"'
	expect 200 POST "/v1/sessions/$id/pause"
	is "$body" '.state | IN("frozen", "paused")'
	expect 200 POST "/v1/sessions/$id/resume"
	expect 200 POST "/v1/sessions/$id/exec" '{"command":"cat file"}'
	is "$body" '.output == "x"'
	expect 200 DELETE "/v1/sessions/$id"
	expect 404 GET "/v1/sessions/$id"
	serve_down
}

test_files_come_from_the_session_itself() {
	local id url key

	serve_up
	start_session s1
	says 'echo content >/workspace/one' >/dev/null
	expect 307 GET '/v1/sessions/s1/files?path=/workspace'
	curl -sS -L -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" "$base/v1/sessions/s1/files?path=/workspace" >got.zip
	assert_eq PK "$(head -c 2 got.zip)"
	echo sent >two
	curl -sS -L -f -H "X-API-Key: $api_key" -H "X-Session-API-Key: $key" -F file=@two "$base/v1/sessions/s1/files?destination=/workspace" >/dev/null
	assert_eq sent "$(says 'cat /workspace/two')"
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	serve_down
}

test_events_tell_each_state() {
	local all one id url key

	serve_up
	curl -sS -N -H "X-API-Key: $api_key" "$base/v1/events" >all &
	all=$!
	wait_until 10 test -s all || fail "nothing comes at first"
	start_session s1
	curl -sS -N -H "X-API-Key: $api_key" "$base/v1/sessions/s1/events" >one &
	one=$!
	wait_until 10 test -s one
	start_session other
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	expect 200 POST /pause '{"runtime_id":"s1"}'
	expect 200 POST /stop '{"runtime_id":"s1"}'
	wait_until 10 grep -q '"state":"failed"' one || fail "the end is not told: $(cat one)"
	serve_down
	wait "$all" "$one" || fail "a stream does not end well"
	assert_eq "" "$(grep -vxE ':|event: session|data: \{.*\}|' all one || true)"
	assert_eq "starting running other" "$(sed -n 's/^data: //p' all | command jq -r 'select(.name == "s1").state' | head -n 2 | paste -sd' ') $(sed -n 's/^data: //p' all | command jq -r 'select(.name == "other").name' | head -n 1)"
	assert_not_contains "$(<one)" other
}

test_metrics_are_what_prometheus_reads() {
	serve_up
	start_session s1
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	expect 200 GET /healthz
	is "$body" '.status == "ok"'
	expect 200 GET /metrics
	printf '%s\n' "$body" | awk '
		/^# (HELP|TYPE) ohsandbox_[a-z_]+ ./ { if ($2 == "TYPE") type[$3] = $4; next }
		!/^ohsandbox_[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9]+(\.[0-9]+)?$/ { print "no line of the format: " $0; exit }
		{
			name = $0; sub(/[{ ].*/, "", name); family = name; sub(/_(bucket|sum|count)$/, "", family)
			if (!(name in type) && type[family] != "histogram") print "of no type: " $0
			label = $0; sub(/^[^{]*\{?/, "", label); sub(/,?(le="[^"]*")?\}? [^ ]*$/, "", label)
		}
		/_bucket/ { if ($NF < last[label]) print "a bucket less than the one before: " $0; last[label] = $NF }
		/_bucket.*le="\+Inf"/ { all[label] = $NF }
		/_seconds_count/ { if (all[label] != $NF) print "a count that is not +Inf: " $0 }' >wrong
	assert_eq "" "$(<wrong)"
	assert_contains "$body" 'ohsandbox_operation_seconds_count{operation="start"} 1'
	assert_contains "$body" 'ohsandbox_operation_seconds_count{operation="stop"} 1'
	assert_contains "$body" 'ohsandbox_sessions{state="running"} 0'
	serve_down
}

# Which a later start takes as it is.
# Of all directories that ended sessions left, this one's among them.
tidied() {
	compgen -G "$OHS_STATE_DIR/cache/vacant/*.tidy" >/dev/null && ! find "$OHS_STATE_DIR/cache/vacant" -mindepth 1 -maxdepth 1 | grep -qv '\.tidy$'
}

test_directories_of_ended_sessions_are_made_ready_without_a_start() {
	serve_up
	start_session s1
	expect 200 POST /stop "{\"runtime_id\":\"$id\"}"
	wait_until 30 tidied || fail "$(ls "$OHS_STATE_DIR/cache/vacant")"
	serve_down
}

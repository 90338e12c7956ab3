#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# Sessions that are held ready: whole, fresh, handed out once, nobody's until then, and never lost.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# pool_up N [MEMBERS]: a daemon with one template, of a repository, that holds N ready.
pool_up() {
	[ -d "$T/repo" ] || make_repo "$T/repo"
	echo "{\"templates\":[{\"name\":\"t\",\"image\":\"img\",\"repo\":\"$T/repo\",\"warm\":$1${2:+,$2}}]}" >"$T/config"
	chmod 644 "$T/config"
	serve_up --config "$T/config"
}

warm() { curl -sS -H "X-API-Key: $api_key" "$base/metrics" | sed -n 's/^ohsandbox_sessions{state="warm"} //p'; }
taken() { curl -sS -H "X-API-Key: $api_key" "$base/metrics" | sed -n 's/^ohsandbox_warm_starts_total //p'; }
holds() { [ "$(warm)" = "$1" ]; }
wait_for_warm() { wait_until 60 holds "$1" || fail "it holds $(warm) ready, not $1: $(grep -v metrics "$T/serve.log")"; }

# Ids of the sessions that nobody has a name for.
nameless() { ohs list --json | jq -r '.[] | select(.name == null) | .id' | sort; }

# What the nameless ones were started for, each kind once.
shapes() {
	local one
	for one in $(nameless); do
		ohs show --json "$one" 2>/dev/null | jq -r '.label | fromjson | .shape'
	done | sort -u
}

# N are held ready, all of one kind, which is another than SHAPE.
holds_others() { holds "$1" && [ "$(nameless | wc -l)" = "$1" ] && [ "$(shapes | wc -l)" = 1 ] && [ "$(shapes)" != "$2" ]; }

commit() { # TEXT
	as_me bash -c 'echo "$1" >"$0/README" && git -C "$0" commit -qam "$1"' "$T/repo" "$1"
}

# The shells of a session, as the host numbers them.
shells() {
	local init
	init=$(ohs show --json "$1" | jq .init_pid)
	children_of "$init" | xargs -I {} grep -l '^bash' /proc/{}/comm 2>/dev/null | cut -d/ -f3
}
has_shell() { [ -n "$(shells "$1")" ]; }

test_the_shell_of_what_is_held_ready_is_started_with_it() {
	local held shell inside

	pool_up 1
	wait_for_warm 1
	held=$(nameless)
	wait_until 30 has_shell "$held" || fail "no shell: $(<"$T/serve.log")"
	shell=$(shells "$held")
	inside=$(awk '/^NSpid:/ { print $NF }' "/proc/$shell/status")
	start_session s1
	assert_eq "$held" "$id"
	assert_eq "$inside" "$(says 'echo $$')"
	assert_eq "$shell" "$(shells "$held")"
	# One that a client has waited for has none before it is asked.
	serve_down
	ohs stop --all >/dev/null
	pool_up 0
	start_session s2
	assert_eq "" "$(shells "$id")"
	assert_eq hello "$(says 'head -n 1 README')"
	has_shell "$id" || fail "no shell where a command has run"
	serve_down
	ohs stop --all >/dev/null
}

test_what_is_held_ready_is_a_session_as_any_other_and_nobodys() {
	local ids

	pool_up 2
	wait_for_warm 2
	ids=$(nameless)
	assert_eq 2 "$(wc -l <<<"$ids")"
	# Clients see nothing of them, by whatever name.
	expect 200 GET /list
	is "$body" '.runtimes == []'
	expect 200 GET /v1/sessions
	is "$body" '.sessions == []'
	expect 404 GET "/sessions/$(head -n 1 <<<"$ids")"
	expect 404 POST /stop "{\"runtime_id\":\"$(tail -n 1 <<<"$ids")\"}"
	expect 404 GET /sessions/+warm-1

	start_session s1
	assert_contains "$ids" "$id"
	is "$body" '.status == "running" and .pod_status == "ready" and .session_id == "s1"'
	assert_eq hello "$(says 'head -n 1 README')"
	assert_eq 1 "$(taken)"
	expect 200 GET /list
	is "$body" '.runtimes | length == 1'
	assert_eq s1 "$(ohs show s1 --json | jq -r .name)"
	# Another takes its place.
	wait_for_warm 2
	assert_not_contains "$(nameless)" "$id"
	# The same name is the same session.
	local first=$id
	start_session s1
	assert_eq "$first" "$id"
	expect 200 POST /stop '{"runtime_id":"s1"}'
	serve_down
	ohs stop --all >/dev/null
}

test_none_is_handed_out_twice() {
	local i given pids=()

	pool_up 3
	wait_for_warm 3
	for i in 1 2 3 4 5 6 7 8; do
		curl -sS -m 60 -H "X-API-Key: $api_key" --data-binary "{\"image\":\"img\",\"session_id\":\"s$i\"}" "$base/start" >"$T/got$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	given=$(jq -r .runtime_id "$T"/got* | sort -u | wc -l)
	assert_eq 8 "$given"
	[ "$(taken)" -ge 3 ] || fail "only $(taken) were of the pool"
	for i in 1 2 3 4 5 6 7 8; do
		expect 200 GET "/sessions/s$i"
		is "$body" '.pod_status == "ready"'
	done
	serve_down
	ohs stop --all >/dev/null
}

test_none_is_stale() {
	local before

	pool_up 1
	wait_for_warm 1
	# A commit.
	before=$(nameless)
	commit second
	start_session s1
	assert_eq second "$(says 'head -n 1 README')"
	[ "$id" != "$before" ] || fail "it is the one from before the commit"
	assert_eq 0 "$(taken)"
	# What is stale makes room, without anybody asking.
	is_replaced() { holds 1 && [ "$(nameless)" != "$before" ]; }
	wait_until 60 is_replaced || fail "the stale one is held still"
	start_session s2
	assert_eq second "$(says 'head -n 1 README')"
	assert_eq 1 "$(taken)"
	# A branch that is merely seen inside.
	wait_for_warm 1
	before=$(nameless)
	as_me git -C "$T/repo" branch aside
	start_session s3
	assert_contains "$(says 'git branch --list --all')" aside
	[ "$id" != "$before" ] || fail "it is the one from before the branch"
	serve_down
	ohs stop --all >/dev/null
}

test_a_policy_or_a_configuration_that_has_changed_is_the_new_ones() {
	local before

	as_me bash -c 'echo "{\"extends\":\"default\",\"hostname\":\"one\"}" >"$0"' "$T/policy.json"
	pool_up 1 "\"policy\":\"$T/policy.json\""
	wait_for_warm 1
	as_me bash -c 'echo "{\"extends\":\"default\",\"hostname\":\"two\"}" >"$0"' "$T/policy.json"
	start_session s1
	assert_eq two "$(says hostname)"
	assert_eq 0 "$(taken)"
	wait_until 60 holds 1
	before=$(nameless)
	sed -i 's/"warm":1/"warm":1,"environment":{"COLOUR":"blue"}/' "$T/config"
	kill -HUP "$daemon"
	wait_until 60 grep -q 'read again' "$T/serve.log"
	start_session s2
	assert_eq blue "$(says 'echo $COLOUR')"
	[ "$id" != "$before" ] || fail "it is the one from before"
	sed -i 's/"warm":1/"warm":0/' "$T/config"
	kill -HUP "$daemon"
	is_empty() { [ -z "$(nameless)" ]; }
	wait_until 60 is_empty || fail "what no template wants is held still: $(nameless)"
	serve_down
	ohs stop --all >/dev/null
}

test_what_clients_ask_for_is_what_is_held() {
	local name shape members='"environment":{"WHO":"me"}'

	pool_up 1
	wait_for_warm 1
	shape=$(shapes)
	# The first client shows what it is that clients ask for.
	start_session s1 "$members"
	assert_eq 0 "$(taken)"
	wait_until 60 holds_others 1 "$shape" || fail "it holds what nobody asks for"
	start_session s2 "$members"
	assert_eq me "$(says 'echo $WHO')"
	assert_eq 1 "$(taken)"
	# One that wants something else for once changes nothing; two of a kind do.
	wait_for_warm 1
	name=$(nameless) shape=$(shapes)
	start_session s3 '"environment":{"WHO":"else"}'
	assert_eq else "$(says 'echo $WHO')"
	assert_eq "$name" "$(nameless)"
	start_session s4 '"environment":{"WHO":"else"}'
	assert_eq 1 "$(taken)"
	wait_until 60 holds_others 1 "$shape" || fail "it holds what is asked for no more"
	start_session s5 '"environment":{"WHO":"else"}'
	assert_eq else "$(says 'echo $WHO')"
	assert_eq 2 "$(taken)"
	serve_down
	ohs stop --all >/dev/null
}

test_a_later_daemon_finds_what_is_held_and_what_was_given() {
	local before first shape members='"environment":{"WHO":"me"}'

	pool_up 2
	wait_for_warm 2
	shape=$(shapes)
	start_session s0 "$members"
	wait_until 60 holds_others 2 "$shape" || fail "it holds what nobody asks for"
	start_session s1 "$members"
	first=$id
	wait_for_warm 2
	before=$(nameless)
	kill -9 "$daemon"
	wait_until 20 is_gone "$daemon"
	serve_up --config "$T/config"
	wait_for_warm 2
	assert_eq "$before" "$(nameless)"
	start_session s1 "$members"
	assert_eq "$first" "$id"
	start_session s2 "$members"
	assert_contains "$before" "$id"
	assert_eq me "$(says 'echo $WHO')"
	assert_eq 1 "$(taken)"
	serve_down
	ohs stop --all >/dev/null
}

test_one_that_died_is_given_to_nobody() {
	local init dead

	pool_up 1
	wait_for_warm 1
	dead=$(nameless)
	init=$(ohs show --json "$dead" | jq .init_pid)
	kill -9 "$init"
	is_dead() { [ ! -e "/proc/$init" ] || grep -q '^State:.*Z' "/proc/$init/status"; }
	wait_until 20 is_dead || fail "its first process lives on"
	start_session s1
	[ "$id" != "$dead" ] || fail "a dead session was handed out"
	assert_eq hello "$(says 'head -n 1 README')"
	wait_for_warm 1
	assert_not_contains "$(nameless)" "$dead"
	serve_down
	ohs stop --all >/dev/null
}

test_what_was_given_comes_back_as_any_session_does() {
	pool_up 1
	wait_for_warm 1
	start_session s1
	assert_eq 1 "$(taken)"
	says 'echo mine >mine' >/dev/null
	expect 200 POST /v1/sessions/s1/pause '{"to_disk":true}'
	expect 200 POST /resume '{"runtime_id":"s1"}'
	is "$body" '.session_id == "s1"'
	assert_eq mine "$(says 'cat mine')"
	# Its processes end by themselves: its work is there.
	kill -9 "$(ohs show --json s1 | jq .init_pid)"
	is_down() { expect 200 GET /sessions/s1 && [ "$(json "$body" .status)" != running ]; }
	wait_until 60 is_down || fail "its end is not noticed: $body"
	start_session s1
	assert_eq mine "$(says 'cat mine')"
	serve_down
	ohs stop --all >/dev/null
}

test_what_cannot_be_started_is_not_tried_without_end() {
	local n

	pool_up 2 '"policy":"none-of-this-name"' 2>/dev/null || true
	wait_until 60 grep -q 'none-of-this-name' "$T/serve.log" || fail "it says nothing: $(<"$T/serve.log")"
	expect 200 GET /healthz
	api POST /start '{"image":"img","session_id":"s1"}'
	[ "$code" -ge 400 ] || fail "it started: $body"
	n=$(grep -c '+warm-' "$T/serve.log")
	[ "$n" -le 12 ] || fail "it was tried $n times"
	expect 200 GET /list
	is "$body" '.runtimes == []'
	serve_down
}

test_what_a_client_may_not_have_is_not_held_either() {
	pool_up 1
	wait_for_warm 1
	expect 403 POST /start '{"image":"img","session_id":"s1","environment":{"OHSANDBOX_REPO":"/etc"}}'
	start_session s2
	# The next client shows again what clients ask for.
	wait_for_warm 1
	start_session s3
	wait_for_warm 1
	expect 200 GET /metrics
	serve_down
	ohs stop --all >/dev/null
}

test_room_for_clients_is_not_taken_by_what_is_held() {
	make_repo "$T/repo"
	echo "{\"max_sessions\":2,\"templates\":[{\"name\":\"t\",\"image\":\"img\",\"repo\":\"$T/repo\",\"warm\":5}]}" >"$T/config"
	chmod 644 "$T/config"
	serve_up --config "$T/config"
	wait_for_warm 2
	start_session s1
	start_session s2
	expect 503 POST /start '{"image":"img","session_id":"s3"}'
	assert_contains "$body" max_sessions
	is_empty() { [ -z "$(nameless)" ]; }
	wait_until 60 is_empty || fail "more are held than there is room for"
	serve_down
	ohs stop --all >/dev/null
}

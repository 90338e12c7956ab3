#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# shellcheck disable=SC2154 # $base, $code and the like are set by daemon.sh
# Whatever stands in a field, a path, a query or a head: it is refused by its reason, or done, and nothing
# else changes. The table is in serve_fields.py.
# as: root user

# shellcheck source=tests/live/daemon.sh
. "$OHS_SRC/tests/live/daemon.sh"

# Nothing may be known to the table's maker alone: a new route wants its rows.
test_every_route_is_fuzzed() {
	local path

	sed -n 's/^\t{ "[A-Z]*", "\([^"]*\)", .*/\1/p' "$OHS_SRC/src/api/route.c" >routes
	[ -s routes ] || fail "no routes"
	while read -r path; do
		path=${path//\*/\{\}}
		grep -qF "\"$path" "$OHS_SRC/tests/live/serve_fields.py" ||
			grep -qF "\"${path/\{\}/here}" "$OHS_SRC/tests/live/serve_fields.py" || fail "$path is not fuzzed"
	done <routes
}

test_whatever_stands_in_a_request_changes_nothing_else() {
	local id url key

	need cmd python3
	serve_up
	start_session here
	python3 "$OHS_SRC/tests/live/serve_fields.py" "$base" "$api_key" >said || fail "$(tail -n 60 said)"
	! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' serve.log || fail "control characters in the log"
	assert_not_contains "$(<serve.log)" "$api_key"
	assert_eq 1 "$(says 'echo 1')"
	expect 200 POST /stop '{"runtime_id":"here"}'
	serve_down
}

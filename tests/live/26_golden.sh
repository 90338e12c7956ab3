#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# Every example of the V0 reference, one file each in tests/golden/v0, replayed against sessions of
# each user. The replayer's decoder is as strict as a client's.

AT_ONCE=4 # sessions: most of the time goes by in waits that the examples are about

# One session, every AT_ONCEth file.
replay_share() { # USER WHICH
	local json files=("$OHS_SRC"/tests/golden/v0/*.json) mine=() i

	for ((i = $2; i < ${#files[@]}; i += AT_ONCE)); do
		mine+=("${files[i]}")
	done
	mkdir "work-$2"
	json=$(ohs start --dir "$PWD/work-$2" --user "$1") || return 1
	python3 "$OHS_SRC/tests/golden/replay.py" "$(json "$json" .url)" "$(json "$json" .session_api_key)" --as "$1" "${mine[@]}"
	ohs stop "$(json "$json" .id)"
}

replay_as() { # USER
	local i

	for ((i = 0; i < AT_ONCE; i++)); do
		replay_share "$1" "$i" >"share-$i" 2>&1 &
	done
	wait
	! grep -qh "^not ok " share-* || fail "as $1: $(grep -h "^not ok " share-* | head -c 2000)"
	# Some files are about one of the users alone.
	i=$(cat share-* | grep -c '^ok ')
	[ "$i" -ge $(($(find "$OHS_SRC/tests/golden/v0" -name '*.json' | wc -l) - 3)) ] || fail "only $i examples were replayed: $(grep -vh "^ok " share-*)"
}

test_golden_exchanges_as_the_workload_user() {
	need cmd python3
	replay_as openhands
}

test_golden_exchanges_as_root() {
	need cmd python3
	replay_as root
}

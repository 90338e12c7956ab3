# Rows of tables 6 and 8: exhaustion stays inside; a missing wall makes a start fail.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

test_a_fork_storm_ends_at_the_limit_and_nobody_else_notices() {
	need root
	need controller pids
	SESSION_OPTIONS='--pids 50 --json' session openhands /probe/probe fork-storm 5000
	assert_match "$out" '^[0-9]+ processes'
	[ "${out%% *}" -lt 60 ] || fail "$out despite a limit of 50"
	assert_contains "$err" '"pids"'
	control sh -c 'setsid -w "$0" fork-storm 100 >"$1"; grep -q "^100 " "$1"' "$P/probe" "$T/control"
}

test_memory_beyond_the_limit_ends_the_workload_and_says_so() {
	need root
	need controller memory
	SESSION_OPTIONS='--memory 64M --json' session openhands /probe/probe memory 512
	assert_status 137
	assert_contains "$err" oom
	SESSION_OPTIONS='--memory 256M' session openhands /probe/probe memory 64
	assert_status 0
}

test_the_executor_lives_on_after_a_memory_bomb() {
	need root
	need controller memory
	local id
	id=$(ohs start --memory 64M --repo "$BASE/work/repo" --mount "$P:/probe:ro" | jq -r .id)
	run ohs act "$id" run '/probe/probe memory 512; echo "status $?"'
	run ohs act "$id" run 'echo second'
	assert_contains "$out" second
	ohs stop "$id" >/dev/null
}

test_a_deadline_ends_a_tree_that_ignores_everything() {
	session openhands sh -c 'echo warm' # the base is laid
	SESSION_OPTIONS='--timeout 1' session openhands sh -c 'trap "" TERM INT HUP; (setsid sh -c "trap \"\" TERM; sleep 1000" &); sleep 1000'
	assert_status 124
}

test_limits_that_make_no_sense_are_refused() {
	local value
	for value in -1 1e9G 0x10 '' 12Q; do
		run ohs run --memory "$value" --repo "$BASE/work/repo" -- true
		assert_status 125
		assert_contains "$err" memory
	done
}

test_a_policy_with_an_unknown_key_is_refused() {
	as_me sh -c 'echo "{\"extends\": \"default\", \"memroy\": \"1G\"}" >"$0"' "$T/typo.json"
	run ohs run --policy "$T/typo.json" --repo "$BASE/work/repo" -- true
	assert_status 125
	assert_contains "$err" memroy
	as_me sh -c 'echo "{\"extends\": \"default\"}" >"$0"' "$T/fine.json"
	control ohs run --quiet --policy "$T/fine.json" --repo "$BASE/work/repo" -- true
}

test_two_sessions_draw_different_randomness() {
	session openhands od -An -N16 -tx1 /dev/urandom
	local first=$out
	session openhands od -An -N16 -tx1 /dev/urandom
	[ "$first" != "$out" ] || fail "the same random bytes twice"
}

# Host secrets: nothing that only root can read on the host is readable inside.
test_nothing_only_root_can_read_is_readable_inside() {
	need root
	local list=$T/list
	find /etc /usr /opt /var/lib/dpkg /var/lib/apt /root /home /srv -xdev -type f ! -perm -o+r 2>/dev/null |
		grep -v "^$BASE" | head -n 2000 >"$list"
	cp "$list" "$P/list"
	chmod a+r "$P/list"
	for U in openhands root; do
		session "$U" sh -c 'while read -r f; do [ -s "$f" ] && cat "$f" >/dev/null 2>&1 && echo "$f"; done </probe/list; true'
		local f
		for f in $out; do
			cmp -s "$f" <(ohs run --quiet --repo "$BASE/work/repo" --user "$U" -- cat "$f") && fail "$f of the host is readable as $U"
		done
	done
	# The workload's group is root's by number, and its user is somebody's of the host.
	local seen=
	for mode in 600 640 660; do
		for owner in 0:0 1000:1000; do
			echo canary >/usr/local/only-root
			chown $owner /usr/local/only-root
			chmod $mode /usr/local/only-root
			for U in openhands root; do
				session "$U" cat /usr/local/only-root
				seen=$seen$out
			done
			rm /usr/local/only-root
		done
	done
	assert_eq "" "$seen" "what only some may read on the host"
	control sh -c 'cat "$(head -n 1 "$0")" >/dev/null' "$list"
}

# SPDX-License-Identifier: MIT
# 10_groups.sh - what version 2 of control groups decides: where the limits of a session are
# written, who stands in which group, what says that a limit was hit, who may enter.
#
# root has his groups below the top of the hierarchy, user below the one that was delegated to him,
# single has none.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	[ -n "${OHS_IN_VM:-}" ] || skip "needs a machine of its own"
	escape_setup
}

need_groups() { [ "$OHS_AS" != single ] || not_mine; }

start_session() { # OPTION...: sets $id and its group $G
	id=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro" "$@" | jq -r .id)
	G=$(find /sys/fs/cgroup -type d -name "$id")
	[ -d "$G" ] || fail "session '$id' has no group"
}

holds() { # FILE WANT
	assert_eq "$2" "$(cat "$G/$1")" "$1"
}

test_limits_bound_the_workload_and_leave_the_executor_a_reserve() {
	need_groups
	start_session --memory 64M --swap 32M --pids 40 --cpus 0.5
	holds work/memory.max $((64 << 20))
	holds work/memory.swap.max $((32 << 20))
	holds work/pids.max 40
	holds work/cpu.max '50000 100000'
	holds memory.max $((96 << 20))
	holds pids.max 56
	holds executor/memory.max max
	# Each action has a leaf, a little narrower, and does not die of another's.
	holds work/memory.oom.group 0
	holds work/0/memory.max $((60 << 20))
	holds work/0/pids.max 32
	ohs stop "$id" >/dev/null
	assert_no_file "$G"
}

# Processes below a group, by what they run.
programs_below() {
	local file pid

	find "$1" -name cgroup.procs | while read -r file; do
		while read -r pid; do
			readlink "/proc/$pid/exe"
		done <"$file"
	done
}

test_executor_and_workload_stand_apart() {
	need_groups
	start_session
	ohs act "$id" run 'sleep 1000 & echo started' >"$T/said"
	grep -q started "$T/said" || fail "no background process: $(cat "$T/said")"
	holds cgroup.procs ''
	assert_eq 2 "$(wc -l <"$G/executor/cgroup.procs")" "processes of the executor: init and server"
	assert_contains "$(programs_below "$G/work")" /sleep
	assert_not_contains "$(programs_below "$G/work")" ohsandbox-executor
	ohs stop "$id" >/dev/null
}

test_the_view_of_groups_begins_at_ones_own() {
	need_groups
	for U in openhands root; do
		session "$U" cat /proc/self/cgroup
		assert_eq 0::/ "$out" "view of $U"
	done
	start_session
	run ohs act --text "$id" run 'cat /proc/self/cgroup'
	ohs stop "$id" >/dev/null
	assert_eq 0::/ "${out%%$'\n'*}" "view of an action"
	control grep -q '^0::/' /proc/self/cgroup
}

hit() { # WANTED OPTION... -- COMMAND...
	local wanted=$1 object
	shift
	run ohs run --quiet --json --repo "$BASE/work/repo" --mount "$P:/probe:ro" "$@"
	object=${err##*$'\n'}
	assert_eq "$wanted" "$(json "$object" '.limits_hit | join(" ")')" "limits that '$*' hit"
}

test_the_summary_names_the_limit_that_was_hit() {
	need_groups
	hit oom --memory 64M -- /probe/probe memory 256
	assert_status 137
	hit pids --pids 30 -- /probe/probe fork-storm 100
	hit cpu --cpus 0.05 -- sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done'
	assert_status 0
	hit '' --memory 64M --pids 30 --cpus 1 -- true
	assert_status 0
}

test_an_action_out_of_memory_leaves_the_executor_alive() {
	need_groups
	start_session --memory 64M
	run ohs act --text "$id" run '/probe/probe memory 512; echo "status $?"'
	run ohs act --text "$id" run 'echo second'
	ohs stop "$id" >/dev/null
	assert_contains "$out" second
}

test_swap_is_bounded_by_itself() {
	need_groups
	[ "$(wc -l </proc/swaps)" -gt 1 ] || fail "this machine was to have swap"
	hit '' --memory 48M --swap 128M -- /probe/probe memory 80
	assert_status 0
	hit oom --memory 48M --swap 0 -- /probe/probe memory 80
	assert_status 137
	# The default policy's limit is none.
	hit oom --memory 48M -- /probe/probe memory 80
}

# An ordinary user's groups are opened to init, whose id is not his, below a closed directory.
test_nobody_else_enters_the_groups() {
	local group
	need_groups
	start_session
	for group in "$G" "$G/work" "$G/work/0" "$G/executor"; do
		run setpriv --reuid 34567 --regid 34567 --clear-groups sh -c 'echo $$ >"$0/cgroup.procs"' "$group"
		[ "$status" -ne 0 ] || fail "another user entered $group"
		run setpriv --reuid 34567 --regid 34567 --clear-groups sh -c 'echo max >"$0/pids.max"' "$group"
		[ "$status" -ne 0 ] || fail "another user lifted a limit of $group"
	done
	control as_me sh -c 'echo $$ >"$0/cgroup.procs"' "$G/work/0"
	ohs stop "$id" >/dev/null
}

# The workload's user has the caller's uid where there is one id for all: he sees no group files.
test_the_workload_lifts_no_limit() {
	need_groups
	for U in openhands root; do
		session "$U" sh -c 'find / -xdev \( -name "memory.max" -o -name "cgroup.procs" \) 2>/dev/null; find /sys 2>/dev/null | grep -m 1 cgroup'
		assert_eq '' "$out" "group files that $U sees"
	done
	control sh -c 'find /sys/fs/cgroup -name cgroup.procs | grep -q .'
}

test_controllers_that_were_taken_away_are_asked_for_again() {
	need root
	ohs clean >/dev/null
	echo '-memory -pids -cpu' >/sys/fs/cgroup/cgroup.subtree_control
	assert_eq '' "$(tr -d '\n' </sys/fs/cgroup/cgroup.subtree_control)" "controllers that are passed on"
	start_session --memory 64M --cpus 2
	holds work/memory.max $((64 << 20))
	ohs stop "$id" >/dev/null
}

test_without_a_delegated_group_it_says_what_it_cannot_keep() {
	[ "$OHS_AS" = single ] || not_mine
	run ohs run --repo "$BASE/work/repo" -- sh -c 'cat README; echo x >>README; git status --short'
	assert_status 0
	assert_eq $'hello\nmore\n M README' "$out"
	assert_contains "$err" "1 changed"
	assert_contains "$err" "cannot keep: memory"
	assert_contains "$err" "pids"
	run ohs run --repo "$BASE/work/repo" --pids 50 -- true
	assert_status 125
	assert_contains "$err" "--pids cannot be kept"
	run ohs doctor
	assert_contains "$out" Delegate=yes
}

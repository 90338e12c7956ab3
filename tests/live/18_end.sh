#!/bin/bash
# SPDX-License-Identifier: MIT
# However it ends, nothing is left: failures and kills at every stage, signals, terminals.
# deadline: 900

STAGES="base root slot listen session overlay cgroup ids clone groups network boot go"

file_setup() {
	make_repo "$BASE/work/repo"
	(cd "$BASE/work/repo" && ohs run -q -- true)
	wait_until 20 no_links
}

no_links() { ! grep -q '^ *ohs[0-9]' /proc/net/dev; }

in_repo() { (cd "$BASE/work/repo" && ohs "$@"); }

need_hooks() {
	OHS_FAIL_STAGE=base run in_repo run -q -- true
	[ "$status" -eq 125 ] || skip "needs a build with --enable-test-hooks"
}

nothing_left() {
	assert_eq "" "$(ls "$OHS_STATE_DIR/sessions")" "sessions $1"
	wait_until 20 unchanged || fail "$1: left behind: $(diff "$BASE/before" "$BASE/after" | grep '^[<>]' | head -n 3)"
}

test_a_start_that_fails_at_any_stage_leaves_nothing() {
	local stage

	need_hooks
	for stage in $STAGES; do
		OHS_FAIL_STAGE=$stage run in_repo run --json -- true
		assert_status 125
		assert_contains "$err" "made to fail after stage '$stage'"
		nothing_left "after $stage"
		OHS_FAIL_STAGE=before:$stage run in_repo run -- true
		assert_status 125
		nothing_left "before $stage"
	done
}

test_a_start_that_stays_and_fails_leaves_nothing() {
	local stage

	need_hooks
	for stage in session clone boot go; do
		OHS_FAIL_STAGE=$stage run in_repo start
		assert_status 1
		assert_eq "" "$out"
		nothing_left "$stage"
	done
}

test_what_a_killed_supervisor_left_goes_with_the_next_command() {
	local stage

	need_hooks
	for stage in $STAGES; do
		OHS_KILL_STAGE=$stage run in_repo run -- sleep 1000
		assert_status 137
		run ohs list
		assert_status 0
		assert_eq "" "$err"
		nothing_left "killed after $stage"
		OHS_KILL_STAGE=before:$stage run in_repo run -- sleep 1000
		assert_status 137
		run ohs list
		assert_status 0
		nothing_left "killed before $stage"
	done
}

test_a_start_that_stays_and_is_killed_leaves_nothing() {
	local stage

	need_hooks
	for stage in $STAGES; do
		OHS_KILL_STAGE=$stage run in_repo start
		assert_status 137
		run ohs list --json
		assert_eq "[]" "$out" "sessions after a kill after $stage"
		nothing_left "start killed after $stage"
	done
}

test_an_end_that_is_killed_is_ended_by_the_next_command() {
	local stage

	need_hooks
	for stage in network clone cgroup session slot; do
		OHS_KILL_STAGE=down:$stage run in_repo run -q -- true
		assert_status 137
		run ohs list
		assert_eq "" "$err"
		nothing_left "killed before the end of $stage"
	done
}

test_an_end_that_fails_is_tried_again() {
	local stage

	need_hooks
	for stage in network clone cgroup session; do
		OHS_FAIL_STAGE=down:$stage run in_repo run -q -- true
		assert_status 125
		assert_contains "$err" "made to fail down stage '$stage'"
		[ -n "$(ls "$OHS_STATE_DIR/sessions")" ] || fail "the record went though '$stage' failed"
		run ohs list
		assert_status 0
		nothing_left "after the second try at $stage"
	done
}

test_a_session_ends_with_its_killed_supervisor() {
	local job

	in_repo run -q -- sh -c 'echo up; trap "" TERM HUP INT; sleep 1000' >up &
	job=$!
	wait_until 20 grep -q up up
	kill -9 "$(supervisor_pid)"
	wait $job || true
	ohs list >/dev/null
	nothing_left "kill -9"
}

# The one process of ours that runs `run`.
supervisor_pid() {
	local p

	for p in $(ours "$STAGE/bin/ohsandbox run"); do
		case $(readlink "/proc/$p/exe") in */ohsandbox) echo "$p" ;; esac
	done | head -n 1
}

# A login session or a service that ever started a session has a group of ours below its own.
test_clean_takes_the_groups_of_callers_that_stood_elsewhere() {
	local dir

	need root
	[ ${#own_groups[@]} -gt 0 ] || not_mine # with one tree of groups the last session is everybody's
	for dir in "${own_groups[@]}"; do mkdir "$dir/elsewhere"; done
	(
		for dir in "${own_groups[@]}"; do echo "$BASHPID" >"$dir/elsewhere/tasks"; done
		ohs run -q --empty -- true
	)
	ls -d "${own_groups[@]/%//elsewhere/ohsandbox}" >there 2>/dev/null || true
	grep -q . there || fail "no group was made there"
	ohs clean
	for dir in $(cat there); do assert_no_file "$dir"; done
	rmdir "${own_groups[@]/%//elsewhere}"
}

test_the_first_signal_is_the_commands() {
	local pid

	in_repo run -q -- sh -c 'trap "echo got it; exit 9" USR1; echo up; while :; do sleep 0.05; done' >up &
	pid=$!
	wait_until 20 grep -q up up
	kill -USR1 "$(supervisor_pid)"
	set +e
	wait $pid
	status=$?
	set -e
	assert_eq 9 "$status" status
	assert_contains "$(cat up)" "got it"
}

test_the_second_sigint_ends_the_session() {
	local pid

	in_repo run -q -- sh -c 'trap "" INT TERM; echo up; while :; do sleep 0.05; done' >up &
	pid=$!
	wait_until 20 grep -q up up
	kill -INT "$(supervisor_pid)"
	kill -TERM "$(supervisor_pid)"
	set +e
	wait $pid
	status=$?
	set -e
	assert_eq 143 "$status" status
	nothing_left "second signal"
}

test_a_stop_stops_both_and_a_continue_wakes_them() {
	local job pid

	in_repo run -q -- sh -c 'echo up; while :; do echo x; sleep 0.02; done' >up &
	job=$!
	wait_until 20 grep -q x up
	pid=$(supervisor_pid)
	stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
	kill -TSTP "$pid"
	wait_until 10 stopped
	kill -CONT "$pid"
	lines=$(wc -l <up)
	more() { [ "$(wc -l <up)" -gt $((lines + 3)) ]; }
	wait_until 10 more
	kill -TERM "$pid"
	set +e
	wait $job
	status=$?
	set -e
	assert_eq 143 "$status" status
}

test_the_supervisor_holds_no_power_while_the_command_runs() {
	local job

	need root
	in_repo run -q -- sh -c 'echo up; sleep 1000' >up &
	job=$!
	wait_until 20 grep -q up up
	powerless() { grep -q '^CapEff:[[:space:]]*0*$' "/proc/$(supervisor_pid)/status"; }
	wait_until 10 powerless
	kill -TERM "$(supervisor_pid)"
	wait $job || true
	nothing_left "without powers"
}

test_a_terminal_is_one_inside_and_comes_back() {
	need cmd script
	as_me script -qec "stty size; '$STAGE/bin/ohsandbox' run --empty -q -- sh -c 'tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all'; stty -a" typescript </dev/null >/dev/null
	assert_match "$(tr -d '\r' <typescript)" '/dev/pts/[0-9]+'
	assert_contains "$(cat typescript)" all
	assert_match "$(cat typescript)" ' icanon'
}

test_a_terminal_that_goes_away_ends_the_session() {
	local job

	need cmd script
	as_me script -qfec "'$STAGE/bin/ohsandbox' run --empty -q -- sh -c 'trap \"\" HUP; echo up >&2; while :; do sleep 0.1; done'" typescript </dev/null >/dev/null 2>&1 &
	job=$!
	wait_until 20 grep -q up typescript
	kill -9 $(ours "^script -qfec '$STAGE")
	wait $job || true
	wait_until 20 no_supervisor
	ohs list >/dev/null
	nothing_left "hang-up"
}

no_supervisor() { [ -z "$(supervisor_pid)" ]; }

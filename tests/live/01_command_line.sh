#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# Step 1: what is wrong on the command line gets one line, a status, and nothing on the host.

refused() { # STATUS TEXT ARGS...
	local want=$1 text=$2

	shift 2
	run ohs "$@"
	assert_status "$want"
	assert_contains "$err" "$text"
	assert_eq 1 "$(printf '%s\n' "$err" | wc -l)" "lines said by '$*'"
	assert_no_file "$OHS_STATE_DIR/sessions"
}

test_help_names_every_command_and_option() {
	local command

	run ohs --help
	assert_status 0
	for command in run start stop list show act diff policy doctor clean; do
		assert_match "$out" "  $command +[A-Z]"
		run ohs "$command" --help
		assert_status 0
		assert_contains "$out" "usage: ohsandbox $command"
		assert_contains "$out" "examples:"
		run ohs --help
	done
	run ohs help run
	assert_status 0
	assert_contains "$out" "--memory SIZE"
	run ohs --version
	assert_status 0
	assert_match "$out" '^ohsandbox [0-9]'
}

test_unknown_words_are_answered_with_the_nearest() {
	refused 2 "unknown command 'rnu'; did you mean 'run'?" rnu
	refused 125 "unknown option '--memroy'; did you mean '--memory'?" run --memroy 1G -- true
	refused 2 "did you mean '--json'?" list --jsn
}

test_limits_that_make_no_sense_are_refused_by_name() {
	mkdir plain
	refused 125 "--memory: '-1' is not a size" run --dir plain --memory -1 -- true
	refused 125 "--memory: '1e9G' is not a size" run --dir plain --memory 1e9G -- true
	refused 125 "--pids: 0 is not between" run --dir plain --pids 0 -- true
	refused 125 "--cpus" run --dir plain --cpus many -- true
	refused 125 "--timeout: '0' leaves no time" run --dir plain --timeout 0 -- true
	refused 125 "--net: 'host' is neither" run --dir plain --net host -- true
	refused 125 "--publish: port" run --dir plain --publish 70000 -- true
	refused 125 "--mount: 'x' is not HOST:INSIDE" run --dir plain --mount x -- true
	refused 125 "--user nobody" run --dir plain --user nobody -- true
	refused 125 "a command is missing" run --dir plain
	refused 125 "a command is missing" run --dir plain --
}

test_the_environment_is_checked_before_anything_is_done() {
	mkdir plain
	printf 'A=1\n2B=3\n' >vars
	refused 125 "--env-file: vars: line 2: '2B'" run --dir plain --env-file vars -- true
	refused 125 "--env-file: open 'nowhere'" run --dir plain --env-file nowhere -- true
	refused 125 "'OHS_NEVER_SET' is not set in your environment" run --dir plain --env OHS_NEVER_SET -- true
	refused 125 "'' is no name" run --dir plain --env =x -- true
}

test_workspaces_are_refused_by_name() {
	mkdir plain
	refused 125 "is in no git repository" run -- true
	refused 125 "--dir" run --dir / -- true
	refused 125 "--dir" run --dir /usr -- true
	refused 125 "nowhere" run --dir nowhere -- true
	refused 125 "exclude each other" run --dir plain --repo plain -- true
	refused 125 "want a repository" run --dir plain --dirty -- true
}

test_a_state_directory_of_others_is_refused() {
	as_me mkdir -m 755 open plain
	OHS_STATE_DIR=$PWD/open run ohs run --empty -- true
	assert_status 125
	assert_contains "$err" "$PWD/open"
	assert_contains "$err" 700
	OHS_STATE_DIR=$PWD/open run ohs list
	assert_status 1
}

test_the_reason_stands_in_the_json_too() {
	run ohs run --json --memory -1 -- true
	assert_status 125
	assert_eq 125 "$(json "${err##*$'\n'}" .exit_status)"
	assert_contains "$(json "${err##*$'\n'}" .error)" "--memory"
	run ohs run --memory -1 --json -- true
	assert_eq 125 "$(json "${err##*$'\n'}" .exit_status)"
	run ohs run --json-fd 77 -- true
	assert_status 125
	assert_contains "$err" "descriptor 77 is not open"
}

test_a_dry_run_prints_the_plan_and_does_nothing() {
	run ohs run --empty --dry-run --env SECRET=hush --timeout 90s -- make all
	assert_status 0
	assert_eq 90000 "$(json "$out" .limits.timeout_ms)"
	assert_eq make "$(json "$out" '.command[0]')"
	assert_not_contains "$out" hush
	assert_no_file "$OHS_STATE_DIR/sessions"
}

test_commands_that_run_nothing_use_one_and_two() {
	refused 2 "takes the id of one session" show
	refused 2 "takes ids of sessions, or --all" stop
	refused 2 "takes no operand" list x
	run ohs show abcdef
	assert_status 1
	assert_contains "$err" "no session 'abcdef'"
	run ohs stop xyz
	assert_status 1
	assert_contains "$err" "no session 'xyz'"
	run bash -c "'$STAGE/bin/ohsandbox' --help >/dev/full"
	assert_status 1
	assert_contains "$err" "No space left"
}

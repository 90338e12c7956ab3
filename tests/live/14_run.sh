#!/bin/bash
# SPDX-License-Identifier: MIT
# The whole way, from the command line to the end: what `run` promises to its caller.

file_setup() {
	make_repo "$BASE/work/repo"
}

in_repo() { (cd "$BASE/work/repo" && ohs "$@"); }

last_json() { printf '%s\n' "${err##*$'\n'}"; }

test_the_command_works_on_the_repository() {
	run in_repo run -- sh -c 'cat README; ./build.sh; pwd'
	assert_status 0
	assert_eq $'hello\nmore\nbuilt\n/workspace' "$out"
	assert_contains "$err" "0 files added, 0 changed, 0 deleted"
}

test_it_starts_in_the_same_subdirectory() {
	cd "$BASE/work/repo/src"
	run ohs run -- sh -c 'pwd; ls'
	assert_eq $'/workspace/src\nmain.c' "$out"
	run ohs run --workdir /tmp -- pwd
	assert_eq /tmp "$out"
}

test_what_it_changes_is_counted_and_stays_inside() {
	run in_repo run -- sh -c 'echo x >new; echo y >>README; rm build.sh; mkdir d; echo z >d/e'
	assert_status 0
	assert_contains "$err" "2 files added, 1 changed, 1 deleted"
	assert_no_file "$BASE/work/repo/new"
	assert_file "$BASE/work/repo/build.sh"
	assert_eq "" "$(as_me git -C "$BASE/work/repo" status --porcelain)"
}

test_the_status_is_the_commands_own() {
	run in_repo run -q -- sh -c 'exit 7'
	assert_status 7
	assert_eq "" "$err"
	run in_repo run -q -- sh -c 'kill -TERM $$'
	assert_status 143
	run in_repo run -q -- sh -c 'exit 125'
	assert_status 125
}

test_a_missing_command_is_127_and_the_host_is_asked() {
	run in_repo run -- no-such-command-anywhere
	assert_status 127
	assert_contains "$err" "'no-such-command-anywhere' is not in the session"
	as_me mkdir bin
	as_me sh -c 'printf "#!/bin/sh\n" >bin/only-here; chmod 755 bin/only-here'
	PATH=$PWD/bin:$PATH run in_repo run -- only-here
	assert_status 127
	assert_contains "$err" "the host has it at '$PWD/bin/only-here'"
}

test_what_cannot_be_executed_is_126() {
	run in_repo run -- ./README
	assert_status 126
	assert_contains "$err" "'./README' cannot be executed"
	run in_repo run -- /etc
	assert_status 126
}

test_the_deadline_is_124_and_ends_the_whole_tree() {
	local start end

	start=$(date +%s%N)
	run in_repo run --timeout 300ms --json -- sh -c 'trap "" TERM INT HUP; (trap "" TERM; sleep 100) & sleep 100'
	end=$(date +%s%N)
	assert_status 124
	assert_eq timeout "$(json "$(last_json)" '.limits_hit[0]')"
	[ $(((end - start) / 1000000)) -lt $((2000 * OHS_SLOW)) ] || fail "took $(((end - start) / 1000000)) ms"
}

test_the_object_at_the_end_says_all() {
	run in_repo run --json -- sh -c 'echo err >&2; echo x >new; kill -9 $$'
	assert_status 137
	assert_eq 137 "$(json "$(last_json)" .exit_status)"
	assert_eq 9 "$(json "$(last_json)" .signal)"
	assert_eq 1 "$(json "$(last_json)" .changes.added)"
	assert_match "$(json "$(last_json)" .id)" '^[0-9a-f]{12}$'
	assert_match "$(json "$(last_json)" '[.stages[].name] | join(" ")')" 'session .*clone .*go command'
	assert_eq true "$(json "$(last_json)" '.wall_ms > 0 and .cpu_ms >= 0 and .peak_memory_bytes > 0')"
	assert_eq null "$(json "$(last_json)" .error)"
}

test_the_object_goes_where_it_is_wanted() {
	in_repo run --json-fd 3 -- true 3>object 2>said
	assert_eq 0 "$(json "$(cat object)" .exit_status)"
	assert_not_contains "$(cat said)" exit_status
}

test_the_environment_starts_empty() {
	LEAK=hush run in_repo run -- env
	assert_status 0
	assert_not_contains "$out" hush
	assert_match "$out" $'(^|\n)HOME=/home/openhands'
	assert_match "$out" $'(^|\n)PATH='
	printf 'FROM_FILE=a b\nTOKEN\n' >vars
	TOKEN=s3cret run in_repo run --env TOKEN --env SET=1 --env-file "$PWD/vars" -- sh -c 'echo "$TOKEN $SET $FROM_FILE"'
	assert_eq "s3cret 1 a b" "$out"
}

test_uncommitted_changes_are_left_out_and_it_says_so() {
	as_me cp -a "$BASE/work/repo" dirty
	as_me sh -c 'echo changed >dirty/README; echo new >dirty/untracked'
	cd dirty
	run ohs run -- cat README
	assert_eq $'hello\nmore' "$out"
	assert_contains "$err" "--dirty"
	run ohs run --dirty -- cat README untracked
	assert_eq $'changed\nnew' "$out"
}

test_a_plain_directory_is_copied_on_write() {
	as_me sh -c 'mkdir -p plain/sub; echo one >plain/file'
	run ohs run --dir plain -- sh -c 'cat file; echo two >file; echo x >sub/y; cat file'
	assert_status 0
	assert_eq $'one\ntwo' "$out"
	assert_eq one "$(cat plain/file)"
	assert_no_file plain/sub/y
	assert_contains "$err" "1 file added, 1 changed, 0 deleted"
}

test_verbose_shows_each_stage() {
	run ohs run --empty --verbose -- true
	assert_status 0
	assert_match "$err" 'clone +[0-9.]+ ms'
	assert_match "$err" 'all +[0-9.]+ ms'
}

test_kept_layers_can_be_shown_and_go_with_stop() {
	local id

	run in_repo run --keep --json -- sh -c 'echo x >new'
	assert_status 0
	id=$(json "$(last_json)" .id)
	assert_contains "$err" "kept: ohsandbox diff $id"
	run ohs list
	assert_contains "$out" "$id kept"
	run ohs diff "$id"
	assert_status 0
	assert_contains "$out" "A new"
	run ohs show "$id"
	assert_eq kept "$(json "$out" .state)"
	run ohs stop "${id:0:6}"
	assert_status 0
	run ohs list --json
	assert_eq "[]" "$out"
}

# The summary and `diff` must tell the same: a directory renamed is one kind of change to both.
test_summary_counts_a_copied_directory() {
	make_repo "$T/repo"
	run ohs run --repo "$T/repo" -- sh -c 'mkdir new && cp -r src new/ && rm -r src && echo x >>README'
	assert_status 0
	assert_contains "$err" "1 file added, 1 changed, 1 deleted"
}

# Elsewhere the rename of a lower directory is a copy.
test_summary_counts_a_redirected_directory() {
	need root
	make_repo "$T/repo"
	run ohs run --repo "$T/repo" -- sh -c 'mv src moved && echo x >>README'
	assert_status 0
	assert_contains "$err" "1 file added, 1 changed, 1 deleted"
}

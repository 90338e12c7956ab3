#!/bin/bash
# SPDX-License-Identifier: MIT
# What goes in and out of a command: relayed, byte by byte, and no descriptor of the caller's.

quiet() { ohs run --empty --quiet "$@"; }

# Flags of an open file, as the kernel has them.
flags_of() { sed -n 's/^flags:[[:space:]]*//p' "/proc/self/fdinfo/$1"; }

test_bytes_pass_unchanged() {
	head -c 3000000 /dev/urandom >random
	quiet -- cat <random >copy
	cmp random copy
	cat random | quiet -- cat | cmp random -
	quiet -- sh -c 'printf "a\000b\377"' | od -An -tx1 | grep -q ' 61 00 62 ff'
}

test_output_and_errors_are_two_streams() {
	quiet -- sh -c 'echo out; echo err >&2' >out 2>err
	assert_eq out "$(cat out)"
	assert_eq err "$(cat err)"
}

test_output_is_appended_to_a_log() {
	echo first >log
	quiet -- echo second >>log
	assert_eq $'first\nsecond' "$(cat log)"
}

test_what_is_written_arrives_at_once() {
	coproc quiet -- sh -c 'echo ready; read -r line; echo "got $line"'
	read -r -t $((20 * OHS_SLOW)) line <&"${COPROC[0]}"
	assert_eq ready "$line"
	echo word >&"${COPROC[1]}"
	read -r -t $((20 * OHS_SLOW)) line <&"${COPROC[0]}"
	assert_eq "got word" "$line"
	wait "$COPROC_PID"
}

test_a_reader_that_goes_ends_the_writer() {
	local status

	set +e
	as_me timeout $((20 * OHS_SLOW)) bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- yes | head -n 1" >one
	status=$?
	set -e
	assert_eq 0 "$status"
	assert_eq y "$(cat one)"
	set +e -o pipefail
	quiet -- yes | true
	status=$?
	set -e +o pipefail
	assert_eq 141 "$status"
}

test_closed_streams_do_no_harm() {
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- true >&-"
	assert_status 0
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- true <&- >&- 2>&-"
	assert_status 0
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- cat <&-"
	assert_status 0
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- sh -c 'echo x; exit 0' >&-"
	[ "$status" -ne 0 ] || fail "output went nowhere and nobody said so"
}

test_a_full_disk_is_told() {
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- echo hi >/dev/full"
	assert_status 125
	assert_contains "$err" "standard output: write: No space left on device"
}

test_a_directory_is_refused() {
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -- true </"
	assert_status 125
	assert_contains "$err" "standard input is a directory"
}

test_the_callers_flags_are_the_same_afterwards() {
	local before after

	exec 7< <(echo x) 8>out
	before="$(flags_of 7) $(flags_of 8)"
	quiet -- cat <&7 >&8
	after="$(flags_of 7) $(flags_of 8)"
	exec 7<&- 8>&-
	assert_eq "$before" "$after"
}

test_none_of_the_callers_descriptors_is_inside() {
	exec 9</etc 8>here
	run ohs run --empty -q -- ls -l /proc/self/fd
	exec 9<&- 8>&-
	assert_status 0
	assert_not_contains "$out" /etc
	assert_not_contains "$out" here
	# Only 0, 1, 2 and the directory that ls reads.
	assert_eq 4 "$(printf '%s\n' "$out" | grep -c -- '->')"
	run as_me bash -c "'$STAGE/bin/ohsandbox' run --empty -q -- readlink /proc/self/fd/0 </etc/hostname"
	assert_match "$out" '^pipe:'
}

test_the_command_may_open_its_streams_again() {
	run ohs run --empty -q -- sh -c 'echo out >/dev/stdout; echo err >/dev/stderr'
	assert_status 0
	assert_eq out "$out"
	assert_eq err "$err"
}

test_processes_left_in_the_background_do_not_hold_us() {
	run as_me timeout $((20 * OHS_SLOW)) "$STAGE/bin/ohsandbox" run --empty -q -- sh -c 'sleep 1000 & echo done'
	assert_status 0
	assert_eq done "$out"
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# A host that lacks something, or a container that forbids it: system calls one by one, user namespaces,
# overlay, id ranges, room on the disk. Either the session works, or one line says what is missing, with the
# status for that; and nothing is left.

file_setup() {
	make_repo "$BASE/work/repo"
	cd "$BASE/work/repo" || return 1
	ohs run --quiet -- true # the base is laid, so that what is refused is the session's
}

# without CALL ERRNO ARGS...: ohsandbox, under a filter that answers so.
without() {
	local call=$1 error=$2 me=()

	shift 2
	[ "$OHS_AS" = root ] || me=(env HOME="$BASE/home" USER=ohstest LOGNAME=ohstest
		setpriv --reuid "$TEST_UID" --regid "$TEST_UID" --clear-groups --inh-caps=-all)
	run "$STAGE/bin/without" "$call" "$error" "${me[@]}" "$STAGE/bin/ohsandbox" "$@"
}

works_or_says() { # WHAT
	case $status in
	0) assert_eq works "$out" "output $1" ;;
	125)
		assert_eq "" "$out" "output $1"
		assert_eq 1 "$(grep -c . <<<"$err")" "lines $1: $err"
		assert_match "$err" "^ohsandbox: .*(ohsandbox doctor|run ohsandbox outside)"
		;;
	*) fail "status $status $1: $err" ;;
	esac
}

CALLS='clone3 openat2 pidfd_open pidfd_send_signal mount_setattr fsopen fsconfig fsmount open_tree move_mount close_range
	faccessat2 execveat memfd_create renameat2 signalfd4 seccomp epoll_create1 umount2 pivot_root sethostname keyctl
	statx personality unshare setns'

test_without_any_one_of_the_newer_calls_it_works_or_says_so() {
	is_root || skip "needs root to lay a filter around set-user-ID programs"
	for call in $CALLS; do
		without "$call" ENOSYS run --quiet --repo "$BASE/work/repo" -- echo works
		works_or_says "without $call"
	done
	# The filter was really there.
	without openat2 ENOSYS run --quiet --repo "$BASE/work/repo" -- echo works
	assert_status 125
	without faccessat2 ENOSYS run --quiet --repo "$BASE/work/repo" -- echo works
	assert_status 0
}

test_a_container_that_forbids_mounts_or_namespaces_is_named() {
	is_root || skip "needs root to lay a filter around set-user-ID programs"
	for call in clone,clone3 mount,fsopen,open_tree,move_mount,mount_setattr unshare,setns pivot_root; do
		without "$call" EPERM run --quiet --repo "$BASE/work/repo" -- echo works
		[ "$call" = clone,clone3 ] || works_or_says "where $call is forbidden"
		[ "$status" -ne 0 ] || fail "$call: nothing noticed"
		without "$call" EPERM run --quiet --json --repo "$BASE/work/repo" -- echo works
		assert_eq 125 "$(json "$(grep '^{' <<<"$err")" .exit_status)"
	done
}

test_a_start_that_finds_a_call_missing_leaves_nothing() {
	is_root || skip "needs root to lay a filter around set-user-ID programs"
	for call in move_mount pivot_root seccomp; do
		without "$call" ENOSYS start --quiet --repo "$BASE/work/repo"
		assert_status 1
		assert_match "$err" 'ohsandbox doctor'
	done
	assert_eq '[]' "$(ohs list --json | command jq -c .)"
}

# What the setting looks like; the machine's own stays as it is.
test_switched_off_user_namespaces_are_said() {
	need user
	is_root || skip "needs root to show another setting"
	echo 0 >"$T/zero"
	mount --bind "$T/zero" /proc/sys/user/max_user_namespaces
	trap 'umount /proc/sys/user/max_user_namespaces' EXIT
	run ohs run --repo "$BASE/work/repo" -- true
	assert_status 125
	assert_eq "ohsandbox: user namespaces are switched off on this host: 'ohsandbox doctor' names the setting and the cure" "$err"
	run ohs doctor
	assert_contains "$out" "sysctl -w user.max_user_namespaces="
}

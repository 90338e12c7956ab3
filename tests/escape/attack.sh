# SPDX-License-Identifier: MIT
# attack.sh - what the files of tests/escape are written with, besides tests/live/lib.sh.
#
# A row is an attack of the catalogue. It is tried by the workload's user and by the session's
# root; the oracle is on the host. Each has a negative control: the same step where the wall is
# missing must succeed, else the test proves nothing.
#
#   attack USER PROBE...     run the probe in a session as USER; $status is 0 when it succeeded
#   refused PROBE...         both users must be refused
#   control COMMAND...       must succeed: the step works where the wall is missing
#   probe ARGS...            the probe on the host, as the identity
#   server_pid               the number that the executor's server has inside
#   both_users COMMAND...    run it with $U set to openhands, then root

P=$BASE/probe

# Pid of the executor's server inside: where the session's user namespace is made by a process
# inside, that one had 2.
server_pid() { [ "$OHS_AS" = root ] && echo 2 || echo 3; }

escape_setup() {
	mkdir -p "$P"
	cp "$OHS_BUILD/tests/escape/probe" "$P/probe"
	chmod -R a+rX "$P"
	make_repo "$BASE/work/repo"
}

probe() { as_me "$P/probe" "$@"; }

session() { # USER COMMAND...
	local user=$1
	shift
	run ohs run --quiet --repo "$BASE/work/repo" --user "$user" --mount "$P:/probe:ro" ${SESSION_OPTIONS:-} -- "$@"
}

attack() {
	local user=$1
	shift
	session "$user" /probe/probe "$@"
	case $status in
	0 | 1) ;;
	*) fail "probe '$*' as $user could not be tried: status $status, '$out' '$err'" ;;
	esac
}

both_users() {
	for U in openhands root; do
		"$@"
	done
}

refused() {
	local user

	for user in openhands root; do
		attack "$user" "$@"
		[ "$status" -eq 1 ] || fail "as $user the probe '$*' succeeded: $out"
	done
}

control() {
	run "$@"
	[ "$status" -eq 0 ] || fail "the negative control '$*' failed (status $status): the test proves nothing: $out $err"
}

# SPDX-License-Identifier: MIT
# 20_core_dumps.sh - a crash inside never starts the host's core_pattern handler, which the kernel
# runs as the host's root. The pattern is the whole machine's: only in a machine of our own.
# deadline: 120
# shellcheck shell=bash
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	[ -n "${OHS_IN_VM:-}" ] || skip "needs a machine of its own"
	escape_setup
	printf '#!/bin/sh\necho "$1" >>"%s"\ncat >/dev/null\n' "$BASE/cores" >"$BASE/handler"
	chmod 755 "$BASE/handler"
	cat /proc/sys/kernel/core_pattern >"$BASE/pattern"
	# With a limit the kernel waits for the handler's end before it lets the process go.
	echo 4 >/proc/sys/kernel/core_pipe_limit
	echo "|$BASE/handler %s" >/proc/sys/kernel/core_pattern
}

file_teardown() {
	[ ! -s "$BASE/pattern" ] || cat "$BASE/pattern" >/proc/sys/kernel/core_pattern
	echo 0 >/proc/sys/kernel/core_pipe_limit
}

handled() { # WANT: signals that the handler was told since the last time
	assert_eq "$1" "$(cat "$BASE/cores" 2>/dev/null | tr '\n' ' ')" "crashes that the handler was told of"
	rm -f "$BASE/cores"
}

test_a_crash_outside_starts_the_handler() {
	run as_me sh -c 'kill -SEGV $$'
	assert_status 139
	handled '11 '
	run as_me prlimit --core=0 sh -c 'kill -ABRT $$'
	handled '6 '
	# A limit of 1 is what keeps it from being started; going below is the attack.
	run as_me prlimit --core=1 sh -c 'kill -SEGV $$'
	assert_status 139
	handled ''
	run as_me prlimit --core=1 prlimit --core=0 sh -c 'kill -SEGV $$'
	handled '11 '
}

test_a_crash_inside_does_not() {
	for U in openhands root; do
		session "$U" sh -c 'for s in SEGV ABRT QUIT BUS SYS; do sh -c "kill -$s \$\$"; echo $?; done 2>/dev/null; kill -SEGV $$'
		assert_status 139
		assert_eq '139 134 131 135 159' "$(echo $out)" "statuses of what crashed"
		handled ''
	done
}

test_nor_does_one_that_first_lowered_its_limit() {
	for U in openhands root; do
		session "$U" bash -c 'ulimit -Sc 0; ulimit -c 0; prlimit --core=0 --pid $$; prlimit --core=0:0 true
			grep -q "^Max core file size  *1  *1 " /proc/self/limits || echo lowered
			kill -SEGV $$'
		assert_status 139
		assert_eq '' "$out" "what became of the limit"
		handled ''
	done
}

test_nor_does_one_in_a_session_that_stays() {
	local id
	id=$(ohs start --repo "$BASE/work/repo" | jq -r .id)
	run ohs act "$id" run 'ulimit -c 0 2>/dev/null; sh -c "kill -SEGV \$\$"; echo "status $?"'
	ohs stop "$id" >/dev/null
	assert_contains "$out" 'status 139'
	handled ''
}

# SPDX-License-Identifier: MIT
# 30_kernel.sh - Debian's kernel and its file systems: what it cannot idmap is read-only inside, and
# said; what it can is the session's.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	[ -n "${OHS_IN_VM:-}" ] || skip "needs a machine of its own"
	escape_setup
}

test_host_directories_that_cannot_be_idmapped_are_read_only() {
	need root
	assert_eq overlayfs "$(stat -f -c %T /usr)" "file system of the host's /usr"
	session root sh -c 'echo x >/usr/made'
	assert_contains "$err" 'Read-only file system'
	session root sh -c 'for d in /usr/local /opt /etc /var/lib /root; do echo x >$d/made && cat $d/made; done'
	assert_eq 'x x x x x' "$(echo $out)" "what is written elsewhere ($err)"
	run ohs doctor
	assert_contains "$out" 'no package can be installed'
}

test_the_workspace_is_idmapped_where_it_can_be() {
	need root
	assert_eq ext2/ext3 "$(stat -f -c %T "$OHS_STATE_DIR")" "file system of the state directory"
	for U in openhands root; do
		session "$U" sh -c 'stat -c %u README; echo x >>README; git mv src lib && git status --porcelain'
		assert_status 0
		assert_match "$out" "^$([ $U = root ] && echo '(0|1000)' || echo 1000)"
		assert_contains "$out" 'R  src/main.c -> lib/main.c'
	done
}

# Deltas over a base: several layers, which this kernel takes as one text of 255 bytes.
test_a_workspace_of_several_layers_is_mounted() {
	local n
	as_me bash -ec 'mkdir "$0"; cd "$0"; git init -q -b main; for n in {1..50}; do echo $n >"many$n"; done
		for n in 1 2 3; do echo $n >"f$n"; echo $n >last; git add -A; git commit -qm $n; done' "$T/repo"
	for n in 2 1 0; do
		run ohs run --quiet --repo "$T/repo" --rev "HEAD~$n" -- sh -c 'cat last; git status --short; grep " /workspace " /proc/mounts'
		assert_status 0
		assert_match "$out" "^$((3 - n))"$'\n[a-z]+ /workspace overlay'
	done
	assert_match "$out" 'lowerdir=[^,]*:[^,]*:[^,]*:'
}

test_the_doctor_finds_nothing_that_forbids_a_session() {
	run ohs doctor --json
	assert_status 0
}

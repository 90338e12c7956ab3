# SPDX-License-Identifier: MIT
# Rows about a tree that was named as the root, made by somebody hostile: its links, its users, its
# devices and its set-id programs.
# shellcheck shell=bash
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	need cmd busybox
	escape_setup
	# What only the identity may read on the host, and what a session must never say or change.
	as_me sh -c "umask 077; mkdir '$BASE/work/host'; echo ohs-canary >'$BASE/work/host/secret'"
	as_me chmod 755 "$BASE/work/host"
	as_me cp "$(command -v busybox)" "$BASE/work/host/tool"
}

HOST=$BASE/work/host

tree() { # SCRIPT: a tree of busybox in $T/tree; the script stands in it, $H is the host's directory
	as_me mkdir -p "$T/tree/bin"
	as_me cp "$(command -v busybox)" "$T/tree/bin/busybox"
	as_me ln -s busybox "$T/tree/bin/sh"
	as_me env H="$HOST" bash -ec 'cd "$1"; eval "$2"' - "$T/tree" "$1"
}

in_tree() { # USER COMMAND...
	run ohs run --quiet --empty --user "$1" --rootfs "$T/tree" -- "${@:2}"
}

host_state() { (cd "$HOST" && find . -printf '%p %y %m %U %T@\n' | sort && cat secret); }

links_lead_nowhere() {
	in_tree "$U" sh -c '
		busybox cat /etc/passwd /etc/group ~/.bashrc ~/.profile /abs /rel /rel2/secret /magic /home/*/secret
		for place in /etc/passwd ~/x /abs /dir/new /rel2/new /usr/local/bin/new; do echo broken >$place; done
		busybox ls -lR /home /usr/local /dir/ 2>&1' 2>&1
	assert_not_contains "$out$err" ohs-canary
	assert_not_contains "$out$err" broken
}

test_links_of_a_tree_lead_to_nothing_of_the_host() {
	local before

	tree '
		mkdir -p etc/skel usr
		ln -s "$H/secret" etc/passwd; ln -s "$H/secret" etc/group; ln -s "$H/secret" abs
		ln -s "$H" home; ln -s "$H" usr/local; ln -s "$H" workspace; ln -s "$H" tmp; ln -s "$H" run; ln -s "$H" dir
		up=../../../../../../../../../../../..; ln -s "$up$H/secret" rel; ln -s "$up$H" rel2
		ln -s "$up$H/secret" etc/skel/.bashrc; ln -s "/proc/self/root$H/secret" etc/skel/.profile
		ln -s "/proc/1/root$H/secret" magic; ln -s "$H" proc; ln -s "$H" dev; ln -s "$H" sys'
	before=$(host_state)
	for link in etc/passwd abs rel etc/skel/.bashrc; do
		control as_me grep -q ohs-canary "$T/tree/$link"
	done
	both_users links_lead_nowhere
	in_tree openhands sh -c 'busybox id -un'
	assert_eq openhands "$out"
	assert_eq "$before" "$(host_state)" "the host's directory"
}

# Each must be answered before it could be waited for, and none may do more than lack its users.
test_users_of_a_hostile_tree_hold_nobody_up() {
	local kind start=$SECONDS

	for kind in 'mkfifo etc/passwd etc/group' 'mkdir etc/passwd etc/group' 'ln -s passwd etc/passwd' \
		'ln -s /dev/stdin etc/passwd' 'head -c 900000 /dev/urandom >etc/passwd' \
		'head -c 1000000 /dev/zero | tr "\0" ":" >etc/passwd' 'yes "a:x:1:1::/:/" | head -c 1000000 >etc/passwd' \
		'ln -s etc2 e1; for i in $(seq 60); do ln -s e$i e$((i + 1)); done; rmdir etc; ln -s e61 etc' \
		'd=etc; for i in $(seq 200); do d=$d/$(printf %0200d 0); mkdir $d 2>/dev/null || break; cd $d; d=.; done'; do
		rm -rf "$T/tree"
		tree "mkdir etc; $kind"
		in_tree openhands sh -c 'busybox id -un; busybox id -u'
		assert_status 0
		assert_eq $'openhands\n1000' "$out" "$kind"
	done
	rm -rf "$T/tree"
	tree 'mkdir etc; truncate -s 100G etc/passwd'
	in_tree openhands sh -c true
	assert_status 125
	assert_contains "$err" "'/etc/passwd' of the tree"
	[ $((SECONDS - start)) -lt $((60 * OHS_SLOW)) ] || fail "took $((SECONDS - start)) s"
}

test_devices_of_a_tree_are_inert() {
	need root
	tree 'mkdir etc; mknod -m 666 etc/passwd c 1 5; mknod -m 666 zero c 1 5; mknod -m 666 disk b 7 0'
	control busybox dd if="$T/tree/zero" of=/dev/null bs=1 count=1
	for U in openhands root; do
		in_tree "$U" busybox dd if=/zero of=/dev/null bs=1 count=1
		assert_status 1
		assert_contains "$err" "Permission denied"
		in_tree "$U" busybox dd if=/disk of=/dev/null bs=1 count=1
		assert_status 1
		in_tree "$U" sh -c 'busybox grep -c openhands /etc/passwd'
		assert_eq 1 "$out"
	done
}

test_set_id_programs_of_a_tree_give_nothing() {
	need root
	tree 'umask 077; echo hush >only-root'
	cp "$P/probe" "$T/tree/bin/probe"
	chmod 6755 "$T/tree/bin/probe"
	chmod 755 "$T/tree"
	control as_user "$T/tree/bin/probe" open "$T/tree/only-root"
	in_tree openhands probe open /only-root
	assert_status 1
	in_tree root probe open /only-root
	assert_status 0
	assert_eq "6755 0" "$(stat -c '%a %u' "$T/tree/bin/probe")"
}

test_what_is_mounted_in_a_tree_is_not_part_of_it() {
	need root
	tree 'mkdir etc mnt'
	mount --bind "$HOST" "$T/tree/mnt"
	mount --bind "$HOST" "$T/tree/etc"
	control grep -q ohs-canary "$T/tree/mnt/secret"
	for U in openhands root; do
		in_tree "$U" sh -c 'busybox ls /mnt /etc; busybox cat /mnt/secret /etc/secret'
		assert_not_contains "$out" secret
		assert_not_contains "$out" ohs-canary
	done
	umount "$T/tree/mnt" "$T/tree/etc"
}

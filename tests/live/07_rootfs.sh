# SPDX-License-Identifier: MIT
# A directory that is "/" inside: trees of several kinds, what a session puts on top of them, and what
# is refused. The trees belong to the identity that uses them.

file_setup() {
	# Its executor is a dynamic program, and these trees have no libraries.
	[ -z "${OHS_SANITIZED:-}" ] || skip "is about real programs, not about ours under a sanitizer"
	need cmd busybox
	as_me mkdir -p trees
	busybox_tree trees/busybox
}

TREES=$BASE/work/trees

# A user land of one static program, and nothing else: no /etc, no /usr, no /home.
busybox_tree() { # DIR
	as_me mkdir -p "$1/bin"
	as_me cp "$(command -v busybox)" "$1/bin/busybox"
	as_me bash -ec 'for name in $("$1/bin/busybox" --list); do
		[ "$name" = busybox ] || ln -s busybox "$1/bin/$name"; done' - "$1"
}

# The same as a distribution lays it out since usr was merged, with users and files of its own.
merged_tree() { # DIR
	busybox_tree "$1"
	as_me bash -ec '
		cd "$1"
		mkdir usr etc home etc/skel
		mv bin usr/bin; ln -s usr/bin bin; ln -s usr/bin sbin
		printf "root:x:0:0:Root of it:/root:/bin/ash\nnode:x:1000:1000::/home/node:/bin/sh\nwww:x:33:33::/var/www:/x\n" >etc/passwd
		printf "root:x:0:\nwww:x:33:\n" >etc/group
		printf "own\n" >etc/own.conf; printf "127.0.0.9 there\n" >etc/hosts
		ln -s ../run/systemd/resolve/stub-resolv.conf etc/resolv.conf
		printf "PS1=x\n" >etc/skel/.profile' - "$1"
}

in_tree() { # TREE COMMAND...
	run ohs run -q --empty --rootfs "$@"
}

last_json() { printf '%s\n' "${err##*$'\n'}"; }

test_programs_and_files_are_the_trees() {
	as_me touch "$T/only-on-the-host"
	in_tree "$TREES/busybox" -- sh -c 'ls /; ls /bin/bash /usr/bin/env /opt /lib /only-in-it; echo done'
	assert_status 0
	assert_contains "$out" done
	assert_not_contains "$out" lib
	assert_contains "$err" /bin/bash
	assert_contains "$err" /opt
}

test_what_a_session_needs_is_there_in_a_tree_that_has_nothing() {
	in_tree "$TREES/busybox" -- sh -c '
		id -un; id -u; id -g; echo ~ $HOME $SHELL $PATH; pwd; hostname; cat /etc/hostname /etc/hosts
		touch ~/x /tmp/x /workspace/x /var/tmp/x && echo written
		grep -c . /etc/resolv.conf >/dev/null && test -d /run/ohsandbox && test -r /proc/self/status && test -c /dev/null && echo all'
	assert_status 0
	assert_match "$out" '^openhands
1000
0
/home/openhands /home/openhands /bin/sh /home/openhands/.local/bin:/usr/local/sbin:/usr/local/bin:.*
/workspace
ohsandbox
ohsandbox
127.0.0.1.localhost ohsandbox
written
all$'
}

test_users_and_configuration_of_the_tree_stay() {
	merged_tree "$T/tree"
	in_tree "$T/tree" -- sh -c 'cat /etc/passwd; echo --; cat /etc/group; echo --; cat /etc/own.conf /etc/hosts; cat ~/.profile; id -un'
	assert_status 0
	assert_eq 'root:x:0:0:Root of it:/root:/bin/ash
openhands:*:1000:0::/home/openhands:/bin/sh
node:x:1000:1000::/home/node:/bin/sh
www:x:33:33::/var/www:/x
nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin
--
root:x:0:
www:x:33:
nogroup:*:65534:
--
own
127.0.0.1	localhost ohsandbox
PS1=x
openhands' "$out"
	assert_eq "127.0.0.9 there" "$(cat "$T/tree/etc/hosts")"
}

test_changes_stay_in_the_session() {
	local before

	merged_tree "$T/tree"
	as_me chmod 666 "$T/tree/etc/own.conf"
	before=$(cd "$T/tree" && find . -printf '%p %y %m %U %T@ %l\n' | sort | sha256sum)
	in_tree "$T/tree" -- sh -c 'echo more >>/etc/own.conf; cat /etc/own.conf; mkdir ~/d; rm -f /etc/hosts; echo x >/tmp/y'
	assert_contains "$out" more
	assert_eq "$before" "$(cd "$T/tree" && find . -printf '%p %y %m %U %T@ %l\n' | sort | sha256sum)" "the tree"
}

test_root_inside_owns_the_tree_of_root() {
	need root
	merged_tree "$T/tree"
	echo hush >"$T/tree/etc/shadow"
	chmod 600 "$T/tree/etc/shadow"
	in_tree "$T/tree" --user root -- sh -c 'cat /etc/shadow; echo new >/etc/shadow; cat /etc/shadow; stat -c %u:%g /etc/shadow /bin/busybox /; rm /usr/bin/vi; ls /bin/vi'
	assert_eq $'hush\nnew\n0:0\n0:0\n0:0' "$out"
	assert_eq hush "$(cat "$T/tree/etc/shadow")"
	in_tree "$T/tree" -- sh -c 'cat /etc/shadow'
	assert_status 1
	in_tree "$T/tree" -- sh -c 'sudo cat /etc/shadow; sudo id -u'
	assert_eq $'hush\n0' "$out"
}

test_owners_of_a_tree_of_root_are_those_of_the_session() {
	need root
	merged_tree "$T/tree"
	mkdir -p "$T/tree/home/node" "$T/tree/home/openhands"
	echo mine >"$T/tree/home/openhands/mine"
	chown -R 1000:1000 "$T/tree/home/node" "$T/tree/home/openhands"
	chmod 700 "$T/tree/home/node"
	in_tree "$T/tree" -- sh -c 'stat -c %u:%g /home/node ~ ~/mine; stat -c %a /home/node; touch /home/node/x ~/x; cat ~/mine; ls -A ~'
	assert_status 0
	assert_eq $'1000:1000\n1000:0\n1000:1000\n700\nmine\nmine\nx' "$out"
	assert_no_file "$T/tree/home/openhands/x"
}

test_a_tree_of_another_user_gives_root_inside_no_more_than_everybody() {
	need root
	merged_tree "$T/tree"
	echo hush >"$T/tree/secret"
	chmod 600 "$T/tree/secret"
	chown "$TEST_UID" "$T/tree" "$T/tree/etc"
	run ohs run --empty --user root --rootfs "$T/tree" -- sh -c 'cat /etc/own.conf; cat /secret'
	assert_status 1
	assert_eq own "$out"
	assert_contains "$err" "can be read and not changed"
}

test_an_ordinary_user_reads_a_tree_of_roots() {
	need user
	is_root || skip "needs root to make the tree"
	as_root mkdir -p "$BASE/of-root/etc" "$BASE/of-root/bin"
	as_root cp "$(command -v busybox)" "$BASE/of-root/bin/sh"
	echo hush | as_root tee "$BASE/of-root/etc/shadow" >/dev/null
	as_root chmod 600 "$BASE/of-root/etc/shadow"
	run ohs run --empty --rootfs "$BASE/of-root" -- /bin/sh -c 'id -un; cat /etc/shadow; echo x >/bin/x; echo y >~/y && echo home'
	assert_status 0
	assert_eq $'openhands\nhome' "$out"
	assert_contains "$err" "can be read and not changed"
	assert_contains "$err" "can't create /bin/x"
	as_root rm -r "$BASE/of-root"
}

test_a_program_runs_where_there_is_no_shell() {
	as_me mkdir -p "$T/tree"
	as_me cp "$(command -v busybox)" "$T/tree/echo"
	in_tree "$T/tree" -- /echo hello
	assert_status 0
	assert_eq hello "$out"
	in_tree "$T/tree" -- make
	assert_status 127
	assert_contains "$err" "'make' is not in '$T/tree'"
}

test_an_action_that_needs_bash_says_that_there_is_none() {
	local id

	run ohs start --empty --rootfs "$TREES/busybox"
	assert_status 0
	id=$(json "$out" .id)
	run ohs act --text "$id" run 'echo hi'
	assert_contains "$out" "commands are run by bash, and this session's root file system has none"
	run ohs act --text "$id" read /etc/passwd
	assert_contains "$out" openhands
	ohs stop "$id"
}

test_actions_run_in_a_tree_that_has_bash() {
	local id program library

	as_me mkdir -p "$T/tree/bin"
	for program in bash cat; do
		as_me cp "$(command -v $program)" "$T/tree/bin/"
		for library in $(ldd "$(command -v $program)" | grep -o '/[^ ]*'); do
			as_me mkdir -p "$T/tree${library%/*}"
			as_me cp -n "$(realpath "$library")" "$T/tree$library"
		done
	done
	run ohs start --empty --rootfs "$T/tree"
	assert_status 0
	id=$(json "$out" .id)
	run ohs act --text "$id" run 'echo "$BASH_VERSION" >v; cat v; echo $SHELL; pwd'
	assert_contains "$out" "$BASH_VERSION"
	assert_contains "$out" $'/bin/bash\n/workspace'
	ohs stop "$id"
}

test_the_record_and_the_plan_name_it() {
	local id

	as_me ln -s "$TREES/busybox" "$T/link"
	run ohs start --empty --rootfs "$T/link"
	assert_status 0
	id=$(json "$out" .id)
	run ohs show "$id"
	assert_eq "$TREES/busybox" "$(json "$out" '.layers_root[1]')"
	assert_match "$(json "$out" '.layers_root[0]')" '^cache/root-[0-9a-f]{32}$'
	ohs stop "$id"
	run ohs run --dry-run --empty --rootfs "$T/link" -- true
	assert_eq "$TREES/busybox" "$(json "$out" .rootfs)"
	assert_eq "$TREES/busybox" "$(json "$out" '.mounts[0].source')"
	assert_eq 0 "$(json "$out" '[.mounts[] | select(.source == "/usr")] | length')"
	run ohs run --dry-run --empty -- true
	assert_eq null "$(json "$out" .rootfs)"
}

test_a_paused_session_comes_back_on_its_tree() {
	local id

	as_me cp -r "$TREES/busybox" "$T/tree"
	run ohs start --empty --rootfs "$T/tree"
	assert_status 0
	id=$(json "$out" .id)
	as_me sh -c 'echo written | "$@"' - "$STAGE/bin/ohsandbox" act "$id" write /home/openhands/file >/dev/null
	ohs pause --to-disk "$id"
	as_me sh -c 'echo later >"$1/later"' - "$T/tree"
	ohs resume "$id" >/dev/null
	run ohs act --text "$id" read /home/openhands/file
	assert_contains "$out" written
	run ohs act --text "$id" read /later
	assert_contains "$out" later
	run ohs show "$id"
	assert_eq "$T/tree" "$(json "$out" '.layers_root[1]')"
	ohs stop "$id"
}

test_a_tree_that_is_roots_no_longer_is_not_read_with_roots_eyes() {
	need root
	local id

	cp -r "$TREES/busybox" "$T/tree"
	run ohs start --empty --rootfs "$T/tree"
	assert_status 0
	id=$(json "$out" .id)
	ohs pause --to-disk "$id"
	chown "$TEST_UID" "$T/tree"
	run ohs resume "$id"
	assert_status 1
	assert_contains "$err" "'$T/tree' is no longer root's"
	chown 0 "$T/tree"
	run ohs resume "$id"
	assert_status 0
	ohs stop "$id"
}

test_the_layer_on_top_is_made_once_and_anew_when_the_tree_changes() {
	local first

	export OHS_STATE_DIR=$T/state
	merged_tree "$T/tree"
	in_tree "$T/tree" -- true
	first=$(as_me ls "$T/state/cache" | grep '^root-.*[0-9a-f]$')
	in_tree "$T/tree" -- true
	assert_eq "$first" "$(as_me ls "$T/state/cache" | grep '^root-.*[0-9a-f]$')" "layers"
	as_me bash -c 'echo "late:x:77:77::/:/x" >>"$1/etc/passwd"' - "$T/tree"
	in_tree "$T/tree" -- grep late /etc/passwd
	assert_status 0
	as_me mv "$T/tree/etc" "$T/tree/private"
	as_me ln -s private "$T/tree/etc"
	in_tree "$T/tree" -- sh -c 'ls -l /etc; cat /private/own.conf; grep late /etc/passwd; id -un'
	assert_contains "$out" "/etc -> private"
	assert_contains "$out" $'own\nlate:x:77:77::/:/x\nopenhands'
	# What replaces it under its name is another one.
	as_me mv "$T/tree" "$T/old"
	busybox_tree "$T/tree"
	in_tree "$T/tree" -- sh -c 'cat /etc/passwd'
	assert_not_contains "$out" late
}

test_mounts_and_local_programs_work_in_it() {
	as_me mkdir "$T/data"
	as_me bash -c 'echo data >"$1/data/file"' - "$T"
	as_me cp -r "$TREES/busybox" "$T/tree"
	as_me mkdir -p "$T/tree/usr/local/bin"
	as_me bash -c 'printf "#!/bin/sh\necho local\n" >"$1"; chmod 755 "$1"' - "$T/tree/usr/local/bin/tool"
	run ohs run -q --empty --rootfs "$T/tree" --mount "$T/data:/data" --mount "$T/data:/srv/ro:ro" -- \
		sh -c 'cat /data/file /srv/ro/file; echo x >/data/new && echo wrote; echo x 2>/dev/null >/srv/ro/new || echo ro; tool'
	assert_eq $'data\ndata\nwrote\nro\nlocal' "$out"
	assert_no_file "$T/data/new"
	# A distribution of Go, as far as can be seen.
	as_me mkdir -p "$T/go-x/bin"
	as_me touch "$T/go-x/VERSION"
	as_me bash -c 'printf "#!/bin/sh\necho from the host\n" >"$1"; chmod 755 "$1"' - "$T/go-x/bin/gofmt"
	PATH=$T/go-x/bin:$PATH run ohs run -q --empty --rootfs "$T/tree" --toolchains -- gofmt
	assert_eq "from the host" "$out"
}

test_the_workspace_is_the_repository() {
	make_repo "$T/repo"
	run ohs run --repo "$T/repo" --rootfs "$TREES/busybox" -- sh -c 'cat README; echo new >README; echo x >y'
	assert_status 0
	assert_eq $'hello\nmore' "$out"
	assert_contains "$err" "1 file added, 1 changed"
}

test_a_package_is_installed_into_the_sessions_layer() {
	need root
	need cmd dpkg-deb
	local program library

	# A tree of the host's dpkg and what it calls.
	cp -r "$TREES/busybox" "$T/tree"
	mkdir -p "$T/tree/var/lib/dpkg/info" "$T/tree/var/lib/dpkg/updates" "$T/tree/sbin" "$T/tree/var/log" "$T/tree/etc"
	: >"$T/tree/var/lib/dpkg/status"
	for program in dpkg dpkg-deb dpkg-split rm tar; do
		rm -f "$T/tree/bin/$program"
		cp "$(command -v $program)" "$T/tree/bin/"
		for library in $(ldd "$(command -v $program)" | grep -o '/[^ ]*'); do
			mkdir -p "$T/tree${library%/*}"
			cp -n "$(realpath "$library")" "$T/tree$library"
		done
	done
	printf '#!/bin/sh\n' >"$T/tree/sbin/ldconfig"
	cp "$T/tree/sbin/ldconfig" "$T/tree/sbin/start-stop-daemon"
	chmod 755 "$T/tree/sbin/"*
	mkdir -p "$T/deb/DEBIAN" "$T/deb/usr/local/share" "$T/deb/opt/tiny" "$T/ws"
	printf 'Package: tiny\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.org>\nDescription: t\n' >"$T/deb/DEBIAN/control"
	printf '#!/bin/sh\nid -u >/opt/tiny/configured\n' >"$T/deb/DEBIAN/postinst"
	chmod 755 "$T/deb/DEBIAN/postinst"
	echo tiny >"$T/deb/opt/tiny/file"
	dpkg-deb --root-owner-group -b "$T/deb" "$T/ws/tiny.deb" >/dev/null
	run ohs run -q --dir "$T/ws" --user root --rootfs "$T/tree" -- \
		sh -c 'dpkg -i tiny.deb && cat /opt/tiny/file /opt/tiny/configured && dpkg -r tiny && ls /opt/tiny/file'
	assert_contains "$out" $'tiny\n0\n'
	assert_contains "$err" "/opt/tiny/file"
	assert_no_file "$T/tree/opt"
	assert_eq 0 "$(wc -c <"$T/tree/var/lib/dpkg/status")"
}

refused() { # DIR WORDS
	in_tree "$1" -- true
	assert_status 125
	assert_contains "$err" "$2"
	run ohs start --empty --rootfs "$1"
	assert_status 1
	assert_contains "$err" "$2"
}

test_what_may_not_be_a_root_is_refused_by_name() {
	export OHS_STATE_DIR=$T/around/state
	as_me mkdir -p around/inner shut
	as_me mkdir -m 700 around/state
	as_me touch file
	as_me ln -s / to-root
	refused "$T/none" "--rootfs $T/none: No such file or directory"
	refused "$T/file" "--rootfs $T/file: Not a directory"
	refused / "--rootfs / is refused: it is the host's own root"
	refused "$T/to-root" "--rootfs / is refused"
	refused /usr "--rootfs /usr is refused: /usr: /usr is a directory of the system"
	refused /etc "--rootfs /etc is refused"
	refused /proc/1 "--rootfs /proc/1 is refused"
	refused "$BASE/home" "is a home directory"
	refused "$T/around" "contains the state directory"
	refused "$T/around/state" "the state directory"
	if [ "$OHS_AS" != root ]; then
		as_me chmod 0 shut
		refused "$T/shut" "--rootfs $T/shut: Permission denied"
		as_me chmod 700 shut
	fi
	assert_eq "" "$(as_me ls -A around/state)" "state"
	run ohs run --empty --rootfs "$T/around/inner" --rootfs "$T" -- true
	assert_status 125
	assert_contains "$err" "given twice"
}

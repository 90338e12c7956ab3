# SPDX-License-Identifier: MIT
# 13_inside.sh - from clone to exec: what the executor finds, and what the session's users can do.
#
# inside_demo makes a struct inside by hand, inside_probe stands where the executor will.

file_setup() {
	install -m 755 "$OHS_BUILD/tests/live/inside_demo" "$BASE/demo"
	# As the executor's file: whoever runs it inside cannot read it.
	install -m 711 "$OHS_BUILD/tests/live/inside_probe" "$BASE/probe"
}

mode() { case $OHS_AS in root) echo root ;; user) echo subids ;; *) echo single ;; esac; }

demo() { # ARGS...
	as_me mkdir -p layers
	run as_me "$BASE/demo" "$(mode)" "$T/layers" "$BASE/probe" "$@"
}

says() { grep -qxF -- "$1" <<<"$out" || fail "no '$1' in: $out"; }
says_none() { ! grep -q -- "$1" <<<"$out" || fail "there is '$(grep -m 1 -- "$1" <<<"$out")'"; }

test_the_executor_finds_its_descriptors_and_no_other() {
	demo
	says "init fds 0 1 2 3 5"
	says "init argv ohsandbox-init pid 1"
	says "init hostname sandbox"
	says_none "environment"
	says end
}

test_init_can_do_nothing_around_the_session() {
	demo
	says "init NoNewPrivs:	1"
	says "init CapBnd:	0000000000000000"
	if [ "$OHS_AS" = single ]; then
		says "init CapPrm:	0000000000000000"
	else # to give its server an id of its own, and nothing else
		says "init CapPrm:	00000000000000c0"
		says "init setuid0 EPERM"
		says "init Groups:	 "
	fi
	says "init dumpable 0"
	says "init drops ok"
	says "init mount EPERM"
	says "init create /usr/init $(grep -qx "demo /usr mapped" <<<"$out" && echo EACCES || echo EROFS)"
}

test_init_puts_processes_into_the_session_without_a_capability() {
	demo
	says_none "setns"
	says "user Uid:	1000	1000	1000	1000"
	says "user Gid:	0	0	0	0"
	says "user CapPrm:	0000000000000000"
	[ "$OHS_AS" = single ] || says "root Uid:	0	0	0	0"
}

test_the_session_writes_where_it_may_and_owns_what_it_sees() {
	demo
	says "user create /workspace/user ok"
	says "user append /workspace/file ok"
	says "user owner /workspace/file 1000:$([ "$OHS_AS" = root ] && echo 1000 || echo 0) 644"
	says "user create /dev/made EROFS"
	says "user write /dev/null ok"
	says "user pty ok"
	if grep -qx "demo /usr mapped" <<<"$out"; then
		says "root create /usr/made ok"
		says "root owner /usr/bin 0:0 755"
	else
		says "root create /usr/made EROFS"
	fi
	# Without the trusted attributes a directory of the base cannot be renamed.
	[ "$OHS_AS" = root ] && says "root rename /workspace/dir ok" || says "user rename /workspace/dir EXDEV"
}

test_full_capabilities_inside_reach_nothing_around_it() {
	local who

	demo
	for who in root user; do
		says "$who mount EPERM"
		says "$who umount EPERM"
		says "$who remount EPERM"
		says "$who mknod EPERM"
		says "$who sethostname EPERM"
		says "$who setuid-init EINVAL"
		says "$who write /proc/sys/kernel/hostname EACCES"
		says "$who stat /proc/1 ENOENT"
		says "$who core 1 1"
		[ "$OHS_AS" = single ] || says "$who kill 1 EPERM"
	done
}

test_nothing_of_the_host_shows_but_what_was_planned() {
	demo
	assert_eq "/ /dev /dev/mqueue /dev/pts /dev/shm /proc /run /tmp /usr /workspace" \
		"$(sed -n 's/^mount //p' <<<"$out" | awk '{ print $5 }' |
			grep -v -e '^/proc/' -e '^/dev/\(null\|zero\|full\|random\|urandom\|tty\)$' | sort | paste -sd' ')"
	says_none "^cgroup .*[^/]$"
	says_none "^cgroup .*[^:]/$"
	says "user read /proc/kallsyms 0"
	says "user read /etc/shadow ENOENT"
	assert_not_contains "$(grep '^mount' <<<"$out")" "$T"
}

test_mounts_are_nosuid_and_nodev() {
	demo
	says_none '^mount [0-9 ]*[^ ]* [^ ]* [^ ]* \(r[wo]\),relatime'
	assert_eq "" "$(grep '^mount' <<<"$out" | grep -v nosuid)"
	assert_eq "" "$(grep '^mount' <<<"$out" | grep -v nodev | awk '$6 !~ "^/dev"')"
}

test_a_step_that_fails_names_itself_and_leaves_nothing() {
	demo fail /broken
	assert_status 1
	assert_eq "error 22 inside: mounts: mount '/broken': 0 layers for what takes one" "$(tail -n 1 <<<"$out")"
}

test_a_link_left_where_something_is_mounted_is_not_followed() {
	as_me mkdir -p layers/root.upper
	as_me ln -s /etc layers/root.upper/tmp
	demo
	assert_status 1
	assert_eq "error 40 inside: mounts: mount '/tmp': open '/tmp': Too many levels of symbolic links" "$(tail -n 1 <<<"$out")"
}

test_layers_left_marked_as_volatile_can_be_used_again() {
	demo
	assert_file layers/workspace.work/work/incompat/volatile
	demo
	says "user append /workspace/file ok"
	says end
}

test_what_the_session_wrote_has_its_ids_outside() {
	demo
	case $OHS_AS in
	root) assert_eq 2147419112:2147418112 "$(stat -c %u:%g layers/workspace.upper/user)" ;;
	*) assert_eq "$TEST_UID:$TEST_UID" "$(stat -c %u:%g layers/workspace.upper/user)" ;;
	esac
}

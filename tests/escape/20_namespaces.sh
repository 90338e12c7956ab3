# Rows of table 2: namespaces, capabilities, /proc, /sys, devices.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

test_no_new_user_namespace_by_unshare() {
	refused unshare-user
	control probe unshare-user
}

test_no_new_user_namespace_by_clone() {
	refused clone-user
	control probe clone-user
}

test_no_new_user_namespace_by_clone3_of_any_size() {
	refused clone3-user
	control probe clone3-user
}

test_threads_and_spawned_programs_work_while_clone3_is_refused() {
	for U in openhands root; do
		session "$U" python3 -c 'import threading, subprocess
t = threading.Thread(target=lambda: None); t.start(); t.join()
print(subprocess.run(["echo", "spawned"], capture_output=True, text=True).stdout.strip())'
		assert_status 0
		assert_eq spawned "$out"
	done
}

test_the_namespaces_of_pid_1_cannot_be_entered() {
	local ns
	for ns in user mnt net pid; do
		refused setns "/proc/1/ns/$ns"
	done
	control unshare -Ur "$P/probe" open /proc/self/status
}

test_nothing_can_be_mounted() {
	refused mount
	refused fsopen
	control unshare -Urm "$P/probe" mount
	control unshare -Urm "$P/probe" fsopen
}

# CVE-2022-0492: a cgroup hierarchy of one's own with a release agent.
test_no_cgroup_hierarchy_can_be_mounted() {
	refused mount-cgroup cgroup2
	refused mount-cgroup cgroup memory
	refused mount-cgroup cgroup none,name=probe
	control unshare -UrmC "$P/probe" mount-cgroup cgroup2
}

test_the_cgroup_seen_inside_is_the_root_of_its_own() {
	for U in openhands root; do
		session "$U" sh -c '! cut -d: -f3 /proc/self/cgroup | grep -vx /'
		assert_status 0
		session "$U" sh -c 'grep -c /../ /proc/self/cgroup'
		assert_eq 0 "$out" "paths that lead out of the view"
	done
	control grep -q . /proc/self/cgroup
}

test_no_process_can_be_moved_to_another_group() {
	session root sh -c 'find / -xdev -name cgroup.procs -o -xdev -name tasks 2>/dev/null | grep cgroup'
	assert_eq "" "$out" "group files visible inside"
	control sh -c 'find /sys/fs/cgroup -name cgroup.procs | grep -q .'
}

# Host information and orders to the host's kernel.
test_files_of_proc_that_tell_or_take_orders_are_shut() {
	local path
	for path in /proc/kcore /proc/kmsg /proc/kallsyms /proc/timer_list /proc/keys /proc/key-users /proc/sched_debug \
		/proc/iomem /proc/vmallocinfo /proc/slabinfo /proc/modules /proc/pagetypeinfo /proc/kpagecount \
		/proc/latency_stats /proc/sysrq-trigger; do
		refused open "$path" r
	done
	for path in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches \
		/proc/sys/kernel/modprobe /proc/sys/net/ipv4/ip_forward /proc/irq/default_smp_affinity; do
		refused open "$path" w
	done
	control "$P/probe" open /proc/version r
}

test_locks_of_other_sessions_are_not_listed() {
	both_users no_locks
	exec 9>"$T/lock"
	flock 9
	control grep -q . /proc/locks
	exec 9>&-
}

no_locks() {
	session "$U" cat /proc/locks
	assert_status 0
	assert_eq "" "$out" "locks listed as $U"
}

test_masked_files_stay_masked_after_dev_null_is_replaced() {
	# CVE-2025-31133: the mask must not be a path that the session can change.
	session root sh -c 'rm -f /dev/null 2>/dev/null; ln -sf /proc/sys/kernel/core_pattern /dev/null 2>/dev/null; cat /proc/keys /proc/kcore | head -c 1 | wc -c'
	assert_eq 0 "$(echo "$out" | tail -n 1)" "bytes of masked files"
	control test -c /dev/null
}

test_sys_takes_no_write() {
	session root sh -c 'find /sys -type f 2>/dev/null | while read -r f; do (: >>"$f") 2>/dev/null && echo "$f"; done | head'
	assert_eq "" "$out" "files of /sys that can be opened for writing"
	need root
	control sh -c 'find /sys -maxdepth 3 -type f -perm -u+w | grep -q .'
}

test_no_device_can_be_made() {
	refused mknod
	need root
	mount -t tmpfs -o dev none /mnt
	control sh -c 'mknod /mnt/d b 8 0 && [ -b /mnt/d ]'
	umount /mnt
}

test_only_the_few_device_nodes_are_there() {
	session root sh -c 'find /dev -type b -o -type c | sort | tr "\n" " "'
	local node
	for node in $out; do
		case $node in
		/dev/null | /dev/zero | /dev/full | /dev/random | /dev/urandom | /dev/tty | /dev/pts/* | /dev/console) ;;
		*) fail "device $node is inside" ;;
		esac
	done
	control sh -c 'find /dev -type c | grep -qv -e null -e zero -e full -e random -e tty -e pts'
}

test_the_hosts_clock_cannot_be_set() {
	refused settime
	need root
	control "$P/probe" settime
}

test_the_hostname_cannot_be_changed() {
	local before
	before=$(hostname)
	refused hostname
	assert_eq "$before" "$(hostname)"
	control unshare -Uru "$P/probe" hostname
}

test_a_setuid_program_gives_nothing() {
	session root sh -c 'cp /probe/probe /tmp/p && chmod 6755 /tmp/p && exec setpriv --reuid 1000 --regid 0 --clear-groups /tmp/p euid'
	[ "$OHS_AS" = single ] || assert_status 1
	[ "$status" -ne 0 ] || fail "a setuid program changed the effective id: $out"
	need root
	mount -t tmpfs none /mnt
	cp "$P/probe" /mnt/p && chmod 6755 /mnt/p
	control as_user /mnt/p euid
	umount /mnt
}

# A setuid file in an upper layer, found by another user of the host.
test_a_setuid_file_in_an_upper_layer_is_out_of_every_other_users_reach() {
	run ohs run --keep --json --repo "$BASE/work/repo" -- sh -c 'cp /bin/true /workspace/suid; chmod 6755 /workspace/suid'
	assert_status 0
	local id
	id=$(printf '%s\n' "$err" | grep '^{' | jq -r .id)
	kept "$id"
	assert_eq 700 "$(stat -c %a "$OHS_STATE_DIR")" "mode of the state directory"
	need root
	run as_user find "$OHS_STATE_DIR" -perm -4000
	assert_eq "" "$out" "setuid files another user finds"
	# Control: were the state directory open, he would find it.
	find "$OHS_STATE_DIR" -type d -exec stat -c '%a %n' {} + >"$T/modes"
	find "$OHS_STATE_DIR" -type d -exec chmod 755 {} +
	run as_user sh -c "find $OHS_STATE_DIR -perm -4000 2>/dev/null | grep -c suid"
	while read -r mode dir; do chmod "$mode" "$dir"; done <"$T/modes"
	ohs stop "$id" >/dev/null
	[ "$out" -ge 1 ] || fail "the negative control found nothing"
}

test_a_state_directory_others_may_enter_is_refused() {
	as_me mkdir -m 755 "$T/open"
	run as_me env OHS_STATE_DIR="$T/open" "$STAGE/bin/ohsandbox" run --repo "$BASE/work/repo" -- true
	assert_status 125
	assert_contains "$err" "$T/open"
	as_me chmod 700 "$T/open"
	control as_me env OHS_STATE_DIR="$T/open" "$STAGE/bin/ohsandbox" run --quiet --repo "$BASE/work/repo" -- true
}

test_capabilities_are_none_for_the_user_and_few_for_root() {
	session openhands grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status
	assert_eq 5 "$(echo "$out" | grep -c '0000000000000000')" "empty capability sets"
	session root sh -c 'awk "/CapEff/ { print \$2 }" /proc/self/status'
	# No SYS_ADMIN (21), SYS_PTRACE (19), SYS_MODULE (16), SYS_RAWIO (17), NET_ADMIN (12), NET_RAW (13), MKNOD (27),
	# SYS_TIME (25), SYS_BOOT (22), SYS_RESOURCE (24), BPF (39), PERFMON (38), CHECKPOINT_RESTORE (40).
	local bit mask=$((16#$out))
	for bit in 12 13 16 17 19 21 22 24 25 27 38 39 40; do
		[ $((mask >> bit & 1)) -eq 0 ] || fail "the session's root has capability $bit"
	done
	session openhands grep -c 'NoNewPrivs:.1' /proc/self/status
	assert_eq 1 "$out" "no_new_privs"
	control unshare -Ur sh -c '! grep -q "CapEff:.0000000000000000" /proc/self/status'
}

# Terminal injection: the caller's terminal must not receive a typed command.
test_nothing_can_be_typed_into_the_terminal() {
	local command
	need cmd script
	for command in 0x5412 0x541c 0x100005412 0xffffffff00005412; do
		as_me script -qec "$STAGE/bin/ohsandbox run --quiet --repo $BASE/work/repo --mount $P:/probe:ro -- /probe/probe tiocsti $command" /dev/null >"$T/out" 2>&1 </dev/null || true
		grep -q 'refused\|not permitted\|Input/output\|Inappropriate\|Invalid' "$T/out" || fail "ioctl $command: $(cat "$T/out")"
	done
	need root
	control script -qec "$P/probe tiocsti" /dev/null
}

test_core_dumps_cannot_be_switched_on_or_to_a_pipe() {
	refused core-limit
	session openhands sh -c 'ulimit -c'
	assert_match "$out" '^[01]$'
	control probe core-limit
}

# Rows of table 3: kernel surface that the filter switches off.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

test_only_four_socket_families_can_be_had() {
	refused families
	need root
	control "$P/probe" families
}

test_af_alg_packet_and_vsock_are_refused() {
	local family
	for family in 38 17 40 44 21 6 30 15; do # ALG PACKET VSOCK XDP RDS NETROM TIPC KEY
		refused socket "$family"
	done
	refused socket 2 3 1 # a raw ICMP socket
	control probe socket 2 1 0
}

test_netlink_beyond_route_is_refused() {
	local proto
	for proto in 2 4 6 9 10 11 12 15 16 21; do
		refused socket 16 3 "$proto"
	done
	control probe socket 16 3 12
}

# number name; each must end with EPERM, ENOSYS or EACCES before the kernel looks at it.
dangerous='321 bpf
298 perf_event_open
323 userfaultfd
425 io_uring_setup
426 io_uring_enter
427 io_uring_register
246 kexec_load
320 kexec_file_load
175 init_module
313 finit_module
176 delete_module
172 iopl
173 ioperm
167 swapon
168 swapoff
163 acct
179 quotactl
300 fanotify_init
180 nfsservctl
165 mount
166 umount2
430 fsopen
432 fsmount
429 move_mount
428 open_tree
431 fsconfig
442 mount_setattr
155 pivot_root
312 kcmp
438 pidfd_getfd
447 memfd_secret
248 add_key
249 request_key
250 keyctl
279 move_pages
103 syslog
169 reboot
170 sethostname
171 setdomainname
164 settimeofday
227 clock_settime
159 adjtimex
272 unshare
308 setns
304 open_by_handle_at
305 clock_adjtime
212 lookup_dcookie
153 vhangup
134 uselib
156 _sysctl'

test_dangerous_calls_do_not_reach_the_kernel() {
	local list
	list=$(echo "$dangerous" | awk '{ print $1 }' | tr '\n' ' ')
	for U in openhands root; do
		session "$U" sh -c "for n in $list; do /probe/probe syscall \$n; done | grep 'reached the kernel' || true"
		assert_eq "" "$out" "calls that reached the kernel as $U"
	done
	control sh -c '"$0" syscall 272 | grep -q reached' "$P/probe" # unshare with mad flags: EINVAL
}

test_unknown_call_numbers_answer_enosys() {
	for U in openhands root; do
		session "$U" sh -c 'for n in 480 500 599 1000; do /probe/probe syscall $n; done'
		assert_not_contains "$out" "reached the kernel"
		assert_eq 4 "$(echo "$out" | grep -c 'not implemented')" "calls answered with ENOSYS"
	done
}

test_node_python_git_make_and_strace_work() {
	local tool
	for tool in python3 git make gcc; do
		need cmd "$tool"
	done
	session openhands sh -ec '
		cd /tmp
		printf "all:\n\t@echo made\n" >Makefile && make -s
		printf "int main(void) { return 7; }\n" >a.c && gcc -o a a.c
		./a || echo "ran $?"
		python3 -c "print(6 * 7)"
		cd /workspace && git status --short && git log --oneline | wc -l'
	assert_status 0
	assert_contains "$out" made
	assert_contains "$out" "ran 7"
	assert_contains "$out" 42
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# lib.sh - runs one file of live tests, and is what they are written with.
#
# Called by tests/run as: lib.sh FILE, with OHS_AS, OHS_BUILD and OHS_SRC set. It stands in a mount
# and a network namespace of its own with an empty /run, so that nothing it does reaches the host,
# and sources FILE. FILE defines:
#
#   test_SOMETHING()   each one behaviour; runs in a subshell with `set -e`, in an empty $T
#   file_setup()       once, before the first; file_teardown() after the last
#
# and may say in comments at its top:
#
#   # as: root user single    which identities it runs as (default: all three)
#   # network: host           it needs the host's network: no network namespace of its own
#   # storms: yes            it is run beside no other such file
#   # tests: one deadline     seconds for the whole file, default 600:   # deadline: 600
#
# Identities: root; user: an ordinary uid with subordinate ids; single: an ordinary uid without.
#
# Each test prints one line: `ok NAME`, `not ok NAME: why` or `skip NAME: reason`. It fails when it
# leaves anything behind: mounts, links, nft tables, groups, processes, files of /run/ohsandbox,
# sessions.
#
#   ohs ARGS...                 ohsandbox as the identity        as_me COMMAND...   any command as it
#   as_user / as_root COMMAND   as the ordinary user / as root
#   run COMMAND...              sets $status, $out, $err; never fails
#   assert_status N, assert_eq WANT GOT [WHAT], assert_contains TEXT PART, assert_not_contains,
#   assert_match TEXT REGEX, assert_file PATH, assert_no_file PATH, fail WORDS
#   json TEXT FILTER            jq -r
#   quote TEXT                  sets $quoted to it as a string of JSON
#   need root|user|subids|net_admin     the test is about that identity, and not counted for others
#   need cmd NAME|controller NAME|kernel X.Y|net     or skip; skip REASON
#   wait_until SECONDS COMMAND...   polls; slower machines get more ($OHS_SLOW times)
#   make_repo DIR               a repository of the identity's with three files and two commits
#   ours REGEX                  processes of this run whose command line it fits
#   kept ID                     this session is meant to outlive the test (until the file's end)
set -u

: "${OHS_AS:?}" "${OHS_BUILD:?}" "${OHS_SRC:?}"
TEST_UID=${OHS_TEST_UID:-23456}
OHS_SLOW=${OHS_SLOW:-1}
OHS_FILE=$(realpath "$1")
OHS_NAME=$(basename "$OHS_FILE" .sh)
BASE=${OHS_TEST_BASE:?}          # directory of this run, made by tests/run; 0755
STAGE=${OHS_STAGE:?}             # copies of the programs and policies that any uid can reach
MY_PID=$BASHPID
export PATH=$STAGE/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LANG=C.UTF-8 LC_ALL=C.UTF-8 TERM=dumb GIT_CONFIG_NOSYSTEM=1
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR GIT_DIR GIT_WORK_TREE

# ---- the stage ------------------------------------------------------------------------------------

is_root() { [ "$(id -u)" -eq 0 ]; }

# On v1 every run of a file has groups of its own, below those it was started in, so that runs side
# by side do not see each other's. On v2 there is one tree for the whole host.
own_groups=()
enter_groups() {
	local before number controllers path dir

	before=$(cat /proc/self/cgroup) # whole: its lines change while we move
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		[ "$OHS_AS" != user ] || be_delegated "${before##*:}"
		return 0
	fi
	while IFS=: read -r number controllers path; do
		dir=/sys/fs/cgroup/$controllers$path
		dir=${dir%/}/ohs-test-$MY_PID
		case $controllers in memory | pids | cpu | cpuacct | cpu,cpuacct | freezer) ;; *) continue ;; esac
		mkdir "$dir" 2>/dev/null || continue
		own_groups+=("$dir")
		echo $MY_PID >"$dir/tasks"
	done <<<"$before"
}

# The user with subordinate ids is one whom systemd gave groups of his own, and stands in one of
# them: ohs-test-PID/login. The other user stands where root put him.
delegated= came_from=
be_delegated() { # GROUP
	local dir=/sys/fs/cgroup/ohs-test-$MY_PID controller

	for controller in memory pids cpu; do
		echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
	done 2>/dev/null
	mkdir "$dir" "$dir/login" 2>/dev/null || return 0
	for dir in "$dir" "$dir/login"; do
		chown "$TEST_UID:$TEST_UID" "$dir" "$dir"/cgroup.{procs,threads,subtree_control}
	done
	delegated=${dir%/login} came_from=/sys/fs/cgroup${1%/}
	echo $MY_PID >"$dir/cgroup.procs"
}

leave_groups() {
	local dir

	for dir in "${own_groups[@]}"; do
		echo $MY_PID >"${dir%/*}/tasks"
	done
	if [ -n "$delegated" ]; then
		echo $MY_PID >"$came_from/cgroup.procs"
		own_groups=("$delegated/login" "$delegated")
	fi
	for dir in "${own_groups[@]}"; do
		rmdir "$dir/ohsandbox" 2>/dev/null
		wait_until 20 rmdir "$dir" 2>/dev/null ||
			echo "not ok $OHS_NAME: group '$dir' is still in use by $(tr '\n' ' ' <"$dir/cgroup.procs")"
	done
}

session_groups() {
	if [ ${#own_groups[@]} -gt 0 ]; then
		find "${own_groups[@]}" -mindepth 1 -type d ! -name ohsandbox -printf 'group %p\n'
	else
		find /sys/fs/cgroup -path '*ohsandbox*' -type d ! -name ohsandbox -printf 'group %p\n'
	fi 2>/dev/null
}

# Everything here is undone by the end of the namespaces.
enter_stage() {
	local resolv

	is_root || return 0
	enter_groups
	resolv=$(cat /etc/resolv.conf 2>/dev/null)
	mount -t tmpfs -o mode=755 run /run || return 1
	if [ -L /etc/resolv.conf ] && [ ! -e /etc/resolv.conf ]; then
		mkdir -p "$(dirname "$(readlink -m /etc/resolv.conf)")"
		printf '%s\n' "$resolv" >"$(readlink -m /etc/resolv.conf)"
	fi
	ip link set lo up 2>/dev/null

	# The ordinary user has a name and, as `user`, subordinate ids: in this namespace alone.
	cp /etc/passwd "$BASE/passwd"
	grep -q "^[^:]*:[^:]*:$TEST_UID:" /etc/passwd ||
		echo "ohstest:x:$TEST_UID:$TEST_UID:ohs test:$BASE/home:/bin/bash" >>"$BASE/passwd"
	mount --bind "$BASE/passwd" /etc/passwd
	: >"$BASE/subid"
	[ "$OHS_AS" != user ] || echo "$TEST_UID:1879048192:65536" | sed "s/1879048192/300000/" >"$BASE/subid"
	for file in /etc/subuid /etc/subgid; do
		[ ! -e $file ] || mount --bind "$BASE/subid" $file
	done
}

as_root() { "$@"; }

as_user() {
	if is_root; then
		env HOME="$BASE/home" USER=ohstest LOGNAME=ohstest \
			setpriv --reuid "$TEST_UID" --regid "$TEST_UID" --clear-groups --inh-caps=-all "$@"
	else
		"$@"
	fi
}

as_me() {
	case $OHS_AS in
	root) HOME=$BASE/home USER=root "$@" ;;
	*) as_user "$@" ;;
	esac
}

# With OHS_FAIL_STAGE or OHS_KILL_STAGE set it is the build that honours them.
ohs() {
	if [ -n "${OHS_FAIL_STAGE:-}${OHS_KILL_STAGE:-}" ] && [ -x "$STAGE/bin/ohsandbox-hooked" ]; then
		as_me "$STAGE/bin/ohsandbox-hooked" "$@"
	else
		as_me "$STAGE/bin/ohsandbox" "$@"
	fi
}

# ---- what tests say -------------------------------------------------------------------------------

# In one line: of several the first alone would be told.
fail() {
	local words=$*

	words=${words//$'\r'/\\r}
	printf '# %s\n' "${words//$'\n'/\\n}" >&2
	exit 1
}

# A test about another identity is none of this one's: it is not counted here.
not_mine() { exit 78; }

skip() {
	printf '%s\n' "$*" >"$BASE/skip"
	exit 77
}

run() {
	local was=$-

	set +e
	"$@" >"$T.out" 2>"$T.err" </dev/null
	status=$?
	case $was in *e*) set -e ;; esac
	out=$(tr -d '\0' <"$T.out")
	err=$(tr -d '\0' <"$T.err")
	return 0
}

assert_status() {
	[ "$status" -eq "$1" ] || fail "exit status $status, not $1; stdout: '$out' stderr: '$err'"
}

assert_eq() { [ "$1" = "$2" ] || fail "${3:-value}: '$2', not '$1'"; }

assert_contains() { case $1 in *"$2"*) ;; *) fail "'$1' does not contain '$2'" ;; esac; }

assert_not_contains() { case $1 in *"$2"*) fail "'$1' contains '$2'" ;; esac; }

assert_match() { [[ $1 =~ $2 ]] || fail "'$1' does not match '$2'"; }

assert_file() { [ -e "$1" ] || [ -L "$1" ] || fail "'$1' is not there"; }

assert_no_file() { if [ -e "$1" ] || [ -L "$1" ]; then fail "'$1' is there"; fi; }

json() { printf '%s' "$1" | jq -r "$2"; }

# It takes 30 ms to start, and is asked for one member of an object most of the time.
jq() {
	if [[ $# -le 3 && $1 = -r && ${2:-} =~ ^(\.[a-z_]+)+$ ]] && command -v pick >/dev/null; then
		pick "${@:2}"
	else
		command jq "$@"
	fi
}

# quote TEXT: sets $quoted to it as a string of JSON.
quote() {
	quoted=${1//\\/\\\\}
	quoted=${quoted//\"/\\\"}
	quoted=${quoted//$'\n'/\\n}
	quoted=${quoted//$'\t'/\\t}
	quoted=${quoted//$'\r'/\\r}
	if [[ $quoted = *[[:cntrl:]]* ]]; then
		quoted=$(printf %s "$1" | command jq -Rs .)
	else
		quoted=\"$quoted\"
	fi
}

need() {
	case $1 in
	root) [ "$OHS_AS" = root ] || not_mine ;;
	user) [ "$OHS_AS" != root ] || not_mine ;;
	subids)
		[ "$OHS_AS" = user ] || not_mine
		as_user newuidmap 2>&1 | grep -qi usage || skip "needs newuidmap"
		;;
	net_admin)
		[ "$OHS_AS" = root ] || not_mine
		ip link show >/dev/null 2>&1 || skip "needs net_admin"
		;;
	cmd) command -v "$2" >/dev/null 2>&1 || skip "needs the program $2" ;;
	controller) has_controller "$2" || skip "needs the cgroup controller $2" ;;
	kernel) kernel_at_least "$2" || skip "needs kernel $2" ;;
	net) [ -z "${OHS_NO_NET:-}" ] || skip "needs the network outside" ;;
	*) fail "need: unknown '$1'" ;;
	esac
}

kernel_at_least() { printf '%s\n%s\n' "$1" "$(uname -r)" | sort -CV; }

# Is there a group in which this identity could be given the controller?
has_controller() {
	[ "$OHS_AS" = root ] || [ -n "$delegated" ] || not_mine
	grep -qw "$1" /sys/fs/cgroup/cgroup.controllers 2>/dev/null || [ -d "/sys/fs/cgroup/$1" ] ||
		ls -d /sys/fs/cgroup/*"$1"* >/dev/null 2>&1
}

# Polls without sleeping longer than it must.
wait_until() {
	local end=$((SECONDS + $1 * OHS_SLOW)) nothing

	shift
	exec {nothing}<> <(:)
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			exec {nothing}>&-
			return 1
		fi
		read -r -t 0.02 -u "$nothing" || true
	done
	exec {nothing}>&-
}

make_repo() {
	as_me mkdir -p "$1/src"
	as_me bash -ec '
		cd "$1"
		git init -q -b main
		git config user.name Tester
		git config user.email tester@example.org
		printf "hello\n" >README
		printf "int main(void) { return 0; }\n" >src/main.c
		printf "#!/bin/sh\necho built\n" >build.sh
		chmod 755 build.sh
		git add -A
		git commit -q -m first
		echo more >>README
		git commit -q -a -m second
	' make_repo "$1"
}

kept() { echo "$1" >>"$BASE/kept"; }

# ours REGEX: the processes of this run of this file whose command line it fits; others run beside it.
ours() {
	local pid at

	for pid in $(pgrep -f "$1"); do
		at=$pid
		while [ "${at:-1}" -gt 1 ] && [ "$at" -ne "$PPID" ]; do
			at=$(awk '/^PPid:/ { print $2 }' "/proc/$at/status" 2>/dev/null)
		done
		[ "${at:-1}" -ne "$PPID" ] || echo "$pid"
	done
}

# ---- nothing is left behind -----------------------------------------------------------------------

children_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null | sed '/^$/d'; }

# Processes that are not this harness: orphans have become children of the subreaper above us.
strays() {
	local pid

	for pid in $(children_of "$PPID"); do
		[ "$pid" -eq "$MY_PID" ] || echo "process $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
	done
}

# What all sessions of a host share stays for the next one, as doctor says, until `ohsandbox clean`:
# bridges, the static ruleset, the slot table, the group that holds theirs. Of few processes: where the machine is emulated they
# are what a test takes.
snapshot() {
	{
		awk 'FILENAME ~ /mountinfo/ { for (i = 7; $i != "-"; i++); print "mount", $5, $(i + 1), $(i + 2); next }
			FNR > 2 { sub(/:.*/, "", $1); if ($1 !~ /^ohsbr[0-9]$/) print "link", $1 }' \
			/proc/self/mountinfo /proc/net/dev
		if ((EUID == 0)) && command -v nft >/dev/null; then
			nft list tables 2>/dev/null | sed '/ ohsandbox$/d'
		fi
		session_groups
		[ ! -d /run/ohsandbox ] || find /run/ohsandbox -mindepth 1 ! -name slots -printf 'file %p\n'
		sessions_left
		strays
	} | sort
}

# Those that are not meant to outlive the test.
sessions_left() {
	local at id

	for at in "$OHS_STATE_DIR"/sessions/*; do
		id=${at##*/}
		[ ! -e "$at" ] || [[ " $(<"$BASE/kept") " == *[[:space:]]"$id"[[:space:]]* ]] || echo "session $id"
	done
}

# With kept sessions what is shared may stay, too.
unchanged() {
	snapshot >"$BASE/after"
	if [ -s "$BASE/kept" ]; then
		! grep -vxFf "$BASE/before" "$BASE/after" | grep -q '^session'
	else
		# The link of a session that ended before may go meanwhile: the kernel takes its time for it.
		! grep -vxFf "$BASE/before" "$BASE/after" | grep -q . &&
			! grep -vxFf "$BASE/after" "$BASE/before" | grep -v '^link ohs' | grep -q .
	fi
}

# Not what was there before the test: the session of the file is the next tests'.
kill_strays() {
	local pid

	for pid in $(children_of "$PPID" | grep -vxFf "${1:-/dev/null}"); do
		[ "$pid" -eq "$MY_PID" ] || kill -9 "$pid" 2>/dev/null
	done
}

# The run is interrupted: nothing of ours may stay because of it.
interrupted() {
	trap '' TERM
	[ ! -d "$BASE/state/sessions" ] || ohs stop --all >/dev/null 2>&1
	kill_strays
	leave_groups
	exit 143
}

# ---- the run --------------------------------------------------------------------------------------

report_failure() { # NAME [SESSIONS]
	echo "not ok $1: $(grep '^# ' "$BASE/log" | tail -n 1 | cut -c3- | tr -d '\n')$(kept_ended "${2:-}")"
	sed 's/^/    /' "$BASE/log" | tail -n 40
}

# The kept sessions that are there. What follows from the end of one says nothing of itself.
kept_living() {
	local id

	for id in $(<"$BASE/kept"); do
		[ ! -d "$OHS_STATE_DIR/sessions/$id" ] || echo "$id"
	done
}

# Of those that were there, which are not any more, or have no init; a paused one has none to have.
kept_ended() { # IDS
	local id pid

	for id in $1; do
		pid=$(ohs show "$id" 2>/dev/null | jq -r .init_pid)
		[ -d "/proc/${pid:-none}" ] || [ "$pid" = null ] || printf '; session %s has ended' "$id"
	done
}

# What the executors of a build with sanitizers have written since it was asked last: why they ended, and
# what was found in them, which is a failure. See sandbox/inside.h.
read_reports() {
	local words

	[ -s "$BASE/reports" ] || return 0
	words=$(tr -d '\0' <"$BASE/reports")
	: >"$BASE/reports"
	printf '%s\n' "$words" | tail -n 60 | sed 's/^/executor: /' >>"$BASE/log"
	grep -qE "Sanitizer|runtime error" <<<"$words" || return 0
	echo "# $(grep -m 1 -E "^SUMMARY|runtime error" <<<"$words" || echo "a sanitizer speaks")" >>"$BASE/log"
	return 1
}

run_test() { # FUNCTION
	local name=${1#test_} status living=

	[ ! -s "$BASE/kept" ] || living=$(kept_living)
	T=$BASE/work/$name
	as_me mkdir -p "$T"
	# After a test that left nothing behind all is as it was before.
	[ -n "$as_before" ] || snapshot >"$BASE/before"
	children_of "$PPID" >"$BASE/children"
	rm -f "$BASE/skip"
	(
		cd "$T" || exit 1
		set -e
		"$1"
	) >"$BASE/log" 2>&1 </dev/null
	status=$?
	read_reports || status=1
	as_before=
	[ $status -ne 78 ] || return
	if [ $status -eq 77 ] && [ -s "$BASE/skip" ]; then
		echo "skip $name: $(cat "$BASE/skip")"
		return
	fi
	if ! wait_until 20 unchanged; then
		diff "$BASE/before" "$BASE/after" | grep '^[<>]' >>"$BASE/log"
		# Of a test that failed before its end, that is no more than what follows from it.
		[ $status -ne 0 ] ||
			echo "# left behind (>) or taken away (<): $(diff "$BASE/before" "$BASE/after" | grep '^[<>]' |
				head -n 3 | tr '\n' ';')" >>"$BASE/log"
		kill_strays "$BASE/children"
		[ $status -ne 0 ] || status=1
	fi
	[ $status -eq 0 ] || grep -q '^# ' "$BASE/log" ||
		echo "# a command ended with status $status" >>"$BASE/log"
	if [ $status -eq 0 ]; then
		[ -s "$BASE/kept" ] || as_before=1
		echo "ok $name"
	else
		report_failure "$name" "$living"
	fi
	chmod -R u+rwX "$T" 2>/dev/null
	rm -rf "$T" "$T.out" "$T.err"
}

# The last test of every file, where the network is the file's own: the bridge and the firewall's
# table go when no session is left.
shared_goes_with_clean() {
	[ "$OHS_AS" = root ] && ! grep -q '^# network: host' "$OHS_FILE" && [ ! -s "$BASE/kept" ] || return 0
	[ -x "$STAGE/bin/ohsandbox" ] && ip link show type bridge 2>/dev/null | grep -q ohsbr || return 0
	ohs clean >"$BASE/log" 2>&1
	if ip link show type bridge | grep -q ohsbr || nft list tables | grep -q ohsandbox ||
		{ [ ${#own_groups[@]} -gt 0 ] && find "${own_groups[@]}" -name ohsandbox | grep -q .; }; then
		echo "not ok shared_goes_with_clean: $(tail -n 1 "$BASE/log")"
	else
		echo "ok shared_goes_with_clean"
	fi
}

main() {
	local t as_before=

	umask 022
	mkdir -p "$BASE/home" "$BASE/work" "$BASE/state"
	chmod 755 "$BASE" "$BASE/work"
	chmod 700 "$BASE/state" "$BASE/home"
	: >"$BASE/kept"
	exec 99>>"$BASE/reports"
	trap interrupted TERM
	enter_stage || { echo "not ok $OHS_NAME: the stage could not be set"; exit 1; }
	if is_root && [ "$OHS_AS" != root ]; then
		chown "$TEST_UID:$TEST_UID" "$BASE/home" "$BASE/work" "$BASE/state"
	fi
	export OHS_STATE_DIR=$BASE/state OHS_POLICY_DIR=$STAGE/policy
	as_me git config --global user.name Tester
	as_me git config --global user.email tester@example.org

	T=$BASE/work
	cd "$BASE/work" || exit 1
	# shellcheck disable=SC1090 # it is what we are for
	. "$OHS_FILE" || { echo "not ok $OHS_NAME: the file could not be read"; exit 1; }
	if declare -F file_setup >/dev/null; then
		(set -e; file_setup) >"$BASE/log" 2>&1 || {
			if [ -s "$BASE/skip" ]; then
				echo "skip $OHS_NAME: $(cat "$BASE/skip")"
			else
				report_failure file_setup
				ohs stop --all >/dev/null 2>&1
			fi
			leave_groups
			exit 0 # the lines say what it was
		}
	fi
	for t in $(sed -n 's/^\(test_[A-Za-z0-9_]*\) *().*/\1/p' "$OHS_FILE"); do
		[ -z "${OHS_ONLY:-}" ] || [[ $t =~ $OHS_ONLY ]] || continue
		run_test "$t"
	done
	if declare -F file_teardown >/dev/null; then
		(set -e; file_teardown) >"$BASE/log" 2>&1 || report_failure file_teardown
	fi
	shared_goes_with_clean
	leave_groups
	chmod -R u+rwX "$BASE" 2>/dev/null
}

main

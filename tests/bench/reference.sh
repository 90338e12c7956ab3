# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # of whoever sources it: here, ohs, client, work, runs, and its functions
# The reference executors beside ours, in the same run; sourced by tests/bench/run.
#
# They are those that tests/clients fetched, started as their own clients start them but for the sandbox: there
# is none around them, and no plugin and no browser in them, so what is measured is the server alone. One pid namespace a
# server, so that all it starts can be counted and ends with it.

reference_port=8239

reference_root() { # where the clients live, if they have been fetched
	local here=$here/../clients cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ohsandbox/clients root

	# shellcheck source=tests/clients/setup.sh
	. "$here/setup.sh"
	[ -d "$root" ] && echo "$root"
}

# Ends when the server answers that it is there; fills reference_pid.
reference_up() { # COMMAND...
	cat >"$work/reference-up" <<-'SH'
		root=$1
		shift
		mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount -t tmpfs none "$root/tmp" || exit 1
		mkdir "$root/tmp/workspace"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 TERM=xterm \
			LITELLM_LOCAL_MODEL_COST_MAP=True OH_ENABLE_VSCODE=0 SESSION_API_KEY=bench \
			sh -c 'cd /tmp/workspace && exec "$@"' sh "$@"
	SH
	unshare -m --pid --fork --kill-child --mount-proc bash "$work/reference-up" "$reference" "$@" >"$work/reference.log" 2>&1 &
	reference_pid=$!
	until curl -s "http://127.0.0.1:$reference_port/alive" | grep -q ok; do
		kill -0 "$reference_pid" 2>/dev/null || { tail -n 3 "$work/reference.log" >&2; return 1; }
	done
}

reference_down() {
	kill -KILL "$reference_pid"
	wait "$reference_pid" 2>/dev/null
}

# Of all processes of its namespace, of which it is the first.
reference_memory() {
	local first space pid pids=()

	first=$(cat "/proc/$reference_pid/task/$reference_pid/children")
	space=$(readlink "/proc/${first%% *}/ns/pid")
	for pid in /proc/[0-9]*; do
		[ "$(readlink "$pid/ns/pid")" = "$space" ] && pids+=("${pid#/proc/}")
	done
	printf '  %-34s %d KiB (PSS), %d processes\n' "memory, idle" "$(pss_of "${pids[@]}")" "${#pids[@]}"
}

spread() { # NAME, microseconds a line
	sort -n | awk -v name="$1" '{ v[NR] = $1 / 1000 } END {
		printf "  %-34s p50 %8.1f ms  min %8.1f ms  max %8.1f ms (%d runs)\n", name, v[int((NR + 1) / 2)], v[1], v[NR], NR }'
}

# The start of one, so many times over; the last one stays. The first does not count: it compiles its modules.
reference_starts() { # COMMAND...
	local i began

	for ((i = 0; i <= starts; i++)); do
		[ "$i" = 0 ] || reference_down
		began=$(date +%s%N)
		reference_up "$@" || return 1
		[ "$i" = 0 ] || echo $((($(date +%s%N) - began) / 1000))
	done >"$work/starts"
	spread "start, to an answer of /alive" <"$work/starts"
}

http_request() { # FILE METHOD PATH TYPE BODY
	printf '%s %s HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: bench\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s' \
		"$2" "$3" "$4" "${#5}" "$5" >"$1"
}

reference_v0() {
	local dir=/tmp/workspace

	title "the reference executor of V0 (openhands-ai 0.62)"
	reference_starts /v0/bin/python -u -m openhands.runtime.action_execution_server "$reference_port" \
		--working-dir "$dir" --username root --user-id 0 --no-enable-browser || return
	reference_memory
	v0_actions "http://127.0.0.1:$reference_port" bench "$dir" "$((starts * 5))"
	reference_down
}

reference_v1() {
	local url=http://127.0.0.1:$reference_port file=$work/request json=application/json
	local part=$'--b\r\nContent-Disposition: form-data; name="file"; filename="note"\r\n\r\na small file\n\r\n--b--\r\n'

	title "the reference agent server of V1 (1.58)"
	reference_starts /v1/bin/python -m openhands.agent_server --port "$reference_port" || return
	reference_memory
	http_request "$file" POST /api/bash/execute_bash_command $json '{"command":"echo hi"}'
	timed "echo hi" "$client" requests "$((starts * 100))" 0 "$url" "$file"
	http_request "$file" POST "/api/file/upload?path=/tmp/workspace/note" "multipart/form-data; boundary=b" "$part"
	timed "write of a small file" "$client" requests "$((starts * 100))" 0 "$url" "$file"
	http_request "$file" GET "/api/file/download?path=/tmp/workspace/note" $json ''
	timed "read of it" "$client" requests "$((starts * 100))" 0 "$url" "$file"
	reference_down
}

v0_actions() { # URL KEY DIR N
	timed "echo hi" "$client" latency "$4" 0 "$1" "$2" "$(action run '"command":"echo hi"')"
	timed "write of a small file" "$client" latency "$(($4 * 20))" 0 "$1" "$2" \
		"$(action write "\"path\":\"$3/note\",\"content\":\"a small file\\n\"")"
	timed "read of it" "$client" latency "$(($4 * 20))" 0 "$1" "$2" "$(action read "\"path\":\"$3/note\"")"
}

ours_beside() {
	local i pid began

	title "ohsandbox, with a sandbox around it"
	for ((i = 0; i < starts * 5; i++)); do
		began=$(date +%s%N)
		one_session
		curl -s "$url/alive" | grep -q ok || exit 1
		echo $((($(date +%s%N) - began) / 1000))
		[ "$i" = 0 ] || "$ohs" stop "$previous" >/dev/null
		previous=$id
	done >"$work/starts"
	spread "start, to an answer of /alive" <"$work/starts"
	pid=$(session_pid "$id")
	# shellcheck disable=SC2046 # numbers
	printf '  %-34s %d KiB (PSS)\n' "memory, idle" "$(pss_of "$pid" $(cat "/proc/$pid/task/$pid/children"))"
	v0_actions "$url" "$key" /workspace "$((starts * 20))"
	"$ohs" stop "$id"
}

figure_reference() {
	local reference starts=$((idle_runs / 10)) id='' url='' key='' previous=''

	ours_beside
	reference=$(reference_root) || { echo "  the reference executors: not fetched (make check-clients does)"; return; }
	[ "$(id -u)" = 0 ] || { echo "  the reference executors: need root here"; return; }
	reference_v0
	reference_v1
}

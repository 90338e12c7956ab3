#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# The units that are installed: they are sound, a session can be had behind their walls, and the daemon
# behaves as a service manager expects.

# unit NAME: the unit as it is installed, but for where the program is.
unit() {
	sed "s|@bindir@|$STAGE/bin|g; s|@sysconfdir@|/etc|g" "$OHS_SRC/systemd/$1.in"
}

units() { # DIRECTORY
	mkdir -p "$1/user"
	unit ohsandbox-serve.service >"$1/ohsandbox-serve.service"
	unit ohsandbox-serve.socket >"$1/ohsandbox-serve.socket"
	unit user/ohsandbox-serve.service >"$1/user/ohsandbox-serve.service"
	cp "$1/ohsandbox-serve.socket" "$1/user/"
}

test_systemd_finds_the_units_sound() {
	need root
	need cmd systemd-analyze
	units "$T"
	# Nothing on standard error either: an unknown key is no failure to it.
	run systemd-analyze verify --man=no "$T/ohsandbox-serve.service" "$T/ohsandbox-serve.socket"
	assert_eq "0 " "$status $err"
	mkdir "$T/run"
	XDG_RUNTIME_DIR=$T/run run systemd-analyze --user verify --man=no "$T/user/ohsandbox-serve.service" "$T/user/ohsandbox-serve.socket"
	assert_eq "0 " "$status $err"
	run systemd-analyze security --offline=yes --threshold=80 --no-pager "$T/ohsandbox-serve.service"
	assert_status 0
	sed -i 's/^NoNewPrivileges=.*//; s/^CapabilityBoundingSet=.*//' "$T/ohsandbox-serve.service"
	run systemd-analyze security --offline=yes --threshold=80 --no-pager "$T/ohsandbox-serve.service"
	[ "$status" -ne 0 ] || fail "a unit without walls passes, too"
}

# The options of the unit that stand in a session's way or not, one a line: KEY=VALUE.
walls() {
	unit ohsandbox-serve.service |
		grep -E '^(Protect|Private|Restrict|NoNew|Lock|Memory|System|Capability|UMask|ReadOnly|Inaccessible|Keyring)'
}

# What the manager does for each, by hand; then the command.
behind_walls() { # COMMAND...
	local line kept= prefix=()
	local mounts='set -e; read_only() { mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; }'

	while read -r line; do
		case $line in
		ProtectSystem=full) mounts+='; read_only /usr; read_only /etc' ;;
		ProtectProc=invisible) mounts+='; mount -t proc -o nosuid,nodev,noexec,hidepid=invisible proc /proc' ;;
		# What of the test lies there has to stay in sight.
		PrivateTmp=yes) mounts+='; mkdir /run/keep; mount --rbind "$TMP_OF_TEST" /run/keep; mount -t tmpfs tmp /tmp
			mkdir -p "$TMP_OF_TEST"; mount --move /run/keep "$TMP_OF_TEST"; rmdir /run/keep' ;;
		PrivateIPC=yes) prefix+=(unshare --ipc) ;;
		NoNewPrivileges=yes) prefix+=(setpriv --no-new-privs) ;;
		CapabilityBoundingSet=*) kept+=" ${line#*=}" ;;
		UMask=*) mounts+="; umask ${line#*=}" ;;
		KeyringMode=private) ;;
		*) fail "'$line' is not tried here" ;;
		esac
	done < <(walls)
	kept=${kept,,}
	kept=${kept// cap_/,+}
	prefix+=(setpriv --bounding-set "-all$kept")
	run env TMP_OF_TEST="${STAGE%/*}" unshare --mount --propagation slave bash -c "$mounts"'; cd "$1"; shift; exec "$@"' walls "$T" "${prefix[@]}" "$@"
}

test_a_session_can_be_had_behind_the_units_walls() {
	local id

	need root
	make_repo "$T/repo"
	behind_walls "$STAGE/bin/ohsandbox" run -q --repo "$T/repo" -- sh -c 'cat /proc/sys/kernel/hostname README; sudo -n id -u; grep NoNewPrivs /proc/self/status'
	assert_eq "0  ohsandbox hello more 0 NoNewPrivs:	1" "$status $err $(tr '\n' ' ' <<<"$out" | sed 's/ $//')"
	behind_walls "$STAGE/bin/ohsandbox" start --empty
	assert_status 0
	id=$(json "$out" .id)
	behind_walls "$STAGE/bin/ohsandbox" act --text "$id" run 'echo here'
	assert_eq here "$out"
	behind_walls "$STAGE/bin/ohsandbox" pause --to-disk "$id"
	assert_status 0
	behind_walls "$STAGE/bin/ohsandbox" resume "$id"
	assert_status 0
	behind_walls "$STAGE/bin/ohsandbox" stop "$id"
	assert_status 0
}

# The walls are really there, else the test above says nothing.
test_the_walls_are_walls() {
	need root
	behind_walls sh -c 'touch /usr/bin/x /etc/x; grep -E "NoNewPrivs|CapBnd" /proc/self/status'
	assert_match "$err" "/usr/bin/x.*Read-only.*/etc/x.*Read-only"
	assert_contains "$out" "NoNewPrivs:	1"
	assert_not_contains "$out" "000001ffffffffff"
}

daemon_says() { grep -qx "$1" "$T/told"; }

times_said() { [ "$(grep -cx "$1" "$T/told")" -ge "$2" ]; }

# Its listener is handed over; it says when it is ready, that it lives, and that it ends.
test_the_daemon_is_a_service_as_managers_expect_one() {
	local port pid

	as_me "$OHS_BUILD/tests/live/manager" 1000 "$STAGE/bin/ohsandbox" serve >"$T/told" 2>"$T/log" &
	wait_until 10 daemon_says READY=1
	port=$(sed -n 's/^port //p' "$T/told") pid=$(sed -n 's/^pid //p' "$T/told")
	assert_eq '{"status":"ok"}' "$(curl -s -m 10 "http://localhost:$port/healthz")"
	wait_until 10 times_said WATCHDOG=1 2
	kill -HUP "$pid"
	wait_until 10 times_said READY=1 2
	daemon_says RELOADING=1
	kill -TERM "$pid"
	wait_until 10 daemon_says "status 0"
	daemon_says STOPPING=1
	wait
}

# What is asked of a session is not an operation on it, and is waited for all the same.
test_a_command_is_answered_before_the_daemon_ends() {
	local port pid session key asking

	as_me "$OHS_BUILD/tests/live/manager" 60000 "$STAGE/bin/ohsandbox" serve >"$T/told" 2>"$T/log" &
	wait_until 10 daemon_says READY=1
	port=$(sed -n 's/^port //p' "$T/told") pid=$(sed -n 's/^pid //p' "$T/told")
	key=X-API-Key:\ $(as_me cat "$OHS_STATE_DIR/serve.key")
	session=$(curl -s -m 60 -H "$key" -d '{"image": "any", "session_id": "asked"}' "http://localhost:$port/start")
	curl -s -m 60 -H "$key" -d '{"command": "touch /tmp/begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo gone"}' \
		"http://localhost:$port/v1/sessions/asked/exec" >"$T/answer" &
	asking=$!
	wait_until 10 session_has /tmp/begun
	kill -TERM "$pid"
	wait_until 10 daemon_says STOPPING=1
	: >"$T/go"
	curl -s -m 10 -o "$T/sent" -H "X-Session-API-Key: $(json "$session" .session_api_key)" -F "file=@$T/go" \
		"$(json "$session" .url)/upload_file?destination=/tmp"
	wait "$asking"
	assert_eq '{"exit_code":0,"output":"gone"}' "$(cat "$T/answer")"
	wait_until 10 daemon_says "status 0"
	wait
	ohs stop asked
}

session_has() { # PATH
	curl -s -m 10 -H "X-Session-API-Key: $(json "$session" .session_api_key)" -d "{\"path\": \"$(dirname "$1")\"}" \
		"$(json "$session" .url)/list_files" | grep -q "\"$(basename "$1")\""
}

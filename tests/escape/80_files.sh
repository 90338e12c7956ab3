# Rows about files that are moved over HTTP: what an archive, a path or a link in the session leads to.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() {
	need cmd curl
	need cmd python3
	escape_setup
	hostile_archives "$BASE/archives"
}

# A session for one test: $id, $url and $key.
begin() {
	local started

	started=$(ohs start --repo "$BASE/work/repo" --mount "$P:/probe:ro")
	id=$(json "$started" .id)
	url=$(json "$started" .url)
	key=$(json "$started" .session_api_key)
	address=$(json "$started" .address)
}

end() { ohs stop "$id" >/dev/null; }

inside() { ohs act "$id" run "$1" | jq -r .content; }

ask() { curl -s -m 60 -H "X-Session-API-Key: $key" "$@"; }
status() { ask -o /dev/null -w '%{http_code}' "$@"; }

# Archives whose members are called ohs-canary, and want to be elsewhere than where they are unpacked.
hostile_archives() { # DIRECTORY
	mkdir -p "$1"
	python3 - "$1" <<-'PY'
		import stat, sys, zipfile
		LINK, CHAR, BLOCK, FIFO, SOCK, DIR = (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR)
		C, made = "ohs-canary", 0
		def archive(*members):
		    global made
		    made += 1
		    with zipfile.ZipFile("%s/%02d.zip" % (sys.argv[1], made), "w") as z:
		        for name, mode, data in members:
		            i = zipfile.ZipInfo("x")
		            i.filename, i.external_attr, i.create_system = name, mode << 16, 3
		            z.writestr(i, data)
		up = ["../" * n for n in (1, 2, 5, 40)]
		for way in up + ["a/../" + u for u in up] + ["./" + u for u in up] + [u.replace("/", "//") for u in up]:
		    for to in ("", "tmp/", "workspace/"):
		        archive((way + to + C, 0o644, b"x"))
		for way in ("/", "//", "/tmp/", "/workspace/", "/etc/", "/usr/bin/", "/proc/self/cwd/", "/proc/self/root/tmp/", "/proc/1/root/"):
		    archive((way + C, 0o755, b"x"))
		for to in ("..", "../..", "/", "/tmp", "/workspace", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/tmp", "."):
		    archive(("l", LINK | 0o777, to.encode()), ("l/" + C, 0o644, b"x"))
		    archive(("l", LINK | 0o777, to.encode()), ("m", LINK | 0o777, b"l"), ("m/" + C, 0o644, b"x"))
		archive(("l", LINK | 0o777, b"../" + C.encode()), ("l", 0o644, b"x"))
		archive(("l", LINK | 0o777, b"/tmp/" + C.encode()), ("l", 0o644, b"x"))
		for kind in (CHAR, BLOCK, FIFO, SOCK, DIR):
		    archive(("d", kind | 0o666, b""), ("d/" + C, 0o644, b"x"))
		archive(("root", 0o6755, b"#!/bin/sh\nid\n"))
	PY
}

# What the wall is missing of: names joined, links made, nothing asked.
unpack_naively() { # ARCHIVE DIRECTORY
	python3 - "$1" "$2" <<-'PY'
		import os, stat, sys, zipfile
		z = zipfile.ZipFile(sys.argv[1])
		for i in z.infolist():
		    mode, path = i.external_attr >> 16, sys.argv[2] + "/" + i.filename
		    try:
		        if stat.S_ISLNK(mode):
		            os.symlink(z.read(i), path)
		            continue
		        os.makedirs(os.path.dirname(path), exist_ok=True)
		        open(path, "wb").write(z.read(i))
		    except OSError:
		        pass
	PY
}

test_no_archive_writes_outside_of_where_it_is_unpacked() {
	local archive n=0

	begin
	for archive in "$BASE"/archives/*.zip; do
		n=$((n + 1))
		status -F "file=@$archive" "$url/upload_file?destination=/tmp/in/$n/a/b&recursive=true" >>"$T/statuses"
		echo >>"$T/statuses"
	done
	[ "$n" -ge 80 ] || fail "only $n archives"
	# All that is there is where it was sent; nothing came to the host either.
	assert_eq "" "$(inside "find / -xdev -name 'ohs-canary*' 2>/dev/null; find /tmp /workspace -name 'ohs-canary*' ! -path '/tmp/in/*/a/b/*'")"
	assert_eq "" "$(find / /tmp "$BASE" "$OHS_STATE_DIR" -maxdepth 3 -xdev -name 'ohs-canary*' 2>/dev/null)"
	assert_eq "" "$(inside 'find /tmp/in -perm /7000 -o -type l -o -type p -o -type s -o -type b -o -type c')"
	# The most were refused, and none was an error that has no words.
	[ "$(grep -c 500 "$T/statuses")" -ge 70 ] || fail "refused: $(grep -c 500 "$T/statuses") of $n"
	assert_eq "" "$(grep -v '200\|500' "$T/statuses" || true)"
	assert_eq 200 "$(status "$url/alive")"
	end
	# Control: the first ones leave their directory where names are joined and hoped for.
	mkdir -p "$T/c/a/b"
	for archive in "$BASE"/archives/01.zip "$BASE"/archives/04.zip; do
		control unpack_naively "$archive" "$T/c/a/b"
	done
	[ -e "$T/c/a/ohs-canary" ] && [ -e "$T/c/ohs-canary" ] || fail "the archives lead nowhere"
}

# Somebody inside exchanges a directory for a link while archives are unpacked into it.
test_a_directory_that_is_swapped_while_it_is_unpacked_into_leads_nowhere() {
	local i

	begin
	inside 'mkdir -p /tmp/race/in /tmp/race/out'
	inside '((cd /tmp/race/in; while [ ! -e ../stop ]; do ln -sT ../out d; rm -rf d; mkdir d; rm -rf d; done) >/dev/null 2>&1 &)'
	python3 -c "
import zipfile
z = zipfile.ZipFile('$T/race.zip', 'w')
for n in range(200): z.writestr('d/ohs-canary%d' % n, 'x')"
	for i in $(seq 50); do
		status -F "file=@$T/race.zip" "$url/upload_file?destination=/tmp/race/in" >/dev/null
	done
	inside 'touch /tmp/race/stop'
	assert_eq "" "$(inside 'ls -A /tmp/race/out')"
	end
	# Control: with the link in its place, plain names write through it.
	mkdir -p "$T/in" "$T/out"
	ln -sT ../out "$T/in/d"
	control unpack_naively "$T/race.zip" "$T/in"
	assert_file "$T/out/ohs-canary1"
}

# The processes that move files read for the workload, as the workload, in its own view.
test_links_show_clients_nothing_that_the_workload_may_not_read() {
	local link

	echo "host-secret" >"$T/secret"
	chmod 644 "$T/secret"
	begin
	for link in "$T/secret" "/proc/1/root$T/secret" /proc/1/environ /proc/1/mem /proc/1/maps "/proc/$(server_pid)/environ" \
		/proc/self/environ /proc/self/mem /proc/self/fd/0 /dev/tty; do
		inside "rm -rf /tmp/tree; mkdir /tmp/tree; ln -s '$link' /tmp/tree/link"
		ask -o "$T/got" "$url/download_files?path=/tmp/tree"
		# Not there, not readable, no file, or (of /proc) one that is empty.
		[ "$(stat -c %s "$T/got")" -lt 300 ] || fail "'$link' gave $(stat -c %s "$T/got") bytes"
		! grep -aq host-secret "$T/got" || fail "'$link' was followed out of the session"
		assert_not_contains "$(tr -d '\0' <"$T/got")" "$key"
	done
	# Control: a link to what the workload may read is followed.
	inside 'rm -rf /tmp/tree; mkdir /tmp/tree; echo host-secret >/tmp/mine; ln -s /tmp/mine /tmp/tree/link'
	ask -o "$T/got" "$url/download_files?path=/tmp/tree"
	control grep -aq host-secret "$T/got"
	end
}

test_the_viewer_does_not_show_the_process_that_reads_for_it() {
	local view='exec 7<>/dev/tcp/127.0.0.1/$(sed "s/.*://" /tmp/oh-server-url); printf "GET /view?path=/tmp/x.png HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" >&7; head -n 1 <&7; exec 7>&-'
	local link

	begin
	for link in /proc/self/maps /proc/self/status /proc/1/maps /proc/self/exe; do
		inside "ln -sfT $link /tmp/x.png"
		assert_not_contains "$(inside "$view")" "200 OK"
	done
	inside 'rm /tmp/x.png; cp /proc/self/maps /tmp/x.png'
	assert_contains "$(inside "$view")" "200 OK"
	end
}

test_no_path_of_an_upload_leads_out_of_the_session() {
	local path

	begin
	echo x >"$T/ohs-canary"
	for path in /proc/1/root/tmp /proc/1/cwd "/proc/$(server_pid)/root/tmp" /proc/self/fd/0 "/proc/1/root$T" /sys/fs/cgroup; do
		status -F "file=@$T/ohs-canary" "$url/upload_file?destination=$path" >"$T/status"
		assert_eq 500 "$(cat "$T/status")" "status of '$path'"
	done
	rm "$T/ohs-canary"
	assert_no_file "$T/ohs-canary"
	# Control: the user's own places take it.
	echo x >"$T/mine"
	assert_eq 200 "$(status -F "file=@$T/mine" "$url/upload_file?destination=/proc/self/root/tmp/own")"
	assert_eq x "$(inside 'cat /tmp/own/mine')"
	end
}

# asks_and_goes PORT N: the viewer's one process is kept busy by who does not read what it gives; N ask for
# something long, each as soon as it was heard, and go. Then: is anybody answered, now and later?
asks_and_goes() {
	cat <<-'PY'
		import socket, struct, sys
		def connect():
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30)
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		    return s
		def get(path): return ("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path).encode()
		held = connect()
		held.sendall(get("/view?path=/tmp/large.png"))
		assert b"200" in held.recv(20)
		for i in range(int(sys.argv[2])):
		    s = connect()
		    s.sendall(get("/") + get("/view?path=/" + "x" * 15000))
		    assert b"200" in s.recv(20)
		    s.close()
		s = connect()
		s.sendall(get("/view?path=/tmp/none.png"))
		s.settimeout(2)
		try: print("at once", s.recv(12).decode())
		except TimeoutError: print("waits", end=" ")
		held.close()
		s.settimeout(30)
		print(s.recv(12).decode())
	PY
}

memory_of() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

test_whoever_asks_the_viewer_and_goes_fills_no_memory() {
	local server before

	begin
	server=$(children_of "$(ohs show "$id" | jq .init_pid)" | head -n 1)
	asks_and_goes >"$P/asks.py"
	inside 'truncate -s 30M /tmp/large.png'
	before=$(memory_of "$server")
	inside 'port=$(sed "s/.*://" /tmp/oh-server-url); (python3 /probe/asks.py $port 2000 >/tmp/asks 2>&1 &); until [ -s /tmp/asks ]; do sleep 0.1; done'
	[ $(($(memory_of "$server") - before)) -lt 8000 ] || fail "from $before to $(memory_of "$server") KiB"
	# Control: whoever stays is kept in mind, until it is his turn.
	inside 'until grep -q HTTP /tmp/asks; do sleep 0.1; done'
	assert_eq "waits HTTP/1.1 404" "$(inside 'cat /tmp/asks')"
	end
}

test_a_crowd_at_the_viewer_does_not_keep_clients_out() {
	local i

	begin
	run ohs act "$id" run 'port=$(sed "s/.*://" /tmp/oh-server-url); (/probe/probe crowd 127.0.0.1 $port >/tmp/crowd &); until grep -q there /tmp/crowd; do sleep 0.1; done; sleep 0.5'
	echo x >"$T/x"
	for i in 1 2 3; do
		assert_eq 200 "$(status -F "file=@$T/x" "$url/upload_file?destination=/tmp/up")"
		assert_eq 200 "$(status "$url/download_files?path=/tmp/up")"
	done
	# Control: the crowd is there.
	run inside 'grep -c " 01 " /proc/net/tcp'
	[ "$out" -ge 16 ] || fail "no crowd: $out"
	end
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# Files over HTTP: lists, uploads, archives in both directions, and the viewer inside; what is sent
# wrongly, cut short or hostile; that the session lives on and nothing grows.

file_setup() {
	need cmd curl
	need cmd python3
	make_repo "$BASE/work/repo"
	cd "$BASE/work/repo" || return 1
	ohs start >"$BASE/session.json" || return 1
	kept "$(jq -r .id "$BASE/session.json")"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

url() { jq -r .url "$BASE/session.json"; }
key() { jq -r .session_api_key "$BASE/session.json"; }

# ask ARGS OF CURL...: sets $got to the body, $code to the status.
ask() {
	code=$(curl -s -m 60 -o "$T/got" -w '%{http_code}' -H "X-Session-API-Key: $(key)" "$@") || true
	got=$(tr -d '\0' <"$T/got")
}

answers() { # STATUS BODY
	assert_eq "$1" "$code" "status of '$got'"
	assert_eq "$2" "$got"
}

invalid() { answers 422 "{\"detail\":\"Invalid request parameters\",\"errors\":\"$1\"}"; }

# inside COMMAND: its output, of a command that must succeed.
inside() {
	local seen quoted

	quote "$1"
	seen=$(curl -s -m 70 -H "X-Session-API-Key: $(key)" -d @- "$(url)/execute_action" \
		<<<'{"action":{"action":"run","args":{"command":'"$quoted"',"blocking":true},"timeout":60.0}}')
	[ "$(jq -r .extras.metadata.exit_code <<<"$seen")" = 0 ] || fail "inside '$1': $seen"
	jq -r .content <<<"$seen"
}

upload() { # FILE DESTINATION [MORE_QUERY]
	ask -F "file=@$1" "$(url)/upload_file?destination=$2${3:-}"
}

# listed DIRECTORY PART: is it in the list?
listed() {
	ask -d "{\"path\":\"$1\"}" "$(url)/list_files"
	[[ $got == *"$2"* ]]
}

# Processes that init has started, and the server. Inside, those that move files are not to be seen.
processes() { children_of "$(jq -r .init_pid "$BASE/session.json")" | sort; }
processes_are() { [ "$(processes)" = "$1" ]; }

alive() { assert_eq '{"status":"ok"}' "$(curl -s -m 60 "$(url)/alive")"; }

server_pid() { children_of "$(jq -r .init_pid "$BASE/session.json")" | head -n 1; }

# ---- lists -----------------------------------------------------------------------------------------

test_names_are_listed_as_clients_show_them() {
	inside 'mkdir -p /tmp/l/Zoo /tmp/l/abc; cd /tmp/l; touch B a .h "x y"; ln -s Zoo dir; ln -s nowhere broken; cd /workspace'
	ask -d '{"path":"/tmp/l"}' "$(url)/list_files"
	answers 200 '["abc/","dir/","Zoo/",".h","a","B","x y"]'
	ask -d '{"path":"src"}' "$(url)/list_files"
	answers 200 '["main.c"]'
	inside 'cd /tmp'
	for body in '{}' '{"path":null}' '{"path":"."}'; do
		ask -d "$body" "$(url)/list_files"
		assert_contains "$got" '"src/","build.sh","README"]'
	done
	inside 'cd /workspace'
}

test_what_cannot_be_listed_is_empty() {
	inside 'mkdir -p /tmp/closed; chmod 0 /tmp/closed'
	for path in /nope README /workspace/README /tmp/closed /proc/1/root; do
		ask -d "{\"path\":\"$path\"}" "$(url)/list_files"
		answers 200 '[]'
	done
	ask -X POST "$(url)/list_files"
	answers 500 '{"detail":"An unexpected error occurred. Please try again later."}'
}

# The command ends when a file is there that another request brings.
test_other_requests_do_not_wait_for_a_command() {
	local waiting='echo up >/tmp/up; until [ -e /tmp/go ]; do sleep 0.05; done'

	jq -nc --arg c "$waiting" '{action: {action: "run", args: {command: $c, blocking: true}, timeout: 50.0}}' |
		curl -s -m 60 -o "$T/seen" -H "X-Session-API-Key: $(key)" -d @- "$(url)/execute_action" &
	wait_until 20 listed /tmp '"up"' || fail "the command has not begun: $got"
	echo x >"$T/go"
	upload "$T/go" /tmp
	assert_eq 200 "$code"
	wait
	assert_eq 0 "$(jq -r .extras.metadata.exit_code "$T/seen")"
}

# ---- uploads ---------------------------------------------------------------------------------------

test_a_file_is_uploaded_and_belongs_to_the_user() {
	head -c 3000000 /dev/urandom >"$T/a file.bin"
	upload "$T/a file.bin" /workspace/up/deep '&recursive=false'
	answers 200 '{"filename":"a file.bin","destination":"/workspace/up/deep","recursive":false}'
	assert_eq "openhands root 644 3000000" "$(inside "stat -c '%U %G %a %s' 'up/deep/a file.bin'")"
	assert_eq "openhands 755" "$(inside "stat -c '%U %a' up")"
	assert_eq "$(sha256sum <"$T/a file.bin")" "$(inside "sha256sum <'up/deep/a file.bin'")"
}

test_a_body_in_chunks_is_the_same_file() {
	head -c 700000 /dev/urandom >"$T/f"
	ask -H 'Transfer-Encoding: chunked' -F "file=@$T/f" "$(url)/upload_file?destination=/tmp/chunks"
	assert_eq 200 "$code"
	assert_eq "$(sha256sum <"$T/f")" "$(inside "sha256sum </tmp/chunks/f")"
}

test_the_name_of_an_upload_leads_nowhere() {
	echo x >"$T/x"
	ask -F "file=@$T/x;filename=../../../tmp/../etc/y" "$(url)/upload_file?destination=/workspace/up"
	answers 200 '{"filename":"y","destination":"/workspace/up","recursive":false}'
	assert_eq x "$(inside 'cat up/y')"
	for name in .. . a/.. a/; do
		ask -F "file=@$T/x;filename=$name" "$(url)/upload_file?destination=/workspace/up"
		invalid "the filename of 'file' is no name of a file"
	done
}

test_uploads_replace_links_and_fifos_instead_of_following_them() {
	inside 'mkdir -p traps; cd traps; echo untouched >../target; ln -s ../target link; mkfifo pipe; echo old >file; chmod 750 file; cd ..'
	echo new >"$T/n"
	for name in link pipe file; do
		ask -F "file=@$T/n;filename=$name" "$(url)/upload_file?destination=/workspace/traps"
		assert_eq 200 "$code"
	done
	assert_eq $'untouched\nnew\nnew\nnew' "$(inside 'cat target traps/link traps/pipe traps/file')"
	assert_eq 750 "$(inside 'stat -c %a traps/file')"
}

test_errors_of_uploads_are_in_the_words_that_clients_know() {
	echo x >"$T/x"
	upload "$T/x" relative
	answers 500 '{"detail":"400: Destination must be an absolute path"}'
	upload "$T/x" /tmp '&recursive=true'
	answers 500 '{"detail":"400: Recursive uploads must be zip files"}'
	upload "$T/x" /workspace/README
	answers 500 "{\"detail\":\"[Errno 20] Not a directory: '/workspace/README/x'\"}"
	ask -F "file=@$T/x;filename=src" "$(url)/upload_file?destination=/workspace"
	answers 500 "{\"detail\":\"[Errno 21] Is a directory: '/workspace/src'\"}"
	upload "$T/x" /proc/nope
	answers 500 "{\"detail\":\"[Errno 2] No such file or directory: '/proc/nope'\"}"
	inside 'mkdir -p locked; chmod 555 locked'
	upload "$T/x" /workspace/locked
	answers 500 "{\"detail\":\"[Errno 13] Permission denied: '/workspace/locked/x'\"}"
	cp "$T/x" "$T/x.zip"
	upload "$T/x.zip" /workspace/up
	answers 500 '{"detail":"/workspace/up/x.zip is not a zip file"}'
}

test_what_an_upload_lacks_is_named() {
	echo x >"$T/x"
	upload "$T/x" /tmp '&recursive=maybe'
	invalid "query parameter 'recursive' must be true or false"
	upload "$T/x" /tmp%00/x
	invalid "query parameter 'destination' is no path"
	ask -F "other=@$T/x" "$(url)/upload_file?destination=/tmp"
	invalid "'file' is missing"
	ask -F "file=text" "$(url)/upload_file?destination=/tmp"
	invalid "'file' must be a file, with a filename"
	ask -F "file=@$T/x" -F "file=@$T/x" "$(url)/upload_file?destination=/tmp/twice"
	invalid "'file' is there twice"
	ask -d x "$(url)/upload_file?destination=/tmp"
	invalid "'Content-Type' must be multipart/form-data"
	ask -H 'Content-Type: multipart/form-data' -d x "$(url)/upload_file?destination=/tmp"
	invalid "'Content-Type' has no good boundary"
	ask -H 'Content-Type: multipart/form-data; boundary=b' -d 'no form' "$(url)/upload_file?destination=/tmp"
	invalid "the body does not begin with its boundary"
	ask -H 'Content-Type: multipart/form-data; boundary=b' --data-binary \
		$'--b\r\nContent-Disposition: form-data; name="file"; filename="cut"\r\n\r\nhello' "$(url)/upload_file?destination=/tmp"
	invalid "the body was cut short"
	inside '[ ! -e /tmp/cut ] && [ ! -e /tmp/twice/x ]'
}

test_a_client_that_goes_away_leaves_nothing_of_its_file() {
	local before

	before=$(processes)
	exec 9<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
	printf 'POST /upload_file?destination=/tmp/gone HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nsome bytes' "$(key)" >&9
	wait_until 10 listed /tmp '"gone/"' || fail "nothing began: $got"
	exec 9>&-
	wait_until 10 processes_are "$before" || fail "a process is left"
	ask -d '{"path":"/tmp/gone"}' "$(url)/list_files"
	answers 200 '[]'
	alive
}

# Nobody sees it inside, but its number is one of few, and it is the user's own.
test_a_process_that_was_stopped_is_told_to_go_on() {
	local line first=$'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nsome' rest=$' bytes\r\n--b--\r\n'

	exec 9<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
	printf 'POST /upload_file?destination=/tmp/stopped HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s' "$(key)" $((${#first} + ${#rest})) "$first" >&9
	wait_until 10 listed /tmp '"stopped/"' || fail "nothing began: $got"
	inside 'stopped=; read -r _ _ _ _ last </proc/loadavg; for ((p = 3; p <= last; p++)); do [ -e /proc/$p ] || { kill -STOP $p 2>/dev/null && stopped=1; }; done; [ "$stopped" ]'
	printf %s "$rest" >&9
	read -r -t 30 line <&9 || fail "it stays stopped"
	exec 9>&-
	assert_contains "$line" "200 OK"
	inside '[ "$(cat /tmp/stopped/f)" = "some bytes" ]'
	alive
}

# ---- archives --------------------------------------------------------------------------------------

# zip FILE PYTHON: an archive made by what is done with `z`.
zip() {
	python3 -c "
import zipfile, stat
z = zipfile.ZipFile('$1', 'w')
def entry(name, mode, data=b'x'):
    i = zipfile.ZipInfo(name); i.external_attr = mode << 16; z.writestr(i, data)
$2
z.close()"
}

test_a_directory_comes_as_clients_send_it() {
	mkdir -p "$T/dir/sub"
	echo one >"$T/dir/one"
	head -c 400000 /dev/urandom >"$T/dir/sub/large"
	chmod 755 "$T/dir/one"
	(cd "$T" && python3 -c "
import os, zipfile
z = zipfile.ZipFile('tmpabcd.zip', 'w')
for root, _, files in os.walk('dir'):
    for f in files: z.write(os.path.join(root, f))
z.close()")
	upload "$T/tmpabcd.zip" /workspace/copied '&recursive=true'
	answers 200 '{"filename":"tmpabcd.zip","destination":"/workspace/copied","recursive":true}'
	assert_eq "$(sha256sum <"$T/dir/sub/large")" "$(inside 'sha256sum <copied/dir/sub/large')"
	assert_eq "openhands 755" "$(inside "stat -c '%U %a' copied/dir/one")"
	assert_eq dir "$(inside 'ls -A copied')"
}

test_packed_members_are_unpacked() {
	zip "$T/z.zip" "z.writestr('a/b.txt', 'hello' * 100000, compress_type=zipfile.ZIP_DEFLATED)"
	upload "$T/z.zip" /tmp/packed
	assert_eq 200 "$code"
	assert_eq 500000 "$(inside 'stat -c %s /tmp/packed/a/b.txt')"
}

test_hostile_archives_change_nothing_outside() {
	inside 'mkdir -p /tmp/h/out /tmp/h/in; echo untouched >/tmp/h/out/file; ln -s ../out /tmp/h/in/way; ln -s ../out/file /tmp/h/in/file'
	zip "$T/up.zip" "entry('ok', 0o644); entry('../out/new', 0o644)"
	zip "$T/absolute.zip" "entry('/tmp/h/out/new', 0o644)"
	zip "$T/deep.zip" "entry('a/b/../../../out/new', 0o644)"
	zip "$T/way.zip" "entry('way/file', 0o644)"
	zip "$T/own.zip" "entry('l', stat.S_IFLNK | 0o777, b'../out'); entry('l/new', 0o644)"
	zip "$T/both.zip" "entry('b', 0o644); entry('b/new', 0o644)"
	for name in up absolute deep way own both; do
		upload "$T/$name.zip" /tmp/h/in
		assert_eq 500 "$code" "status of '$name'"
	done
	assert_eq $'file\nuntouched' "$(inside 'ls -A /tmp/h/out; cat /tmp/h/out/file')"
	assert_eq "" "$(inside 'ls -d /tmp/h/in/ok 2>/dev/null || true')"
	zip "$T/file.zip" "entry('file', 0o644, b'new'); entry('dev', stat.S_IFCHR | 0o666); entry('set', 0o6755); entry('file', 0o600, b'last')"
	upload "$T/file.zip" /tmp/h/in
	assert_eq 200 "$code"
	assert_eq $'untouched\nlast' "$(inside 'cat /tmp/h/out/file /tmp/h/in/file')"
	assert_eq $'regular file 666\nregular file 755' "$(inside "stat -c '%F %a' /tmp/h/in/dev /tmp/h/in/set")"
}

test_bombs_are_refused_before_the_first_file() {
	local members

	# Members that share their bytes, a size that the disk does not have, one that lies.
	zip "$T/overlap.zip" "
z.writestr('a', b'\0' * 1000000, compress_type=zipfile.ZIP_DEFLATED)
import copy
for n in range(1000):
    i = copy.copy(z.filelist[0]); i.filename = 'n%d' % n; z.filelist.append(i)"
	upload "$T/overlap.zip" /tmp/bomb
	answers 500 '{"detail":"/tmp/bomb/overlap.zip: the archive has entries that overlap"}'
	members=$(($(inside 'df --output=avail -B1 /tmp | tail -n 1') / 0xf0000000 + 1))
	zip "$T/large.zip" "
for n in range($members):
    z.writestr('big%d' % n, b'\0' * 1000, compress_type=zipfile.ZIP_DEFLATED)
for i in z.filelist: i.file_size = 0xf0000000"
	upload "$T/large.zip" /tmp/bomb
	answers 500 "{\"detail\":\"[Errno 28] No space left on device: '/tmp/bomb/large.zip'\"}"
	assert_eq "" "$(inside 'ls -A /tmp/bomb')"
	zip "$T/lies.zip" "z.writestr('liar', b'\0' * 10000000, compress_type=zipfile.ZIP_DEFLATED); z.filelist[0].file_size = 10"
	upload "$T/lies.zip" /tmp/bomb
	answers 500 "{\"detail\":\"/tmp/bomb/lies.zip: 'liar' is larger than it says\"}"
	assert_eq "" "$(inside 'ls -A /tmp/bomb')"
}

# ---- downloads -------------------------------------------------------------------------------------

test_a_tree_comes_back_as_it_went() {
	inside 'mkdir -p d/sub/empty d/e; cd d; head -c 600000 /dev/urandom >sub/large; echo x >sub/"na me"; ln -s sub/large link; ln -s sub dirlink; mkfifo fifo; chmod 700 sub/large; touch ö; cd ..'
	ask -D "$T/head" "$(url)/download_files?path=/workspace/d/"
	assert_eq 200 "$code"
	assert_match "$(tr -d '\r' <"$T/head")" 'content-type: application/zip'
	assert_match "$(tr -d '\r' <"$T/head")" 'content-disposition: attachment; filename="d.zip"'
	assert_match "$(tr -d '\r' <"$T/head")" "content-length: $(stat -c %s "$T/got")"
	assert_match "$(tr -d '\r' <"$T/head")" 'accept-ranges: none'
	assert_match "$(tr -d '\r' <"$T/head")" 'last-modified: [A-Z][a-z]{2}, [0-9]{2} '
	assert_match "$(tr -d '\r' <"$T/head")" 'etag: "'
	python3 -c "
import zipfile, hashlib
z = zipfile.ZipFile('$T/got')
assert z.testzip() is None
assert all(i.compress_type == 0 for i in z.infolist())
print(sorted(z.namelist()))
print(oct(z.getinfo('sub/large').external_attr >> 16), z.read('link') == z.read('sub/large'))
print(hashlib.sha256(z.read('sub/large')).hexdigest())" >"$T/seen"
	assert_eq "['link', 'sub/large', 'sub/na me', 'ö']
0o100700 True
$(inside 'sha256sum <d/sub/large' | cut -d' ' -f1)" "$(cat "$T/seen")"
}

test_a_file_is_an_archive_of_nothing() {
	ask "$(url)/download_files?path=/workspace/README"
	assert_eq "200 22" "$code $(stat -c %s "$T/got")"
}

test_errors_of_downloads_are_in_the_words_that_clients_know() {
	ask "$(url)/download_files?path=workspace"
	answers 500 '{"detail":"400: Path must be an absolute path"}'
	ask "$(url)/download_files?path=/workspace/none"
	answers 500 '{"detail":"404: File not found"}'
	ask "$(url)/download_files"
	invalid "query parameter 'path' is missing"
	ask "$(url)/download_files?path=/a%00b"
	invalid "query parameter 'path' is no path"
	inside 'mkdir -p b1 b2; ln -s nowhere b1/broken; touch b2/secret; chmod 0 b2/secret'
	ask "$(url)/download_files?path=/workspace/b1"
	answers 500 "{\"detail\":\"[Errno 2] No such file or directory: '/workspace/b1/broken'\"}"
	ask "$(url)/download_files?path=/workspace/b2"
	answers 500 "{\"detail\":\"[Errno 13] Permission denied: '/workspace/b2/secret'\"}"
}

# The client reads slowly, so that all but the first files are cut while they are on their way.
test_a_tree_that_changes_never_looks_whole() {
	inside 'mkdir -p /tmp/c; cd /tmp/c; for i in 1 2 3 4 5 6; do head -c 20000000 /dev/zero >$i; done; cd /workspace'
	mkfifo "$T/go"
	python3 - "$(url)" "$(key)" >"$T/seen" <<-'PY' &
		import http.client, sys, urllib.parse
		u = urllib.parse.urlparse(sys.argv[1])
		c = http.client.HTTPConnection(u.hostname, u.port, timeout=60)
		c.request("GET", "/download_files?path=/tmp/c", headers={"X-Session-API-Key": sys.argv[2]})
		r = c.getresponse()
		print(r.status, r.getheader("content-length"), flush=True)
		open("go").readline()
		try:
		    print("whole", len(r.read()))
		except http.client.IncompleteRead as e:
		    print("incomplete", 0 < len(e.partial) < 120000000)
	PY
	wait_until 20 grep -q '^200' "$T/seen" || fail "no answer"
	inside 'cd /tmp/c; for i in 1 2 3 4 5 6; do echo cut >$i; done; cd /workspace'
	echo go >"$T/go"
	wait
	assert_contains "$(cat "$T/seen")" "incomplete True"
	alive
	inside 'rm -r /tmp/c'
}

test_a_client_that_leaves_a_download_leaves_no_process() {
	local before line

	inside 'mkdir -p /tmp/one; head -c 100000000 /dev/zero >/tmp/one/large'
	before=$(processes)
	exec 9<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
	printf 'GET /download_files?path=/tmp/one HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\n\r\n' "$(key)" >&9
	read -r line <&9
	assert_contains "$line" "200 OK"
	exec 9>&-
	wait_until 10 processes_are "$before" || fail "it is left"
	alive
	inside 'rm -r /tmp/one'
}

# ---- what has no part here, and the viewer ---------------------------------------------------------

test_parts_that_a_session_lacks_are_answered_for() {
	ask "$(url)/vscode/connection_token"
	answers 200 '{"token":null}'
	ask -d '[{"name":"a-b_1","command":"npx","args":["-y","x"],"env":{"A":"b"}},{"name":"c","command":"d"}]' "$(url)/update_mcp_server"
	assert_eq "200 MCP server updated successfully" "$code $(json "$got" .detail)"
	[ -n "$(json "$got" .router_error_log)" ] || fail "nothing said"
	ask -d '{}' "$(url)/update_mcp_server"
	answers 400 '{"detail":"Request must be a list of MCP tools to sync"}'
	ask -d '[{"name":"a","command":"b"},{"name":"a","command":5}]' "$(url)/update_mcp_server"
	answers 500 '{"detail":"An unexpected error occurred. Please try again later.","errors":"[1].command must be a string that is not empty"}'
	ask -d 'x' "$(url)/update_mcp_server"
	assert_eq 422 "$code"
}

# view TARGET: the viewer's answer, asked for from within, where alone it is reached.
view() { # TARGET [HOST]
	inside "exec 7<>/dev/tcp/127.0.0.1/\$(sed 's/.*://' /tmp/oh-server-url); printf 'GET %s HTTP/1.1\r\nHost: ${2:-localhost}\r\nConnection: close\r\n\r\n' '$1' >&7; tr -d '\r' <&7; exec 7>&-"
}

view_status() { view "$1" | head -n 1 | cut -d' ' -f2; }

test_the_viewer_is_where_the_file_says() {
	assert_match "$(inside 'cat /tmp/oh-server-url')" '^http://localhost:[0-9]+$'
	assert_contains "$(view /)" '{"status":"File viewer server is running"}'
	inside 'printf abc >/tmp/p.png; mkfifo /tmp/f.png; printf x >/tmp/closed.png; chmod 0 /tmp/closed.png'
	assert_contains "$(view '/view?path=/tmp/p.png')" '<title>File Viewer - p.png</title>'
	assert_contains "$(view '/view?path=/tmp/p.png')" 'data:image/png;base64,YWJj'
	assert_eq "200 400 400 404 500 500 500 422 404" "$(view_status '/view?path=/tmp/p.png') $(
		view_status '/view?path=p.png') $(view_status '/view?path=/tmp') $(
		view_status '/view?path=/no.png') $(view_status '/view?path=/workspace/README') $(
		view_status '/view?path=/tmp/f.png') $(view_status '/view?path=/tmp/closed.png') $(
		view_status /view) $(view_status /nope)"
	# A page that calls this address by a name of its own learns nothing.
	assert_contains "$(view '/view?path=/tmp/p.png' evil.example)" 'HTTP/1.1 400'
	assert_contains "$(view '/view?path=/tmp/p.png' localhost.evil.example)" 'HTTP/1.1 400'
	assert_contains "$(view '/view?path=/tmp/p.png' 127.0.0.1:80)" 'HTTP/1.1 200'
}

test_nobody_outside_reaches_the_viewer() {
	local port

	port=$(inside 'cat /tmp/oh-server-url' | sed 's/.*://')
	assert_eq 000 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/")"
	[ "$OHS_AS" != root ] ||
		assert_eq 000 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://$(jq -r .address "$BASE/session.json" | sed 's/:.*//'):$port/")"
}

# ---- bad input, and a lot of it --------------------------------------------------------------------

test_bodies_that_are_no_json_are_422_and_name_what_is_wrong() {
	local route

	for route in execute_action list_files update_mcp_server; do
		ask -d '{"path": ' "$(url)/$route"
		assert_eq 422 "$code" "$route"
		head -c 10000 /dev/zero | tr '\0' '[' >"$T/deep"
		ask --data-binary "@$T/deep" "$(url)/$route"
		assert_eq 422 "$code" "$route, deep"
		printf '{"path":"\xff\xfe"}' >"$T/bytes"
		ask --data-binary "@$T/bytes" "$(url)/$route"
		assert_eq 422 "$code" "$route, not UTF-8"
		printf '{"path":"a\0b"}' >"$T/nul"
		ask --data-binary "@$T/nul" "$(url)/$route"
		assert_eq 422 "$code" "$route, NUL"
	done
	ask -d '{"path":"a\u0000b"}' "$(url)/list_files"
	invalid "'path' is no path"
	ask -d '{"path":5}' "$(url)/list_files"
	invalid "'path' must be a string"
	ask -d '[]' "$(url)/list_files"
	invalid "the body must be an object"
	head -c 104857600 /dev/zero | tr '\0' ' ' >"$T/large"
	for route in execute_action list_files update_mcp_server; do
		ask --data-binary "@$T/large" "$(url)/$route"
		assert_eq 413 "$code" "$route, 100 MiB"
	done
	alive
}

test_no_application_error_has_a_status_that_means_the_session_is_gone() {
	local body

	for body in '{"action":{"action":"read","args":{"path":"/none"}}}' '{"action":{"action":"fly"}}' '{}' 'x'; do
		ask -d "$body" "$(url)/execute_action"
		[[ $code != 404 && $code != 50[234] ]] || fail "$body: $code"
		assert_eq object "$(json "$got" type)"
	done
	ask "$(url)/nope"
	answers 404 '{"detail":"Not Found"}'
	ask -X DELETE "$(url)/upload_file"
	answers 405 '{"detail":"Method Not Allowed"}'
	ask -H 'X-Session-API-Key: x' "$(url)/upload_file"
	assert_eq 403 "$code"
}

test_one_connection_serves_all_and_says_when_it_ends() {
	python3 - "$(url)" "$(key)" <<-'PY'
		import http.client, io, sys, urllib.parse, zipfile
		u = urllib.parse.urlparse(sys.argv[1])
		c = http.client.HTTPConnection(u.hostname, u.port, timeout=60)
		k = {"X-Session-API-Key": sys.argv[2]}
		def ask(method, path, body=None, **more):
		    c.request(method, path, body, {**k, **more})
		    r = c.getresponse()
		    return r.status, r.read(), r.getheader("connection")
		form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + b'x' * 300000 + b'\r\n--b--\r\n'
		kind = {"Content-Type": "multipart/form-data; boundary=b"}
		first = None
		for i in range(20):
		    s, b, n = ask("POST", "/upload_file?destination=/tmp/keep", form, **kind)
		    assert (s, n) == (200, None), (s, b, n)
		    first = first or c.sock
		    s, b, n = ask("GET", "/download_files?path=/tmp/keep")
		    assert (s, n) == (200, None) and zipfile.ZipFile(io.BytesIO(b)).read("f") == b'x' * 300000
		    s, b, n = ask("POST", "/list_files", '{"path":"/tmp/keep"}')
		    assert (s, b, n) == (200, b'["f"]', None), (s, b, n)
		    s, b, n = ask("GET", "/download_files?path=/none")
		    assert (s, n) == (500, None)
		    assert c.sock is first
		# A refusal before the body has come ends the connection, and says so.
		s, b, n = ask("POST", "/upload_file?recursive=x", form, **kind)
		assert (s, n) == (422, "close"), (s, b, n)
	PY
}

test_many_clients_at_once_are_all_served() {
	local i

	for i in $(seq 24); do
		head -c 200000 /dev/urandom >"$T/f$i"
		curl -s -m 120 -o "$T/o$i" -H "X-Session-API-Key: $(key)" -F "file=@$T/f$i" "$(url)/upload_file?destination=/tmp/many" &
	done
	wait
	for i in $(seq 24); do
		assert_eq "{\"filename\":\"f$i\",\"destination\":\"/tmp/many\",\"recursive\":false}" "$(cat "$T/o$i")"
	done
	assert_eq 24 "$(inside 'ls /tmp/many | wc -l')"
}

test_memory_does_not_grow_with_what_is_moved() {
	local pid before after i

	[ -z "${OHS_SANITIZED:-}" ] || skip "a sanitizer keeps freed memory for a while"
	pid=$(server_pid)
	head -c 200000000 /dev/zero >"$T/big"
	upload "$T/big" /tmp/size
	before=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	for i in 1 2; do
		upload "$T/big" /tmp/size
		assert_eq 200 "$code"
		ask "$(url)/download_files?path=/tmp/size"
		assert_eq 200 "$code"
	done
	after=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
	inside 'rm -r /tmp/size'
	[ $((after - before)) -le 1024 ] || fail "grew from $before to $after KiB"
	[ "$after" -le 8192 ] || [ -n "${OHS_SANITIZED:-}" ] || fail "$after KiB"
}

test_a_process_that_is_killed_fails_its_request_alone() {
	local before pid line

	inside 'mkdir -p /tmp/k; head -c 300000000 /dev/zero >/tmp/k/large'
	before=$(processes)
	exec 9<>"/dev/tcp/127.0.0.1/$(url | sed 's/.*://')"
	printf 'GET /download_files?path=/tmp/k HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\n\r\n' "$(key)" >&9
	read -r line <&9
	pid=$(comm -13 <(echo "$before") <(processes))
	kill -9 "$pid"
	timeout 30 cat <&9 >"$T/rest" || fail "no end"
	exec 9>&-
	[ "$(stat -c %s "$T/rest")" -lt 300000000 ] || fail "it was whole"
	ask -d '{"path":"/tmp/k"}' "$(url)/list_files"
	answers 200 '["large"]'
	inside 'rm -r /tmp/k'
}

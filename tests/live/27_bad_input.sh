#!/bin/bash
# SPDX-License-Identifier: MIT
# Requests to execute actions that are none: of wrong types, without what they need, cut short, begun and
# left. Each gets its status and a text that names the field, and the session lives on. Bodies that are no
# JSON at all, too large or too deep are in 22_transfers.sh.

file_setup() {
	need cmd curl
	need cmd python3
	cd "$BASE/work" || return 1
	ohs start --empty >"$BASE/session.json" || return 1
	kept "$(jq -r .id "$BASE/session.json")"
	library >"$BASE/work/bad.py"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

url() { jq -r .url "$BASE/session.json"; }
key() { jq -r .session_api_key "$BASE/session.json"; }

library() {
	cat <<-'PY'
		import http.client, json, os, socket, sys
		HOST, PORT, KEY = "127.0.0.1", int(os.environ["PORT"]), os.environ["KEY"]
		conn = http.client.HTTPConnection(HOST, PORT, timeout=60)

		def ask(method, path, body=None, **head):
		    """Status and body, over the one connection."""
		    conn.request(method, path, body, {"X-Session-API-Key": KEY, **head})
		    r = conn.getresponse()
		    return r.status, r.read().decode()

		def post(event, **head):
		    return ask("POST", "/execute_action", event if isinstance(event, (bytes, str)) else json.dumps(event), **head)

		def begin(text, length=None):
		    """A connection that has sent so much of a request for an action."""
		    s = socket.create_connection((HOST, PORT), timeout=60)
		    body = text.encode() if isinstance(text, str) else text
		    s.sendall(f"POST /execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: {KEY}\r\nContent-Length: {length or len(body)}\r\n\r\n".encode() + body)
		    return s

		def run(command, **more):
		    return {"action": {"action": "run", "args": {"command": command, **more}, "timeout": 30.0}}

		def lives():
		    assert ask("GET", "/alive") == (200, '{"status":"ok"}')
		    status, text = post(run("echo $((6 * 7))"))
		    assert status == 200 and json.loads(text)["content"] == "42", text
	PY
}

python() { PORT=$(url | sed 's/.*://') KEY=$(key) PYTHONPATH=$BASE/work PYTHONDONTWRITEBYTECODE=1 python3 - "$@"; }

test_arguments_of_wrong_types_are_named() {
	python <<-'PY'
		from bad import *
		NOT = {"text": (5, 1.5, True, [], {}, ["x"]), "flag": (5, "true", [], {}, 0), "int": ("1", 1.5, True, [], {}),
		       "list": (5, "1", True, {})}
		kinds = {
		    "run": ({"command": "text"}, {"cwd": "text", "is_input": "flag", "blocking": "flag", "is_static": "flag", "hidden": "flag"}),
		    "read": ({"path": "text"}, {"start": "int", "end": "int", "impl_source": "text"}),
		    "write": ({"path": "text", "content": "text"}, {"start": "int", "end": "int"}),
		    "edit": ({"path": "text"}, {"command": "text", "file_text": "text", "old_str": "text", "new_str": "text", "impl_source": "text"}),
		    "run_ipython": ({"code": "text"}, {"kernel_init_code": "text", "include_extra": "flag"}),
		    "browse": ({"url": "text"}, {"return_axtree": "flag"}),
		    "browse_interactive": ({"browser_actions": "text"}, {"browsergym_send_msg_to_user": "text", "return_axtree": "flag"}),
		}
		tried = 0
		for kind, (needed, others) in kinds.items():
		    good = {name: "/tmp/none" for name in needed}
		    for name, of in {**needed, **others}.items():
		        for wrong in NOT[of]:
		            status, text = post({"action": {"action": kind, "args": {**good, name: wrong}}})
		            detail = json.loads(text)["detail"]
		            assert status == 500 and f"'{name}'" in detail and kind in detail, (kind, name, wrong, status, text)
		            tried += 1
		    for name in needed:
		        for without in ({k: v for k, v in good.items() if k != name}, {**good, name: None}):
		            status, text = post({"action": {"action": kind, "args": without}})
		            assert status == 500 and f"'{name}' is missing" in text, (kind, name, status, text)
		    for args in (5, "x", [], True):
		        status, text = post({"action": {"action": kind, "args": args}})
		        assert status == 500 and "'args' must be an object" in text, (kind, args, status, text)
		assert tried > 100, tried
		lives()
	PY
}

test_events_that_are_no_actions_are_refused() {
	python <<-'PY'
		from bad import *
		for body, status, words in (
		    ("[]", 422, ""), ("5", 422, ""), ('"x"', 422, ""), ("null", 422, ""), ("", 422, ""), ("{}", 422, "action"),
		    ('{"action":5}', 422, "action"), ('{"action":"run"}', 422, "action"), ('{"action":[]}', 422, "action"),
		    ('{"action":{}}', 500, "Unknown event type"), ('{"action":{"action":5,"args":{}}}', 500, "action"),
		    ('{"action":{"action":{},"args":{}}}', 500, "action"),
		    ('{"action":{"action":"run","args":{"command":"x"},"timeout":"5"}}', 500, "'timeout'"),
		    ('{"action":{"action":"run","args":{"command":"x"},"timeout":-1}}', 500, "'timeout'"),
		    ('{"action":{"action":"run","args":{"command":"x"},"timeout":1e300}}', 500, "'timeout'"),
		    ('{"action":{"action":"run","args":{"command":"x"},"timeout":[]}}', 500, "'timeout'"),
		    ('{"action":{"action":"run","action":"run","args":{"command":"x"}}}', 422, "action"),
		    ('{"action":{"action":"run","args":{"command":"x","cwd":"a\\u0000b"}}}', 500, "'cwd' is no path"),
		    ('{"action":{"action":"run","args":{"command":"\\ud800"}}}', 422, ""),
		    ('{"action":{"action":"run","args":{"command":"x"}}} x', 422, ""),
		    ('\ufeff{"action":{"action":"run","args":{"command":"x"}}}', 422, ""),
		):
		    got, text = post(body.encode())
		    assert got == status and words in text, (body, got, text)
		    assert json.loads(text)["detail"], text
		lives()
	PY
}

# No beginning of a request is one: neither with the right length and half the text, nor cut off on the way.
test_actions_that_are_cut_short_are_not_done() {
	python <<-'PY'
		from bad import *
		whole = json.dumps(run("echo done >>/tmp/cut; true"))
		for n in range(len(whole)):
		    status, text = post(whole[:n])
		    assert status == 422 and "errors" in json.loads(text), (n, status, text)
		for n in range(0, len(whole) + 1, 3):
		    s = begin(whole[:n], len(whole) + 1)
		    s.shutdown(socket.SHUT_WR)
		    assert s.recv(4096)[9:12] in (b"", b"400"), n
		    s = begin(whole[:n], len(whole) + 1)
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
		    s.close()
		for cut in ("5\r\n{\"act", "5\r\n", "5", "", "x\r\n", "-1\r\n", "ffffffffffffffffff\r\n{", "1\r\n{}"):
		    s = socket.create_connection((HOST, PORT), timeout=60)
		    s.sendall(f"POST /execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: {KEY}\r\nTransfer-Encoding: chunked\r\n\r\n{cut}".encode())
		    s.shutdown(socket.SHUT_WR)
		    assert s.recv(4096)[9:12] in (b"", b"400"), cut
		status, text = post(run("cat /tmp/cut"))
		assert "No such file" in text, text
		lives()
	PY
}

test_commands_may_hold_any_byte() {
	python <<-'PY'
		from bad import *
		status, text = post(run("echo a\0b; echo c"))
		assert status in (200, 500) and json.loads(text), (status, text)
		for c in list(range(1, 32)) + [127, 0x80, 0xff, 0x2028, 0xfffe, 0x10ffff]:
		    status, text = post(run("printf %s '" + chr(c) + "' | od -An -tx1 | tr -d ' '", is_static=True))
		    assert status == 200 and json.loads(text)["content"] == chr(c).encode().hex(), (c, text)
		lives()
	PY
}

test_who_leaves_in_the_middle_leaves_the_action_and_the_session() {
	python <<-'PY'
		from bad import *
		for n in range(20):
		    s = begin(json.dumps(run(f"read -r x </tmp/gate; echo {n} >>/tmp/left") if n == 0 else run(f"echo {n} >>/tmp/left")))
		    if n % 2: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
		    s.close()
		assert ask("GET", "/alive")[0] == 200
		status, text = ask("GET", "/actions")
		first = min(a["id"] for a in json.loads(text)["actions"] if a["what"].endswith("/tmp/left"))
		assert ask("POST", f"/actions/{first}/cancel")[0] in (200, 409)
		status, text = post(run("wc -l </tmp/left"))
		assert status == 200 and int(json.loads(text)["content"]) >= 19, text
		lives()
	PY
}

# As many as are served at once have a place; of these, those that say nothing give theirs up first.
test_a_thousand_of_whom_some_have_begun_to_ask_keep_nobody_out() {
	ulimit -n 2048 2>/dev/null || skip "no thousand descriptors"
	python <<-'PY'
		from bad import *
		begun = [begin('{"action', 1000 + i) for i in range(200)]
		silent = [socket.create_connection((HOST, PORT), timeout=60) for i in range(800)]
		conn.close()
		lives()
		for s in begun[::2]: s.close()
		lives()
		for s in begun[1::2] + silent: s.close()
		conn.close()
		lives()
	PY
}

# Anybody on the host may connect. More of them than there is room for, each with half a head.
test_half_sent_heads_make_room_for_whole_ones() {
	python <<-'PY'
		from bad import *
		crowd = []
		for _ in range(400):
		    s = socket.create_connection((HOST, PORT), timeout=60)
		    s.sendall(b"GET /alive HTTP/1.1\r\nHost: ")
		    crowd.append(s)
		lives()
		def gone(s):
		    s.settimeout(20)
		    try:
		        return s.recv(100) == b""
		    except ConnectionResetError:
		        return True
		assert gone(crowd[0]), "the oldest is still there"
		crowd[-1].sendall(b"x\r\nConnection: close\r\n\r\n")
		assert crowd[-1].recv(100).startswith(b"HTTP/1.1 200"), "the newest was thrown out"
	PY
}

test_keys_of_repetition_that_are_none_are_refused() {
	python <<-'PY'
		from bad import *
		for key in ("", "x" * 256):
		    status, text = post(run("echo x"), **{"Idempotency-Key": key})
		    assert status == 422 and "Idempotency-Key" in text, (key, status, text)
		for key in ("x" * 255, "\"'; \\", "{}"):
		    assert post(run("echo x"), **{"Idempotency-Key": key})[0] == 200, key
		lives()
	PY
}

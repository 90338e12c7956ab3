# SPDX-License-Identifier: MIT
"""Every route of the daemon with every field of its requests wrong in every way.

    serve_fields.py URL KEY

There must be a session `here`, which runs. What is wrong is answered by 4xx with a `detail`, what is
right (null for what may be left out) by 2xx; a session that was started so is stopped. Nothing is ever
answered by 5xx, but 501 where nothing is built, and nothing has changed afterwards. What is not so is
printed, a line each, and the exit status is 1.
"""

import json
import re
import socket
import sys

URL, KEY = sys.argv[1], sys.argv[2]
HOST, PORT = URL.removeprefix("http://").rsplit(":", 1)
PLACE = f"{HOST}:{PORT}"
wrong = []
asked = 0


def send(text):
    """All that is answered to these bytes."""
    answer = b""
    with socket.create_connection((HOST, int(PORT)), 60) as s:
        s.settimeout(60)
        try:
            s.sendall(text)
        except OSError:
            pass  # it was refused before it was read whole: the answer says so
        while True:
            try:
                piece = s.recv(65536)
            except ConnectionError:
                piece = b""
            if not piece:
                return answer
            answer += piece


def request(method, path, body=b"", headers=(), host=PLACE, key=KEY):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if key is not None:
        lines.append(f"X-API-Key: {key}")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def statuses(answer):
    return [int(n) for n in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", answer)]


def ask(text):
    """(status, text of the body); 0 where there is no answer."""
    global asked
    asked += 1
    answer = send(text)
    head, _, body = answer.partition(b"\r\n\r\n")
    return (statuses(head) or [0])[0], body.decode("utf-8", "replace")


def complain(what, status, body):
    wrong.append(f"{what[:300]}: {status} {body[:200]!r}")


def has_detail(body):
    try:
        return isinstance(json.loads(body)["detail"], str)
    except (ValueError, KeyError, TypeError):
        return False


def refused(what, text, among=range(400, 500)):
    status, body = ask(text)
    if status not in among or not has_detail(body):
        complain(what, status, body)


def taken(what, text):
    status, body = ask(text)
    if not 200 <= status < 300:
        complain(what, status, body)
    return status, body


def state():
    """What there is: all that clients are shown of it but of starts that came to nothing."""
    native = json.loads(ask(request("GET", "/v1/sessions"))[1])["sessions"]
    listed = json.loads(ask(request("GET", "/list"))[1])["runtimes"]
    by_name = lambda r: r.get("name") or r["session_id"]
    return (sorted((s for s in native if s["state"] != "failed"), key=by_name), sorted(listed, key=by_name))


# --- values ---------------------------------------------------------------------------------------

RAW = {  # as they stand in the text
    "true": "bool",
    "false": "bool",
    "0": "int",
    "-1": "int",
    "1.5": "real",
    "1e400": "real",
    "-0": "int",
    "99999999999999999999999999": "number",
    "9223372036854775807": "int",
    '""': "text",
    '"\\u0000"': "nul",
    '"a\\u0000b"': "nul",
    '"\\ud800"': "syntax",
    '"\x01"': "syntax",
    "[]": "list",
    "[1]": "list",
    '[null]': "list",
    '[[["a"]]]': "list",
    "{}": "object",
    '{"a":1}': "object",
    '{"a":{"b":{}}}': "object",
    "[" * 3000: "syntax",
    '{"a":' * 500: "syntax",
    "[" * 500 + "]" * 500: "syntax",
    "nul": "syntax",
    "NaN": "syntax",
    "Infinity": "syntax",
    "0x10": "syntax",
    "01": "syntax",
    "'a'": "syntax",
    "": "syntax",
}
PATHS = ['"worktree:/etc"', '"worktree:../.."', '"worktree:/proc/self/root"', '"worktree:"']
BAD_UTF8 = [b'"\xff"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\xf8\x88\x80\x80\x80"']

# field: which kinds of the above are right, and further values that are wrong
START = {
    "image": ({"text*"}, PATHS + ['""', '"%s"' % ("a" * 70000)]),
    "session_id": ({"text*"}, ['""', '"-a"', '"a/b"', '".."', '"../here"', '"a b"', '"é"', '"0123456789ab"', '"%s"' % ("a" * 300)]),
    "command": ({"text", "list*"}, ['["a",1]', '["a",null]', '["a\\u0000"]', '["-m","openhands.runtime.action_execution_server","x"]']),
    "working_dir": ({"text*"}, ['"workspace"', '"../.."', '""', '"/%s"' % ("a" * 5000)]),
    "environment": ({"object*"}, ['{"A":1}', '{"A":null}', '{"A":["x"]}', '{"":"x"}', '{"A=B":"x"}', '{"A\\u0000":"x"}', '{"A":"x\\u0000"}', '{"A":"1","A":"2"}', '{"OHSANDBOX_REPO":"/etc"}', '{"OHSANDBOX_REPO":"../.."}']),
    "resource_factor": ({"number*"}, ["0", "-1", "1.5", "1000000", '"1"']),
    "run_as_user": ({"number*"}, ["-1", "4294967295", "4294967296", '"0"', "1.5"]),
    "run_as_group": ({"number*"}, ["-1", "4294967295", '"0"', "1.5"]),
}
NAMED = {"runtime_id": ({"text"}, [])}  # a text that names nobody is 404
EXEC = {
    "command": ({"text"}, []),
    "cwd": ({"text"}, []),
    "timeout": ({"number*"}, ["0", "-1", "1e300", "3601", '"1"']),
}
PAUSE = {"to_disk": ({"bool"}, ["0", "1", '"true"'])}

# method, path, a body that is right as a dict of raw values, fields, whether null is as good as nothing
BODIES = [
    ("POST", "/start", {"image": '"img"', "session_id": '"fuzzed"'}, START, True),
    ("POST", "/v1/sessions", {"image": '"img"', "session_id": '"fuzzed"'}, START, True),
    ("POST", "/stop", {"runtime_id": '"nobody"'}, NAMED, False),
    ("POST", "/pause", {"runtime_id": '"nobody"'}, NAMED, False),
    ("POST", "/resume", {"runtime_id": '"nobody"'}, NAMED, False),
    ("POST", "/v1/sessions/here/exec", {"command": '"true"'}, EXEC, False),
    ("POST", "/v1/sessions/here/pause", {"to_disk": "false"}, PAUSE, False),
]


def text_of(members):
    return b"{" + b",".join(b'"%s":%s' % (k.encode(), v if isinstance(v, bytes) else v.encode()) for k, v in members) + b"}"


def is_wrong(kind, right):
    """A kind of value that a field never takes; where it is not sure, the answer is either."""
    return kind == "syntax" or (kind != "nul" and not any(r.rstrip("*") == kind or (r.startswith("number") and kind in ("int", "real")) for r in right))


def either(method, path, what, text):
    """It may be right: then it is undone; it must not break anything."""
    status, body = ask(text)
    if status >= 500 or status == 0 or (status >= 400 and not has_detail(body)):
        complain(what, status, body)
    elif status < 400 and path in ("/start", "/v1/sessions"):
        made = json.loads(body)
        taken(f"stop after {what}", request("POST", "/stop", json.dumps({"runtime_id": made.get("runtime_id") or made["id"]}).encode()))


def fuzz_field(method, path, good, field, right, more):
    others = [(k, v) for k, v in good.items() if k != field]

    def text(value):
        return request(method, path, text_of(others + [(field, value)]))

    for value, kind in RAW.items():
        what = f"{method} {path} {field}={value[:60]}"
        if is_wrong(kind, right):
            refused(what, text(value))
        elif path != "/v1/sessions/here/pause":
            either(method, path, what, text(value))
    for value in more + BAD_UTF8:
        refused(f"{method} {path} {field}={value[:60]!r}", text(value))
    refused(f"{method} {path} {field} twice", request(method, path, text_of(list(good.items()) + [(field, good.get(field, '"x"')), (field, good.get(field, '"x"'))])))
    refused(f"{method} {path} {field} of 2 MB", text('"' + "a" * (2 << 20) + '"'))


def fuzz_body(method, path, good, fields, null_is_nothing):
    for body in (b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xef\xbb\xbf{}", b"{}x", b"\0", b"{'a':1}", b"{" * 100000, b"\xff" * 100):
        if not body and path.endswith("/pause") and path != "/pause":
            continue  # that says nothing of how, and is right
        refused(f"{method} {path} {body[:40]!r}", request(method, path, body))
    for field, (right, more) in fields.items():
        fuzz_field(method, path, good, field, right, more)
        if null_is_nothing and field != "image":
            others = [(k, v) for k, v in good.items() if k != field]
            either(method, path, f"{method} {path} {field}=null", request(method, path, text_of(others + [(field, "null")])))


# --- paths and queries ----------------------------------------------------------------------------

SEGMENTS = ["nobody", "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "here%00", "here%2f", "HERE", "%ff", "%c0%af", "*", "?", "~", "a" * 3000, "%", "%zz", "here;x", "here,here", "%68ere%20", "0123456789ab", "é", "'or'1'='1"]
WITH_SEGMENT = [
    ("GET", "/sessions/{}"),
    ("GET", "/runtime/{}"),
    ("GET", "/v1/sessions/{}"),
    ("DELETE", "/v1/sessions/{}"),
    ("POST", "/v1/sessions/{}/pause"),
    ("POST", "/v1/sessions/{}/resume"),
    ("POST", "/v1/sessions/{}/exec"),
    ("GET", "/v1/sessions/{}/diff"),
    ("GET", "/v1/sessions/{}/files?path=/"),
    ("POST", "/v1/sessions/{}/files?destination=/"),
    ("GET", "/v1/sessions/{}/events"),
]
QUERIES = [
    ("/sessions/batch", "ids"),
    ("/image_exists", "image"),
    ("/build_status", "build_id"),
    ("/v1/sessions/here/diff", "format"),
    ("/v1/sessions/here/files", "path"),
    ("/list", "x"),
    ("/healthz", "x"),
    ("/registry_prefix", "x"),
    ("/api/warm-runtime-configs", "x"),
    ("/metrics", "x"),
]
QUERY_VALUES = ["", "%", "%zz", "%00", "%ff", "..%2f..", "a" * 3000, "a&{0}=b&{0}", "&&&&", "=", "%0d%0aX:%20y", "{}", "[1]", "%F0%9F%98%80"]


def fuzz_paths():
    for method, path in WITH_SEGMENT:
        for s in SEGMENTS:
            body = b'{"command":"true"}' if path.endswith("exec") else b""
            refused(f"{method} {path} of {s[:40]}", request(method, path.format(s), body))
    for path, name in QUERIES:
        for v in QUERY_VALUES:
            status, body = ask(request("GET", f"{path}?{name}={v.replace('{0}', name)}"))
            if status == 0 or (status >= 500 and status != 501) or (status >= 400 and not has_detail(body)):
                complain(f"GET {path}?{name}={v[:40]}", status, body)
            if "\nX: y" in body:
                complain(f"GET {path}?{name}={v[:40]}", status, body)
    # What goes into another server's URL must not end the header it stands in.
    for v in ("%0d%0aX:%20y", "a%0aX:%20y"):
        if b"\nX: y" in send(request("GET", f"/v1/sessions/here/files?path={v}")):
            wrong.append("a header was forged by a query")
    for path in ("/start", "/v1/sessions/here", "/list", "/metrics", "/v1/events", "/nowhere"):
        for method in ("PUT", "PATCH", "HEAD", "TRACE", "CONNECT", "get", "G\x00T", "A" * 300, "PROPFIND"):
            status, _ = ask(request(method, path))
            if not 400 <= status < 500 and status != 501:
                complain(f"{method[:20]} {path}", status, "")


# --- what the wire may hold -----------------------------------------------------------------------


def fuzz_wire():
    me, key = f"Host: {PLACE}", f"X-API-Key: {KEY}"

    def raw(*lines, body=b""):
        return "\r\n".join((*lines, "Connection: close", "", "")).encode("latin-1") + body

    get = "GET /list HTTP/1.1"
    keys = [
        ("no key", raw(get, me)),
        ("an empty key", raw(get, me, "X-API-Key:")),
        ("two keys", raw(get, me, key, "X-API-Key: x")),
        ("two keys, the other way", raw(get, me, "X-API-Key: x", key)),
        ("its prefix", raw(get, me, key[:-1])),
        ("its beginning", raw(get, me, key[:12])),
        ("with more", raw(get, me, key + "0")),
        ("twice in one", raw(get, me, f"{key},{KEY}")),
        ("with a blank", raw(get, me, f"X-API-Key: {KEY[:32]} {KEY[32:]}")),
        ("in quotes", raw(get, me, f'X-API-Key: "{KEY}"')),
        ("with a NUL", raw(get, me, f"{key}\0")),
        ("in capitals", raw(get, me, f"X-API-Key: {KEY.upper()}x")),
        ("of the session", raw(get, me, f"X-Session-API-Key: {KEY}")),
        ("in the path", raw(f"GET /list?key={KEY} HTTP/1.1", me)),
        ("in a cookie", raw(get, me, f"Cookie: X-API-Key={KEY}")),
        ("of a name folded", raw(get, me, "X-API", f" -Key: {KEY}")),
        ("before a blank", raw(get, me, f"X-API-Key : {KEY}")),
    ]
    for what, text in keys:
        refused(f"key: {what}", text, (400, 403))
    hosts = ["evil.example", "127.0.0.1", f"{PLACE}.", f"x@{PLACE}", f"{PLACE}@x", f"{PLACE},evil", f"{HOST}:0{PORT}", f"{HOST}.evil:{PORT}", f"[::ffff:127.0.0.1]:{PORT}", f"0.0.0.0:{PORT}", f"127.1:{PORT}", f"{PLACE}/", f"{PLACE}#", f"http://{PLACE}", "", " ", "\t", "a" * 5000]
    for h in hosts:
        refused(f"host: {h[:40]!r}", raw(get, f"Host: {h}", key), (400, 421, 431))
    refused("no host", raw(get, key), (400, 421))
    refused("two hosts", raw(get, me, "Host: evil.example", key), (400, 421))
    refused("two hosts that are one", raw(get, me, me, key), (400,))
    targets = ["http://evil.example/list", f"http://evil.example@{PLACE}/list", f"//{PLACE}/list", "*", PLACE, "list", "/list#x", "/list\\..", "/./list", "/x/../list", "/list/", "//list", "/%6cist/..", "/list%2f", "/list%00", "/list;x", "/LIST", "http://", "https:/list", "/" + "a" * 9000, "/list\x01", "/l\xefst"]
    for t in targets:
        refused(f"target: {t[:40]!r}", raw(f"GET {t} HTTP/1.1", me, key), (400, 404, 414, 421, 431))
    for h in ("X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE", "Sec-Fetch-Site: none", "X-Original-URL: /start", "X-Rewrite-URL: /stop", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example", "Accept-Encoding: gzip, br", "Range: bytes=0-1", "If-None-Match: *"):
        taken(h, raw("GET /v1/sessions/here HTTP/1.1", me, key, h))
    for h in ("http://evil.example", "null", f"http://{PLACE}", ""):
        for site in ("cross-site", "same-site", "same-origin", "none"):
            refused(f"origin {h} {site}", raw(get, me, key, f"Origin: {h}", f"Sec-Fetch-Site: {site}"), (403,))
    for site in ("cross-site", "none"):
        refused(f"a page without a key, {site}", raw(get, me, f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: no-cors"), (403,))
    post, some = "POST /stop HTTP/1.1", b'{"runtime_id":"here"}'
    n = len(some)
    for what, lines in (
        ("two lengths", (f"Content-Length: {n}", "Content-Length: 1")),
        ("a list of lengths", (f"Content-Length: {n}, {n}",)),
        ("a length and chunks", (f"Content-Length: {n}", "Transfer-Encoding: chunked")),
        ("chunks that are none", ("Transfer-Encoding: chunked",)),
        ("an unknown encoding", ("Transfer-Encoding: gzip",)),
        ("chunks twice", ("Transfer-Encoding: chunked, chunked",)),
        ("chunks of a sort", ("Transfer-Encoding: xchunked",)),
        ("a length below nothing", ("Content-Length: -1",)),
        ("a length with a sign", (f"Content-Length: +{n}",)),
        ("a length of another base", (f"Content-Length: 0x{n:x}",)),
        ("a huge length", ("Content-Length: 99999999999999999999",)),
        ("a large length", ("Content-Length: 1000000000",)),
        ("a blank before the colon", (f"Content-Length : {n}",)),
        ("a folded line", ("X: a", f" Content-Length: {n}")),
        ("a NUL", ("X: a\0b", f"Content-Length: {n}")),
        ("an unknown expectation", ("Expect: 200-ok", f"Content-Length: {n}")),
        ("many lines", tuple(f"X-{i}: a" for i in range(3000)) + (f"Content-Length: {n}",)),
        ("a long line", ("X: " + "a" * 100000, f"Content-Length: {n}")),
    ):
        refused(f"wire: {what}", raw(post, me, key, *lines, body=some), (400, 411, 413, 417, 431, 501, 422))
    for line in ("GET /list", "GET  /list HTTP/1.1", "GET /list HTTP/9.9", "GET /list HTTP/1.1 x", " GET /list HTTP/1.1", "GET\t/list HTTP/1.1", "/list", "PRI * HTTP/2.0", "GET /list http/1.1", "\x16\x03\x01"):
        refused(f"line: {line!r}", raw(line, me, key), (400, 405, 404, 421, 505))
    refused("lines of LF alone", f"{get}\n{me}\n{key}\n\n".encode(), (400, 408))
    pipelined()


def pipelined():
    one = request("GET", "/v1/sessions/here").replace(b"Connection: close\r\n", b"")
    last = request("GET", "/list")
    none = request("GET", "/v1/sessions/nobody").replace(b"Connection: close\r\n", b"")
    if statuses(send(one + none + one + last)) != [200, 404, 200, 200]:
        wrong.append("pipelined requests are not answered in order")
    # What cannot be understood is the last that is heard: a stop is behind it.
    stop = request("POST", "/stop", b'{"runtime_id":"here"}')
    for bad in (b"x\r\n\r\n", one.replace(b"Host", b"Host: a\r\nHost"), b"POST /stop HTTP/1.1\r\n" + f"Host: {PLACE}\r\nX-API-Key: {KEY}\r\n".encode() + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"):
        got = statuses(send(one + bad + stop))
        if len(got) != 2 or got[0] != 200 or not 400 <= got[1] < 500:
            wrong.append(f"behind {bad[:30]!r}: {got}")


def main():
    before = state()
    for row in BODIES:
        fuzz_body(*row)
    fuzz_paths()
    fuzz_wire()
    after = state()
    if before != after:
        wrong.append(f"it was {before}, and is {after}")
    print(f"{asked} requests")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())

# SPDX-License-Identifier: MIT
"""hostile.py - stands in for a session's executor, and answers as badly as it can.

    hostile.py DIR    listens on 127.0.0.1; its port is in DIR/port
    hostile.py list   the names of the answers, each with what must come of it: ok or bad

Which answer it is stands in the command of the action that it is asked for, or else in DIR/case. When a
connection is over, how many bytes were taken of it is in DIR/taken-NAME.
"""

import json
import os
import socket
import struct
import sys
import threading
import time

PIECE = 65536
ENOUGH = 1 << 30  # nobody may take so much
DRIP = 0.05  # seconds


def reply(body, status="200 OK", more=""):
    if isinstance(body, str):
        body = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def observation(content='"x"', code="0", more=""):
    return f'{{"content":{content},"extras":{{"metadata":{{"exit_code":{code}}}}}{more}}}'


def head(*lines, status="200 OK"):
    return "\r\n".join((f"HTTP/1.1 {status}",) + lines + ("", "")).encode()


def chunked(*chunks):
    return head("Transfer-Encoding: chunked") + b"".join(chunks)


def endless(first, again):
    """`first`, then `again` until nobody wants more."""
    many = again * (PIECE // len(again) + 1)

    def pieces():
        yield first
        for _ in range(ENOUGH // len(many)):
            yield many

    return pieces


def drip(first, again):
    """A byte now and then."""

    def pieces():
        yield first
        while True:
            for at in range(len(again)):
                time.sleep(DRIP)
                yield again[at : at + 1]

    return pieces


GOOD = observation().encode()
HANG, RESET = "hang", "reset"

# name: (what must come of it, bytes or pieces, and what is done then: close, HANG or RESET)
ANSWERS = {
    # no answer
    "close": ("bad", b""),
    "silence": ("bad", b"", HANG),
    "reset": ("bad", b"", RESET),
    "no-http": ("bad", b"SSH-2.0-hello\r\n\r\n"),
    "http09": ("bad", GOOD),
    "http2": ("bad", b"HTTP/2 200\r\ncontent-length: 0\r\n\r\n"),
    # heads
    "head-part": ("bad", b"HTTP/1.1 200 OK\r\nContent-Le"),
    "head-part-silence": ("bad", b"HTTP/1.1 200 OK\r\nContent-Le", HANG),
    "head-reset": ("bad", b"HTTP/1.1 200 OK\r\nContent-Le", RESET),
    "head-line-endless": ("bad", endless(b"HTTP/1.1 200 OK\r\nX: ", b"a")),
    "head-lines-endless": ("bad", endless(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n")),
    "head-drip": ("bad", drip(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n")),
    "head-no-cr": ("bad", b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}"),
    "head-nul": ("bad", b"HTTP/1.1 200 OK\0\r\nContent-Length\0: 2\r\n\r\n{}"),
    "status-000": ("bad", reply(GOOD, "000 None")),
    "status-999": ("bad", reply(GOOD, "999 Much")),
    "status-long": ("bad", reply(GOOD, "20000 OK")),
    "status-escape": ("bad", reply(GOOD, "500 \x1b[2J\x07")),
    "status-204": ("bad", b"HTTP/1.1 204 No Content\r\n\r\n"),
    "status-304": ("bad", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "status-101": ("bad", head("Upgrade: x", "Connection: upgrade", status="101 Switching Protocols"), HANG),
    "interim": ("ok", b"HTTP/1.1 100 Continue\r\n\r\n" + reply(GOOD)),
    "interim-endless": ("bad", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    "interim-drip": ("bad", drip(b"", b"HTTP/1.1 103 Early\r\n\r\n")),
    "redirect": ("bad", reply(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n")),
    "redirect-here": ("bad", reply(b"", "307 Temporary Redirect", "Location: /execute_action\r\n")),
    # lengths
    "length-none": ("bad", b"HTTP/1.1 200 OK\r\n\r\n" + GOOD),
    "length-short": ("bad", head("Content-Length: 3") + GOOD),
    "length-long": ("bad", head("Content-Length: 3000") + GOOD),
    "length-long-silence": ("bad", head("Content-Length: 3000") + GOOD, HANG),
    "length-huge": ("bad", endless(head("Content-Length: 1099511627776"), b"a")),
    "length-2-64": ("bad", head("Content-Length: 18446744073709551617") + GOOD),
    "length-much": ("bad", endless(head("Content-Length: 200000000"), b"[")),
    "length-negative": ("bad", head("Content-Length: -1") + GOOD),
    "length-plus": ("bad", head(f"Content-Length: +{len(GOOD)}") + GOOD),
    "length-twice": ("bad", head("Content-Length: 1", f"Content-Length: {len(GOOD)}") + GOOD),
    "length-and-chunks": ("bad", head("Content-Length: 3", "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "encoding-unknown": ("bad", head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"),
    "body-reset": ("bad", head("Content-Length: 3000") + GOOD, RESET),
    "body-drip": ("bad", drip(head("Content-Length: 100000"), b"[")),
    # chunks
    "chunks": ("ok", chunked(*(b"1\r\n%c\r\n" % c for c in GOOD), b"0\r\n\r\n")),
    "chunk-huge": ("bad", endless(chunked(b"ffffffff\r\n"), b"a")),
    "chunk-huger": ("bad", endless(chunked(b"ffffffffffffffffff\r\n"), b"a")),
    "chunk-much": ("bad", endless(chunked(b"c000000\r\n"), b"[")),
    "chunk-negative": ("bad", chunked(b"-1\r\n", GOOD)),
    "chunk-0x": ("bad", chunked(b"0x1\r\na\r\n0\r\n\r\n")),
    "chunk-no-end": ("bad", chunked(b"2\r\nabc\r\n0\r\n\r\n")),
    "chunk-extension-endless": ("bad", endless(chunked(b"1;"), b"a")),
    "chunks-tiny-endless": ("bad", endless(chunked(), b"1\r\n[\r\n")),
    "chunks-endless": ("bad", endless(chunked(), b"1000\r\n" + b"[" * 4096 + b"\r\n")),
    "chunks-drip": ("bad", drip(chunked(), b"1\r\n[\r\n")),
    "chunks-cut": ("bad", chunked(b"2\r\n{}\r\n")),
    # what is in the body
    "json-none": ("bad", reply("")),
    "json-null": ("bad", reply("null")),
    "json-list": ("bad", reply("[]")),
    "json-cut": ("bad", reply(GOOD[:-1])),
    "json-twice": ("bad", reply(GOOD + GOOD)),
    "json-deep": ("bad", reply("[" * 1000000)),
    "json-deep-objects": ("bad", reply('{"a":' * 200000)),
    "json-wide": ("bad", reply("[" + "0," * 1000000 + "0]")),
    "json-keys-twice": ("bad", reply(observation(more=',"content":"y"'))),
    "json-not-utf8": ("bad", reply(b'{"content":"\xff\xfe","extras":{"metadata":{"exit_code":0}}}')),
    "json-surrogate": ("bad", reply(observation('"\\ud800"'))),
    "json-nul": ("ok", reply(observation('"a\\u0000b"'))),
    "json-controls": ("ok", reply(observation('"\\u001b[2J\\r\\nforged\\u009b\\u007f"'))),
    "content-number": ("bad", reply(observation("1"))),
    "content-object": ("bad", reply(observation('{"content":"x"}'))),
    "content-much": ("bad", reply(observation('"' + "a" * (20 << 20) + '"'))),
    "code-real": ("bad", reply(observation(code="0.5"))),
    "code-huge": ("bad", reply(observation(code="1" + "0" * 400))),
    "code-e999": ("bad", reply(observation(code="1e999"))),
    "code-2-63": ("bad", reply(observation(code="9223372036854775808"))),
    "code-negative": ("bad", reply(observation(code="-2"))),
    "code-256": ("bad", reply(observation(code="256"))),
    "code-text": ("bad", reply(observation(code='"0"'))),
    "detail-forged": ("bad", reply(json.dumps({"detail": "no\nohsandbox: forged\r\x1b[2J\x9b\x7f"}))),
    "detail-much": ("bad", reply(json.dumps({"detail": "é" * 1000000}))),
    "detail-forged-500": ("bad", reply(json.dumps({"detail": "no\nohsandbox: forged\x1b[2J"}), "500 No")),
    "good": ("ok", reply(GOOD)),
    # what is said of how long nobody asked
    "idle-huge": ("busy", reply('{"idle_time":1e300}')),
    "idle-2-63": ("busy", reply('{"idle_time":9223372036854775807}')),
    "idle-long": ("idle", reply('{"idle_time":86400.5}')),
    "idle-negative": ("busy", reply('{"idle_time":-5}')),
    "idle-text": ("busy", reply('{"idle_time":"1000"}')),
    "idle-forged": ("busy", reply('{"idle_time":"x\\nidle 000000000000"}')),
    "idle-list": ("busy", reply("[1000]")),
}


def take_request(c):
    """The action's command, or None."""
    text = b""
    while b"\r\n\r\n" not in text:
        piece = c.recv(PIECE)
        if not piece:
            return None
        text += piece
    top, body = text.split(b"\r\n\r\n", 1)
    length = 0
    for line in top.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += c.recv(PIECE)
    try:
        return json.loads(body)["action"]["args"]["command"]
    except (ValueError, KeyError, TypeError):
        return None


def give(c, pieces):
    taken = 0
    if isinstance(pieces, bytes):
        pieces = (pieces,)
    else:
        pieces = pieces()
    try:
        for piece in pieces:
            c.sendall(piece)
            taken += len(piece)
    except OSError:
        pass
    return taken


def leave(c, how):
    if how == HANG:
        try:
            while c.recv(PIECE):
                pass
        except OSError:
            pass
    elif how == RESET:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


def serve(c, where):
    name = take_request(c)
    if name not in ANSWERS:
        name = open(f"{where}/case").read().strip()
    _, pieces, how = (ANSWERS[name] + ("",))[:3]
    taken = give(c, pieces)
    with open(f"{where}/taken-{name}", "a") as f:
        f.write(f"{taken}\n")
    leave(c, how)


def main(where):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(256)
    with open(f"{where}/port.new", "w") as f:
        f.write(str(s.getsockname()[1]))
    os.rename(f"{where}/port.new", f"{where}/port")
    while True:
        c, _ = s.accept()
        threading.Thread(target=serve, args=(c, where), daemon=True).start()


if sys.argv[1] == "list":
    for name, row in ANSWERS.items():
        print(name, row[0])
else:
    main(sys.argv[1])

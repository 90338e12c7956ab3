# SPDX-License-Identifier: MIT
"""Clients that take their time, or never come to an end.

    slow.py crowd URL KEY COUNT DIR   so many connections that are as slow as can be, each begun anew when
                                      it is closed, until there is a file DIR/over. DIR/begun is there when
                                      all have been begun, and some anew; at the end DIR/closed says how many were closed
    slow.py vanish URL KEY            clients that go away at each stage of a /start
"""

import json
import os
import resource
import select
import socket
import struct
import sys
import time

ANEW = 400  # connections a second
BEAT = 1.0  # seconds between bytes
SETTLED = 5  # beats until those that can stay hold all places


def address(url):
    host, port = url.removeprefix("http://").rsplit(":", 1)
    return host, int(port)


def request(url, key, path, body, length=None):
    lines = [f"POST {path} HTTP/1.1", f"Host: {url.removeprefix('http://')}", f"Content-Length: {length or len(body)}"]
    if key:
        lines.append(f"X-API-Key: {key}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


# --- a crowd --------------------------------------------------------------------------------------


def kinds(url, key):
    """(what is sent at once, what follows a byte a second)"""
    whole = request(url, key, "/start", b'{"image":"img"', 60000)
    nobody = request(url, None, "/start", b"", 60000)
    status = f"GET /metrics HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\nX-API-Key: {key}\r\n\r\n".encode()
    return [
        (b"", b""),
        (whole[:30], b""),
        (b"", whole),
        (whole, b""),
        (whole, b" " * 60000),
        (nobody, b"x" * 60000),
        (status * 50, b""),  # and never reads
    ]


class Slow:
    def __init__(self, number, to, kind):
        self.number, self.to, self.kind, self.at = number, to, kind, 0
        self.socket = None

    def begin(self, poll):
        s = socket.socket()
        s.setblocking(False)
        # Ports of one address would be used up by those that were closed.
        s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        s.bind((f"127.0.0.{2 + self.number % 16}", 0))
        self.socket, self.at = s, 0
        if s.connect_ex(self.to) == 0:
            self.speak()
        poll.register(s, select.EPOLLRDHUP if self.at else select.EPOLLOUT)

    def speak(self):
        self.send(self.kind[0])
        self.at = 1

    def send(self, data):
        try:
            self.socket.send(data)
        except OSError:
            pass  # what became of it is told by the poll

    def beat(self):
        if self.at and self.at <= len(self.kind[1]):
            self.send(self.kind[1][self.at - 1 : self.at])
            self.at += 1

    def ready(self, poll, events):
        """Whether it is there still."""
        if events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
            poll.unregister(self.socket)
            self.socket.close()
            self.socket = None
            return False
        if events & select.EPOLLOUT and not self.at:
            self.speak()
            poll.modify(self.socket, select.EPOLLRDHUP)
        return True


def crowd(url, key, count, where):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 100), hard))
    poll, all_kinds = select.epoll(), kinds(url, key)
    all_slow = [Slow(i, address(url), all_kinds[i % len(all_kinds)]) for i in range(count)]
    gone, by_fd, closed, last = list(all_slow), {}, 0, time.monotonic()
    allowed, beats = count, 0
    while not os.path.exists(f"{where}/over"):
        while gone and allowed > 0:
            s = gone.pop(0)
            s.begin(poll)
            by_fd[s.socket.fileno()] = s
            allowed -= 1
        if beats == SETTLED:
            open(f"{where}/begun", "w").close()
        for fd, events in poll.poll(0.1):
            if not by_fd[fd].ready(poll, events):
                closed += 1
                gone.append(by_fd.pop(fd))
        if time.monotonic() - last >= BEAT:
            last, allowed, beats = time.monotonic(), ANEW, beats + 1
            for s in by_fd.values():
                s.beat()
    with open(f"{where}/closed", "w") as f:
        f.write(f"{closed}\n")


# --- those that vanish ----------------------------------------------------------------------------


def leave(s, reset):
    if reset:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def vanish(url, key):
    n = 0
    for reset in (False, True):
        for part in (0, 0.01, 0.3, 0.5, 0.8, 0.95, 1):  # of the request
            for answer in (0,) if part < 1 else (0, 0, 1, 9, 20, 100, 200):  # bytes of the answer
                n += 1
                body = json.dumps({"image": "img", "session_id": f"v{n}"}).encode()
                text = request(url, key, "/start", body)
                s = socket.create_connection(address(url), 60)
                s.sendall(text[: int(len(text) * part)])
                if answer:
                    s.recv(answer)
                leave(s, reset)
    print(n)


if sys.argv[1] == "crowd":
    crowd(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
else:
    vanish(sys.argv[2], sys.argv[3])

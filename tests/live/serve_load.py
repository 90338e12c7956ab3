# SPDX-License-Identifier: MIT
"""Clients of a daemon that dies again and again, and what they were told of their sessions.

    serve_load.py SOCKET KEY CLIENTS DIR

Until there is a file DIR/end: each client starts, uses, pauses, resumes and stops sessions, a few at a
time. For each answer DIR/answers grows by a byte. Then it is looked whether each session a client was
told of and did not stop is there and is itself, whether none is there that nobody asked for, and all are
stopped. What is not so is printed, a line each, and the exit status is 1.
"""

import http.client
import json
import os
import random
import socket
import sys
import threading
import time

SOCKET, KEY, CLIENTS, DIR = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
SLOW = int(os.environ.get("OHS_SLOW", "1"))
PATIENCE = 60 * SLOW  # seconds for one answer, and until a daemon is there again
KEPT = 3  # sessions of one client at a time

wrong = []
lock = threading.Lock()


class Unanswered(Exception):
    """The daemon went away before its answer came: it may have been done or not."""


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(SOCKET)


def complain(text):
    with lock:
        wrong.append(text)


def is_over():
    return os.path.exists(f"{DIR}/end")


def connected():
    deadline = time.monotonic() + PATIENCE
    while True:
        c = Connection("localhost")
        try:
            c.connect()
            return c
        except OSError:
            c.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # nothing tells that a daemon listens


def ask(method, path, body=None):
    """(status, object); Unanswered when the daemon died meanwhile."""
    c = connected()
    try:
        c.request(method, path, None if body is None else json.dumps(body), {"X-API-Key": KEY})
        r = c.getresponse()
        text = r.read()
    except (OSError, http.client.HTTPException) as e:
        if isinstance(e, socket.timeout):
            complain(f"{method} {path}: no answer in {PATIENCE} s")
        raise Unanswered() from e
    finally:
        c.close()
    with open(f"{DIR}/answers", "ab") as f:
        f.write(b".")
    return r.status, json.loads(text)


def ask_again(method, path, body=None):
    """Of what changes nothing, or nothing more when it is done twice."""
    while True:
        try:
            return ask(method, path, body)
        except Unanswered:
            pass


def settled(name):
    """The session when no start of it is under way any more; None: there is none."""
    deadline = time.monotonic() + PATIENCE
    while True:
        status, r = ask_again("GET", f"/sessions/{name}")
        if status == 404:
            return None
        if status != 200:
            complain(f"{name}: GET answers {status} {r}")
            return None
        if r["status"] != "starting":
            return r
        if time.monotonic() > deadline:
            complain(f"{name}: it starts for ever: {r}")
            return r
        time.sleep(0.02)  # as its clients do


class Session:
    def __init__(self, name):
        self.name, self.told, self.marked = name, None, False

    def start(self):
        status, r = ask("POST", "/start", {"image": "img", "session_id": self.name})
        if status != 200:
            complain(f"{self.name}: /start answers {status} {r}")
            return
        known = tuple(r[k] for k in ("runtime_id", "url", "session_api_key"))
        if self.told and self.told != known:
            complain(f"{self.name}: it was {self.told}, and is {known}")
        self.told = known

    def exec(self, command):
        """What it prints. Of a session that runs: once it does, as a pause may be under way still."""
        status, r = ask("POST", f"/v1/sessions/{self.name}/exec", {"command": command, "timeout": 30})
        if status != 200 or r["exit_code"] != 0:
            complain(f"{self.name}: exec answers {status} {r}")
            return ""
        return r["output"].strip()

    def mark(self):
        self.exec(f"echo {self.name} >/workspace/mark")
        self.marked = True

    def check(self):
        if not self.marked:
            if self.exec("echo ready") != "ready":
                complain(f"{self.name}: it does not work")
        elif self.exec("cat /workspace/mark") != self.name:
            complain(f"{self.name}: its file is not there")

    def pause(self):
        status, r = ask("POST", f"/v1/sessions/{self.name}/pause", {"to_disk": random.random() < 0.5})
        if status != 200:
            complain(f"{self.name}: pause answers {status} {r}")

    def resume(self):
        status, r = ask("POST", "/resume", {"runtime_id": self.told[0]})
        if status != 200 or r["status"] not in ("running", "starting"):
            complain(f"{self.name}: /resume answers {status} {r}")
        self.wait_for("running")

    def wait_for(self, state):
        r = settled(self.name)
        if r is None or r["status"] != state:
            complain(f"{self.name}: it is not {state}, but {r}")

    def stop(self):
        """Whether it is gone. An answer that was lost is asked for once more: a 404 then is it."""
        lost = False
        while True:
            try:
                status, r = ask("POST", "/stop", {"runtime_id": self.told[0] if self.told else self.name})
            except Unanswered:
                lost = True
                continue
            if status != 200 and not (status == 404 and (lost or not self.told)):
                complain(f"{self.name}: /stop answers {status} {r}")
            return

    def repair(self):
        """After an answer that never came: what has it become?"""
        r = settled(self.name)
        if self.told is None:
            return  # whether it is there or not: both are right
        if r is None:
            complain(f"{self.name}: it is lost")
        elif tuple(r[k] for k in ("runtime_id", "url", "session_api_key")) != self.told:
            complain(f"{self.name}: it was {self.told}, and is {r}")
        elif r["status"] == "error":
            complain(f"{self.name}: it is broken: {r}")


class Client(threading.Thread):
    def __init__(self, number):
        super().__init__()
        self.number, self.turn, self.sessions = number, 0, []

    def fresh(self):
        self.turn += 1
        s = Session(f"c{self.number}-{self.turn}")
        self.sessions.append(s)
        return s

    def step(self, s):
        kind = random.choice(("use", "use", "pause", "again", "stop"))
        if kind == "use":
            s.mark() if not s.marked else s.check()
        elif kind == "pause":
            s.pause()
            s.resume()
        elif kind == "again":
            s.start()
        else:
            self.sessions.remove(s)
            s.stop()

    def work(self):
        while not is_over() and not wrong:
            s = self.fresh() if len(self.sessions) < KEPT else random.choice(self.sessions)
            try:
                if s.told:
                    self.step(s)
                else:
                    s.start()
            except Unanswered:
                s.repair()
                self.ready(s)

    def ready(self, s):
        """Running again, whatever was under way: a start is what clients fall through to."""
        while True:
            try:
                s.start()
                s.wait_for("running")
                return
            except Unanswered:
                s.repair()

    def run(self):
        try:
            self.work()
        except Exception as e:  # whatever it is, the others must end too
            complain(f"client {self.number}: {type(e).__name__}: {e}")


def each(clients, what):
    for c in clients:
        for s in list(c.sessions):
            try:
                what(s)
            except Unanswered:
                complain(f"{s.name}: the daemon is gone")


def check_end(s):
    r = settled(s.name)
    if s.told is None:
        return
    if r is None:
        complain(f"{s.name}: it is lost")
    elif r["status"] != "running":
        complain(f"{s.name}: it is not running: {r}")
    else:
        s.check()


def main():
    clients = [Client(i) for i in range(CLIENTS)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    open(f"{DIR}/end", "a").close()  # what they found has ended them
    each(clients, check_end)
    owned = {s.name for c in clients for s in c.sessions}
    for r in ask_again("GET", "/v1/sessions")[1]["sessions"]:
        if r["state"] != "failed" and r["name"] not in owned:
            complain(f"{r['name']}: nobody owns it: {r}")
    each(clients, Session.stop)
    turns = sum(c.turn for c in clients)
    print(f"{turns} sessions")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stand in for the control plane of a remote runtime: a few calls in front of `ohsandbox start`.

    control_plane.py PROGRAM DIR KEY        prints its port, and serves until its input ends

It is for tests of clients: one session a `/start`, over DIR, as the user that the client's command names.
"""
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROGRAM, DIRECTORY, KEY = sys.argv[1:4]
runtimes = {}


def argument(command, name, otherwise):
    return command[command.index(name) + 1] if name in command else otherwise


def start(request):
    command = request["command"]
    user = argument(command, "--username", "openhands")
    environment = [word for k, v in request["environment"].items() for word in ("--env", f"{k}={v}")]
    out = subprocess.run(
        [PROGRAM, "start", "--dir", DIRECTORY, "--user", user, *environment], check=True, capture_output=True, text=True
    ).stdout
    session = json.loads(out)
    runtimes[session["id"]] = {"runtime_id": session["id"], "url": session["url"], "session_id": request["session_id"],
                               "session_api_key": session["session_api_key"], "work_hosts": {}}
    return dict(runtimes[session["id"]], status="starting")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def allowed(self):
        if self.headers.get("X-API-Key") == KEY:
            return True
        self.answer(403, {"detail": "the control plane's key is missing"})
        return False

    def do_GET(self):
        if not self.allowed():
            return
        what, _, name = self.path.strip("/").partition("/")
        if what == "sessions":
            known = [r for r in runtimes.values() if r["session_id"] == name]
            self.answer(*((200, dict(known[0], status="running")) if known else (404, {"detail": "no such session"})))
        elif what == "runtime" and name in runtimes:
            self.answer(200, {"runtime_id": name, "pod_status": "ready", "status": "running", "restart_count": 0})
        else:
            self.answer(404, {"detail": "Not Found"})

    def do_POST(self):
        request = self.body()
        if not self.allowed():
            return
        if self.path == "/start":
            self.answer(200, start(request))
        elif self.path == "/stop":
            runtime = runtimes.pop(request["runtime_id"], None)
            if runtime:
                subprocess.run([PROGRAM, "stop", runtime["runtime_id"]], check=True)
            self.answer(200, {})
        else:
            self.answer(404, {"detail": "Not Found"})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the published RemoteRuntime does with a session over time, on a worktree of a repository.

    v0_life.py API_URL KEY REPOSITORY      `ok NAME` or `not ok NAME: why`, a line an operation

Connect, attach, pause, resume in each of the ways the client has, stop. The repository has a commit that is
tagged `v1` and a later one; its file `version` says which. See tests/clients/run.
"""
import asyncio
import json
import sys
import time
import urllib.error
import urllib.request

from scenario import check, failed, leave
from v0_runtime import make_runtime, run

URL, KEY, REPOSITORY = sys.argv[1:4]
SID = "life"
IMAGE = f"worktree:{REPOSITORY}@v1"


def api(path, body=None):
    """What the operator's own tools would ask: the status, and the answer."""
    request = urllib.request.Request(URL + path, headers={"X-API-Key": KEY, "Content-Type": "application/json"},
                                     data=None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def status():
    code, session = api("/sessions/" + SID)
    return session["status"] if code == 200 else code


def client(**how):
    return make_runtime(URL, KEY, SID, image=IMAGE, keep=how.pop("keep", True), **how)


def connected(**how):
    runtime = client(**how)
    asyncio.run(runtime.connect())
    return runtime


def begin(clients):
    @check("attaching_to_what_is_not_there_is_an_error")
    def _():
        try:
            connected(attach=True)
        except Exception as e:  # noqa: BLE001
            assert type(e).__name__ == "AgentRuntimeNotFoundError", repr(e)
        else:
            raise AssertionError("it connects")

    @check("connect_to_a_worktree")
    def _():
        clients.append(connected())
        seen = run(clients[0], "cat version && git log -1 --format=%s && git status --porcelain && pwd && whoami")
        assert seen.content.splitlines() == ["one", "the first", "/workspace", "openhands"], seen

    @check("work_in_a_worktree")
    def _():
        seen = run(clients[0], "echo mine >work && git add work && git commit -qm work && git log --oneline | wc -l")
        assert seen.exit_code == 0 and seen.content == "2", seen

    @check("re_attach")
    def _():
        other = connected(attach=True)
        assert other.runtime_id == clients[0].runtime_id
        assert run(other, "cat work").content == "mine"
        other.close()
        assert status() == "running" and run(clients[0], "cat work").content == "mine"


def pauses(clients):
    first = clients[0]

    @check("close_pauses_what_is_kept_alive")
    def _():
        run(first, "echo $$ >shell; (trap '' HUP; exec sleep 1000) & echo $! >sleeper")
        first.close()
        assert status() == "paused", status()

    @check("resume_what_was_paused")
    def _():
        clients.append(connected())
        assert clients[1].runtime_id == first.runtime_id and clients[1].session.headers["X-Session-API-Key"]
        seen = run(clients[1], "cat work; test -d /proc/$(cat sleeper) && echo and its processes")
        assert seen.content.splitlines() == ["mine", "and its processes"], seen

    # Not by an action: the client holds its lock of one action at a time while it resumes, and waits for
    # that lock itself when it then sets the variables anew.
    @check("resume_after_503")
    def _():
        assert api(f"/v1/sessions/{first.runtime_id}/pause", {"to_disk": True})[0] == 200
        assert status() == "paused", status()
        assert "work" in clients[1].list_files() and status() == "running"
        seen = run(clients[1], "cat work; test -d /proc/$(cat sleeper) || echo without its processes; echo $GIVEN")
        assert seen.content.splitlines() == ["mine", "without its processes", 'a "b" c'], seen

    @check("attach_to_what_was_paused_to_disk")
    def _():
        assert api(f"/v1/sessions/{first.runtime_id}/pause", {"to_disk": True})[0] == 200
        other = connected(attach=True)
        assert run(other, "cat work && git log -1 --format=%s").content.splitlines() == ["mine", "work"]
        other.close()

    @check("close_stops_what_is_not")
    def _():
        connected(keep=False).close()
        assert status() == 404, status()


def sleeps():
    @check("an_action_wakes_what_was_idle")
    def _():
        runtime = make_runtime(URL, KEY, "sleepy", image="sleeps", keep=False)
        asyncio.run(runtime.connect())
        assert run(runtime, "echo mine >/workspace/work").exit_code == 0
        for _ in range(600):
            if api("/sessions/sleepy")[1]["status"] == "paused":
                break
            time.sleep(0.1)
        assert api("/sessions/sleepy")[1]["status"] == "paused"
        seen = run(runtime, "cat /workspace/work; echo $GIVEN")
        assert seen.exit_code == 0 and seen.content.splitlines()[0] == "mine", seen
        assert run(runtime, "echo again").content == "again"
        runtime.close()
        assert api("/sessions/sleepy")[0] == 404


def main():
    clients = []

    begin(clients)
    if not failed:
        pauses(clients)
    sleeps()


if __name__ == "__main__":
    main()
    leave()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drive V1's application server, unmodified and by its environment alone, with the daemon as its runtime API.

    app_scenario.py API_URL KEY IMAGE      `ok NAME` or `not ok NAME: why`, a line an operation

It is the published server, begun as its own documentation says and asked over its REST API: sandboxes by its
remote sandbox service, then a conversation whose agent works in one of them. IMAGE is a root file system that
holds the agent server, and "ends:any" one whose program says where it should send news, and ends. As in v1_scenario.py the
model is a script and runs in the sandbox, which has no network. See tests/clients/run.
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ.update(LOG_LEVEL="ERROR", LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")

import httpx  # noqa: E402
from openhands.sdk.workspace import RemoteWorkspace  # noqa: E402

from scenario import check, leave  # noqa: E402

URL, KEY, IMAGE = sys.argv[1:4]
WEB_URL = "https://app.example"
SCRIPT = [
    ["terminal", {"command": "echo was $(cat /workspace/version)", "security_risk": "LOW", "summary": "look"}],
    ["file_editor", {"command": "create", "path": "/workspace/project/notes", "file_text": "by the agent\n",
                     "security_risk": "LOW", "summary": "write"}],
    ["finish", {"message": "It is done.", "summary": "end"}],
]


class Server:
    """A published application server, and its API."""

    def __init__(self, place, **environment):
        repository, tag = IMAGE.split(":")
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "openhands.app_server.app:app", "--host", "127.0.0.1", "--port", "0"],
            cwd=place, stdout=self.log, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": place, "OH_PERSISTENCE_DIR": place, "RUNTIME": "remote",
                 "SANDBOX_REMOTE_RUNTIME_API_URL": URL, "SANDBOX_API_KEY": KEY, "AGENT_SERVER_IMAGE_TAG": tag,
                 "AGENT_SERVER_IMAGE_REPOSITORY": repository, "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                 "OH_AGENT_SERVER_ENV": json.dumps({"OF_THE_OPERATOR": "yes"}), **environment})
        self.api = httpx.Client(base_url=f"http://127.0.0.1:{self.port()}/api/v1", timeout=60)

    def port(self):
        def said():
            self.log.seek(0)
            text = self.log.read()
            assert self.process.poll() is None, text[-1500:]
            return re.search(r"running on http://127\.0\.0\.1:(\d+)", text)

        return until(said, 120)[1]

    def ask(self, method, path, expected=200, **how):
        answer = self.api.request(method, path, **how)
        assert answer.status_code == expected, (answer.status_code, answer.text[:500])
        return answer.json()

    def sandbox(self, id_):
        return self.ask("GET", "/sandboxes", params={"id": id_})[0]

    def reaches(self, id_, status, seconds=90):
        """The sandbox in this state. Its server may answer before it has written down what it says."""
        return until(lambda: (now := self.sandbox(id_)) and now["status"] == status and now, seconds)

    def end(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def until(condition, seconds):
    """What the condition answers when it answers something. A server over HTTP tells of nothing: it is asked."""
    deadline = time.monotonic() + seconds
    while not (seen := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.3)
    return seen


def runtime(id_):
    """What the daemon says to its operator: the status, or the whole object."""
    answer = httpx.get(f"{URL}/sessions/{id_}", headers={"X-API-Key": KEY})
    return answer.json() if answer.status_code == 200 else {"status": answer.status_code}


def address(sandbox):
    return {known["name"]: known["url"] for known in sandbox["exposed_urls"]}["AGENT_SERVER"]


def workspace_of(sandbox):
    return RemoteWorkspace(host=address(sandbox), api_key=sandbox["session_api_key"], working_dir="/workspace/project")


def done(sandbox, command):
    result = workspace_of(sandbox).execute_command(command, timeout=30)
    assert result.exit_code == 0, result
    return result.stdout


def sandbox_operations(server, known):
    @check("start_a_sandbox")
    def _():
        began = server.ask("POST", "/sandboxes")
        assert began["status"] in ("STARTING", "RUNNING") and began["session_api_key"], began
        known.update(server.reaches(began["id"], "RUNNING"))
        assert known["session_api_key"] == began["session_api_key"] and known["sandbox_spec_id"] == IMAGE, known

    if not known:
        return

    @check("its_environment")
    def _():
        seen = done(known, "env").splitlines()
        for wanted in "WORKER_1=12000", "OH_BASH_EVENTS_DIR=/workspace/bash_events", "OF_THE_OPERATOR=yes":
            assert wanted in seen, seen
        assert not any(KEY in line for line in seen)

    @check("search_and_batch")
    def _():
        assert [s["id"] for s in server.ask("GET", "/sandboxes/search")["items"]] == [known["id"]]
        found = server.ask("GET", "/sandboxes", params={"id": [known["id"], "unheard-of"]})
        assert found[0]["status"] == "RUNNING" and found[1] is None, found

    @check("pause_and_resume")
    def _():
        server.ask("POST", f"/sandboxes/{known['id']}/pause")
        assert server.sandbox(known["id"])["status"] == "PAUSED" == runtime(known["id"])["status"].upper()
        server.ask("POST", f"/sandboxes/{known['id']}/resume")
        again = server.reaches(known["id"], "RUNNING")
        assert (again["session_api_key"], address(again)) == (known["session_api_key"], address(known)), again
        assert done(again, "cat /workspace/version") == "two\n"


def prepare(server, sandbox):
    """A model where the agent is, and a browser's name: the server gives every agent a browser, unasked."""
    place = workspace_of(sandbox)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(SCRIPT, f)
        f.flush()
        assert place.file_upload(f.name, "/tmp/script.json").success
    assert place.file_upload(os.path.dirname(os.path.abspath(__file__)) + "/model.py", "/tmp/model.py").success
    port = int(done(sandbox, "mkdir -p ~/.local/bin && ln -s /bin/false ~/.local/bin/chromium;"
                    " setsid python3 /tmp/model.py /tmp/script.json >/tmp/model.log 2>&1 </dev/null &"
                    " until grep -q . /tmp/model.log; do sleep 0.1; done; head -n 1 /tmp/model.log"))
    llm = {"model": "openai/scripted", "base_url": f"http://127.0.0.1:{port}/v1", "api_key": "none"}
    server.ask("POST", "/settings", json={"agent_settings_diff": {"llm": llm}})


def start_conversation(server, **how):
    task = server.ask("POST", "/app-conversations", json={
        "initial_message": {"role": "user", "content": [{"type": "text", "text": "Do it."}], "run": True}, **how})

    def over():
        now = server.ask("GET", "/app-conversations/start-tasks", params={"ids": task["id"]})[0]
        return now if now["status"] in ("READY", "ERROR") else None

    return until(over, 150)


def conversation_operations(server, known):
    talk = {}

    def conversation():
        return server.ask("GET", "/app-conversations", params={"ids": talk["app_conversation_id"]})[0]

    @check("a_conversation_comes_to_its_end")
    def _():
        prepare(server, known)
        # The agent server gives its browser some seconds to begin, which are too few on a busy machine.
        for _ in range(3):
            talk.update(start_conversation(server, sandbox_id=known["id"]))
            if talk["status"] == "READY":
                break
        assert talk["status"] == "READY", talk["detail"]
        until(lambda: conversation()["execution_status"] == "finished", 90)

    if talk.get("status") != "READY":
        return

    @check("its_work_is_in_the_sandbox")
    def _():
        assert "was two" in done(known, "cat /tmp/model.log")
        answer = httpx.get(f"{URL}/v1/sessions/{known['id']}/diff", headers={"X-API-Key": KEY})
        assert "project/notes" in [change["path"] for change in answer.json()["changes"]], answer.text

    @check("the_server_asks_for_its_events")
    def _():
        path = f"/conversation/{talk['app_conversation_id']}/events/search"
        until(lambda: "finish" in [e.get("tool_name") for e in server.ask("GET", path)["items"]], 60)

    @check("a_paused_sandbox_is_told_of_as_such")
    def _():
        answer = httpx.post(f"{URL}/v1/sessions/{known['id']}/pause", headers={"X-API-Key": KEY}, json={"to_disk": True})
        assert answer.status_code == 200 and conversation()["sandbox_status"] == "PAUSED", conversation()
        server.ask("POST", f"/app-conversations/{talk['app_conversation_id']}/send-message", 409,
                   json={"content": [{"type": "text", "text": "More."}]})

    @check("it_goes_on_from_the_disk")
    def _():
        server.ask("POST", f"/sandboxes/{known['id']}/resume")
        again = server.reaches(known["id"], "RUNNING")
        assert done(again, "cat /workspace/project/notes") == "by the agent\n"
        assert until(conversation, 20)["execution_status"] == "finished", conversation()

    @check("a_deleted_conversation_takes_its_sandbox_along")
    def _():
        server.ask("DELETE", f"/app-conversations/{talk['app_conversation_id']}")
        until(lambda: runtime(known["id"])["status"] == 404, 30)


def limits_and_failures(server):
    """A second server, set by its injectors: two sandboxes at most, a URL for webhooks, two kinds of sandbox."""
    began = [server.ask("POST", "/sandboxes", params={"sandbox_spec_id": "any"})["id"] for _ in range(2)]

    @check("the_oldest_sandbox_is_paused_for_a_new_one")
    def _():
        began.append(server.ask("POST", "/sandboxes", params={"sandbox_spec_id": "any"})["id"])
        for id_, status in zip(began, ("PAUSED", "RUNNING", "RUNNING")):
            server.reaches(id_, status, 20)

    @check("a_program_that_ends_is_told_of")
    def _():
        server.ask("POST", "/sandboxes", 500, params={"sandbox_spec_id": "ends:any"})
        known = httpx.get(URL + "/v1/sessions", headers={"X-API-Key": KEY}).json()["sessions"]
        # Others of other clients' are still known as well.
        failed = [one for one in known if one["state"] == "failed" and f"{WEB_URL}/api/v1/webhooks" in one["detail"]]
        assert len(failed) == 1, [(one["state"], one["detail"]) for one in known]
        said = runtime(failed[0]["name"])["pod_logs"].strip()
        assert said and said.splitlines()[-1] in failed[0]["detail"], (said, failed)

    @check("delete")
    def _():
        for id_ in began:
            server.ask("DELETE", f"/sandboxes/{id_}", params={"sandbox_id": id_})
            assert runtime(id_)["status"] == 404, runtime(id_)
        server.ask("DELETE", "/sandboxes/gone", 404, params={"sandbox_id": "gone"})


@contextlib.contextmanager
def served(name, **environment):
    """The server of these settings while the block lasts; nothing where it does not begin."""
    server = []
    with tempfile.TemporaryDirectory() as place:
        @check(name)
        def _():
            server.append(Server(place, **environment))

        try:
            yield server
        finally:
            for one in server:
                one.end()


def main():
    known = {}
    with served("the_published_server_begins") as server:
        for part in (sandbox_operations, conversation_operations) if server else ():
            if part is sandbox_operations or known:
                part(server[0], known)
    specs = [{"id": "any", "command": None}, {"id": "ends:any", "command": None}]
    with served("and_with_its_injectors", OH_SANDBOX_KIND="RemoteSandboxServiceInjector", OH_SANDBOX_API_URL=URL,
                OH_SANDBOX_API_KEY=KEY, OH_SANDBOX_MAX_NUM_SANDBOXES="2", OH_WEB_URL=WEB_URL,
                OH_SANDBOX_SPEC_KIND="RemoteSandboxSpecServiceInjector",
                OH_SANDBOX_SPEC_SPECS=json.dumps(specs)) as server:
        if server:
            limits_and_failures(server[0])


if __name__ == "__main__":
    main()
    leave()

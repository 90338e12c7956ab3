#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drive the published APIRemoteWorkspace, unmodified, and the published agent server inside its session.

    v1_scenario.py API_URL KEY IMAGE      `ok NAME` or `not ok NAME: why`, a line an operation

The daemon's configuration says that IMAGE is a root file system that holds the agent server. A session has no
network, so the scripted model runs in it, started through the workspace. It works on a repository whose file
`version` says "two". See tests/clients/run.
"""
import json
import logging
import os
import sys
import tempfile

os.environ.update(LOG_LEVEL="ERROR", LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")

import httpx  # noqa: E402
from openhands.sdk import LLM, Agent, Conversation, Tool  # noqa: E402
from openhands.tools.file_editor import FileEditorTool  # noqa: E402
from openhands.tools.terminal import TerminalTool  # noqa: E402
from openhands.workspace import APIRemoteWorkspace  # noqa: E402
from pydantic import SecretStr  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from scenario import check, failed, leave  # noqa: E402

URL, KEY, IMAGE = sys.argv[1:4]
SID = "workspace-of-v1"
PROJECT = "/workspace"
SCRIPT = [
    ["terminal", {"command": "echo was $(cat version)", "security_risk": "LOW", "summary": "look"}],
    ["file_editor", {"command": "create", "path": PROJECT + "/notes", "file_text": "by the agent\n",
                     "security_risk": "LOW", "summary": "write"}],
    ["finish", {"message": "It is done.", "summary": "end"}],
]


def open_workspace(**how):
    return APIRemoteWorkspace(runtime_api_url=URL, runtime_api_key=KEY, server_image=IMAGE, session_id=SID,
                              working_dir=PROJECT, **how)


def api(path, body=None):
    """What the operator's own tools would ask: the status, and the answer."""
    answer = httpx.request("GET" if body is None else "POST", URL + path, headers={"X-API-Key": KEY}, json=body)
    return answer.status_code, answer


def status():
    code, answer = api("/sessions/" + SID)
    return answer.json()["status"] if code == 200 else code


def done(workspace, command, **how):
    result = workspace.execute_command(command, **how)
    assert result.exit_code == 0, result
    return result.stdout


def workspace_operations(workspace):
    @check("the_published_server_answers")
    def _():
        assert workspace.get_server_info()["version"] == "1.58.0", workspace.get_server_info()

    @check("commands")
    def _():
        seen = workspace.execute_command("pwd; id -u; echo wrong >&2; exit 3")
        assert (seen.exit_code, seen.stdout, seen.stderr) == (3, f"{PROJECT}\n1000\n", "wrong\n"), seen
        # Its own clock or the server's, whichever is first.
        seen = workspace.execute_command("sleep 30", timeout=1)
        assert seen.exit_code == -1 and "Remote execution error" not in seen.stderr, seen

    @check("a_long_output")
    def _():
        assert len(done(workspace, "head -c 3000000 /dev/zero | tr '\\0' x")) == 3000000

    @check("upload_and_download")
    def _():
        bytes_ = bytes(range(256)) * 5000
        with tempfile.TemporaryDirectory() as top:
            with open(top + "/in", "wb") as f:
                f.write(bytes_)
            sent = workspace.file_upload(top + "/in", PROJECT + "/blob")
            assert sent.success and sent.file_size == len(bytes_), sent
            assert workspace.file_download(PROJECT + "/blob", top + "/out").success
            with open(top + "/out", "rb") as f:
                assert f.read() == bytes_

    @check("git_changes")
    def _():
        assert done(workspace, "rm blob; git log -1 --format=%s; cat version") == "the second\ntwo\n"
        assert workspace.git_changes(".") == []
        done(workspace, "echo three >version")
        assert [str(change.path) for change in workspace.git_changes(".")] == ["version"]
        assert workspace.git_diff("version").modified == "three"


def start_model(workspace):
    """Where the agent runs there is no other place for it. Returns its port."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(SCRIPT, f)
        f.flush()
        assert workspace.file_upload(f.name, "/tmp/script.json").success
    assert workspace.file_upload(os.path.dirname(__file__) + "/model.py", "/tmp/model.py").success
    return int(done(workspace, "setsid python3 /tmp/model.py /tmp/script.json >/tmp/model.log 2>&1 </dev/null &"
                    " until grep -q . /tmp/model.log; do sleep 0.1; done; head -n 1 /tmp/model.log", timeout=20))


def converse(workspace):
    port = start_model(workspace)
    llm = LLM(model="openai/scripted", base_url=f"http://127.0.0.1:{port}/v1", api_key=SecretStr("none"),
              usage_id="agent", native_tool_calling=True)
    heard = []
    agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)])
    conversation = Conversation(agent=agent, workspace=workspace, callbacks=[heard.append], visualizer=None,
                                delete_on_close=False)
    conversation.send_message("Do as the script says.")
    conversation.run(timeout=120)
    return conversation, heard


def conversation_operations(workspace):
    talk = []

    @check("a_conversation_comes_to_its_end")
    def _():
        talk.extend(converse(workspace))
        assert talk[0].state.execution_status.value == "finished", talk[0].state.execution_status

    if not talk:
        return

    @check("its_work_is_in_the_session")
    def _():
        assert done(workspace, "cat notes") == "by the agent\n"
        assert "was three" in done(workspace, "cat /tmp/model.log")
        code, changes = api(f"/v1/sessions/{SID}/diff")
        assert code == 200 and sorted(c["path"] for c in changes.json()["changes"]) == ["notes", "version"], changes.text

    @check("the_client_hears_of_it")
    def _():
        tools = [event.tool_name for event in talk[1] if type(event).__name__ == "ActionEvent"]
        assert tools == [tool for tool, _ in SCRIPT], talk[1]

    @check("events_over_the_websocket")
    def _():
        where = workspace.host.replace("http:", "ws:") + f"/sockets/events/{talk[0].id}?resend_mode=all"
        with connect(where) as socket:
            socket.send(json.dumps({"type": "auth", "session_api_key": workspace.api_key}))
            while True:
                event = json.loads(socket.recv(timeout=20))
                if event.get("tool_name") == "finish":
                    break

    @check("close_the_conversation")
    def _():
        talk[0].close()


def life(workspace):
    @check("a_wrong_key_is_refused")
    def _():
        for key in KEY, "", "wrong":
            answer = httpx.get(workspace.host + "/api/bash/bash_events/search", headers={"X-Session-API-Key": key})
            assert answer.status_code == 401, answer

    @check("pause_and_resume")
    def _():
        before = workspace.api_key
        workspace.pause()
        assert status() == "paused", status()
        workspace.resume()
        assert done(workspace, "cat notes") == "by the agent\n" and workspace.api_key == before

    @check("attach")
    def _():
        other = open_workspace(keep_alive=True)
        assert other.host == workspace.host and done(other, "cat notes") == "by the agent\n"
        other.cleanup()
        assert status() == "running", status()

    @check("pause_to_disk_and_resume")
    def _():
        before = workspace.api_key
        assert api(f"/v1/sessions/{SID}/pause", {"to_disk": True})[0] == 200
        workspace.resume()
        assert done(workspace, "cat notes") == "by the agent\n" and workspace.api_key == before
        known = httpx.get(workspace.host + "/api/conversations/search", headers={"X-Session-API-Key": before}).json()
        assert [talk["execution_status"] for talk in known["items"]] == ["finished"], known

    @check("close_stops_it")
    def _():
        workspace.cleanup()
        assert status() == 404, status()


def main():
    logging.disable(logging.CRITICAL)
    opened = []

    @check("connect")
    def _():
        opened.append(open_workspace())

    if failed:
        return
    for part in workspace_operations, conversation_operations, life:
        part(opened[0])


if __name__ == "__main__":
    main()
    leave()

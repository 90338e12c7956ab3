#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drive the published RemoteRuntime class, unmodified, through every operation it has.

    v0_scenario.py API_URL KEY USER      `ok NAME` or `not ok NAME: why`, a line an operation

It is configured by config.toml and the environment alone. Runs where `openhands-ai` is installed; see
tests/clients/run.
"""
import asyncio
import os
import sys
import tempfile
import zipfile

from scenario import check, failed, leave
from v0_runtime import make_runtime, run

from openhands.events.action import (
    BrowseInteractiveAction, BrowseURLAction, FileEditAction, FileReadAction, FileWriteAction, IPythonRunCellAction,
)
from openhands.events.event import FileReadSource
from openhands.events.observation import (
    CmdOutputObservation, ErrorObservation, FileEditObservation, FileReadObservation, FileWriteObservation,
    IPythonRunCellObservation,
)

URL, KEY, USER = sys.argv[1:4]


def the(observation, kind):
    assert isinstance(observation, kind), f"{type(observation).__name__}: {observation}"
    return observation


def shell(runtime):
    @check("variables_reach_the_shell")
    def _():
        seen = the(run(runtime, "echo $GIVEN; echo $STARTUP; whoami"), CmdOutputObservation)
        assert seen.exit_code == 0 and seen.content.splitlines()[1:] == ["1", USER], seen

    @check("state_lives_on")
    def _():
        assert run(runtime, "mkdir -p d && cd d && export X=1").exit_code == 0
        seen = run(runtime, "pwd; echo $X")
        assert seen.content == "/workspace/d\n1" and seen.metadata.working_dir == "/workspace/d", seen
        run(runtime, "cd /workspace")

    @check("a_time_out_and_polls")
    def _():
        seen = run(runtime, "for i in 1 2; do echo $i; sleep 2; done", timeout=1)
        assert seen.exit_code == -1 and "timed out after 1.0 seconds" in seen.metadata.suffix, seen
        seen = run(runtime, "", timeout=10)
        assert seen.exit_code == 0 and "2" in seen.content, seen

    @check("keys_and_input")
    def _():
        run(runtime, "cat", timeout=1)
        assert "typed" in run(runtime, "typed", timeout=1, is_input=True).content
        assert run(runtime, "C-c", timeout=5, is_input=True).exit_code == 130

    @check("several_commands_are_rejected")
    def _():
        assert "Cannot execute multiple commands" in the(run(runtime, "ls\npwd"), ErrorObservation).content

    @check("static_and_hidden_commands")
    def _():
        seen = run(runtime, "pwd", is_static=True, cwd="/tmp", hidden=True)
        assert seen.content == "/tmp" and seen.hidden, seen


def files(runtime):
    @check("write_and_read")
    def _():
        the(runtime.run_action(FileWriteAction(path="/workspace/w.txt", content="one\ntwo")), FileWriteObservation)
        seen = the(runtime.run_action(FileReadAction(path="/workspace/w.txt")), FileReadObservation)
        assert seen.content == "one\ntwo\n", seen

    @check("view_ranges_and_directories")
    def _():
        view = FileReadAction(path="/workspace/w.txt", impl_source=FileReadSource.OH_ACI, view_range=[1, 1])
        assert "     1\tone" in the(runtime.run_action(view), FileReadObservation).content
        view = FileReadAction(path="/workspace", impl_source=FileReadSource.OH_ACI)
        assert "/workspace/w.txt" in the(runtime.run_action(view), FileReadObservation).content

    @check("every_editor_command")
    def _():
        def edit(command, **args):
            return the(runtime.run_action(FileEditAction(path="/workspace/e.txt", command=command, **args)),
                       FileEditObservation)

        assert "File created successfully" in edit("create", file_text="a\nb\n").content
        seen = edit("str_replace", old_str="b", new_str="B")
        assert "has been edited" in seen.content and "+B" in seen.diff, seen
        assert "has been edited" in edit("insert", insert_line=0, new_str="top").content
        assert "undone successfully" in edit("undo_edit").content
        assert edit("str_replace", old_str="nope", new_str="x").content.startswith("ERROR:")

    @check("what_is_missing_is_an_error")
    def _():
        assert "File not found" in the(runtime.run_action(FileReadAction(path="/workspace/none")), ErrorObservation).content

    @check("list_files")
    def _():
        listed = runtime.list_files()
        assert "w.txt" in listed and "d/" in listed, listed
        assert runtime.list_files("/no/such") == []


def copies(runtime):
    @check("copy_a_file_in")
    def _():
        with tempfile.NamedTemporaryFile(suffix=".txt") as f:
            f.write(b"\0binary\xff")
            f.flush()
            runtime.copy_to(f.name, "/workspace/in")
            seen = run(runtime, f"od -An -tx1 /workspace/in/{os.path.basename(f.name)}")
        assert seen.content.split() == "00 62 69 6e 61 72 79 ff".split(), seen

    @check("copy_a_tree_in_and_out")
    def _():
        with tempfile.TemporaryDirectory() as top:
            os.makedirs(f"{top}/tree/sub")
            for name in "a", "sub/b":
                with open(f"{top}/tree/{name}", "w", encoding="utf-8") as f:
                    f.write(name)
            runtime.copy_to(f"{top}/tree", "/workspace/copied", recursive=True)
        assert run(runtime, "cat copied/tree/sub/b").content == "sub/b"
        archive = runtime.copy_from("/workspace/copied")
        with zipfile.ZipFile(archive) as z:
            assert sorted(z.namelist()) == ["tree/a", "tree/sub/b"], z.namelist()
            assert z.read("tree/sub/b") == b"sub/b"
        os.unlink(archive)


def the_rest(runtime):
    @check("cells")
    def _():
        seen = the(runtime.run_action(IPythonRunCellAction(code="import os; print(os.environ['GIVEN'])")),
                   IPythonRunCellObservation)
        assert seen.content.startswith('a "b" c'), seen
        seen = runtime.run_action(IPythonRunCellAction(code="21 * 2", include_extra=False))
        assert seen.content == "42", seen

    @check("no_browser")
    def _():
        for action in BrowseURLAction(url="http://localhost"), BrowseInteractiveAction(browser_actions="noop()"):
            assert "not supported" in the(runtime.run_action(action), ErrorObservation).content

    @check("mcp_servers_are_answered")
    def _():
        assert runtime.get_mcp_config().sse_servers

    @check("the_git_panel")
    def _():
        assert run(runtime, "git init -q . 2>/dev/null; git add w.txt && git commit -qm w && echo more >>w.txt").exit_code == 0
        changes = runtime.get_git_changes("/workspace")
        assert "w.txt" in [change["path"] for change in changes], changes
        diff = runtime.get_git_diff("w.txt", "/workspace")
        assert diff["original"] != diff["modified"], diff


def main():
    runtime = make_runtime(URL, KEY, "scenario-" + USER, run_as_openhands=USER == "openhands")

    @check("connect")
    def _():
        asyncio.run(runtime.connect())

    if failed:
        return
    for part in shell, files, copies, the_rest:
        part(runtime)

    @check("close")
    def _():
        runtime.close()


if __name__ == "__main__":
    main()
    leave()

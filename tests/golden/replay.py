#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replay golden exchanges against a living session.

    replay.py URL KEY [--as USER] FILE...        `ok NAME` or `not ok NAME: why`, a line a file

A file is one JSON object: `title`, optionally `as` (the users it holds for), and `steps`. A step is a
request with what the reply must be:

    {"run": COMMAND, ...}            an action; further keys beside `expect` are args, but `timeout`
    {"read" | "write" | "edit" | "run_ipython" | "browse": {ARGS}}
    {"post" | "get": PATH, "body": VALUE | "raw": TEXT, "headers": {...}, "key": false}

    "status": 200      the HTTP status (default 200)
    "expect": {...}    compared with the body: objects by the keys that are given, all else whole
    "save": {NAME: PATH-IN-THE-REPLY}    for later `{{NAME}}`

In an expected string `{{T}}` is the template of the time-out texts, `{{any}}` any text, `{{int}}` a number,
`{{NAME}}` what was saved; an expected `"{{int}}"` is any integer, `"{{string}}"` any text, `"{{any}}"` anything.
Observations go through a decoder as strict as a client's: a key in `extras` that it does not know is an error.
"""
import http.client
import json
import re
import sys
import urllib.parse

TEMPLATE = (
    "You may wait longer to see additional output by sending empty command '', send other commands to "
    'interact with the current process, send keys ("C-c", "C-z", "C-d") to interrupt/kill the previous command '
    "before sending your new command, or use the timeout parameter in execute_bash for future commands."
)

# What the client's constructors take; None: unknown keys are ignored. The second is what must be there.
EXTRAS = {
    "run": (None, {"command"}),
    "read": ({"path", "impl_source"}, {"path"}),
    "write": ({"path"}, {"path"}),
    "edit": ({"path", "prev_exist", "old_content", "new_content", "impl_source", "diff", "_diff_cache"}, set()),
    "run_ipython": ({"code", "image_urls"}, {"code"}),
    "error": ({"error_id"}, set()),
    "browse": (
        {"url", "trigger_by_action", "screenshot", "screenshot_path", "set_of_marks", "error", "goal_image_urls",
         "open_pages_urls", "active_page_index", "dom_object", "axtree_object", "extra_element_properties",
         "last_browser_action", "last_browser_action_error", "focused_element_bid", "filter_visible_only"},
        {"url", "trigger_by_action"},
    ),
    "download": ({"file_path"}, {"file_path"}),
    "null": (set(), set()),
}
METADATA = {"exit_code": int, "pid": int, "username": str, "hostname": str, "working_dir": str,
            "py_interpreter_path": str, "prefix": str, "suffix": str}
MAY_BE_NULL = {"username", "hostname", "working_dir", "py_interpreter_path"}


class Wrong(Exception):
    pass


def decode(observation, hidden):
    """As a client does: raise for what its constructors would not take."""
    if not isinstance(observation, dict):
        raise Wrong("the observation is no object")
    kind = observation.get("observation")
    if kind not in EXTRAS:
        raise Wrong(f"observation '{kind}' is unknown to a client")
    if not isinstance(observation.get("content", ""), str):
        raise Wrong("content is no text")
    extras = dict(observation["extras"]) if hidden else dict(observation.get("extras", {}))
    known, required = EXTRAS[kind]
    if hidden:
        extras["hidden"] = True
    unknown = set() if known is None else set(extras) - known
    if unknown:
        raise Wrong(f"extras of '{kind}' have {sorted(unknown)}: a client raises")
    if required - set(extras):
        raise Wrong(f"extras of '{kind}' lack {sorted(required - set(extras))}")
    if kind == "run":
        for name, value in extras.get("metadata", {}).items():
            if name in METADATA and not (value is None and name in MAY_BE_NULL):
                if not isinstance(value, METADATA[name]) or isinstance(value, bool):
                    raise Wrong(f"metadata.{name} is {value!r}")


def text_pattern(expected, saved):
    out = []
    for part in re.split(r"(\{\{\w+\}\})", expected):
        name = part[2:-2] if part.startswith("{{") and part.endswith("}}") else None
        if name is None:
            out.append(re.escape(part))
        elif name == "T":
            out.append(re.escape(TEMPLATE))
        elif name == "any":
            out.append(".*")
        elif name == "int":
            out.append("-?[0-9]+")
        elif name in saved:
            out.append(re.escape(str(saved[name])))
        else:
            raise Wrong(f"'{part}' was not saved by an earlier step")
    return re.compile("".join(out), re.DOTALL)


def compare(expected, got, where, saved):
    if expected == "{{any}}":
        return
    if expected in ("{{int}}", "{{string}}"):
        wanted = int if expected == "{{int}}" else str
        if not isinstance(got, wanted) or isinstance(got, bool):
            raise Wrong(f"{where} is {got!r}, not {expected}")
        return
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            raise Wrong(f"{where} is {got!r}, not an object")
        for key, value in expected.items():
            if key not in got:
                raise Wrong(f"{where} has no '{key}'")
            compare(value, got[key], f"{where}.{key}", saved)
    elif isinstance(expected, str):
        if not isinstance(got, str) or not text_pattern(expected, saved).fullmatch(got):
            raise Wrong(f"{where} is {got!r}, not {expected!r}")
    elif isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            raise Wrong(f"{where} is {got!r}, not {expected!r}")
        for i, value in enumerate(expected):
            compare(value, got[i], f"{where}[{i}]", saved)
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        raise Wrong(f"{where} is {got!r}, not {expected!r}")


RUN_ARGS = {"is_input": False, "thought": "", "blocking": False, "is_static": False, "cwd": None, "hidden": False,
            "confirmation_state": "confirmed", "security_risk": -1}
FILE_ARGS = {
    "read": {"start": 0, "end": -1, "thought": "", "security_risk": -1, "impl_source": "default", "view_range": None},
    "write": {"start": 0, "end": -1, "thought": "", "security_risk": -1},
    "edit": {"command": "", "file_text": None, "old_str": None, "new_str": None, "insert_line": None, "content": "",
             "start": 1, "end": -1, "thought": "", "security_risk": -1, "impl_source": "oh_aci"},
    "run_ipython": {"thought": "", "include_extra": True, "confirmation_state": "confirmed", "security_risk": -1,
                    "kernel_init_code": ""},
    "browse": {"thought": "", "security_risk": -1, "return_axtree": False},
    "browse_interactive": {"thought": "", "browsergym_send_msg_to_user": "", "security_risk": -1, "return_axtree": False},
}
NOT_ARGS = {"expect", "status", "timeout", "save", "note"}


def action_of(step):
    """The body that a client sends for this step, or None."""
    if "run" in step:
        args = dict(RUN_ARGS, command=step["run"])
        args.update({k: v for k, v in step.items() if k not in NOT_ARGS | {"run"}})
        kind = "run"
    else:
        kind = next((k for k in FILE_ARGS if k in step), None)
        if kind is None:
            return None
        args = dict(FILE_ARGS[kind], **step[kind])
    return {"action": {"message": "", "action": kind, "args": args, "timeout": float(step.get("timeout", 120.0))}}


class Session:
    def __init__(self, url, key):
        self.at = urllib.parse.urlsplit(url)
        self.key = key
        self.connection = None

    def ask(self, method, path, body, headers, key):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=180)
        headers = dict(headers)
        if key:
            headers["X-Session-API-Key"] = self.key
        # The control plane's key, which clients send along to everyone.
        headers["X-API-Key"] = "of-the-control-plane"
        try:
            self.connection.request(method, path, body, headers)
            reply = self.connection.getresponse()
            data = reply.read()
        except (http.client.HTTPException, OSError) as e:
            self.connection = None
            raise Wrong(f"{method} {path}: {e!r}") from e
        if reply.getheader("Connection", "").lower() == "close":
            self.connection = None
        if reply.status != 204 and reply.getheader("Content-Length") is None and not reply.chunked:
            raise Wrong(f"{method} {path}: a reply without Content-Length")
        return reply.status, data


def one_step(session, step, saved):
    action = action_of(step)
    if action is not None:
        method, path, body = "POST", "/execute_action", json.dumps(action)
    else:
        method = "POST" if "post" in step else "GET"
        path = step.get("post", step.get("get"))
        body = step.get("raw", json.dumps(step["body"]) if "body" in step else None)
    headers = {"Content-Type": "application/json", **step.get("headers", {})}
    status, data = session.ask(method, path, body, headers, step.get("key", True))
    if status != step.get("status", 200):
        raise Wrong(f"status {status}, not {step.get('status', 200)}: {data[:300]!r}")
    try:
        got = json.loads(data.decode("utf-8"))
    except ValueError as e:
        if "expect" not in step:
            return
        raise Wrong(f"the reply is no JSON: {data[:200]!r}") from e
    if status >= 400 and (not isinstance(got, dict) or "detail" not in got):
        raise Wrong("an error body without 'detail': a client crashes")
    if path == "/execute_action" and status == 200:
        decode(got, action is not None and action["action"]["args"].get("hidden", False))
    compare(step.get("expect", "{{any}}"), got, "reply", saved)
    for name, where in step.get("save", {}).items():
        value = got
        for key in where.split("."):
            value = value[key]
        saved[name] = value


def replay(session, user, path):
    with open(path, encoding="utf-8") as f:
        golden = json.load(f)
    if user and user not in golden.get("as", [user]):
        return
    saved = {}
    for i, step in enumerate(golden["steps"], 1):
        try:
            one_step(session, step, saved)
        except Wrong as e:
            raise Wrong(f"step {i} ({golden['title']}): {e}") from e


def recover(session):
    """Let the next file find the shell idle, and where it belongs."""
    for command in "C-c", "unset PROMPT_COMMAND; cd /workspace":
        try:
            one_step(session, {"run": command, "timeout": 5}, {})
        except Wrong:
            pass


def main(argv):
    session = Session(argv[1], argv[2])
    user = argv[4] if argv[3] == "--as" else None
    failed = 0
    for path in argv[5 if user else 3:]:
        name = path.rsplit("/", 1)[-1].removesuffix(".json")
        try:
            replay(session, user, path)
            print(f"ok {name}")
        except Wrong as e:
            print(f"not ok {name}: {e}")
            failed = 1
            recover(session)
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A scripted model: OpenAI's chat completions, whose answers are calls of tools prepared in a file.

    model.py SCRIPT      serves on the loopback, at a port that it prints first

SCRIPT is a JSON list of [tool, arguments]. It keeps no state: the answer is chosen by how many the
conversation holds already, so that a request sent twice is answered alike. Standard library alone, because
it is also run where nothing else is installed. Each request leaves a line on its standard output.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with open(sys.argv[1], encoding="utf-8") as script:
    CALLS = json.load(script)


def choice(messages):
    turn = sum(message["role"] == "assistant" for message in messages)
    if turn >= len(CALLS):
        return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "The script is over."}}
    tool, arguments = CALLS[turn]
    call = {"id": f"call_{turn}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return {"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": f"Step {turn}.", "tool_calls": [call]}}


def answer(request):
    """The body and its type: one object, or the same as a stream of a single piece."""
    said = choice(request["messages"])
    whole = {"id": "scripted", "created": 0, "model": request["model"],
             "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
    if not request.get("stream"):
        return json.dumps(whole | {"object": "chat.completion", "choices": [said]}).encode(), "application/json"
    piece = {"index": 0, "delta": said["message"], "finish_reason": said["finish_reason"]}
    for i, call in enumerate(piece["delta"].get("tool_calls", [])):
        call["index"] = i
    text = json.dumps(whole | {"object": "chat.completion.chunk", "choices": [piece]})
    return f"data: {text}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        roles = [message["role"] for message in request["messages"]]
        print(self.path, json.dumps({"roles": roles, "last": request["messages"][-1]["content"]}), flush=True)
        body, kind = answer(request)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

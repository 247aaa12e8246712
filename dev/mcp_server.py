#!/usr/bin/env python3
"""A small MCP server for the private stack: notes that are gone when it ends, and dice.

`make demo MCP=1` starts it beside the stand-in model and shows an agent that uses it. It speaks
Streamable HTTP on the loopback, in both forms: single POSTs (revision 2026-07-28), and sessions
begun by `initialize` (2025-11-25 and 2025-06-18). It checks no caller: never let it be reached
from elsewhere.

    python3 dev/mcp_server.py --port 8765        then its endpoint is http://127.0.0.1:8765/mcp
"""

import argparse
import json
import random
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NEWEST = "2026-07-28"
OLDER = ("2025-11-25", "2025-06-18")
NAME = {"name": "hostler-notes", "version": "1"}
BODY_BYTES_MAX = 1 << 20
NOTES_MAX = 1000

notes = []
sessions = set()


def schema(required, **properties):
    return {"type": "object", "properties": properties, "required": required}


def add_note(text):
    if len(notes) >= NOTES_MAX:
        raise ValueError(f"There are {NOTES_MAX} notes already.")
    notes.append(str(text))
    return f"Noted. There are {len(notes)} notes."


def list_notes():
    return "\n".join(f"{n}. {text}" for n, text in enumerate(notes, 1)) or "There are no notes."


def roll_dice(count=1):
    if not isinstance(count, int) or not 1 <= count <= 100:
        raise ValueError("count must be 1 to 100.")
    rolled = [random.randint(1, 6) for _ in range(count)]
    return f"{rolled}, together {sum(rolled)}"


TOOLS = {
    "add_note": (
        add_note,
        "Keeps a note.",
        schema(["text"], text={"type": "string", "maxLength": 2000}),
        {"readOnlyHint": False, "idempotentHint": False},
    ),
    "list_notes": (
        list_notes,
        "All notes, in the order in which they were added.",
        schema([]),
        {"readOnlyHint": True, "idempotentHint": True},
    ),
    "roll_dice": (
        roll_dice,
        "Rolls dice with six sides.",
        schema([], count={"type": "integer", "minimum": 1, "maximum": 100}),
        {"readOnlyHint": True, "idempotentHint": True},
    ),
}


def discover(_):
    return {
        "supportedVersions": [NEWEST, *OLDER],
        "capabilities": {"tools": {}},
        "serverInfo": NAME,
        "ttlMs": 3_600_000,
        "cacheScope": "public",
    }


def initialize(params):
    wanted = params.get("protocolVersion")
    version = wanted if wanted in OLDER else OLDER[0]
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": NAME}


def list_tools(_):
    tools = [
        {"name": name, "description": words, "inputSchema": takes, "annotations": hints}
        for name, (_, words, takes, hints) in TOOLS.items()
    ]
    return {"tools": tools, "ttlMs": 3_600_000, "cacheScope": "public"}


def call_tool(params):
    """Faults of a call are the tool's own, so that the model reads them."""
    try:
        work = TOOLS[params["name"]][0]
        text, is_error = work(**params.get("arguments") or {}), False
    except (KeyError, TypeError, ValueError) as fault:
        text, is_error = f"This call cannot be answered: {fault}", True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


METHODS = {
    "server/discover": discover,
    "initialize": initialize,
    "ping": lambda _: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.path != "/mcp" or length > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(404 if self.path != "/mcp" else 413, None)
        try:
            message = json.loads(self.rfile.read(length))
            method, params = message["method"], message.get("params") or {}
        except (ValueError, KeyError, TypeError, AttributeError):
            return self.fault(400, None, -32700, "The body must be one JSON-RPC message.")
        session = self.headers.get("Mcp-Session-Id")
        if session is not None and session not in sessions:
            return self.fault(404, message.get("id"), -32001, "There is no such session.")
        if "id" not in message:
            return self.answer(202, None)
        if method not in METHODS:
            return self.fault(404, message["id"], -32601, f"There is no method {method}.")
        headers = {}
        if method == "initialize":
            headers["Mcp-Session-Id"] = secrets.token_hex(16)
            sessions.add(headers["Mcp-Session-Id"])
        result = METHODS[method](params)
        if self.headers.get("MCP-Protocol-Version") == NEWEST:
            result["resultType"] = "complete"
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, headers)

    def do_GET(self):
        self.answer(405, None, {"Allow": "POST, DELETE"})

    def do_DELETE(self):
        sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.answer(204, None)

    def fault(self, status, request_id, code, words):
        error = {"code": code, "message": words}
        self.answer(status, {"jsonrpc": "2.0", "id": request_id, "error": error})

    def answer(self, status, message, headers=None):
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if message is not None:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, form, *values):
        sys.stderr.write(f"{form % values}\n")


def main():
    parser = argparse.ArgumentParser(description="A small MCP server with notes and dice.")
    parser.add_argument("--port", type=int, default=8765, help="on 127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Endpoint)
    server.daemon_threads = True
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

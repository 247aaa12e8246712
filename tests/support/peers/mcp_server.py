#!/usr/bin/python3
"""A server of MCP with TLS, for tests: mcp_server.py CERTIFICATE KEY RECORD

Says "listening on PORT" and appends every request to RECORD as a line of JSON {method, path,
headers, body, rpc, tool}. Paths are /REVISION/FORM/NAME: REVISION is modern (2026-07-28) or older
(2025-11-25, with a session); FORM is json, sse (with a message that is cut off before the answer),
torn (an event stream that ends before the answer, taken up by GET), or beside (it asks on the
stream of a GET); NAME sets servers apart. /odd/HABIT/NAME is an older server with a
habit of real ones (ODD_DISCOVERY, serve_odd). POST /definition/NAME with a description changes what
the tools of NAME say of themselves. It runs until it is killed.

Tools: echo {text}, order (structured), fail (an error of the tool), refuse (an error of the
protocol), picture, ask (asks for a form, then tells what it got; an older server on the stream of
the call), ask_twice (an older one, in the form beside: on both streams at once), slow and
slow_again {ms} (the second is idempotent), hang_up (the connection breaks), big
{bytes}, both (text and other structured content), nul (a text with U+0000). Of the modern revision
also tasks: later {ms} ends so much later, later_asks asks for a form, later_fails and later_lost
end badly, later_never goes on until it is cancelled. Besides, takes_list, takes_anything and
takes_nothing, whose inputSchema is none that MCP allows, and takes_either, whose inputSchema has
branches at its root.
"""
import asyncio
import itertools
import json
import socket
import ssl
import struct
import sys
import time

certificate, key, record = sys.argv[-3:]
descriptions = {}
torn = {}
tasks = {}
asked = {}
streams = {}
numbers = itertools.count(1)

FORM = {"type": "object", "required": ["size"],
        "properties": {"size": {"type": "integer", "minimum": 1},
                       "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"}}}


def tool(name, properties=None, **annotations):
    made = {"name": name, "description": "d", "inputSchema": {
        "type": "object", "properties": properties or {}}}
    if annotations:
        made["annotations"] = annotations
    return made


def tools_of(name):
    tools = [tool("echo", {"text": {"type": "string", "x-mcp-header": "Text"}}, readOnlyHint=True),
             tool("order"), tool("fail"), tool("refuse"), tool("picture"), tool("ask"),
             tool("ask_twice"),
             tool("slow", {"ms": {"type": "integer"}}),
             tool("slow_again", {"ms": {"type": "integer"}}, idempotentHint=True),
             tool("hang_up"), tool("big", {"bytes": {"type": "integer"}}),
             tool("both"), tool("nul"),
             tool("later", {"ms": {"type": "integer"}}), tool("later_asks"), tool("later_fails"),
             tool("later_lost"), tool("later_never")]
    for one in tools:
        one["description"] = descriptions.get(name, "d")
    tools += [{"name": "takes_list", "inputSchema": {"type": "array"}},
              {"name": "takes_anything", "inputSchema": {}}, {"name": "takes_nothing"},
              {"name": "takes_either", "inputSchema": {"type": "object", "anyOf": [
                  {"properties": {"content": {"type": "string"}}, "required": ["content"]},
                  {"properties": {"url": {"type": "string"}}, "required": ["url"]}]}}]
    return tools


def text(words):
    return {"content": [{"type": "text", "text": words}]}


async def call(params, writer):
    name = params.get("name")
    arguments = params.get("arguments", {})
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "order":
        return {"content": [], "structuredContent": {"state": "sent", "n": 7}}
    if name == "both":
        return {"content": [{"type": "text", "text": "two\nlines"}],
                "structuredContent": {"file": "a.txt"}}
    if name == "nul":
        return text("a\0b")
    if name.startswith("takes_"):
        return text(json.dumps(arguments))
    if name == "fail":
        return {"content": [{"type": "text", "text": "no stock"}], "isError": True}
    if name == "picture":
        return {"content": [{"type": "text", "text": "here"},
                            {"type": "image", "mimeType": "image/png", "data": "AAAA"}]}
    if name == "ask":
        answers = params.get("inputResponses")
        if answers is None:
            return {"resultType": "input_required", "requestState": "state-1", "inputRequests": {
                "form": {"method": "elicitation/create",
                         "params": {"message": "Which size?", "requestedSchema": FORM}}}}
        return text(json.dumps([params.get("requestState"), answers["form"]], sort_keys=True))
    if name in ("slow", "slow_again"):
        await asyncio.sleep(arguments.get("ms", 300) / 1000)
        return text("done")
    if name == "hang_up":
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        raise ConnectionError
    if name == "big":
        return text("x" * arguments.get("bytes", 0))
    if name.startswith("later"):
        task = {"id": f"task-{next(numbers)}", "tool": name, "answers": {}, "cancelled": False,
                "due": time.monotonic() + arguments.get("ms", 0) / 1000}
        tasks[task["id"]] = task
        return {"resultType": "task", **shown(task)}
    return None


def status_of(task):
    if task["cancelled"]:
        return "cancelled", {}
    if task["tool"] == "later_never" or time.monotonic() < task["due"]:
        return "working", {}
    if task["tool"] == "later_asks" and not task["answers"]:
        return "input_required", {"inputRequests": {"form-1": {
            "method": "elicitation/create",
            "params": {"message": "Which size?", "requestedSchema": FORM}}}}
    if task["tool"] == "later_fails":
        return "failed", {"error": {"code": -32603, "message": "no more stock"}}
    return "completed", {"result": text(json.dumps(task["answers"], sort_keys=True)
                                        if task["answers"] else "done")}


def shown(task):
    status, further = status_of(task)
    return {"taskId": task["id"], "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None, "pollIntervalMs": 500,
            **further}


def of_task(method, params):
    """Nothing: there is no such task."""
    task = tasks.get(params.get("taskId"))
    if task is None or task["tool"] == "later_lost":
        return None
    if method == "tasks/get":
        return {"resultType": "complete", **shown(task)}
    if method == "tasks/update":
        task["answers"] |= params.get("inputResponses", {})
    else:
        task["cancelled"] = True
    return {"resultType": "complete"}


def begin_stream(writer):
    writer.write(b"HTTP/1.1 200 Said\r\nContent-Type: text/event-stream\r\n"
                 b"Connection: close\r\n\r\n")


async def ask_on_stream(message, writer, beside):
    """What an older server does with a tool that asks: on the stream of the call, or beside it."""
    name = f"asked-{next(numbers)}"
    asked[name] = asyncio.get_running_loop().create_future()
    begin_stream(writer)
    question = {"jsonrpc": "2.0", "id": name, "method": "elicitation/create",
                "params": {"message": "Which size?", "requestedSchema": FORM}}
    (beside or writer).write(f"data: {json.dumps(question)}\n\n".encode())
    await writer.drain()
    result = await asked[name]
    answer = answer_of(message, text(json.dumps(result, sort_keys=True)))
    writer.write(f"data: {json.dumps(answer)}\n\n".encode())
    await writer.drain()
    raise ConnectionError


async def ask_twice(message, writer, beside):
    begin_stream(writer)
    names = [f"asked-{next(numbers)}" for _ in range(2)]
    for name, stream, words in zip(names, (writer, beside), ("Which size?", "Which other?")):
        asked[name] = asyncio.get_running_loop().create_future()
        question = {"jsonrpc": "2.0", "id": name, "method": "elicitation/create",
                    "params": {"message": words, "requestedSchema": FORM}}
        stream.write(f"data: {json.dumps(question)}\n\n".encode())
        await stream.drain()
    sizes = [(await asked[name])["content"]["size"] for name in names]
    answer = answer_of(message, text(json.dumps(sizes)))
    writer.write(f"data: {json.dumps(answer)}\n\n".encode())
    await writer.drain()
    raise ConnectionError


def answer_of(message, result):
    if result is None:
        return {"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32602, "message": "refused"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def respond(writer, status, body=b"", headers=""):
    writer.write(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
                 + body)


def respond_json(writer, status, message, headers=""):
    respond(writer, status, json.dumps(message).encode(),
            "Content-Type: application/json\r\n" + headers)


def respond_stream(writer, events):
    body = "".join(f"id: {one[0]}\ndata: {one[1]}\n\n" for one in events)
    respond(writer, 200, body.encode(), "Content-Type: text/event-stream\r\n")


async def say(form, path, message, result, writer):
    answer = answer_of(message, result)
    if form == "sse":
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        respond_stream(writer, [("1", json.dumps(note)), ("2", '{"id"'), ("3", json.dumps(answer))])
    elif form == "torn" and message["method"] == "tools/call":
        torn[path] = answer
        respond_stream(writer, [("cut", "")])
    else:
        respond_json(writer, 200, answer)


async def serve_modern(form, path, name, headers, message, writer):
    method = message["method"]
    if headers.get("mcp-method") != method or headers.get("mcp-protocol-version") != "2026-07-28":
        respond_json(writer, 400, {"jsonrpc": "2.0", "id": message.get("id"),
                                   "error": {"code": -32020, "message": "headers"}})
        return
    if method == "server/discover":
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                  "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        tools = tools_of(name)
        second = message["params"].get("cursor") == "second"
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                  "tools": tools[5:] if second else tools[:5]}
        if not second:
            result["nextCursor"] = "second"
    elif method.startswith("tasks/"):
        result = of_task(method, message["params"])
        if headers.get("mcp-name") != message["params"]["taskId"]:
            result = None
    else:
        result = await call(message["params"], writer)
    await say(form, path, message, result, writer)


async def serve_older(form, path, name, headers, message, writer):
    method = message.get("method", "")
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "older", "version": "1"}}
        respond_json(writer, 200, answer_of(message, result), "Mcp-Session-Id: s-1\r\n")
        return
    if headers.get("mcp-session-id") != "s-1":
        respond(writer, 400, b"no session")
        return
    if message.get("id") in asked:
        asked[message["id"]].set_result(message.get("result"))
    if "id" not in message or "method" not in message:
        respond(writer, 202)
        return
    if method == "tools/call" and message["params"]["name"] == "ask":
        await ask_on_stream(message, writer, streams.get(path) if form == "beside" else None)
    if method == "tools/call" and message["params"]["name"] == "ask_twice":
        await ask_twice(message, writer, streams[path])
    result = {"tools": tools_of(name)} if method == "tools/list" else await call(
        message["params"], writer)
    await say(form, path, message, result, writer)


# Answers of servers of older revisions to server/discover, which they do not know.
ODD_DISCOVERY = {
    "nothing": (202, b""), "object": (200, b"{}"), "fault": (500, b"Internal Server Error"),
    "missing": (404, b"<html>"), "forbidden": (403, b"unknown method"),
    "id": (200, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    "null": (200, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"m"}}')}
sessions = {}


async def serve_odd(habit, path, name, headers, message, writer):
    method = message.get("method", "")
    if method == "server/discover" and habit in ODD_DISCOVERY:
        respond(writer, *ODD_DISCOVERY[habit], "Content-Type: application/json\r\n")
        return
    version = message.get("params", {}).get("protocolVersion", "")
    if habit == "lists" and (method == "server/discover" or version == "2025-11-25"):
        respond(writer, 400, b"Bad Request: Unsupported protocol version "
                             b"(supported versions: 2025-06-18, 2025-03-26, 2024-11-05)")
        return
    if method == "initialize":
        sessions[path] = sessions.get(path, 0) + 1
        agreed = {"v2024": "2024-11-05", "future": "2031-01-01"}.get(habit, version)
        result = {"protocolVersion": agreed, "capabilities": {"tools": {}},
                  "serverInfo": {"name": "odd", "version": "1"}}
        respond_json(writer, 200, answer_of(message, result),
                     f"Mcp-Session-Id: s-{sessions[path]}\r\n")
        return
    if "id" not in message:
        respond(writer, *((200, b"null") if habit == "notes" else (204, b"")))
        return
    # The first session that makes a call is over; the listing had one of its own.
    is_over = headers.get("mcp-session-id") == "s-2" and method == "tools/call"
    if is_over and habit.startswith("over"):
        error = {"code": -32001, "message": "Bad Request: No valid session ID provided"}
        respond_json(writer, int(habit[4:]), {"jsonrpc": "2.0", "id": None, "error": error})
        return
    if method == "tools/list":
        result = {"tools": tools_of(name), **({"nextCursor": "c"} if habit == "circle" else {})}
    else:
        result = await call(message["params"], writer)
    answer = answer_of(message, result)
    if habit == "text":
        answer["id"] = str(answer["id"])
    if habit == "event":  # an event stream that does not say so
        respond(writer, 200, f"event: message\ndata: {json.dumps(answer)}\n\n".encode())
        return
    respond_json(writer, 200, answer)


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {}
    for line in head[1:]:
        if line:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
    body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
    message = json.loads(body) if body.startswith("{") else {}
    line = {"method": method, "path": path, "headers": headers, "body": body,
            "rpc": message.get("method", ""), "tool": message.get("params", {}).get("name", "")}
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return method, path, headers, body, message


async def answer(method, path, headers, body, message, writer):
    words = path.strip("/").split("/")
    if words[0] == "definition":
        descriptions[words[1]] = body
        respond(writer, 200, b"ok")
    elif method == "GET" and headers.get("last-event-id") == "cut":
        respond_stream(writer, [("after", json.dumps(torn.pop(path)))])
    elif method == "POST" and words[0] == "redirect":
        respond(writer, 307, b"", "Location: " + path + "/\r\n")
    elif method == "DELETE" and words[0] == "older":
        respond(writer, 204)
    elif method == "GET" and words[:2] == ["older", "beside"]:
        begin_stream(writer)
        streams[path] = writer
        await writer.drain()
        await asyncio.Event().wait()
    elif method != "POST":
        respond(writer, 405)
    elif words[0] == "modern":
        await serve_modern(words[1], path, words[2], headers, message, writer)
    elif words[0] == "odd":
        await serve_odd(words[1], path, words[2], headers, message, writer)
    elif words[0] == "older":
        await serve_older(words[1], path, words[2], headers, message, writer)
    else:
        respond(writer, 404, b"no such path")
    await writer.drain()


async def serve(reader, writer):
    try:
        while True:
            await answer(*await read_request(reader), writer)
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())

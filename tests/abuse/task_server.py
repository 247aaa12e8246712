"""An MCP server whose tools begin tasks (revision 2026-07-28), for the abuser and for its
neighbours; each has one of its own, as a process. It listens on the loopback without TLS and checks
no caller.

Tools: `now` begins a task that is done when it is asked for. `never` begins one that never ends.
`never_slow` begins one that never ends either, and each answer about it takes almost as long as
Hostler waits. All of them ask to be polled as often as Hostler does it."""

import asyncio
import itertools
import json
import multiprocessing
import socket

TOOLS = ("now", "never", "never_slow")
SLOW_SECONDS = 14  # Hostler waits for 15 s
NEVER_STALE_MS = 86_400_000


def listed(name):
    return {"name": name, "description": "Begins a task.",
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": True}}


def shown(task_id):
    is_done = task_id.startswith("now-")
    result = {"result": {"content": [{"type": "text", "text": "done"}]}} if is_done else {}
    return {"taskId": task_id, "status": "completed" if is_done else "working", "ttlMs": None,
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
            "pollIntervalMs": 1, **result}


class TaskServer:
    """Serves in a process of its own, from its making until its block ends; `url` is the address
    of its endpoint."""

    def __init__(self, prepare=lambda: None):
        """prepare: called in the process before it serves."""
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/mcp"
        self.numbers = itertools.count(1)
        self.prepare = prepare
        fork = multiprocessing.get_context("fork")
        self.process = fork.Process(target=self.work, daemon=True)
        self.process.start()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def work(self):
        self.prepare()
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.follow, sock=self.socket, backlog=1024)
        await server.serve_forever()

    async def follow(self, reader, writer):
        """One connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
                message = json.loads(await reader.readexactly(length) or "{}")
                result = await self.answer(message.get("method"), message.get("params", {}))
                fault = {"error": {"code": -32601, "message": "There is no such method."}}
                body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"),
                                   **({"result": result} if result else fault)}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def answer(self, method, params):
        """None if the method is unknown."""
        whole = {"resultType": "complete"}
        if method == "server/discover":
            return whole | {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                            "ttlMs": NEVER_STALE_MS, "cacheScope": "private"}
        if method == "tools/list":
            return whole | {"tools": [listed(name) for name in TOOLS], "ttlMs": NEVER_STALE_MS,
                            "cacheScope": "private"}
        if method == "tools/call":
            return {"resultType": "task", **shown(f"{params['name']}-{next(self.numbers)}")}
        if method == "tasks/get":
            if params["taskId"].startswith("never_slow-"):
                await asyncio.sleep(SLOW_SECONDS)
            return whole | shown(params["taskId"])
        return whole if method == "tasks/cancel" else None

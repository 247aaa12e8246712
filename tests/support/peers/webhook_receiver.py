#!/usr/bin/python3
"""A receiver of webhooks with TLS, for tests: webhook_receiver.py [PORT] CERTIFICATE KEY RECORD

Without PORT it takes one that is free. Says "listening on PORT", then answers by the path, and
appends every request to RECORD as a line of JSON {path, headers, body}. Paths: /ok, /status/NNN,
/flaky/N/… (503 for the first N requests of a webhook-id), /later/SECONDS/… (503 with Retry-After
for the first), /json/PERCENT-ENCODED (with that body), /accepted/… (202), /slow/MILLISECONDS,
/big/N (N bytes of JSON), /busy/N/SECONDS (429 for the first N requests of a webhook-id, with
Retry-After), /hang, /trickle (a byte a second), /flood, /redirect, /reset, /headers (10,000 of
them). It runs until it is killed.
"""
import asyncio
import json
import socket
import ssl
import struct
import sys
import urllib.parse

certificate, key, record = sys.argv[-3:]
port = int(sys.argv[1]) if len(sys.argv) == 5 else 0
seen = {}


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {}
    for line in head[1:]:
        if line:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    with open(record, "a", encoding="utf-8") as file:
        record_line = {"method": method, "path": path, "headers": headers, "body": body.decode()}
        file.write(json.dumps(record_line) + "\n")
    return path, headers


def plain(status, more=""):
    return f"HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n{more}\r\nok".encode()


def count(headers, path):
    name = (headers.get("webhook-id"), path)
    seen[name] = seen.get(name, 0) + 1
    return seen[name]


async def answer(path, headers, writer):
    words = path.strip("/").split("/")
    if words[0] == "status":
        writer.write(plain(words[1]))
    elif words[0] == "flaky":
        writer.write(plain(503 if count(headers, path) <= int(words[1]) else 200))
    elif words[0] == "later":
        first = count(headers, path) == 1
        writer.write(plain(503, f"Retry-After: {words[1]}\r\n") if first else plain(200))
    elif words[0] == "json":
        body = urllib.parse.unquote(words[1]).encode()
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    elif words[0] == "slow":
        await asyncio.sleep(int(words[1]) / 1000)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
    elif words[0] == "accepted":
        writer.write(plain(202))
    elif words[0] == "big":
        body = b'"' + b"x" * (int(words[1]) - 2) + b'"'
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    elif words[0] == "busy":
        is_busy = count(headers, path) <= int(words[1])
        writer.write(plain(429, f"Retry-After: {words[2]}\r\n") if is_busy else plain(200))
    elif words[0] == "hang":
        await asyncio.sleep(600)
    elif words[0] == "trickle":
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 600:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)
    elif words[0] == "flood":
        writer.write(b"HTTP/1.1 500 No\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            await asyncio.sleep(0.001)  # drain alone may never let the others in
    elif words[0] == "redirect":
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /redirected\r\nContent-Length: 0\r\n\r\n")
    elif words[0] == "reset":
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    elif words[0] == "headers":
        lines = "".join(f"X-Field-{n}: {'y' * 20}\r\n" for n in range(10000))
        writer.write(f"HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n".encode())
    else:
        writer.write(plain(200))
    await writer.drain()


async def serve(reader, writer):
    try:
        while True:
            path, headers = await read_request(reader)
            await answer(path, headers, writer)
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())

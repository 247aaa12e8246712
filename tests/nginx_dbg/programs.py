#!/usr/bin/python3
"""What nginx meets behind it, for tests of its site: programs.py API_SOCKET STREAM_SOCKET

The pool sends every request on to the address in its field X-Sent-To, beside fields that the client
has to hear; a preflight it answers with the names asked for. The runner answers with the parameters
that it was given, as JSON; or, to a request with a field X-Break, not at all. The pool lets a
request with a field X-Hang wait.
"""
import json
import socket
import struct
import sys
import threading
import time


def receive(line, count):
    data = b""
    while len(data) < count:
        piece = line.recv(count - len(data))
        if not piece:
            raise ConnectionError("the peer is gone")
        data += piece
    return data


def pairs_of(data):
    """FastCGI specification 1.0, section 3.4"""
    pairs = {}
    while data:
        lengths = []
        for _ in range(2):
            length = data[0]
            if length > 127:
                length = struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF
            data = data[4 if data[0] > 127 else 1 :]
            lengths.append(length)
        name, value = data[: lengths[0]], data[lengths[0] : sum(lengths)]
        pairs[name.decode()] = value.decode()
        data = data[sum(lengths) :]
    return pairs


def be_pool(line):
    parameters = b""
    while True:
        _, kind, request, length, padding, _ = struct.unpack(">BBHHBB", receive(line, 8))
        content = receive(line, length + padding)[:length]
        if kind == 4:
            parameters += content
        if kind == 5 and not content:
            break
    heard = pairs_of(parameters)
    if "HTTP_X_HANG" in heard:
        time.sleep(1.5)
        return
    target = heard.get("HTTP_X_SENT_TO", "/_nowhere")
    names = heard.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "none")
    preflight = f"Status: 204\r\nAccess-Control-Allow-Headers: {names}\r\n\r\n".encode()
    answer = preflight if heard["REQUEST_METHOD"] == "OPTIONS" else (
        f"Status: 200\r\nX-Accel-Redirect: {target}\r\nX-Content-Type-Options: nosniff\r\n"
        "RateLimit: \"all\";r=9\r\nRateLimit-Policy: \"all\";q=10\r\n"
        "Idempotency-Replayed: true\r\nX-Trace-Id: of-the-pool\r\n\r\n"
    ).encode()
    # At once: nginx hangs up as soon as it has read where the request goes.
    end = struct.pack(">BBHHBB", 1, 3, request, 8, 0, 0) + bytes(8)
    line.sendall(struct.pack(">BBHHBB", 1, 6, request, len(answer), 0, 0) + answer + end)


def be_runner(line):
    digits = b""
    while not digits.endswith(b":"):
        digits += receive(line, 1)
    words = receive(line, int(digits[:-1]) + 1)[:-2].decode().split("\0")
    parameters = dict(zip(words[::2], words[1::2]))
    if "HTTP_X_BREAK" in parameters:
        return
    head = "Status: 200 OK\r\n"
    if "HTTP_X_REFUSE" in parameters:
        head = "Status: 503 Service Unavailable\r\nx-should-retry: false\r\n"
    head += "Content-Type: application/json\r\nCache-Control: no-store\r\n"
    head += "X-Content-Type-Options: nosniff\r\nX-Trace-Id: of-the-runner\r\n\r\n"
    line.sendall((head + json.dumps(parameters)).encode())


def serve(path, answer):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    while True:
        line, _ = listener.accept()
        with line:
            answer(line)


threading.Thread(target=serve, args=(sys.argv[1], be_pool), daemon=True).start()
serve(sys.argv[2], be_runner)

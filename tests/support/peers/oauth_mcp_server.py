#!/usr/bin/python3
"""An MCP server with TLS that wants OAuth, and its authorization server, for tests:
oauth_mcp_server.py [HOST] CERTIFICATE KEY RECORD

Listens at the address HOST (127.0.0.1), says "listening on PORT" and appends every request to
RECORD as a line of JSON {method, path, headers, body}. NAME, the last part of every path, sets
servers apart: POST /mcp/NAME (revision 2026-07-28; its tool whoami tells the token that it was
called with), GET /authorize/NAME (says yes at once), POST /token, /revoke and /register/NAME, and
the metadata of both. POST /set/NAME {…} changes what it says: expires_in (3600), metadata (where
its metadata are), issuer, page (its metadata are a page, those of its site hold), open (only calls
need a token), blocked (a page with that status is what the token endpoint answers). Its tool later
is a task without an end. A code and a refresh token are good once. It runs until it is killed.
"""
import base64
import hashlib
import json
import secrets
import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

certificate, key, record = sys.argv[-3:]
lock = threading.Lock()
names = {}


def state_of(name):
    return names.setdefault(name, {"codes": {}, "refresh": set(), "access": set(), "set": {}})


def new_tokens(state):
    tokens = {"access_token": f"access-{secrets.token_hex(8)}", "token_type": "Bearer",
              "refresh_token": f"refresh-{secrets.token_hex(8)}",
              "expires_in": state["set"].get("expires_in", 3600), "scope": "read"}
    state["access"].add(tokens["access_token"])
    state["refresh"].add(tokens["refresh_token"])
    return 200, tokens


def token(state, form):
    if form.get("grant_type") == "refresh_token":
        if form.get("refresh_token") not in state["refresh"]:
            return 400, {"error": "invalid_grant"}
        state["refresh"].discard(form["refresh_token"])
        return new_tokens(state)
    begun = state["codes"].pop(form.get("code"), None)
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if begun is None or begun["code_challenge"] != challenge or (
            begun["redirect_uri"] != form.get("redirect_uri")) or (
            begun["resource"] != form.get("resource")):
        return 400, {"error": "invalid_grant"}
    return new_tokens(state)


def rpc(message, shown):
    method, params = message["method"], message.get("params", {})
    if method == "server/discover":
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {"resultType": "complete", "tools": [
            {"name": name, "description": "d", "inputSchema": {"type": "object"}}
            for name in ("whoami", "later")]}
    if method == "tools/call" and params.get("name") == "later" or method == "tasks/get":
        return {"resultType": "task" if method == "tools/call" else "complete",
                "taskId": "task-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
                "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None, "pollIntervalMs": 60000}
    if method == "tasks/cancel":
        return {"resultType": "complete"}
    if method == "tools/call" and params.get("name") == "whoami":
        return {"resultType": "complete", "content": [{"type": "text", "text": shown}]}
    return None


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self, body):
        with lock:
            with open(record, "a", encoding="utf-8") as file:
                fields = {name.lower(): value for name, value in self.headers.items()}
                file.write(json.dumps({"method": self.command, "path": self.path,
                                       "headers": fields, "body": body}) + "\n")
            where = urlsplit(self.path)
            words = where.path.strip("/").split("/")
            self.answer_to(words, words[-1], where, body)

    def answer_to(self, words, name, where, body):
        base, state = f"https://{self.headers['Host']}", state_of(name)
        issuer = state["set"].get("issuer") or f"{base}/as/{name}"
        if words[0] == "set":
            state["set"].update(json.loads(body))
            self.say(200, {})
        elif words[:2] == [".well-known", "oauth-protected-resource"] and state["set"].get("page"):
            self.server.paged = issuer
            self.say(200, "<html>")
        elif words == [".well-known", "oauth-protected-resource"]:
            self.say(200, {"resource": base, "authorization_servers": [self.server.paged]})
        elif words[:2] == [".well-known", "oauth-protected-resource"]:
            self.say(200, {"resource": f"{base}/mcp/{name}", "authorization_servers": [issuer],
                           "scopes_supported": ["read"]})
        elif words[:2] == [".well-known", "oauth-authorization-server"]:
            self.say(200, {
                "issuer": issuer, "authorization_endpoint": f"{base}/authorize/{name}",
                "token_endpoint": f"{base}/token/{name}",
                "registration_endpoint": f"{base}/register/{name}",
                "revocation_endpoint": f"{base}/revoke/{name}",
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": True})
        elif words[0] == "register":
            self.say(201, {"client_id": f"client-of-{name}", "token_endpoint_auth_method": "none"})
        elif words[0] == "authorize":
            query = {one: values[0] for one, values in parse_qs(where.query).items()}
            code = secrets.token_hex(8)
            state["codes"][code] = query
            to = f"{query['redirect_uri']}?code={code}&state={query['state']}&iss={issuer}"
            self.say(302, {}, {"Location": to})
        elif words[0] == "token" and state["set"].get("blocked"):
            self.say(state["set"]["blocked"], "<html>Blocked</html>")
        elif words[0] in ("token", "revoke"):
            form = {one: values[0] for one, values in parse_qs(body).items()}
            self.say(*(token(state, form) if words[0] == "token" else (200, {})))
        elif words[0] == "mcp":
            self.serve_mcp(state, f"{base}/.well-known/oauth-protected-resource/mcp/{name}", body)
        else:
            self.say(404, {})

    def serve_mcp(self, state, metadata, body):
        shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
        message = json.loads(body)
        needs_token = not state["set"].get("open") or message["method"] == "tools/call"
        if needs_token and shown not in state["access"]:
            where = state["set"].get("metadata", metadata)
            self.say(401, {}, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'})
            return
        result = rpc(message, shown)
        answer = {"jsonrpc": "2.0", "id": message.get("id")}
        answer |= {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
        self.say(200, answer)

    def say(self, status, message, headers=None):
        body = json.dumps(message).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.handle_one(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def do_GET(self):
        self.handle_one("")

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
host = sys.argv[1] if len(sys.argv) > 4 else "127.0.0.1"
ThreadingHTTPServer.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
server = ThreadingHTTPServer((host, 0), Endpoint)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()

#!/usr/bin/python3
"""OpenID providers with TLS, for tests: openid_provider.py CERTIFICATE KEY RECORD

Listens at 127.0.0.1, says "listening on PORT" and appends every request to RECORD as a line of
JSON {method, path, headers, body}. The issuer https://127.0.0.1:PORT/NAME is a provider of its
own. Its page GET /NAME/authorize says yes at once. POST /set/NAME {...} changes what it says:

  claims    of the next ID tokens, over the usual ones; null removes a claim
  header    of the next tokens, likewise
  sign      rs256 (default), ps256, es256, none, hs256 (with the public key), other (another key)
  metadata  over its metadata; keys: over its key set
  answer    what its token endpoint answers: {status, body, headers, delay_s}, or {endless: true}
  redirect  the last word of the path that leads elsewhere; null: none does
  userinfo  what its userinfo endpoint answers; nothing by default
  iss       in the browser's way back; null: none
  kid       of its keys; a new one is a new key set

POST /NAME/logout {...} answers a logout token with these claims over the usual ones. It runs until
it is killed. Signatures are made by openssl, so nothing here shares code with Hostler.
"""
import base64
import hashlib
import hmac
import json
import secrets
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

certificate, key, record = sys.argv[-3:]
folder = tempfile.mkdtemp()
lock = threading.Lock()
names = {}
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def openssl(*words, text=b""):
    return subprocess.run(["openssl", *words], input=text, check=True, capture_output=True).stdout


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def make_keys():
    for name in ("rsa", "other"):
        openssl("genrsa", "-out", f"{folder}/{name}.pem", "2048")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{folder}/ec.pem")


def public_keys(kid):
    modulus = openssl("rsa", "-in", f"{folder}/rsa.pem", "-modulus", "-noout").decode()
    n = bytes.fromhex(modulus.split("=")[1].strip())
    point = openssl("ec", "-in", f"{folder}/ec.pem", "-pubout", "-outform", "DER")[-64:]
    return [{"kty": "RSA", "use": "sig", "kid": kid, "n": encoded(n), "e": "AQAB"},
            {"kty": "EC", "use": "sig", "kid": f"{kid}-ec", "crv": "P-256",
             "x": encoded(point[:32]), "y": encoded(point[32:])}]


def fixed(der):
    """The two numbers of a signature in DER, 32 bytes each."""
    at, parts = 2, []
    for _ in range(2):
        length = der[at + 1]
        parts.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
        at += 2 + length
    return b"".join(parts)


def signature(how, text):
    if how == "none":
        return b""
    if how == "hs256":
        public = openssl("rsa", "-in", f"{folder}/rsa.pem", "-pubout")
        return hmac.new(public, text, hashlib.sha256).digest()
    file = {"es256": "ec", "other": "other"}.get(how, "rsa")
    options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"]
    made = openssl("dgst", "-sha256", "-sign", f"{folder}/{file}.pem",
                   *(options if how == "ps256" else []), text=text)
    return fixed(made) if how == "es256" else made


def over(usual, changes):
    merged = {**usual, **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


def token_of(state, claims):
    how = state["set"].get("sign", "rs256")
    kid = state["set"].get("kid", "one")
    named = {"none": "none", "other": "RS256"}.get(how, how.upper())
    header = over({"alg": named, "typ": "JWT", "kid": f"{kid}-ec" if how == "es256" else kid},
                  state["set"].get("header"))
    text = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims).encode())}"
    return f"{text}.{encoded(signature(how, text.encode()))}"


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
        if words[0] == "set":
            state = names.setdefault(words[1], {"codes": {}, "set": {}})
            state["set"] = {**state["set"], **json.loads(body)}
            return self.say(200, {})
        state = names.setdefault(words[0], {"codes": {}, "set": {}})
        issuer = f"https://{self.headers['Host']}/{words[0]}"
        if state["set"].get("redirect") == words[-1] and "elsewhere" not in words:
            return self.say(302, {}, {"Location": f"{issuer}/elsewhere/{words[-1]}"})
        answer = {"openid-configuration": self.metadata, "keys": self.keys,
                  "authorize": self.authorize, "token": self.token, "logout": self.logout,
                  "userinfo": self.userinfo}
        return answer[words[-1]](state, issuer, where, body)

    def metadata(self, state, issuer, _where, _body):
        self.say(200, over({
            "issuer": issuer, "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token", "jwks_uri": f"{issuer}/keys",
            "userinfo_endpoint": f"{issuer}/userinfo",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "authorization_response_iss_parameter_supported": True},
            state["set"].get("metadata")))

    def keys(self, state, _issuer, _where, _body):
        kid = state["set"].get("kid", "one")
        self.say(200, over({"keys": public_keys(kid)}, state["set"].get("keys")))

    def authorize(self, state, issuer, where, _body):
        query = {one: values[0] for one, values in parse_qs(where.query).items()}
        code = secrets.token_hex(8)
        state["codes"][code] = query
        back = over({"code": code, "state": query["state"], "iss": issuer},
                    {"iss": state["set"]["iss"]} if "iss" in state["set"] else {})
        self.say(302, {}, {"Location": f"{query['redirect_uri']}?{urlencode(back)}"})

    def token(self, state, issuer, _where, body):
        wanted = state["set"].get("answer")
        if wanted:
            if wanted.get("endless"):
                return self.say_endlessly()
            time.sleep(wanted.get("delay_s", 0))
            return self.say(wanted.get("status", 200), wanted.get("body", {}),
                            wanted.get("headers"))
        form = {one: values[0] for one, values in parse_qs(body).items()}
        begun = state["codes"].pop(form.get("code"), None)
        digest = encoded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if begun is None or begun["code_challenge"] != digest or (
                begun["redirect_uri"] != form.get("redirect_uri")):
            return self.say(400, {"error": "invalid_grant"})
        access = secrets.token_hex(16)
        now = int(time.time())
        half = hashlib.sha256(access.encode()).digest()[:16]
        claims = over({"iss": issuer, "sub": "subject", "aud": begun["client_id"],
                       "exp": now + 300, "iat": now, "nonce": begun["nonce"],
                       "at_hash": encoded(half), "email_verified": True},
                      state["set"].get("claims"))
        return self.say(200, {"access_token": access, "token_type": "Bearer",
                              "id_token": token_of(state, claims)})

    def userinfo(self, state, _issuer, _where, _body):
        is_bearer = (self.headers.get("Authorization") or "").startswith("Bearer ")
        self.say(200 if is_bearer else 401, state["set"].get("userinfo", {}))

    def logout(self, state, issuer, _where, body):
        now = int(time.time())
        claims = over({"iss": issuer, "aud": "client", "iat": now, "exp": now + 120,
                       "jti": secrets.token_hex(8), "events": {LOGOUT: {}}}, json.loads(body))
        self.say(200, {"logout_token": token_of(state, claims)})

    def say(self, status, message, headers=None):
        body = json.dumps(message).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say_endlessly(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b" " * 65536)
        except OSError:
            pass

    def do_POST(self):
        self.handle_one(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def do_GET(self):
        self.handle_one("")

    def log_message(self, *_):
        pass


make_keys()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()

#!/usr/bin/python3
"""A mail server for tests, on aiosmtpd: mail_server.py MODE CERTIFICATE KEY RECORD

MODE: plain (offers no STARTTLS: as if somebody had stripped it), starttls (refuses mail before
TLS), tls, auth (starttls, and the login user:secret). Says "listening on PORT"; appends what it
took to RECORD as lines of JSON {from, to, message, login, tls}. Recipients: nobody@… 550,
later@… 451, slow@… answered after 5 s.
"""
import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import AuthResult, SMTP

mode, certificate, key, record = sys.argv[1:5]


def note(**what):
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 There is nobody of this name"
        if address.startswith("later@"):
            return "451 4.7.1 Greylisted, come again"
        if address.startswith("slow@"):
            await asyncio.sleep(5)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        note(**{"from": envelope.mail_from, "to": envelope.rcpt_tos,
                "message": envelope.content.decode("utf-8"),
                "login": getattr(session, "login_name", None),
                "tls": session.ssl is not None or mode == "tls"})
        return "250 Taken"


def authenticate(server, session, envelope, mechanism, data):
    session.login_name = data.login.decode()
    right = (data.login, data.password) == (b"user", b"secret")
    note(tried=session.login_name, tls=session.ssl is not None)
    return AuthResult(success=right, handled=False)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
terms = {"hostname": "mail.test"}
if mode in ("starttls", "auth"):
    terms.update(tls_context=context, require_starttls=True)
if mode == "auth":
    terms.update(authenticator=authenticate, auth_required=True)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Handler(), loop=loop, **terms), "127.0.0.1", 0,
                                      ssl=context if mode == "tls" else None)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())

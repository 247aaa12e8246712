#!/usr/bin/python3
"""A strict mail server for tests: strict_mail_server.py SCRIPT CERTIFICATE KEY RECORD

Says whatever SCRIPT (a file of JSON, read anew for every connection) wants at every step, and is
otherwise strict: commands in order, CRLF, ASCII unless SMTPUTF8 was asked for, no login that it
does not offer. Says "listening on PORT"; appends what happens to RECORD as lines of JSON:
{command} for each line that it was sent, {from, to, options, message, login, tls} for each mail
that it took.

Members of SCRIPT, all optional:
  tls         none (the default), starttls or tls
  offers      what EHLO offers besides: ["AUTH PLAIN LOGIN", "SMTPUTF8", "SIZE 1000"]
  answers     {step: reply} with the steps greeting, ehlo, helo, starttls, auth, mail, rcpt, data,
              message and quit. A reply is its lines joined by "\\n", each with its code.
  recipients  {address: {step: reply}}: the same for one recipient, at rcpt, data and message
A reply "close" ends the connection instead. "wait SECONDS REPLY" says REPLY after so long.
"""
import asyncio
import base64
import json
import ssl
import sys

script_file, certificate, key, record = sys.argv[1:5]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


def note(**what):
    with open(record, "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def read_script():
    with open(script_file, encoding="utf-8") as file:
        return json.load(file)


class Closed(Exception):
    pass


class Session:
    def __init__(self, script, reader, writer):
        self.script, self.reader, self.writer = script, reader, writer
        self.is_secure = script.get("tls") == "tls"
        self.login = None
        self.greeted = False
        self.reset()

    def reset(self):
        self.sender, self.options, self.recipients = None, "", []

    async def say(self, step, usual):
        answers = dict(self.script.get("answers", {}))
        for recipient in self.recipients[-1:]:
            answers.update(self.script.get("recipients", {}).get(recipient, {}))
        reply = answers.get(step, usual)
        if reply.startswith("wait "):
            _, seconds, reply = reply.split(" ", 2)
            await asyncio.sleep(float(seconds))
        if reply == "close":
            raise Closed
        lines = reply.split("\n")
        for at, line in enumerate(lines):
            mark = " " if at == len(lines) - 1 else "-"
            self.writer.write((line[:3] + mark + line[4:] + "\r\n").encode())
        await self.writer.drain()
        return reply.startswith(("2", "3"))

    async def line(self):
        line = await self.reader.readline()
        if not line:
            raise Closed
        if not line.endswith(b"\r\n"):
            await self.say("-", "500 5.5.2 A line ends with CR LF")
            raise Closed
        return line[:-2]

    async def hello(self, word, rest):
        self.greeted = True
        self.reset()
        if not rest or not rest.isascii():
            return await self.say("-", "501 5.5.4 A host name, please")
        if word == "HELO":
            return await self.say("helo", "250 strict.test")
        offers = list(self.script.get("offers", []))
        if self.script.get("tls") == "starttls" and not self.is_secure:
            offers = ["STARTTLS"]
        lines = ["250 " + offer for offer in ["strict.test", *offers]]
        return await self.say("ehlo", "\n".join(lines))

    async def secure(self):
        if self.script.get("tls") != "starttls" or self.is_secure:
            return await self.say("-", "502 5.5.1 No TLS here")
        if await self.say("starttls", "220 Go on"):
            await self.writer.start_tls(context)
            self.is_secure = True
            self.greeted = False

    async def log_in(self, rest):
        if not any(offer.startswith("AUTH ") for offer in self.script.get("offers", [])):
            return await self.say("-", "502 5.5.1 No login here")
        mechanism, _, first = rest.partition(" ")
        if mechanism == "PLAIN":
            if not first:
                await self.say("-", "334 ")
                first = (await self.line()).decode()
            user = base64.b64decode(first).split(b"\0")[1].decode()
        else:
            await self.say("-", "334 VXNlcm5hbWU6")
            user = base64.b64decode(await self.line()).decode()
            await self.say("-", "334 UGFzc3dvcmQ6")
            await self.line()
        if await self.say("auth", "235 2.7.0 Welcome"):
            self.login = user

    async def mail(self, rest):
        if not rest.startswith("FROM:<") or not self.greeted:
            return await self.say("-", "503 5.5.1 EHLO first, and then MAIL FROM:<…>")
        address, _, self.options = rest[6:].partition(">")
        if not address.isascii() and "SMTPUTF8" not in self.options:
            return await self.say("-", "501 5.5.4 An address of ASCII, please")
        if "SMTPUTF8" in self.options and "SMTPUTF8" not in self.script.get("offers", []):
            return await self.say("-", "555 5.5.4 SMTPUTF8 is not offered")
        if await self.say("mail", "250 2.1.0 OK"):
            self.sender = address

    async def rcpt(self, rest):
        if self.sender is None or not rest.startswith("TO:<"):
            return await self.say("-", "503 5.5.1 MAIL first")
        address = rest[4:].partition(">")[0]
        if not address.isascii() and "SMTPUTF8" not in self.options:
            return await self.say("-", "501 5.5.4 An address of ASCII, please")
        self.recipients.append(address)
        if not await self.say("rcpt", "250 2.1.5 OK"):
            self.recipients.pop()

    async def data(self):
        if not self.recipients:
            return await self.say("-", "554 5.5.1 No valid recipients")
        if not await self.say("data", "354 Go on"):
            return None
        message = b""
        while (line := await self.line()) != b".":
            message += (line[1:] if line.startswith(b".") else line) + b"\r\n"
        if not message.isascii() and "SMTPUTF8" not in self.options:
            return await self.say("-", "554 5.6.0 ASCII, please")
        if await self.say("message", "250 2.0.0 Taken"):
            note(**{"from": self.sender, "to": self.recipients, "options": self.options.strip(),
                    "message": message.decode(), "login": self.login, "tls": self.is_secure})
        return self.reset()

    async def serve(self):
        if not await self.say("greeting", "220 strict.test ESMTP"):
            raise Closed
        while True:
            line = (await self.line()).decode("utf-8", "replace")
            note(command=line)
            word, _, rest = line.partition(" ")
            word = word.upper()
            if word == "QUIT":
                await self.say("quit", "221 2.0.0 Bye")
                raise Closed
            calls = {"EHLO": lambda: self.hello("EHLO", rest),
                     "HELO": lambda: self.hello("HELO", rest),
                     "STARTTLS": self.secure, "AUTH": lambda: self.log_in(rest),
                     "MAIL": lambda: self.mail(rest), "RCPT": lambda: self.rcpt(rest),
                     "DATA": self.data}
            if word in calls:
                await calls[word]()
            else:
                await self.say("-", "500 5.5.1 What?")


async def serve(reader, writer):
    try:
        await Session(read_script(), reader, writer).serve()
    except (Closed, ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
        pass
    writer.close()


async def main():
    is_tls = read_script().get("tls") == "tls"
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context if is_tls else None)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


asyncio.run(main())

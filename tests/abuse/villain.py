"""What one account can do: each kind is a generator that acts once and tells the status, again and
again, in so many clients at once."""

import json
import os
import secrets
import time

PASSWORD = "villainous villainy"
# A turn that says little, slowly, and claims that it was much.
TRICKLE = "[usage in=2000000000 out=2000000000] [delay 500] [words 400]"


class Villain:
    """The account with its workspaces, as many as it gets, and a model of its own in each."""

    def __init__(self, rig, name, tasks_url):
        self.rig, self.name, self.tasks_url = rig, name, tasks_url
        self.model_url, self.pages_url = os.environ["ABUSE_MODEL_URL"], rig.env["MODEL_URL"]
        self.token, self.victims = None, []
        line = self.connect()
        status, answer = self.call(line, "POST", "/v1/auth/register", {
            "login": name, "email": name + "@villains.example", "password": PASSWORD})
        if status != 201:
            raise SystemExit(f"register answered {status}: {answer}")
        self.token, self.id = answer["access_token"], answer["user_id"]
        self.orgs = [None]
        for i in range(25):
            status, answer = self.call(line, "POST", "/v1/orgs",
                                       {"slug": f"{name}-{i}", "name": "Villains"})
            if status == 201:
                self.orgs.append(answer["id"])
        self.threads = [self.furnish(line, org) for org in self.orgs]

    def furnish(self, line, org):
        """A model and an MCP server of its own, a persona that fetches and begins tasks, and a
        thread; answers the thread's id."""
        provider = self.make(line, org, "/v1/llm-providers?scope=org", {
            "name": "own", "provider_kind": "openai", "api_key": "sk-0123456789",
            "base_url": self.model_url + "/v1"})
        self.make(line, org, f"/v1/llm-providers/{provider['id']}/models?scope=org", {
            "model": "own", "is_default": True, "context_tokens": 2000000})
        self.make(line, org, "/v1/mcp-servers?scope=org", {
            "key": "own", "url": self.tasks_url, "authorization": {"type": "none"}})
        self.make(line, org, "/v1/personas?scope=org", {
            "persona_key": "flood", "version": "1", "tools": ["web_fetch", "own__*"],
            "system_prompt": "x" * 60000})
        return self.make(line, org, "/v1/threads", {})["id"]

    def make(self, line, org, path, body):
        status, answer = self.call(line, "POST", path, body, org)
        if status != 201:
            raise SystemExit(f"{path} answered the villain {status}: {answer}")
        return answer

    def connect(self):
        return self.rig.api().line

    def call(self, line, method, path, body=None, org=None, address="2001:db8::1", raw=None):
        headers = {"X-Forwarded-For": address, "User-Agent": "villain/1"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if org:
            headers["X-Org-Id"] = org
        if body is not None or raw is not None:
            headers["Content-Type"] = "application/json"
        line.request(method, path, raw if body is None else json.dumps(body), headers)
        answer = line.getresponse()
        text = answer.read()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {}

    def place(self, number):
        number %= len(self.orgs)
        return self.orgs[number], self.threads[number]


def in_all_workspaces(villain, number):
    """Its workspaces in turn, from another one for each client."""
    while True:
        yield villain.place(number)
        number += 1


def workspaces(villain, number):
    line = villain.connect()
    while True:
        yield villain.call(line, "POST", "/v1/orgs", {
            "slug": f"v{number}-{secrets.token_hex(6)}", "name": "More"})[0]


def lying_models(villain, number):
    line = villain.connect()
    for org, _ in in_all_workspaces(villain, number):
        _, thread = villain.call(line, "POST", "/v1/threads", {}, org)
        path = f"/v1/threads/{thread.get('id')}"
        yield villain.call(line, "POST", path + "/messages", {"content": TRICKLE}, org)[0]
        yield villain.call(line, "POST", path + "/runs", {}, org)[0]


def tool_floods(villain, number):
    line = villain.connect()
    call = "web_fetch " + json.dumps({"url": villain.pages_url + "/pages/slow?ms=19000"})
    message = "[tools " + " | ".join([call] * 32) + "] [say done]"
    for org, _ in in_all_workspaces(villain, number):
        _, thread = villain.call(line, "POST", "/v1/threads", {}, org)
        path = f"/v1/threads/{thread.get('id')}"
        yield villain.call(line, "POST", path + "/messages", {"content": message}, org)[0]
        yield villain.call(line, "POST", path + "/runs", {"persona_id": "flood"}, org)[0]


def mcp_tasks(villain, number):
    """Runs that wait for tasks that never end, of a server that answers slowly about most of
    them."""
    line = villain.connect()
    calls = ["own__never"] * 2 + ["own__never_slow"] * 30
    message = "[tools " + " | ".join(calls) + "] [say done]"
    for org, _ in in_all_workspaces(villain, number):
        _, thread = villain.call(line, "POST", "/v1/threads", {}, org)
        path = f"/v1/threads/{thread.get('id')}"
        yield villain.call(line, "POST", path + "/messages", {"content": message}, org)[0]
        yield villain.call(line, "POST", path + "/runs", {"persona_id": "flood"}, org)[0]


def mails(villain, number):
    line = villain.connect()
    for org, _ in in_all_workspaces(villain, number):
        email = secrets.token_hex(6) + "@elsewhere.example"
        yield villain.call(line, "POST", "/v1/auth/email/otp/send", {"email": email})[0]
        yield villain.call(line, "POST", "/v1/auth/email/verify/send", {})[0]
        if org:
            yield villain.call(line, "POST", f"/v1/orgs/{org}/invitations",
                               {"email": email, "role": "member"}, org)[0]


def denials(villain, number):
    line = villain.connect()
    paths = ("/v1/admin/users", "/v1/admin/settings", "/v1/orgs/" + villain.name, "/v1/admin/nodes")
    for org, _ in in_all_workspaces(villain, number):
        for path in paths:
            yield villain.call(line, "GET", path, org=org)[0]


def strangers(villain, number):
    """A good token for organizations that are nobody's."""
    line = villain.connect()
    while True:
        other = f"01900000-0000-7000-8000-{secrets.token_hex(6)}"
        yield villain.call(line, "GET", "/v1/threads", org=other)[0]


def huge_json(villain, number):
    line = villain.connect()
    flat = '{"title":"x","metadata":[' + ",".join(["1"] * 500_000) + "]}"
    deep = '{"title":"x","metadata":' + '{"a":' * 19_000 + "1" + "}" * 19_000 + "}"
    for org, _ in in_all_workspaces(villain, number):
        for raw in (flat, deep):
            yield villain.call(line, "POST", "/v1/threads", org=org, raw=raw)[0]


def searches(villain, number):
    line = villain.connect()
    words = "%20".join("abcdefghijklmnopqrstuvwxyz"[:20])
    for org, _ in in_all_workspaces(villain, number):
        yield villain.call(line, "GET", "/v1/threads/search?limit=100&q=" + words, org=org)[0]
        yield villain.call(line, "GET", "/v1/threads/search?limit=100&q=e", org=org)[0]


def long_messages(villain, number):
    line = villain.connect()
    for org, thread in in_all_workspaces(villain, number):
        content = " ".join(secrets.token_hex(4) for _ in range(7000))
        yield villain.call(line, "POST", f"/v1/threads/{thread}/messages",
                           {"content": content}, org)[0]


def streams(villain, number):
    """Streams of a run that waits, from all over one /64, held until they are closed."""
    line = villain.connect()
    org, _ = villain.place(number)
    _, thread = villain.call(line, "POST", "/v1/threads", {}, org)
    path = f"/v1/threads/{thread.get('id')}"
    villain.call(line, "POST", path + "/messages", {"content": "[ask Why?]"}, org)
    _, run = villain.call(line, "POST", path + "/runs", {}, org)
    held = []
    while True:
        stream = villain.connect()
        stream.request("GET", f"/v1/runs/{run.get('run_id', run.get('id'))}/events", None, {
            "Authorization": "Bearer " + villain.token, "User-Agent": "villain/1",
            "X-Forwarded-For": f"2001:db8::{secrets.token_hex(2)}:{number + 1:x}",
            **({"X-Org-Id": org} if org else {})})
        answer = stream.getresponse()
        if answer.status == 200:
            held.append(stream)
        yield answer.status
        time.sleep(0.02)
        if len(held) > 300:
            held.pop(0).close()


def wrong_logins(villain, number):
    """Every second client guesses a neighbour's password; each from a network of its own."""
    line = villain.connect()
    login = villain.victims[number % len(villain.victims)] if number % 2 else f"guess{number}"
    while True:
        address = f"2001:db8:{number:x}:{secrets.token_hex(2)}::1"
        yield villain.call(line, "POST", "/v1/auth/login", {
            "login": login, "password": "wrong, each time"}, address=address)[0]


# How many clients at once, and what each does.
KINDS = {
    "workspaces": (1, workspaces),
    "lying_models": (4, lying_models),
    "tool_floods": (4, tool_floods),
    "mcp_tasks": (4, mcp_tasks),
    "mails": (2, mails),
    "denials": (4, denials),
    "strangers": (4, strangers),
    "huge_json": (2, huge_json),
    "searches": (4, searches),
    "long_messages": (2, long_messages),
    "streams": (8, streams),
    "wrong_logins": (64, wrong_logins),
}

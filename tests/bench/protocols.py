"""The protocols of other clients: what an answer costs beside the same run through the native API,
what a thousand followers of one run are sent a second, against nchan, and what each of them takes.
The clients are clients.c and follow.c."""

import json
import secrets
import time
import types

from rig import ROUNDS, SECONDS
from streams import RUN_ENDS, RUN_SPEAKS, Subscribers, fan_nchan, idle_streams
from whole_runs import CLIENTS, OURS, TOKENS, Load, requests_of

FOLLOWERS, IDLE_FOLLOWERS = 1000, 500
THREADS_EACH = 400  # laps go through them in turn, so that histories stay as short as a chat's
DONE = "data: [DONE]"


def chat_body(script):
    return {"model": "normal@1", "stream": True, "messages": [{"role": "user", "content": script}]}


def response_body(script):
    return {"model": "normal@1", "stream": True, "input": script}


def ui_body(script, chat="{thread}"):
    message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": script}]}
    return {"id": chat, "trigger": "submit-message", "messages": [message]}


def agui_body(script, thread="{thread}"):
    return {"threadId": thread, "runId": "r", "state": {}, "tools": [], "context": [],
            "forwardedProps": {}, "messages": [{"id": "m", "role": "user", "content": script}]}


# How each is asked for, what its stream begins to speak and ends with.
PROTOCOLS = {
    "chat completion": types.SimpleNamespace(
        path="/v1/openai/chat/completions", body=chat_body, first='"delta":{"content":"s',
        end=DONE),
    "response": types.SimpleNamespace(
        path="/v1/openai/responses", body=response_body, first="output_text.delta", end=DONE),
    "AI SDK chat": types.SimpleNamespace(
        path="/v1/ui/chat", body=ui_body, first='"text-delta"', end=DONE),
    "AG-UI run": types.SimpleNamespace(
        path="/v1/agui", body=agui_body, first="TEXT_MESSAGE_CONTENT", end="RUN_FINISHED"),
}


def load_of(rig, meter, end, requests, script):
    clients = [(account.token, account.threads, requests)
               for account in rig.accounts(CLIENTS, THREADS_EACH, script)]
    return Load(rig, meter, rig.port, end, clients)


def answers(rig, peers, meter, figures):
    """Chats and the rest beside whole runs, in turn in each round."""
    del peers
    script = f"[delay 0] [words {TOKENS}]"
    message, *run = requests_of(script)
    native = load_of(rig, meter, RUN_ENDS, [message, *run], "hello")
    alone = load_of(rig, meter, RUN_ENDS, run, script)
    loads = {name: load_of(rig, meter, each.end,
                           [("POST", each.path, json.dumps(each.body(script)))], "hello")
             for name, each in PROTOCOLS.items()}
    rounds = [native, alone, *loads.values()]
    for load in rounds:
        load.warm()
    for _ in range(ROUNDS):
        for load in rounds:
            load.measure()
    figures.cpu(f"a native run of {TOKENS} tokens", native.costs, OURS, unit="µs a run")
    figures.cpu("its run and stream without a message", alone.costs, OURS, unit="µs a run")
    for name, load in loads.items():
        figures.cpu(f"{name}, {TOKENS} tokens", load.costs, OURS, unit="µs a run")
        figures.add(f"{name} / the native run, CPU", ratios(load, native), "times",
                    at_most=1.15 if name == "chat completion" else None,
                    note="of message, run and stream in a thread that is there")
    figures.add("chat completion / run and stream alone, CPU",
                ratios(loads["chat completion"], alone), "times", note="which has no message")
    for name, load in {"native run": native, **loads}.items():
        figures.add(f"{name}, WAL", load.wal, "KiB")


def ratios(load, other):
    return [whole(ours) / whole(theirs) for ours, theirs in zip(load.costs, other.costs)]


def whole(costs):
    return sum(costs[group] for group in OURS)


def begin(rig, account, name, script):
    """Begins a run of the account's thread, natively or by a protocol: the request by which it is
    followed, and the connection that has to stay open."""
    api, thread, key = rig.api(account), account.threads[0], secrets.token_hex(8)
    if name == "native":
        return (f"/v1/runs/{api.start_run(thread, script)}/events", account.token), api
    each = PROTOCOLS[name]
    if name == "response":
        body = {**each.body(script), "stream": False, "background": True}
        made = api.call("POST", each.path, body)
        return (f"{each.path}/{made['id']}?stream=true", account.token), api
    body = each.body(script) if name == "chat completion" else each.body(script, thread)
    text = json.dumps(body)
    api.line.request("POST", each.path, text, {**api.headers(), "Idempotency-Key": key,
                                               "Content-Type": "application/json"})
    answer = api.line.getresponse()
    if answer.status != 200:
        raise SystemExit(f"POST {each.path} answered {answer.status}: {answer.read()}")
    if name == "AI SDK chat":
        return (f"{each.path}/{thread}/stream", account.token), api
    return (each.path, account.token, key, text), api


NATIVE = types.SimpleNamespace(first=RUN_SPEAKS, end=RUN_ENDS)


def follow(rig, name, request, count, at_once=True):
    each = PROTOCOLS.get(name, NATIVE)
    return Subscribers(rig, rig.port, [request] * count, each.end, each.first, at_once)


def fan(rig, meter, name, words):
    """As fan_out's native one."""
    count = FOLLOWERS
    script = f"[pause {2000 + 20 * count}] [delay 1] [words {words}]"
    request, api = begin(rig, rig.accounts(1, 1)[0], name, script)
    subscribers = follow(rig, name, request, count)
    meter.start()
    result = subscribers.result(90 + SECONDS)
    api.line.close()
    if result["least"] != result["most"] or result["ended"] != count:
        raise SystemExit(f"not every follower of a {name} read all: {result}")
    if not result["is_live"]:
        raise SystemExit(f"the run spoke before all followers of a {name} were there")
    return words * count / result["seconds"], meter.per_unit(count * words)


def followers(rig, peers, meter, figures):
    """A thousand of one run in each format, natively and of nchan's, in turn in each round."""
    words = max(300, round(300 * SECONDS))
    names = ["native", *PROTOCOLS]
    rates, costs = ({name: [] for name in [*names, "nchan"]} for _ in range(2))
    account = rig.accounts(1, 1)[0]
    for _ in range(ROUNDS):
        for name in names:
            rate, cost = fan(rig, meter, name, words)
            rates[name].append(rate)
            costs[name].append(cost)
        if peers.has("nchan"):
            result, cost = fan_nchan(rig, peers, meter, account, FOLLOWERS, words)
            rates["nchan"].append(result["deliveries"] / result["seconds"])
            costs["nchan"].append(cost)
    for name in names:
        figures.add(f"{FOLLOWERS} followers, {name}", rates[name], "words/s")
        figures.cpu(f"one word to one follower, {name}", costs[name], ("daemon", "nginx"),
                    unit="µs")
    if not rates["nchan"]:
        return
    figures.add(f"nchan, {FOLLOWERS} followers", rates["nchan"], "messages/s")
    figures.cpu("one delivery of nchan", costs["nchan"], ("peer nginx",), unit="µs")
    for name in names:
        figures.add(f"fan-out, {name} / nchan",
                    [a / b for a, b in zip(rates[name], rates["nchan"])], "times", at_least=1)


def stream_memory(rig, peers, meter, figures):
    """Before any crowd, and all stay open until the end: what was given back to the heap would hide
    what the next ones take."""
    del peers
    with idle_streams(rig, meter, figures):
        follower_memory(rig, meter, figures)


def follower_memory(rig, meter, figures):
    """Of followers that idle while their run's model thinks, opened one by one: a crowd at the door
    takes more for a moment. Native ones come before."""
    taken, opened = {}, []
    for name in ["others", "native", *PROTOCOLS]:
        account = rig.accounts(1, 1)[0]
        request, api = begin(rig, account, "native" if name == "others" else name,
                             "[pause 280000] [say so]")
        # Costs that come once.
        opened.append((follow(rig, name, request, 20, at_once=False), account, api))
        time.sleep(1)
        before = meter.memory_kib("daemon")
        opened.append((follow(rig, name, request, IDLE_FOLLOWERS, at_once=False), account, api))
        time.sleep(1)
        taken[name] = (meter.memory_kib("daemon") - before) / IDLE_FOLLOWERS
    for subscribers, _, api in opened:
        subscribers.program.stdin.close()
        if subscribers.result()["ended"] > 0:
            raise SystemExit("a run ended before the last one's followers were there")
        api.line.close()
    for _, account, _ in opened[::2]:
        for run, in rig.sql(f"SELECT id FROM runs WHERE org_id = '{account.org}'"):
            rig.api(account).call("POST", f"/v1/runs/{run}:cancel")
    rig.wait_for_runs()
    figures.add("daemon, a native follower that idles", taken["native"], "KiB")
    for name in PROTOCOLS:
        figures.add(f"daemon, a follower, {name}, beyond it", taken[name] - taken["native"], "KiB",
                    at_most=1, note="the whole of it less the native one's")

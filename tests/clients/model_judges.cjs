// Model servers that others wrote, beside the models of runs: @copilotkit/aimock in OpenAI's and Anthropic's forms, and
// @dwmkerr/mock-llm in OpenAI's. Checks how the runs end, and what the servers were sent.
//   NODE_EXTRA_CA_CERTS=$CA_CERT node model_judges.cjs      with the names of var/env; see run
// JUDGED_REQUESTS names a file for the requests, a line each, as sdk_types.cjs reads them.
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { LLMock } = require("@copilotkit/aimock");
const { done, eventually, person, prepare } = require("./mcp_hostler.cjs");

// Its package.json has a program alone.
const mockLlm = path.join(path.dirname(require.resolve("@dwmkerr/mock-llm/package.json")), "dist", "server.js");

const weather = { type: "function", name: "get_weather", description: "The weather now.", parameters: {
  type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false } };
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };

// A model of the platform at this address; its route_id.
async function route(admin, kind, url, model) {
  const name = `${model}${process.pid}x${Math.random().toString(36).slice(2)}`;
  const made = (where, body) => done("POST", `${where}?scope=platform`, { token: admin, body });
  const provider = await made("/v1/llm-providers", { name, provider_kind: kind, base_url: url, api_key: "judge" });
  return (await made(`/v1/llm-providers/${provider.id}/models`, { model, context_tokens: 100000 })).id;
}

// One run of the thread, to its end; results: of its calls, in their order.
async function run(who, thread, text, body, results = []) {
  const { token } = who;
  await done("POST", `/v1/threads/${thread}/messages`, { token, body: { content: text } });
  const { run_id: id } = await done("POST", `/v1/threads/${thread}/runs`, { token, body });
  const left = [...results];
  const end = await eventually(`the end of ${text}`, async () => {
    const now = await done("GET", `/v1/runs/${id}`, { token });
    if (now.status === "waiting_for_input" && left.length > 0) {
      const asked = (await eventsOf(who, id)).findLast(({ type }) => type === "run.waiting_for_input");
      const given = asked.data.calls.map(({ tool_call_id: call }) => ({ tool_call_id: call, output: left.shift() }));
      await done("POST", `/v1/runs/${id}/tool-results`, { token, body: { results: given } });
    }
    return ["completed", "failed", "cancelled"].includes(now.status) && now;
  });
  return { ...end, events: await eventsOf(who, id) };
}

async function eventsOf(who, id) {
  const answer = await fetch(`${process.env.BASE_URL}/v1/runs/${id}/events?follow=false`, {
    headers: { authorization: `Bearer ${who.token}` } });
  return (await answer.text()).split("\n").filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6))).filter(({ type }) => type);
}

// Keeps the bodies as Hostler sent them, because aimock keeps them in a form of its own, and hands all on.
async function recorder(target) {
  const bodies = [];
  const server = http.createServer(async (asked, answer) => {
    const pieces = [];
    for await (const piece of asked) pieces.push(piece);
    const body = Buffer.concat(pieces);
    bodies.push(JSON.parse(body));
    const far = http.request(target + asked.url, { method: asked.method, headers: asked.headers }, (head) => {
      answer.writeHead(head.statusCode, head.headers);
      head.on("error", () => answer.destroy()).pipe(answer);
    });
    far.on("error", () => answer.destroy()).end(body);
  });
  await new Promise((ready) => { server.listen(0, "127.0.0.1", ready); });
  const close = () => { server.closeAllConnections(); server.close(); };
  return { bodies, url: `http://127.0.0.1:${server.address().port}`, close };
}

const said = ({ events }) => events
  .filter(({ type, data }) => type === "message.delta" && data.channel !== "thinking")
  .map(({ data }) => data.content).join("");
const failure = ({ events }) => events.find(({ type }) => type === "run.failed")?.data;

function script(mock) {
  const overrides = { usage: { prompt_tokens: 12, completion_tokens: 34, input_tokens: 12, output_tokens: 34 } };
  const once = { hasToolResult: false };
  const call = { name: "get_weather", arguments: '{"city":"Rome"}' };
  const add = (userMessage, response, further = {}, opts = {}) =>
    mock.addFixture({ match: { userMessage, ...further }, response, ...opts });
  add("hello judge", { content: "Hello, Zürich \u{1F600}!", ...overrides });
  add("weather please", { content: "Let me look.", toolCalls: [call] }, once);
  add("weather please", { content: "It is sunny." }, { hasToolResult: true });
  add("think first", { toolCalls: [call], reasoning: "I look it up.", reasoningSignature: "c2lnbmF0dXJl",
    redactedThinking: ["cmVkYWN0ZWQ="] }, once);
  add("think first", { content: "Thought well." }, { hasToolResult: true });
  add("two cities", { toolCalls: [call, { name: "get_weather", arguments: '{"city":"Oslo"}' }] }, once);
  add("two cities", { content: "Both are sunny." }, { hasToolResult: true });
  add("a number", { content: '{"n":4}' });
  add("cut call", { toolCalls: [{ name: "get_weather", arguments: '{"city":"Ro' }], finishReason: "length" }, once);
  add("cut call", { content: "after the call" }, { hasToolResult: true });
  add("refuse it", { error: { message: "tool names must be unique", type: "invalid_request_error" }, status: 400 });
  add("too long", { content: "some words that are not all" }, {}, { truncateAfterChunks: 5, chunkSize: 4, latency: 20 });
  add("no place", { error: { message: "prompt is too long: 200001 tokens > 200000 maximum",
    type: "invalid_request_error" }, status: 400 });
}

async function judgeByAimock(who, kind, id, bodies) {
  const thread = async () => (await done("POST", "/v1/threads", { token: who.token, body: {} })).id;
  const body = { route_id: id };
  const tools = { ...body, tools: [weather] };
  const one = await thread();
  const hello = await run(who, one, "hello judge", body);
  assert.strictEqual(hello.status, "completed", JSON.stringify(hello));
  assert.strictEqual(said(hello), "Hello, Zürich \u{1F600}!");
  assert.strictEqual(hello.total_input_tokens, 12);
  assert.strictEqual(hello.total_output_tokens, 34);

  const sunny = await run(who, one, "weather please", tools, ["sun"]);
  assert.strictEqual(sunny.status, "completed", JSON.stringify(sunny));
  assert.strictEqual(said(sunny), "Let me look.\n\nIt is sunny.");
  const thought = await run(who, one, "think first", tools, ["sun"]);
  assert.strictEqual(thought.status, "completed", JSON.stringify(thought));
  const back = JSON.stringify(bodies.at(-1));
  const wanted = kind === "openai" ? ["I look it up."] : ["I look it up.", "c2lnbmF0dXJl", "cmVkYWN0ZWQ="];
  for (const data of wanted) assert.ok(back.includes(data), `${kind}: ${data} goes back: ${back}`);
  const both = await run(who, one, "two cities", tools, ["sun", "rain"]);
  assert.strictEqual(said(both), "Both are sunny.");
  const number = await run(who, await thread(), "a number", {
    ...body, response_format: { type: "json_schema", name: "number", strict: true, schema } });
  assert.deepStrictEqual(number.output, { n: 4 });

  const cut = await run(who, await thread(), "cut call", tools);
  assert.strictEqual(cut.status, "completed", JSON.stringify(cut));
  assert.deepStrictEqual(cut.events.filter(({ type }) => type === "tool.cut").map(({ data }) => data.reason), ["length"]);
  const refused = await run(who, await thread(), "refuse it", body);
  assert.strictEqual(refused.status, "failed");
  assert.match(failure(refused).message, /tool names must be unique/);
  const broken = await run(who, await thread(), "too long", body);
  assert.strictEqual(broken.status, "failed", JSON.stringify(broken));
  assert.strictEqual(failure(broken).code, "model.stream_broken");
  const full = await run(who, one, "no place", body);
  assert.strictEqual(failure(full).code, "model.context_exceeded", JSON.stringify(full));
  assert.strictEqual((await run(who, one, "hello judge", body)).status, "completed");
}

// It streams text alone; errors come as 200 with a body in the stream.
async function judgeByMockLlm(who, admin) {
  const rule = (match, response) => ({ path: "/v1/chat/completions", match, response });
  const content = (text) => JSON.stringify({ id: "c1", model: "m", created: 1, choices: [
    { message: { role: "assistant", content: text }, finish_reason: "stop" }] });
  const config = { streaming: { chunkSize: 3, chunkIntervalMs: 1 }, rules: [
    rule("@", { status: 200, content: content("Hello from the mock, \u00fc!") }),
    rule("contains(to_string(body.messages[-1].content), 'fail now')", { status: 503, content: JSON.stringify({
      error: { message: "upstream exploded", type: "invalid_request_error", code: "model_not_found" } }) }),
  ] };
  const log = console.log;
  console.log = () => {};
  const server = require(mockLlm).createServer(config, "127.0.0.1", 0).listen(0, "127.0.0.1");
  await new Promise((ready) => { server.on("listening", ready); });
  console.log = log;
  try {
    const id = await route(admin, "openai", `http://127.0.0.1:${server.address().port}/v1`, "mock");
    const { id: thread } = await done("POST", "/v1/threads", { token: who.token, body: {} });
    const hello = await run(who, thread, "hello", { route_id: id });
    assert.strictEqual(said(hello), "Hello from the mock, \u00fc!");
    assert.ok(hello.total_output_tokens > 0, "usage is estimated");
    const failed = await run(who, thread, "fail now", { route_id: id });
    assert.match(failure(failed)?.message ?? "", /upstream exploded/, JSON.stringify(failed));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function main() {
  const admin = await prepare();
  const who = await person("judged");
  const lines = [];
  for (const kind of ["openai", "anthropic"]) {
    const mock = new LLMock({ port: 0 });
    script(mock);
    await mock.start();
    const record = await recorder(mock.url);
    try {
      const url = kind === "openai" ? `${record.url}/v1` : record.url;
      const model = kind === "openai" ? "gpt-4o-mini" : "claude-sonnet-4-5";
      await judgeByAimock(who, kind, await route(admin, kind, url, model), record.bodies);
      assert.ok(record.bodies.length >= 14, `${record.bodies.length} requests`);
      console.log(`aimock: ${record.bodies.length} requests of ${kind}`);
      for (const body of record.bodies) lines.push(`${JSON.stringify({ form: kind, body })}\n`);
    } finally {
      record.close();
      await mock.stop();
    }
  }
  await judgeByMockLlm(who, admin);
  if (process.env.JUDGED_REQUESTS) fs.writeFileSync(process.env.JUDGED_REQUESTS, lines.join(""));
  console.log("model servers of others: the runs end as they should");
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });

// Holds what providers are sent against the types of their own packages: each captured request compiles as the
// parameter of the call that it stands for, and does not once a name in it is written wrongly.
//   node sdk_types.cjs REQUESTS FOLDER   REQUESTS: lines {"form":…,"body":…} of tests/system/agent/captured_requests_test
"use strict";
const { spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");

const types = {
  openai: { from: "openai/resources/chat/completions", name: "ChatCompletionCreateParamsStreaming" },
  anthropic: { from: "@anthropic-ai/sdk/resources/messages", name: "MessageCreateParamsStreaming" },
};

// Every place where a member has another name, one at a time; what an app or a model says for itself is no name.
const free = ["schema", "parameters", "input_schema", "input"];
function misspelled(value) {
  if (Array.isArray(value)) {
    return value.flatMap((inner, i) => misspelled(inner).map((other) => value.with(i, other)));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const { [name]: _, ...others } = value;
    const below = free.includes(name) ? [] : misspelled(inner).map((other) => ({ ...value, [name]: other }));
    return [{ ...others, [`${name}_`]: inner }, ...below];
  });
}

// What a provider sent for itself goes back beside the members of its types. Of Google's there is a type in its own
// package; the others must be what their servers document.
const ownMembers = {
  extra_content: "{ google: { thought_signature: NonNullable<Part[\"thoughtSignature\"]> } }",
  reasoning_content: "string",
  reasoning: "string",
  reasoning_details: "({ type: string; index?: number; format?: string } & " +
    "({ text: string } | { summary: string } | { data: string }))[]",
};
const own = [];
function withoutOwn(messages) {
  for (const message of messages.filter(({ role }) => role === "assistant")) {
    for (const holder of [message, ...message.tool_calls ?? []]) {
      for (const name of Object.keys(ownMembers).filter((name) => name in holder)) {
        own.push({ name, value: holder[name] });
        delete holder[name];
      }
    }
  }
}

const [requestsFile, folder] = process.argv.slice(2);
const requests = fs.readFileSync(requestsFile, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const counts = { openai: 0, anthropic: 0, misspelled: 0 };
const seen = new Set();
const lines = [...Object.values(types), { from: "@google/genai", name: "Part" }].map(({ from, name }) => `import type { ${name} } from ${JSON.stringify(from)};`);
// Models that take a temperature are older than the package; one that refuses it is asked again without.
const notInTypes = { openai: [], anthropic: ["temperature"] };
for (const { form, body } of requests) {
  counts[form]++;
  for (const name of notInTypes[form].filter((name) => name in body)) {
    console.log(`left out: ${name} of ${form}: ${types[form].name} does not have it any more`);
    delete body[name];
  }
  if (form === "openai") withoutOwn(body.messages);
  lines.push(`export const request${counts.openai + counts.anthropic}: ${types[form].name} =`, `${JSON.stringify(body)};`);
  for (const wrong of misspelled(body)) {
    // Of the same kinds of names one is enough.
    const kind = JSON.stringify(wrong, (name, inner) => typeof inner === "string" && name !== "type" ? "" : inner);
    if (seen.has(kind)) continue;
    seen.add(kind);
    counts.misspelled++;
    lines.push("// @ts-expect-error", `((request: ${types[form].name}) => request)(${JSON.stringify(wrong)});`);
  }
}
for (const [i, { name, value }] of own.entries()) {
  lines.push(`export const own${i}: ${ownMembers[name]} =`, `${JSON.stringify(value)};`);
}
const namesOfOwn = new Set(own.map(({ name }) => name));
fs.mkdirSync(folder, { recursive: true });
fs.writeFileSync(path.join(folder, "requests.mts"), `${lines.join("\n")}\n`);
const options = { strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", target: "es2023", types: [] };
fs.writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["requests.mts"] }));
const tsc = path.join(path.dirname(require.resolve("typescript/package.json")), "bin", "tsc");
const done = spawnSync(process.execPath, [tsc, "--project", folder], { encoding: "utf8" });
if (done.status !== 0) console.log(done.stdout, done.stderr);
console.log(`types of the SDKs: ${counts.openai} requests of openai, ${counts.anthropic} of anthropic, ` +
  `${counts.misspelled} misspelled ones, ${own.length} members of providers' own (${[...namesOfOwn].join(", ")}); ${done.status === 0 ? "all as they should be" : "NOT as they should be"}`);
process.exit(done.status === 0 && counts.openai > 10 && counts.anthropic > 10 && counts.misspelled > 100 && namesOfOwn.size === 4 ? 0 : 1);

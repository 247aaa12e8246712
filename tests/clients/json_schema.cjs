// Holds our validator of JSON Schema (schema-verdicts) against ajv, draft 2020-12, on random pairs of schema
// and value, and against the draft-7 files of Debian's json-schema-test-suite where their keywords mean the
// same. Prints every disagreement with its reason, and fails of one that has none.
//   node json_schema.cjs PATH-OF-schema-verdicts      SCHEMA_PAIRS (10000), SCHEMA_SEED (1)
"use strict";
const { spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const Ajv = require("ajv/dist/2020").default;
const { randomness, SchemaMaker, near, written } = require("./json_pairs.cjs");

const suite = "/usr/share/json-schema-test-suite/tests/draft7";
const valuesPerSchema = 4;

function verdictsOf(lines) {
  const done = spawnSync(process.argv[2], { input: lines.join("\n") + "\n", maxBuffer: 1 << 30 });
  if (done.status !== 0) throw new Error(`schema-verdicts: ${done.status} ${done.signal} ${done.stderr}`);
  return done.stdout.toString().trimEnd().split("\n").map((line) => JSON.parse(line));
}

// ---------------------------------------------------------------- ajv

// digits · 10^power, of what JavaScript writes.
function decimal(number) {
  const [, sign, whole, fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number));
  return { digits: BigInt(sign + whole + fraction), power: Number(power) - fraction.length };
}

function isMultiple(divisor, number) {
  const [a, b] = [decimal(number), decimal(divisor)];
  const least = Math.min(a.power, b.power);
  return (a.digits * 10n ** BigInt(a.power - least)) % (b.digits * 10n ** BigInt(b.power - least)) === 0n;
}

function ajv({ isExact = false, notesEvaluated = true } = {}) {
  const made = new Ajv({ strict: false, validateFormats: false, ownProperties: true, logger: false });
  made.opts.unevaluated = notesEvaluated;
  if (isExact) {
    made.removeKeyword("multipleOf");
    made.addKeyword({ keyword: "multipleOf", type: "number", schemaType: "number", validate: isMultiple });
  }
  return made;
}

// The same schema, with each contains in a schema of its own, and what it implies written out: so many items, or,
// when minContains is above maxContains, that it is no array.
function containsApart(schema) {
  if (Array.isArray(schema)) return schema.map(containsApart);
  if (typeof schema !== "object" || schema === null) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([name, inner]) =>
    [name, name === "const" || name === "enum" ? inner : containsApart(inner)]));
  const { contains, minContains, maxContains, ...others } = whole;
  if (contains === undefined) return whole;
  const least = minContains ?? 1;
  const apart = { contains, minContains: least, ...(maxContains === undefined ? {} : { maxContains }) };
  const isNever = least > (maxContains ?? Infinity);
  const implied = isNever ? [{ not: { type: "array" } }] : [{ minItems: least }, apart];
  return { ...others, allOf: [...implied, ...(others.allOf ?? [])] };
}

function ajvSays(by, schema, value) {
  try {
    return by.compile(schema)(value);
  } catch (error) {
    return `refused: ${error.message}`;
  }
}

// Where ajv errs, and what it says without that error; all of them together is the last.
const same = (schema) => schema;
const corrections = [
  ["ajv divides binary fractions for multipleOf, where 0.3 by 0.1 is no whole", ajv({ isExact: true }), same],
  ["ajv fails where it notes what was evaluated, for keywords that are not there", ajv({ notesEvaluated: false }), same],
  ["ajv forgets contains beside prefixItems, and of an empty array behind another one", ajv(), containsApart],
  ["several of these", ajv({ isExact: true, notesEvaluated: false }), containsApart],
];
const published = ajv();

function reasonOf(schema, value, ours) {
  const found = corrections.find(([, by, changed]) => ajvSays(by, changed(schema), value) === ours);
  return found && found[0];
}

function randomPairs(count, seed) {
  const r = randomness(seed);
  const schemas = [];
  for (let i = 0; i < count / valuesPerSchema; i++) {
    const schema = new SchemaMaker(r).whole();
    const values = Array.from({ length: valuesPerSchema }, () => near(r, schema, 3));
    const line = `{"schema":${written(r, schema)},"values":[${values.map((value) => written(r, value)).join(",")}]}`;
    schemas.push({ schema, values, line });
  }
  return schemas;
}

function againstAjv(count, seed) {
  const pairs = randomPairs(count, seed);
  const verdicts = verdictsOf(pairs.map(({ line }) => line));
  const tally = { pairs: 0, fit: 0, listed: 0, unexplained: 0 };
  const used = new Set();
  pairs.forEach(({ schema, values }, i) => {
    JSON.stringify(schema, (key, inner) => (used.add(key), inner));
    values.forEach((value, j) => {
      const ours = verdicts[i].refused ? `refused: ${JSON.stringify(verdicts[i].refused)}` : verdicts[i].fits[j];
      const theirs = ajvSays(published, schema, value);
      tally.pairs++;
      tally.fit += ours === true ? 1 : 0;
      const hasWords = ours !== false || verdicts[i].faults[j].every(({ keyword, message }) => keyword && message);
      if (ours === theirs && hasWords) return;
      const reason = hasWords && reasonOf(schema, value, ours);
      tally.listed++;
      tally.unexplained += reason ? 0 : 1;
      console.log(`${reason ? "differs" : "DIFFERS"}: ours ${ours}, ajv ${theirs}; ${reason || "no reason is known"}: ` +
        `${JSON.stringify(schema)} with ${JSON.stringify(value)}`);
    });
  });
  console.log(`ajv: ${tally.pairs} pairs, ${tally.fit} fit, ${tally.listed} differ, ${tally.unexplained} of them ` +
    `without a reason; seed ${seed}`);
  return tally.unexplained === 0 && tally.fit > tally.pairs / 10 && tally.fit < tally.pairs * 0.9;
}

// ---------------------------------------------------------------- the files of draft 7

const otherFiles = {
  "additionalItems.json": "the keyword is gone in 2020-12",
  "dependencies.json": "the keyword is gone in 2020-12",
  "definitions.json": "$defs in 2020-12, and points to a schema elsewhere",
  "refRemote.json": "points to schemas elsewhere",
};
const optionalFiles = ["bignum.json", "ecmascript-regex.json", "zeroTerminatedFloats.json"];
const otherGroups = [
  [/"items":\s*\[/, "a list as items is prefixItems in 2020-12"],
  [/"additionalItems"/, "the keyword is gone in 2020-12"],
  [/"dependencies"/, "the keyword is gone in 2020-12"],
  [/"\$ref":\s*"[^#"]/, "points to a schema elsewhere, or by its $id"],
  [/"\$id"/, "an $id within a schema means nothing here"],
];
const otherTests = {
  "escaped pointer ref": "points below names that are no keywords, which are refused",
  "ECMA 262 regex non-compliance": "asks of format, which proves nothing here",
  "$ref prevents a sibling $id from changing the base uri": "an $id within a schema means nothing here",
  "ref overrides any sibling keywords": "siblings of $ref count since 2019-09",
};

function groupsOf(file) {
  const groups = JSON.parse(fs.readFileSync(path.join(suite, file)));
  return groups.map((group) => ({ ...group, file }));
}

function whyLeftOut(group) {
  const text = JSON.stringify(group.schema);
  const other = otherGroups.find(([pattern]) => pattern.test(text));
  return otherTests[group.description] || (other && other[1]);
}

function againstSuite() {
  if (!fs.existsSync(suite)) throw new Error(`${suite} is missing: apt install json-schema-test-suite`);
  const files = fs.readdirSync(suite).filter((name) => name.endsWith(".json"))
    .concat(optionalFiles.map((name) => `optional/${name}`));
  const groups = [];
  const tally = { tests: 0, left: 0, bad: 0 };
  for (const file of files) {
    if (otherFiles[file]) console.log(`left out: ${file}: ${otherFiles[file]}`);
    for (const group of otherFiles[file] ? [] : groupsOf(file)) {
      const why = whyLeftOut(group);
      if (why) console.log(`left out: ${group.file}: ${group.description}: ${why}`);
      tally.left += why ? group.tests.length : 0;
      if (!why) groups.push(group);
    }
  }
  const lines = groups.map(({ schema, tests }) =>
    `{"schema":${JSON.stringify(schema)},"values":${JSON.stringify(tests.map(({ data }) => data))}}`);
  verdictsOf(lines).forEach((verdict, i) => groups[i].tests.forEach((test, j) => {
    tally.tests++;
    const ours = verdict.refused ? `refused: ${JSON.stringify(verdict.refused)}` : verdict.fits[j];
    if (ours === test.valid) return;
    tally.bad++;
    console.log(`DIFFERS: ${groups[i].file}: ${groups[i].description}: ${test.description}: ours ${ours}, ` +
      `theirs ${test.valid}`);
  }));
  console.log(`json-schema-test-suite: ${tally.tests} tests, ${tally.bad} differ, ${tally.left} left out ` +
    "beside the files above");
  return tally.bad === 0 && tally.tests > 340;
}

const seed = Number(process.env.SCHEMA_SEED || 1);
const isGood = [againstSuite(), againstAjv(Number(process.env.SCHEMA_PAIRS || 10000), seed)];
process.exit(isGood.every(Boolean) ? 0 : 1);

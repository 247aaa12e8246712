// Random schemas and values for json_schema.cjs: schemas of all keywords that we know, values that are
// near them. Small worlds, so that things meet: few names, few numbers, few strings.
"use strict";

const names = ["a", "b", "ab", "é", "x y", "isPrototypeOf", "/~"];
const strings = ["", "a", "b", "ab", "abc", "aab", "é", "é", "😀", "a😀b", "a\nb", "1", "12", "a1_",
  " ", "\u00a0", "\u2028", "\ufeff", "A", "Ωmega", "2026-01-02", "x y", "\t", "a-b", "[a]", "a.b", "^$", "}{"];
const numbers = [0, 1, 2, 3, 5, 7, 10, 100, -1, -2, 0.5, 1.5, 2.5, 0.1, 0.2, 0.3, 0.01, 12.99, 1e3, 1e20, 1e-7, -0.5,
  4294967296, 9007199254740991];
const patterns = ["^a", "b$", "^a*$", "^.$", "^..$", "\\d+", "^\\w+$", "\\s", "^\\S+$", "[a-c]{2}", "^[^a]", "a|^$",
  "^(a|b)+$", "\\u00e9", "\\u{1F600}", "^\\p{L}+$", "\\P{L}", "^\\p{Script=Greek}", "\\bb", "a\\B", "^(?:ab?)+$",
  "^(?<year>\\d{4})-\\d\\d-\\d\\d$", "[\\s\\S]", "^[\\w-]+$", "\\.", "\\x61", "[^]", "[]", "\\ud83d\\ude00", "a{2,}",
  "^a{1,2}?b", "\\t|\\n", "[\\d\\-x]", "\\[a\\]", "\\cJ", "^[\\u0000-\\u007f]*$", "[^\\s]", "[\\S\\n]", "^\\^\\$$", "\\p{Lu}",
  "^\\p{Letter}", "[😀é]", "\\/|\\}", "(?:)"];
const types = ["null", "boolean", "integer", "number", "string", "array", "object"];

const besideNullable = ["enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "$ref"];

function randomness(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  return {
    below,
    chance: (p) => next() < p,
    of: (list) => list[below(list.length)],
    some: (list, most) => [...new Set(Array.from({ length: 1 + below(most) }, () => list[below(list.length)]))],
  };
}

function value(r, depth) {
  const kind = r.below(depth > 0 ? 9 : 6);
  if (kind === 0) return null;
  if (kind === 1) return r.chance(0.5);
  if (kind <= 3) return r.of(numbers);
  if (kind <= 5) return r.of(strings);
  if (kind === 6) return Array.from({ length: r.below(5) }, () => value(r, depth - 1));
  const object = {};
  for (const name of r.some(names, 4)) object[name] = value(r, depth - 1);
  return object;
}

// What a schema holds, and what of it is near: {schema, near} where near() makes a value.
class SchemaMaker {
  constructor(r) {
    this.r = r;
    this.definitions = r.below(4);
    this.word = r.chance(0.7) ? "$defs" : "definitions";
  }

  whole() {
    const { r } = this;
    const schema = this.schema(3, -1, false);
    if (this.definitions === 0 || typeof schema === "boolean") return schema;
    const defs = {};
    for (let i = 0; i < this.definitions; i++) defs[`d${i}`] = this.schema(2, i, false);
    schema[this.word] = defs;
    if (r.chance(0.1)) schema.$schema = "https://json-schema.org/draft/2020-12/schema";
    return schema;
  }

  // own: the definition we are in; is_below: whether a member or an item is between it and here, so that a
  // $ref may go back.
  schema(depth, own, isBelow) {
    const { r } = this;
    if (r.chance(0.05)) return r.chance(0.7);
    const schema = {};
    const count = 1 + r.below(3);
    for (let i = 0; i < count; i++) this.keyword(schema, depth, own, isBelow);
    // Beside others than type, null fits here and not there: OpenAPI 3.0 lets nullable widen type alone.
    const isPlain = schema.type && !besideNullable.some((name) => name in schema);
    if (isPlain && r.chance(0.1)) schema.nullable = true;
    if (r.chance(0.05)) Object.assign(schema, { title: "t", "x-note": [1], format: "email", default: 1 });
    return schema;
  }

  keyword(schema, depth, own, isBelow) {
    const { r } = this;
    const here = () => this.schema(depth - 1, own, isBelow);
    const below = () => this.schema(depth - 1, own, true);
    const list = (make) => Array.from({ length: 1 + r.below(3) }, make);
    const size = () => r.below(5);
    const members = (pool) => Object.fromEntries(r.some(pool, 3).map((name) => [name, below()]));
    const flat = {
      type: () => (r.chance(0.7) ? r.of(types) : r.some(types, 3)),
      enum: () => list(() => value(r, 2)),
      const: () => value(r, 2),
      required: () => r.some(names, 2),
      minProperties: size, maxProperties: size, minItems: size, maxItems: size, minLength: size, maxLength: size,
      uniqueItems: () => r.chance(0.9),
      minimum: () => r.of(numbers), maximum: () => r.of(numbers),
      exclusiveMinimum: () => r.of(numbers), exclusiveMaximum: () => r.of(numbers),
      multipleOf: () => r.of(numbers.filter((n) => n > 0)),
      pattern: () => r.of(patterns),
      dependentRequired: () => Object.fromEntries(r.some(names, 2).map((name) => [name, r.some(names, 2)])),
    };
    const nested = {
      properties: () => members(names), patternProperties: () => members(patterns),
      additionalProperties: below, propertyNames: below, prefixItems: () => list(below), items: below,
      contains: () => {
        if (r.chance(0.4)) schema.minContains = r.below(3);
        if (r.chance(0.4)) schema.maxContains = r.below(3);
        return below();
      },
      allOf: () => list(here), anyOf: () => list(here), oneOf: () => list(here), not: here,
      if: () => {
        if (r.chance(0.8)) schema.then = here();
        if (r.chance(0.8)) schema.else = here();
        return here();
      },
      $ref: () => this.reference(own, isBelow),
    };
    const name = r.of(Object.keys(depth > 0 && r.chance(0.6) ? nested : flat));
    const made = (nested[name] || flat[name])();
    if (made !== undefined) schema[name] = made;
  }

  reference(own, isBelow) {
    const first = isBelow ? 0 : own + 1;
    if (isBelow && this.r.chance(0.2)) return "#";
    if (first >= this.definitions) return undefined;
    return `#/${this.word}/d${first + this.r.below(this.definitions - first)}`;
  }
}

// A value that the schema may mean, by what it says of it; often wrong, which is as welcome.
function near(r, schema, depth) {
  if (typeof schema !== "object" || schema === null || r.chance(0.15)) return value(r, 2);
  if ("const" in schema && r.chance(0.8)) return schema.const;
  if (schema.enum && r.chance(0.8)) return r.of(schema.enum);
  for (const branch of ["allOf", "anyOf", "oneOf"]) {
    if (schema[branch] && r.chance(0.5)) return near(r, r.of(schema[branch]), depth);
  }
  const asked = schema.type === undefined ? undefined : r.of([].concat(schema.type));
  const says = (...keywords) => keywords.some((keyword) => keyword in schema);
  if (depth > 0 && (asked === "object" || says("properties", "required", "patternProperties", "additionalProperties",
    "propertyNames", "minProperties", "maxProperties", "dependentRequired"))) {
    const object = {};
    for (const name of [...r.some(names, 3), ...(schema.required || [])]) {
      object[name] = near(r, (schema.properties || {})[name] ?? schema.additionalProperties, depth - 1);
    }
    return object;
  }
  if (depth > 0 && (asked === "array" || says("items", "prefixItems", "contains", "uniqueItems", "minItems", "maxItems"))) {
    return Array.from({ length: r.below(5) }, (_, i) => near(r, (schema.prefixItems || [])[i] ?? schema.items, depth - 1));
  }
  if (asked === "string" || says("pattern", "minLength", "maxLength")) return r.of(strings);
  if (asked === "integer" || asked === "number" || says("minimum", "maximum", "multipleOf", "exclusiveMinimum",
    "exclusiveMaximum")) {
    return r.of(numbers);
  }
  return value(r, 2);
}

// As JSON.stringify; a whole number is written 2, 2.0 or 2e0, which means the same.
function written(r, json) {
  if (typeof json === "number" && Number.isInteger(json) && Math.abs(json) < 1e6 && r.chance(0.2)) {
    return json + r.of([".0", "e0"]);
  }
  if (Array.isArray(json)) return `[${json.map((item) => written(r, item)).join(",")}]`;
  if (json === null || typeof json !== "object") return JSON.stringify(json);
  return `{${Object.entries(json).map(([name, item]) => `${JSON.stringify(name)}:${written(r, item)}`).join(",")}}`;
}

module.exports = { randomness, SchemaMaker, near, written };

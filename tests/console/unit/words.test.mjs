// Both languages say the same things, and every word that a screen asks for is there.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../console');
const sources = readdirSync(root, { recursive: true })
  .filter((name) => name.endsWith('.mjs'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

const tables = { en: {}, zh: {} };
for (const { name, text } of sources.filter((each) => each.name.startsWith('words/'))) {
  const add = (en, zh) => {
    for (const key of Object.keys(en)) assert.ok(!(key in tables.en), `${name}: ${key} twice`);
    Object.assign(tables.en, en);
    Object.assign(tables.zh, zh);
  };
  new Function('add_words', text.replace(/^import .*$/gm, ''))(add);
}
const names_in = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
const code = sources.filter((each) => !each.name.startsWith('words/'));
const all_code = code.map((each) => each.text).join('\n');

test('the tables have the same keys, and the same names in each text', () => {
  assert.ok(Object.keys(tables.en).length > 200);
  assert.deepEqual(Object.keys(tables.zh).sort(), Object.keys(tables.en).sort());
  for (const [key, text] of Object.entries(tables.en)) {
    if (/\.(one|other)$/.test(key)) continue;
    assert.deepEqual(names_in(tables.zh[key]), names_in(text), key);
  }
});

test('every key that the code names is in the tables', () => {
  for (const { name, text } of code) {
    for (const [, key] of text.matchAll(/\bt\('([\w.]+)'/g)) {
      assert.ok(key in tables.en || `${key}.other` in tables.en, `${name}: ${key}`);
    }
  }
});

// Imports of a file when it is loaded, and their imports: a screen that comes by itself has no
// other words.
const text_of = new Map(sources.map(({ name, text }) => [name, text]));
function loaded_with(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, path] of text_of.get(name).matchAll(/(?:from|^import) '(\.[^']*)';$/gm)) {
    loaded_with(normalize(join(dirname(name), path)), found);
  }
  return found;
}

test('every screen brings the words that it asks for', () => {
  const first = loaded_with('main.mjs');
  for (const { name, text } of code) {
    const with_it = [...loaded_with(name), ...first].filter((each) => each.startsWith('words/'));
    const words = with_it.map((each) => text_of.get(each)).join('\n');
    for (const [, key] of text.matchAll(/\bt\('([\w.]+)'/g)) {
      assert.ok(new RegExp(`\\s'?${key}(\\.other)?'?:`).test(words), `${name}: ${key}`);
    }
  }
});

test('every word is used', () => {
  // Keys that are put together: what stands before the first ${.
  const begins = [...all_code.matchAll(/`([\w.]+)\$\{/g)].map((found) => found[1]);
  const unused = Object.keys(tables.en).filter((key) => {
    const base = key.replace(/\.(one|other)$/, '');
    return !all_code.includes(`'${base}'`) && !begins.some((begin) => key.startsWith(begin));
  });
  assert.deepEqual(unused, []);
});

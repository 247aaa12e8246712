// The words of source code by kind, to be shown in colours: comment, string, number, keyword, name
// (of a tag, a key or a type), added, removed. Loaded by code_view.mjs when code comes into sight.
// A language is one pattern that takes what it finds or fails at once, so time is linear in the
// text, whatever a model writes. An unknown language has no colours.
import {
  c_words,
  go_words,
  java_words,
  js_words,
  python_words,
  ruby_words,
  rust_words,
  shell_words,
  sql_words,
} from './highlight_words.mjs';


const decimal = String.raw`\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?`;
const number = String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|${decimal})[a-zA-Z%]*`;
const quoted = (mark) => String.raw`${mark}(?:[^${mark}\\\n]|\\(?:[^]|$))*(?:${mark}|(?=\n)|$)`;
const double_quoted = quoted('"');
const single_quoted = quoted("'");
const back_quoted = '`(?:[^`\\\\]|\\\\(?:[^]|$))*(?:`|$)';
// A lifetime of Rust is not a character.
const character = String.raw`'(?:[^'\\\n]|\\[^'\n]{0,9})'`;
const slash_comment = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const hash_comment = String.raw`(?<![^\s;(])#[^\n]*`;
const word = String.raw`[\p{L}_$@][\p{L}\p{N}_$]*`;


const code = (keywords, ...parts) => ({
  pattern: parts.concat([`(?<number>${number})`, `(?<word>${word})`]).join('|'),
  keywords,
});
const comment = (pattern) => `(?<comment>${pattern})`;
const string = (...patterns) => `(?<string>${patterns.join('|')})`;
const with_slashes = (keywords, ...strings) =>
  code(keywords, comment(slash_comment), string(double_quoted, single_quoted, ...strings));
const with_hashes = (keywords, ...strings) =>
  code(keywords, comment(hash_comment), string(...strings, double_quoted, single_quoted));

const python_strings = ['"""[^]*?(?:"""|$)', "'''[^]*?(?:'''|$)"];
const key = String.raw`(?<name>^[ \t]*(?:- +)?[\p{L}_][\p{L}\p{N}_.-]*(?=[ \t]*[:=]))`;
const section = String.raw`(?<=^|\n)\[[^\]\n]*\]`;
const settings = {
  pattern: [
    comment(String.raw`(?<![^\s])[#;][^\n]*`),
    key,
    string(double_quoted, single_quoted),
    `(?<keyword>${section}|\\b(?:true|false|null|yes|no|on|off)\\b)`,
    `(?<number>${number})`,
    word,
  ].join('|'),
};
const languages = {
  c: with_slashes(c_words),
  js: with_slashes(js_words, back_quoted),
  java: with_slashes(java_words),
  go: with_slashes(go_words, back_quoted),
  rust: code(rust_words, comment(slash_comment), string(double_quoted, character)),
  python: with_hashes(python_words, ...python_strings),
  ruby: with_hashes(ruby_words),
  shell: with_hashes(shell_words, back_quoted),
  sql: {
    ...code(sql_words, comment(String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`), string(single_quoted)),
    ignores_case: true,
  },
  css: code(
    new Set(['important']),
    comment(String.raw`\/\*[^]*?(?:\*\/|$)`),
    string(double_quoted, single_quoted),
    String.raw`(?<name>[-\p{L}_][-\p{L}\p{N}_]*(?=\s{0,9}:))|(?<keyword>[@!][-\w]+)`,
    String.raw`[-#\p{L}_][-\w]*`,
  ),
  settings,
  json: {
    pattern: [
      `(?<name>${double_quoted}(?=\\s{0,9}:))`,
      string(double_quoted),
      String.raw`(?<keyword>\b(?:true|false|null)\b)`,
      `(?<number>-?${number})`,
      comment(slash_comment),
    ].join('|'),
  },
  markup: {
    pattern: [
      comment(String.raw`<!--[^]*?(?:-->|$)`),
      String.raw`(?<keyword><[\/!?]?[\p{L}][\p{L}\p{N}:._-]*|[\/?]?>)`,
      String.raw`(?<name>[\p{L}_:@][\p{L}\p{N}_:.-]*(?=\s{0,9}=\s{0,9}["']))`,
      String.raw`[\p{L}_:@][\p{L}\p{N}_:.-]*`,
      `(?<string>(?<=[=]\\s{0,9})(?:"[^"]*(?:"|$)|'[^']*(?:'|$)))`,
    ].join('|'),
  },
  diff: {
    pattern: String.raw`(?<keyword>(?<=^|\n)(?:@@|diff |index |---|\+\+\+)[^\n]*)|` +
      String.raw`(?<added>(?<=^|\n)\+[^\n]*)|(?<removed>(?<=^|\n)-[^\n]*)`,
  },
};

const names = {
  c: 'c h cc cpp cxx c++ hpp objective-c objc glsl proto protobuf',
  js: 'js jsx mjs cjs javascript ts tsx typescript vue svelte',
  java: 'java kotlin kt swift cs csharp c# scala dart groovy php',
  go: 'go golang',
  rust: 'rust rs zig',
  python: 'python py python3 pyi',
  ruby: 'ruby rb perl pl elixir ex r julia lua',
  shell: 'shell sh bash zsh console shellsession docker dockerfile make makefile powershell ps1',
  sql: 'sql postgresql postgres plpgsql mysql sqlite psql',
  css: 'css scss less',
  settings: 'yaml yml toml ini conf nginx properties env dotenv http',
  json: 'json jsonc json5 jsonl',
  markup: 'html xml svg xhtml htm',
  diff: 'diff patch',
};
const by_name = new Map(
  Object.entries(names).flatMap(([id, list]) => list.split(' ').map((name) => [name, id])),
);
const compiled = new Map();
// So many pieces of one block are coloured, so that drawing it takes no time.
const pieces_max = 4_000;

// {pattern, kinds}: the kind of each group.
function compiled_of(id) {
  if (!compiled.has(id)) {
    const { pattern } = languages[id];
    compiled.set(id, {
      pattern: new RegExp(pattern.replaceAll(/\(\?<[a-z]+>/g, '('), 'gmu'),
      kinds: [...pattern.matchAll(/\(\?<([a-z]+)>/g)].map(({ 1: kind }) => kind),
    });
  }
  return compiled.get(id);
}

// Pieces of the text in order, each a string or {kind, text}; together they are the text.
export function pieces_of(text, name) {
  const id = by_name.get(name.toLowerCase());
  if (id === undefined) return [text];
  const { keywords, ignores_case = false } = languages[id];
  const { pattern, kinds } = compiled_of(id);
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    let kind = kinds[found.indexOf(found[0], 1) - 1];
    if (kind === 'word') {
      const one = ignores_case ? found[0].toLowerCase() : found[0];
      kind = keywords.has(one) ? 'keyword' : undefined;
    }
    if (kind === undefined || found[0] === '') continue;
    if (found.index > at) pieces.push(text.slice(at, found.index));
    pieces.push({ kind, text: found[0] });
    at = found.index + found[0].length;
    if (pieces.length >= pieces_max) break;
  }
  if (at < text.length) pieces.push(text.slice(at));
  return pieces;
}

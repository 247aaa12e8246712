// The inside of a Markdown paragraph as a tree: emphasis, code, links, breaks. Called by
// markdown.mjs. Time is linear in the text but for emphasis, whose search CommonMark bounds the
// same way; the tree is at most `depth_max` deep, whatever the text does. Nothing here becomes
// HTML: text stays text.
//
// A node is a string, or { type: em | strong | del | link | code | math | br, children?, text?,
// href?, is_display? }.
import { math_at } from './markdown_math.mjs';

const depth_max = 16;
const href_chars_max = 2000;
const safe_protocols = new Set(['http:', 'https:', 'mailto:']);

// The address as the browser would open it, or null when it belongs neither to the web nor to mail.
// Tabs, line ends and the like inside of a scheme are the URL parser's business, so it alone is
// asked.
export function safe_href(text) {
  if (text.length > href_chars_max || !URL.canParse(text)) return null;
  const url = new URL(text);
  return safe_protocols.has(url.protocol) ? url.href : null;
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const is_space = (char) => char === '' || /\s/u.test(char);
const is_mark = (char) => /[\p{P}\p{S}]/u.test(char);

// A list whose pieces are taken out without moving the others.
class Chain {
  constructor() {
    this.first = { next: null, prev: null };
    this.last = this.first;
  }

  push(members) {
    const item = { prev: this.last, next: null, ...members };
    this.last.next = item;
    this.last = item;
    return item;
  }

  // Takes what lies strictly between two items away; `to` null: to the end.
  cut_between(from, to) {
    const nodes = [];
    let depth = 0;
    for (let item = from.next; item !== to; item = item.next) {
      const node = item.delimiter ? item.delimiter.char.repeat(item.delimiter.count) : item.node;
      if (node !== '') nodes.push(node);
      depth = Math.max(depth, item.depth ?? 0);
    }
    from.next = to;
    if (to === null) this.last = from;
    else to.prev = from;
    return { nodes: joined(nodes), depth };
  }

  remove(item) {
    item.prev.next = item.next;
    if (item.next === null) this.last = item.prev;
    else item.next.prev = item.prev;
  }
}

function joined(nodes) {
  const out = [];
  for (const node of nodes) {
    if (typeof node === 'string' && typeof out.at(-1) === 'string') out[out.length - 1] += node;
    else out.push(node);
  }
  return out;
}

// CommonMark 0.31, "An algorithm for parsing nested emphasis": every delimiter behind `bottom`.
function match_emphasis(chain, bottom) {
  const floors = new Map(); // kind of closer -> where the search for its opener may stop
  let closer = bottom.next;
  while (closer !== null) {
    const delimiter = closer.delimiter;
    if (!delimiter || !delimiter.can_close) {
      closer = closer.next;
      continue;
    }
    const kind = `${delimiter.char}${delimiter.can_open}${delimiter.length % 3}`;
    const floor = floors.get(kind) ?? bottom;
    let opener = delimiter.before;
    while (opener !== null && opener.at > (floor.at ?? -1) && !opens(opener.delimiter, delimiter)) {
      opener = opener.delimiter.before;
    }
    if (opener === null || opener.at <= (floor.at ?? -1)) {
      floors.set(kind, delimiter.before ?? bottom);
      const next = closer.next;
      if (!delimiter.can_open) release(closer);
      closer = next;
      continue;
    }
    closer = wrap(chain, opener, closer);
  }
  for (let item = bottom.next; item !== null; item = item.next) if (item.delimiter) release(item);
}

function opens(opener, closer) {
  if (!opener.can_open || opener.char !== closer.char) return false;
  if (opener.char === '~') return opener.count === closer.count;
  const is_odd =
    (opener.can_close || closer.can_open) &&
    (opener.length + closer.length) % 3 === 0 &&
    (opener.length % 3 || closer.length % 3);
  return !is_odd;
}

// The delimiter is text from now on, and no search sees it.
function release(item) {
  const { char, count, before, behind } = item.delimiter;
  if (before) before.delimiter.behind = behind;
  if (behind) behind.delimiter.before = before;
  item.node = char.repeat(count);
  item.delimiter = null;
}

function wrap(chain, opener, closer) {
  const { char } = closer.delimiter;
  const is_two = opener.delimiter.count >= 2 && closer.delimiter.count >= 2;
  const type = char === '~' ? 'del' : is_two ? 'strong' : 'em';
  const used = char === '~' ? closer.delimiter.count : is_two ? 2 : 1;
  // Marks in between cannot be matched any more.
  for (let item = closer.delimiter.before; item !== opener;) {
    const before = item.delimiter.before;
    release(item);
    item = before;
  }
  const { nodes, depth } = chain.cut_between(opener, closer);
  const is_deep = depth >= depth_max;
  const mark = char.repeat(used);
  const made = is_deep ? [mark, ...nodes, mark] : [{ type, children: nodes }];
  for (const node of made) insert_before(closer, node, is_deep ? depth : depth + 1);
  opener.delimiter.count -= used;
  closer.delimiter.count -= used;
  if (opener.delimiter.count === 0) {
    release(opener);
    chain.remove(opener);
  }
  if (closer.delimiter.count > 0) return closer;
  const next = closer.next;
  release(closer);
  chain.remove(closer);
  return next;
}

function insert_before(item, node, depth) {
  const made = { node, depth, at: item.at, prev: item.prev, next: item };
  item.prev.next = made;
  item.prev = made;
}

class InlineParser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.chain = new Chain();
    this.newest_delimiter = null;
    this.brackets = [];
    this.code_ends = null;
    this.missing = new Set();
  }

  push(node, depth = 0) {
    return this.chain.push({ node, depth, at: this.at });
  }

  // A run of backticks ends at the next run of the same length; looked up, not searched.
  take_code() {
    let length = 1;
    while (this.text[this.at + length] === '`') length += 1;
    if (this.code_ends === null) {
      this.code_ends = new Map();
      for (const { 0: run, index } of this.text.matchAll(/`+/g)) {
        if (!this.code_ends.has(run.length)) this.code_ends.set(run.length, []);
        this.code_ends.get(run.length).push(index);
      }
    }
    const ends = this.code_ends.get(length) ?? [];
    while (ends.length > 0 && ends[0] <= this.at) ends.shift();
    const from = this.at + length;
    if (ends.length === 0) {
      this.push('`'.repeat(length));
      this.at = from;
      return;
    }
    let code = this.text.slice(from, ends[0]).replaceAll('\n', ' ');
    if (code.startsWith(' ') && code.endsWith(' ') && code.trim() !== '') code = code.slice(1, -1);
    this.push({ type: 'code', text: code });
    this.at = ends[0] + length;
  }

  // At most what one token may be long.
  rest_from(from) {
    return this.text.slice(from, from + href_chars_max + 2);
  }

  take_delimiters(char) {
    let end = this.at;
    while (this.text[end] === char) end += 1;
    const length = end - this.at;
    if (char === '~' && length > 2) {
      this.push(char.repeat(length));
      this.at = end;
      return;
    }
    const before = [...this.text.slice(Math.max(0, this.at - 2), this.at)].at(-1) ?? '';
    const behind = String.fromCodePoint(this.text.codePointAt(end) ?? 32);
    const is_left = !is_space(behind) && (!is_mark(behind) || is_space(before) || is_mark(before));
    const is_right = !is_space(before) && (!is_mark(before) || is_space(behind) || is_mark(behind));
    const in_word = char === '_';
    const delimiter = {
      char,
      length,
      count: length,
      can_open: is_left && (!in_word || !is_right || is_mark(before)),
      can_close: is_right && (!in_word || !is_left || is_mark(behind)),
      before: this.newest_delimiter,
      behind: null,
    };
    const item = this.chain.push({ node: '', depth: 0, at: this.at, delimiter });
    if (this.newest_delimiter) this.newest_delimiter.delimiter.behind = item;
    this.newest_delimiter = item;
    this.at = end;
  }

  open_bracket(is_image) {
    const item = this.push(is_image ? '![' : '[');
    this.brackets.push({ item, is_active: true, newest_delimiter: this.newest_delimiter });
    this.at += is_image ? 2 : 1;
  }

  close_bracket() {
    const bracket = this.brackets.pop();
    const target = bracket?.is_active ? this.target_at(this.at + 1) : null;
    if (target === null) {
      this.push(']');
      this.at += 1;
      return;
    }
    this.close_emphasis(bracket.item, bracket.newest_delimiter);
    const { nodes, depth } = this.chain.cut_between(bracket.item, null);
    this.chain.remove(bracket.item);
    const children = nodes.length > 0 && depth < depth_max ? nodes : [target.href];
    this.push({ type: 'link', href: target.href, children }, Math.min(depth, depth_max) + 1);
    for (const outer of this.brackets) outer.is_active = false;
    this.at = target.end;
  }

  // Matches what stands behind the item; the delimiters before it go on.
  close_emphasis(item, newest_before) {
    if (newest_before) newest_before.delimiter.behind = null;
    for (let each = this.newest_delimiter; each && each !== newest_before;) {
      const { before } = each.delimiter;
      if (before === newest_before) each.delimiter.before = null;
      each = before;
    }
    match_emphasis(this.chain, item);
    this.newest_delimiter = newest_before;
  }

  // `(address "title")`; the title is left out, what is shown stands in the text.
  target_at(from) {
    if (this.text[from] !== '(') return null;
    const rest = this.rest_from(from + 1);
    const angled = /^[ \n]{0,9}<([^<>\n]*)>/.exec(rest);
    let end = angled ? angled[0].length : /^[ \n]{0,9}/.exec(rest)[0].length;
    const begin = end;
    for (let depth = 0; !angled && end < rest.length && rest[end] > ' '; ++end) {
      if (rest[end] === '(' && ++depth > 4) return null;
      if (rest[end] === ')' && --depth < 0) break;
    }
    const address = angled ? angled[1] : rest.slice(begin, end);
    const close = /^(?:[ \n]{1,9}(?:"[^"]{0,500}"|'[^']{0,500}'))?[ \n]{0,9}\)/.exec(
      rest.slice(end),
    );
    const href = close ? safe_href(unescaped(address)) : null;
    return href === null ? null : { href, end: from + 1 + end + close[0].length };
  }

  take_address() {
    const found = /https?:\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]+/y.exec(this.rest_from(this.at));
    const before = this.text[this.at - 1] ?? '';
    if (found === null || /[a-z0-9]/i.test(before)) return false;
    let address = found[0];
    for (let last = address.at(-1); /[.,;:!?)\]}*_~]/.test(last); last = address.at(-1)) {
      if (last === ')' && address.split('(').length >= address.split(')').length) break;
      address = address.slice(0, -1);
    }
    const href = safe_href(address);
    if (href === null) return false;
    this.push({ type: 'link', href, children: [address] }, 1);
    this.at += address.length;
    return true;
  }

  take_angle() {
    const rest = this.rest_from(this.at);
    const line_break = /^<br ?\/?>/i.exec(rest);
    if (line_break) {
      this.push({ type: 'br' });
      this.at += line_break[0].length;
      return true;
    }
    const found = /^<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]{1,64}@[^\s<>@]{1,255})>/i.exec(rest);
    const address = found?.[1] ?? '';
    const href = safe_href(/^[a-z][a-z0-9+.-]+:/i.test(address) ? address : `mailto:${address}`);
    if (found === null || href === null) return false;
    this.push({ type: 'link', href, children: [address] }, 1);
    this.at += found[0].length;
    return true;
  }

  take_entity() {
    const found = /^&(?:(\w{2,6})|#(\d{1,7})|#x([0-9a-f]{1,6}));/i.exec(
      this.text.slice(this.at, this.at + 12),
    );
    if (found === null) return false;
    const code = found[2] ? Number(found[2]) : parseInt(found[3] ?? '0', 16);
    const is_char = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    const text = found[1]
      ? entities[found[1].toLowerCase()]
      : is_char && String.fromCodePoint(code);
    if (!text) return false;
    this.push(text);
    this.at += found[0].length;
    return true;
  }

  take_line_end() {
    const last = this.chain.last;
    const is_hard = typeof last.node === 'string' && / {2,}$/.test(last.node.slice(-3));
    if (typeof last.node === 'string' && !last.delimiter) last.node = last.node.trimEnd();
    this.push(is_hard ? { type: 'br' } : '\n');
    this.at += 1;
  }

  take_math() {
    const found = math_at(this.text, this.at, this.missing);
    if (found === null) return false;
    this.push({ type: 'math', text: found.text, is_display: found.is_display });
    this.at = found.end;
    return true;
  }

  take_escape() {
    const next = this.text[this.at + 1] ?? '';
    if (next === '\n') this.push({ type: 'br' });
    else this.push(/[!-/:-@[-`{-~]/.test(next) ? next : `\\${next}`);
    this.at += 1 + next.length;
  }

  take(char) {
    if (char === '`') return this.take_code();
    if (char === '*' || char === '_' || char === '~') return this.take_delimiters(char);
    if (char === '[') return this.open_bracket(false);
    if (char === '!' && this.text[this.at + 1] === '[') return this.open_bracket(true);
    if (char === ']') return this.close_bracket();
    if ((char === '$' || char === '\\') && this.take_math()) return;
    if (char === '\\') return this.take_escape();
    if (char === '\n') return this.take_line_end();
    if (char === '<' && this.take_angle()) return;
    if (char === '&' && this.take_entity()) return;
    if (char === 'h' && this.take_address()) return;
    this.push(char);
    this.at += 1;
  }

  parse() {
    const special = /[\\`*_~[\]!<&\n$]|http(?=s?:\/\/)/g;
    while (this.at < this.text.length) {
      special.lastIndex = this.at;
      const end = special.exec(this.text)?.index ?? this.text.length;
      if (end > this.at) {
        this.push(this.text.slice(this.at, end));
        this.at = end;
      }
      if (end < this.text.length) this.take(this.text[end]);
    }
    match_emphasis(this.chain, this.chain.first);
    return this.chain.cut_between(this.chain.first, null).nodes;
  }
}

const unescaped = (text) => text.replace(/\\([!-/:-@[-`{-~])/g, '$1');

export function parse_inline(text) {
  if (text === '') return [];
  return /[\\`*_~[\]<&\n$]|https?:\/\//.test(text) ? new InlineParser(text).parse() : [text];
}

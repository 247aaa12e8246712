// Finds formulas in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` on their own. Called
// by markdown.mjs and markdown_inline.mjs; math_view.mjs sets what is found. An amount of money, a
// name of a shell variable and an escaped bracket stay text.

export const math_chars = 4_096;

const closes = { $$: '$$', '\\[': '\\]', '\\(': '\\)', $: '$' };
const block_start = /^ {0,3}(\$\$|\\\[)(.*)$/s;
const is_word = (char) => /[\p{L}\p{N}_]/u.test(char ?? '');
// Marks that distinguish a formula from an escaped bracket.
const is_formula = (text) => /[\\^_=+<>]/.test(text);

export const begins_math = (line) => block_start.test(line);

// Formula of the block that begins at `at`: {text, next}, {is_open: true} when its end has not come
// yet, or null for other blocks. `line_at(from)` gives {line, next, is_whole, is_cut}.
export function math_block(source, at, line_at) {
  const first = line_at(at);
  const found = block_start.exec(first.line);
  if (found === null || first.is_cut) return null;
  const close = closes[found[1]];
  const lines = [];
  let { line: rest, next, is_whole } = { ...first, line: found[2] };
  for (;;) {
    const end = rest.indexOf(close);
    // Words after it on the line: a formula of a paragraph.
    if (end >= 0 && rest.slice(end + close.length).trim() !== '') return null;
    if (end >= 0) {
      const text = [...lines, rest.slice(0, end)].join('\n').trim();
      return text !== '' && (close !== '\\]' || is_formula(text)) ? { text, next } : null;
    }
    if (!is_whole || next >= source.length) return { is_open: true };
    lines.push(rest);
    const further = line_at(next);
    if (further.is_cut || further.next - at > math_chars) return null;
    if (further.line.trim() === '' && further.is_whole) return null;
    ({ line: rest, next, is_whole } = further);
  }
}

// An amount, as in "$5 and 10$".
const is_amount = (text) => /^\d[\d.,]*(?:\s+[a-z]|\s*$)/i.test(text) && !is_formula(text);

function is_inline(mark, text, before, behind) {
  if (text.trim() === '' || /\n\s*\n/.test(text)) return false;
  if (mark === '$$') return true;
  if (mark === '\\[') return is_formula(text);
  if (mark === '\\(') return !is_word(before);
  const is_tight = !/^\s|\s$/.test(text);
  return is_tight && !is_word(before) && !is_word(behind) && !is_amount(text);
}

// Formula at `at` of a paragraph: {text, is_display, end}, or null. `missing`: the marks that do
// not come again in this text, so that it is searched once for each.
export function math_at(text, at, missing) {
  const two = text.slice(at, at + 2);
  const mark = closes[two] ? two : text[at];
  const close = closes[mark];
  if (close === undefined || missing.has(close)) return null;
  const from = at + mark.length;
  let end = text.indexOf(close, from);
  while (mark === '$' && end > 0 && text[end - 1] === '\\') end = text.indexOf(close, end + 1);
  if (end < 0) {
    missing.add(close);
    return null;
  }
  const inside = text.slice(from, end);
  const behind = text[end + close.length];
  if (end - from > math_chars || !is_inline(mark, inside, text[at - 1], behind)) return null;
  return {
    text: inside.trim(),
    is_display: mark === '$$' || mark === '\\[',
    end: end + close.length,
  };
}

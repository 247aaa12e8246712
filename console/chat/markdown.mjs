// Markdown of models as a tree of blocks, for text that is still being written: what stands
// before the last block is parsed once. Called by markdown_view.mjs, which makes nodes of it;
// nothing becomes HTML.
//
// Takes the part of CommonMark and GitHub's tables, task lists and strikethrough that models write:
// no link definitions, no raw HTML (it is text), no pictures (they are links). A block is at most
// `block_chars` long: what is longer goes on in a further one, so that neither parsing nor layout
// takes long.
//
// A block is { type, … }:
//   p { inline }   heading { level, inline }   rule   quote { blocks }   code { lang, text, id }
//   list { start (number or null), is_loose, items: [{ checked (or null), blocks }] }
//   math { text }
//   table { aligns, head: [inline] (or null), rows: [[inline]] };   `goes_on`: of a long block
import { parse_inline } from './markdown_inline.mjs';
import { begins_math, math_block } from './markdown_math.mjs';

export const block_chars = 4_096;
export const code_chars = 16_384;
const depth_max = 8;
const columns_max = 64;

const fence_start = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const rule_line = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const item_start = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)|$)/;
const setext_line = /^ {0,3}(?:=+|-+)[ \t]*$/;
const is_blank = (line) => line.trim() === '';

// The line at `from`, at most `most` characters of it; `next` is where the next one begins.
function line_at(text, from, most) {
  let end = text.indexOf('\n', from);
  const is_whole = end >= 0;
  if (!is_whole) end = text.length;
  if (end - from <= most) {
    const line = text.slice(from, text[end - 1] === '\r' && is_whole ? end - 1 : end);
    return { line, next: is_whole ? end + 1 : end, is_whole, is_cut: false };
  }
  const code = text.charCodeAt(from + most - 1);
  const next = from + most - (code >= 0xd800 && code < 0xdc00 ? 1 : 0);
  return { line: text.slice(from, next), next, is_whole: true, is_cut: true };
}

function heading_of(line) {
  const mark = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line);
  if (!mark) return null;
  let title = line.slice(mark[0].length).trim();
  let end = title.length;
  while (title[end - 1] === '#') end -= 1;
  if (end === 0 || /[ \t]/.test(title[end - 1])) title = title.slice(0, end).trimEnd();
  return { type: 'heading', level: mark[1].length, inline: parse_inline(title) };
}

function cells_of(line) {
  const row = line.trim();
  const cells = [];
  let cell = '';
  for (let at = row.startsWith('|') ? 1 : 0; at < row.length; ++at) {
    if (row[at] === '\\' && row[at + 1] === '|') cell += row[(at += 1)];
    else if (row[at] !== '|') cell += row[at];
    else cell = (cells.push(cell.trim()), '');
  }
  if (cell.trim() !== '' || !row.endsWith('|')) cells.push(cell.trim());
  return cells;
}

function aligns_of(line) {
  if (!line.includes('-') || !/^[ \t|:-]*$/.test(line)) return null;
  const cells = cells_of(line);
  if (cells.length > columns_max || !cells.every((cell) => /^:?-+:?$/.test(cell))) return null;
  const align = (cell) => {
    if (!cell.endsWith(':')) return 'start';
    return cell.startsWith(':') ? 'center' : 'end';
  };
  return cells.map(align);
}

const is_interrupting = (line) =>
  /^ {0,3}>/.test(line) ||
  fence_start.test(line) ||
  heading_of(line) !== null ||
  rule_line.test(line) ||
  begins_math(line) ||
  /^ {0,3}(?:[-*+]|1[.)])[ \t]+\S/.test(line);

// One walk over a text from a place; every take_… answers a block, and leaves `at` after that
// block.
export class BlockParser {
  constructor(text, at, depth = 0) {
    this.text = text;
    this.at = at;
    this.depth = depth;
    /** @type {any} */
    this.carry = null; // of the block that was too long: how the next one goes on
  }

  peek(most = block_chars) {
    return line_at(this.text, this.at, most);
  }

  // Null at the end. A long nothing is a block too, so that no call takes long.
  next_block() {
    const begin = this.at;
    for (;;) {
      if (this.at >= this.text.length) return null;
      if (this.at - begin > block_chars) return { type: 'blank' };
      if (this.carry?.type === 'code') return this.take_code(this.carry);
      const { line, next, is_cut } = this.peek();
      if (this.carry?.type === 'table' && !is_cut && !is_blank(line) && line.includes('|')) {
        return this.take_rows(this.carry.aligns, null);
      }
      const goes_on = this.carry?.type === 'p';
      this.carry = null;
      if (is_blank(line)) this.at = next;
      else if (is_cut || goes_on) return this.take_paragraph(goes_on);
      else return this.take_block(line, next);
    }
  }

  take_block(line, next) {
    const fence = fence_start.exec(line);
    if (fence) {
      const id = this.at;
      this.at = next;
      return this.take_code({
        indent: fence[1].length,
        mark: fence[2],
        lang: fence[3].trim().split(/\s/)[0],
        id,
      });
    }
    const single = heading_of(line) ?? (rule_line.test(line) ? { type: 'rule' } : null);
    if (single) {
      this.at = next;
      return single;
    }
    if (this.depth < depth_max) {
      if (/^ {0,3}>/.test(line)) return this.take_quote();
      if (item_start.test(line)) return this.take_list();
    }
    if (begins_math(line)) {
      const math = this.take_math();
      if (math !== null) return math;
    }
    if (/^(?: {4}|\t)/.test(line)) return this.take_indented();
    const below = line_at(this.text, next, block_chars);
    const aligns = line.includes('|') && below.is_whole ? aligns_of(below.line) : null;
    if (aligns && cells_of(line).length === aligns.length) {
      this.at = below.next;
      return this.take_rows(aligns, cells_of(line).map(parse_inline));
    }
    return this.take_paragraph(false);
  }

  take_code({ indent, mark, lang, id, goes_on = false }) {
    const lines = [];
    const begin = this.at;
    const close = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`);
    this.carry = null;
    while (this.at < this.text.length) {
      const { line, next, is_whole, is_cut } = this.peek(code_chars);
      const is_close = close.test(line);
      if (is_close && (is_whole || this.at !== begin || !goes_on)) {
        this.at = next;
        break;
      }
      const is_full = this.at > begin && next - begin > code_chars;
      if (is_full || is_cut) {
        if (!is_full) this.at = next;
        if (!is_full) lines.push(line);
        this.carry = { type: 'code', indent, mark, lang, id, goes_on: true };
        break;
      }
      let from = 0;
      while (from < indent && line[from] === ' ') from += 1;
      lines.push(line.slice(from) + (is_whole ? '\n' : ''));
      this.at = next;
    }
    return { type: 'code', lang, text: lines.join(''), id, goes_on };
  }

  // Null for other text. A formula whose end has not come yet is shown as it is written.
  take_math() {
    const line = (from) => line_at(this.text, from, block_chars);
    const found = math_block(this.text, this.at, line);
    if (found === null) return null;
    const begin = this.at;
    this.at = found.is_open ? this.text.length : found.next;
    if (!found.is_open) return { type: 'math', text: found.text };
    return { type: 'p', inline: parse_inline(this.text.slice(begin).trim()), goes_on: false };
  }

  take_indented() {
    const begin = this.at;
    const lines = [];
    while (this.at < this.text.length) {
      const { line, next } = this.peek();
      const is_inside = is_blank(line) || /^(?: {4}|\t)/.test(line);
      if (!is_inside || (this.at > begin && next - begin > block_chars)) break;
      lines.push(line.replace(/^(?: {4}|\t| {0,3}$)/, ''));
      this.at = next;
    }
    return {
      type: 'code',
      lang: '',
      text: `${lines.join('\n').trimEnd()}\n`,
      id: begin,
      goes_on: false,
    };
  }

  take_rows(aligns, head) {
    const begin = this.at;
    const rows = [];
    this.carry = null;
    while (this.at < this.text.length) {
      const { line, next, is_cut } = this.peek();
      if (is_blank(line) || is_cut || (!line.includes('|') && is_interrupting(line))) break;
      if (this.at > begin && next - begin > block_chars) {
        this.carry = { type: 'table', aligns };
        break;
      }
      const cells = cells_of(line);
      rows.push(aligns.map((_, index) => parse_inline(cells[index] ?? '')));
      this.at = next;
    }
    return { type: 'table', aligns, head, rows, goes_on: head === null };
  }

  take_quote() {
    const begin = this.at;
    const lines = [];
    let is_lazy = false;
    while (this.at < this.text.length) {
      const { line, next } = this.peek();
      const is_marked = /^ {0,3}>/.test(line);
      if (!is_marked && (!is_lazy || is_blank(line) || is_interrupting(line))) break;
      if (this.at > begin && next - begin > block_chars) break;
      const inside = is_marked ? line.replace(/^ {0,3}> ?/, '') : line;
      lines.push(inside);
      is_lazy = !is_blank(inside) && !/^(?:`{3}|~{3}| {4}|\t)/.test(inside);
      this.at = next;
    }
    return { type: 'quote', blocks: blocks_of(lines.join('\n'), this.depth + 1) };
  }

  take_list() {
    const begin = this.at;
    const kind = item_start.exec(this.peek().line)[2];
    const items = [];
    let is_loose = false;
    let is_behind_blank = false;
    while (this.at < this.text.length) {
      const item = this.take_item(kind, begin, items.length > 0);
      if (item === null) break;
      is_loose ||= (is_behind_blank && items.length > 0) || item.has_blank;
      is_behind_blank = item.ends_blank;
      items.push({ checked: item.checked, blocks: item.blocks });
    }
    const start = /\d/.test(kind) ? parseInt(kind, 10) : null;
    return { type: 'list', start, is_loose, items };
  }

  // Null when the line begins no further item of the list.
  take_item(kind, begin, may_be_full) {
    const first = this.peek();
    const mark = item_start.exec(first.line);
    if (!mark || mark[2].at(-1) !== kind.at(-1) || rule_line.test(first.line)) return null;
    if (may_be_full && first.next - begin > block_chars) return null;
    const padding = mark[3] === undefined || mark[3].length > 4 ? 1 : mark[3].length;
    const width = mark[1].length + mark[2].length + padding;
    const lines = [first.line.slice(width)];
    let blanks = 0;
    let has_blank = false;
    const from = this.at;
    this.at = first.next;
    while (this.at < this.text.length && !first.is_cut) {
      const { line, next, is_cut } = this.peek();
      if (is_cut || next - from > block_chars) break;
      if (is_blank(line)) {
        blanks += 1;
      } else {
        const indent = /^[ \t]*/.exec(line)[0].replaceAll('\t', '    ').length;
        const is_inside = indent >= width;
        if (!is_inside && (blanks > 0 || item_start.test(line) || is_interrupting(line))) break;
        for (; blanks > 0; --blanks) {
          lines.push('');
          has_blank = true;
        }
        lines.push(is_inside ? line.replaceAll('\t', '    ').slice(width) : line.trimStart());
      }
      this.at = next;
    }
    const task = /^\[([ xX])\][ \t]+(?=\S)/.exec(lines[0]);
    if (task) lines[0] = lines[0].slice(task[0].length);
    const blocks = blocks_of(lines.join('\n'), this.depth + 1);
    return { checked: task ? task[1] !== ' ' : null, blocks, has_blank, ends_blank: blanks > 0 };
  }

  take_paragraph(goes_on) {
    const begin = this.at;
    const lines = [];
    const made = (type, further) => ({
      type,
      inline: parse_inline(lines.join('\n').trimEnd()),
      ...further,
    });
    while (this.at < this.text.length) {
      const { line, next, is_cut } = this.peek();
      if (is_blank(line)) break;
      if (this.at > begin) {
        if (setext_line.test(line) && !goes_on) {
          this.at = next;
          return made('heading', { level: line.includes('=') ? 1 : 2 });
        }
        if (is_interrupting(line)) break;
        if (next - begin > block_chars) {
          this.carry = { type: 'p' };
          break;
        }
      }
      lines.push(line.trimStart());
      this.at = next;
      if (is_cut) {
        this.carry = { type: 'p' };
        break;
      }
    }
    return made('p', { goes_on });
  }
}

export function blocks_of(text, depth = 0) {
  const parser = new BlockParser(text, 0, depth);
  const blocks = [];
  for (let block = parser.next_block(); block; block = parser.next_block()) blocks.push(block);
  return blocks;
}

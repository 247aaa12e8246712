// A text of Markdown that grows while it is written: what stands before its last block is parsed
// once, and what has not changed is the same object as before. Called by markdown_view.mjs.
import { block_chars, BlockParser } from './markdown.mjs';

const group_blocks = 24;
const section_groups = 48;

// The parsed text, in sections of groups of blocks, so that the view draws only changed groups. A
// section or group that is the same object as before is the same as before.
class Sections {
  constructor(list = []) {
    this.list = list; // [{ key, groups: [{ key, blocks, chars }] }]
  }

  add(block, key, chars) {
    const section = this.list.at(-1);
    const group = section?.groups.at(-1);
    const has_room =
      group && group.blocks.length < group_blocks && group.chars + chars <= block_chars;
    if (has_room) {
      const grown = { ...group, blocks: [...group.blocks, block], chars: group.chars + chars };
      this.set_last({ ...section, groups: [...section.groups.slice(0, -1), grown] });
    } else if (section && section.groups.length < section_groups) {
      this.set_last({ ...section, groups: [...section.groups, { key, blocks: [block], chars }] });
    } else {
      this.list.push({ key, groups: [{ key, blocks: [block], chars }] });
    }
  }

  set_last(section) {
    this.list[this.list.length - 1] = section;
  }

  copy() {
    return new Sections([...this.list]);
  }
}

// A text that grows.
export class MarkdownFeed {
  constructor() {
    this.reset();
  }

  reset() {
    this.text = '';
    this.done = new Sections();
    this.shown = this.done; // with the block that may still change
    this.at = 0; // where that block begins
    this.carry = null;
  }

  get sections() {
    return this.shown.list;
  }

  set_text(text) {
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
  }

  // Parses about `chars` more; true when all of the text is in `sections`.
  advance(chars) {
    const parser = new BlockParser(this.text, this.at);
    const stop = this.at + chars;
    parser.carry = this.carry;
    this.shown = this.done;
    while (parser.at < stop || this.shown !== this.done) {
      const from = parser.at;
      const block = parser.next_block();
      if (block === null) break;
      // The line that ended it is whole, or it was too long: it stays as it is.
      const is_done =
        this.shown === this.done &&
        parser.at < this.text.length &&
        (parser.carry !== null || this.text.indexOf('\n', parser.at) >= 0);
      if (!is_done && this.shown === this.done) this.shown = this.done.copy();
      this.shown.add(block, from, parser.at - from);
      if (!is_done) continue;
      this.at = parser.at;
      this.carry = parser.carry;
    }
    return parser.at >= this.text.length;
  }

  // The whole of a block of code, whose parts have one id.
  code_of(id) {
    const blocks = this.sections.flatMap(({ groups }) => groups.flatMap((group) => group.blocks));
    const parts = blocks.filter((block) => block.type === 'code' && block.id === id);
    return parts.map(({ text }) => text).join('');
  }
}

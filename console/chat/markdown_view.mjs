// Markdown as nodes of Preact: text stays text, since nothing is ever set as HTML. Parsing and
// drawing of a long text are cut into frames, so that none of them takes long; what was drawn is
// not looked at again.
import { Component, h } from 'preact';

import { CodeBlock } from './code_view.mjs';
import { MarkdownFeed } from './markdown_feed.mjs';
import { Formula } from './math_view.mjs';

// How much of a long text a frame takes: more where frames are quick, less where they are not.
const frame_chars = { min: 4_096, first: 12_288, max: 32_768 };
const frame_ms = { quick: 16, slow: 36 };

function inline_node(node) {
  if (typeof node === 'string') return node;
  if (node.type === 'br') return h('br', null);
  if (node.type === 'code') return h('code', { dir: 'ltr' }, node.text);
  if (node.type === 'math') return h(Formula, { text: node.text, is_display: node.is_display });
  const children = node.children.map(inline_node);
  if (node.type !== 'link') return h(node.type, null, children);
  const { href } = node;
  return h(
    'a',
    { href, title: href, target: '_blank', rel: 'noopener noreferrer nofollow' },
    children,
  );
}

const inline = (nodes) => nodes.map(inline_node);

function list_item({ checked, blocks }, is_loose, feed) {
  const [first, ...rest] = blocks;
  const is_tight = !is_loose && first?.type === 'p';
  return h(
    'li',
    { dir: 'auto', class: checked === null ? undefined : 'md-task' },
    checked !== null && h('input', { type: 'checkbox', checked, disabled: true }),
    is_tight ? inline(first.inline) : first && block_node(first, feed),
    rest.map((block) => block_node(block, feed)),
  );
}

function table_node({ aligns, head, rows }) {
  const cells = (tag, row) =>
    row.map((cell, index) => h(tag, { dir: 'auto', class: `md-${aligns[index]}` }, inline(cell)));
  return h(
    'div',
    { class: 'md-table', tabIndex: 0 },
    h(
      'table',
      null,
      head && h('thead', null, h('tr', null, cells('th', head))),
      h(
        'tbody',
        null,
        rows.map((row) => h('tr', null, cells('td', row))),
      ),
    ),
  );
}

function block_node(block, feed) {
  switch (block.type) {
    case 'p':
      return h(
        'p',
        { dir: 'auto', class: block.goes_on ? 'md-goes-on' : undefined },
        inline(block.inline),
      );
    // The page has headings of its own above these.
    case 'heading':
      return h(`h${Math.min(6, block.level + 2)}`, { dir: 'auto' }, inline(block.inline));
    case 'rule':
      return h('hr', null);
    case 'quote':
      return h(
        'blockquote',
        null,
        block.blocks.map((inner) => block_node(inner, feed)),
      );
    case 'code':
      return h(CodeBlock, { block, feed });
    case 'math':
      return h(Formula, { text: block.text, is_display: true });
    case 'table':
      return table_node(block);
    case 'list': {
      const items = block.items.map((item) => list_item(item, block.is_loose, feed));
      return block.start === null ? h('ul', null, items) : h('ol', { start: block.start }, items);
    }
    default:
      return null;
  }
}

// A section that is the same object is not drawn again.
class Group extends Component {
  shouldComponentUpdate({ group }) {
    return group !== this.props.group;
  }

  render({ group, feed }) {
    return h(
      'div',
      { class: 'md-group' },
      group.blocks.map((block) => block_node(block, feed)),
    );
  }
}

class Section extends Component {
  shouldComponentUpdate({ section }) {
    return section !== this.props.section;
  }

  render({ section, feed }) {
    return section.groups.map((group) => h(Group, { key: group.key, group, feed }));
  }
}

// <Markdown text=…/>: the text may grow, or change.
export class Markdown extends Component {
  constructor(props) {
    super(props);
    this.feed = new MarkdownFeed();
    this.frame = 0;
    this.frame_chars = frame_chars.first;
    this.take(props.text);
  }

  shouldComponentUpdate({ text }, state) {
    if (text === this.props.text) return state !== this.state;
    this.take(text);
    return true;
  }

  componentWillUnmount() {
    cancelAnimationFrame(this.frame);
  }

  take(text) {
    this.feed.set_text(text);
    this.parse();
  }

  parse() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.feed.advance(this.frame_chars)) return;
    this.frame = requestAnimationFrame(() => {
      const begun = performance.now();
      this.parse();
      this.setState({});
      // Behind what the browser makes of it.
      setTimeout(() => this.weigh(performance.now() - begun));
    });
  }

  weigh(took_ms) {
    if (took_ms < frame_ms.quick)
      this.frame_chars = Math.min(frame_chars.max, this.frame_chars * 2);
    if (took_ms > frame_ms.slow) this.frame_chars = Math.max(frame_chars.min, this.frame_chars / 2);
  }

  render() {
    const { feed } = this;
    return h(
      'div',
      { class: 'md' },
      [...feed.sections].map((section) => h(Section, { key: section.key, section, feed })),
    );
  }
}

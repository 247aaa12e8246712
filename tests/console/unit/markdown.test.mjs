// Markdown as a tree: what models write, what somebody wrote to do harm, and text that grows.
import { cpu_ms } from './cpu_time.mjs';
import assert from 'node:assert/strict';
import test from 'node:test';

import { blocks_of, code_chars } from '../../../console/chat/markdown.mjs';
import { MarkdownFeed } from '../../../console/chat/markdown_feed.mjs';
import { parse_inline, safe_href } from '../../../console/chat/markdown_inline.mjs';
import { random_from } from './random.mjs';

// Compact form of a tree, for comparison: [type, ...].
function short(node) {
  if (typeof node === 'string') return node;
  if (node.type === 'code' && node.id === undefined) return `\`${node.text}\``;
  if (node.type === 'br') return '<br>';
  if (node.type === 'link') return [node.href, ...node.children.map(short)];
  return [node.type, ...node.children.map(short)];
}
const inline = (text) => parse_inline(text).map(short);

test('emphasis is as CommonMark has it', () => {
  assert.deepEqual(inline('a *b* **c** ***d*** ~~e~~'), [
    'a ',
    ['em', 'b'],
    ' ',
    ['strong', 'c'],
    ' ',
    ['em', ['strong', 'd']],
    ' ',
    ['del', 'e'],
  ]);
  assert.deepEqual(inline('snake_case_name and _it_'), ['snake_case_name and ', ['em', 'it']]);
  assert.deepEqual(inline('*a __b* c__'), [['em', 'a __b'], ' c__']);
  assert.deepEqual(inline('*a **b** c*'), [['em', 'a ', ['strong', 'b'], ' c']]);
  assert.deepEqual(inline('2 * 3 * 4 ** 5'), ['2 * 3 * 4 ** 5']);
  assert.deepEqual(inline('**这是**的'), [['strong', '这是'], '的']);
  assert.deepEqual(inline('\\*a\\* &amp; &#x41; &nope;'), ['*a* & A &nope;']);
});

test('code spans end at a run of the same length', () => {
  assert.deepEqual(inline('`a` ``b`c`` `d'), ['`a`', ' ', '`b`c`', ' `d']);
  assert.deepEqual(inline('`*a*` \\`b\\`'), ['`*a*`', ' `b`']);
});

test('links are of the web and of mail', () => {
  assert.deepEqual(inline('[a *b*](https://x.org/y "t") z'), [
    ['https://x.org/y', 'a ', ['em', 'b']],
    ' z',
  ]);
  assert.deepEqual(inline('see https://x.org/a_(b), ok'), [
    'see ',
    ['https://x.org/a_(b)', 'https://x.org/a_(b)'],
    ', ok',
  ]);
  assert.deepEqual(inline('见https://x.org/a。好'), [
    '见',
    ['https://x.org/a', 'https://x.org/a'],
    '。好',
  ]);
  assert.deepEqual(inline('<a@b.org> <https://x.org>'), [
    ['mailto:a@b.org', 'a@b.org'],
    ' ',
    ['https://x.org/', 'https://x.org'],
  ]);
  assert.deepEqual(inline('![cat](https://x.org/c.png)'), [['https://x.org/c.png', 'cat']]);
  assert.deepEqual(inline('[a [b](https://x.org) c](https://y.org)'), [
    '[a ',
    ['https://x.org/', 'b'],
    ' c](',
    ['https://y.org/', 'https://y.org'],
    ')',
  ]);
});

test('other schemes are text, however they are written', () => {
  for (const bad of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:x',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://x/1',
    '//x.org',
    '/a',
    'a',
    '',
    'view-source:https://x.org',
    'https://',
    'about:blank',
    '&#106;avascript:alert(1)',
  ]) {
    assert.equal(safe_href(bad), null, bad);
    for (const text of [`[a](${bad})`, `[a](<${bad}>)`, `<${bad}>`, `![a](${bad})`]) {
      const hrefs = JSON.stringify(parse_inline(text)).match(/"href":"[^"]*/g) ?? [];
      assert.ok(
        hrefs.every((href) => /^"href":"(https?:\/\/|mailto:)/.test(href)),
        text,
      );
    }
  }
});

test('HTML is text', () => {
  const text = '<script>alert(1)</script> <img src=x onerror=alert(1)>';
  assert.deepEqual(inline(text), [text]);
  assert.deepEqual(
    blocks_of(`<div>\n${text}\n</div>`).map(({ type }) => type),
    ['p'],
  );
  assert.deepEqual(inline('a<br>b'), ['a', '<br>', 'b']);
});

test('blocks', () => {
  const kinds = blocks_of(
    [
      '# A #',
      'text',
      'more',
      '',
      'B',
      '---',
      '> q',
      'lazy',
      '',
      '---',
      '```js x',
      'let a;',
      '',
      '# no',
      '```',
      '    code',
      '',
      '| a | b |',
      '|:--|--:|',
      '| 1 \\| 2 | `3` | 4 |',
      'end',
    ].join('\n'),
  );
  assert.deepEqual(
    kinds.map(({ type }) => type),
    ['heading', 'p', 'heading', 'quote', 'rule', 'code', 'code', 'table'],
  );
  assert.deepEqual(kinds[0].inline, ['A']);
  assert.deepEqual(kinds[1].inline, ['text\nmore']);
  assert.equal(kinds[2].level, 2);
  assert.deepEqual([kinds[5].lang, kinds[5].text], ['js', 'let a;\n\n# no\n']);
  assert.equal(kinds[6].text, 'code\n');
  assert.deepEqual(kinds[7].aligns, ['start', 'end']);
  assert.deepEqual(
    kinds[7].rows[0].map((cell) => cell.map(short)),
    [['1 | 2'], ['`3`']],
  );
});

test('formulas are found, and money, names of variables and escaped brackets are none', () => {
  const found = (text) =>
    parse_inline(text)
      .filter(({ type }) => type === 'math')
      .map((node) => [node.text, node.is_display]);
  assert.deepEqual(found('a $x_1$, \\(y\\) and $$z$$ or \\[a=b\\].'), [
    ['x_1', false],
    ['y', false],
    ['z', true],
    ['a=b', true],
  ]);
  assert.deepEqual(found('$a \\$ b$'), [['a \\$ b', false]]);
  for (const none of [
    'it costs $5 or $6',
    'from 5$ to 10$',
    '$5 and 10$',
    '$HOME:$PATH',
    'US$5, US$6',
    '$ a $',
    '\\[1\\] f\\(x\\)',
    '`$x$`',
    '$x',
    '\\(x',
  ])
    assert.deepEqual(found(none), [], none);
  const kinds = (text) => blocks_of(text).map((block) => [block.type, block.text]);
  assert.deepEqual(kinds('a\n$$\nx\n- y\n$$\nb'), [
    ['p', undefined],
    ['math', 'x\n- y'],
    ['p', undefined],
  ]);
  assert.deepEqual(kinds('\\[\nx^2\n\\]'), [['math', 'x^2']]);
  assert.deepEqual(kinds('$$x$$ is it')[0][0], 'p');
  assert.deepEqual(
    kinds('$$ x\n\n$$').map(([type]) => type),
    ['p', 'p'],
  );
});

test('lists nest, count and tick', () => {
  const [list, ...rest] = blocks_of(
    '3. a\n   more\n4. b\n   - [x] c\n   - [ ] d\n\n     deep\n\nnot in it',
  );
  assert.deepEqual([list.start, list.items.length, rest[0].type], [3, 2, 'p']);
  const inner = list.items[1].blocks[1];
  assert.deepEqual(
    inner.items.map(({ checked }) => checked),
    [true, false],
  );
  assert.deepEqual([inner.is_loose, inner.items[1].blocks.length], [true, 2]);
  assert.equal(blocks_of('- a\n* b\n+ c').length, 3);
  assert.deepEqual(blocks_of('- a\n- b')[0].is_loose, false);
  assert.deepEqual(
    blocks_of('text\n2) no').map(({ type }) => type),
    ['p'],
  );
});

// All characters that are text to a reader, in order.
function text_in(node) {
  if (typeof node === 'string') return node;
  if (Array.isArray(node)) return node.map(text_in).join('');
  const parts = [
    node.text,
    node.inline,
    node.children,
    node.blocks,
    node.items,
    node.head,
    node.rows,
  ];
  return parts
    .filter((part) => part !== undefined && part !== null)
    .map(text_in)
    .join('');
}

const hostile = {
  brackets: '['.repeat(60_000),
  'closed brackets': '[a]('.repeat(20_000),
  stars: '*a '.repeat(30_000),
  'stars around': `${'*'.repeat(30_000)}a${'*'.repeat(30_000)}`,
  'nested emphasis': `${'*a _b '.repeat(5_000)}${'b_ a* '.repeat(5_000)}`,
  underscores: '_'.repeat(60_000),
  tildes: '~~a~'.repeat(20_000),
  backticks: Array.from({ length: 400 }, (_, index) => '`'.repeat(index)).join(' '),
  'escaped backticks': '\\``` '.repeat(10_000),
  quotes: '> '.repeat(30_000),
  'quotes in lines': `${'>'.repeat(200)} a\n`.repeat(300),
  items: '- '.repeat(30_000),
  'nested items': Array.from({ length: 200 }, (_, index) => `${'  '.repeat(index)}- a`).join('\n'),
  'line ends': '\n'.repeat(1_000_000),
  spaces: `\`\`\`${' '.repeat(60_000)}\``,
  'code span': `\` ${'a'.repeat(60_000)}\``,
  heading: `# ${' #'.repeat(30_000)}a`,
  pipes: `${'|a'.repeat(8_000)}\n${'|-'.repeat(8_000)}\n${'|\n'.repeat(20_000)}`,
  table: `|a|b|\n|-|-|\n${'|x|y|\n'.repeat(40_000)}`,
  entities: '&#x41;&amp;&'.repeat(10_000),
  angles: '<a:'.repeat(20_000),
  addresses: 'http://'.repeat(10_000),
  fence: `\`\`\`\n${'x\n'.repeat(100_000)}`,
  'one word': 'w'.repeat(300_000),
  surrogates: '🙂'.repeat(40_000),
  dollars: '$a $'.repeat(20_000),
  'open formulas': '\\(a'.repeat(20_000),
  'open blocks': '$$a\n'.repeat(20_000),
  'formulas that never end': `$$\n${'a\n'.repeat(60_000)}`,
  'carriage returns': 'a\r'.repeat(50_000),
};

for (const [name, text] of Object.entries(hostile)) {
  test(`hostile: ${name}`, () => {
    const feed = new MarkdownFeed();
    feed.set_text(text);
    const begun = cpu_ms();
    let slowest = 0;
    for (let is_done = false; !is_done;) {
      const from = cpu_ms();
      is_done = feed.advance(24_576);
      slowest = Math.max(slowest, cpu_ms() - from);
    }
    assert.ok(cpu_ms() - begun < 2500, `${cpu_ms() - begun} ms`);
    assert.ok(slowest < 250, `a step of ${slowest} ms`);
    const blocks = feed.sections.flatMap(({ groups }) => groups.flatMap((group) => group.blocks));
    const letters = (shown) => shown.replace(/[^a-z]/g, '');
    if (!['entities', 'spaces', 'pipes'].includes(name)) {
      assert.equal(letters(text_in(blocks)), letters(text.replaceAll(/&#x41;|&amp;/g, '')));
    }
    JSON.stringify(blocks); // no deeper than a renderer may go
  });
}

test('text that grows by pieces becomes what it is at once, and old blocks stay the same', () => {
  const pieces = [
    '# T\n',
    'word ',
    '*em* ',
    '\n',
    '\n\n',
    '- item\n',
    '  more\n',
    '```js\n',
    'x = 1;\n',
    '```\n',
    '| a | b |\n',
    '|---|---|\n',
    '| 1 | 2 |\n',
    '> quote\n',
    '1. one\n',
    '---\n',
    'https://x.org ',
    '\r\n',
    '$$\n',
    '$$',
    '$a_b$ ',
    '\\[ x^2\n',
    '\\]\n',
    '\\(x\\) ',
  ];
  for (let seed = 1; seed <= 300; ++seed) {
    const random = random_from(seed);
    const text = Array.from({ length: 60 }, () => pieces[random(pieces.length)]).join('');
    const feed = new MarkdownFeed();
    let before = [];
    for (let end = 0; end < text.length;) {
      end = Math.min(text.length, end + 1 + random(20));
      feed.set_text(text.slice(0, end));
      while (!feed.advance(1 + random(50)));
      const shown = feed.sections.flatMap(({ groups }) => groups);
      before.slice(0, -2).forEach((group, index) => assert.equal(shown[index], group));
      before = shown;
    }
    assert.deepEqual(
      feed.sections.flatMap(({ groups }) => groups.flatMap(({ blocks }) => blocks)),
      blocks_of(text),
      `seed ${seed}`,
    );
  }
});

test('4 MiB that stream are parsed a block at a time', () => {
  const code = `\`\`\`\n${'line();\n'.repeat(30)}\`\`\``;
  const paragraph = `${'word *em* `code` '.repeat(20)}\n\n- a\n- b\n\n${code}\n\n`;
  const text = paragraph.repeat(Math.ceil((4 << 20) / paragraph.length));
  const feed = new MarkdownFeed();
  const began = cpu_ms();
  feed.set_text(text);
  while (!feed.advance(24_576));
  const whole_ms = cpu_ms() - began;
  let grown = text;
  const begun = cpu_ms();
  for (let index = 0; index < 100; ++index) {
    grown += 'word ';
    feed.set_text(grown);
    while (!feed.advance(24_576));
  }
  const word_ms = (cpu_ms() - begun) / 100;
  assert.ok(word_ms < whole_ms / 8, `${word_ms} ms a word, ${whole_ms} ms all of it`);
});

test('a long block goes on in others, and its code is copied whole', () => {
  const code = Array.from({ length: 20_000 }, (_, index) => `line ${index}`).join('\n');
  const feed = new MarkdownFeed();
  feed.set_text(`before\n\n\`\`\`js\n${code}\n\`\`\`\nbehind`);
  while (!feed.advance(24_576));
  const blocks = feed.sections.flatMap(({ groups }) => groups.flatMap((group) => group.blocks));
  const parts = blocks.filter(({ type }) => type === 'code');
  assert.ok(
    parts.length > 4 &&
      parts.every(({ lang, text }) => lang === 'js' && text.length <= code_chars + 20),
  );
  assert.deepEqual(parts.map(({ goes_on }) => goes_on).slice(0, 2), [false, true]);
  assert.equal(feed.code_of(parts[0].id), `${code}\n`);
  assert.deepEqual(blocks.at(-1).inline, ['behind']);
});

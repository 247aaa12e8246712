// Words of source code by kind, whatever the text is.
import assert from 'node:assert/strict';
import test from 'node:test';

import { pieces_of } from '../../../console/chat/highlight.mjs';
import { cpu_ms } from './cpu_time.mjs';

const text_of = (pieces) => pieces.map((piece) => piece.text ?? piece).join('');
const of_kind = (pieces, wanted) =>
  pieces.filter(({ kind }) => kind === wanted).map(({ text }) => text);

test('comments, strings, numbers and words of a language have their kinds', () => {
  for (const [lang, text, wanted] of [
    ['js', 'const a = `x${1}` + 0x1f; // b', ['const', '`x${1}`', '0x1f', '// b']],
    ['python', 'def f():\n  """d"""\n  return 1.5 # c', ['def return', '"""d"""', '1.5', '# c']],
    ['SQL', "select 1 from runs where a = 'x' -- c", ['select from where', "'x'", '1', '-- c']],
    ['rust', "fn f<'a>(x: &'a str) { 'c' } // d", ['fn str', "'c'", '', '// d']],
    ['sh', 'if true; then echo "$A#b" 7 # c', ['if then echo', '"$A#b"', '7', '# c']],
  ]) {
    const pieces = pieces_of(text, lang);
    const kinds = ['keyword', 'string', 'number', 'comment'];
    assert.deepEqual(
      kinds.map((kind) => of_kind(pieces, kind).join(' ')),
      wanted,
      lang,
    );
    assert.equal(text_of(pieces), text);
  }
  assert.deepEqual(of_kind(pieces_of('{"a": ["b", true]}', 'json'), 'name'), ['"a"']);
  assert.deepEqual(of_kind(pieces_of('-a\n+b\n c', 'diff'), 'added'), ['+b']);
  assert.deepEqual(of_kind(pieces_of('a: 1 # c', 'yaml'), 'comment'), ['# c']);
  assert.deepEqual(of_kind(pieces_of('<a b="c">it\'s</a>', 'html'), 'string'), ['"c"']);
});

test('a language that is unknown has no colours', () => {
  assert.deepEqual(pieces_of('if (a) b', 'klingon'), ['if (a) b']);
  assert.deepEqual(pieces_of('if (a) b', '__proto__'), ['if (a) b']);
});

test('no text takes long, and none is lost', () => {
  const bits = ['"', "'", '`', '/*', '<a ', 'a-', '\\', '#', '"a', '\n[', '1e', "'\\", '@', '- '];
  const langs = 'c js java go rust python ruby shell sql css yaml json html diff'.split(' ');
  for (const lang of langs) {
    for (const bit of bits) {
      const text = bit.repeat(16_384 / bit.length);
      const begun = cpu_ms();
      const pieces = pieces_of(text, lang);
      const took = cpu_ms() - begun;
      assert.ok(took < 200, `${lang} ${JSON.stringify(bit)}: ${took} ms`);
      assert.equal(text_of(pieces), text);
    }
  }
});

// A block of code: its language, a button that copies it, and its words in colours once it is in
// sight. Used by markdown_view.mjs.
import { h } from 'preact';

import { useMemo } from '../html.mjs';
import { Copy } from '../ui/copy.mjs';
import { useNear } from './near.mjs';

const load = () => import('./highlight.mjs');
const piece_node = (piece) =>
  typeof piece === 'string' ? piece : h('span', { class: `code-${piece.kind}` }, piece.text);

export function CodeBlock({ block, feed }) {
  const [box, colours] = useNear(load);
  const { text, lang } = block;
  const pieces = useMemo(
    () => (colours && lang ? colours.pieces_of(text, lang) : [text]),
    [colours, text, lang],
  );
  return h(
    'div',
    { class: block.goes_on ? 'md-code md-goes-on' : 'md-code', ref: box },
    !block.goes_on &&
      h(
        'div',
        { class: 'md-code-head' },
        h('span', null, lang),
        h(Copy, { text: () => feed.code_of(block.id) || text }),
      ),
    h('pre', { dir: 'ltr', tabIndex: 0 }, h('code', null, pieces.map(piece_node))),
  );
}

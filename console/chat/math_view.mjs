// A formula of a text: as TeX until it is in sight, then set. Used by markdown_view.mjs.
import { h } from 'preact';

import { useMemo } from '../html.mjs';
import { useNear } from './near.mjs';

const load = () => import('./math.mjs');

export function Formula({ text, is_display }) {
  const [box, math] = useNear(load);
  const set = useMemo(
    () => math?.formula_of(text, is_display) ?? null,
    [math, text, is_display],
  );
  const of_kind = is_display ? 'math is-display' : 'math';
  if (set === null) return h('code', { class: of_kind, dir: 'ltr', ref: box }, text);
  // A wide formula scrolls alone, by keyboard too.
  return h('span', { class: of_kind, dir: 'ltr', tabIndex: is_display ? 0 : undefined }, set);
}

// TeX as nodes of MathML. Loaded by math_view.mjs when a formula comes into sight. Temml's tree is
// made into nodes here, so that nothing is set as HTML and no style stands in an attribute: the
// policy of the page refuses both.
import { h } from 'preact';
import temml from 'temml/dist/temml.mjs';

const options = {
  throwOnError: true,
  // No links, pictures, classes or identifiers.
  trust: false,
  maxExpand: 1_000,
  maxSize: [40, 40],
};
const elements = new Set(
  (
    'math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub ' +
    'msup msubsup munder mover munderover mmultiscripts mprescripts mtable mtr mtd menclose'
  ).split(' '),
);
const is_plain = (name) => !/^on|href|src|^id$/i.test(name);

function node_of(node) {
  if (typeof node.text === 'string') return node.text;
  const children = (node.children ?? []).map(node_of);
  if (!elements.has(node.type)) return children;
  const attributes = Object.entries(node.attributes ?? {}).filter(([name]) => is_plain(name));
  return h(
    node.type,
    {
      ...Object.fromEntries(attributes),
      class: node.classes?.filter(Boolean).join(' ') || undefined,
      style: { ...node.style },
    },
    children,
  );
}

// Nodes of the formula, or null when it cannot be set.
export function formula_of(text, is_display) {
  try {
    const tree = temml.__renderToMathMLTree(text, { ...options, displayMode: is_display });
    return node_of(tree);
  } catch {
    return null;
  }
}

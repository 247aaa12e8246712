// Differences between two objects: before and after of an audit row, two versions of a persona, two
// definitions of a tool. Members that are the same are left out.
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import '../words/org_shared.mjs';
import { line_changes } from './lines.mjs';

const text_of = (value) =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
const is_object = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const marks = { same: ' ', old: '−', new: '+' };

// Line by line: a mark, a colour, and for readers of the screen the word.
function Lines({ before, after }) {
  const t = useWords();
  return html`<pre class="lines" tabindex="0">${line_changes(before, after).map(
    ({ kind, text }) => html`<span class=${`line is-${kind}`}>${
      kind !== 'same' && html`<span class="unseen">${t(`diff.${kind}`)} </span>`
    }<span aria-hidden="true">${marks[kind]} </span><bdi>${text}</bdi>${'\n'}</span>`,
  )}</pre>`;
}

// One side of a member. What is long scrolls, by keyboard too.
const long_length = 600;
function Side({ name, value, kind }) {
  const text = text_of(value);
  const is_long = text.length > long_length;
  return html`<div class=${`is-${kind}`}><dt>${name}</dt>
    <dd class=${is_long ? 'long' : ''} tabindex=${is_long ? '0' : undefined}>
    <bdi>${text}</bdi></dd></div>`;
}

// `names`: what the two are called; `left_out`: members that say nothing.
export function Differences({ before, after, names = null, left_out = [] }) {
  const t = useWords();
  const [old_object, new_object] = [before ?? {}, after ?? {}];
  if (!is_object(old_object) || !is_object(new_object)) {
    return html`<${Lines} before=${text_of(before)} after=${text_of(after)} />`;
  }
  const members = [...new Set([...Object.keys(old_object), ...Object.keys(new_object)])].filter(
    (name) =>
      !left_out.includes(name) && text_of(old_object[name]) !== text_of(new_object[name]),
  );
  const [old_name, new_name] = names ?? [t('diff.before'), t('diff.after')];
  if (!members.length) return html`<p class="dim">${t('diff.none')}</p>`;
  const is_long = (name) =>
    name in old_object &&
    name in new_object &&
    /\n/.test(text_of(old_object[name]) + text_of(new_object[name]));
  return html`<div class="diff">${members.map(
    (name) => html`<div class="member" key=${name}><code class="name">${name}</code>
      ${
        is_long(name)
          ? html`<${Lines} before=${text_of(old_object[name])}
            after=${text_of(new_object[name])} />`
          : html`<dl>
            ${
              name in old_object &&
              html`<${Side} name=${old_name} value=${old_object[name]} kind="old" />`
            }
            ${
              name in new_object &&
              html`<${Side} name=${new_name} value=${new_object[name]} kind="new" />`
            }</dl>`
      }</div>`,
  )}</div>`;
}

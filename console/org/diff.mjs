// What differs between two objects: before and after of an audit row, two versions of a persona,
// two definitions of a tool. Members that are the same are left out.
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
              html`<div class="is-old"><dt>${old_name}</dt>
              <dd><bdi>${text_of(old_object[name])}</bdi></dd></div>`
            }
            ${
              name in new_object &&
              html`<div class="is-new"><dt>${new_name}</dt>
              <dd><bdi>${text_of(new_object[name])}</bdi></dd></div>`
            }</dl>`
      }</div>`,
  )}</div>`;
}

// Traits of a model that runs learned: which members of a request its provider refuses, or wants
// back. Shown in the model's row.
import { html } from '../html.mjs';
import { number, useWords } from '../i18n.mjs';
import '../words/org_providers.mjs';

// In the order of the list. Values: true, a name, a number.
const traits = [
  'token_limit',
  'no_stream_options',
  'no_response_format',
  'no_parallel_tool_calls',
  'no_strict',
  'no_temperature',
  'no_system_role',
  'context_tokens',
  'takes_given_reasoning',
  'no_given_reasoning',
  'no_own_reasoning',
  'wants_own_calls',
];

// `learned`: the member of a model; null while nothing is known.
export function Learned({ learned }) {
  const t = useWords();
  const known = traits.filter((name) => learned?.[name]);
  if (known.length === 0) return null;
  const said = (value) => (typeof value === 'number' ? number(value) : String(value));
  return html`<details class="learned">
    <summary>${t('providers.learned', { count: known.length })}</summary>
    <p class="hint">${t('providers.learned_hint')}</p>
    <ul>${known.map(
      (name) => html`<li key=${name}>${t(`providers.learned.${name}`, {
        value: said(learned[name]),
      })} <code>${name}</code></li>`,
    )}</ul>
  </details>`;
}

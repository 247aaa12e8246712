// A button that copies a text.
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';

// `text`: a string, or a function that gives one. `label`: what the button says.
/** @param {{text: string | (() => string), label?: string, what?: string}} props */
export function Copy({ text, label, what = '' }) {
  const t = useWords();
  const [state, set_state] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
      set_state('done');
    } catch {
      set_state('failed');
    }
    setTimeout(() => set_state(''), 1500);
  };
  const said = state === 'done' ? t('copy.done') : state === 'failed' ? t('copy.failed') : '';
  return html`<button type="button" class="small" onClick=${copy}
    aria-label=${what ? `${label ?? t('copy.do')}: ${what}` : undefined}>
    <span aria-live="polite">${said || (label ?? t('copy.do'))}</span></button>`;
}

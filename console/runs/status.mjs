// The state of a run as a coloured word.
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import '../words/run_screens.mjs';

const kinds = {
  running: 'live',
  waiting_for_input: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: '',
};

export function Status({ status }) {
  const t = useWords();
  return html`<span class=${`mark ${kinds[status] ?? ''}`}>${t(`runs.status.${status}`)}</span>`;
}

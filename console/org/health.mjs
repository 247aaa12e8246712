// The circuit breaker of a model, in the row of the model: whether runs that have another route
// leave it out (docs/fallbacks.md).
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { When } from '../ui/when.mjs';
import '../words/health.mjs';

const marks = { closed: 'good', half_open: 'warn', open: 'bad' };

/** @param {{health: import('../types/calls').Schemas['LlmModel']['health']}} props */
export function Health({ health }) {
  const t = useWords();
  const { state, since, failures } = health;
  return html`<span class="health"><span class=${`mark ${marks[state]}`}
      title=${t(`health.about.${state}`)}>${t(`health.${state}`)}</span>${
      since &&
      html` <span class="dim">${t('health.since')} <${When} at=${since} /></span>`
    }${
      failures > 0 && html` <span class="dim">${t('health.failures', { count: failures })}</span>`
    }</span>`;
}

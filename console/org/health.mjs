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
  const more = [
    since && html`${t('health.since')} <${When} at=${since} />`,
    failures > 0 && t('health.failures', { count: failures }),
  ].filter(Boolean);
  return html`<span class=${`mark ${marks[state]}`} title=${t(`health.about.${state}`)}>
    ${t(`health.${state}`)}</span>${more.map((one) => html` <span class="dim">· ${one}</span>`)}`;
}

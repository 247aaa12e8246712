// The timeline of a run: a row a span, its bar where it lay in time; of a model's turn what it
// took, below them what all took.
import { Fragment, html, useEffect, useState } from '../html.mjs';
import { duration, number, usd, useWords } from '../i18n.mjs';
import { CsvButton } from '../ui/csv_button.mjs';
import { Icon } from '../ui/icon.mjs';
import { SpanDetails } from './span_details.mjs';
import { range_of, spans_of } from './spans.mjs';
import { useTurns } from './use_run.mjs';
import '../words/run_screens.mjs';

const rows_max = 500;

// Cells of tokens and cost: of a turn, or of the run.
function Took({ input, output, cost, credits, as_title }) {
  const t = useWords();
  const words = t('runs.cost_of', { usd: usd(cost), credits });
  return html`<td class="number tokens">${number(input)} + ${number(output)}</td>
    <td class="number cost" title=${as_title ? words : undefined}>${as_title ? usd(cost) : words}
    </td>`;
}

const columns_count = 6;

// Calls that came to nothing.
const failed_states = new Set(['failed', 'denied', 'stopped']);
const look_of = ({ kind, state }) => (failed_states.has(state) ? 'failed' : kind);

// `is_mine`: the user may read the run's thread.
/** @param {{run: import('../types/calls').Schemas['Run'], story: any, is_mine: boolean}} props */
export function Timeline({ run, story, is_mine }) {
  const t = useWords();
  const [opened, set_opened] = useState(/** @type {string[]} */ ([]));
  const toggle = (key) =>
    set_opened(opened.includes(key) ? opened.filter((one) => one !== key) : [...opened, key]);
  const [now, set_now] = useState(Date.now());
  const goes_on = story.ended === null;
  useEffect(() => {
    if (!goes_on) return undefined;
    const timer = setInterval(() => set_now(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [goes_on]);
  const turns = useTurns(run);
  const spans = spans_of(story, run?.created_at);
  if (spans.length === 0) return html`<p class="empty">${t('runs.no_events')}</p>`;
  const { from, to } = range_of(spans, now);
  const percent = (time) => `${(((time - from) / (to - from)) * 100).toFixed(3)}%`;
  const name = ({ kind, turn, label }) => {
    if (kind === 'model') return t('runs.turn', { turn });
    if (kind === 'wait') return t(`runs.wait.${label}`);
    if (kind === 'retry') return t('runs.retry', { attempt: turn });
    if (kind === 'failed') return t('runs.failed_with', { code: label });
    return kind === 'queue' ? t('runs.queue') : label;
  };
  // The columns of the file that is saved.
  const steps = () =>
    spans.map((span) => {
      const row = span.kind === 'model' ? turns.get(span.turn) : undefined;
      return {
        step: name(span),
        state: span.state ?? '',
        started_at: new Date(span.from).toISOString(),
        duration_ms: (span.to ?? now) - span.from,
        input_tokens: row?.input_tokens,
        output_tokens: row?.output_tokens,
        cost_usd: row?.cost_usd,
      };
    });
  const took = ({ kind, turn }) => {
    const row = kind === 'model' && turns.get(turn);
    if (!row) return html`<td class="number tokens"></td><td class="number cost"></td>`;
    return html`<${Took} input=${row.input_tokens} output=${row.output_tokens}
      cost=${row.cost_usd} credits=${row.credits} as_title />`;
  };
  return html`<table class="timeline">
    <caption class="unseen">${t('runs.timeline')}</caption>
    <thead><tr><th scope="col">${t('runs.step')}</th><th scope="col"
      class="number">${t('runs.begins')}</th>
      <th scope="col" class="number">${t('runs.takes')}</th>
      <th scope="col" class="number">${t('runs.tokens')}</th>
      <th scope="col" class="number cost">${t('runs.cost')}</th><th scope="col" class="bar-cell">
        <span>${duration(0)}</span><span>${duration(to - from)}</span></th></tr></thead>
    <tbody>${spans.slice(0, rows_max).map((span) => {
      const is_open = opened.includes(span.key);
      return html`<${Fragment} key=${span.key}><tr class=${`span-${look_of(span)}`}>
      <th scope="row"><button type="button" class="quiet step" title=${t('runs.open_step')}
        aria-expanded=${is_open ? 'true' : 'false'} onClick=${() => toggle(span.key)}>
        <${Icon} name="fold" /><bdi>${name(span)}</bdi></button>${
        span.state &&
        span.state !== 'done' &&
        html` <span class=${`mark ${failed_states.has(span.state) ? 'bad' : ''}`}>
          ${t(`chat.tool.${span.state}`)}</span>`
      }</th>
      <td class="number">+${duration(span.from - from)}</td>
      <td class="number">${duration((span.to ?? now) - span.from)}</td>
      ${took(span)}
      <td class="bar-cell"><div class="bar-track"><div class=${`bar bar-${look_of(span)}`}
        style=${{ left: percent(span.from), right: `calc(100% - ${percent(span.to ?? now)})` }} />
          </div></td>
    </tr>${
      is_open &&
      html`<tr class="step-details"><td colspan=${columns_count}>
        <${SpanDetails} span=${span} story=${story} run=${run} is_mine=${is_mine} /></td></tr>`
    }<//>`;
    })}</tbody>
    <tfoot><tr><th scope="row">${t('runs.whole')}</th><td class="number"></td>
      <td class="number">${duration(to - from)}</td>
      <${Took} input=${run.total_input_tokens} output=${run.total_output_tokens}
        cost=${run.total_cost_usd} credits=${run.credits_used} />
      <td class="bar-cell"></td></tr></tfoot>
  </table>
  <${CsvButton} name=${t('runs.timeline')} make=${(part) => part.csv_of_members(steps())} />
  ${
    spans.length > rows_max &&
    html`<p
    class="dim">${t('runs.more_spans', { count: spans.length - rows_max })}</p>`
  }`;
}

// The conversation of a run: what the user asked, then each turn of the model with what it took.
import { html, useEffect, useState } from '../html.mjs';
import { number, usd, useWords } from '../i18n.mjs';
import { Ending, StoryView } from '../chat/story_view.mjs';
import { question_of } from './question.mjs';
import { useTurns } from './use_run.mjs';
import '../words/run_screens.mjs';

/** @param {{run: import('../types/calls').Schemas['Run'], story: any, is_mine: boolean}} props */
export function Conversation({ run, story, is_mine }) {
  const t = useWords();
  const turns = useTurns(run);
  const [question, set_question] = useState('');
  useEffect(() => {
    if (!is_mine) return;
    // The answer is shown without it.
    question_of(run).then(set_question, () => {});
  }, [run.run_id, is_mine]);
  const is_live = story.status === 'running';
  const numbers = [...new Set(story.entries.map((entry) => entry.turn))];
  const last = numbers.at(-1);
  return html`<div class="conversation">
    ${question && html`<div class="said" dir="auto"><bdi>${question}</bdi></div>`}
    ${numbers.map((turn) => {
      const row = turns.get(turn);
      const entries = story.entries.filter((entry) => entry.turn === turn);
      const part = { ...story, entries, ended: null, retrying: turn === last && story.retrying };
      return html`<section key=${turn} aria-label=${t('runs.turn', { turn })}>
        <h3 class="row">${t('runs.turn', { turn })}${
          row &&
          html` <span class="dim">${t('runs.tokens_of', {
            input: number(row.input_tokens),
            output: number(row.output_tokens),
          })} · ${usd(row.cost_usd)}</span>`
        }</h3>
        <article class="run"><${StoryView} story=${part}
          is_live=${is_live && turn === last} /></article></section>`;
    })}
    ${
      numbers.length === 0 &&
      story.ended === null &&
      html`<p class="empty">${t('runs.no_events')}</p>`
    }
    <${Ending} ended=${story.ended} />
  </div>`;
}

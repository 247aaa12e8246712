// Input and output of a row of the timeline, shown when the row opens.
import { html, useEffect, useState } from '../html.mjs';
import { duration, useWords } from '../i18n.mjs';
import { JsonBlock } from '../chat/tool_view.mjs';
import { question_of } from './question.mjs';
import '../words/run_screens.mjs';

// Tool results that the model read at the begin of its turn.
const results_before = (story, turn) =>
  story.entries.filter((entry) => entry.kind === 'tool' && entry.turn === turn - 1 && entry.until);

function Text({ label, text }) {
  return html`<div class="json"><div class="json-head"><span>${label}</span></div>
    <pre dir="auto" tabindex="0">${text}</pre></div>`;
}

const joined = (entries, kind) =>
  entries
    .filter((entry) => entry.kind === kind)
    .map(({ text }) => text)
    .join('\n\n');

// The question of the run, for those who may read its thread.
function Question({ run, is_mine }) {
  const t = useWords();
  const [text, set_text] = useState('');
  useEffect(() => {
    if (!is_mine) return;
    // Without it the rest is shown.
    question_of(run).then(set_text, () => {});
  }, [run.run_id]);
  return text && html`<${Text} label=${t('runs.question')} text=${text} />`;
}

function ModelDetails({ span, story, run, is_mine }) {
  const t = useWords();
  const own = story.entries.filter((entry) => entry.turn === span.turn);
  const answer = joined(own, 'text');
  const thinking = joined(own, 'thinking');
  const calls = own.filter((entry) => entry.kind === 'tool');
  const results = results_before(story, span.turn);
  return html`<h3>${t('runs.input')}</h3>
    ${span.turn === 1 && html`<${Question} run=${run} is_mine=${is_mine} />`}
    ${results.map(
      (entry) => html`<${JsonBlock} key=${entry.key} value=${entry.error ?? entry.result ?? null}
        label=${t('runs.result_of', { name: entry.name })} />`,
    )}
    <h3>${t('runs.output')}</h3>
    ${thinking && html`<${Text} label=${t('chat.thinking')} text=${thinking} />`}
    ${answer && html`<${Text} label=${t('runs.text')} text=${answer} />`}
    ${calls.map(
      (entry) => html`<${JsonBlock} key=${entry.key} value=${entry.arguments ?? {}}
        label=${t('runs.call_of', { name: entry.name })} />`,
    )}`;
}

function ToolDetails({ span }) {
  const t = useWords();
  const { entry } = span;
  return html`<${JsonBlock} value=${entry.arguments ?? {}} label=${t('runs.input')} />
    ${
      entry.error
        ? html`<p class="tool-error"><code>${entry.error.code}</code>${' '}
          <bdi>${entry.error.message}</bdi></p>`
        : entry.result !== undefined &&
          html`<${JsonBlock} value=${entry.result} label=${t('runs.output')} />`
    }`;
}

function WaitDetails({ span }) {
  const { message, calls, schema } = span.entry;
  return html`${message && html`<p><bdi>${message}</bdi></p>`}
    ${calls && html`<${JsonBlock} value=${calls} label="calls" />`}
    ${schema && html`<${JsonBlock} value=${schema} label="schema" />`}`;
}

export function SpanDetails({ span, story, run, is_mine }) {
  const t = useWords();
  switch (span.kind) {
    case 'model':
      return html`<${ModelDetails} span=${span} story=${story} run=${run} is_mine=${is_mine} />`;
    case 'tool':
      return html`<${ToolDetails} span=${span} />`;
    case 'wait':
      return html`<${WaitDetails} span=${span} />`;
    case 'retry':
      return html`<p><code>${span.label}</code>${' '}
        ${t('runs.retry_after', { delay: duration(span.event.data.delay_ms) })}</p>`;
    case 'failed':
      return html`<p class="tool-error"><code>${story.ended.code}</code>${' '}
        <bdi>${story.ended.message}</bdi></p>`;
    default:
      return html`<p>${t('runs.queue_text')}</p>`;
  }
}

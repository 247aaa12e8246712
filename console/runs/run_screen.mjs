// One run: `#/runs/ID?tab=…`: what it cost, its timeline, its story, its raw events, its replay.
import { api } from '../api.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { duration, number, usd, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { changed } from '../chat/service.mjs';
import { FallBacks } from '../chat/fell_back.mjs';
import { JsonBlock } from '../chat/tool_view.mjs';
import { WaitCard } from '../chat/wait_card.mjs';
import { Copy } from '../ui/copy.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { When } from '../ui/when.mjs';
import { Conversation } from './conversation_tab.mjs';
import '../words/run_screens.mjs';
import { Status } from './status.mjs';
import { MetadataForm } from './metadata_form.mjs';
import { RawEvents } from './raw_events.mjs';
import { Replay } from './replay.mjs';
import { Timeline } from './timeline.mjs';
import { useRun, useRunStory } from './use_run.mjs';

const tabs = ['timeline', 'story', 'events', 'replay'];

// `is_mine`: only its creator reads a thread.
/** @param {{run: import('../types/calls').Schemas['Run'], is_mine: boolean}} props */
function Facts({ run, is_mine }) {
  const t = useWords();
  const facts = [
    ['status', html`<${Status} status=${run.status} />`],
    ['queued', run.queued && t('runs.position_of', { count: run.queue_position })],
    ['model', html`<bdi>${run.model}</bdi>`],
    ['persona', run.persona_id && html`<bdi>${run.persona_id}</bdi>`],
    ['created', html`<${When} at=${run.created_at} />`],
    ['duration', duration(run.duration_ms)],
    [
      'tokens',
      t('runs.tokens_of', { input: run.total_input_tokens, output: run.total_output_tokens }),
    ],
    ['cached', number(run.cache_hit_rate, { style: 'percent' })],
    ['cost', t('runs.cost_of', { usd: usd(run.total_cost_usd), credits: run.credits_used })],
    ['end_user', run.end_user && html`<bdi class="mark">${run.end_user}</bdi>`],
    [
      'thread',
      is_mine
        ? html`<a href=${address(`/threads/${run.thread_id}`)}>${t('runs.open_thread')}</a>`
        : html`<code>${run.thread_id}</code>`,
    ],
    [
      'trace',
      html`<code>${run.trace_id}</code> <${Copy} text=${run.trace_id} what=${t('runs.trace')} />`,
    ],
  ];
  return html`<dl class="facts">${facts
    .filter(([, value]) => value)
    .map(
      ([name, value]) => html`
    <dt>${t(`runs.${name}`)}</dt><dd>${value}</dd>`,
    )}</dl>`;
}

function Tabs({ current, run_id }) {
  const t = useWords();
  return html`<div role="navigation" class="tabs" aria-label=${t('runs.views')}>${tabs.map(
    (name) => html`
    <a key=${name} href=${address(`/runs/${run_id}`, { tab: name === tabs[0] ? '' : name })}
      aria-current=${name === current ? 'page' : undefined}>${t(`runs.${name}`)}</a>`,
  )}</div>`;
}

export function RunScreen({ params, query }) {
  const t = useWords();
  const { run_id } = params;
  const tab = tabs.includes(query.tab) ? query.tab : tabs[0];
  const { me } = useStore(session);
  const { story, stream } = useRunStory(run_id);
  const { run, error, reload } = useRun(run_id, story);
  const [fault, set_fault] = useState(null);
  const waits_for = story.wait?.key;
  const was = useRef(waits_for);
  useEffect(() => {
    if (was.current !== waits_for) changed('waits');
    was.current = waits_for;
  }, [waits_for]);
  const stop = async () => {
    try {
      set_fault(null);
      await api.post(`/v1/runs/${run_id}:cancel`);
      changed('threads', 'waits');
      await reload();
    } catch (thrown) {
      set_fault(thrown);
    }
  };
  if (run === null) {
    return error
      ? html`<${ErrorBox} error=${error} on_retry=${reload} />`
      : html`<p class="dim working" role="status">${t('loading')}</p>`;
  }
  const is_mine = run.created_by_user_id === me?.id;
  const goes_on = run.status === 'running' || run.status === 'waiting_for_input';
  return html`<div class="run-screen">
    <header class="row"><h1>${t('runs.run')} <code>${run_id}</code></h1><span class="space" />
      ${
        goes_on &&
        html`<button type="button" class="stop"
        onClick=${stop}>${t('chat.stop')}</button>`
      }</header>
    <${ErrorBox} error=${fault ?? error} />
    <${Facts} run=${run} is_mine=${is_mine} />
    ${
      run.error &&
      html`<p class="ended failed" role="alert"><code>${run.error.code}</code>
      <bdi>${run.error.message}</bdi></p>`
    }
    <${MetadataForm} run=${run} is_mine=${is_mine} on_saved=${reload} />
    ${story.wait && html`<${WaitCard} run_id=${run_id} story=${story} is_mine=${is_mine} />`}
    <${Tabs} current=${tab} run_id=${run_id} />
    ${stream?.phase === 'failed' && html`<${ErrorBox} error=${stream.problem} />`}
    ${
      stream?.phase === 'pausing' &&
      html`<p class="dim"
      role="status">${t('chat.reconnecting')}</p>`
    }
    ${
      tab === 'timeline' &&
      html`<${FallBacks} story=${story} />
        <${Timeline} run=${run} story=${story} is_mine=${is_mine} />`
    }
    ${
      tab === 'story' &&
      html`<${Conversation} run=${run} story=${story} is_mine=${is_mine} />${
        run.output !== null &&
        html`<${JsonBlock} value=${story.output ?? run.output}
        label=${t('chat.output')} />`
      }`
    }
    ${tab === 'events' && html`<${RawEvents} story=${story} />`}
    ${tab === 'replay' && html`<${Replay} story=${story} />`}
  </div>`;
}

// The inbox: every run that waits for the user, with what it asks, answered in place. `#/inbox`.
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go } from '../router.mjs';
import { useStore } from '../store.mjs';
import { changed } from '../chat/service.mjs';
import { WaitCard } from '../chat/wait_card.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Empty } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import { useRunStory } from '../runs/use_run.mjs';
import { load_waits, waits } from './waits.mjs';

// The one that is open is followed; the others are a row each, so that many cost no stream.
/** @param {{run: import('../types/calls').Schemas['RunListItem']}} props */
function OpenWait({ run }) {
  const t = useWords();
  const { story, stream } = useRunStory(run.run_id);
  const has_gone_on = story.log.length > 0 && story.wait === null;
  useEffect(() => void (has_gone_on && changed('waits', 'threads')), [has_gone_on]);
  if (stream?.phase === 'failed') return html`<${ErrorBox} error=${stream.problem} />`;
  if (story.log.length === 0) return html`<p class="dim working" role="status">${t('loading')}</p>`;
  if (has_gone_on) return html`<p class="dim" role="status">${t('inbox.goes_on')}</p>`;
  return html`<${WaitCard} run_id=${run.run_id} story=${story} may_focus />`;
}

/** @param {{run: import('../types/calls').Schemas['RunListItem'], is_open: boolean,
 *   on_open: () => void}} props */
function Wait({ run, is_open, on_open }) {
  const t = useWords();
  const { kind, since, message } = run.waiting;
  return html`<li class="inbox-item">
    <button type="button" class="inbox-head" aria-expanded=${is_open} onClick=${on_open}>
      <span class="mark">${t(`runs.wait.${kind}`)}</span> <bdi
        class="title">${message || t(`chat.wait.${kind}`, { name: '…' })}</bdi>
      ${run.end_user && html`<bdi class="mark">${run.end_user}</bdi>`}
      <${When} at=${since} />
    </button>
    ${
      is_open &&
      html`<${OpenWait} key=${run.run_id} run=${run} />
      <p class="row about"><a
        href=${address(`/threads/${run.thread_id}`)}>${t('runs.open_thread')}</a>
        <a href=${address(`/runs/${run.run_id}`)}>${t('chat.run')}</a></p>`
    }
  </li>`;
}

export function InboxScreen() {
  const t = useWords();
  const { runs, error } = useStore(waits);
  const [open_id, set_open] = useState(null);
  useEffect(() => void load_waits(), []);
  // Without a choice, or where what was chosen waits no more, the oldest is open; '': none is.
  const is_there = open_id === '' || runs?.some((run) => run.run_id === open_id);
  const current = is_there ? open_id : (runs?.[0]?.run_id ?? null);
  return html`<div class="inbox"><h1>${t('inbox.inbox')}</h1>
    <${ErrorBox} error=${error} on_retry=${load_waits} />
    ${runs === null && !error && html`<p class="dim working" role="status">${t('loading')}</p>`}
    ${runs?.length === 0 && html`<${Empty} text=${t('inbox.nothing')} action=${t('inbox.to_runs')}
      on_action=${() => go('/runs')} />`}
    <ul>${runs?.map(
      (run) => html`<${Wait} key=${run.run_id} run=${run} is_open=${run.run_id === current}
      on_open=${() => set_open(run.run_id === current ? '' : run.run_id)} />`,
    )}</ul>
  </div>`;
}

// Items of a thread, one below the other: messages of users, and runs. Used by chat_screen.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { duration, time, usd, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { Copy } from '../ui/copy.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { has_ended } from './conversation.mjs';
import { Markdown } from './markdown_view.mjs';
import { useNear } from './near.mjs';
import { answer_of, has_steps } from './story.mjs';
import { StoryView } from './story_view.mjs';
import { WaitCard } from './wait_card.mjs';

const part_chars = 4096;
// A longer message of a user has a bar to scroll it.
const long_chars = 1200;
const long_lines = 20;

function Stream({ stream }) {
  const t = useWords();
  if (stream?.phase !== 'pausing' && stream?.phase !== 'failed') return null;
  return html`<div class="note" role="status">
    ${stream.phase === 'pausing' && t('chat.reconnecting')}
    <${ErrorBox} error=${stream.phase === 'failed' ? stream.problem : null} />
  </div>`;
}

// Reads the steps of a run when its answer comes into sight. A button asks again for what could not
// be read.
function Steps({ run_id, conversation }) {
  const t = useWords();
  const look = async () => ({ is_read: await conversation.look_at(run_id) });
  const [box, outcome] = useNear(look);
  const [is_loading, set_loading] = useState(false);
  const load = async () => {
    set_loading(true);
    await conversation.read_story(run_id);
    set_loading(false);
  };
  if (!outcome || outcome.is_read) return html`<span ref=${box} />`;
  return html`<button type="button" class="quiet" disabled=${is_loading}
    onClick=${load}>${t(is_loading ? 'loading' : 'chat.steps')}</button>`;
}

// Model, tokens, cost and duration of a run that has ended, read when its answer comes into sight.
function Figures({ run_id }) {
  const t = useWords();
  const load = async () => (await api.get(`/v1/runs/${run_id}`)).body;
  const [box, found] = useNear(load);
  const run = /** @type {import('../types/calls').Schemas['Run'] | null} */ (found);
  if (!run) return html`<span class="figures" ref=${box} />`;
  const input = run.total_input_tokens ?? 0;
  const output = run.total_output_tokens ?? 0;
  const figures = [
    run.model && html`<bdi class="model" title=${t('chat.model')}>${run.model}</bdi>`,
    input + output > 0 && html`<span>${t('chat.tokens', { input, output })}</span>`,
    run.total_cost_usd !== null && html`<span>${usd(run.total_cost_usd)}</span>`,
    run.duration_ms !== null && html`<span>${duration(run.duration_ms)}</span>`,
  ];
  return html`<span class="figures is-read">${figures}</span>`;
}

// A run that was not followed is its message, and its steps once they are read.
export function RunItem({ item, conversation, is_live, stream, me }) {
  const t = useWords();
  const { run_id, run, answers, story } = item;
  const [problem, set_problem] = useState(null);
  const stop = async () => {
    set_problem(null);
    await conversation.stop(run_id).catch(set_problem);
  };
  const is_mine = conversation.state.thread?.created_by_user_id === me?.id;
  // An answer without steps stays as it is.
  const is_plain = story?.is_read_later && answers.length > 0 && !has_steps(story);
  const shows_story =
    story !== null && !story.problem && !is_plain && (story.log.length > 0 || answers.length === 0);
  // The row may be older than the end of a run that was followed.
  const is_queued = run?.status === 'running' && !is_live && !story?.ended;
  const has_text = shows_story
    ? story.entries.some(({ kind }) => kind === 'text')
    : answers.length > 0;
  const answer = () =>
    shows_story ? answer_of(story) : answers.map(({ content }) => content).join('');
  return html`<article class="run" aria-label=${t('chat.agent')} aria-busy=${is_live}>
    ${
      shows_story
        ? html`<${StoryView} story=${story} is_live=${is_live} />`
        : answers.map(
            (message) =>
              html`<div class="answer" key=${message.id}><${Markdown}
                text=${message.content} /></div>`,
          )
    }
    ${
      !shows_story &&
      answers.some(({ incomplete }) => incomplete) &&
      html`<p
      class="note">${t('chat.incomplete')}</p>`
    }
    ${story?.problem && html`<${ErrorBox} error=${story.problem} />`}
    ${
      is_live &&
      story?.wait &&
      html`<${WaitCard} run_id=${run_id} story=${story}
      is_mine=${is_mine} may_focus />`
    }
    ${
      is_live &&
      story?.status === 'queued' &&
      html`<p class="note"
      role="status">${t('chat.begins')}</p>`
    }
    ${
      is_live &&
      story?.status === 'running' &&
      html`<p class="working"
      role="status">${t('chat.working')}</p>`
    }
    ${is_live && html`<${Stream} stream=${stream} />`}
    ${
      is_queued &&
      html`<p class="note">${t('chat.queued')} <button type="button"
      onClick=${stop}>${t('chat.stop')}</button></p>`
    }
    <${ErrorBox} error=${problem} />
    <footer class="row about">
      ${
        !is_live &&
        (run === null || has_ended(run)) &&
        html`<${Figures} run_id=${run_id} />`
      }
      <a href=${address(`/runs/${run_id}`)}>${t('chat.run')}</a>
      ${
        !shows_story &&
        !is_plain &&
        !is_live &&
        !is_queued &&
        html`<${Steps} run_id=${run_id} conversation=${conversation} />`
      }
      ${!is_live && has_text && html`<${Copy} text=${answer} what=${t('chat.answer_text')} />`}
      <time datetime=${item.at}>${time(item.at)}</time>
    </footer>
  </article>`;
}

// A long text in parts that end with lines, so that what is out of sight costs no layout.
function parts_of(text) {
  const parts = [];
  for (let from = 0; from < text.length;) {
    const end =
      text.length - from > part_chars ? text.lastIndexOf('\n', from + part_chars) + 1 : text.length;
    const to = end > from ? end : Math.min(text.length, from + part_chars);
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

/** @param {{message: import('../types/calls').Schemas['Message']}} props */
export function UserMessage({ message }) {
  const t = useWords();
  const parts = parts_of(message.content);
  const is_long =
    message.content.length > long_chars || message.content.split('\n').length > long_lines;
  return html`<article class="user" aria-label=${t('chat.you')}>
    <div class=${is_long ? 'said is-long' : 'said'} dir="auto"
      tabindex=${is_long ? 0 : undefined}>${
        parts.length === 1
          ? message.content
          : parts.map((part) => html`<div class="said-part">${part}</div>`)
      }</div>
  </article>`;
}

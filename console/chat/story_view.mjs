// A run's story as it is read: text, reasoning, tools, waits and how it ended. Used by chat, run,
// replay.
import { Component } from 'preact';

import { Fragment, html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { lazy } from '../lazy.mjs';
import { Markdown } from './markdown_view.mjs';
import { JsonBlock, ToolView } from './tool_view.mjs';

const FellBack = lazy(() => import('./fell_back.mjs'), 'FellBack');

function Thinking({ entry, is_live }) {
  const t = useWords();
  const [is_open, set_open] = useState(false);
  return html`<details class="thinking" onToggle=${(event) => set_open(event.currentTarget.open)}>
    <summary>${t(is_live ? 'chat.thinking_now' : 'chat.thinking')}</summary>
    ${is_open && html`<${Markdown} text=${entry.text} />`}
  </details>`;
}

function PastWait({ entry }) {
  const t = useWords();
  return html`<p class="past-wait">
    <span class="mark">${t(`runs.wait.${entry.wait_kind}`)}</span> <bdi>${entry.message}</bdi>
  </p>`;
}

function Repair({ entry }) {
  const t = useWords();
  return html`<details class="repair">
    <summary>${t('chat.repair', { attempt: entry.attempt })}</summary>
    <ul>${(entry.errors ?? []).map(
      ({ pointer, message }) =>
        html`<li><code dir="ltr">${pointer || '/'}</code> <bdi>${message}</bdi></li>`,
    )}</ul>
  </details>`;
}

// Draws again when it is another object: a story keeps unchanged entries.
class Entry extends Component {
  shouldComponentUpdate(next) {
    return (
      next.entry !== this.props.entry ||
      next.is_live !== this.props.is_live ||
      next.t !== this.props.t
    );
  }

  render({ entry, is_live, t }) {
    switch (entry.kind) {
      case 'text':
        return html`<div class="answer"><${Markdown} text=${entry.text} /></div>`;
      case 'thinking':
        return html`<${Thinking} entry=${entry} is_live=${is_live} />`;
      case 'tool':
        return html`<${ToolView} entry=${entry} />`;
      case 'wait':
        return entry.is_open ? null : html`<${PastWait} entry=${entry} />`;
      case 'repair':
        return html`<${Repair} entry=${entry} />`;
      case 'resumed':
        return html`<p class="note">${t('chat.resumed', { attempt: entry.attempt })}</p>`;
      case 'fell_back':
        return html`<${FellBack} entry=${entry} />`;
      case 'output':
        return html`<${JsonBlock} value=${entry.output} label=${t('chat.output')} />`;
      case 'left_out':
        return html`<p class="note">${t('chat.left_out', { name: entry.name })}${' '}
          <bdi>${entry.reason}</bdi></p>`;
      case 'cut':
        return html`<p class="note">${t(`chat.cut.${entry.finish_reason}`)}</p>`;
      case 'handed':
        return html`<p class="note">${t('chat.handed', { count: entry.calls.length })}</p>`;
      default:
        return null;
    }
  }
}

export function Ending({ ended }) {
  const t = useWords();
  if (ended === null || ended.type === 'run.completed') return null;
  if (ended.type === 'run.cancelled') {
    return html`<p class="note ended">${t('chat.cancelled')}${' '}
      ${ended.reason && t(`chat.reason.${ended.reason}`)}</p>`;
  }
  return html`<p class="ended failed" role="alert">
    ${t('chat.failed')} <code>${ended.code}</code> <bdi>${ended.message}</bdi>
  </p>`;
}

// `is_live`: the run goes on, its newest entry is being written.
export function StoryView({ story, is_live }) {
  const t = useWords();
  const last = story.entries.at(-1);
  return html`<${Fragment}>
    ${story.entries.map(
      (entry) => html`<${Entry} key=${entry.key} entry=${entry} t=${t}
      is_live=${is_live && entry === last} />`,
    )}
    ${
      story.retrying &&
      html`<p class="note">
      ${t('chat.retrying', { attempt: story.retrying.attempt })}${' '}
      <code>${story.retrying.reason}</code>
    </p>`
    }
    <${Ending} ended=${story.ended} />
  <//>`;
}

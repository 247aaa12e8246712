// The events of a run as they came, some hundred at a time.
import { html, useState } from '../html.mjs';
import { duration, time, useWords } from '../i18n.mjs';
import { show_json } from '../chat/show_json.mjs';
import { JsonBlock } from '../chat/tool_view.mjs';
import '../words/run_screens.mjs';

const page_rows = 200;
const row_chars = 160;

function EventRow({ event, begun }) {
  const [is_open, set_open] = useState(false);
  const line = show_json(event.data, 0);
  return html`<li><details onToggle=${(toggled) => set_open(toggled.currentTarget.open)}>
    <summary><span class="number">${event.seq}</span>
      <time class="number" datetime=${event.created_at} title=${time(event.created_at)}>
        +${duration(Date.parse(event.created_at) - begun)}</time> <code>${event.type}</code>
      <code class="line" dir="ltr">${line.slice(0, row_chars)}</code></summary>
    ${is_open && html`<${JsonBlock} value=${event} label=${event.type} />`}
  </details></li>`;
}

export function RawEvents({ story }) {
  const t = useWords();
  const [type, set_type] = useState('');
  const [shown, set_shown] = useState(page_rows);
  const begun = Date.parse(story.log[0]?.created_at);
  const types = [...new Set(story.log.map((event) => event.type))].sort();
  const events = type === '' ? story.log : story.log.filter((event) => event.type === type);
  return html`<div class="raw">
    <div class="row"><label>${t('runs.event_type')} <select value=${type}
      onChange=${(event) => (set_type(event.currentTarget.value), set_shown(page_rows))}>
      <option value="">${t('runs.all_types')}</option>
      ${types.map(
        (each) => html`<option key=${each}
        value=${each}>${each}</option>`,
      )}</select></label>
      <span class="dim">${t('runs.event_count', { count: events.length })}</span></div>
    <ol class="events">${events.slice(0, shown).map(
      (event) => html`<${EventRow} key=${event.seq} event=${event} begun=${begun} />`,
    )}</ol>
    ${
      events.length > shown &&
      html`<button type="button" onClick=${() => set_shown(shown + page_rows)}>
      ${t('list.more')}</button>`
    }
  </div>`;
}

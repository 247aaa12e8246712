// A tool call in a story: its name and state in a row, arguments and result when it is opened.
import { html, useState } from '../html.mjs';
import { duration, useWords } from '../i18n.mjs';
import { Copy } from '../ui/copy.mjs';
import { show_json } from './show_json.mjs';

const shown_chars = 8_000;
const row_chars = 120;

// JSON or text of somebody else's; a long one is shown in part until all of it is asked for.
export function JsonBlock({ value, label }) {
  const t = useWords();
  const [is_whole, set_whole] = useState(false);
  const text = typeof value === 'string' ? value : show_json(value);
  const is_cut = text.length > shown_chars && !is_whole;
  return html`<div class="json">
    <div class="json-head"><span>${label}</span><${Copy} text=${text} what=${label} /></div>
    <pre dir="ltr" tabindex="0">${is_cut ? `${text.slice(0, shown_chars)}…` : text}</pre>
    ${
      is_cut &&
      html`<button type="button" onClick=${() => set_whole(true)}>
      ${t('chat.show_all', { count: text.length })}
    </button>`
    }
  </div>`;
}

const one_line = (value) => {
  const text = show_json(value ?? {}, 0);
  return text.length > row_chars ? `${text.slice(0, row_chars)}…` : text;
};

export function ToolView({ entry }) {
  const t = useWords();
  const [is_open, set_open] = useState(false);
  const { name, state, cut, result, error, duration_ms } = entry;
  return html`<details class=${`tool tool-${state}`}
    onToggle=${(event) => set_open(event.currentTarget.open)}>
    <summary>
      <span class="tool-state">${t(`chat.tool.${cut ? 'cut' : state}`)}</span>
      <bdi class="tool-name">${name}</bdi>
      <code class="tool-arguments" dir="ltr">${one_line(entry.arguments)}</code>
      <span class="tool-time">${duration(duration_ms)}</span>
    </summary>
    ${
      is_open &&
      html`
      ${cut && html`<p class="note">${t(`chat.call_cut.${cut}`)}</p>`}
      <${JsonBlock} value=${entry.arguments ?? {}} label=${t('chat.arguments')} />
      ${
        error &&
        html`<p class="tool-error"><code>${error.code}</code> <bdi>${error.message}</bdi>
        </p>`
      }
      ${result !== undefined && html`<${JsonBlock} value=${result} label=${t('chat.result')} />`}
    `
    }
  </details>`;
}

// "copy as curl": the calls that the open screen made.
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { as_curl, calls } from '../recorder.mjs';
import { useStore } from '../store.mjs';
import { Copy } from './copy.mjs';
import { Dialog } from './dialog.mjs';

function Calls({ on_close }) {
  const t = useWords();
  const made = useStore(calls);
  const begin = `HOSTLER_URL=${location.origin}`;
  return html`<${Dialog} title=${t('curl.title')} on_close=${on_close} is_wide>
    <p class="dim">${t('curl.explain')}</p>
    <div class="curl"><pre tabindex="0">${begin}</pre><${Copy} text=${begin}
      what="HOSTLER_URL" /></div>
    ${made.map(
      (call) => html`<div class="curl"><pre tabindex="0">${as_curl(call)}</pre>
      <${Copy} text=${() => as_curl(call)} what=${`${call.method} ${call.path}`} /></div>`,
    )}
    ${made.length === 0 && html`<p class="empty">${t('curl.none')}</p>`}
  <//>`;
}

// Stands in the header of the frame, so on every screen.
export function Curl() {
  const t = useWords();
  const [is_open, set_open] = useState(false);
  return html`<button type="button" class="quiet" title=${t('curl.title')}
    onClick=${() => set_open(true)}>
      curl</button>
    ${is_open && html`<${Calls} on_close=${() => set_open(false)} />`}`;
}

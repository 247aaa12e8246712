// A server of tools wants an authorization of the run's creator: whose page that is, and the way
// to it. Nothing leaves for another site before the user says so. Used by wait_card.
import { api } from '../api.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { around_name, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { is_writing } from '../ui/focus.mjs';
import { useAnswer } from './answering.mjs';

// The way to the page is good for ten minutes; then another one is asked for.
const way_ms = 9 * 60_000;

// The page is a stranger's word: only one of the web is followed.
export function page_of(url) {
  try {
    const page = new URL(url);
    return ['https:', 'http:'].includes(page.protocol) ? page : null;
  } catch {
    return null;
  }
}

// Facts that a person should know before they agree: who gets the token, who gives it, and what
// for.
export function Consent({ consent }) {
  const t = useWords();
  const { origin, authorization_server, scopes = [] } = consent;
  if (!origin) return null;
  return html`<dl class="facts"><dt>${t('mcp.consent.origin')}</dt><dd><bdi>${origin}</bdi></dd>
    <dt>${t('mcp.consent.authorization_server')}</dt><dd><bdi>${authorization_server}</bdi></dd>
    <dt>${t('mcp.consent.scopes')}</dt>
    <dd><bdi>${scopes.join(' ') || t('mcp.consent.no_scopes')}</bdi></dd></dl>`;
}

export function Connect({ wait, may_focus }) {
  const t = useWords();
  const { server_id, server_key } = wait;
  const [consent, set_consent] = useState(/** @type {any} */ (null));
  const url = consent?.url ?? '';
  const set_url = () => set_consent(null);
  const control = useRef(null);
  const { is_sending, problem, send } = useAnswer(async () => {
    const { body } = await api.post(`/v1/mcp-servers/${server_id}:connect`);
    set_consent(body);
  });
  useEffect(() => {
    if (url || (may_focus && !is_writing())) control.current?.focus({ preventScroll: true });
  }, [url]);
  useEffect(() => {
    if (!url) return undefined;
    const timer = setTimeout(set_url, way_ms);
    return () => clearTimeout(timer);
  }, [url]);
  const page = page_of(url);
  const [before, after] = around_name('chat.wait.authorization');
  return html`<div class="wait">
    <p>${before}<code dir="ltr">${server_key}</code>${after}</p>
    <p dir="auto">${wait.message}</p>
    <${Consent} consent=${consent ?? wait} />
    <${ErrorBox} error=${problem} />
    <div class="row">${
      page
        ? html`<a class="button" ref=${control} href=${page.href} target="_blank"
          rel="noopener noreferrer">${t('chat.open_page', { host: page.host })} ↗</a>
          <span class="note" role="status">${t('chat.comes_back')}</span>`
        : html`<button type="button" class="main" ref=${control} disabled=${is_sending}
          onClick=${() => send()}>${t('chat.connect')}</button>
          ${url && html`<p class="fault" role="alert">${t('chat.no_page')}</p>`}`
    }<a href=${address(`/mcp-servers/${server_id}`)}>${t('chat.about_server')}</a></div>
  </div>`;
}

// Errors and short notices. Every error shows its words, and its code and trace id on request.
import { error_of } from '../error.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, place } from '../router.mjs';
import { session, switch_org } from '../session.mjs';
import { store, useStore } from '../store.mjs';
import { watch_session } from '../token.mjs';
import { Copy } from './copy.mjs';
import { Icon } from './icon.mjs';

// Errors that happened before the service was reached are in the user's language. The service's own
// words stand as it gave them.
function words_of(error, t) {
  const key = `error.of.${error.code}`;
  const title = t(key);
  if (title === key) return error;
  const how = t(`${key}.how`);
  return { title, detail: how === `${key}.how` ? error.detail : how };
}

// Code and trace id of an error, for those who ask for help with it.
export function ErrorMarks({ error }) {
  const t = useWords();
  return html`<details class="error-marks"><summary>${t('error.details')}</summary>
    <p><code>${error.code}</code>${
      error.trace_id &&
      html` <span class="dim">${t('error.trace')}</span> <code
      class="trace">${error.trace_id}</code> <${Copy} text=${error.trace_id}
        what=${t('error.trace')} />`
    }</p>
  </details>`;
}

// The detail, unless the title or a list of faults beside it says the same.
function detail_of({ title, detail }, faults) {
  const is_repeated = faults.some(({ message }) => detail?.includes(message));
  return is_repeated || detail === title ? '' : detail;
}

// The 404 of a thing that another organization of the caller's has names that one in its words
// (docs/contract.md, section 1): one may go there.
function Elsewhere({ error }) {
  const t = useWords();
  const { me, orgs } = useStore(session);
  if (error.status !== 404) return null;
  const org = orgs.find(({ id }) => id !== me?.org_id && error.detail.includes(id));
  return (
    org &&
    html`<button type="button"
      onClick=${() => switch_org(org.id)}>${t('org.switch', { name: org.name })}</button>`
  );
}

// The organization requires a session of its identity provider.
function ByProvider({ error }) {
  const t = useWords();
  const { provider_key: provider } = error.problem;
  if (error.code !== 'auth.sso_required' || !provider) return null;
  return html`<a class="button" href=${address('/sign-in', { provider, to: place.get().path })}>
    ${t('sign_in.by', { name: provider })}</a>${' '}`;
}

// `error`: whatever was thrown. `on_retry`: offers to try again. `hides_fields`: those of the form
// above, which shows them itself.
export function ErrorBox({ error, on_retry, hides_fields = [] }) {
  const t = useWords();
  if (!error) return null;
  const shown = error_of(error);
  const { title, detail } = words_of(shown, t);
  const more = detail_of({ title, detail }, shown.errors);
  const others = shown.errors.filter((fault) => !hides_fields.includes(fault.field));
  return html`<div class="error" role="alert">
    <p><strong>${title}</strong>${more && html`<br />${more}`}</p>
    ${
      others.length > 0 &&
      html`<ul>${others.map(
        (fault) => html`<li><code>${fault.field}</code>${' '}
      ${fault.message}</li>`,
      )}</ul>`
    }
    <${ErrorMarks} error=${shown} />
    <${Elsewhere} error=${shown} /><${ByProvider} error=${shown} />
    ${on_retry && html`<button type="button" onClick=${on_retry}>${t('error.again')}</button>`}
  </div>`;
}

// ------------------------------------------------ notices at the edge of the screen

const toasts = store([]);
watch_session((what) => what === 'out' && toasts.set([]));
const notice_ms = 5000;
const error_ms = 20000;
let last_id = 0;

function add_toast(toast, lasts_ms) {
  const id = ++last_id;
  const close = () => toasts.set(toasts.get().filter((other) => other.id !== id));
  toasts.set([...toasts.get(), { ...toast, id, close }].slice(-5));
  setTimeout(close, lasts_ms);
}

// A short notice that something happened.
export const toast = (text) => add_toast({ text }, notice_ms);

// An error with no better place on the screen.
export const toast_error = (thrown) => add_toast({ error: error_of(thrown) }, error_ms);

function ErrorLine({ error }) {
  const { title, detail } = words_of(error, useWords());
  return html`<p><strong>${title}</strong> ${detail}</p><${ErrorMarks} error=${error} />
    <${ByProvider} error=${error} />`;
}

export function Toasts() {
  const t = useWords();
  return html`<div class="toasts" aria-live="polite">${useStore(toasts).map(
    (each) => html`
    <div class=${each.error ? 'toast error' : 'toast'} key=${each.id}
      role=${each.error ? 'alert' : 'status'}>
      <div>${
        each.error
          ? html`<${ErrorLine} error=${each.error} />`
          : each.text
      }</div>
      <button type="button" class="small quiet" aria-label=${t('close')}
        onClick=${each.close}><${Icon} name="close" /></button>
    </div>`,
  )}</div>`;
}

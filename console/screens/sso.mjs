// Signing in with an identity provider: its buttons, the company account that the domain of an
// address finds, and what the provider leads back to. Loaded with the sign-in page.
import { api } from '../api.mjs';
import { back_path, leave_for } from '../away.mjs';
import { ApiError } from '../error.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { go, place, take_secret } from '../router.mjs';
import { session, signed_in, sign_out } from '../session.mjs';
import { useStore } from '../store.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import '../words/sso.mjs';
import { challenge_of_token } from './sso_challenge.mjs';

const is_plain = (path) => /^\/[a-z0-9/-]{0,199}$/.test(path);

// The open screen, or the first one where that takes a token, or the service takes no such path.
function way_back() {
  const { path, about } = place.get();
  return !about.is_open && is_plain(path) ? path : '/';
}

// `whom`: {provider_key} or {email}.
async function start(whom, path = way_back()) {
  const body = { ...whom, return_to: path };
  const answer = await api.post('/v1/auth/sso/start', body, { is_open: true });
  leave_for(answer.body.url, path);
}

// A button for each provider of the platform; none while they are not known.
export function SsoButtons() {
  const t = useWords();
  const form = useForm({});
  const { body } = useCall('/v1/auth/sso/providers', { is_open: true });
  if (!body?.length) return null;
  return html`<div class="actions">${body.map(
    ({ key, display_name }) => html`<button type="button" key=${key} disabled=${form.is_busy}
      onClick=${() => form.submit(() => start({ provider_key: key }))}>
      ${t('sign_in.by', { name: display_name })}</button>`,
  )}</div><${ErrorBox} error=${form.error} />`;
}

// The domain of the address says which provider it is.
export function CompanyForm() {
  const t = useWords();
  const form = useForm({ email: '' });
  return html`<${Form} form=${form} label=${t('sign_in.with_company')}
    on_submit=${({ email }) => start({ email: email.trim() })}>
    <${Field} form=${form} name="email" type="email" label=${t('sso.email')} required takes_focus
      autocomplete="email" hint=${t('sso.email_hint')} />
    <div class="actions"><${Submit} form=${form}>${t('sso.next')}<//></div>
  <//>`;
}

// ------------------------------------------------ where the provider leads back to

// `?error=CODE`. The code stands in the address: anybody may have written it.
function failure_of(code, t) {
  const key = `sso.error.${code}`;
  const words = t(key);
  return new ApiError({
    code: /^[a-z_]+\.[a-z_]+$/.test(code) ? code : 'auth.sso_failed',
    title: t('sso.failed'),
    detail: words === key ? '' : words,
  });
}

// `?factor_token=…&factors=totp,passkey`: the account has a second factor.
function useFactor(query) {
  const [waiting, set_waiting] = useState(null);
  const [token] = useState(() => take_secret('factor_token'));
  const [types] = useState(() =>
    (query.factors ?? '').split(',').filter((type) => ['totp', 'passkey'].includes(type)),
  );
  useEffect(() => {
    if (!token) return;
    challenge_of_token(token).then((challenge) =>
      set_waiting({ factor_token: token, factors: types.length ? types : ['totp'], challenge }),
    );
  }, []);
  return { is_asked: token !== '', waiting };
}

// `?link=KEY`: an account has the address. It is linked when its user signs in once as usual.
function Link({ provider }) {
  const t = useWords();
  const { state, me } = useStore(session);
  const form = useForm({});
  if (state !== 'in') {
    return html`<p class="narrow banner" role="status">${t('sso.link', { name: provider })}</p>`;
  }
  return html`<div class="narrow"><h1>${t('sign_in.by', { name: provider })}</h1>
    <p>${t('sso.link', { name: provider })}</p><p>${t('sso.link_again', { login: me.login })}</p>
    <${Form} form=${form} label=${t('sso.link_again', { login: me.login })}
      on_submit=${() => sign_out()}>
      <div class="actions"><${Submit} form=${form}>${t('sso.sign_in_again')}<//>
        <a class="button" href="#/">${t('cancel')}</a></div><//></div>`;
}

async function tell_whether_linked(provider, t) {
  try {
    const { body } = await api.get('/v1/me/identities');
    const is_linked = body.some(({ provider_key }) => provider_key === provider);
    toast(t(is_linked ? 'sso.linked' : 'sso.not_linked', { name: provider }));
  } catch {
    // The account page shows the links.
  }
}

// `?provider=KEY&to=/path`: a screen was refused to a session of another way.
function ByProvider({ provider, to }) {
  const t = useWords();
  const form = useForm({});
  const path = is_plain(to ?? '') ? to : '/';
  return html`<div class="narrow"><h1>${t('sign_in.by', { name: provider })}</h1>
    <p>${t('sso.required')}</p>
    <${Form} form=${form} label=${t('sign_in.by', { name: provider })}
      on_submit=${() => start({ provider_key: provider }, path)}>
      <div class="actions"><${Submit} form=${form}>${t('sso.next')}<//>
        <a class="button" href="#/">${t('cancel')}</a></div><//></div>`;
}

// `sign_in`, `second_step`: the components of the first page.
export function SsoLanding({ query, sign_in: SignIn, second_step: SecondStep }) {
  const t = useWords();
  const { state, error } = useStore(session);
  const [provider] = useState(query.link ?? '');
  const { is_asked, waiting } = useFactor(query);
  const [over, set_over] = useState(null);
  const [is_over, set_is_over] = useState(false);
  // The user signed in below.
  const before = useRef(state);
  useEffect(() => {
    const was = before.current;
    const has_begun = was !== 'starting' && was !== 'in' && state === 'in';
    const has_nothing = !query.error && !query.link && !query.provider && !is_asked;
    before.current = state;
    if (provider && was !== 'starting' && error?.code === 'auth.sso_required') {
      // Linked, perhaps. The organization wants a session of the provider itself.
      go('/sign-in', { provider: error.problem.provider_key, to: back_path() }, { replace: true });
    }
    if (state !== 'in' || !(has_begun || has_nothing)) return;
    if (provider) tell_whether_linked(provider, t);
    go(back_path(), {}, { replace: true });
  }, [state, error]);
  if (query.provider) return html`<${ByProvider} provider=${query.provider} to=${query.to} />`;
  if (is_asked && !is_over) {
    if (!waiting) return html`<p class="dim working">${t('loading')}</p>`;
    return html`<div class="narrow"><h1>${t('sign_in.step')}</h1><${SecondStep} waiting=${waiting}
      on_done=${async (token) => {
        await signed_in(token);
        go(back_path(), {}, { replace: true });
      }}
      on_over=${(error) => {
        set_over(error);
        set_is_over(true);
      }} /></div>`;
  }
  const failure = query.error ? failure_of(query.error, t) : over;
  return html`${failure && html`<div class="narrow"><${ErrorBox} error=${failure} /></div>`}
    ${provider && html`<${Link} provider=${provider} />`}
    ${
      state === 'in'
        ? !provider && html`<p><a href="#/">${t('nowhere.home')}</a></p>`
        : html`<${SignIn} />`
    }`;
}

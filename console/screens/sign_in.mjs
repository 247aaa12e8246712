// Signing in by password, mailed code, passkey or identity provider, and the forgotten password.
// Shown at whatever address needs a session, which opens afterwards.
import { api } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { lazy, load_part } from '../lazy.mjs';
import { go } from '../router.mjs';
import { signed_in } from '../session.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm, without_spaces } from '../ui/form.mjs';
import { next_path } from './invited.mjs';

const second_step = () => import('./second_step.mjs');
const SecondStep = lazy(second_step, 'SecondStep');
const sso = () => import('./sso.mjs');
const SsoButtons = lazy(sso, 'SsoButtons');
const CompanyForm = lazy(sso, 'CompanyForm');
const SsoLanding = lazy(sso, 'SsoLanding');

// Whether this server wants a captcha: its puzzle is another site's, which the console never loads.
export function CaptchaNote() {
  const t = useWords();
  const [is_wanted, set_wanted] = useState(false);
  useEffect(() => {
    api.get('/v1/auth/captcha-config', { is_open: true }).then(
      ({ body }) => set_wanted(body.enabled),
      () => set_wanted(false),
    );
  }, []);
  return is_wanted && html`<p class="banner">${t('sign_in.captcha')}</p>`;
}

// Names the other way in after too many attempts by this one.
function OtherWay({ error, code, text }) {
  return error?.code === code && html`<p class="banner" role="status">${text}</p>`;
}

// Does `work` (a login, which answers an access token); where the account has a second factor, its
// form takes the place of the forms that began. `on_done(access_token)`.
function useLogin(on_done) {
  const [waiting, set_waiting] = useState(null);
  const [error, set_error] = useState(null);
  const log_in = async (work) => {
    set_error(null);
    try {
      const { body } = await work();
      await on_done(body.access_token);
    } catch (thrown) {
      if (!thrown.problem?.factor_token) throw thrown;
      set_waiting(thrown.problem);
    }
  };
  const on_over = (thrown) => {
    set_waiting(null);
    set_error(thrown);
  };
  return { waiting, error, log_in, on_done, on_over };
}

// The error over the forms of a login that did not come through its second step.
function StepOver({ login }) {
  const t = useWords();
  const { error } = login;
  if (!error) return null;
  return error.code === 'auth.invalid_token'
    ? html`<p class="error" role="alert">${t('sign_in.over')}</p>`
    : html`<${ErrorBox} error=${error} />`;
}

const Step = ({ login }) => html`<${SecondStep} waiting=${login.waiting}
  on_done=${login.on_done} on_over=${login.on_over} />`;

function PasswordForm({ login }) {
  const t = useWords();
  const form = useForm({ login: '', password: '' });
  return html`<${Form} form=${form} label=${t('sign_in')} on_submit=${(values) =>
    login.log_in(() => api.post('/v1/auth/login', values, { is_open: true }))}>
    <${Field} form=${form} name="login" label=${t('sign_in.login')} autocomplete="username" required
      autocapitalize="none" spellcheck="false" takes_focus />
    <${Field} form=${form} name="password" label=${t('sign_in.password')} type="password" required
      autocomplete="current-password" />
    <${OtherWay} error=${form.error} code="auth.rate_limited" text=${t('sign_in.locked')} />
    <div class="actions"><${Submit} form=${form}>${t('sign_in')}<//></div>
  <//>`;
}

function PasskeyButton() {
  const t = useWords();
  const form = useForm({});
  if (!('PublicKeyCredential' in globalThis)) return null;
  return html`<${Form} form=${form} label=${t('sign_in.with_passkey')} on_submit=${async () => {
    const { log_in_by_passkey } = await load_part(second_step);
    await signed_in(await log_in_by_passkey());
  }}><${Submit} form=${form} kind="">${t('sign_in.with_passkey')}<//><//>`;
}

// Asks for an address, mails a code to it, takes the code.
function CodeForm({ login }) {
  const t = useWords();
  const form = useForm({ email: '' });
  const proof = useForm({ otp: '' });
  const [email, set_email] = useState('');
  const send = async ({ email: given }) => {
    await api.post('/v1/auth/email/otp/send', { email: given.trim() }, { is_open: true });
    // Errors of the other form are forgotten.
    proof.reset();
    if (email === given.trim()) toast(t('unproved.sent'));
    set_email(given.trim());
  };
  return html`<${Form} form=${form} label=${t('code.send')} on_submit=${send}>
      <${Field} form=${form} name="email" label=${t('code.email')} type="email"
        autocomplete="email" required
        takes_focus />
      <div class="actions"><${Submit} form=${form} kind=${email ? '' : 'main'}>
        ${email ? t('code.again') : t('code.send')}<//></div>
    <//>
    ${
      email &&
      html`<p role="status">${t('code.sent', { email })}</p>
      <${Form} form=${proof} label=${t('sign_in.with_code')} on_submit=${({ otp }) =>
        login.log_in(() =>
          api.post(
            '/v1/auth/email/otp/verify',
            { email, otp: without_spaces(otp) },
            { is_open: true },
          ),
        )}>
        <${Field} form=${proof} name="otp" label=${t('code.code')} inputmode="numeric" required
          autocomplete="one-time-code" maxlength="16" takes_focus />
        <${OtherWay} error=${proof.error} code="auth.otp_rate_limited"
          text=${t('sign_in.code_locked')} />
        <div class="actions"><${Submit} form=${proof}>${t('sign_in')}<//></div>
      <//>`
    }`;
}

const ways = { password: PasswordForm, code: CodeForm, company: CompanyForm };

export function SignIn() {
  const t = useWords();
  const [way, set_way] = useState('password');
  const login = useLogin(signed_in);
  if (login.waiting) {
    return html`<div class="narrow"><h1>${t('sign_in.step')}</h1><${Step} login=${login} /></div>`;
  }
  return html`<div class="narrow"><h1>${t('sign_in')}</h1><${CaptchaNote} />
    <${StepOver} login=${login} />
    <${ways[way]} login=${login} />
    <${PasskeyButton} />
    <${SsoButtons} />
    <ul class="links">
      ${Object.keys(ways)
        .filter((other) => other !== way)
        .map(
          (other) => html`<li key=${other}><button type="button" class="link"
            onClick=${() => set_way(other)}>${t(`sign_in.with_${other}`)}</button></li>`,
        )}
      <li><a href="#/forgot">${t('sign_in.forgot')}</a></li>
      <li><a href="#/register">${t('sign_in.register')}</a></li>
    </ul></div>`;
}

// Where identity providers lead back to, unless a session began.
export const SignInAfter = ({ query }) =>
  html`<${SsoLanding} query=${query} sign_in=${SignIn} second_step=${SecondStep} />`;

// A mailed code signs in, and lets one set a password without the old one for ten minutes.
export function Forgot() {
  const t = useWords();
  const [is_in, set_in] = useState(false);
  const form = useForm({ new_password: '' });
  const login = useLogin(async (token) => {
    await signed_in(token);
    set_in(true);
  });
  if (login.waiting && !is_in) {
    return html`<div class="narrow"><h1>${t('sign_in.step')}</h1><${Step} login=${login} /></div>`;
  }
  return html`<div class="narrow"><h1>${t('forgot.title')}</h1><p>${t('forgot.text')}</p>
    <${StepOver} login=${login} />
    ${
      !is_in &&
      html`<${CaptchaNote} /><${CodeForm} login=${login} />
        <ul class="links"><li><a href="#/">${t('sign_in.has_account')}</a></li></ul>`
    }
    ${
      is_in &&
      html`<${Form} form=${form} label=${t('forgot.set')} on_submit=${async (values) => {
        await api.post('/v1/me/password', values);
        toast(t('forgot.done'));
        go(next_path(), {}, { replace: true });
      }}>
      <${Field} form=${form} name="new_password" type="password"
        label=${t('forgot.password')} takes_focus
        hint=${t('register.password_hint')} autocomplete="new-password" />
      <div class="actions"><${Submit} form=${form}>${t('forgot.set')}<//>
        <button type="button"
          onClick=${() => go(next_path(), {}, { replace: true })}>${t('forgot.skip')}</button></div>
    <//>`
    }</div>`;
}

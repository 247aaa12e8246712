// The user's own account: profile, address, password, linked accounts, invitation code, its end.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { go } from '../router.mjs';
import { forget_session, reload_session, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask } from '../ui/dialog.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import { Export } from './exports.mjs';
import { Identities } from './identities.mjs';

// The current password, for accounts without a second factor. The others prove themselves by that
// one (with_fresh_login).
function CurrentPassword({ form, me, has_factor, hint = '' }) {
  const t = useWords();
  if (has_factor) return null;
  return html`${name_for_managers(me)}
    <${Field} form=${form} name="current_password" type="password" hint=${hint}
      label=${t('account.current_password')} autocomplete="current-password" />`;
}

// Languages of mails. Another language of the account stays in the list.
const locales = [
  ['en', 'English'],
  ['zh', '中文'],
];

// Whose password it is, for programs that keep passwords.
const name_for_managers = (
  me,
) => html`<input type="text" autocomplete="username" value=${me.login} hidden
  readonly />`;

/** @param {{me: import('../types/calls').Schemas['Me']}} props */
function Profile({ me }) {
  const t = useWords();
  const form = useForm({ username: me.username, locale: me.locale, timezone: me.timezone });
  const known = locales.some(([key]) => key === me.locale)
    ? locales
    : [[me.locale, me.locale], ...locales];
  const zones = Intl.supportedValuesOf('timeZone');
  return html`<section class="panel"><h2>${t('account.profile')}</h2>
    <dl class="facts">
      <dt>${t('register.login')}</dt><dd><bdi>${me.login}</bdi></dd>
      <dt>${t('account.since')}</dt><dd>${time(me.created_at)}</dd>
      <dt>${t('account.id')}</dt><dd><code>${me.id}</code> <${Copy} text=${me.id}
        what=${t('account.id')} /></dd>
    </dl>
    <${Form} form=${form} label=${t('account.profile')} on_submit=${async (values) => {
      await api.patch('/v1/me', values);
      await reload_session();
      toast(t('saved'));
    }}>
      <${Field} form=${form} name="username" label=${t('account.username')} maxlength="64"
        dir="auto"
        autocomplete="nickname" hint=${t('account.username_hint')} />
      <${Field} form=${form} name="locale" label=${t('account.locale')} options=${known} />
      <${Field} form=${form} name="timezone" label=${t('account.timezone')} list="zones"
        hint=${t('account.timezone_hint')} />
      <datalist id="zones">
        ${['UTC', ...zones].map((zone) => html`<option value=${zone} />`)}
      </datalist>
      <div class="actions"><${Submit} form=${form}>${t('save')}<//></div>
    <//></section>`;
}

/** @param {{me: import('../types/calls').Schemas['Me'], has_factor: boolean}} props */
function Address({ me, has_factor }) {
  const t = useWords();
  const form = useForm({ email: '', current_password: '' });
  return html`<section class="panel"><h2>${t('account.email')}</h2>
    <p><bdi>${me.email}</bdi>${' '}<span class=${me.email_verified ? 'mark good' : 'mark warn'}>
      ${me.email_verified ? t('account.proved') : t('account.unproved')}</span></p>
    <${Form} form=${form} label=${t('account.email')} on_submit=${async (values) => {
      const change = {
        email: values.email.trim(),
        current_password: values.current_password || undefined,
      };
      await with_fresh_login(() => api.post('/v1/me/email', change));
      toast(t('account.email_sent', { email: values.email.trim() }));
      form.reset();
    }}>
      <${Field} form=${form} name="email" type="email" label=${t('account.new_email')}
        autocomplete="email" />
      <${CurrentPassword} form=${form} me=${me} has_factor=${has_factor}
        hint=${t('account.current_hint')} />
      <div class="actions"><${Submit} form=${form} kind="">${t('account.change_email')}<//></div>
    <//></section>`;
}

/** @param {{me: import('../types/calls').Schemas['Me'], has_factor: boolean}} props */
function Password({ me, has_factor }) {
  const t = useWords();
  const form = useForm({ current_password: '', new_password: '' });
  return html`<section class="panel"><h2>${t('account.password')}</h2>
    <${Form} form=${form} label=${t('account.password')} on_submit=${async (values) => {
      const change = {
        new_password: values.new_password,
        current_password: values.current_password || undefined,
      };
      await with_fresh_login(() => api.post('/v1/me/password', change));
      toast(t('forgot.done'));
      form.reset();
    }}>
      <${CurrentPassword} form=${form} me=${me} has_factor=${has_factor}
        hint=${t('account.current_hint')} />
      <${Field} form=${form} name="new_password" type="password" label=${t('forgot.password')}
        autocomplete="new-password" hint=${t('register.password_hint')} />
      <div class="actions"><${Submit} form=${form} kind="">${t('account.change_password')}<//></div>
    <//></section>`;
}

function InviteCode() {
  const t = useWords();
  const code = useCall('/v1/me/invite-code');
  const form = useForm({});
  if (code.error && code.error.code !== 'invite_codes.not_found') {
    return html`<${ErrorBox} error=${code.error} on_retry=${code.reload} />`;
  }
  const invitation =
    code.body && `${location.origin}${location.pathname}#/register?invite_code=${code.body.code}`;
  return html`<section class="panel"><h2>${t('account.invite')}</h2>
    <p>${t('account.invite_text')}</p>
    ${
      code.body &&
      html`<p><code>${code.body.code}</code> <${Copy} text=${code.body.code}
        what=${t('account.invite')} />${' '}<${Copy} text=${invitation}
          label=${t('account.invite_link')} /></p>
      <p class="dim">${t('account.invite_used', {
        used: code.body.use_count,
        max: code.body.max_uses,
      })}</p>`
    }
    <${Form} form=${form} label=${t('account.invite_reset')} on_submit=${async (values, key) => {
      const answer = await api.post('/v1/me/invite-code/reset', undefined, {
        idempotency_key: key,
      });
      code.set({ ...code.body, ...answer.body });
    }}><${Submit} form=${form} kind="">${t('account.invite_reset')}<//><//></section>`;
}

/** @param {{me: import('../types/calls').Schemas['Me'], has_factor: boolean}} props */
function End({ me, has_factor }) {
  const t = useWords();
  const form = useForm({ current_password: '' });
  return html`<section class="panel"><h2>${t('account.end')}</h2><p>${t('account.end_text')}</p>
    <${Form} form=${form} label=${t('account.end')} on_submit=${async (values) => {
      const agreed = await ask({
        title: t('account.end'),
        text: t('account.end_text'),
        action: t('account.end'),
        typed: me.login,
      });
      if (!agreed) return;
      const proof = { current_password: values.current_password || undefined };
      await with_fresh_login(() => api.del('/v1/me', proof));
      forget_session();
      go('/', {}, { replace: true });
      toast(t('account.ended'));
    }}>
      <${CurrentPassword} form=${form} me=${me} has_factor=${has_factor} />
      <div class="actions"><${Submit} form=${form} kind="danger">${t('account.end')}<//></div>
    <//></section>`;
}

export function Account() {
  const t = useWords();
  const { me } = useStore(session);
  const factors = useCall('/v1/me/factors');
  const has_factor = (factors.body ?? []).length > 0;
  return html`<h1>${t('account.title')}</h1>
    <p><a href="#/factors">${t('factors.title')}</a>${
      factors.body &&
      html` <span class=${has_factor ? 'mark good' : 'mark'}>${
        t(has_factor ? 'account.step_on' : 'account.step_off')
      }</span>`
    } · <a href="#/sessions">${t('sessions.title')}</a></p>
    <div class="panels">
      <div><${Profile} me=${me} key=${me.id} /><${InviteCode} /></div>
      <div><${Address} me=${me} has_factor=${has_factor} />
        <${Password} me=${me} has_factor=${has_factor} /></div>
      <div><${Identities} /><${Export} path="/v1/me/export" title=${t('export.me')}
        text=${t('export.me_text')} /></div>
      <${End} me=${me} has_factor=${has_factor} />
    </div>
    <p class="dim"><a href="licences.txt">${t('account.licences')}</a></p>`;
}

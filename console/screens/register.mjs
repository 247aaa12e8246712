// Making an account.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { language, useWords } from '../i18n.mjs';
import { go } from '../router.mjs';
import { signed_in } from '../session.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import { next_path, waiting_invitation } from './invited.mjs';
import { CaptchaNote } from './sign_in.mjs';

export function Register({ query }) {
  const t = useWords();
  const form = useForm({
    login: '',
    email: '',
    password: '',
    invite_code: query.invite_code ?? '',
  });
  const mode = useCall('/v1/auth/registration-mode', { is_open: true });
  const register = async (values) => {
    const { body } = await api.post(
      '/v1/auth/register',
      {
        ...values,
        email: values.email.trim(),
        invite_code: values.invite_code.trim() || null,
        invitation_token: waiting_invitation() || null,
        locale: language.get(),
      },
      { is_open: true },
    );
    if (body.warning) toast(body.warning);
    await signed_in(body.access_token);
    const next = next_path();
    go(next === '/' ? '/threads/new' : next, {}, { replace: true });
  };
  const is_by_invitation = mode.body?.mode === 'invite_only';
  const is_let_in = Boolean(mode.body?.invitations_register && waiting_invitation());
  const is_closed = mode.body?.mode === 'disabled' && !is_let_in;
  return html`<div class="narrow"><h1>${t('register.title')}</h1>
    <${ErrorBox} error=${mode.error} on_retry=${mode.reload} />
    ${is_closed && html`<p class="banner">${t('register.disabled')}</p>`}
    ${is_let_in && html`<p class="banner">${t('register.invited')}</p>`}
    ${
      mode.body &&
      !is_closed &&
      html`<${CaptchaNote} />
      <${Form} form=${form} label=${t('register.title')} on_submit=${register}>
        <${Field} form=${form} name="login" label=${t('register.login')}
          hint=${t('register.login_hint')}
          autocomplete="username" autocapitalize="none" spellcheck="false" autofocus />
        <${Field} form=${form} name="email" label=${t('register.email')} type="email"
          autocomplete="email" />
        <${Field} form=${form} name="password" label=${t('register.password')} type="password"
          hint=${t('register.password_hint')} autocomplete="new-password" />
        <${Field} form=${form} name="invite_code" label=${t('register.invite')} autocomplete="off"
          hint=${is_by_invitation ? t('register.invite_hint') : t('register.invite_optional')} />
        <div class="actions"><${Submit} form=${form}>${t('register.title')}<//></div>
      <//>`
    }
    <ul class="links"><li><a href="#/">${t('sign_in.has_account')}</a></li></ul></div>`;
}

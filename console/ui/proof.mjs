// The forms of the dialog that asks for a fresh login: by a second factor where the account has
// one, else by the password or a mailed code. Loaded when it opens (confirm.mjs).
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { session } from '../session.mjs';
import '../words/confirm.mjs';
import { ErrorBox } from './error.mjs';
import { FactorAnswer, secrets_of_answer } from './factor_answer.mjs';
import { Field, Form, Submit, useForm, without_spaces } from './form.mjs';
import { useCall } from './list.mjs';

const request_options = async () => (await api.post('/v1/auth/passkey:begin')).body;

function PasswordOrCode({ me, prove, needs_code }) {
  const t = useWords();
  const [has_code, set_code] = useState(false);
  const form = useForm({ password: '' });
  const sending = useForm({});
  const by_code = useForm({ otp: '' });
  const send = async () => {
    await api.post('/v1/auth/email/otp/send', { email: me.email }, { is_open: true });
    set_code(true);
  };
  return html`<p>${t(needs_code ? 'confirm.code_text' : 'confirm.text')}</p>
    ${
      !has_code &&
      !needs_code &&
      html`<${Form} form=${form} label=${t('confirm.title')} on_submit=${prove}>
        <input type="text" autocomplete="username"
          value=${me.login} hidden readonly />
        <${Field} form=${form} name="password" type="password" label=${t('sign_in.password')}
          autocomplete="current-password" takes_focus />
        <div class="actions"><${Submit} form=${form}>${t('confirm.do')}<//></div>
      <//>`
    }
    ${
      !has_code &&
      html`<${Form} form=${sending} label=${t('confirm.code')} on_submit=${send}>
        <${Submit} form=${sending} kind=${needs_code ? 'main' : 'link'}>
          ${t(needs_code ? 'confirm.send' : 'confirm.code')}<//><//>`
    }
    ${
      has_code &&
      html`<p role="status">${t('code.sent', { email: me.email })}</p>
      <${Form} form=${by_code} label=${t('confirm.title')} on_submit=${({ otp }) =>
        prove({ otp: without_spaces(otp) })}>
        <${Field} form=${by_code} name="otp" label=${t('code.code')} inputmode="numeric"
          maxlength="16"
          autocomplete="one-time-code" takes_focus />
        <div class="actions"><${Submit} form=${by_code}>${t('confirm.do')}<//></div>
      <//>`
    }`;
}

export function Proof({ answer, needs_code }) {
  const t = useWords();
  // Kept from the start, because the session may end meanwhile.
  const [me] = useState(() => session.get().me);
  const factors = useCall('/v1/me/factors');
  const prove = async (values) => {
    await api.post('/v1/auth/confirm', values, { secrets: secrets_of_answer });
    answer(true);
  };
  if (factors.error) {
    return html`<${ErrorBox} error=${factors.error} on_retry=${factors.reload} />`;
  }
  if (!factors.body) return html`<p class="dim working">${t('loading')}</p>`;
  const used_first = [...factors.body].sort((one, other) =>
    (other.last_used_at ?? '').localeCompare(one.last_used_at ?? ''),
  );
  const types = [...new Set(used_first.map(({ type }) => type))];
  if (types.length === 0) {
    return html`<${PasswordOrCode} me=${me} prove=${prove} needs_code=${needs_code} />`;
  }
  return html`<p>${t('confirm.factor_text')}</p>
    <${FactorAnswer} factors=${types} label=${t('confirm.do')} options=${request_options}
      send=${prove} />`;
}

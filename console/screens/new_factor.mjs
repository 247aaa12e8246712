// Dialogs that add an authenticator app and a passkey.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { Field, Form, Submit, useForm, without_spaces } from '../ui/form.mjs';
import { make_passkey } from '../ui/passkey.mjs';
import { QrCode } from '../ui/qr.mjs';
import '../words/factors.mjs';

const name_length_max = 64;

function NameField({ form }) {
  const t = useWords();
  return html`<${Field} form=${form} name="name" label=${t('factors.name')} dir="auto"
    hint=${t('factors.name_hint')} maxlength=${name_length_max} autocomplete="off" takes_focus />`;
}

// In fours, as people read it; programs take it without the spaces.
const in_fours = (secret) => secret.match(/.{1,4}/g).join(' ');

/**
 * @param {{made: import('../types/calls').Schemas['NewTotp'],
 *   on_added: (codes: string[]) => void}} props
 */
function FirstCode({ made, on_added }) {
  const t = useWords();
  const form = useForm({ code: '' });
  const confirm = ({ code }) =>
    with_fresh_login(async () => {
      const { body } = await api.post(
        `/v1/me/factors/totp/${made.id}:confirm`,
        { code: without_spaces(code) },
        { secrets: { code: 'HOSTLER_CODE' } },
      );
      on_added(body.recovery_codes);
    });
  return html`<p>${t('factors.scan')}</p>
    <div class="qr-and-text"><${QrCode} text=${made.otpauth_url} label=${t('factors.qr')} />
      <div><p>${t('factors.type_secret')}</p>
        <p><code class="secret">${in_fours(made.secret)}</code></p>
        <p><${Copy} text=${made.secret} what=${t('factors.secret')} />${' '}<a
          class="button small" href=${made.otpauth_url}>${t('factors.open_app')}</a></p></div></div>
    <${Form} form=${form} label=${t('factors.add_totp')} on_submit=${confirm}>
      <${Field} form=${form} name="code" label=${t('factors.code')}
        hint=${t('factors.first_code_hint')} inputmode="numeric" autocomplete="one-time-code"
        maxlength="16" takes_focus />
      <div class="actions"><${Submit} form=${form}>${t('factors.turn_on')}<//></div>
    <//>`;
}

// `is_first`: the account has no factor yet. `needs_code`: see with_fresh_login. `on_added(codes)`:
// the recovery codes that came with the first factor, else none.
export function NewApp({ is_first, needs_code, on_added, on_close }) {
  const t = useWords();
  const form = useForm({ name: t('factors.app_name') });
  const [made, set_made] = useState(null);
  const begin = (values, key) => {
    const work = async () => {
      const { body } = await api.post('/v1/me/factors/totp', values, { idempotency_key: key });
      set_made(body);
    };
    return with_fresh_login(work, { needs_code });
  };
  return html`<${Dialog} title=${t('factors.add_totp')} on_close=${on_close} is_firm=${made}>
    ${
      made
        ? html`<${FirstCode} made=${made} on_added=${on_added} />`
        : html`<p>${t('factors.totp_text')}</p>
      ${is_first && html`<p>${t('factors.first_text')}</p>`}
      <${Form} form=${form} label=${t('factors.add_totp')} on_submit=${begin}>
        <${NameField} form=${form} />
        <div class="actions"><${Submit} form=${form}>${t('factors.next')}<//></div>
      <//>`
    }
  <//>`;
}

export function NewPasskey({ is_first, needs_code, on_added, on_close }) {
  const t = useWords();
  const form = useForm({ name: t('factors.passkey') });
  const add = ({ name }) => {
    const work = async () => {
      const { body: options } = await api.post('/v1/me/factors/passkeys:begin');
      const credential = await make_passkey(options);
      const { body } = await api.post(
        '/v1/me/factors/passkeys',
        { name, credential },
        { idempotency_key: true },
      );
      on_added(body.recovery_codes ?? []);
    };
    return with_fresh_login(work, { needs_code });
  };
  return html`<${Dialog} title=${t('factors.add_passkey')} on_close=${on_close}>
    <p>${t('factors.new_passkey_text')}</p>
    ${is_first && html`<p>${t('factors.first_text')}</p>`}
    <${Form} form=${form} label=${t('factors.add_passkey')} on_submit=${add}>
      <${NameField} form=${form} />
      <div class="actions"><${Submit} form=${form}>${t('factors.add_passkey')}<//></div>
    <//>
  <//>`;
}

// Asks for a second factor: the code of an authenticator app, a passkey or a recovery code. Used by
// the second step of signing in and by the dialog of fresh logins.
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import '../words/factors.mjs';
import { Field, Form, Submit, useForm, without_spaces } from './form.mjs';
import { use_passkey } from './passkey.mjs';

// Members of an answer that "copy as curl" does not show.
export const secrets_of_answer = {
  code: 'HOSTLER_CODE',
  recovery_code: 'HOSTLER_RECOVERY_CODE',
  factor_token: 'HOSTLER_FACTOR_TOKEN',
};

function CodeAnswer({ label, send }) {
  const t = useWords();
  const form = useForm({ code: '' });
  return html`<${Form} form=${form} label=${label} on_submit=${({ code }) =>
    send({ code: without_spaces(code) })}>
    <${Field} form=${form} name="code" label=${t('factors.code')} hint=${t('factors.code_hint')}
      inputmode="numeric" autocomplete="one-time-code" maxlength="16" takes_focus />
    <div class="actions"><${Submit} form=${form}>${label}<//></div>
  <//>`;
}

function RecoveryAnswer({ label, send }) {
  const t = useWords();
  const form = useForm({ recovery_code: '' });
  return html`<${Form} form=${form} label=${label} on_submit=${({ recovery_code }) =>
    send({ recovery_code: without_spaces(recovery_code) })}>
    <${Field} form=${form} name="recovery_code" label=${t('factors.recovery')}
      hint=${t('factors.recovery_hint')} autocomplete="off" autocapitalize="none"
      spellcheck="false" maxlength="64" takes_focus />
    <div class="actions"><${Submit} form=${form}>${label}<//></div>
  <//>`;
}

function PasskeyAnswer({ options, send }) {
  const t = useWords();
  const form = useForm({});
  return html`<${Form} form=${form} label=${t('factors.use_passkey')} on_submit=${async () => {
    await send({ credential: await use_passkey(await options()) });
  }}><p>${t('factors.passkey_text')}</p>
    <div class="actions"><${Submit} form=${form}>${t('factors.use_passkey')}<//></div>
  <//>`;
}

const forms = { totp: CodeAnswer, passkey: PasskeyAnswer, recovery: RecoveryAnswer };

// `factors`: the types that the account has, the likeliest first. `label`: of the button.
// `options()`: what the browser needs for a passkey. `send(answer)` may throw.
/**
 * @param {{factors: string[], label: string, options: () => any,
 *   send: (answer: any) => Promise<void>, children?: any}} props
 */
export function FactorAnswer({ factors, label, options, send, children = null }) {
  const t = useWords();
  const [way, set_way] = useState(factors[0]);
  const others = [...factors, 'recovery'].filter((type) => type !== way);
  return html`<${forms[way]} label=${label} options=${options} send=${send} key=${way} />
    <ul class="links">${others.map(
      (type) => html`<li key=${type}><button type="button" class="link"
        onClick=${() => set_way(type)}>${t(`factors.by.${type}`)}</button></li>`,
    )}${children}</ul>`;
}

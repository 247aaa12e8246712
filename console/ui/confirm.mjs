// Actions that need a fresh login: asks for the password or an emailed code, then repeats the
// action.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { watch_screens } from '../router.mjs';
import { session } from '../session.mjs';
import { store, useStore } from '../store.mjs';
import { watch_session } from '../token.mjs';
import { Dialog } from './dialog.mjs';
import { Field, Form, Submit, useForm, without_spaces } from './form.mjs';

const asked = store(null);
let proof = null;
const withdraw = () => asked.get()?.answer(false);
watch_session((what) => what === 'out' && withdraw());
watch_screens(withdraw);

// Whether the user proved who it is. Calls meanwhile wait for the same proof.
function prove_once() {
  proof ??= new Promise((resolve) => {
    asked.set({
      answer(is_fresh) {
        proof = null;
        asked.set(null);
        resolve(is_fresh);
      },
    });
  });
  return proof;
}

// Runs `work`; where the service wants a fresh login, the user gives one and it runs again. Throws
// what `work` throws, also when the user gives none.
export async function with_fresh_login(work) {
  try {
    return await work();
  } catch (error) {
    if (error.code !== 'auth.fresh_login_required') throw error;
    if (!(await prove_once())) throw error;
    return work();
  }
}

function Proof({ answer }) {
  const t = useWords();
  const [has_code, set_code] = useState(false);
  // Kept from the start, because the session may end meanwhile.
  const [me] = useState(() => session.get().me);
  const form = useForm({ password: '' });
  const sending = useForm({});
  const by_code = useForm({ otp: '' });
  const prove = async (values) => {
    await api.post('/v1/auth/confirm', values);
    answer(true);
  };
  return html`<${Dialog} title=${t('confirm.title')} on_close=${() => answer(false)}>
    <p>${t('confirm.text')}</p>
    ${
      !has_code &&
      html`<${Form} form=${form} label=${t('confirm.title')} on_submit=${prove}>
        <input type="text" autocomplete="username"
          value=${me.login} hidden readonly />
        <${Field} form=${form} name="password" type="password" label=${t('sign_in.password')}
          autocomplete="current-password" autofocus />
        <div class="actions"><${Submit} form=${form}>${t('confirm.do')}<//></div>
      <//>
      <${Form} form=${sending} label=${t('confirm.code')} on_submit=${async () => {
        await api.post(
          '/v1/auth/email/otp/send',
          { email: me.email },
          { is_open: true },
        );
        set_code(true);
      }}><${Submit} form=${sending} kind="link">${t('confirm.code')}<//><//>`
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
    }
  <//>`;
}

export function Confirmation() {
  const question = useStore(asked);
  return question && html`<${Proof} answer=${question.answer} />`;
}

// The second step of signing in, and signing in by a passkey alone. Loaded when one of them begins.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { FactorAnswer, secrets_of_answer } from '../ui/factor_answer.mjs';
import { use_passkey } from '../ui/passkey.mjs';

// `waiting`: {factor_token, factors, challenge} of the login. `on_done(access_token)`.
// `on_over(error or null)`: the login begins again; `error` says why, if the user did not ask.
export function SecondStep({ waiting, on_done, on_over }) {
  const t = useWords();
  const { factor_token, factors, challenge } = waiting;
  const send = async (answer) => {
    try {
      const body = { factor_token, ...answer };
      const { body: begun } = await api.post('/v1/auth/factor', body, {
        is_open: true,
        secrets: secrets_of_answer,
      });
      await on_done(begun.access_token);
    } catch (error) {
      // The token is over, or its challenge, which serves once.
      const is_over = error.code === 'auth.invalid_token';
      if (!is_over && !answer.credential) throw error;
      on_over(error);
    }
  };
  return html`<p>${t('factors.second_step')}</p>
    <${FactorAnswer} factors=${factors} label=${t('sign_in')} options=${() => challenge}
      send=${send}>
      <li><button type="button" class="link" onClick=${() => on_over(null)}>
        ${t('factors.sign_in_again')}</button></li>
    <//>`;
}

// An access token.
export async function log_in_by_passkey() {
  const { body: options } = await api.post('/v1/auth/passkey:begin', undefined, { is_open: true });
  const credential = await use_passkey(options);
  const { body } = await api.post('/v1/auth/passkey', { credential }, { is_open: true });
  return body.access_token;
}

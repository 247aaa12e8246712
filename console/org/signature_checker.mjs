// "Is this signature ours?": the secret and a received message, checked in the page. Shown with the
// webhooks and with the webhook tools, whose calls are signed the same way.
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import '../words/org_webhooks.mjs';
import { check_signature } from './signature.mjs';

const marks = { good: 'good', old: 'warn', wrong: 'bad', no_secret: 'bad', no_time: 'bad' };

export function SignatureChecker() {
  const t = useWords();
  const form = useForm({ secret: '', id: '', timestamp: '', signature: '', body: '' });
  const [result, set_result] = useState('');
  const forget = () => set_result('');
  const field = { form, on_change: forget, autocomplete: 'off', spellcheck: 'false' };
  return html`<section class="panel"><h2>${t('signature.title')}</h2>
    <p class="dim">${t('signature.explain')}</p>
    <${Form} form=${form} label=${t('signature.title')}
      on_submit=${async (values) => set_result(await check_signature(values))}>
      <${Field} ...${field} name="secret" type="password" label=${t('signature.secret')}
        autocomplete="new-password" placeholder="whsec_…" />
      <${Field} ...${field} name="id" label="webhook-id" />
      <${Field} ...${field} name="timestamp" label="webhook-timestamp" inputmode="numeric" />
      <${Field} ...${field} name="signature" label="webhook-signature" placeholder="v1,…" />
      <${Field} ...${field} name="body" rows="5" label=${t('signature.body')}
        hint=${t('signature.body_hint')} />
      <div class="actions"><${Submit} form=${form} kind="">${t('signature.check')}<//>
        <span role="status">${
          result &&
          html`<span class=${`mark ${marks[result]}`}>${t(`signature.${result}`)}</span>
          ${t(`signature.why.${result}`)}`
        }</span></div>
    <//></section>`;
}

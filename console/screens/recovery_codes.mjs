// Recovery codes, in the one moment when they are seen, and the panel that makes new ones.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { session } from '../session.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { Form, Submit, useForm } from '../ui/form.mjs';
import '../words/factors.mjs';

// A text file, so that a printer or a program for passwords takes them.
function save(codes, t) {
  const { login } = session.get().me;
  const title = t('factors.codes_of', { name: login, site: location.host });
  const text = [title, '', ...codes, ''].join('\n');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = 'hostler-recovery-codes.txt';
  link.click();
  URL.revokeObjectURL(link.href);
}

/** @param {{codes: string[], on_close: () => void}} props */
export function CodesOnce({ codes, on_close }) {
  const t = useWords();
  return html`<${Dialog} title=${t('factors.codes')} on_close=${on_close} is_firm>
    <p>${t('factors.codes_text')}</p>
    <ol class="codes">${codes.map((code) => html`<li key=${code}><code>${code}</code></li>`)}</ol>
    <div class="actions"><button type="button" class="main" onClick=${on_close} autofocus>
        ${t('factors.codes_kept')}</button>
      <${Copy} text=${codes.join('\n')} label=${t('factors.copy_codes')} />
      <button type="button" class="small" onClick=${() => save(codes, t)}>
        ${t('factors.save_codes')}</button></div>
  <//>`;
}

// `on_made(codes)`.
export function RecoveryCodes({ on_made }) {
  const t = useWords();
  const form = useForm({});
  const make = async (values, key) => {
    const agreed = await ask({
      title: t('factors.new_codes'),
      text: t('factors.new_codes_text'),
      action: t('factors.new_codes'),
    });
    if (!agreed) return;
    await with_fresh_login(async () => {
      const { body } = await api.post('/v1/me/recovery-codes', undefined, {
        idempotency_key: key,
      });
      on_made(body.recovery_codes);
    });
  };
  return html`<section class="panel"><h2>${t('factors.codes')}</h2>
    <p>${t('factors.codes_about')}</p>
    <${Form} form=${form} label=${t('factors.new_codes')} on_submit=${make}>
      <div class="actions"><${Submit} form=${form} kind="">${t('factors.new_codes')}<//></div>
    <//></section>`;
}

// Asking for an export, waiting for it, and saving its file.
import { api } from '../api.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { toast_error } from '../ui/error.mjs';
import { Form, Submit, useForm } from '../ui/form.mjs';

const look_every_ms = 2000;

// The browser's way to save what a script has read: the answer needs the token, so no link serves.
async function save_file(id) {
  const answer = await api.open(`/v1/exports/${id}/content`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `hostler-${id}.ndjson.gz`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/**
 * @param {{path: '/v1/me/export' | `/v1/orgs/${string}/export`, title: string, text: string}} props
 */
export function Export({ path, title, text }) {
  const t = useWords();
  const form = useForm({});
  const [made, set_made] = useState(/** @type {any} */ (null));
  const is_shown = useRef(true);
  useEffect(() => () => void (is_shown.current = false), []);
  const look_until_ready = async (begun) => {
    let one = begun;
    while (is_shown.current && one.state === 'running') {
      set_made(one);
      await new Promise((resolve) => setTimeout(resolve, look_every_ms));
      one = (await api.get(`/v1/exports/${one.id}`)).body;
    }
    if (is_shown.current) set_made(one);
  };
  const save = async () => {
    try {
      await save_file(made.id);
    } catch (error) {
      toast_error(error);
    }
  };
  return html`<section class="panel"><h2>${title}</h2><p>${text}</p>
    <${Form} form=${form} label=${title} on_submit=${async (values, key) => {
      void values;
      const { body } = await api.post(path, undefined, { idempotency_key: key });
      look_until_ready(body).catch(toast_error);
    }}>
      <div class="actions"><${Submit} form=${form} kind="">${title}<//>
        ${
          made?.state === 'ready' &&
          html`<button type="button" class="main" onClick=${save}>${t('export.save')}</button>`
        }</div>
    <//>
    ${made && html`<p role="status" class="dim">${status_words(t, made)}</p>`}</section>`;
}

function status_words(t, made) {
  if (made.state === 'running') return t('export.running');
  if (made.state === 'failed') return made.error;
  return t('export.ready', { until: time(made.expires_at) });
}

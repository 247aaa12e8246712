// The first page of a fresh platform: provider, model, mail, registration, done.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Field, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import '../words/platform.mjs';
import { Server } from './mail.mjs';
import { number_or_none, PanelForm } from './parts.mjs';

const query = /** @type {const} */ ({ scope: 'platform' });
const modes = ['open', 'invite_only', 'disabled'];

function Step({ title, is_done, children }) {
  const t = useWords();
  return html`<div class="head"><h2>${title}</h2>
    <span class=${is_done ? 'mark good' : 'mark warn'}>
      ${t(is_done ? 'start.done_mark' : 'start.open_mark')}</span></div>${children}`;
}

function NewProvider({ on_done }) {
  const t = useWords();
  const form = useForm({ name: '', provider_kind: 'openai', base_url: '', api_key: '' });
  return html`<${PanelForm} form=${form} title=${t('start.add_provider')}
    text=${t('start.provider_text')} on_submit=${async (values, key) => {
      const given = Object.entries(values).filter(([, value]) => value.trim() !== '');
      const body = /** @type {any} */ (Object.fromEntries(given));
      await api.post('/v1/llm-providers', body, { query, idempotency_key: key });
      on_done('llm_providers.create');
    }}>
    <${Field} form=${form} name="name" label=${t('start.provider_name')} autocomplete="off"
      maxlength="200" />
    <${Field} form=${form} name="provider_kind" label=${t('start.kind')}
      options=${[
        ['openai', 'Chat Completions'],
        ['anthropic', 'Messages'],
      ]} />
    <${Field} form=${form} name="base_url" label=${t('start.base_url')} autocomplete="off"
      hint=${t('start.base_url_hint')} inputmode="url" spellcheck=${false} />
    <${Field} form=${form} name="api_key" type="password" label=${t('start.api_key')}
      hint=${t('start.api_key_hint')} autocomplete="off" />
    <div class="actions"><${Submit} form=${form}>${t('start.add_provider')}<//></div>
  <//>`;
}

function NewModel({ providers, on_done }) {
  const t = useWords();
  const form = useForm({
    provider_id: providers[0].id,
    model: '',
    context_tokens: '128000',
    input_usd_per_mtok: '',
    output_usd_per_mtok: '',
  });
  return html`<${PanelForm} form=${form} title=${t('start.add_model')}
    text=${t('start.model_text')} on_submit=${async (values, key) => {
      await api.post(
        `/v1/llm-providers/${values.provider_id}/models`,
        {
          model: values.model.trim(),
          is_default: true,
          context_tokens: number_or_none(values.context_tokens),
          input_usd_per_mtok: number_or_none(values.input_usd_per_mtok),
          output_usd_per_mtok: number_or_none(values.output_usd_per_mtok),
        },
        { query, idempotency_key: key },
      );
      on_done('llm_models.create');
    }}>
    <${Field} form=${form} name="provider_id" label=${t('start.model_of')}
      options=${providers.map((one) => [one.id, one.name])} />
    <${Field} form=${form} name="model" label=${t('start.model_name')} autocomplete="off"
      maxlength="200" spellcheck=${false} />
    <${Field} form=${form} name="context_tokens" label=${t('start.context')} inputmode="numeric" />
    <${Field} form=${form} name="input_usd_per_mtok" label=${t('start.input_price')}
      inputmode="decimal" />
    <${Field} form=${form} name="output_usd_per_mtok" label=${t('start.output_price')}
      inputmode="decimal" />
    <div class="actions"><${Submit} form=${form}>${t('start.add_model')}<//></div>
  <//>`;
}

function Registration({ setting, on_done }) {
  const t = useWords();
  const form = useForm({ value: setting.value });
  return html`<${PanelForm} form=${form} title=${t('start.registration_text')}
    on_submit=${async (values) => {
      const { value } = values;
      await api.put(`/v1/admin/settings/${setting.key}`, { value });
      on_done('settings.set');
    }}>
    <${Field} form=${form} name="value" label=${setting.key}
      options=${modes.map((mode) => [mode, t(`start.mode.${mode}`)])} />
    <div class="actions"><${Submit} form=${form}>${t('start.keep_mode')}<//></div>
  <//>`;
}

export function FirstRun() {
  const t = useWords();
  const [adds_provider, set_adds_provider] = useState(false);
  const providers = useCall('/v1/llm-providers', { query: { ...query, limit: 200 } });
  const mail = useCall('/v1/admin/email/status');
  const config = useCall('/v1/admin/email/config');
  const settings = useCall('/v1/admin/settings');
  const reload = () => [providers, mail, config, settings].forEach((call) => call.reload());
  const done = (action) => {
    set_adds_provider(false);
    reload();
    show_change({ action });
  };
  const error = providers.error ?? mail.error ?? config.error ?? settings.error;
  if (error) return html`<${ErrorBox} error=${error} on_retry=${reload} />`;
  if (!providers.body || !mail.body || !config.body || !settings.body) {
    return html`<h1>${t('platform.start')}</h1><p class="dim working">${t('loading')}</p>`;
  }
  const all = providers.body;
  const model = all.flatMap((one) => one.models).find((one) => one.is_default);
  const mode = settings.body.find((one) => one.key === 'auth.registration_mode');
  return html`<h1>${t('platform.start')}</h1><p>${t('start.text')}</p><${Changed} />
    <${Step} title=${t('start.provider')} is_done=${all.length > 0}>
      ${all.length > 0 && html`<p>${all.map((one) => html`<bdi>${one.name}</bdi> `)}</p>`}
      ${
        all.length === 0 || adds_provider
          ? html`<${NewProvider} on_done=${done} />`
          : html`<button type="button" onClick=${() => set_adds_provider(true)}>
            ${t('start.another')}</button>`
      }
    <//>
    <${Step} title=${t('start.model')} is_done=${Boolean(model)}>
      ${
        model
          ? html`<p><bdi>${model.model}</bdi></p>`
          : all.length > 0
            ? html`<${NewModel} providers=${all} on_done=${done} />`
            : html`<p class="dim">${t('start.first_provider')}</p>`
      }
    <//>
    <${Step} title=${t('start.mail')} is_done=${mail.body.configured}>
      <p>${t('start.mail_text')}</p>
      ${
        mail.body.configured
          ? html`<p>${t('mail.from')}: <bdi>${mail.body.from}</bdi>${' '}
            <a href="#/platform/mail">${t('start.to_mail')}</a></p>`
          : html`<div class="panels">
            <${Server} config=${config.body} on_done=${done} key=${JSON.stringify(config.body)} />
          </div>`
      }<//>
    <${Step} title=${t('start.registration')} is_done=${mode.source !== 'default'}>
      <${Registration} setting=${mode} on_done=${done} key=${mode.value} /><//>
    <${Step} title=${t('start.finish')} is_done=${Boolean(model)}>
      <p>${t(model ? 'start.finish_text' : 'start.wait_text')}</p>
      ${model && html`<p><a href="#/threads">${t('start.to_threads')}</a></p>`}<//>`;
}

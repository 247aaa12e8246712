// Providers of models, their models, and the prices. `?scope=platform`: for every organization.
import { all_pages, api, with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { number, usd, useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { toast_error } from '../ui/error.mjs';
import { changes_of, Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Adder, PageEnd, Table, usePages } from '../ui/list.mjs';
import '../words/org_providers.mjs';
import { Changed, show_change } from './change.mjs';
import { Health } from './health.mjs';
import { Learned } from './learned.mjs';
import { ModelTest } from './model_test.mjs';
import { ask_and_do } from './parts.mjs';
import { History, ScopeTabs, scope_of } from './scope.mjs';

const kinds = { openai: 'OpenAI (chat completions)', anthropic: 'Anthropic (messages)' };
const prices = [
  'input_usd_per_mtok',
  'output_usd_per_mtok',
  'cache_read_usd_per_mtok',
  'cache_write_usd_per_mtok',
];

// A new provider, or with `provider` that one.
function ProviderForm({ provider = null, query, on_done, on_close }) {
  const t = useWords();
  const title = t(provider ? 'providers.edit' : 'providers.new');
  const form = useForm({
    name: provider?.name ?? '',
    provider_kind: provider?.provider_kind ?? 'openai',
    base_url: provider?.base_url ?? '',
    api_key: '',
  });
  const send = (values, key) =>
    with_fresh_login(async () => {
      const body = {
        ...values,
        base_url: values.base_url || null,
        api_key: values.api_key || undefined,
      };
      const changes = provider && changes_of(body, provider);
      if (provider && !changes) return on_close();
      const { body: done } = provider
        ? await api.patch(`/v1/llm-providers/${provider.id}`, changes, { query })
        : await api.post('/v1/llm-providers', body, { query, idempotency_key: key });
      on_done(done, provider ? 'llm_providers.update' : 'llm_providers.create');
    });
  return html`<${Dialog} title=${title} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${send}>
      <${Field} form=${form} name="name" label=${t('org_ui.name')} maxlength="200" dir="auto"
        autocomplete="off" autofocus />
      <${Field} form=${form} name="provider_kind" label=${t('providers.kind')}
        options=${Object.entries(kinds)} />
      <${Field} form=${form} name="base_url" type="url" label=${t('org_ui.url')} maxlength="2048"
        hint=${t('providers.url_hint')} autocomplete="off" spellcheck="false" />
      <${Field} form=${form} name="api_key" type="password" label=${t('providers.key')}
        maxlength="1000" autocomplete="new-password" hint=${
          provider?.key_prefix ? t('providers.key_stays', { key: provider.key_prefix }) : ''
        } />
      <div class="actions"><${Submit} form=${form}>${t(provider ? 'save' : 'org_ui.add')}<//></div>
    <//><//>`;
}

// The value of a field of numbers. An empty field is left out for a new model, so that the service
// uses its default. For an existing model it is that default as a number, or a value that the
// service refuses.
const taken_for_nothing = (name) => (prices.includes(name) ? 0 : name === 'multiplier' ? 1 : '');
const number_of = (text, name, is_new) =>
  text === '' ? (is_new ? undefined : taken_for_nothing(name)) : Number(text);

function ModelForm({ provider, model = null, query, on_done, on_close }) {
  const t = useWords();
  const title = t(model ? 'providers.edit_model' : 'providers.new_model');
  const names = [...prices, 'context_tokens', 'multiplier'];
  const form = useForm({
    model: model?.model ?? '',
    is_default: model?.is_default ?? false,
    ...Object.fromEntries(names.map((name) => [name, model ? String(model[name]) : ''])),
  });
  const send = async (values, key) => {
    const body = {
      model: values.model,
      is_default: values.is_default,
      ...Object.fromEntries(
        names.map((name) => [name, number_of(values[name], name, !model)]),
      ),
    };
    const changes = model && changes_of(body, model);
    if (model && !changes) return on_close();
    const { body: done } = model
      ? await api.patch(`/v1/llm-providers/${provider.id}/models/${model.id}`, changes, { query })
      : await api.post(`/v1/llm-providers/${provider.id}/models`, body, {
          query,
          idempotency_key: key,
        });
    on_done(done, model ? 'llm_models.update' : 'llm_models.create');
  };
  return html`<${Dialog} title=${`${title}: ${provider.name}`} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${send}>
      <${Field} form=${form} name="model" label=${t('providers.model')} maxlength="200"
        hint=${t('providers.model_hint')} autocomplete="off" spellcheck="false" autofocus />
      <${Field} form=${form} name="is_default" type="checkbox" label=${t('providers.default')} />
      <div class="pairs">${names.map(
        (name) => html`<${Field} form=${form} name=${name} label=${t(`providers.${name}`)}
        type="number" step="any" min="0" inputmode="decimal" key=${name} />`,
      )}</div>
      <p class="hint">${t('providers.prices_hint')}</p>
      <div class="actions"><${Submit} form=${form}>${t(model ? 'save' : 'org_ui.add')}<//></div>
    <//><//>`;
}

function Models({ provider, query, on_open, on_change }) {
  const t = useWords();
  const remove = async (model) => {
    const is_gone = await ask_and_do({
      title: `${t('delete')}: ${model.model}`,
      text: t('providers.remove_model_text', { model: model.model }),
      action: t('delete'),
      change: { action: 'llm_models.delete', target_id: model.id },
      work: () =>
        api.del(`/v1/llm-providers/${provider.id}/models/${model.id}`, undefined, { query }),
    });
    if (is_gone) on_change();
  };
  const columns = [
    {
      title: t('providers.model'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.model}</bdi>${
        one.is_default && html` <span class="mark live">${t('providers.is_default')}</span>`
      } <${Health} health=${one.health} /><${Learned} learned=${one.learned} />`,
    },
    ...prices.map((name) => ({
      title: t(`providers.short.${name}`),
      is_number: true,
      cell: (one) => usd(one[name]),
    })),
    {
      title: t('providers.multiplier'),
      is_number: true,
      cell: (one) => `× ${number(one.multiplier)}`,
    },
    {
      title: t('providers.context_tokens'),
      is_number: true,
      cell: (one) => number(one.context_tokens),
    },
    {
      title: '',
      cell: (one) => html`<span class="row-actions"><button type="button" class="small"
        aria-label=${`${t('providers.test')}: ${one.model}`}
        onClick=${() => on_open({ provider, tested: one })}>${t('providers.test')}</button>
        <button type="button" class="small" aria-label=${`${t('org_ui.edit')}: ${one.model}`}
        onClick=${() => on_open({ provider, model: one })}>${t('org_ui.edit')}</button>
        <button type="button" class="small danger" onClick=${() => remove(one)}
        aria-label=${`${t('delete')}: ${one.model}`}>${t('delete')}</button></span>`,
    },
  ];
  const pages = { items: provider.models, has_more: false, is_loading: false, error: null };
  return html`<${Table} pages=${pages} columns=${columns} label=${provider.name}
    empty=${t('providers.no_models')} />`;
}

function Provider({ provider, scope, on_open, on_change }) {
  const t = useWords();
  const query = { scope };
  const remove = async () => {
    const is_gone = await ask_and_do({
      title: t('providers.remove'),
      text: t('providers.remove_text', {
        name: provider.name,
        models: provider.models.map((one) => one.model).join(', ') || t('none'),
      }),
      action: t('providers.remove'),
      typed: provider.models.length ? provider.name.trim() : '',
      change: { action: 'llm_providers.delete', target_id: provider.id },
      work: () => api.del(`/v1/llm-providers/${provider.id}`, undefined, { query }),
    });
    if (is_gone) on_change();
  };
  return html`<section class="provider" aria-label=${provider.name}>
    <div class="head"><h2><bdi>${provider.name}</bdi></h2>
      <span class="mark">${kinds[provider.provider_kind] ?? provider.provider_kind}</span>
      <span class="dim"><bdi>${provider.base_url}</bdi> <code>${provider.key_prefix}</code></span>
      <span class="space"></span>
      <${History} target_type="llm_provider" target_id=${provider.id} scope=${scope} />
      <span class="row-actions">
        <button type="button" class="small" onClick=${() => on_open({ provider, model: null })}
          aria-label=${`${t('providers.new_model')}: ${provider.name}`}>
          ${t('providers.new_model')}</button>
        <button type="button" class="small" onClick=${() => on_open({ edited: provider })}
          aria-label=${`${t('org_ui.edit')}: ${provider.name}`}>${t('org_ui.edit')}</button>
        <button type="button" class="small danger" onClick=${remove}
          aria-label=${`${t('providers.remove')}: ${provider.name}`}>${t('delete')}</button>
      </span></div>
    <${Models} provider=${provider} query=${query} on_open=${on_open} on_change=${on_change} />
  </section>`;
}

// "Which model does a run get that names none, and why?"
function Chosen({ chosen }) {
  const t = useWords();
  if (!chosen) return null;
  const { one } = chosen;
  return html`<p>${
    one
      ? html`${t('providers.chosen')} <bdi><strong>${one.model}</strong></bdi>, <bdi>${
          one.provider_name
        }</bdi>. <span class="dim">${t(`providers.why.${one.scope}`)}</span>`
      : html`<span class="mark warn">${t('providers.none_chosen')}</span>`
  }</p>`;
}

// The platform's models, which every organization may use and only the platform changes.
function OfPlatform({ models }) {
  const t = useWords();
  if (models.length === 0) return null;
  return html`<section class="of-platform"><h2>${t('providers.of_platform')}</h2>
    <ul>${models.map(
      (one) => html`<li key=${one.id}><bdi>${one.model}</bdi>${' '}
      <bdi class="dim">${one.provider_name}</bdi>${
        one.is_default && html` <span class="mark live">${t('providers.is_default')}</span>`
      }</li>`,
    )}</ul></section>`;
}

// {one: the default of the organization, else the platform's, models: all that the user may
// choose}; null while it is not known.
function useChosen(is_wanted) {
  const [chosen, set_chosen] = useState(null);
  const read = async () => {
    try {
      const models = await all_pages(with_query('/v1/models', { limit: 200 }));
      const defaults = models.filter((one) => one.is_default);
      const of = (scope) => defaults.find((one) => one.scope === scope);
      set_chosen({ one: of('org') ?? of('platform'), models });
    } catch (error) {
      toast_error(error);
    }
  };
  useEffect(() => {
    if (is_wanted) read();
  }, [is_wanted]);
  return { chosen: is_wanted ? chosen : null, read };
}

/** @param {{params?: any, query?: any}} props */
export function Providers({ query: asked = {} }) {
  const t = useWords();
  const scope = scope_of(asked);
  const query = { scope };
  const pages = usePages(with_query('/v1/llm-providers', query));
  const { chosen, read } = useChosen(scope === 'org');
  const models = (chosen?.models ?? []).filter((one) => one.scope === 'platform');
  const [opened, set_opened] = useState(null);
  const reload = () => {
    pages.reload();
    read();
  };
  const close = () => set_opened(null);
  const done = (made, action) => {
    close();
    reload();
    show_change({ action, target_id: made.id });
  };
  const open_new = () => set_opened({ edited: null });
  useCommands([{ id: 'new provider', keys: 'n', label: () => t('providers.new'), run: open_new }]);
  const shared = { query, on_done: done, on_close: close };
  return html`<div class="head"><h1>${t('providers.title')}</h1><${ScopeTabs} scope=${scope} />
      <span class="space"></span>
      <${Adder} pages=${pages} on_click=${open_new}>
        ${t('providers.new')}<//></div>
    <${Changed} />
    <p class="dim">${t(scope === 'org' ? 'providers.explain' : 'providers.explain_platform')}</p>
    <${Chosen} chosen=${chosen} />
    ${pages.items.map(
      (one) => html`<${Provider} provider=${one} scope=${scope} key=${one.id}
      on_open=${set_opened} on_change=${reload} />`,
    )}
    <${PageEnd} pages=${pages} empty=${{
      text: t('providers.empty'),
      action: t('providers.new'),
      on_action: open_new,
    }} />
    ${scope === 'org' && html`<${OfPlatform} models=${models} />`}
    ${
      opened &&
      'edited' in opened &&
      html`<${ProviderForm} provider=${opened.edited} ...${shared} />`
    }
    ${
      opened?.tested &&
      html`<${ModelTest} provider=${opened.provider} model=${opened.tested} query=${query}
        on_close=${close} />`
    }
    ${
      opened?.provider &&
      !opened.tested &&
      html`<${ModelForm} provider=${opened.provider} model=${opened.model} ...${shared} />`
    }`;
}

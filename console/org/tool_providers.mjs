// Providers of the built-in tools web_search and web_fetch, and why one is used. `?scope=platform`:
// the installation's own providers.
import { api, with_query } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { ErrorBox, toast_error } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import '../words/org_tool_providers.mjs';
import { Changed, show_change } from './change.mjs';
import { ask_and_do } from './parts.mjs';
import { ScopeTabs, scope_of } from './scope.mjs';

// Makers of the providers that have a wire form of their own (docs/contract-tools.md).
const makers = {
  'web_search.alpha': ['Tavily', 'https://tavily.com/'],
  'web_search.beta': ['SearXNG', 'https://docs.searxng.org/'],
  'web_fetch.gamma': ['Jina Reader', 'https://jina.ai/reader/'],
  'web_fetch.delta': ['Firecrawl', 'https://www.firecrawl.dev/'],
};

function Maker({ name }) {
  const [maker, link] = makers[name] ?? [];
  if (!maker) return html`<code>${name}</code>`;
  return html`<a href=${link} target="_blank" rel="noopener noreferrer">${maker}</a>${' '}
    <code class="dim">${name}</code>`;
}

// "Which one is used, and why?"
function Resolved({ pages }) {
  const t = useWords();
  const columns = [
    {
      title: t('tool_providers.group'),
      is_title: true,
      cell: (one) => html`${t(`tool_providers.${one.group_name}`)} <code class="dim">${
        one.group_name
      }</code>`,
    },
    {
      title: t('tool_providers.used'),
      cell: (one) =>
        html`<code>${one.provider_name ?? '—'}</code>${' '}${
          one.source !== 'none' &&
          (one.configured
            ? html`<span class="mark good">${t('tool_providers.ready')}</span>`
            : html`<span class="mark bad">${t('tool_providers.not_ready')}</span>`)
        }`,
    },
    {
      title: t('tool_providers.why'),
      is_wide: true,
      cell: (one) => t(`tool_providers.why.${one.source}`),
    },
  ];
  return html`<h2>${t('tool_providers.resolved')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('tool_providers.resolved')}
      key_of=${(one) => one.group_name} />`;
}

function Credential({ provider, query, on_close, on_done }) {
  const t = useWords();
  const key = provider.key_prefix;
  const form = useForm({ api_key: '', base_url: provider.base_url ?? '' });
  const set = (values) =>
    with_fresh_login(async () => {
      await api.put(
        `/v1/tool-providers/${provider.group_name}/${provider.provider_name}/credential`,
        { api_key: values.api_key || undefined, base_url: values.base_url || undefined },
        { query },
      );
      on_done();
    });
  return html`<${Dialog} title=${`${t('tool_providers.set_up')}: ${provider.provider_name}`}
    on_close=${on_close}>
    <${Form} form=${form} label=${t('tool_providers.set_up')} on_submit=${set}>
      <${Field} form=${form} name="api_key" type="password" label=${t('tool_providers.key')}
        maxlength="1000" autocomplete="new-password" autofocus
        hint=${key ? t('tool_providers.key_stays', { key }) : ''} />
      <${Field} form=${form} name="base_url" type="url" label=${t('org_ui.url')} maxlength="2048"
        autocomplete="off" spellcheck="false" hint=${t(
          provider.requires_base_url ? 'tool_providers.url_needed' : 'tool_providers.url_own',
        )} />
      <div class="actions"><${Submit} form=${form}>${t('save')}<//></div>
    <//><//>`;
}

function Group({ group, query, on_change }) {
  const t = useWords();
  const [opened, set_opened] = useState(null);
  const name_of = (one) => /** @type {const} */ ([one.group_name, one.provider_name]);
  const switch_to = async (one, verb) => {
    const [name, provider] = name_of(one);
    try {
      if (verb === 'activate') {
        await api.put(`/v1/tool-providers/${name}/${provider}/activate`, undefined, { query });
      } else {
        await api.put(`/v1/tool-providers/${name}/${provider}/deactivate`, undefined, { query });
      }
      on_change();
      await show_change({ action: `tool_providers.${verb}`, target_id: provider });
    } catch (error) {
      toast_error(error);
    }
  };
  const forget = async (one) => {
    const [name, provider] = name_of(one);
    const is_gone = await ask_and_do({
      title: t('tool_providers.forget'),
      text: t('tool_providers.forget_text', { provider, key: one.key_prefix }),
      action: t('tool_providers.forget'),
      change: { action: 'tool_providers.credential_deleted', target_id: provider },
      work: () =>
        api.del(`/v1/tool-providers/${name}/${provider}/credential`, undefined, { query }),
    });
    if (is_gone) on_change();
  };
  const columns = [
    {
      title: t('tool_providers.provider'),
      is_title: true,
      cell: (one) => html`<${Maker} name=${one.provider_name} />`,
    },
    {
      title: t('org_ui.state'),
      cell: (one) =>
        html`${
          one.is_active && html`<span class="mark live">${t('tool_providers.active')}</span> `
        }<span class=${`mark ${one.configured ? 'good' : one.is_active ? 'bad' : ''}`}>${t(
            one.configured ? 'tool_providers.ready' : 'tool_providers.not_ready',
          )}</span>`,
    },
    { title: t('tool_providers.key'), cell: (one) => html`<code>${one.key_prefix}</code>` },
    { title: t('org_ui.url'), is_wide: true, cell: (one) => html`<bdi>${one.base_url}</bdi>` },
    {
      title: '',
      cell: (one) => {
        const verb = one.is_active ? 'deactivate' : 'activate';
        return html`<span class="row-actions"><button type="button" class="small"
          aria-label=${`${t(`tool_providers.${verb}`)}: ${one.provider_name}`}
          disabled=${verb === 'activate' && !one.configured}
          title=${verb === 'activate' && !one.configured ? t('tool_providers.first') : ''}
          onClick=${() => switch_to(one, verb)}>${t(`tool_providers.${verb}`)}</button>
        <button type="button" class="small" onClick=${() => set_opened(one)}
          aria-label=${`${t('tool_providers.set_up')}: ${one.provider_name}`}>
          ${t('tool_providers.set_up')}</button>
        ${
          one.key_prefix &&
          html`<button type="button" class="small danger" onClick=${() => forget(one)}
          aria-label=${`${t('tool_providers.forget')}: ${one.provider_name}`}>
          ${t('tool_providers.forget')}</button>`
        }</span>`;
      },
    },
  ];
  const name = t(`tool_providers.${group.group_name}`);
  const pages = { items: group.providers, has_more: false, is_loading: false, error: null };
  return html`<h2>${name}</h2><${Table} pages=${pages} columns=${columns} label=${name}
      key_of=${(one) => one.provider_name} />
    ${
      opened &&
      html`<${Credential} provider=${opened} query=${query} on_close=${() => set_opened(null)}
      on_done=${() => {
        const target_id = opened.provider_name;
        set_opened(null);
        on_change();
        show_change({ action: 'tool_providers.credential_set', target_id });
      }} />`
    }`;
}

/** @param {{params?: any, query?: any}} props */
export function ToolProviders({ query: asked = {} }) {
  const t = useWords();
  const scope = scope_of(asked);
  const query = { scope };
  const resolved = usePages(scope === 'org' ? '/v1/tool-providers/resolved' : null);
  const listed = useCall(with_query('/v1/tool-providers', query));
  const on_change = () => {
    listed.reload();
    resolved.reload();
  };
  return html`<div class="head"><h1>${t('tool_providers.title')}</h1>
      <${ScopeTabs} scope=${scope} /></div>
    <${Changed} />
    ${scope === 'org' && html`<${Resolved} pages=${resolved} />`}
    <${ErrorBox} error=${listed.error} on_retry=${listed.reload} />
    ${!listed.body && listed.is_loading && html`<p class="dim working">${t('loading')}</p>`}
    ${listed.body?.groups.map(
      (group) => html`<${Group} group=${group} query=${query} on_change=${on_change}
      key=${group.group_name} />`,
    )}`;
}

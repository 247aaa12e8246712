// Webhook tools: what models may call of your own. Each may be tried by a run whose persona has it.
// `?scope=platform`: tools that every organization's personas may have.
import { api, with_query } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { changes_of, Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import '../words/org_tools.mjs';
import { Changed, show_change } from './change.mjs';
import { ask_and_do, object_in, SecretOnce } from './parts.mjs';
import { ScopeTabs, scope_of } from './scope.mjs';
import { SignatureChecker } from './signature_checker.mjs';
import { TryTool } from './try_tool.mjs';

const first_parameters = '{\n  "type": "object",\n  "properties": {}\n}';

function ToolForm({ tool = null, query, on_done, on_close }) {
  const t = useWords();
  const title = t(tool ? 'tools.edit' : 'tools.new');
  const form = useForm({
    name: tool?.name ?? '',
    description: tool?.description ?? '',
    url: tool?.url ?? '',
    parameters: tool ? JSON.stringify(tool.parameters, null, 2) : first_parameters,
    timeout_seconds: String(tool?.timeout_seconds ?? 30),
    is_repeatable: tool?.is_repeatable ?? false,
    is_active: tool?.is_active ?? true,
  });
  const send = async (values, key) => {
    const body = {
      ...values,
      parameters: object_in(values.parameters, 'parameters'),
      timeout_seconds: Number(values.timeout_seconds),
    };
    if (tool) {
      const changes = changes_of(body, tool);
      if (!changes) return on_close();
      const { body: done } = await api.patch(`/v1/tools/${tool.id}`, changes, { query });
      on_done(done, 'tools.update');
    } else {
      const options = { query, idempotency_key: key };
      const { body: done } = await api.post('/v1/tools', body, options);
      on_done(done, 'tools.create', done.signing_secret);
    }
  };
  const plain = { form, autocomplete: 'off', spellcheck: 'false' };
  return html`<${Dialog} title=${title} on_close=${on_close}>
    <${Form} form=${form} label=${title} on_submit=${send}>
      <${Field} ...${plain} name="name" label=${t('org_ui.name')} maxlength="64" autofocus
        hint=${t('tools.name_hint')} />
      <${Field} form=${form} name="description" label=${t('tools.description')} rows="2"
        dir="auto" hint=${t('tools.description_hint')} />
      <${Field} ...${plain} name="url" type="url" label=${t('org_ui.url')} maxlength="2048" />
      <${Field} ...${plain} name="parameters" label=${t('tools.parameters')} rows="8"
        hint=${t('tools.parameters_hint')} />
      <${Field} form=${form} name="timeout_seconds" type="number" min="1"
        label=${t('tools.timeout')} />
      <${Field} form=${form} name="is_repeatable" type="checkbox" label=${t('tools.repeatable')}
        hint=${t('tools.repeatable_hint')} />
      <${Field} form=${form} name="is_active" type="checkbox" label=${t('org_ui.active')}
        hint=${t('tools.active_hint')} />
      <div class="actions"><${Submit} form=${form}>${t(tool ? 'save' : 'org_ui.add')}<//></div>
    <//><//>`;
}

// Actions for the tool of a row.
function Actions({ tool, query, on_edit, on_try, on_secret, on_change }) {
  const t = useWords();
  const rotate = () =>
    ask_and_do({
      title: `${t('secret.rotate')}: ${tool.name}`,
      text: t('secret.rotate_text'),
      action: t('secret.rotate'),
      is_danger: false,
      change: { action: 'tools.secret_rotated', target_id: tool.id },
      work: async () => {
        const { body } = await api.post(`/v1/tools/${tool.id}/rotate-secret`, undefined, {
          query,
          idempotency_key: true,
        });
        on_secret(body.signing_secret);
      },
    });
  const remove = async () => {
    const is_gone = await ask_and_do({
      title: `${t('delete')}: ${tool.name}`,
      text: t('tools.remove_text', { name: tool.name }),
      action: t('delete'),
      change: { action: 'tools.delete', target_id: tool.id },
      work: () => api.del(`/v1/tools/${tool.id}`, undefined, { query }),
    });
    if (is_gone) on_change();
  };
  const buttons = [
    [t('tools.try'), () => on_try(tool), ''],
    [t('org_ui.edit'), () => on_edit(tool), ''],
    [t('secret.rotate'), rotate, ''],
    [t('delete'), remove, 'danger'],
  ];
  return html`<span class="row-actions">${buttons.map(
    ([label, run, kind]) => html`<button type="button" class=${`small ${kind}`} onClick=${run}
      aria-label=${`${label}: ${tool.name}`} key=${label}>${label}</button>`,
  )}</span>`;
}

function useColumns(parts) {
  const t = useWords();
  return [
    {
      title: t('org_ui.name'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<code>${one.name}</code>`,
    },
    {
      title: t('tools.description'),
      is_wide: true,
      cell: (one) => html`<bdi>${one.description}</bdi>`,
    },
    { title: t('org_ui.url'), is_wide: true, cell: (one) => html`<bdi>${one.url}</bdi>` },
    {
      title: t('tools.timeout_short'),
      is_number: true,
      cell: (one) => `${one.timeout_seconds} s`,
    },
    {
      title: t('org_ui.state'),
      cell: (one) =>
        html`${one.is_repeatable && html`<span class="mark">${t('tools.is_repeatable')}</span> `}${
          !one.is_active && html`<span class="mark warn">${t('org_ui.inactive')}</span>`
        }`,
    },
    { title: '', cell: (one) => html`<${Actions} tool=${one} ...${parts} />` },
  ];
}

/** @param {{params?: any, query?: any}} props */
export function Tools({ query: asked = {} }) {
  const t = useWords();
  const scope = scope_of(asked);
  const query = { scope };
  const pages = usePages(with_query('/v1/tools', query));
  const [opened, set_opened] = useState(null);
  const [tried, set_tried] = useState(null);
  const [secret, set_secret] = useState('');
  const open_new = () => set_opened({ tool: null });
  useCommands([{ id: 'new tool', keys: 'n', label: () => t('tools.new'), run: open_new }]);
  const columns = useColumns({
    query,
    on_edit: (tool) => set_opened({ tool }),
    on_try: set_tried,
    on_secret: set_secret,
    on_change: pages.reload,
  });
  return html`<div class="head"><h1>${t('tools.title')}</h1><${ScopeTabs} scope=${scope} />
      <span class="space"></span>
      <${Adder} pages=${pages} on_click=${open_new}>
        ${t('tools.new')}<//></div>
    <${Changed} />
    <p class="dim">${t('tools.explain')}</p>
    <${Table} pages=${pages} columns=${columns} label=${t('tools.title')} empty=${{
      text: t('tools.empty'),
      action: t('tools.new'),
      on_action: open_new,
    }} />
    ${
      tried &&
      html`<${TryTool} tool=${tried} scope=${scope} key=${tried.id}
      on_close=${() => set_tried(null)} />`
    }
    <${SignatureChecker} />
    ${
      opened &&
      html`<${ToolForm} tool=${opened.tool} query=${query} on_close=${() => set_opened(null)}
      on_done=${(done, action, made_secret = '') => {
        set_opened(null);
        set_secret(made_secret);
        pages.reload();
        show_change({ action, target_id: done.id });
      }} />`
    }
    ${secret && html`<${SecretOnce} secret=${secret} on_close=${() => set_secret('')} />`}`;
}

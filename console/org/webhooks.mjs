// Webhook endpoints: the list, one with its deliveries, and a checker of signatures.
import { api } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, go } from '../router.mjs';
import { Copy } from '../ui/copy.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { ErrorBox, toast, toast_error } from '../ui/error.mjs';
import { changes_of, Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Adder, Table, useCall, usePages } from '../ui/list.mjs';
import { Day, When } from '../ui/when.mjs';
import '../words/org_webhooks.mjs';
import { Changed, show_change } from './change.mjs';
import { ask_and_do, SecretOnce } from './parts.mjs';
import { History } from './scope.mjs';
import { SignatureChecker } from './signature_checker.mjs';

const events = [
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.waiting_for_input',
  'budget.threshold',
];

// Address and events; gives what was sent to `on_submit(body, key, before)`. `before`: what stood
// there at first, or was saved last.
function EndpointForm({ first, action, on_submit }) {
  const t = useWords();
  const form = useForm(first);
  const before = useRef(first);
  const send = async (body, key) => {
    await on_submit(body, key, before.current);
    before.current = body;
  };
  const chosen = form.values.events;
  const toggle = (event) =>
    form.set(
      'events',
      chosen.includes(event) ? chosen.filter((one) => one !== event) : [...chosen, event],
    );
  return html`<${Form} form=${form} label=${action} on_submit=${send}>
    <${Field} form=${form} name="url" type="url" label=${t('org_ui.url')} maxlength="2048"
      hint=${t('webhooks.url_hint')} autocomplete="off" spellcheck="false" />
    <fieldset><legend>${t('webhooks.events')}</legend>
      ${events.map(
        (event) => html`<label class="check" key=${event}><input type="checkbox"
        checked=${chosen.includes(event)} onChange=${() => toggle(event)} />
        <code>${event}</code></label>`,
      )}</fieldset>
    ${
      'enabled' in first &&
      html`<${Field} form=${form} name="enabled" type="checkbox" label=${t('webhooks.enabled')}
        hint=${t('webhooks.enabled_hint')} />`
    }
    <div class="actions"><${Submit} form=${form}>${action}<//></div>
  <//>`;
}

function EndpointState({ one }) {
  const t = useWords();
  return one.enabled
    ? html`<span class="mark good">${t('webhooks.on')}</span>`
    : html`<span class="mark bad">${t('webhooks.off')}</span>`;
}

export function Webhooks() {
  const t = useWords();
  const pages = usePages('/v1/webhook-endpoints');
  const [is_making, set_making] = useState(false);
  const [made, set_made] = useState(null);
  useCommands([
    { id: 'new webhook', keys: 'n', label: () => t('webhooks.new'), run: () => set_making(true) },
  ]);
  const columns = [
    {
      title: t('org_ui.url'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<a href=${address(`/webhooks/${one.id}`)}><bdi>${one.url}</bdi></a>`,
    },
    { title: t('webhooks.events'), is_wide: true, cell: (one) => one.events.join(', ') },
    { title: t('org_ui.state'), cell: (one) => html`<${EndpointState} one=${one} />` },
    {
      title: t('webhooks.made'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
  ];
  return html`<div class="head"><h1>${t('webhooks.title')}</h1><span class="space"></span>
      <${Adder} pages=${pages} on_click=${() => set_making(true)}>
        ${t('webhooks.new')}<//></div>
    <${Changed} />
    <${Table} pages=${pages} columns=${columns} label=${t('webhooks.title')} empty=${{
      text: t('webhooks.empty'),
      action: t('webhooks.new'),
      on_action: () => set_making(true),
    }} />
    <${SignatureChecker} />
    ${
      is_making &&
      html`<${Dialog} title=${t('webhooks.new')} on_close=${() => set_making(false)}>
      <${EndpointForm} first=${{ url: '', events: ['run.completed', 'run.failed'] }}
        action=${t('org_ui.add')} on_submit=${async (body, key) => {
          const options = { idempotency_key: key };
          set_made((await api.post('/v1/webhook-endpoints', body, options)).body);
          set_making(false);
          pages.reload();
        }} /><//>`
    }
    ${
      made &&
      html`<${SecretOnce} secret=${made.signing_secret} on_close=${() => {
        set_made(null);
        go(`/webhooks/${made.id}`);
        show_change({ action: 'webhooks.create', target_id: made.id });
      }} />`
    }`;
}

const look_ms = 1500;
const looks_max = 20;
// Looks again for half a minute while a delivery is pending.
function useNewTries(pages) {
  const looks = useRef(0);
  useEffect(() => {
    const is_awaited = pages.items.some((one) => one.status === 'pending' && one.attempts === 0);
    if (!is_awaited) looks.current = 0;
    if (!is_awaited || pages.is_loading || looks.current === looks_max) return undefined;
    const timer = setTimeout(() => {
      looks.current += 1;
      if (!document.hidden) pages.reload();
    }, look_ms);
    return () => clearTimeout(timer);
  }, [pages.items, pages.is_loading]);
}

const delivery_marks = { delivered: 'good', failed: 'bad', pending: 'live', cancelled: 'warn' };

function Deliveries({ endpoint, pages }) {
  const t = useWords();
  const again = async (one) => {
    try {
      await api.post(`/v1/webhook-endpoints/${endpoint.id}/deliveries/${one.id}:redeliver`);
      toast(t('webhooks.is_redelivered'));
      pages.reload();
    } catch (error) {
      toast_error(error);
    }
  };
  const columns = [
    {
      title: t('webhooks.event'),
      is_title: true,
      cell: (one) => html`<code>${one.event_type}</code>`,
    },
    {
      title: t('org_ui.state'),
      cell: (one) => html`<span class=${`mark ${delivery_marks[one.status]}`}>${t(
        `webhooks.status.${one.status}`,
      )}</span>`,
    },
    {
      title: t('webhooks.answer'),
      is_wide: true,
      cell: (one) => html`${one.last_status_code ?? ''} <bdi>${one.last_error}</bdi>`,
    },
    { title: t('webhooks.attempts'), is_number: true, cell: (one) => one.attempts },
    {
      title: t('webhooks.next'),
      is_time: true,
      cell: (one) => one.status === 'pending' && html`<${When} at=${one.next_attempt_at} />`,
    },
    {
      title: t('webhooks.made'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.created_at} />`,
    },
    {
      title: '',
      cell: (one) => html`<span class="row-actions">
        <${Copy} text=${one.id} label="webhook-id" what=${one.event_type} />
        ${
          (one.status !== 'pending' || one.attempts > 0) &&
          html`<button type="button" class="small" onClick=${() => again(one)}
          aria-label=${`${t('webhooks.redeliver')}: ${one.event_type} ${one.id}`}>
          ${t('webhooks.redeliver')}</button>`
        }</span>`,
    },
  ];
  return html`<div class="head"><h2>${t('webhooks.deliveries')}</h2><span class="space"></span>
      <button type="button" class="small" onClick=${pages.reload}>${t('webhooks.reload')}</button>
    </div>
    <${Table} pages=${pages} columns=${columns} label=${t('webhooks.deliveries')}
      empty=${t('webhooks.nothing_sent')} />`;
}

export function Webhook({ params }) {
  const t = useWords();
  const found = useCall(`/v1/webhook-endpoints/${params.endpoint_id}`);
  const pages = usePages(`/v1/webhook-endpoints/${params.endpoint_id}/deliveries`);
  useNewTries(pages);
  const [secret, set_secret] = useState('');
  const endpoint = found.body;
  if (found.error) return html`<${ErrorBox} error=${found.error} on_retry=${found.reload} />`;
  if (!endpoint) return html`<p class="dim working">${t('loading')}</p>`;
  const path = /** @type {`/v1/webhook-endpoints/${string}`} */ (
    `/v1/webhook-endpoints/${endpoint.id}`
  );
  const test = async () => {
    try {
      await api.post(`/v1/webhook-endpoints/${endpoint.id}:test`, undefined, {
        idempotency_key: true,
      });
      toast(t('webhooks.is_tested'));
      pages.reload();
    } catch (error) {
      toast_error(error);
    }
  };
  const rotate = () =>
    ask_and_do({
      title: t('secret.rotate'),
      text: t('secret.rotate_text'),
      action: t('secret.rotate'),
      is_danger: false,
      change: { action: 'webhooks.secret_rotated', target_id: endpoint.id },
      work: async () => {
        const { body } = await api.post(
          `/v1/webhook-endpoints/${endpoint.id}/rotate-secret`,
          undefined,
          { idempotency_key: true },
        );
        set_secret(body.signing_secret);
      },
    });
  const remove = async () => {
    const is_gone = await ask_and_do({
      title: t('webhooks.remove'),
      text: t('webhooks.remove_text', { url: endpoint.url }),
      action: t('webhooks.remove'),
      work: () => api.del(path),
    });
    if (!is_gone) return;
    go('/webhooks', {}, { replace: true });
    await show_change({ action: 'webhooks.delete', target_id: endpoint.id });
  };
  const { url, events: wanted, enabled } = endpoint;
  return html`<p><a href="#/webhooks">← ${t('webhooks.title')}</a></p>
    <div class="head"><h1><bdi>${url}</bdi></h1><${EndpointState} one=${endpoint} />
      <span class="space"></span>
      <${History} target_type="webhook_endpoint" target_id=${endpoint.id} />
      <button type="button" class="main" onClick=${test}>${t('webhooks.test')}</button>
      <button type="button" onClick=${rotate}>${t('secret.rotate')}</button>
      <button type="button" class="danger" onClick=${remove}>${t('webhooks.remove')}</button></div>
    <${Changed} />
    <${Deliveries} endpoint=${endpoint} pages=${pages} />
    <div class="panels"><section class="panel"><h2>${t('org_ui.edit')}</h2>
      <${EndpointForm} first=${{ url, events: wanted, enabled }} action=${t('save')}
        on_submit=${async (body, key, before) => {
          const changes = changes_of(body, before);
          if (!changes) return;
          found.set((await api.patch(path, changes)).body);
          toast(t('saved'));
          await show_change({ action: 'webhooks.update', target_id: endpoint.id });
        }} /></section>
      <${SignatureChecker} /></div>
    ${secret && html`<${SecretOnce} secret=${secret} on_close=${() => set_secret('')} />`}`;
}

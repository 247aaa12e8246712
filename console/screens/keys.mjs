// API keys: making one, which is shown once, and revoking.
import { api } from '../api.mjs';
import { ApiError } from '../error.mjs';
import { html, useRef, useState } from '../html.mjs';
import { time, useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { toast_error } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Adder, Table, usePages } from '../ui/list.mjs';
import { Day, When } from '../ui/when.mjs';
import { useCommands } from '../commands.mjs';

const day_ms = 24 * 3600 * 1000;
const lifetimes = ['', '7', '30', '90', '365'];
// A line about a permission; a permission that this console does not know has none.
function about(scope, t) {
  const key = `scope.about.${scope}`;
  const text = t(key);
  return text === key ? '' : text;
}

// Permissions that a new key has at first: it reads and writes threads and runs.
/** @type {any[]} */
const first_scopes = [
  'data.threads.read',
  'data.threads.write',
  'data.runs.read',
  'data.runs.write',
];

function NewKey({ on_made, on_close }) {
  const t = useWords();
  const { me } = useStore(session);
  const form = useForm({
    name: '',
    lifetime: '90',
    access: 'restricted',
    scopes: first_scopes.filter((scope) => me.permissions.includes(scope)),
  });
  const is_restricted = form.values.access === 'restricted';
  const { scopes } = form.values;
  const toggle = (scope) =>
    form.set(
      'scopes',
      scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope],
    );
  // When this call was first made: one that is made again must be the same.
  const begun = useRef({ key: '', at: 0 });
  const make = (values, key) => {
    const scopes = values.access === 'restricted' ? values.scopes : undefined;
    if (scopes?.length === 0) {
      throw new ApiError({ code: 'validation.error', title: t('keys_screen.no_scope') });
    }
    if (begun.current.key !== key) begun.current = { key, at: Date.now() };
    const ends_at = begun.current.at + values.lifetime * day_ms;
    const body = {
      name: values.name,
      scopes,
      expires_at: values.lifetime ? new Date(ends_at).toISOString() : null,
    };
    return with_fresh_login(async () => {
      on_made((await api.post('/v1/api-keys', body, { idempotency_key: key })).body);
    });
  };
  return html`<${Dialog} title=${t('keys_screen.new')} on_close=${on_close}>
    <${Form} form=${form} label=${t('keys_screen.new')} on_submit=${make}>
      <${Field} form=${form} name="name" label=${t('keys_screen.name')} maxlength="200"
        autocomplete="off"
        dir="auto" autofocus />
      <${Field} form=${form} name="lifetime" label=${t('keys_screen.lifetime')}
        options=${lifetimes.map((days) => [
          days,
          days ? t('keys_screen.days', { count: Number(days) }) : t('keys_screen.for_ever'),
        ])} />
      <${Field} form=${form} name="access" label=${t('keys_screen.access')}
        hint=${is_restricted ? '' : t('keys_screen.full_hint')}
        options=${['restricted', 'full'].map((one) => [one, t(`keys_screen.access.${one}`)])} />
      ${
        is_restricted &&
        html`<fieldset><legend>${t('keys_screen.scopes')}</legend>${me.permissions.map(
          (scope) => html`<label class="check" key=${scope}><input type="checkbox"
          checked=${scopes.includes(scope)} onChange=${() => toggle(scope)} />
            <span><code>${scope}</code> <span class="dim">${about(scope, t)}</span></span></label>`,
        )}</fieldset>`
      }
      <div class="actions"><${Submit} form=${form}>${t('keys_screen.make')}<//></div>
    <//>
  <//>`;
}

// The one time that the key itself is seen.
/**
 * @param {{made: import('../types/calls').Schemas['NewApiKeyAnswer'],
 *   on_close: () => void}} props
 */
function Made({ made, on_close }) {
  const t = useWords();
  return html`<${Dialog} title=${t('keys_screen.made')} on_close=${on_close} is_firm>
    <p>${t('keys_screen.made_text')}</p>
    <div class="curl"><pre tabindex="0" class="secret">${made.key}</pre>
      <${Copy} text=${made.key} what=${t('keys_screen.key')} /></div>
    <div class="actions"><button type="button" class="main" onClick=${on_close} autofocus>
      ${t('keys_screen.kept')}</button></div>
  <//>`;
}

/** @param {{one: import('../types/calls').Schemas['ApiKey']}} props */
function State({ one }) {
  const t = useWords();
  if (one.revoked_at) return html`<span class="mark bad">${t('keys_screen.revoked')}</span>`;
  if (one.expires_at && new Date(one.expires_at) < new Date()) {
    return html`<span class="mark warn">${t('keys_screen.expired')}</span>`;
  }
  return html`<span class="mark good">${t('keys_screen.alive')}</span>`;
}

export function Keys() {
  const t = useWords();
  const pages = usePages('/v1/api-keys');
  const [is_making, set_making] = useState(false);
  const [made, set_made] = useState(null);
  useCommands([
    { id: 'new key', keys: 'n', label: () => t('keys_screen.new'), run: () => set_making(true) },
  ]);
  const revoke = async (one) => {
    if (
      !(await ask({
        title: t('keys_screen.revoke'),
        text: t('keys_screen.revoke_text', { name: one.name }),
        action: t('keys_screen.revoke'),
      }))
    )
      return;
    try {
      await api.del(`/v1/api-keys/${one.id}`);
      pages.reload();
      await show_change({ action: 'api_keys.revoke', target_id: one.id });
    } catch (error) {
      toast_error(error);
    }
  };
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('keys_screen.name'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.name}</bdi>`,
    },
    { title: t('keys_screen.key'), cell: (one) => html`<code>${one.key_prefix}…</code>` },
    { title: t('keys_screen.state'), cell: (one) => html`<${State} one=${one} />` },
    {
      title: t('keys_screen.scopes'),
      cell: (one) =>
        one.scopes.length
          ? html`<span title=${one.scopes.join('\n')}>${one.scopes.length}</span>`
          : t('keys_screen.all'),
    },
    {
      title: t('keys_screen.ends'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.expires_at} none=${t('keys_screen.for_ever')} />`,
    },
    {
      title: t('keys_screen.used'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.last_used_at} none=${t('keys_screen.never')} />`,
    },
    {
      title: t('keys_screen.since'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
    {
      title: '',
      cell: (one) =>
        !one.revoked_at &&
        html`<button type="button" class="small danger"
      aria-label=${`${t('keys_screen.revoke')}: ${one.name}`} onClick=${() => revoke(one)}>
      ${t('keys_screen.revoke')}</button>`,
    },
  ];
  return html`<div class="head"><h1>${t('keys_screen.title')}</h1><span class="space"></span>
      <${Adder} pages=${pages} on_click=${() => set_making(true)}>
        ${t('keys_screen.new')}<//></div>
    <${Changed} />
    <${Table} pages=${pages} columns=${columns} label=${t('keys_screen.title')} empty=${{
      text: t('keys_screen.empty'),
      action: t('keys_screen.new'),
      on_action: () => set_making(true),
    }} />
    ${
      is_making &&
      html`<${NewKey} on_close=${() => set_making(false)} on_made=${(key) => {
        set_making(false);
        set_made(key);
        pages.reload();
        show_change({ action: 'api_keys.create', target_id: key.id });
      }} />`
    }
    ${made && html`<${Made} made=${made} on_close=${() => set_made(null)} />`}`;
}

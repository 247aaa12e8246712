// Limits of the organization: the value, its use, and where each value comes from.
import { html } from '../html.mjs';
import { bytes, date, duration, number, useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { may, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { Table, useCall, usePages } from '../ui/list.mjs';
import '../words/org_limits.mjs';
import '../words/org_shared.mjs';

// For these keys 0 means unlimited (docs/contract.md, section 6).
const unlimited_at_0 = new Set(
  [
    'api_keys',
    'llm_models',
    'mcp_servers',
    'personas',
    'platform_tool_calls_per_day',
    'stored_bytes',
    'streams',
    'tools',
    'webhook_endpoints',
  ].map((name) => `limit.${name}`),
);
const is_unlimited = (one) => unlimited_at_0.has(one.key) && Number(one.value) === 0;

// A typed value as the service takes it: "unlimited" is 0 where 0 means that.
export const limit_value = (key, text) =>
  unlimited_at_0.has(key) && /^(unlimited|不限)$/i.test(text.trim()) ? '0' : text;

// Limits may be larger than what a Number holds exactly.
function amount(key, value) {
  if (/bytes$/.test(key)) return bytes(Number(value));
  if (/seconds$/.test(key)) return duration(Number(value) * 1000);
  return number(BigInt(value));
}

// The value of a limit in words; also of the line of a plan and of an override.
/** @param {{one: {key: string, value: string, value_type: string}}} props */
export function Value({ one }) {
  const t = useWords();
  if (is_unlimited(one)) return t('limits.unlimited');
  const is_exact = one.value_type === 'integer' && /^-?\d+$/.test(one.value);
  if (is_exact) return amount(one.key, one.value);
  if (one.value_type === 'boolean') return t(one.value === 'true' ? 'yes' : 'limits.no');
  return html`<bdi>${one.value}</bdi>`;
}

// How much is used, as a bar and as text; full bars say so in a word too.
function Used({ one }) {
  const t = useWords();
  if (one.used === null || one.used === undefined) {
    return html`<span class="dim">${t('limits.not_counted')}</span>`;
  }
  if (is_unlimited(one)) return amount(one.key, one.used);
  const limit = Number(one.value);
  const share = limit > 0 ? one.used / limit : 0;
  return html`<span class="used"><meter min="0" max=${limit || 1} value=${one.used}
      high=${limit * 0.9} aria-label=${one.key}></meter>
    ${amount(one.key, one.used)}
    ${share >= 1 && html` <span class="mark bad">${t('limits.full')}</span>`}
    ${share >= 0.9 && share < 1 && html` <span class="mark warn">${t('limits.nearly')}</span>`}
  </span>`;
}

function Source({ one }) {
  const t = useWords();
  return html`<span title=${t(`limits.why.${one.source}`)}
    class=${`mark ${one.source === 'override' ? 'live' : ''}`}>${t(
      `limits.source.${one.source}`,
    )}</span>${
      one.expires_at && html` <span class="dim">${t('limits.until')} ${date(one.expires_at)}</span>`
    }`;
}

// Columns of a table of limits; the platform's screen adds to them.
export const limit_columns = (t) => [
  {
    title: t('limits.what'),
    is_title: true,
    is_wide: true,
    cell: (one) => {
      const name = t(`limits.key.${one.key}`);
      const is_known = name !== `limits.key.${one.key}`;
      return html`${is_known && html`${name} `}<code class="dim">${one.key}</code>`;
    },
  },
  { title: t('limits.value'), is_number: true, cell: (one) => html`<${Value} one=${one} />` },
  { title: t('limits.used'), cell: (one) => html`<${Used} one=${one} />` },
  { title: t('limits.from'), cell: (one) => html`<${Source} one=${one} />` },
];

// Which rows of the audit log tell who gave a value to this organization.
const given_by = { override: 'entitlements.override_set', plan: 'subscriptions.create' };

// The plan that the organization has at this time. Without it the screen says all but this.
function Plan({ org_id }) {
  const t = useWords();
  const subscriptions = useCall('/v1/subscriptions', { query: { limit: 200 } });
  // Platform administrators are given those of all.
  const current = subscriptions.body?.find(
    (one) => one.org_id === org_id && one.status === 'active',
  );
  const plan = useCall(
    /** @type {`/v1/plans/${string}`} */ (current ? `/v1/plans/${current.plan_id}` : null),
  );
  if (!plan.body || !current) return null;
  return html`<p>${t('limits.plan', { name: plan.body.display_name })}${' '}<span class="dim">
    ${date(current.current_period_start)} – ${date(current.current_period_end)}</span></p>`;
}

export function Limits() {
  const t = useWords();
  const { me } = useStore(session);
  const pages = usePages('/v1/entitlements');
  const columns = [
    ...limit_columns(t),
    may('org.audit.read') && {
      title: '',
      cell: (one) =>
        one.source in given_by &&
        html`<a href=${address('/audit', { action: given_by[one.source] })}>
          ${t('change.history')}</a>`,
    },
  ];
  return html`<div class="head"><h1>${t('limits.title')}</h1>
      <bdi class="dim">${me.org_name}</bdi></div>
    <${Plan} org_id=${me.org_id} />
    <${Table} pages=${pages} columns=${columns} label=${t('limits.title')}
      key_of=${(one) => one.key} />
    <dl class="facts">${['override', 'plan', 'setting', 'default'].map(
      (source) => html`<dt>${t(`limits.source.${source}`)}</dt>
      <dd>${t(`limits.why.${source}`)}</dd>`,
    )}</dl>`;
}

// Mail domains that the platform granted to organizations, for which their identity providers may
// speak; and the marks of an organization's provider that only the platform sets. For platform
// administrators.
import { api, with_query } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { OrgField } from '../platform/org_field.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import '../words/identity_providers.mjs';
import { show_change } from './change.mjs';
import { ask_and_do } from './parts.mjs';

function Grant({ on_done }) {
  const t = useWords();
  const form = useForm({ org_id: '', domain: '' });
  return html`<section class="panel"><h2>${t('domains.grant')}</h2>
    <p>${t('domains.grant_text')}</p>
    <${Form} form=${form} label=${t('domains.grant')} on_submit=${({ org_id, domain }, key) =>
      with_fresh_login(async () => {
        const { body } = await api.post(
          '/v1/admin/org-domains',
          { org_id: org_id.trim(), domain: domain.trim() },
          { idempotency_key: key },
        );
        form.reset();
        on_done(body);
      })}>
      <${OrgField} form=${form} />
      <${Field} form=${form} name="domain" label=${t('domains.domain')} maxlength="253"
        hint=${t('domains.hint')} autocomplete="off" spellcheck="false" />
      <div class="actions"><${Submit} form=${form}>${t('domains.grant')}<//></div>
    <//></section>`;
}

// Lists domains of the organization that is acted in, or of all.
/** @param {{scope: 'org' | 'platform'}} props */
function Granted({ scope }) {
  const t = useWords();
  const { me } = useStore(session);
  const is_all = scope === 'platform';
  const pages = usePages(
    with_query('/v1/admin/org-domains', { org_id: is_all ? undefined : me.org_id }),
  );
  const remove = async (one) => {
    const done = await ask_and_do({
      title: `${t('domains.end')}: ${one.domain}`,
      text: t('domains.end_text', { domain: one.domain }),
      action: t('domains.end'),
      work: () => api.del(`/v1/admin/org-domains/${one.id}`),
    });
    if (!done) return;
    pages.reload();
    await show_change({ action: 'org_domains.revoke', target_id: one.id });
  };
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('domains.domain'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.domain}</bdi>`,
    },
    is_all && { title: t('org'), is_wide: true, cell: (one) => html`<code>${one.org_id}</code>` },
    {
      title: t('domains.since'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
    {
      title: '',
      cell: (one) => html`<button type="button" class="small danger" onClick=${() => remove(one)}
        aria-label=${`${t('domains.end')}: ${one.domain}`}>${t('domains.end')}</button>`,
    },
  ];
  return html`<h2>${t(`domains.title.${scope}`)}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t(`domains.title.${scope}`)}
      empty=${t('domains.none')} />
    ${
      is_all &&
      html`<${Grant} on_done=${async (one) => {
        pages.reload();
        await show_change({ action: 'org_domains.grant', target_id: one.id });
      }} />`
    }`;
}

// Owners see their domains at their providers; the list is the platform's.
/** @param {{scope: 'org' | 'platform'}} props */
export function OrgDomains({ scope }) {
  const { me } = useStore(session);
  return me.platform_admin && html`<${Granted} scope=${scope} />`;
}

const mark_names = ['trust_email', 'has_second_factor'];

// The provider is named by its id, which its owners see beside it.
export function OrgMarks() {
  const t = useWords();
  const form = useForm({ provider_id: '', trust_email: '', has_second_factor: '' });
  const send = (values) =>
    with_fresh_login(async () => {
      const changes = Object.fromEntries(
        mark_names
          .filter((name) => values[name] !== '')
          .map((name) => [name, values[name] === 'yes']),
      );
      const id = values.provider_id.trim();
      const path = /** @type {`/v1/identity-providers/${string}`} */ (
        `/v1/identity-providers/${encodeURIComponent(id)}`
      );
      const { body } = await api.patch(path, changes, { query: { scope: 'platform' } });
      form.reset();
      toast(t('marks.saved', { name: body.display_name }));
      await show_change({ action: 'identity_providers.update', target_id: body.id });
    });
  const choices = [
    ['', t('marks.leave')],
    ['yes', t('yes')],
    ['no', t('marks.no')],
  ];
  return html`<section class="panel"><h2>${t('marks.title')}</h2><p>${t('marks.text')}</p>
    <${Form} form=${form} label=${t('marks.title')} on_submit=${send}>
      <${Field} form=${form} name="provider_id" label=${t('marks.id')} autocomplete="off"
        spellcheck="false" hint=${t('marks.id_hint')} />
      ${mark_names.map(
        (name) => html`<${Field} form=${form} name=${name} options=${choices} key=${name}
        label=${t(`identity.${name}`)} hint=${t(`identity.${name}_hint`)} />`,
      )}
      <div class="actions"><${Submit} form=${form}>${t('save')}<//></div>
    <//></section>`;
}

// A workspace is deleted by its owner, and restored while that is possible.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { date, useWords } from '../i18n.mjs';
import { go } from '../router.mjs';
import { reload_session, switch_org } from '../session.mjs';
import { ask } from '../ui/dialog.mjs';
import { toast, toast_error } from '../ui/error.mjs';

/** @param {{org: import('../types/calls').Schemas['Org']}} props */
export function DeleteOrg({ org }) {
  const t = useWords();
  const remove = async () => {
    const question = {
      title: t('org.delete'),
      text: t('org.delete_text', { name: org.name }),
      action: t('org.delete'),
      typed: org.slug,
    };
    if (!(await ask(question))) return;
    try {
      const { body } = await api.del(`/v1/orgs/${org.id}`, { slug: org.slug });
      await switch_org('');
      go('/organization', {}, { replace: true });
      toast(t('org.deleted', { name: org.name, day: date(body.erase_at) }));
    } catch (error) {
      toast_error(error);
    }
  };
  return html`<section class="panel"><h2>${t('org.delete')}</h2>
    <p>${t('org.delete_text', { name: org.name })}</p>
    <div class="actions"><button type="button" class="danger" onClick=${remove}>
      ${t('org.delete')}</button></div></section>`;
}

/** @param {{orgs: import('../types/calls').Schemas['Org'][]}} props */
export function DeletedOrgs({ orgs }) {
  const t = useWords();
  const deleted = orgs.filter((org) => org.erase_at !== null);
  if (deleted.length === 0) return null;
  const restore = async (org) => {
    try {
      await api.post(`/v1/orgs/${org.id}:restore`);
      await reload_session();
      toast(t('org.restored', { name: org.name }));
    } catch (error) {
      toast_error(error);
    }
  };
  return html`<section class="panel"><h2>${t('org.deleted_title')}</h2>
    <ul>${deleted.map(
      (org) => html`<li key=${org.id}><bdi>${org.name}</bdi>${' '}
        <span class="dim">${t('org.erased_on', { day: date(org.erase_at) })}</span>${' '}
        ${
          org.role === 'owner' &&
          html`<button type="button" class="small" onClick=${() => restore(org)}
            aria-label=${`${t('org.restore')}: ${org.name}`}>${t('org.restore')}</button>`
        }</li>`,
    )}</ul></section>`;
}

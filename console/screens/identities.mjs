// The links of the user's account with identity providers, and their removal. Part of the account
// page.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { ask } from '../ui/dialog.mjs';
import { ErrorBox, toast, toast_error } from '../ui/error.mjs';
import { useCall } from '../ui/list.mjs';
import { Day, When } from '../ui/when.mjs';
import '../words/identities.mjs';

export function Identities() {
  const t = useWords();
  const call = useCall('/v1/me/identities');
  const remove = async (one) => {
    const question = {
      title: t('identities.remove'),
      text: t('identities.remove_text', { name: one.display_name }),
      action: t('identities.remove'),
    };
    if (!(await ask(question))) return;
    try {
      await with_fresh_login(() => api.del(`/v1/me/identities/${one.id}`));
      toast(t('identities.removed', { name: one.display_name }));
      await call.reload();
    } catch (error) {
      toast_error(error);
    }
  };
  return html`<section class="panel"><h2>${t('identities.title')}</h2>
    <p>${t('identities.about')}</p>
    <${ErrorBox} error=${call.error} on_retry=${call.reload} />
    ${call.body?.length === 0 && html`<p class="dim">${t('identities.none')}</p>`}
    ${
      call.body?.length > 0 &&
      html`<ul class="identities">${call.body.map(
        (one) => html`<li key=${one.id}><strong><bdi>${one.display_name}</bdi></strong><br />
        <bdi class="dim">${one.issuer}</bdi><br />
        <span class="dim">${t('identities.since')} <${Day} at=${one.created_at} />${
          one.last_used_at &&
          html` · ${t('identities.used')} <${When} at=${one.last_used_at} />`
        }</span>${' '}
        <button type="button" class="small danger" onClick=${() => remove(one)}
          aria-label=${`${t('identities.remove')}: ${one.display_name}`}>
          ${t('identities.remove')}</button></li>`,
      )}</ul>`
    }</section>`;
}

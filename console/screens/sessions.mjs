// Where the user is signed in.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { go } from '../router.mjs';
import { sign_out } from '../session.mjs';
import { ask } from '../ui/dialog.mjs';
import { toast, toast_error } from '../ui/error.mjs';
import { Table, usePages } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import { sign_out_here } from './sign_out.mjs';

export function Sessions() {
  const t = useWords();
  const pages = usePages('/v1/me/sessions');
  const end = async (one) => {
    if (one.current) {
      await sign_out_here();
      return;
    }
    try {
      await api.del(`/v1/me/sessions/${one.id}`);
      pages.change((items) => items.filter((item) => item.id !== one.id));
      toast(t('sessions.ended'));
    } catch (error) {
      toast_error(error);
    }
  };
  const end_all = async () => {
    if (
      !(await ask({
        title: t('sessions.end_all'),
        text: t('sessions.end_all_text'),
        action: t('sessions.end_all'),
      }))
    )
      return;
    try {
      await sign_out({ is_all: true });
      go('/', {}, { replace: true });
    } catch (error) {
      toast_error(error);
    }
  };
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('sessions.program'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.user_agent || t('none')}</bdi>
        ${one.current && html` <span class="mark live">${t('sessions.this')}</span>`}`,
    },
    {
      title: t('sessions.by'),
      cell: (one) => html`<bdi>${one.provider_key ?? t('sessions.by_us')}</bdi>`,
    },
    { title: t('sessions.address'), cell: (one) => html`<code>${one.client_ip}</code>` },
    {
      title: t('sessions.began'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.created_at} />`,
    },
    {
      title: t('sessions.seen'),
      is_time: true,
      cell: (one) => html`<${When} at=${one.last_seen_at} />`,
    },
    {
      title: '',
      cell: (one) => html`<button type="button" class="small" onClick=${() => end(one)}
        aria-label=${
          one.current ? undefined : `${t('sessions.end')}: ${one.user_agent || one.client_ip}`
        }>
      ${one.current ? t('sign_out') : t('sessions.end')}</button>`,
    },
  ];
  return html`<div class="head"><h1>${t('sessions.title')}</h1><span class="space"></span>
      <button type="button" class="danger"
        onClick=${end_all}>${t('sessions.end_all')}</button></div>
    <${Table} pages=${pages} columns=${columns} label=${t('sessions.title')} />`;
}

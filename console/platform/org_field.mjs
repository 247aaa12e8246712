// A field for the id of an organization. A user who does not know it types a login, a name or an
// email address, and chooses among the organizations of the users found.
import { api, with_query } from '../api.mjs';
import { is_abort } from '../error.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { toast_error } from '../ui/error.mjs';
import { Field } from '../ui/form.mjs';
import '../words/platform.mjs';

const pause_ms = 250;
const users_max = 5;
const is_id = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

// [{org_id, name, role, login}] of the users that `text` finds; null while nothing was asked.
function useFound(text) {
  const [found, set_found] = useState(null);
  useEffect(() => {
    if (text.length < 2 || is_id(text)) {
      set_found(null);
      return undefined;
    }
    const stop = new AbortController();
    const { signal } = stop;
    const find = async () => {
      try {
        const query = { q: text, status: /** @type {const} */ ('active'), limit: users_max };
        const { body: users } = await api.get(with_query('/v1/admin/users', query), { signal });
        const details = await Promise.all(
          users.map((user) => api.get(`/v1/admin/users/${user.id}`, { signal })),
        );
        set_found(
          details.flatMap(({ body }) => body.orgs.map((org) => ({ ...org, login: body.login }))),
        );
      } catch (error) {
        if (!is_abort(error)) toast_error(error);
      }
    };
    const timer = setTimeout(find, pause_ms);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}

// `on_choose(org_id)`: called when one of those found is chosen.
export function OrgField({ form, on_choose = (org_id) => void org_id }) {
  const t = useWords();
  const text = form.values.org_id.trim();
  const found = useFound(text);
  const choose = (event, org_id) => {
    // The list of choices goes away.
    event.currentTarget.closest('.org-field').querySelector('input').focus();
    form.set('org_id', org_id);
    on_choose(org_id);
  };
  return html`<div class="org-field"><${Field} form=${form} name="org_id"
      label=${t('platform.org_id')} hint=${t('platform.org_hint')} spellcheck=${false}
      autocomplete="off" />
    ${
      found &&
      html`<ul class="found" role="status">${found.map(
        (one) => html`<li key=${one.org_id}><button type="button" class="link"
          onClick=${(event) => choose(event, one.org_id)}><bdi>${one.name}</bdi></button>${' '}
          <span class="dim">${t(`role.${one.role}`)} <bdi>${one.login}</bdi></span></li>`,
      )}${found.length === 0 && html`<li class="dim">${t('platform.org_none')}</li>`}</ul>`
    }</div>`;
}

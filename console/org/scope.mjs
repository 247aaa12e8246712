// Whose things a screen shows: those of the organization, or (`?scope=platform`) those that the
// platform has for all, which its administrators keep.
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address, place } from '../router.mjs';
import { may, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import '../words/org_shared.mjs';

/** @returns {'org' | 'platform'} */
export const scope_of = (query) => (query.scope === 'platform' ? 'platform' : 'org');

// The query of an address for the scope; the organization's needs no word.
export const scope_query = (scope) => (scope === 'platform' ? { scope } : {});

export function ScopeTabs({ scope }) {
  const t = useWords();
  const { me } = useStore(session);
  if (!me?.platform_admin) return null;
  const { path } = place.get();
  const scopes = ['org', 'platform'];
  return html`<div role="navigation" class="choices" aria-label=${t('scope.title')}>${scopes.map(
    (each) => html`<a class="button small" key=${each}
      href=${address(path, scope_query(each))}
      aria-current=${each === scope ? 'page' : undefined}>${t(`scope.${each}`)}</a>`,
  )}</div>`;
}

// Where the audit log tells who changed this, and when.
export function History({ target_type, target_id, scope = 'org' }) {
  const t = useWords();
  if (!may('org.audit.read') && !session.get().me?.platform_admin) return null;
  return html`<a class="history" href=${address('/audit', {
    target_type,
    target_id,
    ...scope_query(scope),
  })}>${t('change.history')}</a>`;
}

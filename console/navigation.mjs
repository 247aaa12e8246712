// The navigation beside every screen: the user's own entries, then the groups of the organization
// and of the platform, which fold. Used by frame.mjs.
import { html, useEffect, useRef, useState } from './html.mjs';
import { useWords } from './i18n.mjs';
import { address } from './router.mjs';
import { navigation } from './routes.mjs';
import { may, session } from './session.mjs';
import { keep, kept_setting } from './settings.mjs';
import { store, useStore } from './store.mjs';
import { Icon } from './ui/icon.mjs';

const no_count = store(0);

export const may_in_org = ({ permission }) => !permission || may(permission);
export const shown_navigation = () => {
  const is_admin = session.get().me?.platform_admin;
  return navigation.filter((entry) =>
    is_admin ? may_in_org(entry) || entry.has_platform : may_in_org(entry) && !entry.is_platform,
  );
};
// The part of a screen that is open to the user: the organization's, or only the platform's.
export const query_of = (entry) => (may_in_org(entry) ? {} : { scope: 'platform' });
export const is_below = (path, entry) =>
  path === entry.path || (!entry.is_alone && path.startsWith(`${entry.path}/`));

function Entry({ entry, is_current }) {
  const t = useWords();
  const count = useStore(entry.count ?? no_count);
  return html`<a href=${address(entry.path, query_of(entry))}
    aria-current=${is_current ? 'page' : undefined}>
    <${Icon} name=${entry.icon} /><span>${t(entry.title)}</span>${
      count > 0 && html`<span class="count">${count}</span>`
    }</a>`;
}

// A group is open until the user folds it. It opens when a screen of it opens.
function Group({ name, entries, path }) {
  const t = useWords();
  const setting = `folded.${name}`;
  const current = entries.find((entry) => is_below(path, entry));
  const [is_folded, set_folded] = useState(() => kept_setting(setting) === 'yes');
  const fold = (value) => {
    keep(setting, value ? 'yes' : null);
    set_folded(value);
  };
  useEffect(() => {
    if (current && is_folded) fold(false);
  }, [current]);
  return html`<section>
    <h2><button type="button" class="quiet fold" aria-expanded=${is_folded ? 'false' : 'true'}
      onClick=${(event) => {
        event.stopPropagation();
        fold(!is_folded);
      }}><span>${t(name)}</span><${Icon} name="fold" /></button></h2>
    ${
      !is_folded &&
      entries.map(
        (entry) => html`<${Entry} entry=${entry} key=${entry.path}
        is_current=${entry === current} />`,
      )
    }</section>`;
}

export function Navigation({ path, on_choose }) {
  const t = useWords();
  useStore(session);
  const list = useRef(null);
  // Administrators have a long list: scroll to the entry of the open screen.
  useEffect(() => {
    list.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [path]);
  const entries = shown_navigation();
  const groups = [...new Set(entries.map(({ group }) => group).filter(Boolean))];
  return html`<nav id="navigation" aria-label=${t('navigation')} ref=${list}
    onClick=${(event) => event.target.closest('a') && on_choose()}>
    ${entries
      .filter(({ group }) => !group)
      .map(
        (entry) => html`<${Entry} entry=${entry} key=${entry.path}
        is_current=${is_below(path, entry)} />`,
      )}
    ${groups.map(
      (name) => html`<${Group} name=${name} key=${name} path=${path}
      entries=${entries.filter(({ group }) => group === name)} />`,
    )}
  </nav>`;
}

// The frame around every screen: header, navigation, notices.
import { AccountMenu, Switches } from './account_menu.mjs';
import { acting_org, busy } from './api.mjs';
import { useCommands, palette_is_open } from './commands.mjs';
import { html, useEffect, useErrorBoundary, useRef, useState } from './html.mjs';
import { languages, set_language, useWords } from './i18n.mjs';
import { lazy } from './lazy.mjs';
import { is_below, may_in_org, Navigation, query_of, shown_navigation } from './navigation.mjs';
import { Palettes } from './palette.mjs';
import { go, place } from './router.mjs';
import { navigation } from './routes.mjs';
import { SignIn } from './screens/sign_in.mjs';
import { ProofFirst, Unproved } from './screens/unproved.mjs';
import { session, start_session, switch_org } from './session.mjs';
import { sign_out_here } from './screens/sign_out.mjs';
import { set_theme, theme, themes } from './settings.mjs';
import { useStore } from './store.mjs';
import { Confirmation } from './ui/confirm.mjs';
import { Curl } from './ui/curl.mjs';
import { ErrorBox, toast, Toasts } from './ui/error.mjs';
import { Icon } from './ui/icon.mjs';
import { Questions } from './ui/dialog.mjs';

const FactorFirst = lazy(() => import('./screens/factors.mjs'), 'FactorFirst');

const next_theme = () => set_theme(themes[(themes.indexOf(theme.get()) + 1) % themes.length]);

// A thing that the address names by its id belongs to the organization that is left: of the other
// one the list of such things is opened.
const names_thing = /\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
function leave_thing() {
  const { path, query } = place.get();
  const entry = navigation.find((each) => is_below(path, each));
  const is_of_org = entry && !entry.is_platform && query.scope !== 'platform';
  if (is_of_org && names_thing.test(path)) go(entry.path, {}, { replace: true });
}
function move_to_org(id) {
  const moved = switch_org(id);
  leave_thing();
  return moved;
}

function OrgSwitch({ me, orgs }) {
  const t = useWords();
  const alive = orgs.filter((org) => org.erase_at === null);
  if (alive.length < 2)
    return html`<span class="org" title=${t('org')}><bdi>${me.org_name}</bdi></span>`;
  return html`<select class="org" aria-label=${t('org')} value=${me.org_id}
    onChange=${(event) => move_to_org(event.currentTarget.value)}>${alive.map(
      (org) => html`
      <option value=${org.id} selected=${org.id === me.org_id}>${org.name}</option>`,
    )}</select>`;
}

// Screens of the account menu, which have keys like those of the navigation.
const own_screens = [
  ['/account', 'g a', 'account.title'],
  ['/factors', 'g y', 'factors.title'],
  ['/sessions', 'g s', 'sessions.title'],
];

// The commands that are there on every screen.
function FrameCommands() {
  const { me, orgs } = useStore(session);
  const t = useWords();
  useCommands(
    [
      ...shown_navigation().map((entry) => ({
        id: `go ${entry.path}`,
        keys: entry.keys ?? '',
        label: () => t(entry.title),
        run: () => go(entry.path, query_of(entry)),
      })),
      ...own_screens.map(([path, keys, title]) => ({
        id: `go ${path}`,
        keys,
        label: () => t(title),
        run: () => go(path),
      })),
      ...orgs
        .filter((org) => org.id !== me.org_id && org.erase_at === null)
        .map((org) => ({
          id: `org ${org.id}`,
          keys: '',
          label: () => t('org.switch', { name: org.name }),
          run: () => move_to_org(org.id),
        })),
      { id: 'theme', keys: '', label: () => t('theme.next'), run: next_theme },
      ...Object.entries(languages).map(([key, name]) => ({
        id: `language ${key}`,
        keys: '',
        label: () => `${t('language')}: ${name}`,
        run: () => set_language(key),
      })),
      { id: 'sign out', keys: '', label: () => t('sign_out'), run: sign_out_here },
    ],
    [me, orgs],
  );
  return null;
}

// `has_navigation`: there is something that the menu opens, and the palette finds.
function Header({ on_menu, is_open, has_navigation }) {
  const t = useWords();
  const { state, me, orgs } = useStore(session);
  const is_in = state === 'in';
  return html`<header class="top">
    ${
      has_navigation &&
      html`<button type="button" class="quiet menu" aria-expanded=${is_open ? 'true' : 'false'}
      aria-controls="navigation" onClick=${on_menu} aria-label=${t('menu')}>
      <${Icon} name="menu" /></button>`
    }
    <a class="brand" href="#/">Hostler</a>
    ${is_in && html`<${OrgSwitch} me=${me} orgs=${orgs} />`}
    <span class="space"></span>
    ${
      has_navigation &&
      html`<button type="button" class="quiet find" title=${t('palette.title')}
      onClick=${() => palette_is_open.set(true)}><${Icon} name="search" />
      <span>${t('palette.find')}</span><kbd>Ctrl K</kbd></button>`
    }
    <${Curl} />
    ${has_navigation ? html`<${AccountMenu} />` : html`<${Switches} />`}
  </header>`;
}

// One screen; what breaks in it stays in it.
function Screen({ opened }) {
  const t = useWords();
  const [error, forget] = useErrorBoundary((thrown) => console.error(thrown));
  if (error) return html`<${ErrorBox} error=${error} on_retry=${forget} />`;
  if (!opened.component) {
    return html`<h1>${t('nowhere.title')}</h1><p>${t('nowhere.text')}</p>
      <p><a href="#/">${t('nowhere.home')}</a></p>`;
  }
  return html`<${opened.component} params=${opened.params} query=${opened.query} />`;
}

// Nobody knows who is signed in; or the organization does not admit them from here, and they may go
// elsewhere.
function NoWayIn({ error }) {
  const t = useWords();
  return html`<${ErrorBox} error=${error} on_retry=${start_session} />
    ${
      error.status === 403 &&
      html`<div class="actions">${
        acting_org() &&
        html`<button type="button" onClick=${() => switch_org('')}>${t('org.own')}</button>`
      }<button type="button" onClick=${sign_out_here}>${t('sign_out')}</button></div>`
    }`;
}

// Whether the user's role may see the screen of an address that they came by; an MCP server is
// there for every member, who may connect with it.
function may_see({ path, params, query }) {
  const entry = navigation.find((each) => is_below(path, each));
  const { platform_admin } = session.get().me;
  if (!entry || (!entry.is_platform && may_in_org(entry))) return true;
  if (params.server_id) return true;
  return platform_admin && (Boolean(entry.is_platform) || query.scope === 'platform');
}

function NotForRole({ opened }) {
  const t = useWords();
  return html`<h1>${t(opened.about.title)}</h1><p>${t('nowhere.not_for_role')}</p>
    <p><a href="#/">${t('nowhere.home')}</a></p>`;
}

// The content for a session in this state at this place.
function Content({ opened }) {
  const t = useWords();
  const { state, error, me, orgs, needs_factor } = useStore(session);
  if (opened.about.is_open) return html`<${Screen} opened=${opened} key=${opened.pattern} />`;
  if (state === 'starting') return html`<p class="dim working">${t('loading')}</p>`;
  if (state === 'failed') return html`<${NoWayIn} error=${error} />`;
  if (state === 'out') return html`<${SignIn} />`;
  if (needs_factor) return html`<${FactorFirst} />`;
  // Everybody has an organization. A user who sees none must verify the address first.
  if (!me.email_verified && orgs.length === 0) return html`<${ProofFirst} />`;
  if (!may_see(opened)) return html`<${NotForRole} opened=${opened} />`;
  const { screen = `${opened.pattern} ${Object.values(opened.params).join(' ')}` } = opened.about;
  return html`<${Screen} opened=${opened} key=${`${me.org_id} ${screen}`} />`;
}

export function Frame() {
  const t = useWords();
  const opened = useStore(place);
  const { state, me, orgs, needs_factor } = useStore(session);
  const is_working = useStore(busy) > 0;
  const [is_menu_open, set_menu_open] = useState(false);
  const main = useRef(null);
  const has_navigation = state === 'in' && !needs_factor && !opened.about.is_bare;
  // A new screen begins at its top, for readers of the screen too.
  const is_first = useRef(true);
  useEffect(() => {
    if (!is_first.current && !main.current.contains(document.activeElement)) main.current.focus();
    is_first.current = false;
    scrollTo(0, 0);
  }, [opened.path]);
  // A button that went to another organization is gone with its screen.
  const last = useRef(me);
  useEffect(() => {
    const { current: before } = last;
    const is_other = before && me && before.id === me.id && before.org_id !== me.org_id;
    if (is_other && document.activeElement === document.body) main.current.focus();
    const is_member = orgs.some(({ id }) => id === before?.org_id);
    if (is_other && !is_member) {
      toast(t('org.no_member', { name: before.org_name }));
      leave_thing();
    }
    last.current = me;
  }, [me?.org_id]);
  const on_key = (event) => {
    if (event.key !== 'Escape' || !is_menu_open || event.target.closest('dialog')) return;
    set_menu_open(false);
    event.currentTarget.querySelector('.menu').focus();
  };
  return html`<div onKeyDown=${on_key}
    class=${`frame${is_menu_open ? ' has-menu' : ''}${has_navigation ? '' : ' is-bare'}`}>
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      main.current.focus();
    }}>${t('skip')}</a>
    <${Header} is_open=${is_menu_open} has_navigation=${has_navigation}
      on_menu=${() => set_menu_open(!is_menu_open)} />
    <div class=${is_working ? 'progress is-working' : 'progress'} role="presentation"></div>
    ${
      has_navigation &&
      html`<${Navigation} path=${opened.path}
      on_choose=${() => set_menu_open(false)} />`
    }
    ${has_navigation && html`<${FrameCommands} />`}
    <main id="main" tabindex="-1" ref=${main}>
      ${has_navigation && !me.email_verified && html`<${Unproved} />`}
      <${Content} opened=${opened} />
    </main>
    <${Palettes} /><${Questions} /><${Confirmation} /><${Toasts} />
  </div>`;
}

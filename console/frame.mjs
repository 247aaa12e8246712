// What stands around every screen: header, navigation, notices.
import { busy } from './api.mjs';
import { useCommands, palette_is_open } from './commands.mjs';
import { html, useEffect, useErrorBoundary, useRef, useState } from './html.mjs';
import { languages, language, set_language, useWords } from './i18n.mjs';
import { Palettes } from './palette.mjs';
import { go, place } from './router.mjs';
import { navigation } from './routes.mjs';
import { SignIn } from './screens/sign_in.mjs';
import { Unproved } from './screens/unproved.mjs';
import { may, session, start_session, switch_org } from './session.mjs';
import { sign_out_here } from './screens/sign_out.mjs';
import { set_theme, theme } from './settings.mjs';
import { store, useStore } from './store.mjs';
import { Confirmation } from './ui/confirm.mjs';
import { Curl } from './ui/curl.mjs';
import { ErrorBox, Toasts } from './ui/error.mjs';
import { Questions } from './ui/dialog.mjs';

const themes = ['auto', 'light', 'dark'];
const next_theme = () => set_theme(themes[(themes.indexOf(theme.get()) + 1) % themes.length]);
const no_count = store(0);

function LanguageSwitch() {
  const t = useWords();
  return html`<select class="quiet" aria-label=${t('language')} value=${language.get()}
    onChange=${(event) => set_language(event.currentTarget.value)}>${Object.entries(languages).map(
      ([key, name]) =>
        html`<option value=${key} selected=${key === language.get()}>${name}</option>`,
    )}
  </select>`;
}

function ThemeSwitch() {
  const t = useWords();
  const chosen = useStore(theme);
  return html`<button type="button" class="quiet" onClick=${next_theme}
    title=${t('theme')}
      aria-label=${`${t('theme')}: ${t(`theme.${chosen}`)}`}>${t(`theme.${chosen}`)}</button>`;
}

function OrgSwitch({ me, orgs }) {
  const t = useWords();
  if (orgs.length < 2)
    return html`<span class="org" title=${t('org')}><bdi>${me.org_name}</bdi></span>`;
  return html`<select class="org" aria-label=${t('org')} value=${me.org_id}
    onChange=${(event) => switch_org(event.currentTarget.value)}>${orgs.map(
      (org) => html`
      <option value=${org.id} selected=${org.id === me.org_id}>${org.name}</option>`,
    )}</select>`;
}

function NavigationEntry({ entry, is_current }) {
  const t = useWords();
  const count = useStore(entry.count ?? no_count);
  return html`<a href=${`#${entry.path}`} aria-current=${is_current ? 'page' : undefined}>
    <span>${t(entry.title)}</span>${count > 0 && html`<span class="count">${count}</span>`}</a>`;
}

const shown_navigation = () =>
  navigation.filter(
    (entry) =>
      (!entry.permission || may(entry.permission)) &&
      (!entry.is_platform || session.get().me?.platform_admin),
  );
const is_below = (path, entry) =>
  path === entry.path || (!entry.is_alone && path.startsWith(`${entry.path}/`));

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
        run: () => go(entry.path),
      })),
      ...orgs
        .filter((org) => org.id !== me.org_id)
        .map((org) => ({
          id: `org ${org.id}`,
          keys: '',
          label: () => t('org.switch', { name: org.name }),
          run: () => switch_org(org.id),
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

function Header({ on_menu, is_open }) {
  const t = useWords();
  const { state, me, orgs } = useStore(session);
  const is_in = state === 'in';
  return html`<header class="top">
    ${
      is_in &&
      html`<button type="button" class="quiet menu" aria-expanded=${is_open ? 'true' : 'false'}
      aria-controls="navigation" onClick=${on_menu} aria-label=${t('menu')}>☰</button>`
    }
    <a class="brand" href="#/">Hostler</a>
    ${is_in && html`<${OrgSwitch} me=${me} orgs=${orgs} />`}
    <span class="space"></span>
    ${
      is_in &&
      html`<button type="button" class="quiet" title=${t('palette.title')}
      onClick=${() => palette_is_open.set(true)}><kbd>Ctrl K</kbd></button>`
    }
    <${Curl} />
    <span class="switches"><${LanguageSwitch} /><${ThemeSwitch} /></span>
  </header>`;
}

function Navigation({ path, on_choose }) {
  const t = useWords();
  const { me } = useStore(session);
  const list = useRef(null);
  // The list is long for who may much: the entry of the open screen is in sight.
  useEffect(() => {
    list.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [path]);
  return html`<nav id="navigation" aria-label=${t('navigation')} ref=${list}
    onClick=${(event) => event.target.closest('a, button') && on_choose()}>
    ${shown_navigation().map(
      (entry, at, all) => html`${
        entry.group && entry.group !== all[at - 1]?.group && html`<h2>${t(entry.group)}</h2>`
      }<${NavigationEntry} entry=${entry} key=${entry.path}
      is_current=${is_below(path, entry)} />`,
    )}
    <span class="space"></span>
    <span class="who" title=${me.email}><bdi>${me.username}</bdi></span>
    <button type="button" class="quiet" onClick=${sign_out_here}>${t('sign_out')}</button>
    <span class="switches"><${LanguageSwitch} /><${ThemeSwitch} /></span>
  </nav>`;
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

// What is shown for a session in this state at this place.
function Content({ opened }) {
  const t = useWords();
  const { state, error, me } = useStore(session);
  if (opened.about.is_open) return html`<${Screen} opened=${opened} key=${opened.pattern} />`;
  if (state === 'starting') return html`<p class="dim working">${t('loading')}</p>`;
  if (state === 'failed') return html`<${ErrorBox} error=${error} on_retry=${start_session} />`;
  if (state === 'out') return html`<${SignIn} />`;
  const { screen = `${opened.pattern} ${Object.values(opened.params).join(' ')}` } = opened.about;
  return html`<${Screen} opened=${opened} key=${`${me.org_id} ${screen}`} />`;
}

export function Frame() {
  const t = useWords();
  const opened = useStore(place);
  const { state, me } = useStore(session);
  const is_working = useStore(busy) > 0;
  const [is_menu_open, set_menu_open] = useState(false);
  const main = useRef(null);
  const has_navigation = state === 'in' && !opened.about.is_bare;
  // A new screen begins at its top, for readers of the screen too.
  const is_first = useRef(true);
  useEffect(() => {
    if (!is_first.current && !main.current.contains(document.activeElement)) main.current.focus();
    is_first.current = false;
    scrollTo(0, 0);
  }, [opened.path]);
  // A button that went to another organization is gone with its screen.
  const org_id = useRef(me?.org_id);
  useEffect(() => {
    const is_other = org_id.current && me && org_id.current !== me.org_id;
    if (is_other && document.activeElement === document.body) main.current.focus();
    org_id.current = me?.org_id;
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
    <${Header} is_open=${is_menu_open} on_menu=${() => set_menu_open(!is_menu_open)} />
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

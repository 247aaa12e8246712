// The menu at the avatar: account, sessions, language, theme, sign-out. Used by frame.mjs, which
// shows the two switches alone while nobody is signed in.
import { html, useEffect, useRef, useState } from './html.mjs';
import { language, languages, set_language, useWords } from './i18n.mjs';
import { sign_out_here } from './screens/sign_out.mjs';
import { session } from './session.mjs';
import { set_theme, theme, themes } from './settings.mjs';
import { useStore } from './store.mjs';
import { Icon } from './ui/icon.mjs';

function LanguageSwitch() {
  const t = useWords();
  return html`<select aria-label=${t('language')} value=${language.get()}
    onChange=${(event) => set_language(event.currentTarget.value)}>${Object.entries(languages).map(
      ([key, name]) =>
        html`<option value=${key} selected=${key === language.get()}>${name}</option>`,
    )}
  </select>`;
}

function ThemeSwitch() {
  const t = useWords();
  const chosen = useStore(theme);
  return html`<div class="choices" role="group" aria-label=${t('theme')}>${themes.map(
    (name) => html`<button type="button" class="small" key=${name}
      aria-pressed=${name === chosen ? 'true' : 'false'} onClick=${() => set_theme(name)}>
      ${t(`theme.${name}`)}</button>`,
  )}</div>`;
}

export const Switches = () =>
  html`<span class="switches"><${LanguageSwitch} /><${ThemeSwitch} /></span>`;

// The first letters of the first two words: 'AL' of 'Ada Lovelace', 'ad' of 'ada'.
function initials(name) {
  const words = name.trim().split(/\s+/u);
  const letters = words.length > 1 ? words.slice(0, 2).map((word) => [...word][0]) : [...words[0]];
  return letters.slice(0, 2).join('').toUpperCase();
}

export function AccountMenu() {
  const t = useWords();
  const { me } = useStore(session);
  const [is_open, set_open] = useState(false);
  const box = useRef(null);
  const button = useRef(null);
  const close = (has_focus = false) => {
    set_open(false);
    if (has_focus) button.current.focus();
  };
  useEffect(() => {
    if (!is_open) return undefined;
    const on_press = (event) => !box.current.contains(event.target) && close();
    addEventListener('pointerdown', on_press);
    return () => removeEventListener('pointerdown', on_press);
  }, [is_open]);
  // A choice of language or theme leaves the menu open; a way to elsewhere closes it.
  return html`<div class="account" ref=${box}
    onKeyDown=${(event) => {
      if (event.key !== 'Escape' || !is_open) return;
      event.stopPropagation();
      close(true);
    }}
    onFocusOut=${(event) =>
      event.relatedTarget && !box.current.contains(event.relatedTarget) && close()}>
    <button type="button" class="quiet" ref=${button} aria-expanded=${is_open ? 'true' : 'false'}
      aria-controls="account-menu" aria-label=${t('account.menu', { name: me.username })}
      onClick=${() => set_open(!is_open)}><span class="avatar"
        data-initials=${initials(me.username)}></span><${Icon} name="fold" /></button>
    <div id="account-menu" class="account-menu" hidden=${!is_open}>
      <p class="who"><bdi>${me.username}</bdi><bdi class="dim">${me.email}</bdi></p>
      <a href="#/account" onClick=${() => close()}><${Icon} name="account" />
        <span>${t('account.title')}</span></a>
      <a href="#/factors" onClick=${() => close()}><${Icon} name="factors" />
        <span>${t('factors.title')}</span></a>
      <a href="#/sessions" onClick=${() => close()}><${Icon} name="sessions" />
        <span>${t('sessions.title')}</span></a>
      <${Switches} />
      <button type="button" class="quiet" onClick=${sign_out_here}><${Icon} name="sign_out" />
        <span>${t('sign_out')}</span></button>
    </div></div>`;
}

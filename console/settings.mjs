// Settings that the browser keeps, never a secret. Names below `hostler.` in localStorage; where
// that is switched off they last as long as the page.
import { store } from './store.mjs';

const kept = new Map();

function read(name) {
  try {
    return localStorage.getItem(`hostler.${name}`);
  } catch {
    return kept.get(name) ?? null;
  }
}

export function keep(name, value) {
  kept.set(name, value);
  try {
    if (value === null) localStorage.removeItem(`hostler.${name}`);
    else localStorage.setItem(`hostler.${name}`, value);
  } catch {
    // Kept for this page alone.
  }
}
export const kept_setting = read;

// ------------------------------------------------ dark and light

// 'auto' follows the system.
export const themes = ['auto', 'light', 'dark'];
export const theme = store(['dark', 'light'].includes(read('theme')) ? read('theme') : 'auto');

export function set_theme(name) {
  keep('theme', name === 'auto' ? null : name);
  theme.set(name);
}

function show_theme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}
show_theme(theme.get());
theme.watch(show_theme);

// Other tabs follow.
addEventListener('storage', (event) => {
  if (event.key === 'hostler.theme') theme.set(event.newValue ?? 'auto');
});

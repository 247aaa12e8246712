// Signs that are visible from another tab: the title of the page and its icon.
import { language, t } from './i18n.mjs';
import { place } from './router.mjs';

const counts = new Map();
let own_title = '';

function show() {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const about = place.get()?.about;
  const name = own_title || (about?.title ? t(about.title) : '');
  document.title = `${total ? `(${total}) ` : ''}${name ? `${name} – ` : ''}Hostler`;
  const icon = document.getElementById('icon');
  const wanted = total ? icon.dataset.notice : icon.dataset.plain;
  if (icon.getAttribute('href') !== wanted) icon.setAttribute('href', wanted);
}

// How many things of one kind (`source`, any name) wait for the user; 0 for none. Shown as (N) in
// the title and as a mark on the icon.
export function set_notice(source, count) {
  if (count) counts.set(source, count);
  else counts.delete(source);
  show();
}

// The title of the open screen, where it has a better one than its route; '' for that one again.
export function set_title(text) {
  own_title = text;
  show();
}

export function start_notices() {
  place.watch(() => {
    own_title = '';
    show();
  });
  language.watch(show);
  show();
}

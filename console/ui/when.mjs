// Times as every screen shows them: how long ago, the day, or the exact time. What is not shown
// appears where the time is pointed at.
import { html } from '../html.mjs';
import { ago, date, time } from '../i18n.mjs';
import { store, useStore } from '../store.mjs';

// The current minute: texts like '3 minutes ago' stay true while a screen is open.
const minute = store(0);
setInterval(() => minute.set(minute.get() + 1), 60_000);

/** @typedef {{at: string | null | undefined, none?: string}} Props */

// '3 minutes ago'; `none`: the text for a time that is null.
/** @param {Props} props */
export function When({ at, none = '' }) {
  useStore(minute);
  return at ? html`<time datetime=${at} title=${time(at)}>${ago(at)}</time>` : none;
}

// '29 Nov 2026'.
/** @param {Props} props */
export function Day({ at, none = '' }) {
  return at ? html`<time datetime=${at} title=${time(at)}>${date(at)}</time>` : none;
}

// '29 Nov 2026, 15:04:05', for rows that follow each other within seconds, and for times to come.
/** @param {Props} props */
export function Exact({ at, none = '' }) {
  useStore(minute);
  return at ? html`<time datetime=${at} title=${ago(at)}>${time(at)}</time>` : none;
}

// Times in lists: how long ago, or the day. The exact time is shown where it is pointed at.
import { html } from '../html.mjs';
import { ago, date, time } from '../i18n.mjs';

// '3 minutes ago'; `none`: the text for a time that is null.
/** @param {{at: string | null | undefined, none?: string}} props */
export function When({ at, none = '' }) {
  return at ? html`<time datetime=${at} title=${time(at)}>${ago(at)}</time>` : none;
}

// '29 Nov 2026'.
/** @param {{at: string | null | undefined, none?: string}} props */
export function Day({ at, none = '' }) {
  return at ? html`<time datetime=${at} title=${time(at)}>${date(at)}</time>` : none;
}

// An icon of the sprite in index.html (icons.svg). It stands beside a word, so readers of the
// screen skip it.
import { html } from '../html.mjs';

/** @param {{name: string}} props */
export const Icon = ({ name }) =>
  html`<svg class="icon" aria-hidden="true"><use href=${`#icon-${name}`} /></svg>`;

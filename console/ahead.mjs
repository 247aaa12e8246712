// Answers that the first screen will want, asked for while it is still looked who is signed in.
import { api } from './api.mjs';
import { access_token } from './token.mjs';

const fresh_ms = 5000;
const asked = new Map(); // path -> {answer, since, token: of whom it is}

/** @typedef {import('./types/calls').Next<any>} Path */

/** @param {Path[]} paths of GETs, each in the organization that is acted in now */
export function ask_ahead(paths) {
  for (const path of paths) {
    const answer = api.get(path);
    // A failure is reported to the caller of get_ahead().
    answer.catch(() => {});
    asked.set(path, { answer, since: performance.now(), token: access_token() });
  }
}

export const forget_ahead = () => asked.clear();

// Acts like api.get(path), but gives the answer that was asked for ahead, once.
/** @type {import('./types/calls').Api['get']} */
export const get_ahead = /** @type {any} */ ((path) => {
  const found = asked.get(path);
  asked.delete(path);
  // Somebody else may have signed in meanwhile, here or in another tab.
  const is_mine = found && found.token === access_token();
  const is_fresh = is_mine && performance.now() - found.since < fresh_ms;
  return is_fresh ? found.answer : api.get(/** @type {Path} */ (path));
});

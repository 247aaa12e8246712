// Answers that the first screen will want, asked for while it is still looked who is signed in.
import { api } from './api.mjs';

const fresh_ms = 5000;
const asked = new Map(); // path -> {answer, since}

/** @typedef {import('./types/calls').Next<any>} Path */

/** @param {Path[]} paths of GETs, each in the organization that is acted in now */
export function ask_ahead(paths) {
  for (const path of paths) {
    const answer = api.get(path);
    // Nobody waits for it yet; whoever takes it is told.
    answer.catch(() => {});
    asked.set(path, { answer, since: performance.now() });
  }
}

export const forget_ahead = () => asked.clear();

// As api.get(path): with the answer that was asked for ahead, once.
/** @type {import('./types/calls').Api['get']} */
export const get_ahead = /** @type {any} */ ((path) => {
  const found = asked.get(path);
  asked.delete(path);
  const is_fresh = found && performance.now() - found.since < fresh_ms;
  return is_fresh ? found.answer : api.get(/** @type {Path} */ (path));
});

// Screens that come in a part of their own, when one of them is opened: the first page stays light.
import { ApiError } from './error.mjs';
import { html, useEffect, useState } from './html.mjs';
import { useWords } from './i18n.mjs';
import { ErrorBox } from './ui/error.mjs';

const outdated = 'console.outdated';

// Whether the service has another console than this page is of: its parts have other names then.
async function is_outdated() {
  try {
    const page = await fetch('./', { cache: 'no-store', credentials: 'same-origin' });
    const [own] = /** @type {any} */ (document.querySelector('script[src]')).src.match(/[^/]*$/);
    return page.ok && !(await page.text()).includes(own);
  } catch {
    return false;
  }
}

// The result of `load()` (a function with an import), or its error.
export async function load_part(load) {
  try {
    return await load();
  } catch (error) {
    throw (await is_outdated())
      ? new ApiError({ code: outdated, title: 'The console was renewed' })
      : error;
  }
}

// Shows the `error` of a part; `get` loads it once more.
export function PartError({ error, get }) {
  return html`<${ErrorBox} error=${error}
    on_retry=${error.code === outdated ? () => location.reload() : get} />`;
}

// A component in the place of the one that `load()` (a function with an import) has as `name`.
export function lazy(load, name) {
  let loaded = null;
  return function Lazy(props) {
    const t = useWords();
    const [state, set_state] = useState({ is_here: Boolean(loaded), error: null });
    const get = async () => {
      set_state({ is_here: false, error: null });
      try {
        loaded = (await load_part(load))[name];
        set_state({ is_here: true, error: null });
      } catch (error) {
        set_state({ is_here: false, error });
      }
    };
    useEffect(() => {
      if (!loaded) get();
    }, []);
    if (state.is_here) return html`<${loaded} ...${props} />`;
    if (state.error) return html`<${PartError} error=${state.error} get=${get} />`;
    return html`<p class="dim working">${t('loading')}</p>`;
  };
}

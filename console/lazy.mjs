// Screens that come in a part of their own, when one of them is opened: the first page stays light.
import { html, useEffect, useState } from './html.mjs';
import { useWords } from './i18n.mjs';
import { ErrorBox } from './ui/error.mjs';

// A component in the place of the one that `load()` (a function with an import) has as `name`.
export function lazy(load, name) {
  let loaded = null;
  return function Lazy(props) {
    const t = useWords();
    const [state, set_state] = useState({ is_here: Boolean(loaded), error: null });
    const get = async () => {
      set_state({ is_here: false, error: null });
      try {
        loaded = (await load())[name];
        set_state({ is_here: true, error: null });
      } catch (error) {
        set_state({ is_here: false, error });
      }
    };
    useEffect(() => {
      if (!loaded) get();
    }, []);
    if (state.is_here) return html`<${loaded} ...${props} />`;
    if (state.error) return html`<${ErrorBox} error=${state.error} on_retry=${get} />`;
    return html`<p class="dim working">${t('loading')}</p>`;
  };
}

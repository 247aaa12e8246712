// Dialogs: the browser's own, which keep the focus inside and close with Escape.
import { html, useLayoutEffect, useId, useRef } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { watch_screens } from '../router.mjs';
import { store, useStore } from '../store.mjs';
import { watch_session } from '../token.mjs';
import { Closing, Field, Form, useForm } from './form.mjs';
import { Icon } from './icon.mjs';

// `on_close` is called when the user closes it; the caller removes it then. A click beside it
// closes it too, unless something was typed into a form in it, or it shows what is seen once
// (`is_firm`).
export function Dialog({ title, on_close, children, is_wide = false, is_firm = false }) {
  const t = useWords();
  const id = useId();
  const dialog = useRef(null);
  const is_typed = useRef(false);
  const is_shown = useRef(false);
  useLayoutEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const box = dialog.current;
    box.showModal();
    is_shown.current = true;
    return () => {
      is_shown.current = false;
      // While it is open, the page below takes no focus.
      box.close();
      (before?.isConnected ? before : document.getElementById('main'))?.focus();
    };
  }, []);
  // The browser closes one in which nothing was done yet of itself.
  const on_closed = () => is_shown.current && on_close();
  const on_beside = (event) => {
    if (event.target === dialog.current && !is_firm && !is_typed.current) on_close();
  };
  const on_input = (event) => {
    if (event.target.form) is_typed.current = true;
  };
  return html`<dialog ref=${dialog} class=${is_wide ? 'wide' : ''} aria-labelledby=${id}
    onCancel=${(event) => {
      event.preventDefault();
      on_close();
    }} onClose=${on_closed} onMouseDown=${on_beside} onInput=${on_input}>
    <header><h2 id=${id}>${title}</h2>
      <button type="button" class="small quiet" aria-label=${t('close')}
        onClick=${on_close}><${Icon} name="close" /></button>
    </header>
    <${Closing.Provider} value=${on_close}><div class="dialog-body">${children}</div><//>
  </dialog>`;
}

// ------------------------------------------------ questions

const asked = store(null);
const withdraw = () => asked.get()?.answer(false);
// Nobody is there any more to be asked, or what it was about is out of sight.
watch_session((what) => what === 'out' && withdraw());
watch_screens(withdraw);

// Asks before something that cannot be undone; gives whether the user agreed. `typed`: a text that
// has to be typed first.
export function ask({ title, text, action, is_danger = true, typed = '' }) {
  return new Promise((resolve) => {
    // Two at once: who asked first waits no longer.
    withdraw();
    asked.set({
      title,
      text,
      action,
      is_danger,
      typed,
      answer(value) {
        asked.set(null);
        resolve(value);
      },
    });
  });
}

function Question({ question }) {
  const t = useWords();
  const form = useForm({ typed: '' });
  const { title, text, action, is_danger, typed, answer } = question;
  const is_ready = !typed || form.values.typed === typed;
  return html`<${Dialog} title=${title} on_close=${() => answer(false)}>
    <${Form} form=${form} on_submit=${() => is_ready && answer(true)}>
      <p>${text}</p>
      ${
        typed &&
        html`<${Field} form=${form} name="typed" label=${t('ask.type', { typed })}
        autocomplete="off" autofocus />`
      }
      <div class="actions">
        <button class=${is_danger ? 'danger' : 'main'} disabled=${!is_ready}>${action}</button>
        <button type="button" onClick=${() => answer(false)}>${t('cancel')}</button>
      </div>
    <//>
  <//>`;
}

export function Questions() {
  const question = useStore(asked);
  return question && html`<${Question} question=${question} />`;
}

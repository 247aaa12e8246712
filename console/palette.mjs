// The palette: every screen and every command by a few letters of its name; and the list of keys.
import { commands, keys_are_shown, palette_is_open } from './commands.mjs';
import { html, useEffect, useRef, useState } from './html.mjs';
import { useWords } from './i18n.mjs';
import { useStore } from './store.mjs';
import { Dialog } from './ui/dialog.mjs';

// How well a label fits what was typed: null not at all; less is better. Letters have to come in
// order.
function fit(label, typed) {
  const text = label.toLowerCase();
  const whole = text.indexOf(typed);
  if (whole >= 0) return whole;
  let at = -1;
  let cost = 100;
  for (const letter of typed) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return null;
    cost += next - at;
    at = next;
  }
  return cost;
}

function found(offered, typed) {
  const wanted = typed.trim().toLowerCase();
  return offered
    .map((command) => ({ command, label: command.label() }))
    .map((each) => ({ ...each, cost: fit(each.label, wanted) }))
    .filter((each) => each.cost !== null)
    .sort((one, other) => one.cost - other.cost);
}

function Palette({ on_close }) {
  const t = useWords();
  const offered = useStore(commands);
  const [typed, set_typed] = useState('');
  const [chosen, set_chosen] = useState(0);
  const list = useRef(null);
  const results = found(offered, typed);
  const at = Math.min(chosen, results.length - 1);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at, typed]);
  const run = (result) => {
    if (!result) return;
    on_close();
    result.command.run();
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      set_chosen((at + step + results.length) % Math.max(results.length, 1));
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      run(results[at]);
    }
  };
  return html`<${Dialog} title=${t('palette.title')} on_close=${on_close}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" autofocus
      aria-label=${t('palette.search')} placeholder=${t('palette.search')} autocomplete="off"
        spellcheck="false"
      aria-activedescendant=${results[at] ? `palette-${at}` : undefined} value=${typed}
        onKeyDown=${press}
      onInput=${(event) => {
        set_typed(event.currentTarget.value);
        set_chosen(0);
      }} />
    <ul role="listbox" id="palette-list" class="palette" aria-label=${t('palette.title')}
      ref=${list}>
      ${results.map(
        (result, index) => html`<li role="option" id=${`palette-${index}`} key=${result.command.id}
        aria-selected=${index === at ? 'true' : 'false'} onClick=${() => run(result)}
        onMouseMove=${() => set_chosen(index)}><span>${result.label}</span>
        ${result.command.keys && html`<kbd>${result.command.keys}</kbd>`}</li>`,
      )}
    </ul>
    ${results.length === 0 && html`<p class="empty">${t('palette.none')}</p>`}
  <//>`;
}

function Keys({ on_close }) {
  const t = useWords();
  const offered = useStore(commands).filter((command) => command.keys);
  return html`<${Dialog} title=${t('keys.title')} on_close=${on_close}>
    <dl class="facts keys"><dt><kbd>Ctrl K</kbd></dt><dd>${t('palette.title')}</dd>
      <dt><kbd>?</kbd></dt><dd>${t('keys.title')}</dd>
      ${offered.map((command) => html`<dt><kbd>${command.keys}</kbd></dt>
        <dd>${command.label()}</dd>`)}
    </dl><//>`;
}

export function Palettes() {
  const is_open = useStore(palette_is_open);
  const has_keys = useStore(keys_are_shown);
  return html`${is_open && html`<${Palette} on_close=${() => palette_is_open.set(false)} />`}
    ${has_keys && html`<${Keys} on_close=${() => keys_are_shown.set(false)} />`}`;
}

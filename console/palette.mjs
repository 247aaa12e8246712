// The palette: every screen, every command, threads, runs, members, API keys and personas by a few
// letters; and the list of keys.
import { commands, keys_are_shown, palette_is_open } from './commands.mjs';
import { html, useEffect, useRef, useState } from './html.mjs';
import { useWords } from './i18n.mjs';
import { load_part } from './lazy.mjs';
import { go } from './router.mjs';
import { useStore } from './store.mjs';
import { Dialog } from './ui/dialog.mjs';

const pause_ms = 200;
const chars_min = 2;

// How well a label fits what was typed: null not at all; less is better. Letters have to come in
// order. From `loose` on they do not stand beside each other.
const loose = 100;
function fit(label, typed) {
  const text = label.toLowerCase();
  const whole = text.indexOf(typed);
  if (whole >= 0) return Math.min(whole, loose - 1);
  let at = -1;
  let cost = loose;
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
    .map((command) => ({ ...command, label: command.label(), cost: fit(command.label(), wanted) }))
    .filter((each) => each.cost !== null)
    .sort((one, other) => one.cost - other.cost);
}

// Results of search.mjs for the typed text: {rows, is_searching}.
function useSearch(typed) {
  const [state, set_state] = useState({ of: '', kinds: {}, is_searching: false });
  const begun = useRef(null);
  const text = typed.trim();
  useEffect(() => {
    if (text.length < chars_min) return undefined;
    const stop = new AbortController();
    const search = async () => {
      begun.current ??= load_part(() => import('./search.mjs')).then((part) => part.begin_search());
      const find = await begun.current;
      await find(text, stop.signal, (kind, rows) =>
        set_state((old) => ({
          of: text,
          kinds: { ...(old.of === text ? old.kinds : {}), [kind]: rows },
          is_searching: true,
        })),
      );
    };
    const timer = setTimeout(() => {
      set_state((old) => ({ ...old, is_searching: true }));
      // A part that cannot be loaded is asked for again with the next letter.
      const failed = () => (begun.current = null);
      const end = () =>
        stop.signal.aborted || set_state((old) => ({ ...old, is_searching: false }));
      search().catch(failed).finally(end);
    }, pause_ms);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const rows = state.of === text ? Object.values(state.kinds).flat() : [];
  return { rows, is_searching: text.length >= chars_min && state.is_searching };
}

function Row({ row }) {
  const t = useWords();
  if (!row.kind) {
    return html`<span>${row.label}</span>${row.keys && html`<kbd>${row.keys}</kbd>`}`;
  }
  const { snippet, about, is_code } = row;
  return html`<span class="found"><bdi class=${is_code ? 'id' : ''}>${
    row.label || t('chat.untitled')
  }</bdi>${about && html` <bdi class="dim">${about}</bdi>`}${
    snippet &&
    html`<bdi class="dim snippet">${snippet.before}<mark>${snippet.match}</mark>${snippet.after}
    </bdi>`
  }</span><span class="mark">${t(`palette.${row.kind}`)}</span>`;
}

function Palette({ on_close }) {
  const t = useWords();
  const offered = useStore(commands);
  const [typed, set_typed] = useState('');
  // The id of the row that was moved to; '' for the first one. Rows that come later move no choice.
  const [chosen, set_chosen] = useState('');
  const list = useRef(null);
  const { rows, is_searching } = useSearch(typed);
  const named = found(offered, typed);
  const results = [
    ...named.filter(({ cost }) => cost < loose),
    ...rows,
    ...named.filter(({ cost }) => cost >= loose),
  ];
  const at = Math.max(0, results.findIndex(({ id }) => id === chosen));
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at, typed]);
  const run = (result) => {
    if (!result) return;
    on_close();
    if (result.run) result.run();
    else go(result.path, result.query);
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      set_chosen(results[(at + step + results.length) % Math.max(results.length, 1)]?.id ?? '');
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      run(results[at]);
    }
  };
  return html`<${Dialog} title=${t('palette.title')} on_close=${on_close}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" autofocus
      aria-label=${t('palette.search')} placeholder=${t('palette.search')} autocomplete="off"
        spellcheck="false" dir="auto" maxlength="500"
      aria-activedescendant=${results[at] ? `palette-${at}` : undefined} value=${typed}
        onKeyDown=${press}
      onInput=${(event) => {
        set_typed(event.currentTarget.value);
        set_chosen('');
      }} />
    <ul role="listbox" id="palette-list" class="palette" aria-label=${t('palette.title')}
      ref=${list}>
      ${results.map(
        (result, index) => html`<li role="option" id=${`palette-${index}`} key=${result.id}
        aria-selected=${index === at ? 'true' : 'false'} onClick=${() => run(result)}
        onMouseMove=${() => set_chosen(result.id)}><${Row} row=${result} /></li>`,
      )}
    </ul>
    <p class="dim" role="status">${
      is_searching ? t('palette.searching') : results.length === 0 && t('palette.none')
    }</p>
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

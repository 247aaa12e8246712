// A field that takes the id of a thing, which the user chooses by its name.
import { html, useEffect, useId, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';

const shown_max = 50;
const pause_ms = 250;
const is_id = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

// Results of `on_search(text)`, asked after a pause: [id, name] each.
function useFound(text, on_search) {
  const [found, set_found] = useState([]);
  useEffect(() => {
    if (!on_search || !text) {
      set_found([]);
      return undefined;
    }
    let is_old = false;
    const timer = setTimeout(() => {
      on_search(text).then(
        (rows) => is_old || set_found(rows),
        () => is_old || set_found([]),
      );
    }, pause_ms);
    return () => {
      is_old = true;
      clearTimeout(timer);
    };
  }, [text]);
  return found;
}

// `options`: [id, name] each, all that there are, or with `on_search` (text => a promise of such
// pairs) those that are known. An id that somebody pastes is taken too. `any`: what the empty field
// says.
/**
 * @param {{form: any, name: string, label: string, options: [string, string][], any?: string,
 *   on_search?: (text: string) => Promise<[string, string][]>, on_open?: () => void}} props
 */
export function Picker({ form, name, label, options, any = '', on_search, on_open }) {
  const t = useWords();
  const id = useId();
  const list = useRef(null);
  // null while the list is closed. `text`: what was typed since it opened, or null.
  const [opened, set_opened] = useState(/** @type {{text: string | null} | null} */ (null));
  const [chosen, set_chosen] = useState(0);
  const typed = opened?.text ?? null;
  const wanted = (typed ?? '').trim().toLowerCase();
  const found = useFound(wanted, on_search);
  const value = form.values[name];
  const all = new Map([...options, ...found]);
  const kept = useRef(['', '']);
  const shown = all.get(value) || (kept.current[0] === value && kept.current[1]) || value;
  const rows = [...all]
    .filter(([key, text]) => text.toLowerCase().includes(wanted) || key === wanted)
    .slice(0, shown_max);
  // An id that nothing here names; where users are searched for, only what looks like one.
  const raw = (typed ?? '').trim();
  const is_raw = on_search ? is_id(raw) : raw !== '';
  if (is_raw && rows.length === 0) rows.push([raw, raw]);
  const is_open = opened !== null;
  const at = Math.min(chosen, rows.length - 1);
  useEffect(() => {
    if (is_open) list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at, is_open]);
  const open = (text) => {
    if (!is_open) on_open?.();
    set_opened({ text });
    set_chosen(0);
  };
  const choose = (row) => {
    kept.current = row;
    form.set(name, row[0]);
    set_opened(null);
  };
  const close = () => {
    // An emptied field stands for any.
    if (typed?.trim() === '' && value) choose(['', '']);
    else set_opened(null);
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (is_open) set_chosen((at + step + rows.length) % Math.max(rows.length, 1));
      else open(null);
    } else if (event.key === 'Enter' && is_open && !event.isComposing) {
      if (typed === '') close();
      // A typed id is meant: the form is sent at once.
      else if (rows[at] && rows[at][0] !== raw) event.preventDefault();
      if (typed !== '' && rows[at]) choose(rows[at]);
    } else if (event.key === 'Escape' && is_open) {
      event.preventDefault();
      event.stopPropagation();
      set_opened(null);
    }
  };
  return html`<div class="field picker"><label for=${id}>${label}</label>
    <input id=${id} name=${name} role="combobox" autocomplete="off" spellcheck="false" dir="auto"
      aria-expanded=${is_open ? 'true' : 'false'} aria-controls=${`${id}-list`}
      aria-autocomplete="list" placeholder=${any}
      aria-activedescendant=${is_open && rows[at] ? `${id}-${at}` : undefined}
      value=${typed ?? shown} onKeyDown=${press} onBlur=${close}
      onFocus=${(event) => event.currentTarget.select()}
      onClick=${() => is_open || open(null)}
      onInput=${(event) => open(event.currentTarget.value)} />
    ${
      is_open &&
      html`<ul class="palette choices-below" role="listbox" id=${`${id}-list`} aria-label=${label}
        ref=${list} onMouseDown=${(event) => event.preventDefault()}>${rows.map(
          ([key, text], index) => html`<li role="option" id=${`${id}-${index}`} key=${key}
          aria-selected=${index === at ? 'true' : 'false'} onMouseMove=${() => set_chosen(index)}
          onClick=${() => choose([key, text])}><bdi>${text}</bdi></li>`,
        )}${rows.length === 0 && html`<li role="option" class="dim"
          aria-disabled="true" aria-selected="false">${t('palette.none')}</li>`}</ul>`
    }</div>`;
}

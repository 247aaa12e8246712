// Field of a persona's form: the models that stand in for its own when that one fails, in their
// order (docs/fallbacks.md).
import { html, useId, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { list_in } from '../ui/form.mjs';
import '../words/org_personas.mjs';

const routes_max = 5;
const field = 'fallback_routes';

// Moves the item at `from` by `steps`.
const moved = (items, from, steps) => {
  const others = items.filter((_, at) => at !== from);
  return [...others.slice(0, from + steps), items[from], ...others.slice(from + steps)];
};

// `form` has the ids of the routes, one a line; `models`: those that may be named.
/**
 * @param {{form: any, models: import('../types/calls').Schemas['ModelChoice'][]}} props
 */
export function FallbackRoutes({ form, models }) {
  const t = useWords();
  const id = useId();
  const box = useRef(null);
  const [next, set_next] = useState('');
  const chosen = list_in(form.values[field]);
  const name_of = (route_id) => {
    const found = models.find((one) => one.route_id === route_id);
    return found ? `${found.model} (${found.provider_name})` : route_id;
  };
  const left = models.filter(({ route_id }) => !chosen.includes(route_id));
  const set = (routes) => form.set(field, routes.join('\n'));
  // The pressed button may be gone.
  const set_and_stay = (routes) => {
    set(routes);
    box.current.focus();
  };
  const faults = (form.error?.errors ?? []).filter((each) => each.field === field);
  const button = (action, route_id, disabled, routes) => html`<button type="button" class="small"
    disabled=${disabled} aria-label=${`${t(`personas.${action}`)}: ${name_of(route_id)}`}
    onClick=${() => set_and_stay(routes())}>${t(`personas.${action}`)}</button>`;
  return html`<fieldset class="fallbacks" ref=${box} tabindex="-1" name=${field}
    aria-describedby=${`${id}-hint`}><legend>${t('personas.fallbacks')}</legend>
    <p class="hint" id=${`${id}-hint`}>${t('personas.fallbacks_hint')}</p>
    ${
      chosen.length > 0 &&
      html`<ol>${chosen.map(
        (route_id, at) => html`<li key=${route_id}><bdi>${name_of(route_id)}</bdi>${' '}
        <span class="row-actions">${button('up', route_id, at === 0, () => moved(chosen, at, -1))}
        ${button('down', route_id, at === chosen.length - 1, () => moved(chosen, at, 1))}
        ${button('leave_out', route_id, false, () => chosen.filter((_, other) => other !== at))}
        </span></li>`,
      )}</ol>`
    }
    ${faults.map((fault) => html`<p class="fault">${fault.message}</p>`)}
    ${
      chosen.length < routes_max &&
      html`<div class="row"><select aria-label=${t('personas.add_fallback')} value=${next}
        onChange=${(event) => set_next(event.currentTarget.value)}>
        <option value="">${t('personas.choose_fallback')}</option>
        ${left.map(
          ({ route_id }) => html`<option key=${route_id} value=${route_id}
          selected=${route_id === next}>${name_of(route_id)}</option>`,
        )}</select>
        <button type="button" disabled=${!next} onClick=${() => {
          set_and_stay([...chosen, next]);
          set_next('');
        }}>${t('personas.add_fallback')}</button></div>`
    }</fieldset>`;
}

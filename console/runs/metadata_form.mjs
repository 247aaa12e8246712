// The marks of a run: shown to all who see it, changed by its creator, replaced whole.
import { api } from '../api.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { useEditFocus } from '../ui/focus.mjs';
import { read_json, show_json } from '../chat/show_json.mjs';
import '../words/run_screens.mjs';

// A longer one has a bar to scroll it.
const long_chars = 100;

/** @param {{run: import('../types/calls').Schemas['Run'], is_mine: boolean,
 *   on_saved: () => void}} props */
export function MetadataForm({ run, is_mine, on_saved }) {
  const t = useWords();
  const [text, set_text] = useState(null);
  const [error, set_error] = useState(null);
  const { field, opener } = useEditFocus(text !== null);
  const close = () => {
    set_text(null);
    set_error(null);
  };
  const members = Object.entries(run.metadata);
  const { value, problem } = text === null ? {} : read_json(text);
  const save = async (event) => {
    event.preventDefault();
    try {
      await api.patch(`/v1/runs/${run.run_id}`, { metadata: value });
      close();
      on_saved();
    } catch (thrown) {
      set_error(thrown);
    }
  };
  if (text === null) {
    return html`<p class="row metadata"><span class="dim">${t('runs.metadata')}</span>
      ${members.map(
        ([name, mark]) => html`<span class="mark" key=${name}
        tabindex=${name.length + mark.length > long_chars ? 0 : undefined}><bdi>${name}</bdi>=<bdi>
          ${mark}</bdi></span>`,
      )}
      ${
        is_mine &&
        html`<button type="button" class="small quiet" ref=${opener}
          onClick=${() => set_text(show_json(run.metadata))}>
        ${t('runs.edit_metadata')}</button>`
      }</p>`;
  }
  return html`<form class="metadata" onSubmit=${save}>
    <textarea ref=${field} class="code" dir="ltr" rows="4" spellcheck=${false}
      aria-label=${t('runs.metadata')} value=${text}
      aria-invalid=${problem !== undefined}
        onInput=${(event) => set_text(event.currentTarget.value)} />
    ${problem && html`<p class="fault" role="alert">${problem}</p>`}
    <${ErrorBox} error=${error} />
    <div class="row"><button class="main" disabled=${problem !== undefined}>${t('save')}</button>
      <button type="button" onClick=${close}>${t('cancel')}</button></div>
  </form>`;
}

// The button that saves a table or a chart as CSV.
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { load_part } from '../lazy.mjs';
import { toast_error } from './error.mjs';

// `make(part)` gives the text, with the functions of csv.mjs; `name`: of the file, without its end.
/** @param {{name: string, make: (part: any) => string | Promise<string>}} props */
export function CsvButton({ name, make }) {
  const t = useWords();
  const [is_busy, set_busy] = useState(false);
  const save = async () => {
    set_busy(true);
    try {
      const part = await load_part(() => import('../csv.mjs'));
      part.save_csv(name, await make(part));
    } catch (error) {
      toast_error(error);
    }
    set_busy(false);
  };
  return html`<button type="button" class="small quiet csv" disabled=${is_busy} onClick=${save}
    title=${t('csv.save', { name })} aria-label=${t('csv.save', { name })}>CSV</button>`;
}

// A change of a run from one model to the next of its chain (docs/fallbacks.md): which took over,
// and why. Loaded with the first one that is shown.
import { acting_org, all_pages, with_query } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import '../words/fell_back.mjs';

// The models that the reader may choose, read once for an organization.
let models = null;
let models_of = '';
function useModels() {
  const [known, set_known] = useState(
    /** @type {import('../types/calls').Schemas['ModelChoice'][]} */ ([]),
  );
  useEffect(() => {
    let is_gone = false;
    if (models_of !== acting_org()) models = null;
    models_of = acting_org();
    models ??= all_pages(with_query('/v1/models', { limit: 200 }));
    models.then(
      (found) => is_gone || set_known(found),
      () => (models = null),
    );
    return () => {
      is_gone = true;
    };
  }, []);
  return known;
}

// The words of a reason. Reasons that mean the same to a reader share theirs.
const words_by_reason = {
  circuit_open: 'circuit_open',
  budget: 'budget',
  credits: 'credits',
  key: 'key',
  input_type: 'input_type',
  connect: 'connect',
  denied_address: 'connect',
  timeout_connect: 'connect',
  tls: 'connect',
  timeout_first_byte: 'silent',
  timeout_idle: 'stopped',
  timeout_total: 'stopped',
  broken_off: 'broken_off',
  protocol: 'broken_off',
  reset: 'broken_off',
  bad_finish: 'unreadable',
  bad_response: 'unreadable',
  no_answer: 'unreadable',
  too_large: 'unreadable',
};

function Reason({ reason }) {
  const t = useWords();
  const status = /^http_(\d+)$/.exec(reason)?.[1];
  if (status) return t('fell_back.http', { status });
  const name = words_by_reason[reason];
  return name ? t(`fell_back.why.${name}`) : html`<code>${reason}</code>`;
}

// `entry`: {from, to, reason} of run.fell_back. A model that the reader may not choose has only its
// route's id.
export function FellBack({ entry }) {
  const t = useWords();
  const known = useModels();
  const named = (id) => {
    const found = known.find(({ route_id }) => route_id === id);
    return found
      ? html`<bdi title=${found.provider_name}>${found.model}</bdi>`
      : html`<code>${id}</code>`;
  };
  return html`<p class="note fell-back">${t('fell_back.title')} ${named(entry.from)} →
    ${' '}${named(entry.to)}. <span class="dim"><${Reason} reason=${entry.reason} /></span></p>`;
}

const shown_max = 20;

// All changes of a run, where its story is not shown.
export function FallBacks({ story }) {
  const t = useWords();
  const all = story.entries.filter(({ kind }) => kind === 'fell_back');
  return html`${all
    .slice(0, shown_max)
    .map((entry) => html`<${FellBack} entry=${entry} key=${entry.key} />`)}
    ${
      all.length > shown_max &&
      html`<p class="dim">${t('fell_back.more', { count: all.length - shown_max })}</p>`
    }`;
}

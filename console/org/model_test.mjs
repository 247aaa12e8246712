// The test of a model: the checks of POST …/models/{model_id}:test, which makes small calls of
// it. Begins when it is shown.
import { api } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { duration, useWords } from '../i18n.mjs';
import { Dialog } from '../ui/dialog.mjs';
import { ErrorBox } from '../ui/error.mjs';
import '../words/org_providers.mjs';

// One check: what it tried, whether it worked, and what a run would fail with.
function Check({ check }) {
  const t = useWords();
  return html`<li><span class=${`mark ${check.ok ? 'good' : 'bad'}`}>${t(
    check.ok ? 'providers.check_ok' : 'providers.check_failed',
  )}</span> ${t(`providers.check.${check.name}`)}
    <span class="dim">${duration(check.duration_ms)}</span>
    ${
      !check.ok &&
      html`<p><code>${check.code}</code> <bdi>${check.message}</bdi></p>`
    }</li>`;
}

export function ModelTest({ provider, model, query, on_close }) {
  const t = useWords();
  const [{ result, error }, set_state] = useState({ result: null, error: null });
  const run = async () => {
    set_state({ result: null, error: null });
    try {
      const { body } = await api.post(
        `/v1/llm-providers/${provider.id}/models/${model.id}:test`,
        undefined,
        { query },
      );
      set_state({ result: body, error: null });
    } catch (thrown) {
      set_state({ result: null, error: thrown });
    }
  };
  useEffect(() => {
    run();
  }, []);
  const is_working = !result && !error;
  return html`<${Dialog} title=${`${t('providers.test')}: ${model.model}`} on_close=${on_close}>
    <p class="hint">${t('providers.test_hint')}</p>
    <${ErrorBox} error=${error} />
    <div role="status">
      ${is_working && html`<p class="dim working">${t('providers.test_runs')}</p>`}
      ${
        result &&
        html`<p><strong>${t(result.ok ? 'providers.test_ok' : 'providers.test_failed')}</strong></p>
        <ul class="checks">${result.checks.map(
          (check) => html`<${Check} check=${check} key=${check.name} />`,
        )}</ul>`
      }
    </div>
    <div class="actions"><button type="button" class="main" disabled=${is_working}
      onClick=${run}>${t('providers.test_again')}</button></div>
  <//>`;
}

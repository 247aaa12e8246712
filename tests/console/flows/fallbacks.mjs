// Models that stand in for one another: a persona's chain, what a run fell back from, and the
// health of a model that fails.
import {
  check,
  make_account,
  make_run,
  must,
  same,
  settled,
  until,
  with_setting,
} from '../harness.mjs';

const with_loopback = (work) => with_setting('outbound.allow_cidrs', ['127.0.0.0/8'], work);
const attempts = 5; // failures in a row, after which an organization's model is left out

// Two models of the organization at a port where nobody listens.
async function broken_models(token) {
  const options = { token };
  const provider = { name: 'Broken', provider_kind: 'openai', base_url: 'https://127.0.0.1:9/v1' };
  const made = await must('POST', '/v1/llm-providers?scope=org', provider, options);
  const path = `/v1/llm-providers/${made.id}/models?scope=org`;
  const ids = [];
  for (const model of ['broken-1', 'broken-2']) {
    ids.push((await must('POST', path, { model }, options)).id);
  }
  return ids;
}

export const flows = {
  'a chain is ordered, a run falls back and says so, the model is left out': async (t) => {
    await with_loopback(async () => {
      const account = await make_account();
      const { token } = account;
      const [first, second] = await broken_models(token);
      const models = await must('GET', '/v1/models', undefined, { token });
      const works = models.find(({ scope, is_default }) => scope === 'platform' && is_default);
      const page = await t.page();
      await t.sign_in(page, account, '/personas/new');
      await page.getByLabel('Key', { exact: true }).fill('helper');
      await page.getByLabel('Name', { exact: true }).fill('Helper');
      await page.getByLabel('Model', { exact: true }).selectOption('broken-1');
      const chain = page.getByRole('group', { name: 'Fall-back models' });
      for (const route of [works.route_id, second]) {
        await chain.getByLabel('Add fall-back model').selectOption(route);
        await chain.getByRole('button', { name: 'Add fall-back model' }).click();
      }
      await chain.getByRole('button', { name: 'Up: broken-2 (Broken)' }).click();
      await chain.locator('li').first().getByText('broken-2').waitFor();
      await t.axe(page, 'a persona with a chain');
      await t.fits(page, 'a persona with a chain');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByText('helper@1').first().waitFor();
      const [persona] = await must('GET', '/v1/personas?scope=org', undefined, { token });
      same(persona.fallback_routes, [second, works.route_id], 'the chain');

      const asked = { run: { persona_id: 'helper@1' } };
      let run_id = '';
      for (let made = 0; made < attempts; ++made) {
        run_id = await make_run(token, 'Hello', asked);
      }
      const run = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
      same([run.status, run.model], ['completed', works.model], 'the run');
      await t.open(page, `/runs/${run_id}`);
      const note = page.locator('.fell-back');
      await note.first().getByText('broken-1 → broken-2').waitFor();
      await page.getByText('There was no connection to the first one.').first().waitFor();
      same(await note.count(), 2, 'changes of the model');
      await t.axe(page, 'a run that fell back');
      await t.fits(page, 'a run that fell back');
      await t.open(page, `/runs/${run_id}?tab=story`);
      await page.locator('article .fell-back').first().waitFor();

      await until(async () => {
        const [{ models: known }] = await must('GET', '/v1/llm-providers?scope=org', undefined, {
          token,
        });
        return known.find(({ id }) => id === first).health.state === 'open';
      }, 'an open breaker');
      await t.open(page, '/providers');
      await settled(page);
      const row = page.locator('tbody tr', { hasText: 'broken-1' });
      const text = await row.innerText();
      check(/left out/.test(text) && /failures/.test(text), text);
      await t.axe(page, 'health of models');
      await t.fits(page, 'health of models');
    });
  },
};

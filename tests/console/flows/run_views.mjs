// The list of runs: titles, filters, order; and a run's timeline and conversation.
import { check, make_account, make_run, must, same, settled } from '../harness.mjs';

const rows = (page) => page.locator('main tbody tr');

export const flows = {
  'runs are listed by the title of their thread, filtered and sorted': async (t) => {
    const { token, ...account } = await make_account();
    const persona = { persona_key: 'shop', version: '1' };
    await must('POST', '/v1/personas?scope=org', persona, { token });
    await make_run(token, '[usage in=9000 out=90] [say a]', { thread: { title: 'Dear trip' } });
    await make_run(token, '[usage in=10 out=1] [say b]', {
      thread: { title: 'Cheap trip' },
      run: { persona_id: 'shop@1' },
    });
    await make_run(token, 'What is a raven? [say c]');
    const page = await t.page();
    await t.sign_in(page, account, '/runs');
    await rows(page).nth(2).waitFor();
    const titles = () => page.locator('main td.title').allInnerTexts();
    await page.locator('td.title', { hasText: 'What is a raven?' }).waitFor();
    same((await titles()).slice(1), ['Cheap trip', 'Dear trip'], 'titles');
    await page.getByLabel('Sort by').selectOption('duration');
    await page.waitForURL((url) => url.hash.includes('sort=duration'));
    await settled(page);
    const runs = await must('GET', '/v1/runs', undefined, { token });
    const longest = [...runs].sort((one, other) => other.duration_ms - one.duration_ms);
    const links = page.locator('main td.title a');
    const opened = await links.evaluateAll((all) => all.map((one) => one.title));
    same(opened[0], longest[0].run_id, 'the longest');
    await page.getByLabel('Persona').selectOption('shop@1');
    await rows(page).nth(1).waitFor({ state: 'detached' });
    same(await titles(), ['Cheap trip'], 'of the persona');
    await page.reload();
    await rows(page).first().waitFor();
    same(await titles(), ['Cheap trip'], 'of the persona, after a reload');
    await page.getByRole('button', { name: 'Clear' }).click();
    await rows(page).nth(2).waitFor();
    await page.getByLabel('To', { exact: true }).fill('2020-01-01');
    await page.getByText('No results.').waitFor();
    await page.getByLabel('To', { exact: true }).fill('2099-01-01');
    await page.getByLabel('From', { exact: true }).fill('2020-01-01');
    await rows(page).nth(2).waitFor();
    await page.getByLabel('From', { exact: true }).fill('2098-01-01');
    await page.getByText('No results.').waitFor();
  },

  'rows of a timeline open their input and output; what failed is red': async (t) => {
    const { token, ...account } = await make_account();
    const run_id = await make_run(
      token,
      'Tell me. [say first] [tools web_search {"query":"a"}] [say second]',
      { thread: { title: 'Steps' } },
    );
    const page = await t.page();
    await t.sign_in(page, account, `/runs/${run_id}`);
    const step = (name) => page.getByRole('button', { name, exact: true });
    await step('Turn 1: model').click();
    const opened = page.locator('.step-details');
    await opened.getByText('Tell me.').waitFor();
    await opened.getByText('Call of web_search').waitFor();
    await step('Turn 1: model').click();
    await opened.waitFor({ state: 'detached' });
    await step('web_search').click();
    await opened.getByText('"query": "a"').waitFor();
    await page.locator('.bar-failed').first().waitFor();
    await t.axe(page, 'an open step');
    await page.getByRole('link', { name: 'Conversation' }).click();
    await page.locator('.conversation .said', { hasText: 'Tell me.' }).waitFor();
    await page.getByRole('heading', { name: /^Turn 2/ }).waitFor();
    await page.locator('.conversation .answer', { hasText: 'second' }).waitFor();
  },

  'retries and the failure are in the timeline': async (t) => {
    const { token, ...account } = await make_account();
    const run_id = await make_run(token, `${account.login} [status 529 times=1] [status 400]`);
    const page = await t.page();
    await t.sign_in(page, account, `/runs/${run_id}`);
    await page.locator('.timeline .span-failed').last().waitFor();
    await settled(page);
    const run = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
    await page.getByRole('button', { name: `Failed: ${run.error.code}` }).click();
    await page.locator('.step-details', { hasText: run.error.message }).waitFor();
    check((await page.locator('.timeline').innerText()).length > 0, 'a timeline');
  },
};

// What was used, and what of credits is left.
import { check, make_account, make_run, must, same, settled } from '../harness.mjs';

export const flows = {
  'a month in figures, plots and tables': async (t) => {
    const account = await make_account();
    await make_run(account.token, 'one', { thread: { end_user: 'customer-1' } });
    await make_run(account.token, 'two');
    const page = await t.page();
    await t.sign_in(page, account, '/usage');
    await page.locator('.plot canvas').waitFor();
    await settled(page);
    const sum = await must('GET', '/v1/me/usage', undefined, { token: account.token });
    const figures = (await page.locator('.figures').innerText()).replaceAll(',', '');
    check(sum.total_output_tokens > 0, 'nothing was used');
    for (const figure of [sum.total_input_tokens, sum.total_output_tokens, sum.record_count]) {
      check(figures.includes(`${figure}`), `${figures} without ${figure}`);
    }
    await page.getByRole('region', { name: 'By end user' }).getByText('customer-1').waitFor();
    await page.getByRole('region', { name: 'By model' }).getByText('fake-model').waitFor();
    await page.getByText('Show as table').click();
    same(await page.getByRole('region', { name: 'By day' }).locator('tbody tr').count(), 1, 'days');
    await page.getByRole('button', { name: 'Cost' }).click();
    await page.locator('.plot canvas').waitFor();
    await page.getByLabel('Month (UTC)').selectOption({ index: 1 });
    await page.getByText('No usage in this month.').last().waitFor();
    check(/month=\d{4}-\d\d/.test(page.url()), page.url());
  },

  'days are those of the service, wherever the browser is': async (t) => {
    const account = await make_account();
    await make_run(account.token, 'one');
    const { token } = account;
    const days = await must('GET', '/v1/me/usage/daily', undefined, { token });
    const used = days.findLast((day) => day.record_count > 0).date;
    const words = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
    const name = words.format(new Date(used));
    for (const timezone of ['America/Los_Angeles', 'Pacific/Auckland']) {
      const page = await t.page({ timezone });
      await t.sign_in(page, account, '/usage');
      await page.locator('.plot canvas').waitFor();
      await page.getByText('Show as table').click();
      const row = page.getByRole('region', { name: 'By day' }).locator('tbody tr');
      check((await row.innerText()).includes(name), `${timezone}: ${await row.innerText()}`);
      // Today's bar is the last one.
      const { width, height } = await page.locator('.u-over').boundingBox();
      await page.locator('.u-over').hover({ position: { x: width - 3, y: height / 2 } });
      await page.locator('.u-legend', { hasText: name }).waitFor();
    }
  },

  'plots come when they are shown': async (t) => {
    const files = [];
    const page = await t.page();
    page.on('request', (request) => files.push(request.url()));
    await t.sign_in(page, await make_account(), '/credits');
    await settled(page);
    same(files.filter((url) => /plot-/.test(url)).length, 0, 'plots before');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.locator('.plot canvas').waitFor();
    check(
      files.some((url) => /plot-/.test(url)),
      'no plot was loaded',
    );
  },

  'credits and their ledger': async (t) => {
    t.allow(404);
    const account = await make_account();
    await make_run(account.token, 'one');
    const page = await t.page();
    await t.sign_in(page, account, '/credits');
    await settled(page);
    const { available } = await must('GET', '/v1/me/credits', undefined, { token: account.token });
    await page.locator('.figures', { hasText: available.toLocaleString('en-GB') }).waitFor();
    await page.getByText('Initial grant').waitFor();
    await page.getByLabel('Code', { exact: true }).fill('NOSUCHCODE');
    await page.keyboard.press('Enter');
    await page.getByText('redemption_codes.not_found').waitFor({ state: 'attached' });
  },
};

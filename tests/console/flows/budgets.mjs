// Budgets: made, listed, changed and removed by owners, read by members, and waited for by runs.
import { admin_token, call, check, make_account, must, same, settled, until } from '../harness.mjs';
import { prove } from '../second_factor.mjs';

const dialog = (page) => page.locator('dialog[open]').last();
const row = (page, name) => page.locator('tbody tr', { hasText: name });
const tiny_usd = 1e-9; // less than any turn costs

async function member_of(org_id, owner) {
  const member = await make_account();
  await prove(member.email);
  const { token } = await must(
    'POST',
    `/v1/orgs/${org_id}/invitations`,
    { email: member.email, role: 'member' },
    { token: owner.token },
  );
  await must('POST', '/v1/org-invitations:accept', { token }, { token: member.token });
  return member;
}

// {owner, org_id, options}: a workspace, and how its owner calls in it.
async function workspace() {
  const owner = await make_account();
  await prove(owner.email);
  owner.token = (await must('POST', '/v1/auth/login', owner)).access_token;
  const body = { name: 'Spenders', slug: `spend-${owner.login}` };
  const { id } = await must('POST', '/v1/orgs', body, { token: owner.token });
  return { owner, org_id: id, options: { token: owner.token, headers: { 'X-Org-Id': id } } };
}

async function act_in(page, name) {
  await page.locator('select.org').selectOption({ label: name });
  await settled(page);
}

// The fake model under another name, with prices, while `work(route_id)` runs.
async function with_priced_model(work) {
  const platform = '?scope=platform';
  const providers = await must('GET', `/v1/llm-providers${platform}`, undefined, {
    token: await admin_token(),
  });
  const { id } = providers.find(({ name }) => name === 'fake-model');
  const path = `/v1/llm-providers/${id}/models`;
  const prices = { input_usd_per_mtok: 3, output_usd_per_mtok: 15 };
  const model = await must(
    'POST',
    `${path}${platform}`,
    { model: `fake-priced-${Date.now()}`, ...prices },
    { token: await admin_token() },
  );
  try {
    await work(model.id);
  } finally {
    const token = await admin_token();
    await call('DELETE', `${path}/${model.id}${platform}`, undefined, { token });
  }
}

export const flows = {
  'a budget is made, changed, made inactive and deleted': async (t) => {
    t.allow(422);
    const { owner, org_id, options } = await workspace();
    const member = await member_of(org_id, owner);
    const page = await t.page();
    await t.sign_in(page, owner, '/budgets');
    await act_in(page, 'Spenders');
    await page.getByText('No budgets yet').waitFor();
    await page.getByRole('button', { name: 'New budget' }).click();
    const form = dialog(page);
    await form.getByLabel('Name').fill('Ada each month');
    await form.getByLabel('Applies to').selectOption('member');
    await form.getByLabel('Member').selectOption({ label: member.login });
    await form.getByLabel('Unit').selectOption('usd');
    await form.getByLabel('Amount (US dollars)').fill('many');
    await form.getByLabel('Time zone').fill('Europe/Berlin');
    await form.getByLabel('Alerts (percent)').fill('100, 50 %');
    await form.getByRole('button', { name: 'Add' }).click();
    await form.locator('.fault', { hasText: 'Enter a number above 0' }).waitFor();
    await form.getByLabel('Amount (US dollars)').fill('250.5');
    await form.getByLabel('Time zone').fill('Europe/Nowhere');
    await form.getByRole('button', { name: 'Add' }).click();
    await form.locator('.field', { hasText: 'Time zone' }).locator('.fault').waitFor();
    await form.getByLabel('Time zone').fill('Europe/Berlin');
    await form.getByRole('button', { name: 'Add' }).click();
    await row(page, 'Ada each month').waitFor();
    const [made] = await must('GET', '/v1/budgets', undefined, options);
    same(
      [made.subject, made.unit, made.amount, made.window, made.time_zone, made.alert_percents],
      [{ type: 'member', id: member.id }, 'usd', 250.5, 'month', 'Europe/Berlin', [50, 100]],
      'the budget',
    );
    const text = await row(page, 'Ada each month').innerText();
    check(text.includes(member.login) && text.includes('$250.5000 left'), text);
    await page.getByRole('status', { name: 'Last change' }).getByText('Budget added').waitFor();

    await page.getByRole('button', { name: 'Edit: Ada each month' }).click();
    await dialog(page).getByLabel('Amount (US dollars)').fill('300');
    await dialog(page).getByLabel('When it is used up').selectOption('fail');
    await dialog(page).getByLabel('Active').uncheck();
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await row(page, 'Ada each month').getByText('inactive').waitFor();
    const changed = await must('GET', `/v1/budgets/${made.id}`, undefined, options);
    const now = [changed.amount, changed.on_exhausted, changed.is_active];
    same(now, [300, 'fail', false], 'changed');

    await page.getByRole('button', { name: 'Delete: Ada each month' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No budgets yet').waitFor();
    same((await must('GET', '/v1/budgets', undefined, options)).length, 0, 'budgets left');
  },

  'each end user by itself, and one of them': async (t) => {
    const { owner, options } = await workspace();
    const each = { type: 'end_user', id: '*' };
    const body = { name: 'Customers', subject: each, unit: 'credits', amount: 70, window: 'day' };
    await must('POST', '/v1/budgets', body, options);
    const page = await t.page();
    await t.sign_in(page, owner, '/budgets');
    await act_in(page, 'Spenders');
    await row(page, 'Customers').getByText('for each end user').waitFor();
    await page.getByLabel('Spending of the end user').fill('customer-1');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await row(page, 'Customers').getByText('70 left').waitFor();
    await page.getByLabel('Applies to').selectOption('persona');
    await row(page, 'Customers').waitFor({ state: 'detached' });
    check(/subject_type=persona/.test(page.url()), page.url());
  },

  'a member reads those that apply, and changes none': async (t) => {
    const { owner, org_id, options } = await workspace();
    const member = await member_of(org_id, owner);
    const all = { name: 'Everybody', unit: 'credits', amount: 900, window: 'total' };
    await must('POST', '/v1/budgets', { ...all, subject: { type: 'org', id: org_id } }, options);
    const mine = { ...all, name: 'Of the owner', subject: { type: 'member', id: owner.id } };
    await must('POST', '/v1/budgets', mine, options);
    const page = await t.page({ width: 360, height: 740, scheme: 'dark' });
    await t.sign_in(page, member, '/budgets');
    await act_in(page, 'Spenders');
    await row(page, 'Everybody').getByText('900 left').waitFor();
    same(await row(page, 'Of the owner').count(), 0, 'budgets of others');
    same(await page.getByRole('button', { name: /^(New budget|Edit|Delete)/ }).count(), 0, 'ways');
    await t.axe(page, 'budgets of a member');
    await t.fits(page, 'budgets of a member');
  },

  'a platform administrator sets one for another organization': async (t) => {
    const { owner, org_id, options } = await workspace();
    const page = await t.page();
    const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
    await t.sign_in(page, admin, '/budgets');
    await settled(page);
    await page.getByRole('button', { name: 'New budget' }).click();
    await dialog(page).getByLabel('Name').fill('From above');
    await dialog(page).getByLabel(/^Organization/).first().fill(org_id);
    await dialog(page).getByLabel('Amount (credits)').fill('5000');
    await dialog(page).getByRole('button', { name: 'Add' }).click();
    await row(page, 'From above').waitFor();
    const [made] = await must('GET', '/v1/budgets', undefined, options);
    same([made.set_by, made.org_id, made.amount], ['platform', org_id, 5000], 'the budget');
    const own = await t.page();
    await t.sign_in(own, owner, '/budgets');
    await act_in(own, 'Spenders');
    await row(own, 'From above').getByText('set by the platform').waitFor();
    same(await own.getByRole('button', { name: 'Edit: From above' }).count(), 0, 'ways to change');
    await t.axe(own, 'budgets');
    await t.fits(own, 'budgets');
    await own.getByRole('button', { name: 'New budget' }).click();
    await t.fits(own, 'a new budget');
  },

  'a run waits for a budget, says for which, and goes on when it is raised': async (t) => {
    const owner = await make_account();
    const options = { token: owner.token };
    // The personal organization, because it has credits.
    const { org_id } = await must('GET', '/v1/me', undefined, options);
    await with_priced_model(async (route_id) => {
      const budget = await must(
        'POST',
        '/v1/budgets',
        {
          name: 'Pennies',
          subject: { type: 'org', id: org_id },
          unit: 'usd',
          amount: tiny_usd,
          window: 'month',
        },
        options,
      );
      const thread = await must('POST', '/v1/threads', {}, options);
      await must('POST', `/v1/threads/${thread.id}/messages`, { content: 'Hello' }, options);
      const begun = await must('POST', `/v1/threads/${thread.id}/runs`, { route_id }, options);
      const run = () => must('GET', `/v1/runs/${begun.run_id}`, undefined, options);
      await until(async () => (await run()).waiting?.kind === 'budget', 'a wait for the budget');
      const page = await t.page();
      await t.sign_in(page, owner, `/threads/${thread.id}`);
      const card = page.locator('.wait', { hasText: 'Pennies' });
      await card.getByText('It goes on by itself at').waitFor();
      await t.fits(page, 'a thread that waits for a budget');
      await t.open(page, '/inbox');
      await page.getByText('Nothing is waiting for you').waitFor();
      await t.open(page, `/runs/${begun.run_id}`);
      await card.getByRole('link', { name: 'Budgets' }).click();
      await page.getByRole('button', { name: 'Edit: Pennies' }).click();
      await dialog(page).getByLabel('Amount (US dollars)').fill('100');
      await dialog(page).getByRole('button', { name: 'Save' }).click();
      await until(async () => (await run()).status === 'completed', 'the end of the run');
      await t.open(page, `/runs/${begun.run_id}`);
      await settled(page);
      same(await card.count(), 0, 'waits');
      await must('DELETE', `/v1/budgets/${budget.id}`, undefined, options);
    });
  },
};

// Names and words in place of ids and numbers: targets of the audit log, unlimited values, risk
// scores, times.
import { check, make_account, must, same, settled, admin_token } from '../harness.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

export const flows = {
  'the audit log names its targets, and its filters take them by name': async (t) => {
    const { token, ...account } = await make_account();
    const made = [];
    for (const persona_key of ['shop', 'desk']) {
      const persona = { persona_key, version: '1' };
      made.push(await must('POST', '/v1/personas?scope=org', persona, { token }));
    }
    const page = await t.page();
    await t.sign_in(page, account, '/audit');
    await page.locator('.audit .target', { hasText: 'shop@1' }).waitFor();
    await settled(page);
    const rows = await page.locator('.audit').innerText();
    check(!uuid.test(rows), `an id in the list: ${rows}`);
    await page.getByLabel('Type of target').selectOption({ label: 'Persona' });
    const target = page.getByRole('combobox', { name: 'Target', exact: true });
    await target.fill('sho');
    await page.getByRole('option', { name: 'shop@1' }).waitFor();
    await page.keyboard.press('Enter');
    same(await target.inputValue(), 'shop@1', 'the chosen name');
    await page.keyboard.press('Enter');
    const other = page.locator('.audit .target', { hasText: 'desk' });
    await other.first().waitFor({ state: 'detached' });
    const id = made[0].id;
    check(page.url().includes(`target_id=${id}`), page.url());
    await page.reload();
    await page.locator('.audit .target', { hasText: 'shop@1' }).waitFor();
    same(await target.inputValue(), 'shop@1', 'the name after a reload');
    await t.axe(page, 'the audit log');
    await page.locator('.audit summary').first().click();
    await page.locator('.audit-details').getByRole('link', { name: 'shop@1' }).click();
    await page.waitForURL((url) => url.hash === `#/personas/${id}`);
  },

  'the emptied field of a target stands for all': async (t) => {
    const { token, ...account } = await make_account();
    const persona = { persona_key: 'shop', version: '1' };
    const { id } = await must('POST', '/v1/personas?scope=org', persona, { token });
    const page = await t.page();
    await t.sign_in(page, account, `/audit?target_type=persona&target_id=${id}`);
    const target = page.getByRole('combobox', { name: 'Target', exact: true });
    await page.locator('.audit .target', { hasText: 'shop@1' }).waitFor();
    // Looking at the choices changes nothing.
    await target.click();
    await page.getByRole('option', { name: 'shop@1' }).waitFor();
    await page.keyboard.press('Escape');
    same(await target.inputValue(), 'shop@1', 'the name');
    await target.fill('');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.hash.includes('target_id'));
    await page.locator('.audit .target', { hasText: 'shop@1' }).waitFor();
  },

  'an administrator picks the actor by name': async (t) => {
    const other = await make_account();
    const page = await t.page();
    await t.sign_in(page, admin, '/audit?scope=platform');
    const actor = page.getByRole('combobox', { name: 'Actor' });
    await actor.fill(other.login);
    await page.getByRole('option', { name: new RegExp(`\\(${other.login}\\)`) }).waitFor();
    await page.keyboard.press('Enter');
    check((await actor.inputValue()).includes(other.login), await actor.inputValue());
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL((url) => url.hash.includes(`actor_user_id=${other.id}`));
    await settled(page);
    const actors = await page.locator('.audit .who-did').allInnerTexts();
    check(actors.length > 0, 'no row of that user');
    same(new Set(actors).size, 1, 'actors');
  },

  'unlimited is a word in a plan, typed and shown': async (t) => {
    const page = await t.page();
    await t.sign_in(page, admin, '/platform/plans');
    const name = `wide-${Date.now()}`;
    const form = page.getByRole('form', { name: 'Create a plan' });
    await form.getByLabel('Name', { exact: true }).fill(name);
    await form.getByLabel('Display name').fill(name);
    await form.getByLabel('Entitlements').fill('limit.streams = unlimited\nlimit.tools = 1200');
    await form.getByRole('button', { name: 'Create a plan' }).click();
    const row = page.locator('tr', { hasText: name });
    await row.getByText('unlimited').waitFor();
    check((await row.innerText()).includes('1,200'), await row.innerText());
    const plans = await must('GET', '/v1/plans', undefined, { token: await admin_token() });
    const plan = plans.find((one) => one.name === name);
    same(plan.entitlements.find((one) => one.key === 'limit.streams').value, '0', 'stored');
  },

  'the access log hides files of the console, and a score opens into its signals': async (t) => {
    const page = await t.page();
    await t.sign_in(page, admin, '/platform/access-log');
    const paths = page.locator('tbody td.wide bdi');
    await paths.first().waitFor();
    check(!(await paths.allInnerTexts()).some((path) => path.startsWith('/console')), 'a file');
    await page.getByLabel('Show the console’s own files').check();
    await page.locator('tbody td bdi', { hasText: /^\/console/ }).first().waitFor();
    await page.getByLabel('Live').uncheck();
    const risk = page.locator('tbody .risk').first();
    await risk.locator('summary').click();
    await risk.getByText(/^\+0\.\d\d The /).first().waitFor();
  },
};

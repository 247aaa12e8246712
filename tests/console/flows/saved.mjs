// Tables and charts as CSV; and how a change is reported everywhere.
import { readFileSync } from 'node:fs';
import { check, make_account, make_run, must, same, settled } from '../harness.mjs';

const dialog = (page) => page.getByRole('dialog');

// The lines of the file that a button saves.
async function saved(page, name) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: `Save as CSV: ${name}` }).click(),
  ]);
  const text = readFileSync(await download.path(), 'utf8');
  check(text.startsWith('\ufeff'), 'no mark of UTF-8');
  return { name: download.suggestedFilename(), lines: text.slice(1).trimEnd().split('\r\n') };
}

export const flows = {
  'a table is saved as CSV with all its pages': async (t) => {
    const { token, ...account } = await make_account();
    const count = 60;
    for (let at = 0; at < count; ++at) {
      const persona = { persona_key: `p${at}`, version: '1', display_name: `=cmd, "${at}"` };
      await must('POST', '/v1/personas?scope=org', persona, { token });
    }
    const page = await t.page();
    await t.sign_in(page, account, '/personas');
    await page.locator('main tbody tr').first().waitFor();
    const { name, lines } = await saved(page, 'Personas');
    same(name, 'Personas.csv', 'the name of the file');
    check(lines[0].startsWith('Persona,'), lines[0]);
    same(lines.length, count + 1, 'lines');
    check(lines.some((line) => line.includes(`"'=cmd, ""7"""`)), lines[1]);
  },

  'figures and times of a CSV file are exact': async (t) => {
    const { token, ...account } = await make_account();
    await make_run(token, '[usage in=1500 out=80] [say a]', { thread: { title: 'Trip' } });
    const page = await t.page();
    await t.sign_in(page, account, '/runs');
    await page.locator('main tbody tr').first().waitFor();
    await settled(page);
    const { lines } = await saved(page, 'Runs');
    const titles = lines[0].split(',');
    const [row] = lines.slice(1).map((line) => line.split(','));
    check(/^\d{4}-\d\d-\d\dT/.test(row[titles.indexOf('Started')]), lines[1]);
    check(lines[1].startsWith('Trip,'), lines[1]);
    await t.open(page, '/usage');
    await page.locator('.plot canvas').waitFor();
    const chart = await saved(page, 'Tokens');
    check(chart.lines[0].includes('input_tokens'), chart.lines[0]);
  },

  'a key that was made or revoked is reported with a way to the audit log': async (t) => {
    const { account, page } = await t.signed_in({}, '/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Name').fill('Reports');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByRole('button', { name: 'I have saved it' }).click();
    const done = page.getByRole('status', { name: 'Last change' });
    await done.getByText('API key created').waitFor();
    await done.getByText('Reports').first().waitFor();
    await page.getByRole('button', { name: 'Revoke: Reports' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke', exact: true }).click();
    await done.getByText('API key revoked').waitFor();
    await done.getByRole('link', { name: 'View in audit log' }).click();
    await page.waitForURL((url) => url.hash.includes('action=api_keys.revoke'));
    await page.locator('.audit .target', { hasText: 'Reports' }).waitFor();
    check(account.login !== '', 'an account');
  },
};

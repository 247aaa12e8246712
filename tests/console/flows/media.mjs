// On paper, in colours that the system forces, at 400 %, and with a larger text of the browser's.
import assert from 'node:assert/strict';

import { composer, new_thread, send, staged } from '../chat_steps.mjs';
import { open_account_menu, settled } from '../harness.mjs';

const height_of = (page, name) =>
  page.locator(name).evaluate((one) => [one.scrollHeight, one.clientHeight]);

async function long_thread(h, options) {
  const made = await new_thread(h, await h.new_user(), options);
  const lines = Array.from({ length: 60 }, (none, at) => `line ${at}`).join('\n');
  await composer(made.page).fill(`[say done] ${lines}`);
  await made.page.keyboard.press('Enter');
  await made.page.locator('.answer').filter({ hasText: 'done' }).waitFor();
  await settled(made.page);
  return made.page;
}

export const flows = staged([
  [
    'a thread is printed whole, dark on light',
    async (h) => {
      const page = await long_thread(h);
      await open_account_menu(page);
      await page.getByRole('button', { name: 'Dark' }).click();
      await page.keyboard.press('Escape');
      await page.emulateMedia({ media: 'print' });
      for (const name of ['.pane', '.said']) {
        const [whole, shown] = await height_of(page, name);
        assert.ok(whole <= shown + 1, `${name}: ${shown} of ${whole}`);
      }
      for (const name of ['nav#navigation', 'header.top', '.composer', '.threads']) {
        assert.ok(!(await page.locator(name).isVisible()), `${name} is printed`);
      }
      const [text] = await page.evaluate(() =>
        getComputedStyle(document.body).color.match(/\d+/).map(Number),
      );
      assert.ok(text < 100, `the text is too light for paper: ${text}`);
      await page.emulateMedia({ media: null });
    },
  ],

  [
    'what is chosen shows in forced colours',
    async (h) => {
      const user = await h.new_user();
      const page = await h.signed_in(user, '/usage');
      await page.emulateMedia({ forcedColors: 'active' });
      await page.keyboard.press('Control+k');
      const outline = (name) =>
        page.locator(name).first().evaluate((one) => getComputedStyle(one).outlineStyle);
      assert.equal(await outline('.palette li[aria-selected="true"]'), 'solid');
      assert.equal(await outline('.palette li[aria-selected="false"]'), 'none');
      assert.equal(await outline('nav a[aria-current]'), 'solid');
    },
  ],

  [
    'at 400 % a thread can be read, and written in',
    async (h) => {
      const page = await long_thread(h, { width: 320, height: 256 });
      const [, shown] = await height_of(page, '.pane');
      assert.ok(shown > 150, `${shown} pixels to read in`);
      await send(page, '[say again]');
      await page.locator('.answer').filter({ hasText: 'again' }).waitFor();
      await h.t.fits(page, 'a thread at 400 %');
    },
  ],
]);

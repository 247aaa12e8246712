// Steps by keyboard alone, on a telephone's width: nothing is clicked.
import { settled } from './harness.mjs';

const presses_max = 250;

const name_of_focus = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    return (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent)
      .replace(/\s+/g, ' ')
      .trim();
  });

// Presses Tab until what has the focus has this name, or one that fits a RegExp.
export async function tab_to(page, name) {
  for (let presses = 0; presses < presses_max; ++presses) {
    await page.keyboard.press('Tab');
    const found = await name_of_focus(page);
    if (name instanceof RegExp ? name.test(found) : found === name) return;
  }
  throw new Error(`Tab never comes to ${name}`);
}

export async function press(page, name, key = 'Enter') {
  await tab_to(page, name);
  await page.keyboard.press(key);
}

export async function type(page, name, text) {
  await tab_to(page, name);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

// Chooses of a list by the first letters of what it shows.
export async function choose(page, name, letters) {
  await tab_to(page, name);
  await page.keyboard.type(letters);
}

// A page of 360 px where `account` has signed in, at `path`. The flows of a file have one for each
// account: who signs in by keyboard once need not do so for every task. Each task begins with a
// document of its own.
export async function phone(t, account, path) {
  const sign_in = async () => {
    const page = await t.page({ width: 360, height: 740 });
    await t.open(page, path);
    // The browser gives the focus to the first field only when it draws the page.
    await page.locator('input:focus').waitFor();
    await page.keyboard.type(account.login);
    await page.keyboard.press('Tab');
    await page.keyboard.type(account.password);
    await page.keyboard.press('Enter');
    return page;
  };
  const { page, is_new } = await t.kept_page(`phone of ${account.login}`, sign_in);
  if (!is_new) {
    await page.goto('about:blank');
    await t.open(page, path);
  }
  await page.locator('nav#navigation').waitFor({ state: 'attached' });
  await page.locator('main h1').first().waitFor();
  await settled(page);
  return page;
}

// Makes it once, and gives it to whoever asks.
export function once(make) {
  let made = null;
  return () => (made ??= make());
}

// ------------------------------------------------ what a page shows

export const dialog = (page) => page.locator('dialog[open]').last();

// The row of the audit log that is shown behind a change.
export const audited = (page, action) =>
  page
    .getByRole('status', { name: 'Last change' })
    .getByText(action, { exact: true })
    .waitFor({ state: 'attached' });

export const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();

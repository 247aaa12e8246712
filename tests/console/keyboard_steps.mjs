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

// A page of 360 px where `account` has signed in, at `path`.
export async function phone(t, account, path) {
  const page = await t.page({ width: 360, height: 740 });
  await t.open(page, path);
  await page.keyboard.type(account.login);
  await page.keyboard.press('Tab');
  await page.keyboard.type(account.password);
  await page.keyboard.press('Enter');
  await page.locator('nav#navigation').waitFor({ state: 'attached' });
  await page.locator('main h1').waitFor();
  await settled(page);
  return page;
}

// Tests what holds for every screen: keyboard, palette, languages, sizes, readers of the screen,
// curl, no script.
import { execFileSync } from 'node:child_process';
import {
  base,
  check,
  make_account,
  make_run,
  must,
  open_account_menu,
  same,
  settled,
  tab_to,
  until,
} from '../harness.mjs';

const screens = ['/usage', '/credits', '/keys', '/organization', '/account', '/sessions'];
const open_screens = ['/', '/forgot', '/register', '/verify', '/revert', '/invitation'];
const dialog = (page) => page.locator('dialog[open]');

const right_to_left = '\u05d0\u05d1\u05d2 (1) \u05d3\u05d4';
const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'javascript:alert(1)',
  `${right_to_left} right to left \u0627\u0644\u0639`,
  'W'.repeat(64),
];

// Each command of these screens, run by a shell, answers what the page was answered.
async function executes_what_is_shown(t, page, paths) {
  const answers = new Map();
  let token = '';
  page.on('request', (request) => {
    token = request.headers().authorization?.replace('Bearer ', '') ?? token;
  });
  page.on('response', (response) => {
    if (!response.url().includes('/v1/') || response.request().method() !== 'GET') return;
    answers.set(
      response.url().slice(base.length),
      response.text().catch(() => ''),
    );
  });
  // When a session was seen last, the command itself changes; a stream has pings between its data.
  const told = (text) =>
    /^[[{]/.test(text)
      ? JSON.parse(text, (name, value) => name === 'last_seen_at' || value)
      : text.split('\n').filter((line) => line.startsWith('data: '));
  for (const path of paths) {
    await t.open(page, path);
    await settled(page);
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    const commands = await page.locator('.curl pre').allInnerTexts();
    check(commands.length > 1, `${path} has no commands`);
    for (const command of commands.slice(1)) {
      const output = execFileSync('bash', ['-c', command], {
        env: {
          ...process.env,
          HOSTLER_URL: base,
          HOSTLER_TOKEN: token,
          CURL_CA_BUNDLE: process.env.CA_CERT,
        },
      }).toString();
      const address = /\$HOSTLER_URL(?:([^"'\s]+)"|"'((?:[^']|'\\'')*)')/;
      const [, plain, quoted] = command.match(address);
      const asked = plain ?? quoted.replaceAll("'\\''", "'");
      if (/\/events(\?|$)/.test(asked)) {
        // A page ends a stream at its last event, and then nobody can read what came.
        const shown = path.endsWith('tab=events') ? await page.locator('.events > li').count() : 3;
        same(told(output).length, shown, command);
      } else {
        same(told(output), told((await answers.get(asked)) ?? ''), command);
      }
    }
    await page.keyboard.press('Escape');
  }
}

// It has bounds in time: nothing runs beside it.
export const alone = ['the first page is light, and soon there'];

export const flows = {
  'the main tasks by keyboard alone': async (t) => {
    const account = await make_account();
    const page = await t.page();
    await t.open(page, '/');
    await page.locator('input:focus').waitFor();
    await page.keyboard.type(account.login);
    await page.keyboard.press('Tab');
    await page.keyboard.type(account.password);
    await page.keyboard.press('Enter');
    await page.locator('nav').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('api k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await settled(page);
    await page.keyboard.press('n');
    await dialog(page).waitFor();
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await page.locator('.secret').waitFor();
    await page.keyboard.press('Escape');
    await tab_to(page, 'Revoke: by keys');
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await tab_to(page, 'Revoke');
    await page.keyboard.press('Enter');
    await page.locator('.mark', { hasText: 'revoked' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
    await tab_to(page, 'Display name');
    await page.keyboard.press('Control+a');
    await page.keyboard.type(`Key ${account.login}`);
    await page.keyboard.press('Enter');
    await page.locator('.toast', { hasText: 'Saved' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await dialog(page).getByText('g u').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('sign out');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },

  'every screen at 360 pixels, and the menu there': async (t) => {
    const { page } = await t.signed_in({ width: 360, height: 740 });
    for (const path of screens) {
      await t.open(page, path);
      await settled(page);
      await t.fits(page, path);
    }
    await page.getByRole('button', { name: 'Menu', exact: true }).click();
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await page.locator('nav').waitFor({ state: 'hidden' });
    const out = await t.page({ width: 360, height: 740 });
    for (const path of open_screens) {
      await t.open(out, path);
      await t.fits(out, path);
    }
  },

  'a reader of the screen finds its way, dark and light': async (t) => {
    for (const scheme of ['light', 'dark']) {
      const { page } = await t.signed_in({ scheme });
      for (const path of screens) {
        await t.open(page, path);
        await settled(page);
        await t.axe(page, `${path} ${scheme}`);
      }
      await t.open(page, '/keys');
      await page.getByRole('button', { name: 'New key' }).click();
      await t.axe(page, `a dialog ${scheme}`);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      await dialog(page).waitFor();
      await t.axe(page, `the palette ${scheme}`);
      const out = await t.page({ scheme });
      for (const path of open_screens) {
        await t.open(out, path);
        await settled(out);
        await t.axe(out, `${path} ${scheme}`);
      }
    }
  },

  'Chinese, by the browser and by choice': async (t) => {
    const { page } = await t.signed_in({}, '/account');
    await open_account_menu(page);
    await page.getByLabel('Language', { exact: true }).selectOption('zh');
    await page.getByRole('heading', { name: '账号', exact: true }).waitFor();
    for (const path of screens) {
      await t.open(page, path);
      await settled(page);
      const text = await page.locator('#app').innerText();
      const key = text
        .match(/\b(?:[a-z_]+\.)+[a-z_]+\b/g)
        ?.filter((one) => !/example|data\.|org\./.test(one));
      check(!key?.length, `${path} shows ${key}`);
    }
    same(await page.locator('html').getAttribute('lang'), 'zh-CN', 'lang');
    const other = await t.page({ locale: 'zh-CN' });
    await t.open(other, '/');
    await other.getByRole('heading', { name: '登录' }).waitFor();
  },

  'dark, light, and what was chosen stays': async (t) => {
    const { page } = await t.signed_in({ scheme: 'dark' }, '/keys');
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await back();
    await open_account_menu(page);
    await page.getByRole('button', { name: 'Light' }).click();
    await until(async () => (await back()) !== dark, 'a light background');
    await page.reload();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    check((await back()) !== dark, 'dark again after a reload');
  },

  'every "copy as curl" answers what the screen shows': async (t) => {
    const account = await make_account();
    const { token } = account;
    await must('POST', '/v1/api-keys', { name: "it's `odd` $HOME" }, { token });
    const end_user = "o'neil & \"co\"";
    const run_id = await make_run(token, '[say hello]', { thread: { end_user } });
    const run = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
    const page = await t.page();
    await t.sign_in(page, account, '/nowhere');
    await executes_what_is_shown(t, page, [
      '/threads',
      `/threads/${run.thread_id}?end_user=${encodeURIComponent(end_user)}`,
      '/threads/new',
      '/inbox',
      `/runs?status=completed&end_user=${encodeURIComponent(end_user)}`,
      `/runs/${run_id}`,
      `/runs/${run_id}?tab=events`,
      '/keys',
      '/credits',
      '/usage',
      '/organization',
      '/sessions',
      '/account',
    ]);
    const out = await t.page();
    await t.open(out, '/');
    await executes_what_is_shown(t, out, ['/forgot', '/register']);
    await page.locator('main').focus();
    await t.open(page, '/account');
    await page
      .locator('section.panel', { hasText: 'New password' })
      .getByLabel('New password')
      .fill('12345678');
    t.allow(422);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.locator('.error').waitFor();
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    const shown = await page.locator('.curl pre').allInnerTexts();
    check(
      shown.some((each) => each.includes('"new_password":"\'"$HOSTLER_NEW_PASSWORD"\'"')),
      'no variable',
    );
    check(
      !shown.join().includes('12345678') && !shown.join().includes('hat_'),
      'a secret is shown',
    );
  },

  'scripts, odd directions and long words in every field stay text': async (t) => {
    for (const [at, text] of hostile.entries()) {
      const account = await make_account(`hx${Date.now()}${at}`);
      const { token } = account;
      // A name has letters of one script.
      const username = text.startsWith(right_to_left)
        ? `${right_to_left} ${Date.now()}`
        : `${account.login} ${text}`.slice(0, 64);
      await must('PATCH', '/v1/me', { username }, { token });
      await must('POST', '/v1/api-keys', { name: text.repeat(3).slice(0, 200) }, { token });
      const name = text.repeat(3).slice(0, 200);
      const org = await must('POST', '/v1/orgs', { slug: `h-${account.login}`, name }, { token });
      const page = await t.page({ width: 360, height: 740 });
      await t.sign_in(page, account, '/keys');
      await settled(page);
      await page.getByText(text.slice(0, 20)).first().waitFor({ state: 'attached' });
      await t.fits(page, `keys of ${text}`);
      await page.locator('select.org').selectOption(org.id);
      for (const path of screens) {
        await t.open(page, path);
        await settled(page);
        await t.fits(page, `${path} of ${text}`);
      }
    }
  },

  'the first page is light, and soon there': async (t) => {
    const { page } = await t.signed_in({}, '/keys');
    let asked = 0;
    page.on('request', () => ++asked);
    const took = [];
    for (let load = 0; load < 5; ++load) {
      asked = 0;
      await page.reload({ waitUntil: 'commit' });
      const heading = page.getByRole('heading', { name: 'API keys' });
      await heading.waitFor();
      took.push(await page.evaluate(() => performance.now()));
      await settled(page);
      check(asked <= 40, `${asked} requests`);
    }
    check(Math.min(...took) <= 300, `usable after ${took.map(Math.round)} ms`);
  },

  'what a page must not do is refused, and seen by these tests': async (t) => {
    const page = await t.page();
    await t.open(page, '/');
    const refused = await page.evaluate(async () => {
      const did = [];
      const script = document.createElement('script');
      try {
        script.textContent = 'globalThis.ran = 1';
        document.body.append(script);
      } catch {
        did.push('text of a script');
      }
      try {
        document.body.insertAdjacentHTML('beforeend', '<b>markup</b>');
      } catch {
        did.push('markup');
      }
      try {
        setTimeout('globalThis.ran = 1', 0);
      } catch {
        did.push('text of a timer');
      }
      await fetch('https://other.example/').catch(() => did.push('another origin'));
      return { did, ran: globalThis.ran };
    });
    same(
      refused,
      { did: ['text of a script', 'markup', 'text of a timer', 'another origin'] },
      'refused',
    );
    const reports = () => t.faults.filter((fault) => /^console: policy: /.test(fault));
    await until(() => reports().length === 4, 'four reports');
    const seen = t.faults.splice(0).join('\n');
    for (const what of ['require-trusted-types-for', 'connect-src', 'console: policy']) {
      check(seen.includes(what), `not seen: ${what} in ${seen}`);
    }
    t.allow(404);
    await page.evaluate(() => fetch('/v1/nothing?token=hst_x'));
    await until(() => t.faults.length >= 2, 'what is undocumented, and the secret');
    const others = t.faults.splice(0).join('\n');
    check(/no documented call/.test(others) && /a secret in an address/.test(others), others);
  },

  'an address without a screen, and a file that is not there': async (t) => {
    const outside = ['/console../', '/console../secret', '/console/..%2fapi', '/console/%2e%2e/x'];
    for (const path of [...outside, '/console/nothing.js', '/console/x/']) {
      const given = ['-sk', '--path-as-is', '-o', '/dev/null', '-w', '%{http_code}', base + path];
      same(execFileSync('curl', given).toString(), '404', path);
    }
    t.allow(404);
    const { page } = await t.signed_in({}, '/nowhere/at?all=<b>');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    for (const path of [
      '/console/nothing.js',
      '/console../',
      '/console/../console.js',
      '/console',
    ]) {
      const answer = await fetch(base + path, { redirect: 'manual' });
      same(answer.status, path === '/console' ? 301 : 404, path);
    }
    const files = await (await fetch(`${base}/console/`)).text();
    const script = files.match(/src="([^"]+)"/)[1];
    const answer = await fetch(`${base}/console/${script}`);
    check(answer.headers.get('cache-control').includes('immutable'), 'the script is not kept');
    same((await fetch(`${base}/console/`)).headers.get('cache-control'), 'no-cache', 'the page');
  },

  'a service that is away is waited for, and said so': async (t) => {
    const { page } = await t.signed_in({}, '/keys');
    t.allow(502, 503);
    let failures = 0;
    await page.route('**/v1/me/credits*', (route) => {
      ++failures;
      return failures < 3
        ? route.fulfill({ status: 503, headers: { 'retry-after': '0' } })
        : route.continue();
    });
    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByText('Initial grant').waitFor();
    same(failures, 3, 'tries');
    await page.unroute('**/v1/me/credits*');
    await page.route('**/v1/me/sessions*', (route) => route.fulfill({ status: 500, body: '{}' }));
    t.allow(500);
    await open_account_menu(page);
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.locator('.error').getByText('HTTP 500').waitFor();
    await page.unroute('**/v1/me/sessions*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('this session').waitFor();
  },
};

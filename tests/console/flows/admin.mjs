// What holds for every screen of administrators: curl, no secret in it, fresh logins, hostile text.
import { execFileSync } from 'node:child_process';
import {
  admin_token,
  base,
  check,
  make_account,
  must,
  same,
  settled,
  with_setting,
} from '../harness.mjs';
import { org_paths } from './org.mjs';
import { platform_paths } from './platform.mjs';

const admin = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
const dialog = (page) => page.locator('dialog[open]').last();
const button = (place, name) => place.getByRole('button', { name, exact: true });
const audited = (page, action) =>
  page
    .getByRole('status', { name: 'Last change' })
    .getByText(action, { exact: true })
    .waitFor({ state: 'attached' });

// What two calls in a row need not say alike: time goes on, and the calls themselves are counted.
const goes_on = /^\/v1\/admin\/(access-log|nodes|dashboard|usage)|^\/v1\/audit-logs/;
// Whose session it is differs as well: the command's is another one.
const moves = new Set(['last_seen_at', 'current']);
const told = (text) => JSON.parse(text, (name, value) => moves.has(name) || value);
const members_of = (value) =>
  Array.isArray(value) ? Object.keys(value[0] ?? {}) : Object.keys(value);

async function same_by_curl(page, path, token, answers) {
  await button(page, 'curl').click();
  const commands = (await page.locator('.curl pre').allInnerTexts()).slice(1);
  check(commands.length > 0, `${path} has no commands`);
  for (const command of commands) {
    const output = execFileSync('bash', ['-c', command], {
      env: {
        ...process.env,
        HOSTLER_URL: base,
        HOSTLER_TOKEN: token,
        CURL_CA_BUNDLE: process.env.CA_CERT,
      },
    }).toString();
    const asked = command.match(/\$HOSTLER_URL"?'?([^"'\s]+)/)[1];
    const [found, wanted] = [told(output), told(await answers.get(asked))];
    if (goes_on.test(asked)) same(members_of(found), members_of(wanted), command);
    else same(found, wanted, command);
  }
  await page.keyboard.press('Escape');
}

async function every_curl(t, account, paths, token) {
  const page = await t.page();
  await t.sign_in(page, account, '/account');
  const answers = new Map();
  page.on('response', (response) => {
    if (!response.url().includes('/v1/') || response.request().method() !== 'GET') return;
    answers.set(
      response.url().slice(base.length),
      response.text().catch(() => ''),
    );
  });
  for (const path of paths) {
    await t.open(page, path);
    await settled(page);
    await same_by_curl(page, path, token, answers);
  }
}

const hostile = `<script>alert(1)</script> "><img src=x onerror=alert(1)> ${'W'.repeat(90)} אבג`;

// One of everything that the platform shows and others fill.
async function fill(token) {
  const account = await make_account();
  const username = `${account.login} ${hostile}`.slice(0, 64);
  await must('PATCH', '/v1/me', { username }, { token: account.token });
  const { org_id } = await must('GET', '/v1/me', undefined, { token: account.token });
  const post = (path, body) => must('POST', path, body, { token });
  await post('/v1/admin/credits/adjust', { org_id, amount: 5, note: hostile });
  const gives = [{ key: 'limit.personas', value: '7', value_type: 'integer' }];
  const named = { name: `p-${account.login}`, display_name: hostile, entitlements: gives };
  const plan = await post('/v1/plans', named);
  await post('/v1/subscriptions', {
    org_id,
    plan_id: plan.id,
    current_period_start: new Date().toISOString(),
    current_period_end: new Date(Date.now() + 864e5).toISOString(),
  });
  const override = { org_id, key: 'limit.api_keys', value: '3', value_type: 'integer' };
  await post('/v1/entitlement-overrides', { ...override, reason: hostile });
  const key = `f.${account.login}${'w'.repeat(90)}`.slice(0, 128);
  await post('/v1/feature-flags', { key, description: hostile, default_value: false });
  const batch_id = hostile.slice(0, 190);
  const codes = { count: 1, type: 'credits', value: '5', batch_id };
  await post('/v1/admin/redemption-codes/batch', codes);
  return { account, org_id, key };
}

export const flows = {
  'every "copy as curl" of an organization answers what the screen shows': async (t) => {
    const account = await make_account();
    await every_curl(t, account, org_paths, account.token);
  },

  'every "copy as curl" of the platform answers what the screen shows': async (t) => {
    await every_curl(t, admin, platform_paths, await admin_token());
  },

  'no secret that an administrator types is in what is copied': async (t) => {
    t.allow(422, 409);
    const page = await t.page();
    await t.sign_in(page, admin, '/platform/mail');
    await settled(page);
    const shows = async (variable, secret) => {
      await button(page, 'curl').click();
      const shown = await dialog(page).innerText();
      check(shown.includes(variable), `no ${variable}: ${shown.slice(-400)}`);
      check(!shown.includes(secret), `${secret} is shown`);
      await page.keyboard.press('Escape');
    };
    const before = await must('GET', '/v1/admin/email/config', undefined, {
      token: await admin_token(),
    });
    const server = page.locator('section.panel', {
      has: page.getByRole('heading', { name: 'Mail server' }),
    });
    await server.getByLabel('Port').fill('0');
    await server.getByLabel('Password').fill('smtp-pass-0123');
    await button(server, 'Change').click();
    await server.locator('.fault, .error').first().waitFor();
    await shows('HOSTLER_SMTP_PASSWORD', 'smtp-pass-0123');
    const token = await admin_token();
    const after = await must('GET', '/v1/admin/email/config', undefined, { token });
    same(after, before, 'mail as it was');

    await t.open(page, '/platform/settings?q=captcha.secret_key');
    await button(page, 'Change: captcha.secret_key').click();
    await dialog(page).getByLabel('Value').fill('captcha-secret-0123');
    await button(dialog(page), 'Change').click();
    await audited(page, 'settings.set');
    await shows('HOSTLER_SETTING', 'captcha-secret-0123');
    await must('DELETE', '/v1/admin/settings/captcha.secret_key', undefined, { token });
  },

  'what asks for a fresh login is done after it, and shown in the audit log': async (t) => {
    t.allow(403);
    const page = await t.page();
    await t.sign_in(page, admin, '/platform/settings?q=limit.repair_turns');
    // So long that what is done behind the proof still finds it fresh.
    await with_setting('auth.fresh_seconds', 3, async () => {
      await settled(page);
      await page.waitForTimeout(4500);
      await button(page, 'Change: limit.repair_turns').click();
      await dialog(page).getByLabel('Value').fill('3');
      await button(dialog(page), 'Change').click();
      await dialog(page).getByLabel('Password').fill(admin.password);
      await page.keyboard.press('Enter');
      await audited(page, 'settings.set');
    });
    const token = await admin_token();
    await must('DELETE', '/v1/admin/settings/limit.repair_turns', undefined, { token });
  },

  'every screen of the platform with absurd names: 360 pixels, dark and light': async (t) => {
    const { account, org_id, key } = await fill(await admin_token());
    const paths = [
      ...platform_paths.filter((path) => !/credits|entitlements/.test(path)),
      `/platform/users/${account.id}`,
      `/platform/credits?org_id=${org_id}`,
      `/platform/entitlements?org_id=${org_id}`,
      `/platform/flags?flag=${key}`,
      '/audit?scope=platform',
    ];
    for (const [scheme, width] of [
      ['dark', 360],
      ['light', 1280],
    ]) {
      const page = await t.page({ scheme, width, height: 780 });
      await t.sign_in(page, admin);
      for (const path of paths) {
        await t.open(page, path);
        await page.locator('main h1').waitFor();
        await settled(page);
        await t.fits(page, `${path} at ${width}`);
        await t.axe(page, `${path} ${scheme}`);
        same(await page.locator('main :is(script, img)').count(), 0, `nodes of text: ${path}`);
      }
    }
  },
};

// Parts of flows: a browser, an account, mails, and a watch over everything that a page does. A
// page that breaks its policy, asks another origin, logs an error, or calls an operation that
// docs/openapi.yaml does not name fails its flow.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { draw_sheet } from './sheets.mjs';

const require = createRequire(join(process.env.CONSOLE_TOOLS, 'x.js'));
const { chromium } = require('playwright-core');
const axe_source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
process.removeAllListeners('warning');

export const base = process.env.BASE_URL;
export const home = `${base}/console/`;
const wait_ms = 10_000;

export function check(is_true, what) {
  if (!is_true) throw new Error(what);
}
export function same(found, wanted, what) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  check(one === other, `${what}: ${one}, not ${other}`);
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Tries until `look()` gives something true, which it gives back.
export async function until(look, what, ms = wait_ms) {
  for (const end = Date.now() + ms; ; await pause(40)) {
    const found = await look();
    if (found) return found;
    check(Date.now() < end, `never came: ${what}`);
  }
}

// ------------------------------------------------ the service from outside

// {status, body, headers}; `token` may be a key.
export async function call(method, path, body, { token, headers = {} } = {}) {
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const answer = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
  return { status: response.status, body: answer, headers: response.headers };
}

export async function must(method, path, body, options) {
  const answer = await call(method, path, body, options);
  check(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

// Like `must`, for a call that a setting changed just now allows: that takes effect within a
// second.
export async function must_soon(method, path, body, options) {
  let answer;
  await until(async () => {
    answer = await call(method, path, body, options);
    return answer.status < 300;
  }, `${method} ${path}`).catch((error) => {
    throw new Error(`${error.message}: ${answer.status} ${JSON.stringify(answer.body)}`);
  });
  return answer.body;
}

let accounts = 0;
export const password = 'correct horse battery';

// {login, email, password, token, id}
export async function make_account(login = `ada${process.pid}x${++accounts}`) {
  const email = `${login.replace(/\W/g, '')}@example.org`;
  const made = await must('POST', '/v1/auth/register', { login, email, password });
  return { login, email, password, token: made.access_token, id: made.user_id };
}

// Token of a fresh login, as settings need it.
export async function admin_token() {
  const login = { login: process.env.ADMIN_LOGIN, password: process.env.ADMIN_PASSWORD };
  return (await must('POST', '/v1/auth/login', login)).access_token;
}

// Sets a setting while `work` runs.
export async function with_setting(key, value, work) {
  const path = `/v1/admin/settings/${key}`;
  await must('PUT', path, { value }, { token: await admin_token() });
  try {
    await work();
  } finally {
    await must('DELETE', path, undefined, { token: await admin_token() });
  }
}

// A run to its end; gives its id.
export async function make_run(token, content, { thread = {}, run = {} } = {}) {
  const made = await must('POST', '/v1/threads', thread, { token });
  await must('POST', `/v1/threads/${made.id}/messages`, { content }, { token });
  const { run_id } = await must('POST', `/v1/threads/${made.id}/runs`, run, { token });
  await until(async () => {
    const { status } = await must('GET', `/v1/runs/${run_id}`, undefined, { token });
    return ['completed', 'failed', 'cancelled'].includes(status);
  }, `the end of run ${run_id}`);
  return run_id;
}

// ------------------------------------------------ mails

function decoded(part) {
  const [head, ...rest] = part.split(/\r?\n\r?\n/);
  const body = rest.join('\n\n');
  if (/transfer-encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString();
  if (!/transfer-encoding: quoted-printable/i.test(head)) return body;
  const bytes = body
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (whole, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

// The plain text of the newest mail to `email` that `has` finds something in (a RegExp); gives the
// match.
export function mail_with(email, has) {
  const folder = process.env.MAIL_DIR;
  return until(() => {
    for (const name of readdirSync(folder).sort().reverse()) {
      if (!name.endsWith('.eml')) continue;
      const text = readFileSync(join(folder, name), 'utf8');
      if (!new RegExp(`^To:.*${email}`, 'mi').test(text)) continue;
      const boundary = text.match(/boundary="?([^"\r\n;]+)/)?.[1];
      const parts = boundary ? text.split(`--${boundary}`) : [text];
      const plain = parts.find((part) => /content-type: text\/plain/i.test(part)) ?? text;
      const found = decoded(plain.replace(/^\r?\n/, '')).match(has);
      if (found) return found;
    }
    return null;
  }, `a mail to ${email} with ${has}`);
}

// ------------------------------------------------ the browser

let browser;
export async function start_browser() {
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
}
export const stop_browser = () => browser?.close();

const document_of = (await must('GET', '/v1/openapi.json')).paths;
const known_calls = Object.entries(document_of).map(([path, operations]) => ({
  pattern: new RegExp(
    `^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`,
  ),
  methods: Object.keys(operations).map((name) => name.toUpperCase()),
}));
const is_documented = (method, path) =>
  known_calls.some((each) => each.pattern.test(path) && each.methods.includes(method));

// Whose faults those of a page are: a page may be handed from flow to flow.
const owners = new WeakMap();
// The requests of a page that are not over.
const loading = new WeakMap();
const calm_looks = 2;

// One flow: a browser of its own, and everything that is wrong in it. `left`: the pages that the
// flow before it kept for this one, by name.
export class Flow {
  faults = [];
  calls = [];
  #contexts = [];
  #kept = new Map();
  #newest = null;
  #allowed = new Set();
  #loses_connections = false;
  #origins = new Set([base]);

  constructor(left = new Map()) {
    this.#kept = left;
    for (const page of left.values()) owners.set(page, this);
  }

  // A page of somebody else's that the user goes to.
  allow_origin(url) {
    this.#origins.add(new URL(url).origin);
  }

  // Answers of these statuses belong to the flow; Chromium logs an error for each.
  allow(...statuses) {
    statuses.forEach((status) => this.#allowed.add(status));
  }

  // A daemon, a pool or the network dies in the flow: what was under way is lost.
  allow_lost_connections() {
    this.allow(502, 503, 504);
    this.#loses_connections = true;
  }

  // A page in a new browser, or with `of` another tab of that page's browser.
  async page({
    width = 1280,
    height = 860,
    scheme = 'light',
    locale = 'en-GB',
    timezone = undefined,
    of,
  } = {}) {
    let context = of?.context();
    if (!context) {
      context = await browser.newContext({
        ignoreHTTPSErrors: true,
        viewport: { width, height },
        colorScheme: scheme,
        locale,
        timezoneId: timezone,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      context.setDefaultTimeout(wait_ms);
      this.#contexts.push(context);
      await context.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) => {
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
        });
        globalThis.alert = () => console.error('something ran: alert');
      });
    }
    const page = await context.newPage();
    this.#watch(page);
    this.#newest = page;
    return page;
  }

  // A page that the later flows of a file may share, so that they need not sign in: the one of that
  // name, made by `make()` if it is missing. {page, is_new}
  async kept_page(name, make) {
    const known = this.#kept.get(name);
    if (known) {
      this.#newest = known;
      return { page: known, is_new: false };
    }
    const page = await make();
    this.#contexts = this.#contexts.filter((context) => context !== page.context());
    this.#kept.set(name, page);
    return { page, is_new: true };
  }

  #watch(page) {
    owners.set(page, this);
    page.on('pageerror', (error) => owners.get(page).#note(`page error: ${error.stack}`));
    page.on('console', (message) => owners.get(page).#hear(message));
    page.on('request', (request) => owners.get(page).#see(request));
    const under_way = new Set();
    loading.set(page, under_way);
    page.on('request', (request) => is_stream(request) || under_way.add(request));
    page.on('requestfinished', (request) => under_way.delete(request));
    page.on('requestfailed', (request) => under_way.delete(request));
  }

  #note(fault) {
    this.faults.push(fault);
  }

  #hear(message) {
    if (message.type() !== 'error') return;
    const status = Number(message.text().match(/responded with a status of (\d+)/)?.[1]);
    const is_lost = this.#loses_connections && /net::ERR_/.test(message.text());
    if (is_lost || this.#allowed.has(status)) return;
    this.#note(`console: ${message.text()} (${message.location().url})`);
  }

  #see(request) {
    const url = new URL(request.url());
    if (!this.#origins.has(url.origin)) this.#note(`another origin: ${url}`);
    if (!url.pathname.startsWith('/v1/')) return;
    this.calls.push({ method: request.method(), path: url.pathname + url.search });
    if (!is_documented(request.method(), url.pathname)) {
      this.#note(`no documented call: ${request.method()} ${url.pathname}`);
    }
    if (/token|hst_|hat_/.test(url.search)) this.#note(`a secret in an address: ${url}`);
  }

  // Opens a screen of the console; `path` is what stands after the #.
  async open(page, path = '/') {
    await page.goto(`${home}#${path}`);
    await page.locator('#app > .frame').waitFor();
  }

  // Signs in by the form, and waits until the frame is there.
  async sign_in(page, account, path = '/') {
    await this.open(page, path);
    await page.getByLabel('Login or email address').fill(account.login);
    await page.getByLabel('Password', { exact: true }).fill(account.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.locator('nav').waitFor({ state: 'attached' });
  }

  // A page of a new account that is signed in.
  async signed_in(options = {}, path = '/') {
    const account = await make_account();
    const page = await this.page(options);
    await this.sign_in(page, account, path);
    return { account, page };
  }

  // A serious finding of axe in the page is a fault.
  async axe(page, what) {
    if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe_source);
    const { violations } = await page.evaluate(() =>
      globalThis.axe.run(document, {
        resultTypes: ['violations'],
        rules: { region: { enabled: false } },
      }),
    );
    for (const found of violations) {
      if (!['serious', 'critical'].includes(found.impact)) continue;
      const where = found.nodes.slice(0, 3).map((node) => node.html.slice(0, 120));
      this.faults.push(`axe, ${what}: ${found.id}: ${found.help}: ${where.join(' | ')}`);
    }
  }

  // No element sticks out of the page to the right.
  async fits(page, what) {
    if (process.env.SHEETS) await draw_sheet(browser, page, settled, what);
    const over = await page.evaluate(() => {
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= width) return '';
      const wide = [...document.querySelectorAll('main *')].filter(
        (each) => each.getBoundingClientRect().right > width + 1,
      );
      return `${document.documentElement.scrollWidth} of ${width}: ${wide
        .slice(0, 3)
        .map((each) => each.outerHTML.slice(0, 100))
        .join(' | ')}`;
    });
    check(!over, `${what} is too wide: ${over}`);
  }

  // Picture of the newest page, for readers of a failure.
  async picture(path) {
    await this.#newest?.screenshot({ path }).catch(() => {});
  }

  // Closes all but the pages that are kept, which it gives: to the next flow, or to `forget`.
  async end() {
    for (const context of this.#contexts) await context.close();
    return this.#kept;
  }
}

const is_stream = (request) => request.headers().accept?.includes('text/event-stream');

export async function forget(kept) {
  for (const page of kept.values()) await page.context().close();
}

// The idle state: nothing loads, nothing moves, and that for some frames: what a screen asks for is
// asked after its first one. Streams of events do not count, they have no end.
export async function settled(page) {
  const look = async (frames) => {
    for (; frames > 0; --frames) await new Promise((resolve) => requestAnimationFrame(resolve));
    return document.querySelector('main .working') === null;
  };
  let calm = 0;
  await until(async () => {
    // A page that goes to another one has not settled.
    const is_still = await page.evaluate(look, 3).catch(() => false);
    calm = is_still && loading.get(page).size === 0 ? calm + 1 : 0;
    return calm === calm_looks;
  }, 'a page where nothing loads');
}

// Opens the menu at the avatar: account, sessions, language, theme, sign-out.
export const open_account_menu = (page) =>
  page.getByRole('button', { name: /^Account menu of / }).click();

// Presses Tab until what has the focus has a name that begins so, or that fits a RegExp.
export async function tab_to(page, name) {
  for (let presses = 0; presses < 60; ++presses) {
    await page.keyboard.press('Tab');
    const found = await page.evaluate(() => {
      const one = document.activeElement;
      return one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent;
    });
    if (name instanceof RegExp ? name.test(found.trim()) : found.trim().startsWith(name)) return;
  }
  throw new Error(`Tab never comes to ${name}`);
}

// Steps of several flows in the chat, and in the stack below it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { make_account, must, until } from './harness.mjs';

function kill(program) {
  const file = `${process.env.VAR}/run/${program}.pid`;
  process.kill(parseInt(readFileSync(file, 'utf8'), 10), 'SIGKILL');
}

// Services of a flow besides `t` of the harness: an account and its calls, and programs that may
// die.
class Stage {
  constructor(t) {
    this.t = t;
  }

  new_user() {
    return make_account();
  }

  call(method, path, body, token) {
    return must(method, path, body, { token });
  }

  async signed_in(user, path, options) {
    const page = await this.t.page(options);
    await this.t.sign_in(page, user, path);
    return page;
  }

  async second_tab(page, path) {
    const next = await this.t.page({ of: page });
    await this.t.open(next, path);
    await next.locator('nav').waitFor({ state: 'attached' });
    return next;
  }

  eventually(look, what, limit_ms) {
    return until(look, what, limit_ms);
  }

  kill_daemon() {
    this.t.allow_lost_connections();
    kill('hostler-runner');
  }

  kill_pool() {
    this.t.allow_lost_connections();
    kill('hostler-api');
  }

  // Dead programs are started; live ones are left alone.
  start_stack() {
    execFileSync('dev/stack/up', { stdio: 'ignore' });
  }

  // Like the page of another tab that is shown.
  hide(page) {
    return page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
  }

  show(page) {
    return page.evaluate(() => {
      delete document.hidden;
      document.dispatchEvent(new Event('visibilitychange'));
    });
  }
}

// { title: work(t) } of [[title, work(stage)]].
export const staged = (list) =>
  Object.fromEntries(list.map(([title, work]) => [title, (t) => work(new Stage(t))]));

export const composer = (page) => page.getByRole('textbox', { name: 'Message', exact: true });

export async function open_thread(h, user, thread_id, options) {
  const page = await h.signed_in(user, `/threads/${thread_id}`, options);
  await composer(page).waitFor();
  return page;
}

export async function new_thread(h, user, options) {
  const thread = await h.call('POST', '/v1/threads', { title: 'A thread' }, user.token);
  return { page: await open_thread(h, user, thread.id, options), thread_id: thread.id };
}

export async function send(page, text) {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

// Facts of the newest run.
export const answer_text = (page) =>
  page.locator('article.run').last().locator('.answer').last().textContent();

// The texts of all turns with single blanks. A turn of an answer may be an element of its own.
export const one_line = (text) => text.replaceAll(/\s+/g, ' ').trim();
// By paragraphs: what is out of sight has no innerText, and its textContent no blank lines.
export const answers_on_one_line = async (page) =>
  one_line(
    await page
      .locator('.answer')
      .evaluateAll((all) =>
        all
          .flatMap((one) => [...one.querySelectorAll('p, pre')].map((part) => part.textContent))
          .join(' '),
      ),
  );

export async function newest_run(h, user, thread_id) {
  const [run] = await h.call('GET', `/v1/threads/${thread_id}/runs`, undefined, user.token);
  return run;
}

// The stored message of the thread's newest run, when it has ended.
export async function final_text(h, user, thread_id, limit_ms = 60_000) {
  let run;
  await h.eventually(
    async () => {
      run = await newest_run(h, user, thread_id);
      return run !== undefined && !['running', 'waiting_for_input'].includes(run.status);
    },
    'the run ends',
    limit_ms,
  );
  const messages = await h.call('GET', `/v1/threads/${thread_id}/messages`, undefined, user.token);
  return messages.findLast(({ run_id }) => run_id === run.run_id)?.content ?? '';
}

export const weather_tool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city, now.',
  parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
};

export async function give_further(page, further) {
  await page.getByText('More options for this run').click();
  for (const [label, value] of Object.entries(further)) {
    await page.getByLabel(label).fill(typeof value === 'string' ? value : JSON.stringify(value));
  }
}

// Every event of a run.
export async function events_of(h, user, run_id) {
  const text = await h.call('GET', `/v1/runs/${run_id}/events?follow=false`, undefined, user.token);
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
}

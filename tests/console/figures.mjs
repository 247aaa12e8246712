// Costs of the console in a browser, as a line of JSON on stdout; for tests/bench/console.py, which
// gives the number of rounds. Each round has a new browser profile: nothing is cached, nobody
// signed in.
import { Flow, home, make_account, must, start_browser, stop_browser } from './harness.mjs';

const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const usable = {
  sign_in: '#app form input',
  threads: '.threads ul li a',
};

// The page tells when what is asked for was drawn, and what it did that took long.
function watch_page(selector) {
  globalThis.long_tasks = [];
  new PerformanceObserver((list) =>
    globalThis.long_tasks.push(...list.getEntries().map((entry) => entry.duration)),
  ).observe({ type: 'longtask', buffered: true });
  const look = () => {
    if (!document.querySelector(selector)) return requestAnimationFrame(look);
    // In the frame behind this one it is on the screen.
    return requestAnimationFrame(() => (globalThis.usable_ms = performance.now()));
  };
  look();
}

async function first_page(page, selector) {
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.addInitScript(watch_page, selector);
  await page.goto(home);
  await page.waitForFunction(() => globalThis.usable_ms !== undefined);
  await page.waitForLoadState('networkidle');
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter((entry) => entry.name.includes('/console/'))
      .reduce((sum, entry) => sum + entry.encodedBodySize, 0),
  );
  return { ms: await page.evaluate(() => globalThis.usable_ms), requests: asked.length, bytes };
}

// One answer at 50 tokens a second: how far apart frames were, and what took longer than 50 ms.
async function stream(page, token, thread_id) {
  await page.goto(`${home}#/threads/${thread_id}`);
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  const text = 'The **quick** fox `jumps`, and\\n\\n- one\\n- two\\n\\n'.repeat(seconds * 5);
  const content = `[delay 20] [say ${text}]`;
  await must('POST', `/v1/threads/${thread_id}/messages`, { content }, { token });
  await must('POST', `/v1/threads/${thread_id}/runs`, {}, { token });
  await page.reload();
  await page.locator('.answer li').first().waitFor();
  return page.evaluate(
    (ms) =>
      new Promise((resolve) => {
        globalThis.long_tasks.splice(0);
        const gaps = [];
        const begin = performance.now();
        let last = begin;
        const frame = (now) => {
          gaps.push(now - last);
          last = now;
          if (now - begin < ms) return requestAnimationFrame(frame);
          gaps.sort((a, b) => a - b);
          return resolve({
            frame_p99_ms: gaps[Math.floor(gaps.length * 0.99)],
            task_ms: Math.max(0, ...globalThis.long_tasks),
          });
        };
        requestAnimationFrame(frame);
      }),
    seconds * 1000,
  );
}

await start_browser();
const account = await make_account();
const { token } = account;
const threads = [];
for (let made = 0; made < 50; ++made) {
  threads.push(await must('POST', '/v1/threads', { title: `Thread ${made}` }, { token }));
}
const found = [];
for (let round = 0; round < rounds; ++round) {
  const flow = new Flow();
  const sign_in = await first_page(await flow.page(), usable.sign_in);
  const page = await flow.page();
  await flow.sign_in(page, account, '/account');
  const signed_in = await flow.page({ of: page });
  const profile = await signed_in.context().newCDPSession(signed_in);
  await profile.send('Network.clearBrowserCache');
  const list = await first_page(signed_in, usable.threads);
  found.push({ sign_in, list, stream: await stream(signed_in, token, threads[round].id) });
  if (flow.faults.length > 0) throw new Error(flow.faults.join('\n'));
  await flow.end();
}
await stop_browser();
console.log(JSON.stringify(found));

// The palette's search beside screens and commands: threads with the place of the text, runs,
// members, API keys, personas, and for platform administrators users. The palette loads it when
// somebody types.
import { api, with_query } from './api.mjs';
import { error_of, is_abort } from './error.mjs';
import { may, session } from './session.mjs';

const rows_max = 5;
const limit = 200;
const before_chars = 32;
const after_chars = 90;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const part_of_id = /^[0-9a-f-]{6,36}$/;

const words_of = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);

// The text around the first of `words` in it: {before, match, after}, on one line; null when none
// is there.
export function snippet_of(text, words) {
  const line = text.replace(/\s+/g, ' ');
  const small = line.toLowerCase();
  const places = words.map((word) => ({ word, at: small.indexOf(word) }));
  const found = places.filter(({ at }) => at >= 0).sort((one, other) => one.at - other.at)[0];
  // Lower case may be longer: then nothing is marked.
  if (!found || small.length !== line.length) return null;
  const { at, word } = found;
  const from = Math.max(0, at - before_chars);
  const to = at + word.length;
  return {
    before: (from > 0 ? '…' : '') + line.slice(from, at),
    match: line.slice(at, to),
    after: line.slice(to, to + after_chars) + (to + after_chars < line.length ? '…' : ''),
  };
}

// The message that has most of the words, the newest of several.
function best_message(messages, words) {
  const has_word = (content) => (word) => content.toLowerCase().includes(word);
  const count = ({ content }) => words.filter(has_word(content)).length;
  let best = null;
  for (const message of messages) {
    const hits = typeof message.content === 'string' ? count(message) : 0;
    if (hits > 0 && hits >= (best?.hits ?? 0)) best = { message, hits };
  }
  return best?.message ?? null;
}

// ------------------------------------------------ threads

async function place_in(thread, words, signal) {
  const query = { limit: 100 };
  const { body } = await api.get(`/v1/threads/${thread.id}/messages`, { query, signal });
  const message = best_message(body, words);
  if (!message) return thread_row(thread);
  const row = thread_row(thread);
  return {
    ...row,
    snippet: snippet_of(message.content, words),
    query: { message: message.id },
  };
}

const thread_row = ({ id, title }) => ({
  id: `thread ${id}`,
  kind: 'thread',
  label: title ?? '',
  path: `/threads/${id}`,
});

// First the threads, then the same with the place of the text.
async function find_threads(text, signal, on_found) {
  if (!may('data.threads.read')) return;
  const query = { q: text, limit: rows_max };
  const { body } = await api.get('/v1/threads/search', { query, signal });
  on_found(body.map(thread_row));
  const words = words_of(text);
  const rows = await Promise.all(
    body.map((thread) =>
      place_in(thread, words, signal).catch((error) => {
        if (is_abort(error)) throw error;
        return thread_row(thread);
      }),
    ),
  );
  on_found(rows);
}

// ------------------------------------------------ runs by id

const run_row = ({ run_id, status }) => ({
  id: `run ${run_id}`,
  kind: 'run',
  label: run_id,
  is_code: true,
  status,
  path: `/runs/${run_id}`,
});

async function run_or_thread(id, signal) {
  try {
    return [run_row((await api.get(`/v1/runs/${id}`, { signal })).body)];
  } catch (error) {
    if (is_abort(error) || error_of(error).status !== 404) throw error;
  }
  return [];
}

// ------------------------------------------------ lists that are read once for an open palette

const has = (...texts) => {
  const whole = texts.filter(Boolean).join(' ').toLowerCase();
  return (words) => words.every((word) => whole.includes(word));
};

// `read(signal)` gives the items; `fits(item)` a function of the words; `row(item)` what is shown.
const sources = {
  member: {
    may: () => true,
    path: () => with_query(`/v1/orgs/${session.get().me.org_id}/members`, { limit }),
    fits: (one) => has(one.username, one.login, one.email),
    row: (one) => ({
      label: one.username,
      about: one.email,
      path: '/organization',
      query: { row: one.user_id },
      id: `member ${one.user_id}`,
    }),
  },
  persona: {
    may: () => may('data.personas.manage'),
    path: () => with_query('/v1/personas', { scope: 'org', limit }),
    fits: (one) => has(`${one.persona_key}@${one.version}`, one.display_name, one.description),
    row: (one) => ({
      label: `${one.persona_key}@${one.version}`,
      about: one.display_name ?? '',
      path: `/personas/${one.id}`,
      id: `persona ${one.id}`,
    }),
  },
  key: {
    may: () => may('data.api_keys.manage'),
    path: () => with_query('/v1/api-keys', { limit }),
    fits: (one) => has(one.name, one.key_prefix),
    row: (one) => ({
      label: one.name,
      about: `${one.key_prefix}…`,
      path: '/keys',
      query: { row: one.id },
      id: `key ${one.id}`,
    }),
  },
  run: {
    may: () => may('data.runs.read'),
    path: () => with_query('/v1/runs', { limit }),
    fits: (one) => ([word]) => one.run_id.includes(word),
    row: run_row,
  },
};

async function find_users(text, signal, on_found) {
  if (!session.get().me.platform_admin) return;
  const query = { q: text, limit: rows_max };
  const { body } = await api.get('/v1/admin/users', { query, signal });
  on_found(
    body.map((one) => ({
      id: `user ${one.id}`,
      kind: 'user',
      label: one.username,
      about: one.email,
      path: `/platform/users/${one.id}`,
    })),
  );
}

// A search of one open palette. `find(text, signal, on_found(kind, rows))` calls back for each kind
// as its answer comes, and ends with all of them. What cannot be read is not found.
export function begin_search() {
  const lists = new Map();
  const list_of = (kind) => {
    const { get } = /** @type {any} */ (api);
    if (!lists.has(kind)) lists.set(kind, get(sources[kind].path()).then(({ body }) => body));
    return lists.get(kind);
  };
  const find_listed = async (kind, words, signal, on_found) => {
    const { fits, row } = sources[kind];
    const items = await list_of(kind);
    if (signal.aborted) return;
    const found = items.filter((one) => fits(one)(words)).slice(0, rows_max);
    on_found(found.map((one) => ({ kind, ...row(one) })));
  };
  return async function find(text, signal, on_found) {
    const words = words_of(text);
    const to = (kind) => (rows) => signal.aborted || on_found(kind, rows);
    const kinds = ['member', 'persona', 'key'].filter((kind) => sources[kind].may());
    const jobs = [
      find_threads(text, signal, to('thread')),
      find_users(text, signal, to('user')),
      ...kinds.map((kind) => find_listed(kind, words, signal, to(kind))),
    ];
    if (words.length === 1 && part_of_id.test(words[0]) && sources.run.may()) {
      jobs.push(
        uuid.test(words[0])
          ? run_or_thread(words[0], signal).then(to('run'))
          : find_listed('run', words, signal, to('run')),
      );
    }
    await Promise.allSettled(jobs);
  };
}

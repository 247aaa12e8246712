// One thread as somebody looks at it: its messages, its runs, the story of the run that is live,
// and what the reader does to them. Called by the chat screen; draws nothing. State is what GET
// answers and what the stream brings; nothing is assumed of a call before it is answered.
//
// state  { thread, messages, older, runs, stories, live, stream, sending, problem, is_loaded }
//   messages  ascending; `older` is the address of the page before them, or null
//   runs      the newest ones, newest first;  stories  of runs by run_id, where events were read
//   live      the run_id that is followed, or null;  stream  the newest state of stream.mjs
//   sending   { content, options, message_id?, problem? } of what is not with the server yet, or
//     null
import { follow_events } from './stream.mjs';
import { advance, empty_story, story_of } from './story.mjs';

/** @typedef {import('../types/calls').Next<Schemas['Message'][]>} Older */
/** @typedef {import('../types/calls').Schemas} Schemas */

const page_size = 50;
const poll_ms = 15_000;
// Statuses that stay as they are, however often it is asked.
const final = new Set([403, 404]);

// Characters that no title may contain (lib/control_characters.h); lines of code begin with tabs.
const unsaid = /[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;
const title_chars = 80;

// The title of a thread that begins with this message: its first line, as far as titles go.
export function title_from(content) {
  const [line] = content.trim().split('\n');
  return [...line.replace(unsaid, ' ').trim()].slice(0, title_chars).join('');
}

const has_ended = ({ status }) => ['completed', 'failed', 'cancelled'].includes(status);

// By id, which is a UUIDv7: what is younger is larger.
function merged(old_items, new_items, id_of) {
  const all = new Map([...old_items, ...new_items].map((item) => [id_of(item), item]));
  return [...all.values()].sort((a, b) => (id_of(a) < id_of(b) ? -1 : 1));
}

export class Conversation {
  // `api` of ../api.mjs, `run_events` of service.mjs. `on_change(state)` after each change.
  // `is_shown()`: whether anybody looks; nothing is asked again while nobody does.
  /**
   * @param {{api: import('../types/calls').Api, run_events: any, thread_id: string,
   *   on_change: (state: any) => void, is_shown?: () => boolean, new_key?: () => string}} given
   */
  constructor({
    api,
    run_events,
    thread_id,
    on_change,
    is_shown = () => true,
    new_key = () => crypto.randomUUID(),
  }) {
    this.api = api;
    this.run_events = run_events;
    this.thread_id = thread_id;
    this.on_change = on_change;
    this.is_shown = is_shown;
    this.new_key = new_key;
    /** @type {`/v1/threads/${string}`} */
    this.path = `/v1/threads/${thread_id}`;
    this.state = {
      thread: null,
      messages: [],
      older: null,
      runs: [],
      stories: new Map(),
      live: null,
      stream: null,
      sending: null,
      problem: null,
      is_loaded: false,
    };
    this.subscription = null;
    this.readings = new Set(); // subscriptions of read_story
    this.looked_at = Promise.resolve(false); // when what came into sight has been read
    this.is_closed = false;
    this.beginning = null;
    this.is_sent = false; // what is sent waits only for being seen
    this.syncing = null;
    this.next_sync = null;
    this.on_run_end = null; // (run_id, story)
    this.on_wait = null; // the live run began or ceased to wait
    this.on_unsent = null; // (content): of who left, which was not stored
    this.timer = setInterval(() => this.is_shown() && this.poll(), poll_ms);
  }

  set(members) {
    if (this.is_closed) return;
    this.state = { ...this.state, ...members };
    this.on_change(this.state);
  }

  close() {
    const { sending } = this.state;
    if (!this.is_closed && sending?.problem) this.give_back(sending);
    this.is_closed = true;
    clearInterval(this.timer);
    this.subscription?.close();
    this.readings.forEach((reading) => reading.close());
  }

  // The state on the server. Calls while one is under way share the next one.
  sync() {
    if (this.next_sync) return this.next_sync;
    const begin = () => {
      this.next_sync = null;
      this.syncing = this.load().finally(() => (this.syncing = null));
      return this.syncing;
    };
    if (!this.syncing) return begin();
    this.next_sync = this.syncing.then(begin, begin);
    return this.next_sync;
  }

  async load() {
    if (this.is_closed) return;
    try {
      // First whether a run is active: when none is, what is read behind that holds its answer.
      const thread = await this.api.get(this.path);
      const [messages, runs] = await Promise.all([
        this.api.get(`${this.path}/messages`, { query: { limit: page_size } }),
        this.api.get(`${this.path}/runs`, { query: { limit: page_size } }),
      ]);
      this.take(thread.body, messages, runs.body);
      const sending = this.is_sent ? null : this.state.sending;
      this.set({ is_loaded: true, problem: null, sending });
      await this.explain_newest();
    } catch (problem) {
      this.set({ problem });
    }
  }

  // The newest page replaces what is known of its range: an answer that a retry hid is gone. Where
  // more than a page came meanwhile, nothing says what lies between: it is read as older ones are.
  take(thread, { body: page, next }, runs) {
    const { messages } = this.state;
    const first = page[0]?.id ?? '';
    const kept = messages.at(-1)?.id >= first ? messages.filter(({ id }) => id < first) : [];
    const is_joined = kept.length > 0;
    this.set({
      thread,
      messages: [...kept, ...page],
      older: is_joined ? this.state.older : next,
      runs,
    });
    this.follow(thread.active_run_id);
  }

  // Why the newest run has no answer is in its events.
  async explain_newest() {
    const [newest] = this.state.runs;
    const is_bad = newest !== undefined && ['failed', 'cancelled'].includes(newest.status);
    if (is_bad && !this.state.stories.has(newest.run_id)) await this.read_story(newest.run_id);
  }

  async load_older() {
    const { body, next } = await this.api.get(/** @type {Older} */ (this.state.older));
    this.set({ messages: merged(body, this.state.messages, ({ id }) => id), older: next });
  }

  // All events of a run that nobody follows. `is_asked`: somebody wants to know why they are not
  // there.
  read_story(run_id, { is_asked = true } = {}) {
    if (this.is_closed) return Promise.resolve();
    return new Promise((resolve) => {
      const gathered = [];
      const reading = follow_events({
        is_live: false,
        connect: (call) => this.run_events(run_id, { ...call, is_live: false }),
        on_events: (events) => gathered.push(...events),
        on_state: ({ phase, problem }) => {
          if (phase === 'ended') {
            this.set_story(run_id, { ...story_of(gathered), is_read_later: true });
          }
          if (phase === 'failed' && is_asked) {
            this.set_story(run_id, { ...empty_story, problem });
          }
          if (phase !== 'ended' && phase !== 'failed') return;
          this.readings.delete(reading);
          resolve();
        },
      });
      this.readings.add(reading);
    });
  }

  // The events of a run that came into sight, one run after the other; what cannot be read stays
  // unread until somebody asks for it. True when they are there.
  look_at(run_id) {
    const read = async () => {
      if (!this.is_closed && !this.state.stories.has(run_id)) {
        await this.read_story(run_id, { is_asked: false });
      }
      return this.state.stories.has(run_id);
    };
    this.looked_at = this.looked_at.then(read);
    return this.looked_at;
  }

  set_story(run_id, story) {
    this.set({ stories: new Map(this.state.stories).set(run_id, story) });
  }

  // A run that the thread names no more has ended, but its last events may still be on their way:
  // who follows it reads them first, and what comes next is found then.
  follow(run_id) {
    const { live, stories } = this.state;
    if (run_id === live) return;
    if (this.subscription !== null && !stories.get(live).ended) return;
    this.subscription?.close();
    this.subscription = null;
    this.set({ live: run_id, stream: null });
    if (run_id === null || this.is_closed) return;
    const known = this.state.stories.get(run_id);
    const story = known && !known.problem ? known : empty_story;
    this.set_story(run_id, story);
    const subscription = follow_events({
      connect: (call) => this.run_events(run_id, call),
      after_seq: story.last_seq,
      on_events: (events) => {
        const before = this.state.stories.get(run_id);
        const after = advance(before, events);
        this.set_story(run_id, after);
        if (after.wait?.key !== before.wait?.key) this.on_wait?.();
      },
      on_state: (stream) => {
        if (this.subscription !== null && this.subscription !== subscription) return;
        this.set({ stream });
        if (stream.phase === 'ended' || stream.phase === 'failed') this.end_of(run_id, story);
      },
    });
    this.subscription = subscription;
  }

  // The thread names the run that comes next, if one was queued. `before`: the story with which
  // following it began; an end that was known then is no news.
  end_of(run_id, before) {
    this.subscription = null;
    this.set({ live: null });
    this.sync();
    const story = this.state.stories.get(run_id);
    if (before.ended === null || story !== before) this.on_run_end?.(run_id, story);
  }

  wake() {
    this.subscription?.wake();
  }

  async poll() {
    const { live, problem, is_loaded } = this.state;
    if (this.syncing || live !== null) return;
    // Reads a part that failed as soon as it can be read.
    if (problem !== null && !final.has(problem.status)) return void (await this.sync());
    if (!is_loaded) return;
    try {
      const { body: thread } = await this.api.get(this.path);
      const after = this.state.messages.at(-1)?.id;
      const { body: fresh } = await this.api.get(`${this.path}/messages`, {
        query: { limit: 1, after },
      });
      if (fresh.length > 0 || thread.active_run_id !== null) await this.sync();
      else this.set({ thread });
    } catch {
      // The next one may be answered.
    }
  }

  // The message, then a run. What was stored stays stored when the run is refused: `send_again`
  // goes on from there, with the same keys, so that nothing is stored twice.
  async send(content, options) {
    const keys = { message: this.new_key(), run: this.new_key() };
    this.set({ sending: { content, options, keys } });
    await this.try_to_send({});
  }

  async send_again(further = {}) {
    // Two clicks may come before the buttons are gone.
    if (this.state.sending?.problem) await this.try_to_send(further);
  }

  async try_to_send(further) {
    const sending = { ...this.state.sending, problem: undefined };
    sending.options = { ...sending.options, ...further };
    // Another body is another call.
    if (Object.keys(further).length > 0) sending.keys = { ...sending.keys, run: this.new_key() };
    this.set({ sending });
    try {
      if (!sending.message_id) {
        const { body: message } = await this.api.post(
          `${this.path}/messages`,
          { content: sending.content },
          { idempotency_key: sending.keys.message },
        );
        sending.message_id = message.id;
        this.set({
          sending: { ...sending },
          messages: merged(this.state.messages, [message], ({ id }) => id),
        });
      }
      await this.api.post(`${this.path}/runs`, sending.options, {
        idempotency_key: sending.keys.run,
      });
      // Until the run is seen the message is no unanswered one.
      this.is_sent = true;
      await this.sync();
      this.is_sent = false;
      this.set({ sending: null });
    } catch (problem) {
      if (this.is_closed) this.give_back(sending);
      this.set({ sending: { ...sending, problem } });
    }
  }

  give_back({ content, message_id }) {
    if (!message_id) this.on_unsent?.(content);
  }

  // A message that was not stored returns to the composer. A stored message stays.
  abandon() {
    const { sending } = this.state;
    this.set({ sending: null });
    return sending?.message_id ? '' : (sending?.content ?? '');
  }

  // Once, however often it is asked for until it is seen.
  retry() {
    return this.begin(() =>
      this.api.post(`${this.path}:retry`, undefined, { idempotency_key: this.new_key() }),
    );
  }

  // A run for what is stored and unanswered: to retry would take the answer before it away.
  answer(options) {
    return this.begin(() =>
      this.api.post(`${this.path}/runs`, options, { idempotency_key: this.new_key() }),
    );
  }

  begin(call) {
    this.beginning ??= call()
      .then(() => this.sync())
      .finally(() => (this.beginning = null));
    return this.beginning;
  }

  async stop(run_id) {
    await this.api.post(`/v1/runs/${run_id}:cancel`);
    if (run_id !== this.state.live) await this.sync();
  }
}

// The items on the screen, from above: messages of users, and runs with the message that each
// wrote. A run stands where it began, so that a message posted meanwhile follows it.
export function items_of({ messages, runs, older, stories }) {
  const by_id = new Map(runs.map((run) => [run.run_id, run]));
  const answers = new Map();
  const rows = [];
  for (const message of messages) {
    if (message.run_id === null)
      rows.push({ kind: 'message', at: message.created_at, key: message.id, message });
    else answers.set(message.run_id, [...(answers.get(message.run_id) ?? []), message]);
  }
  const first = older === null ? '' : (messages[0]?.created_at ?? '');
  const shown = new Set(answers.keys());
  runs.forEach((run, index) => {
    // A retry took its answer away.
    const is_gone = run.status === 'completed' && index > 0 && !answers.has(run.run_id);
    if (run.created_at >= first && !is_gone) shown.add(run.run_id);
  });
  for (const run_id of shown) {
    const run = by_id.get(run_id) ?? null;
    const wrote = answers.get(run_id) ?? [];
    rows.push({
      kind: 'run',
      key: run_id,
      run_id,
      run,
      answers: wrote,
      at: run?.created_at ?? wrote[0].created_at,
      story: stories.get(run_id) ?? null,
    });
  }
  return rows.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.key < b.key ? -1 : 1));
}

export { has_ended };

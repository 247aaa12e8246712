// The story of a run for a viewer: a pure reducer from events (docs/openapi.yaml, RunEvent)
// to a story of text, reasoning, tools and waits. Called by chat, runs and inbox. It never changes
// a story that it was given, and takes any log, cut anywhere.
//
// story   { run, status, turns, entries, wait, retrying, output, ended, last_seq, log }
//   run      data of run.started and `at`, or null
//   status   queued (nothing seen), running, waiting, completed, failed, cancelled
//   entries  in order, each with `key`, `turn`, `seq` and `at` (of its first event), `until`
//     (when it was done):
//     text, thinking   { text, ends_at, follows? }   ends_at: the seq of its newest piece;
//                        follows: a blank line stands before it in the message
//     tool             { id, name, arguments, state, cut?, result?, error?, duration_ms? }
//                        cut: why the model did not finish the call
//     wait             { request_id, wait_kind, message, id?, name?, arguments?, calls?, schema?,
//                        server_id?, server_key?, origin?, authorization_server?, scopes?,
//                        is_open }
//     resumed          { attempt }                  repair { attempt, errors }
//     fell_back        { from, to, reason }         another route of the chain takes the turn
//     output           { output }                   handed { calls }: what an OpenAI client
//       answers
//     left_out         { name, reason }             a tool that the model is not offered
//     cut              { finish_reason }            the provider ended the answer, not the model
//   wait     the open one, or null;   retrying  data of run.retrying while it is the newest
//   ended    { type, code?, message?, reason?, at } or null
//   log      every event so far; to be read alone
//   is_read_later  it was read when the run had ended
import { is_terminal } from './stream.mjs';

/** @type {{status: string, turns: number, [member: string]: any}} */
export const empty_story = Object.freeze({
  run: null,
  status: 'queued',
  turns: 0,
  follows: false, // the next text stands behind a blank line
  turn_phase: 'none', // says; calls; none: whatever comes next begins a turn
  entries: Object.freeze([]),
  wait: null,
  retrying: null,
  output: undefined,
  ended: null,
  last_seq: 0,
  log: Object.freeze([]),
});

const open_states = new Set(['called', 'confirming', 'asking', 'connecting', 'owed', 'webhook']);
// The state of the call that asks, by what is asked.
const asking_states = { tool_confirmation: 'confirming', authorization: 'connecting' };

// The story's copy is changed in place while one batch of events is taken in.
class Draft {
  constructor(story) {
    this.turns = 0;
    Object.assign(this, story);
    this.entries = [...story.entries];
    this.log = [...story.log];
  }

  add(event, kind, members) {
    this.entries.push({
      kind,
      key: `${event.seq}`,
      turn: this.turns,
      seq: event.seq,
      at: event.created_at,
      ...members,
    });
  }

  change_tool(id, members) {
    const index = this.entries.findLastIndex((entry) => entry.kind === 'tool' && entry.id === id);
    if (index >= 0) this.entries[index] = { ...this.entries[index], ...members };
    return index >= 0;
  }

  // A turn speaks, then calls: to speak again, or to call when results have come, begins the next.
  enter(phase) {
    const goes_on = this.turn_phase === phase || (this.turn_phase === 'says' && phase === 'calls');
    if (!goes_on) this.turns += 1;
    this.turn_phase = phase;
  }

  say(event, { content = '', channel }) {
    this.enter('says');
    const kind = channel === 'thinking' ? 'thinking' : 'text';
    const last = this.entries.at(-1);
    const goes_on = last?.kind === kind && last.turn === this.turns;
    // The blank line between the texts of two turns, which are entries of their own here.
    if (!goes_on && kind === 'text' && content === '\n\n') {
      this.follows = true;
      return;
    }
    if (goes_on) {
      this.entries[this.entries.length - 1] = {
        ...last,
        text: last.text + content,
        ends_at: event.seq,
        until: event.created_at,
      };
    } else {
      const members = { text: content, ends_at: event.seq, until: event.created_at };
      const follows = kind === 'text' && this.follows;
      if (kind === 'text') this.follows = false;
      this.add(event, kind, follows ? { ...members, follows } : members);
    }
  }

  call(event, { tool_call_id: id, tool_name: name, arguments: given }) {
    this.enter('calls');
    if (this.change_tool(id, {})) return;
    this.add(event, 'tool', { id, name, arguments: given, state: 'called' });
  }

  take_result(event, { tool_call_id: id, tool_name: name, result, error, duration_ms }) {
    this.turn_phase = 'none';
    const failed = error?.code === 'tool.denied' ? 'denied' : 'failed';
    const members = {
      state: error ? failed : 'done',
      result,
      error,
      duration_ms,
      until: event.created_at,
    };
    if (!this.change_tool(id, members)) this.add(event, 'tool', { id, name, ...members });
  }

  begin_wait(event, data) {
    const { request_id, kind, message, tool_call_id, tool_name, arguments: given, calls } = data;
    const { schema, server_id, server_key, origin, authorization_server, scopes } = data;
    const { name = tool_name, renews_at } = data; // of a budget
    this.status = 'waiting';
    this.turn_phase = 'none';
    this.add(event, 'wait', {
      request_id,
      wait_kind: kind,
      message,
      id: tool_call_id,
      name,
      renews_at,
      arguments: given,
      calls,
      schema,
      server_id,
      server_key,
      origin,
      authorization_server,
      scopes,
      is_open: true,
    });
    this.wait = this.entries.at(-1);
    if (kind === 'tool_results') {
      const is_ours = ({ answered_by }) => answered_by === 'client';
      for (const call of calls ?? [])
        this.owe(call.tool_call_id, is_ours(call) ? 'owed' : 'webhook');
    } else {
      this.change_tool(tool_call_id, { state: asking_states[kind] ?? 'asking' });
    }
  }

  owe(id, state) {
    const tool = this.entries.find((entry) => entry.kind === 'tool' && entry.id === id);
    if (tool !== undefined && open_states.has(tool.state)) this.change_tool(id, { state });
  }

  end_wait(event) {
    if (this.wait === null) return;
    const { key, id } = this.wait;
    const index = this.entries.findLastIndex((entry) => entry.key === key);
    if (index >= 0)
      this.entries[index] = { ...this.entries[index], is_open: false, until: event.created_at };
    if (id !== undefined) this.change_tool(id, { state: 'called' });
    this.wait = null;
    this.status = 'running';
  }

  // Discards the text after that number. Turns are discarded whole. An entry that would be cut in
  // two is built again without the discarded part.
  discard_after(seq) {
    const is_said = (entry) => entry.kind === 'text' || entry.kind === 'thinking';
    if (this.entries.some((entry) => is_said(entry) && entry.seq <= seq && entry.ends_at > seq)) {
      const { log } = this;
      const stays = ({ seq: at, type }) => at <= seq || type !== 'message.delta';
      Object.assign(this, story_of(log.filter(stays)), { log });
      this.entries = [...this.entries];
    }
    this.entries = this.entries.filter((entry) => !is_said(entry) || entry.seq <= seq);
  }

  // The turn begins again: its text is void.
  turn_again(discard_after_seq) {
    this.discard_after(discard_after_seq);
    if (this.turn_phase === 'says') this.turns -= 1;
    this.turn_phase = 'none';
  }

  resume(event, { attempt, discard_after_seq }) {
    this.turn_again(discard_after_seq);
    this.add(event, 'resumed', { attempt });
  }

  fall_back(event, { from, to, reason, discard_after_seq }) {
    this.turn_again(discard_after_seq);
    this.add(event, 'fell_back', { from, to, reason });
  }

  repair(event, { attempt, errors, discard_after_seq }) {
    this.discard_after(discard_after_seq);
    this.turn_phase = 'none';
    this.add(event, 'repair', { attempt, errors });
  }

  end(event, data) {
    this.end_wait(event);
    this.status = event.type.slice('run.'.length);
    this.ended = { type: event.type, at: event.created_at, ...data };
    this.entries = this.entries.map((entry) =>
      entry.kind === 'tool' && open_states.has(entry.state)
        ? { ...entry, state: 'stopped', until: event.created_at }
        : entry,
    );
  }

  hand_over(event, { calls = [] }) {
    this.add(event, 'handed', { calls });
    for (const call of calls) this.change_tool(call.tool_call_id, { state: 'handed' });
  }

  take(event) {
    const data = event.data ?? {};
    if (event.type !== 'run.retrying') this.retrying = null;
    if (this.status === 'queued') this.status = 'running';
    switch (event.type) {
      case 'run.started':
        this.run = { ...data, at: event.created_at };
        break;
      case 'message.delta':
        this.say(event, data);
        break;
      case 'tool.call':
        this.call(event, data);
        break;
      case 'tool.result':
        this.take_result(event, data);
        break;
      case 'tool.cut':
        this.change_tool(data.tool_call_id, { cut: data.reason });
        break;
      case 'tool.left_out':
        this.add(event, 'left_out', { name: data.tool_name, reason: data.reason });
        break;
      case 'run.waiting_for_input':
        this.begin_wait(event, data);
        break;
      case 'run.input_provided':
        this.end_wait(event);
        break;
      case 'run.retrying':
        this.retrying = data;
        break;
      case 'run.resumed':
        this.resume(event, data);
        break;
      case 'run.fell_back':
        this.fall_back(event, data);
        break;
      case 'output.repair':
        this.repair(event, data);
        break;
      case 'run.output':
        this.output = data.output;
        this.add(event, 'output', { output: data.output });
        break;
      case 'run.tool_calls':
        this.hand_over(event, data);
        break;
      case 'output.cut':
        this.add(event, 'cut', { finish_reason: data.finish_reason });
        break;
      default:
        if (is_terminal(event.type)) this.end(event, data);
    }
    this.last_seq = event.seq;
    this.log.push(event);
  }
}

// The story with further events. What it has by number is passed over, but for a `run.resumed`
// that is numbered at or below the last: what was numbered from there on was lost, and goes.
export function advance(story, events) {
  let draft = new Draft(story);
  for (const event of events) {
    if (event.seq <= draft.last_seq) {
      if (event.type !== 'run.resumed') continue;
      const known = draft.log.find((each) => each.seq === event.seq);
      if (known?.type === event.type && known.created_at === event.created_at) continue;
      draft = new Draft(story_of(draft.log.filter((each) => each.seq < event.seq)));
    }
    draft.take(event);
  }
  return Object.freeze({ ...draft });
}

export const story_of = (events) => advance(empty_story, events);

// The answer as the run's message has it: the texts of all turns, a blank line between two.
export const answer_of = (story) =>
  story.entries
    .filter((entry) => entry.kind === 'text')
    .map((entry) => (entry.follows ? `\n\n${entry.text}` : entry.text))
    .join('');

// Whether there is more to it than the text of the answer.
export const has_steps = (story) =>
  story.entries.some(({ kind }) => kind !== 'text') || story.ended?.type !== 'run.completed';

// The calls of an open wait whose results are missing, and which a human may give.
export function owed_calls(story) {
  const open = new Set(story.entries.filter((entry) => entry.state === 'owed').map(({ id }) => id));
  return (story.wait?.calls ?? []).filter((call) => open.has(call.tool_call_id));
}

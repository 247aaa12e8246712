// When a run did what: its story as spans of time, for the timeline. Pure.
//
// A span is { kind: queue | model | tool | wait | retry | failed, turn, label, state?, from, to,
// key, entry?, event? }; times in ms, `to` null while it goes on. `entry`: of the story; `event`:
// of its log.

const ms = (text) => (text ? Date.parse(text) : null);
const latest = (times) => times.reduce((most, time) => Math.max(most, time ?? 0), 0);

// A model's turn begins when all before it was done, and ends with its last word or call.
function model_span(turn, entries, begun) {
  const own = entries.filter(
    (entry) => entry.turn === turn && ['text', 'thinking', 'tool'].includes(entry.kind),
  );
  if (own.length === 0) return null;
  const before = entries.slice(0, entries.indexOf(own[0]));
  const from = Math.min(
    latest([begun, ...before.map((entry) => ms(entry.until ?? entry.at))]),
    ms(own[0].at),
  );
  const to = latest(own.map((entry) => (entry.kind === 'tool' ? ms(entry.at) : ms(entry.until))));
  return { kind: 'model', turn, label: '', from, to, key: `turn ${turn}` };
}

function entry_span(entry) {
  const to = ms(entry.until);
  const { turn, key } = entry;
  if (entry.kind === 'wait') {
    return {
      kind: 'wait',
      turn,
      label: entry.wait_kind,
      from: ms(entry.at),
      to: entry.is_open ? null : to,
      key,
      entry,
    };
  }
  // How long the call itself took, where the tool says so: it may have waited for others before.
  const from =
    to !== null && entry.duration_ms >= 0
      ? Math.max(ms(entry.at), to - entry.duration_ms)
      : ms(entry.at);
  return { kind: 'tool', turn, label: entry.name, state: entry.state, from, to, key, entry };
}

// Calls of a model that failed and were made again: each lasts until the next event.
function retry_spans(log) {
  return log.flatMap((event, at) => {
    if (event.type !== 'run.retrying') return [];
    const next = log[at + 1];
    const key = `retry ${event.seq}`;
    const to = next ? ms(next.created_at) : null;
    const { attempt, reason } = event.data;
    const from = ms(event.created_at);
    return [{ kind: 'retry', turn: attempt, label: reason, from, to, key, event }];
  });
}

// How a run failed: from the last thing that it did until `failed_at`.
function failed_span(story, begun, spans) {
  const { ended } = story;
  if (ended?.type !== 'run.failed') return [];
  const to = ms(ended.at);
  const from = Math.min(to, latest([begun, ...spans.map((span) => span.to)]));
  const event = story.log.at(-1);
  return [{ kind: 'failed', turn: story.turns, label: ended.code, from, to, key: 'failed', event }];
}

// `created_at`: when the run was asked for.
export function spans_of(story, created_at) {
  const { entries } = story;
  const first = story.log[0];
  if (first === undefined) return [];
  const begun = ms(story.run?.at ?? first.created_at);
  const spans = [];
  if (created_at && begun - ms(created_at) >= 1) {
    spans.push({
      kind: 'queue',
      turn: 0,
      label: '',
      from: ms(created_at),
      to: begun,
      key: 'queue',
    });
  }
  for (let turn = 1; turn <= story.turns; ++turn) {
    const model = model_span(turn, entries, begun);
    if (model) spans.push(model);
    const own = entries.filter(
      (entry) => entry.turn === turn && (entry.kind === 'tool' || entry.kind === 'wait'),
    );
    spans.push(...own.map(entry_span));
  }
  spans.push(...retry_spans(story.log));
  spans.push(...failed_span(story, begun, spans));
  return spans.sort((one, other) => one.from - other.from);
}

// From the first to the last moment of all, at least 1 ms apart.
export function range_of(spans, now) {
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to ?? now));
  return { from, to: Math.max(to, from + 1) };
}

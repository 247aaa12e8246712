// Filters of the list of runs, and the rows of a run's timeline.
import assert from 'node:assert/strict';
import test from 'node:test';
import { asked_of, fits, first_id, is_past, sorted } from '../../../console/runs/filters.mjs';
import { spans_of } from '../../../console/runs/spans.mjs';
import { story_of } from '../../../console/chat/story.mjs';

const run = (more) => ({
  created_at: '2026-11-20T12:00:00Z',
  model: 'opus',
  persona_id: 'shop@2',
  total_cost_usd: 1,
  duration_ms: 5,
  ...more,
});
const none = { model: '', persona: '', since: '', until: '' };

test('a run fits its model, its persona with and without version, and its days', () => {
  assert.ok(fits(run(), none));
  assert.ok(fits(run(), { ...none, model: 'opus', persona: 'shop@2' }));
  assert.ok(fits(run(), { ...none, persona: 'shop' }));
  assert.ok(!fits(run(), { ...none, persona: 'sho' }));
  assert.ok(!fits(run(), { ...none, model: 'sonnet' }));
  assert.ok(fits(run(), { ...none, since: '2026-11-19', until: '2026-11-21' }));
  assert.ok(!fits(run(), { ...none, since: '2026-11-22' }));
  assert.ok(!fits(run(), { ...none, until: '2026-11-18' }));
  assert.ok(!is_past([run()], { since: '2026-11-19' }));
  assert.ok(is_past([run()], { since: '2026-11-22' }));
});

test('the service is asked from the last day on, and for one member of metadata', () => {
  const asked = asked_of({ status: 'failed', end_user: '', name: 'a', value: 'b', until: '' });
  assert.deepEqual(asked, { status: 'failed', end_user: '', before: '', 'metadata[a]': 'b' });
  assert.equal(first_id(0x0193_4a5b_6c7d), '01934a5b-6c7d-7000-8000-000000000000');
  const { before } = asked_of({ ...none, until: '2026-11-20' });
  assert.match(before, /^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-000000000000$/);
});

test('rows are sorted by cost and duration, the most first', () => {
  const rows = [1, null, 3].map((total_cost_usd) => run({ total_cost_usd }));
  const costs = sorted(rows, 'cost').map((one) => one.total_cost_usd);
  assert.deepEqual(costs, [3, 1, null]);
  assert.equal(sorted(rows, ''), rows);
});

// ------------------------------------------------ the timeline

const at = (second) => new Date(Date.UTC(2026, 10, 20, 12, 0, second)).toISOString();
const log = (...events) =>
  events.map(([type, second, data = {}], index) => ({
    seq: index + 1,
    type,
    created_at: at(second),
    data,
  }));

test('a retry lasts until the next event, and a failure until failed_at', () => {
  const story = story_of(
    log(
      ['run.started', 0],
      ['run.retrying', 2, { attempt: 1, delay_ms: 500, reason: 'overloaded' }],
      ['run.failed', 7, { code: 'model.rejected', message: 'no' }],
    ),
  );
  const spans = spans_of(story, at(0));
  assert.deepEqual(
    spans.map(({ kind, label, from, to }) => [kind, label, from, to]),
    [
      ['retry', 'overloaded', Date.parse(at(2)), Date.parse(at(7))],
      ['failed', 'model.rejected', Date.parse(at(7)), Date.parse(at(7))],
    ],
  );
});

test('a call that failed keeps its state, and its entry has input and output', () => {
  const story = story_of(
    log(
      ['run.started', 0],
      ['tool.call', 1, { tool_call_id: 'a', tool_name: 'find', arguments: { n: 1 } }],
      ['tool.result', 3, { tool_call_id: 'a', tool_name: 'find', error: { code: 'tool.failed' } }],
      ['run.failed', 9, { code: 'runs.failed' }],
    ),
  );
  const tool = spans_of(story, at(0)).find(({ kind }) => kind === 'tool');
  assert.equal(tool.state, 'failed');
  assert.deepEqual(tool.entry.arguments, { n: 1 });
  const failed = spans_of(story, at(0)).at(-1);
  const times = [Date.parse(at(3)), Date.parse(at(9))];
  assert.deepEqual([failed.kind, failed.from, failed.to], ['failed', ...times]);
});

// The reducer of a run's events: what is shown after any log, however it was cut and sent.
import { cpu_ms } from './cpu_time.mjs';
import assert from 'node:assert/strict';
import test from 'node:test';

import {
  advance,
  answer_of,
  empty_story,
  owed_calls,
  story_of,
} from '../../../console/chat/story.mjs';
import { random_from } from './random.mjs';

const at = '2026-11-20T15:04:05.123Z';
const log_of = (...rows) =>
  rows.map(([type, data = {}], index) => ({ seq: index + 1, type, data, created_at: at }));
const say = (content) => ['message.delta', { content }];
const think = (content) => ['message.delta', { content, channel: 'thinking' }];
const call = (id, name = 'web_search', given = {}) => [
  'tool.call',
  { tool_call_id: id, tool_name: name, arguments: given },
];
const result = (id, value = 1) => [
  'tool.result',
  { tool_call_id: id, tool_name: 'web_search', result: value, duration_ms: 3 },
];
const started = [
  'run.started',
  { thread_id: 't', persona_id: 'normal@1', model: 'm', source: 'api' },
];

test('text, reasoning and tools stand in order, each in its turn', () => {
  const story = story_of(
    log_of(
      started,
      think('hm'),
      say('a'),
      say('b'),
      call('1'),
      call('2'),
      result('2'),
      result('1'),
      say('c'),
      ['run.completed'],
    ),
  );
  assert.deepEqual(
    story.entries.map(({ kind, turn, text, id, state }) => [kind, turn, text ?? id, state]),
    [
      ['thinking', 1, 'hm', undefined],
      ['text', 1, 'ab', undefined],
      ['tool', 1, '1', 'done'],
      ['tool', 1, '2', 'done'],
      ['text', 2, 'c', undefined],
    ],
  );
  assert.equal(story.status, 'completed');
  assert.equal(answer_of(story), 'abc');
});

test('text that was voided disappears, and its turn is counted once', () => {
  const story = story_of(
    log_of(
      started,
      say('kept'),
      call('1'),
      result('1'),
      think('x'),
      say('lost'),
      ['run.resumed', { attempt: 1, discard_after_seq: 4 }],
      say('again'),
    ),
  );
  assert.equal(answer_of(story), 'keptagain');
  assert.equal(story.turns, 2);
  assert.ok(!story.entries.some(({ kind }) => kind === 'thinking'));
});

test('a fall-back voids what the model said, and the turn goes on with the next model', () => {
  const hop = { from: 'a', to: 'b', reason: 'http_503', discard_after_seq: 4 };
  const skipped = { from: 'b', to: 'c', reason: 'budget', discard_after_seq: 7 };
  const story = story_of(
    log_of(
      started,
      say('kept'),
      call('1'),
      result('1'),
      think('x'),
      say('lost'),
      ['run.fell_back', hop],
      ['run.fell_back', skipped],
      say('again'),
      ['run.completed'],
    ),
  );
  assert.equal(answer_of(story), 'keptagain');
  assert.equal(story.turns, 2);
  assert.deepEqual(
    story.entries.map(({ kind, text, id, from, to, reason }) =>
      kind === 'fell_back' ? `${from}>${to} ${reason}` : (text ?? id),
    ),
    ['kept', '1', 'a>b http_503', 'b>c budget', 'again'],
  );
  assert.equal(story.log.length, 10);
});

test('a cut inside of an entry keeps what stands before it', () => {
  const story = story_of(
    log_of(
      started,
      say('ab'),
      ['run.retrying', { attempt: 1 }],
      say('cd'),
      say('ef'),
      ['output.repair', { attempt: 1, errors: [], discard_after_seq: 4 }],
      say('gh'),
    ),
  );
  assert.deepEqual(
    story.entries.map(({ kind, text }) => text ?? kind),
    ['abcd', 'repair', 'gh'],
  );
  assert.equal(story.log.length, 7);
});

test('a question is asked, answered, and has its result', () => {
  const rows = [
    started,
    call('1', 'ask_user'),
    [
      'run.waiting_for_input',
      {
        request_id: 'r',
        kind: 'question',
        message: 'Where?',
        tool_call_id: '1',
        tool_name: 'ask_user',
        arguments: {},
      },
    ],
  ];
  const waiting = story_of(log_of(...rows));
  assert.equal(waiting.status, 'waiting');
  assert.equal(waiting.wait.message, 'Where?');
  assert.equal(waiting.entries[0].state, 'asking');
  const goes_on = story_of(
    log_of(...rows, ['run.input_provided', { request_id: 'r' }], result('1', 'Graz')),
  );
  assert.equal(goes_on.wait, null);
  assert.equal(goes_on.status, 'running');
  assert.deepEqual([goes_on.entries[0].state, goes_on.entries[0].result], ['done', 'Graz']);
  assert.equal(goes_on.entries[1].is_open, false);
});

test('of the calls that a client owes, those with a result are not asked for', () => {
  const calls = ['1', '2', '3'].map((id) => ({
    tool_call_id: id,
    tool_name: 'f',
    arguments: {},
    answered_by: id === '3' ? 'webhook' : 'client',
  }));
  const story = story_of(
    log_of(
      started,
      call('1'),
      call('2'),
      call('3'),
      ['run.waiting_for_input', { request_id: 'r', kind: 'tool_results', message: '', calls }],
      result('1'),
    ),
  );
  assert.deepEqual(
    owed_calls(story).map(({ tool_call_id: id }) => id),
    ['2'],
  );
  assert.equal(story.entries[2].state, 'webhook');
});

test('the end stops what was open, and says why', () => {
  const story = story_of(
    log_of(started, say('so far'), call('1'), ['run.cancelled', { reason: 'requested' }]),
  );
  assert.equal(story.entries[1].state, 'stopped');
  assert.deepEqual([story.status, story.ended.reason], ['cancelled', 'requested']);
  const failed = story_of(log_of(['run.failed', { code: 'run.crashed', message: 'It crashed.' }]));
  assert.deepEqual([failed.ended.code, failed.ended.message], ['run.crashed', 'It crashed.']);
});

test('after a failover the log goes on from a run.resumed that is numbered lower', () => {
  const story = story_of(
    log_of(started, say('kept'), call('1'), result('1'), say('lost'), call('2')),
  );
  const resumed = {
    seq: 4,
    type: 'run.resumed',
    created_at: 'later',
    data: { attempt: 1, discard_after_seq: 3 },
  };
  const next = advance(story, [
    resumed,
    resumed,
    { seq: 5, type: 'message.delta', created_at: at, data: { content: 'new' } },
  ]);
  assert.deepEqual(
    next.entries.map(({ kind, text, id }) => text ?? id ?? kind),
    ['kept', '1', 'resumed', 'new'],
  );
  assert.equal(next.entries[1].state, 'called');
  assert.deepEqual(
    next.log.map(({ seq }) => seq),
    [1, 2, 3, 4, 5],
  );
});

// A model beside the reducer: the text of a log as the contract says it.
function text_of(log) {
  let said = [];
  for (const { seq, type, data } of log) {
    if (type === 'message.delta' && !data.channel) said.push([seq, data.content]);
    if (data.discard_after_seq !== undefined)
      said = said.filter(([at_seq]) => at_seq <= data.discard_after_seq);
  }
  return said.map(([, text]) => text).join('');
}

function random_log(random) {
  const length = 1 + random(60);
  const ids = ['1', '2', '3', '4'];
  const rows = Array.from({ length }, (_, index) => {
    const id = ids[random(4)];
    const cut = { attempt: 1, errors: [], discard_after_seq: random(index + 1) };
    return [
      say(`${index},`),
      say(`${index};`),
      think('t'),
      call(id),
      result(id),
      ['run.resumed', cut],
      ['run.fell_back', cut],
      ['output.repair', cut],
      ['run.retrying', { attempt: 1, delay_ms: 1, reason: 'x' }],
      ['run.unknown', {}],
      [
        'run.waiting_for_input',
        { request_id: id, kind: 'question', message: 'm', tool_call_id: id },
      ],
      [
        'run.waiting_for_input',
        {
          request_id: id,
          kind: 'tool_results',
          message: '',
          calls: [{ tool_call_id: id, tool_name: 'f', arguments: {}, answered_by: 'client' }],
        },
      ],
      ['run.input_provided', { request_id: id }],
      ['run.output', { output: 1 }],
    ][random(14)];
  });
  return log_of(started, ...rows, ...(random(2) ? [['run.completed']] : []));
}

function freeze_deep(value) {
  if (value && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze_deep);
  }
  return value;
}

test('what servers of tools ask stands at their call, and an answer that was cut says so', () => {
  const asks = (kind, more) => [
    'run.waiting_for_input',
    { request_id: kind, kind, message: 'm', tool_call_id: '1', tool_name: 'files__read', ...more },
  ];
  const called = [started, call('1', 'files__read')];
  const form = asks('elicitation', { schema: { type: 'object' } });
  const way = asks('authorization', { server_id: 's', server_key: 'files', url: '/console/#/x' });
  const asked = story_of(log_of(...called, form));
  assert.deepEqual([asked.wait.wait_kind, asked.wait.schema], ['elicitation', { type: 'object' }]);
  assert.equal(asked.entries[0].state, 'asking');
  const unconnected = story_of(log_of(...called, way));
  assert.deepEqual([unconnected.wait.server_id, unconnected.wait.server_key], ['s', 'files']);
  assert.equal(unconnected.entries[0].state, 'connecting');
  const on = story_of(log_of(...called, way, ['run.input_provided', { request_id: 'x' }]));
  assert.deepEqual([on.wait, on.entries[0].state], [null, 'called']);
  const cut = story_of(
    log_of(started, say('a'), ['output.cut', { finish_reason: 'length' }], ['run.completed']),
  );
  assert.deepEqual(
    cut.entries.map(({ kind, finish_reason }) => [kind, finish_reason]),
    [
      ['text', undefined],
      ['cut', 'length'],
    ],
  );
});

test('a call that was cut and a tool that was left out are told', () => {
  const story = story_of(
    log_of(
      started,
      ['tool.left_out', { tool_name: 'odd', reason: 'Its schema admits no arguments.' }],
      say('a'),
      call('1'),
      ['tool.cut', { tool_call_id: '1', reason: 'length' }],
      ['tool.result', { tool_call_id: '1', tool_name: 'f', error: { code: 'tool.args_cut' } }],
      say('\n\n'),
      say('b'),
    ),
  );
  assert.deepEqual(
    story.entries.map(({ kind, name, reason, cut, state }) => [kind, name ?? reason, cut, state]),
    [
      ['left_out', 'odd', undefined, undefined],
      ['text', undefined, undefined, undefined],
      ['tool', story.entries[2].name, 'length', 'failed'],
      ['text', undefined, undefined, undefined],
    ],
  );
  assert.equal(answer_of(story), 'a\n\nb');
});

test('of 2,000 random logs, cut anywhere and sent twice, the story is the same', () => {
  for (let seed = 1; seed <= 2000; ++seed) {
    const random = random_from(seed);
    const log = freeze_deep(random_log(random));
    const whole = story_of(log);
    assert.equal(answer_of(whole), text_of(log), `seed ${seed}`);
    let story = empty_story;
    for (let from = 0; from < log.length;) {
      const to = Math.min(log.length, from + 1 + random(7));
      story = freeze_deep(advance(story, log.slice(Math.max(0, from - random(4)), to)));
      from = to;
    }
    assert.deepEqual(story, whole, `seed ${seed}`);
    for (let end = 0; end <= log.length; ++end) {
      assert.equal(
        answer_of(story_of(log.slice(0, end))),
        text_of(log.slice(0, end)),
        `seed ${seed} until ${end}`,
      );
    }
  }
});

test('100,000 events of one answer cost no square', () => {
  const log = log_of(started, ...Array.from({ length: 100_000 }, () => say('word ')));
  const begun = cpu_ms();
  let story = empty_story;
  for (let from = 0; from < log.length; from += 500)
    story = advance(story, log.slice(from, from + 500));
  assert.equal(answer_of(story).length, 500_000);
  assert.ok(cpu_ms() - begun < 3000, `${cpu_ms() - begun} ms`);
});

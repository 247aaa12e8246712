// Cards for the things that a run waits for: an answer, a decision with arguments that may be
// edited before, the results of function calls, a server's form, an authorization. Used by chat,
// run and inbox.
import { api } from '../api.mjs';
import { html, useEffect, useId, useRef, useState } from '../html.mjs';
import { around_name, useWords } from '../i18n.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { is_writing } from '../ui/focus.mjs';
import {
  answer_run,
  input_bytes_max,
  is_too_long,
  on_ctrl_enter,
  useAnswer,
} from './answering.mjs';
import { BudgetWait } from './budget_wait.mjs';
import { Connect } from './connect.mjs';
import { Elicitation } from './elicitation.mjs';
import { Markdown } from './markdown_view.mjs';
import { is_same_json, read_json, show_json } from './show_json.mjs';
import { owed_calls } from './story.mjs';
import { JsonBlock } from './tool_view.mjs';

function Question({ run_id, wait, may_focus }) {
  const t = useWords();
  const id = useId();
  const field = useRef(null);
  const [text, set_text] = useState('');
  const { is_locked, is_sent, problem, send } = useAnswer(() => answer_run(run_id, wait, text));
  useEffect(() => {
    if (may_focus && !is_writing()) field.current?.focus({ preventScroll: true });
  }, []);
  const is_empty = text.trim() === '';
  const submit = () => !is_empty && !is_locked && !is_too_long(text) && send();
  return html`<form class="wait" onSubmit=${(event) => (event.preventDefault(), submit())}>
    <label for=${id}>${t('chat.wait.question')}</label>
    <${Markdown} text=${wait.message} />
    <textarea id=${id} ref=${field} dir="auto" rows="2" value=${text} disabled=${is_locked}
      onInput=${(event) => set_text(event.currentTarget.value)}
        onKeyDown=${on_ctrl_enter(submit)} />
    ${
      is_too_long(text) &&
      html`<p
      class="fault">${t('chat.too_long', { count: input_bytes_max })}</p>`
    }
    <${ErrorBox} error=${problem} />
    <div class="row"><button class="main" disabled=${is_locked || is_empty || is_too_long(text)}>
      ${t(is_sent ? 'chat.sent' : 'chat.answer')}
    </button></div>
  </form>`;
}

function Confirmation({ run_id, wait }) {
  const t = useWords();
  const id = useId();
  const asked = show_json(wait.arguments ?? {});
  const [text, set_text] = useState(asked);
  const [reason, set_reason] = useState('');
  const { is_locked, is_sent, problem, send } = useAnswer((content) =>
    answer_run(run_id, wait, content),
  );
  const { value, problem: fault } = read_json(text);
  const is_object = value !== null && typeof value === 'object' && !Array.isArray(value);
  const is_edited = text !== asked && !(is_object && is_same_json(value, wait.arguments ?? {}));
  // Sends the typed text unchanged, so that no number is rounded.
  const approved = is_edited ? `{"decision":"approve","arguments":${text}}` : 'approve';
  const denied = reason.trim() === '' ? 'deny' : JSON.stringify({ decision: 'deny', reason });
  // Enter in the field of the reason denies. It never sends the form, which approves.
  const on_reason_key = (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    if (reason.trim() !== '' && !is_locked) send(denied);
  };
  const message = fault ?? (is_object ? '' : t('chat.wants_object'));
  const is_bad = message !== '' || is_too_long(approved);
  const [before, after] = around_name('chat.wait.tool_confirmation');
  // The service's own question is the one above it.
  const says_more = wait.message && wait.message !== `Allow this call of ${wait.name}?`;
  return html`<form class="wait"
    onSubmit=${(event) => (event.preventDefault(), is_bad || send(approved))}>
    <p>${before}<code dir="ltr">${wait.name}</code>${after}</p>
    ${says_more && html`<p dir="auto">${wait.message}</p>`}
    <label for=${id}>${t('chat.arguments')}</label>
    <textarea id=${id} class="code" dir="ltr" spellcheck=${false} value=${text}
      disabled=${is_locked}
      rows=${Math.min(16, text.split('\n').length + 1)} aria-invalid=${is_bad}
      onInput=${(event) => set_text(event.currentTarget.value)}
      onKeyDown=${on_ctrl_enter(() => is_bad || is_locked || send(approved))} />
    ${message && html`<p class="fault" role="alert">${message}</p>`}
    ${
      is_too_long(approved) &&
      html`<p
      class="fault">${t('chat.too_long', { count: input_bytes_max })}</p>`
    }
    <${ErrorBox} error=${problem} />
    <div class="row">
      <button class="main" disabled=${is_locked || is_bad}>
        ${t(is_sent ? 'chat.sent' : is_edited ? 'chat.approve_edited' : 'chat.approve')}
      </button>
      <input aria-label=${t('chat.reason')} placeholder=${t('chat.reason')} dir="auto"
        value=${reason}
        maxlength="2000" disabled=${is_locked} onKeyDown=${on_reason_key}
          onInput=${(event) => set_reason(event.currentTarget.value)} />
      <button type="button" disabled=${is_locked}
        onClick=${() => send(denied)}>${t('chat.deny')}</button>
      ${
        is_edited &&
        html`<button type="button"
        onClick=${() => set_text(asked)}>${t('chat.undo')}</button>`
      }
    </div>
  </form>`;
}

// The result of one call: JSON, plain text, or the reason why it is missing.
function OwedCall({ run_id, call }) {
  const t = useWords();
  const id = useId();
  const key = useRef(crypto.randomUUID());
  const [kind, set_kind] = useState('json');
  const [text, set_text] = useState('');
  const [code, set_code] = useState('failed');
  const { is_locked, is_sent, problem, send } = useAnswer(() => {
    const given =
      kind === 'error'
        ? { error: { code, message: text } }
        : { output: kind === 'text' ? text : read_json(text).value };
    const results = [{ tool_call_id: call.tool_call_id, ...given }];
    return api.post(
      `/v1/runs/${run_id}/tool-results`,
      { results },
      { idempotency_key: key.current },
    );
  });
  const fault = kind === 'json' && text.trim() !== '' ? read_json(text).problem : undefined;
  const is_bad = fault !== undefined || (kind === 'json' && text.trim() === '');
  // Another answer is another call.
  const change = (set) => (event) => {
    key.current = crypto.randomUUID();
    set(event.currentTarget.value);
  };
  return html`<form class="owed" onSubmit=${(event) => (event.preventDefault(), is_bad || send())}>
    <p><code dir="ltr" class="tool-name">${call.tool_name}</code></p>
    <${JsonBlock} value=${call.arguments} label=${t('chat.arguments')} />
    <div class="row">
      <label for=${id}>${t('chat.result')}</label>
      <select aria-label=${t('chat.result_kind')} value=${kind} disabled=${is_locked}
        onChange=${change(set_kind)}>
        ${['json', 'text', 'error'].map(
          (each) => html`<option
          value=${each}>${t(`chat.result.${each}`)}</option>`,
        )}
      </select>
      ${
        kind === 'error' &&
        html`<input aria-label=${t('chat.error_code')} value=${code} maxlength="128" required
        disabled=${is_locked} onInput=${change(set_code)} />`
      }
    </div>
    <textarea id=${id} class=${kind === 'json' ? 'code' : ''}
      dir=${kind === 'json' ? 'ltr' : 'auto'} rows="3"
      spellcheck=${kind !== 'json'} value=${text} disabled=${is_locked} onInput=${change(set_text)}
      onKeyDown=${on_ctrl_enter(() => is_bad || is_locked || send())} />
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <${ErrorBox} error=${problem} />
    <div class="row"><button class="main" disabled=${is_locked || is_bad}>
      ${t(is_sent ? 'chat.sent' : 'chat.give_result')}
    </button></div>
  </form>`;
}

function ToolResults({ run_id, story }) {
  const t = useWords();
  const owed = owed_calls(story);
  const by_others = (story.wait.calls ?? []).filter(
    ({ answered_by }) => answered_by !== 'client',
  );
  return html`<div class="wait">
    <p>${t('chat.wait.tool_results')}</p>
    ${owed.map(
      (call) => html`<${OwedCall} key=${call.tool_call_id} run_id=${run_id}
      call=${call} />`,
    )}
    ${
      by_others.length > 0 &&
      owed.length === 0 &&
      html`<p class="note">
      ${t('chat.webhook_answers')} ${by_others.map(
        ({ tool_name }) => html`<code
        dir="ltr">${tool_name}</code> `,
      )}
    </p>`
    }
  </div>`;
}

// `is_mine`: only the creator answers. `may_focus`: the field takes the keyboard when it appears,
// from nobody who writes elsewhere.
export function WaitCard({ run_id, story, is_mine = true, may_focus = false }) {
  const t = useWords();
  const { wait } = story;
  if (wait === null) return null;
  if (wait.wait_kind === 'budget') return html`<${BudgetWait} wait=${wait} />`;
  if (!is_mine)
    return html`<p class="note">${t('chat.wait.others')} <bdi>${wait.message}</bdi></p>`;
  const key = wait.request_id;
  switch (wait.wait_kind) {
    case 'question':
      return html`<${Question} key=${key} run_id=${run_id} wait=${wait} may_focus=${may_focus} />`;
    case 'tool_confirmation':
      return html`<${Confirmation} key=${key} run_id=${run_id} wait=${wait} />`;
    case 'elicitation':
      return html`<${Elicitation} key=${key} run_id=${run_id} wait=${wait}
        may_focus=${may_focus} />`;
    case 'authorization':
      return html`<${Connect} key=${key} wait=${wait} may_focus=${may_focus} />`;
    default:
      return html`<${ToolResults} key=${key} run_id=${run_id} story=${story} />`;
  }
}

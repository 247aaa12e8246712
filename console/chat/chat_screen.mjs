// Threads and the chat in them: `#/threads`, `#/threads/new`, `#/threads/ID`.
import { api } from '../api.mjs';
import { useCommands } from '../commands.mjs';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { note_end } from '../inbox/waits.mjs';
import { set_title } from '../notices.mjs';
import { address, go } from '../router.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { watch_session } from '../token.mjs';
import { ask } from '../ui/dialog.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { useEditFocus } from '../ui/focus.mjs';
import { Icon } from '../ui/icon.mjs';
import { Composer, give_back } from './composer.mjs';
import { Conversation, has_ended, items_of, title_from } from './conversation.mjs';
import { RunItem, UserMessage } from './items.mjs';
import { changed, run_events, watch_changes } from './service.mjs';
import { ThreadList, title_of } from './thread_list.mjs';
import { useSought } from './sought.mjs';
import { useStickyScroll } from './sticky_scroll.mjs';

const firsts = new Map(); // thread_id -> the message that a new thread begins with
watch_session((what) => what === 'out' && firsts.clear());

// The conversation of the thread, as long as the screen shows it.
function useConversation(thread_id) {
  const [, draw] = useState(0);
  const current = useRef(null);
  if (current.current?.thread_id !== thread_id) {
    current.current?.close();
    let frame = 0;
    const conversation = new Conversation({
      api,
      run_events,
      thread_id,
      is_shown: () => !document.hidden,
      // However fast events come, the screen is drawn once a frame; a hidden tab draws later.
      on_change: () => {
        if (frame !== 0) return;
        frame = requestAnimationFrame(() => {
          frame = 0;
          draw((count) => count + 1);
        });
      },
    });
    conversation.on_run_end = () => {
      note_end();
      changed('threads', 'waits');
    };
    conversation.on_wait = () => changed('waits');
    const { me } = session.get();
    conversation.on_unsent = (content) => {
      if (session.get().me?.id === me?.id) give_back(thread_id, content);
    };
    current.current = conversation;
    conversation.sync();
    const first = firsts.get(thread_id);
    firsts.delete(thread_id);
    if (first) conversation.send(first.content, first.options).then(() => changed('threads'));
  }
  const conversation = current.current;
  useEffect(() => {
    const wake = () => {
      if (document.hidden) return;
      conversation.wake();
      conversation.poll();
    };
    document.addEventListener('visibilitychange', wake);
    addEventListener('online', wake);
    const ends = watch_changes([`thread ${thread_id}`], () => conversation.sync());
    return () => {
      document.removeEventListener('visibilitychange', wake);
      removeEventListener('online', wake);
      ends();
      conversation.close();
      current.current = null;
    };
  }, [thread_id]);
  return conversation;
}

/** @param {{thread: import('../types/calls').Schemas['Thread'], conversation: any}} props */
function Head({ thread, conversation }) {
  const t = useWords();
  const [draft, set_draft] = useState(null);
  const [problem, set_problem] = useState(null);
  const { field, opener } = useEditFocus(draft !== null);
  const attempt = async (call) => {
    try {
      await call();
      set_problem(null);
      changed('threads', `thread ${thread.id}`);
    } catch (thrown) {
      set_problem(thrown);
    }
  };
  const rename = (event) => {
    event.preventDefault();
    return attempt(async () => {
      const title = draft.trim() === '' ? null : draft.trim();
      await api.patch(`/v1/threads/${conversation.thread_id}`, { title });
      set_draft(null);
      await conversation.sync();
    });
  };
  const on_escape = (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    set_draft(null);
  };
  const remove = () =>
    attempt(async () => {
      const question = {
        title: t('chat.delete_thread'),
        text: title_of(thread, t),
        action: t('delete'),
      };
      if (!(await ask(question))) return;
      await api.del(`/v1/threads/${conversation.thread_id}`);
      conversation.close();
      go('/threads');
    });
  const icon_button = (name, label, further) => html`<button type="button" class="quiet icon-button"
    aria-label=${label} title=${label} ...${further}><${Icon} name=${name} /></button>`;
  return html`<header class="chat-head"><div class="chat-bar">
    <a class="back" href=${address('/threads')} aria-label=${t('chat.threads')}>‹</a>
    ${
      draft === null
        ? html`<h1 dir="auto">${title_of(thread, t)}</h1>
      ${
        thread.end_user &&
        html`<a class="mark" title=${t('chat.of_end_user')}
        href=${address(`/threads/${thread.id}`, { end_user: thread.end_user })}><bdi>
        ${thread.end_user}</bdi></a>`
      }
      ${thread.is_private && html`<span class="mark">${t('chat.private')}</span>`}
      <span class="space" />
      ${icon_button('rename', t('chat.rename'), {
        ref: opener,
        onClick: () => set_draft(thread.title ?? ''),
      })}
      ${icon_button('delete', t('delete'), { onClick: remove })}`
        : html`<form class="row" onSubmit=${rename}>
      <input ref=${field} aria-label=${t('chat.title')} dir="auto"
        maxlength="200" value=${draft}
        onInput=${(event) => set_draft(event.currentTarget.value)}
        onKeyDown=${on_escape} />
      <button class="main">${t('save')}</button>
      <button type="button" onClick=${() => set_draft(null)}>${t('cancel')}</button>
    </form>`
    }</div>
    <${ErrorBox} error=${problem} />
  </header>`;
}

// A message that was refused: why, and what the user can do about it.
function Unsent({ sending, conversation, on_back }) {
  const t = useWords();
  if (sending === null) return null;
  const { content, problem, message_id } = sending;
  const is_busy = problem?.code === 'runs.thread_busy';
  return html`<div class="unsent">
    ${!message_id && html`<div class="said pending" dir="auto">${content}</div>`}
    ${
      problem &&
      html`<${ErrorBox} error=${problem} />
      <div class="row">
        ${
          is_busy
            ? ['enqueue', 'interrupt'].map(
                (name) => html`<button type="button"
          onClick=${() => conversation.send_again({ multitask_strategy: name })}>
          ${t(`chat.strategy.${name}`)}</button>`,
              )
            : html`<button type="button"
              onClick=${() => conversation.send_again()}>${t('chat.send_again')}</button>`
        }
        <button type="button"
          onClick=${() => on_back(conversation.abandon())}>${t('cancel')}</button>
      </div>`
    }
  </div>`;
}

export function Chat({ thread_id, message_id = '' }) {
  const t = useWords();
  const { me } = useStore(session);
  // The user who began it here continues to write.
  const is_begun_here = useRef(firsts.has(thread_id));
  const conversation = useConversation(thread_id);
  const { state } = conversation;
  const { thread, live, stream, sending, problem, is_loaded } = state;
  const [fault, set_fault] = useState(null);
  const [given, set_given] = useState('');
  const items = items_of(state);
  const story = live === null ? null : state.stories.get(live);
  const { pane, content, is_away, to_end } = useStickyScroll();
  useSought(message_id, { conversation, items, pane, content });
  const title = thread ? title_of(thread, t) : '';
  useEffect(() => {
    set_title(title);
    return () => set_title('');
  }, [title]);
  // Said to those who do not see that the answer is there.
  const [said, set_said] = useState('');
  const was_live = useRef(live);
  useEffect(() => {
    if (live !== was_live.current) set_said(live === null ? t('chat.answered') : '');
    was_live.current = live;
  }, [live]);
  // A question is said too: it takes no keyboard from who writes. Where one had the keyboard, what
  // comes of its answer has it.
  const asked = story?.wait?.key;
  useEffect(() => {
    const is_for_budget = story?.wait?.wait_kind === 'budget';
    if (asked) set_said(t(is_for_budget ? 'chat.waits_for_budget' : 'chat.waits'));
    else if (document.activeElement === document.body) pane.current?.focus();
  }, [asked]);
  // Older messages come above what is read, which stays in its place.
  const below = useRef(null);
  useLayoutEffect(() => {
    const box = pane.current;
    if (box && below.current !== null) box.scrollTop = box.scrollHeight - below.current;
    // The button may be gone.
    if (below.current !== null && document.activeElement === document.body) box?.focus();
    below.current = null;
  }, [state.messages[0]?.id]);
  const attempt = (call) => async () => {
    try {
      set_fault(null);
      await call();
      changed('threads', 'waits', `thread ${thread_id}`);
    } catch (thrown) {
      set_fault(thrown);
    }
  };
  if (thread === null) {
    // A thread that does not exist must not fill a narrow screen, which has no list beside it.
    return html`<section class="chat">
      ${
        problem &&
        html`<a class="back" href=${address('/threads')}>‹ ${t('chat.threads')}</a>`
      }
      <${ErrorBox} error=${problem} on_retry=${
        problem?.status === 404 ? undefined : () => conversation.sync()
      } />
      ${!problem && html`<p class="note" role="status">${t('loading')}</p>`}</section>`;
  }
  const [newest] = state.runs;
  const is_idle = is_loaded && live === null && (!newest || has_ended(newest));
  // Its run was refused, or nobody asked for one.
  const is_unanswered = is_idle && sending === null && items.at(-1)?.kind === 'message';
  const can_retry = is_idle && !is_unanswered && newest !== undefined;
  // The pane scrolls to the next answer.
  const begin = (call) => () => {
    to_end();
    return attempt(call)();
  };
  const send = (content, options) => {
    // The answer may be the same once more.
    set_given('');
    return begin(() => conversation.send(content, options))();
  };
  return html`<section class="chat">
    <${Head} key=${thread_id} thread=${thread} conversation=${conversation} />
    <p class="unseen" role="status">${said}</p>
    <div class=${is_away ? 'pane is-away' : 'pane'} ref=${pane} tabindex="0" role="log"
      aria-label=${t('chat.messages')} aria-live="off"><div class="pane-content" ref=${content}>
      ${
        state.older &&
        html`<button type="button" onClick=${attempt(() => {
          below.current = pane.current.scrollHeight - pane.current.scrollTop;
          return conversation.load_older();
        })}>${t('chat.older')}</button>`
      }
      ${items.map((item) =>
        item.kind === 'message'
          ? html`<${UserMessage} key=${item.key} message=${item.message} />`
          : html`<${RunItem} key=${item.key} item=${item} conversation=${conversation} me=${me}
        is_live=${item.run_id === live} stream=${stream} />`,
      )}
      ${
        can_retry &&
        html`<button type="button" class="quiet retry"
          onClick=${begin(() => conversation.retry())}>
        ${t('chat.retry')}</button>`
      }
      <${Unsent} sending=${sending} conversation=${conversation} on_back=${set_given} />
      <${ErrorBox} error=${fault ?? problem} />
    </div></div>
    ${
      is_away &&
      html`<button type="button" class="to-end"
      onClick=${to_end}>${t('chat.to_end')}</button>`
    }
    <${Composer} draft_key=${thread_id} is_busy=${live !== null} is_locked=${sending !== null}
      given=${given} takes_focus=${is_begun_here.current}
      on_answer=${is_unanswered && ((options) => begin(() => conversation.answer(options))())}
      on_send=${send} on_stop=${
        story !== null &&
        story !== undefined &&
        story.ended === null &&
        attempt(() => conversation.stop(live))
      } />
  </section>`;
}

// A thread that begins with its first message.
// `is_open`: the user came to write; else it stands beside the list of threads.
function NewChat({ is_open }) {
  const t = useWords();
  const [about, set_about] = useState({ is_private: false, end_user: '' });
  const [problem, set_problem] = useState(null);
  const [is_sending, set_sending] = useState(false);
  const [given, set_given] = useState('');
  const keys = useRef({ text: '', key: '' });
  const begin = async (content, options) => {
    set_sending(true);
    set_given('');
    try {
      const body = {
        title: title_from(content),
        is_private: about.is_private,
        ...(about.end_user ? { end_user: about.end_user } : {}),
      };
      const text = JSON.stringify(body);
      if (keys.current.text !== text) keys.current = { text, key: crypto.randomUUID() };
      const { body: thread } = await api.post('/v1/threads', body, {
        idempotency_key: keys.current.key,
      });
      firsts.set(thread.id, { content, options });
      changed('threads');
      go(`/threads/${thread.id}`);
    } catch (thrown) {
      set_problem(thrown);
      set_given(content);
      set_sending(false);
    }
  };
  return html`<section class="chat new">
    <header class="chat-head"><div class="chat-bar"><a class="back" href=${address('/threads')}
      aria-label=${t('chat.threads')}>‹</a>
      <${is_open ? 'h1' : 'h2'}>${t('chat.new_thread')}<//></div></header>
    <div class="pane starters"><h3>${t('chat.new_hint')}</h3>
      <ul aria-label=${t('chat.starters')}>${[1, 2, 3].map(
        (at) => html`<li key=${at}><button type="button" disabled=${is_sending}
          onClick=${() => set_given(t(`chat.starter.${at}`))}>${t(`chat.starter.${at}`)}</button>
          </li>`,
      )}</ul><${ErrorBox} error=${problem} /></div>
    <${Composer} draft_key="new" is_locked=${is_sending} given=${given} on_send=${begin}
      takes_focus=${is_open}>
      <details class="further"><summary>${t('chat.thread_options')}</summary>
        <label class="check"><input type="checkbox" checked=${about.is_private}
          onChange=${(event) => set_about({ ...about, is_private: event.currentTarget.checked })} />
          ${t('chat.make_private')}</label>
        <label class="field">${t('chat.end_user')} <input dir="auto" maxlength="128"
          value=${about.end_user}
          onInput=${(event) => set_about({ ...about, end_user: event.currentTarget.value })} />
            </label>
      </details>
    <//>
  </section>`;
}

export function ThreadsScreen({ params, query }) {
  const t = useWords();
  const { thread_id } = params;
  const is_new = thread_id === 'new';
  const open_new = () => go('/threads/new');
  useCommands([{ id: 'new thread', keys: 'n', label: () => t('chat.new_thread'), run: open_new }]);
  return html`<div class=${`threads-screen ${thread_id ? 'is-open' : ''}`}>
    ${!thread_id && html`<h1 class="unseen">${t('chat.threads')}</h1>`}
    <${ThreadList} current_id=${thread_id} end_user=${query.end_user ?? ''} />
    ${(is_new || !thread_id) && html`<${NewChat} is_open=${is_new} />`}
    ${thread_id && !is_new && html`<${Chat} key=${thread_id} thread_id=${thread_id}
      message_id=${query.message} />`}
  </div>`;
}

// The screens of chat, runs and inbox, and their entries in the navigation.
import '../words/chat.mjs';
import '../words/runs.mjs';
import { InboxScreen } from '../inbox/inbox_screen.mjs';
import { wait_count } from '../inbox/waits.mjs';
import { RunScreen } from '../runs/run_screen.mjs';
import { RunsScreen } from '../runs/runs_screen.mjs';
import { useEffect } from '../html.mjs';
import { go } from '../router.mjs';
import { ThreadsScreen } from './chat_screen.mjs';
import { threads_path } from './thread_list.mjs';

// Another thread is the same screen: the list beside it stays as it is.
const threads = {
  title: 'chat.threads',
  screen: 'threads',
  ahead: ({ end_user = '' }) => [threads_path('', end_user)],
};

// A user who went elsewhere before this was shown is not called back.
function Home() {
  useEffect(() => {
    if (/^#?\/?(\?|$)/.test(location.hash)) go('/threads', {}, { replace: true });
  }, []);
  return null;
}

export const chat_screens = [
  ['/', Home, threads],
  ['/threads', ThreadsScreen, threads],
  ['/threads/:thread_id', ThreadsScreen, threads],
  ['/runs', RunsScreen, { title: 'runs.runs' }],
  ['/runs/:run_id', RunScreen, { title: 'runs.run' }],
  ['/inbox', InboxScreen, { title: 'inbox.inbox' }],
];

export const chat_navigation = [
  { path: '/threads', icon: 'threads', title: 'chat.threads', keys: 'g t' },
  { path: '/inbox', icon: 'inbox', title: 'inbox.inbox', keys: 'g i', count: wait_count },
  { path: '/runs', icon: 'runs', title: 'runs.runs', keys: 'g r' },
];

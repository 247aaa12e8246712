// The screens of chat, runs and inbox, and their entries in the navigation.
import '../words/chat.mjs';
import '../words/runs.mjs';
import { InboxScreen } from '../inbox/inbox_screen.mjs';
import { wait_count } from '../inbox/waits.mjs';
import { useEffect } from '../html.mjs';
import { lazy } from '../lazy.mjs';
import { go } from '../router.mjs';
import { ThreadsScreen } from './chat_screen.mjs';
import { threads_path } from './thread_list.mjs';

// The screens of runs come in parts of their own, so that the first page stays light.
const RunScreen = lazy(() => import('../runs/run_screen.mjs'), 'RunScreen');
const RunsScreen = lazy(() => import('../runs/runs_screen.mjs'), 'RunsScreen');

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

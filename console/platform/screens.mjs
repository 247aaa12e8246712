// The platform's screens and their entries in the navigation: for platform administrators alone.
// They come in a part of their own.
import { lazy } from '../lazy.mjs';
import '../words/platform_screens.mjs';

const Dashboard = lazy(() => import('./dashboard.mjs'), 'Dashboard');
const FirstRun = lazy(() => import('./first_run.mjs'), 'FirstRun');
const Users = lazy(() => import('./users.mjs'), 'Users');
const User = lazy(() => import('./user.mjs'), 'User');
const Settings = lazy(() => import('./settings.mjs'), 'Settings');
const PlatformCredits = lazy(() => import('./credits.mjs'), 'PlatformCredits');
const Plans = lazy(() => import('./plans.mjs'), 'Plans');
const Entitlements = lazy(() => import('./entitlements.mjs'), 'Entitlements');
const Flags = lazy(() => import('./flags.mjs'), 'Flags');
const Nodes = lazy(() => import('./nodes.mjs'), 'Nodes');
const AccessLog = lazy(() => import('./access_log.mjs'), 'AccessLog');
const Mail = lazy(() => import('./mail.mjs'), 'Mail');
const Gateway = lazy(() => import('./gateway.mjs'), 'Gateway');
const Codes = lazy(() => import('./codes.mjs'), 'CodesScreen');

export const platform_screens = [
  ['/platform', Dashboard, { title: 'platform.dashboard' }],
  ['/platform/start', FirstRun, { title: 'platform.start' }],
  ['/platform/users', Users, { title: 'users.title' }],
  ['/platform/users/:user_id', User, { title: 'users.title' }],
  ['/platform/settings', Settings, { title: 'settings.title' }],
  ['/platform/credits', PlatformCredits, { title: 'money.title' }],
  ['/platform/plans', Plans, { title: 'money.plans' }],
  ['/platform/entitlements', Entitlements, { title: 'money.entitlements' }],
  ['/platform/flags', Flags, { title: 'flags.title' }],
  ['/platform/nodes', Nodes, { title: 'platform.nodes' }],
  ['/platform/access-log', AccessLog, { title: 'log.title' }],
  ['/platform/mail', Mail, { title: 'mail.title' }],
  ['/platform/gateway', Gateway, { title: 'gateway.title' }],
  ['/platform/codes', Codes, { title: 'codes.title' }],
];

const entry = (path, title, keys, icon = path.slice('/platform/'.length)) => ({
  path,
  icon,
  title,
  keys,
  is_platform: true,
  group: 'platform.title',
});
export const platform_navigation = [
  { ...entry('/platform', 'platform.dashboard', 'p d', 'dashboard'), is_alone: true },
  entry('/platform/start', 'platform.start', 'p f'),
  entry('/platform/users', 'users.title', 'p u'),
  entry('/platform/settings', 'settings.title', 'p s'),
  entry('/platform/credits', 'money.title', 'p c', 'platform_credits'),
  entry('/platform/plans', 'money.plans', 'p p'),
  entry('/platform/entitlements', 'money.entitlements', 'p e'),
  entry('/platform/flags', 'flags.title', 'p g'),
  entry('/platform/nodes', 'platform.nodes', 'p h'),
  entry('/platform/access-log', 'log.title', 'p l', 'access_log'),
  entry('/platform/mail', 'mail.title', 'p m'),
  entry('/platform/gateway', 'gateway.title', 'p w'),
  entry('/platform/codes', 'codes.title', 'p r'),
];

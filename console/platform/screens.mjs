// The platform's screens and their entries in the navigation: for platform administrators alone.
import '../words/platform.mjs';
import '../words/platform_system.mjs';
import '../words/platform_people.mjs';
import '../words/platform_money.mjs';
import { AccessLog } from './access_log.mjs';
import { CodesScreen } from './codes.mjs';
import { PlatformCredits } from './credits.mjs';
import { Dashboard } from './dashboard.mjs';
import { Entitlements } from './entitlements.mjs';
import { FirstRun } from './first_run.mjs';
import { Flags } from './flags.mjs';
import { Gateway } from './gateway.mjs';
import { Mail } from './mail.mjs';
import { Nodes } from './nodes.mjs';
import { Plans } from './plans.mjs';
import { Settings } from './settings.mjs';
import { User } from './user.mjs';
import { Users } from './users.mjs';

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
  ['/platform/codes', CodesScreen, { title: 'codes.title' }],
];

export const platform_navigation = [
  { path: '/platform', title: 'platform.dashboard', keys: 'p d', is_alone: true },
  { path: '/platform/start', title: 'platform.start', keys: 'p f' },
  { path: '/platform/users', title: 'users.title', keys: 'p u' },
  { path: '/platform/settings', title: 'settings.title', keys: 'p s' },
  { path: '/platform/credits', title: 'money.title', keys: 'p c' },
  { path: '/platform/plans', title: 'money.plans', keys: 'p p' },
  { path: '/platform/entitlements', title: 'money.entitlements', keys: 'p e' },
  { path: '/platform/flags', title: 'flags.title', keys: 'p g' },
  { path: '/platform/nodes', title: 'platform.nodes', keys: 'p h' },
  { path: '/platform/access-log', title: 'log.title', keys: 'p l' },
  { path: '/platform/mail', title: 'mail.title', keys: 'p m' },
  { path: '/platform/gateway', title: 'gateway.title', keys: 'p w' },
  { path: '/platform/codes', title: 'codes.title', keys: 'p r' },
].map((entry) => ({ ...entry, is_platform: true, group: 'platform.title' }));

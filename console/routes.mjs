// Every screen and its address; what stands in the navigation.
import { chat_navigation, chat_screens } from './chat/screens.mjs';
import { org_navigation, org_screens } from './org/screens.mjs';
import { platform_navigation, platform_screens } from './platform/screens.mjs';
import { lazy } from './lazy.mjs';
import { route } from './router.mjs';
import { Invitation, Revert, Verify } from './screens/links.mjs';
import { Register } from './screens/register.mjs';
import { Sessions } from './screens/sessions.mjs';
import { Forgot, SignInAfter } from './screens/sign_in.mjs';

const Account = lazy(() => import('./screens/account.mjs'), 'Account');
const Credits = lazy(() => import('./screens/credits.mjs'), 'Credits');
const Keys = lazy(() => import('./screens/keys.mjs'), 'Keys');
const Usage = lazy(() => import('./screens/usage.mjs'), 'Usage');
const Factors = lazy(() => import('./screens/factors.mjs'), 'Factors');

// [path, component, about]; see `route`.
const screens = [
  ...chat_screens,
  ['/usage', Usage, { title: 'usage.title' }],
  ['/credits', Credits, { title: 'credits.title' }],
  ['/keys', Keys, { title: 'keys_screen.title' }],
  ...org_screens,
  ['/account', Account, { title: 'account.title' }],
  ['/factors', Factors, { title: 'factors.title' }],
  ['/sessions', Sessions, { title: 'sessions.title' }],
  ...platform_screens,
  ['/sign-in', SignInAfter, { is_open: true, is_bare: true, title: 'sign_in' }],
  ['/forgot', Forgot, { is_open: true, is_bare: true, title: 'forgot.title' }],
  ['/register', Register, { is_open: true, is_bare: true, title: 'register.title' }],
  ['/verify', Verify, { is_open: true, is_bare: true, title: 'verify.title' }],
  ['/revert', Revert, { is_open: true, is_bare: true, title: 'revert.title' }],
  ['/invitation', Invitation, { is_open: true, is_bare: true, title: 'invitation.title' }],
];
for (const [path, component, about] of screens) route(path, component, about);

// [{path, icon (a symbol of icons.svg), title (key of i18n), keys, permission?, count? (a store of
// a number), group? (key of i18n: the heading of a group that folds), is_platform?: only for
// platform administrators, is_alone?: addresses below it are other entries, has_platform?: platform
// administrators have things of the platform there, whatever they are in the organization}]
const own = (path, icon, title, keys, permission) => ({ path, icon, title, keys, permission });
/** @type {any[]} */
export const navigation = [
  ...chat_navigation,
  own('/usage', 'usage', 'usage.title', 'g u', 'data.usage.read'),
  own('/credits', 'credits', 'credits.title', 'g c', 'data.usage.read'),
  own('/keys', 'keys', 'keys_screen.title', 'g k', 'data.api_keys.manage'),
  ...org_navigation,
  ...platform_navigation,
];

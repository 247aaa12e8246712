// Every screen and its address; what stands in the navigation.
import { chat_navigation, chat_screens } from './chat/screens.mjs';
import { route } from './router.mjs';
import { Invitation, Revert, Verify } from './screens/links.mjs';
import { Register } from './screens/register.mjs';
import { Forgot } from './screens/sign_in.mjs';

// [path, component, about]; see `route`.
const screens = [
  ...chat_screens,
  ['/forgot', Forgot, { is_open: true, is_bare: true, title: 'forgot.title' }],
  ['/register', Register, { is_open: true, is_bare: true, title: 'register.title' }],
  ['/verify', Verify, { is_open: true, is_bare: true, title: 'verify.title' }],
  ['/revert', Revert, { is_open: true, is_bare: true, title: 'revert.title' }],
  ['/invitation', Invitation, { is_open: true, is_bare: true, title: 'invitation.title' }],
];
for (const [path, component, about] of screens) route(path, component, about);

// [{path, title (key of i18n), keys, permission?, count? (a store of a number)}]
export const navigation = [
  ...chat_navigation,
];

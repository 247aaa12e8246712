// The console begins here.
import './words/frame.mjs';
import './words/sign_in.mjs';
import './words/account.mjs';
import './words/organization.mjs';
import { start_keyboard } from './commands.mjs';
import { Frame } from './frame.mjs';
import { html, render } from './html.mjs';
import { start_notices } from './notices.mjs';
import { start_router } from './router.mjs';
import './routes.mjs';
import { start_waits } from './inbox/waits.mjs';
import { start_session } from './session.mjs';

start_router();
// Its first call is under way while the page is drawn.
start_session();
start_notices();
start_keyboard();
render(html`<${Frame} />`, document.getElementById('app'));
start_waits();

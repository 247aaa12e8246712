// Where mailed links lead: proving an address, taking an account back, accepting an invitation. The
// token stands after the # and is taken out of the address at once. Nothing is done before the user
// says so: programs that look into mails open links too.
import { api } from '../api.mjs';
import { changed } from '../chat/service.mjs';
import { html, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { go, take_secret } from '../router.mjs';
import {
  forget_session,
  reload_session,
  session,
  sign_out,
  start_session,
  switch_org,
} from '../session.mjs';
import { useStore } from '../store.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Form, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import { keep_invitation, waiting_invitation } from './invited.mjs';
import { SignIn } from './sign_in.mjs';
import { Unproved } from './unproved.mjs';

// A form of a token, which came with the link or is typed. `on_submit(token)`.
function TokenForm({ title, text, action, on_submit }) {
  const t = useWords();
  const [given] = useState(() => take_secret('token'));
  const form = useForm({ token: given });
  return html`<div class="narrow"><h1>${title}</h1><p>${text}</p>
    <${Form} form=${form} label=${title} on_submit=${({ token }) => on_submit(token.trim())}>
      ${
        !given &&
        html`<${Field} form=${form} name="token" label=${t('link.token')} autocomplete="off"
        hint=${t('link.token_hint')} spellcheck="false" autofocus />`
      }
      <div class="actions"><${Submit} form=${form}>${action}<//></div>
    <//></div>`;
}

export function Verify() {
  const t = useWords();
  return html`<${TokenForm} title=${t('verify.title')} text=${t('verify.text')}
    action=${t('verify.do')}
    on_submit=${async (token) => {
      await api.post('/v1/auth/email/verify/confirm', { token }, { is_open: true });
      if (session.get().state === 'in') await reload_session();
      changed('account');
      // A user who goes elsewhere after the notice is not called back.
      go('/', {}, { replace: true });
      toast(t('verify.done'));
    }} />`;
}

export function Revert() {
  const t = useWords();
  return html`<${TokenForm} title=${t('revert.title')} text=${t('revert.text')}
    action=${t('revert.do')}
    on_submit=${async (token) => {
      await api.post('/v1/auth/email/revert', { token }, { is_open: true });
      forget_session();
      toast(t('revert.done'));
      go('/forgot', {}, { replace: true });
    }} />`;
}

// Tells an invited visitor to sign in, or that registration is closed.
function InvitedStranger() {
  const t = useWords();
  const mode = useCall('/v1/auth/registration-mode', { is_open: true });
  const is_closed =
    mode.body && mode.body.mode !== 'open' && !mode.body.invitations_register;
  return html`<p class="narrow banner">${
    is_closed ? t('invitation.closed') : t('invitation.sign_in')
  }</p>`;
}

export function Invitation() {
  const t = useWords();
  const { state, me, orgs, error } = useStore(session);
  const [given] = useState(() => take_secret('token') || waiting_invitation());
  const form = useForm({ token: given });
  keep_invitation(given);
  if (state === 'starting') return html`<p class="dim working">${t('loading')}</p>`;
  if (state === 'failed') return html`<${ErrorBox} error=${error} on_retry=${start_session} />`;
  if (state !== 'in') {
    return html`<${InvitedStranger} /><${SignIn} />`;
  }
  const leave = () => {
    keep_invitation('');
    go('/', {}, { replace: true });
  };
  // Mailed to somebody who has another account, too.
  const sign_in_anew = async () => {
    try {
      await sign_out();
      form.set_error(null);
    } catch (thrown) {
      form.set_error(thrown);
    }
  };
  const accept = async ({ token }, key) => {
    // In the body, where no log on the way sees it.
    await api.post(
      '/v1/org-invitations:accept',
      { token: token.trim() },
      { idempotency_key: key },
    );
    await reload_session();
    const joined = session.get().orgs.find((org) => !orgs.some((known) => known.id === org.id));
    if (joined) {
      await switch_org(joined.id);
      toast(t('invitation.done', { name: joined.name }));
    }
    leave();
  };
  return html`${!me.email_verified && html`<${Unproved} />`}
    <div class="narrow"><h1>${t('invitation.title')}</h1>
    <p>${t('invitation.text', { name: me.username, email: me.email })}</p>
    <${Form} form=${form} label=${t('invitation.title')} on_submit=${accept}>
      ${
        !given &&
        html`<${Field} form=${form} name="token" label=${t('link.token')} autocomplete="off"
        hint=${t('link.token_hint')} spellcheck="false" />`
      }
      <div class="actions"><${Submit} form=${form}>${t('invitation.do')}<//>
        <button type="button" onClick=${leave}>${t('cancel')}</button>
        <button type="button" class="link" onClick=${sign_in_anew}>
          ${t('invitation.other_account')}</button>
      </div>
    <//></div>`;
}

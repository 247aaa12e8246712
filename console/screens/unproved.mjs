// Stands over every screen as long as the user's address is not proved.
import { api } from '../api.mjs';
import { watch_changes } from '../chat/service.mjs';
import { html, useEffect } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { reload_session, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { toast } from '../ui/error.mjs';
import { Form, Submit, useForm } from '../ui/form.mjs';

export function Unproved() {
  const t = useWords();
  const { me } = useStore(session);
  const form = useForm({});
  // The mail is often opened in another tab, or on another device.
  useEffect(() => {
    const look = async () => {
      if (document.hidden) return;
      const { body } = await api.get('/v1/me');
      if (body.email_verified) await reload_session();
    };
    // The banner stays after any error.
    const try_to_look = () => void look().catch(() => {});
    document.addEventListener('visibilitychange', try_to_look);
    const ends = watch_changes(['account'], try_to_look);
    return () => {
      document.removeEventListener('visibilitychange', try_to_look);
      ends();
    };
  }, []);
  return html`<aside class="banner"><${Form} form=${form} on_submit=${async () => {
    await api.post('/v1/auth/email/verify/send');
    toast(t('unproved.sent'));
  }}><p>${t('unproved.text', { email: me.email })} <${Submit} form=${form} kind="small">
    ${t('unproved.send')}<//></p><//></aside>`;
}

// Where the service lets nobody in before that.
export function ProofFirst() {
  const t = useWords();
  return html`<h1>${t('verify.title')}</h1><p>${t('unproved.first')}</p>
    <p><a href="#/verify">${t('unproved.has_token')}</a></p>`;
}

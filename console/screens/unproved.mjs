// Stands over every screen as long as the user's address is not proved.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { toast } from '../ui/error.mjs';
import { Form, Submit, useForm } from '../ui/form.mjs';

export function Unproved() {
  const t = useWords();
  const { me } = useStore(session);
  const form = useForm({});
  return html`<aside class="banner"><${Form} form=${form} on_submit=${async () => {
    await api.post('/v1/auth/email/verify/send');
    toast(t('unproved.sent'));
  }}><p>${t('unproved.text', { email: me.email })} <${Submit} form=${form} kind="small">
    ${t('unproved.send')}<//></p><//></aside>`;
}

// Whether mail goes out, by which server, and a test that says the server's own words.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { session } from '../session.mjs';
import { ErrorBox, toast } from '../ui/error.mjs';
import { Field, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import '../words/platform.mjs';
import '../words/platform_people.mjs';
import '../words/platform_system.mjs';
import { number_or_none, PanelForm } from './parts.mjs';

const modes = ['starttls', 'tls', 'none'];

export function Server({ config, on_done }) {
  const t = useWords();
  const form = useForm({
    from: config.from,
    smtp_host: config.smtp_host,
    smtp_port: String(config.smtp_port),
    smtp_user: config.smtp_user,
    smtp_pass: '',
    forgets: false,
    smtp_tls_mode: config.smtp_tls_mode,
  });
  return html`<${PanelForm} form=${form} title=${t('mail.server')}
    on_submit=${async (values) => {
      const { smtp_pass, smtp_port, forgets, ...others } = values;
      await api.put('/v1/admin/email/config', {
        ...others,
        smtp_port: number_or_none(smtp_port),
        smtp_pass: smtp_pass || (forgets ? '' : undefined),
      });
      on_done('email.config_set');
    }}>
    <${Field} form=${form} name="from" label=${t('mail.from')} maxlength="320" autocomplete="off" />
    <${Field} form=${form} name="smtp_host" label=${t('mail.host')} maxlength="253"
      spellcheck=${false} autocomplete="off" />
    <${Field} form=${form} name="smtp_port" label=${t('mail.port')} inputmode="numeric" />
    <${Field} form=${form} name="smtp_tls_mode" label=${t('mail.tls')}
      options=${modes.map((mode) => [mode, t(`mail.tls.${mode}`)])} />
    <${Field} form=${form} name="smtp_user" label=${t('mail.user')} maxlength="320"
      hint=${t('mail.user_hint')} autocomplete="off" spellcheck=${false} />
    <${Field} form=${form} name="smtp_pass" type="password" label=${t('mail.password')}
      hint=${t(config.smtp_pass_set ? 'mail.password_set' : 'mail.password_none')}
      autocomplete="new-password" />
    ${
      config.smtp_pass_set &&
      html`<${Field} form=${form} name="forgets" type="checkbox"
        label=${t('mail.password_forget')} />`
    }
    <div class="actions"><${Submit} form=${form}>${t('platform.change')}<//></div><//>`;
}

export function Test({ on_done }) {
  const t = useWords();
  const form = useForm({ to: session.get().me.email });
  return html`<${PanelForm} form=${form} title=${t('mail.test')} text=${t('mail.test_text')}
    on_submit=${async ({ to }) => {
      await api.post('/v1/admin/email/test', { to: to.trim() });
      toast(t('mail.taken', { to: to.trim() }));
      on_done('email.test');
    }}>
    <${Field} form=${form} name="to" type="email" label=${t('users.email')} autocomplete="off" />
    <div class="actions"><${Submit} form=${form} kind="">${t('mail.test')}<//></div><//>`;
}

export function Mail() {
  const t = useWords();
  const status = useCall('/v1/admin/email/status');
  const config = useCall('/v1/admin/email/config');
  const done = (action) => {
    status.reload();
    config.reload();
    show_change({ action });
  };
  return html`<div class="head"><h1>${t('mail.title')}</h1>${
    status.body &&
    html`<span class=${status.body.configured ? 'mark good' : 'mark bad'}>
      ${t(status.body.configured ? 'mail.configured' : 'mail.not_configured')}</span>
      <span class="dim">${t(`mail.source.${status.body.source}`)}</span>`
  }</div><${Changed} />
    <${ErrorBox} error=${status.error ?? config.error} on_retry=${() => {
      status.reload();
      config.reload();
    }} />
    <div class="panels"><${Test} on_done=${done} />
      ${
        config.body &&
        html`<${Server} config=${config.body} on_done=${done} key=${JSON.stringify(config.body)} />`
      }</div>`;
}

// How the address of a client is found, and what it would be behind a proxy.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { ErrorBox } from '../ui/error.mjs';
import { Field, Form, list_in, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import '../words/platform.mjs';
import '../words/platform_system.mjs';
import { client_address } from './client_address.mjs';
import { number_or_none, PanelForm } from './parts.mjs';

const path = '/v1/admin/gateway-config';
const modes = ['direct', 'proxy', 'cdn'];

// Says at once what the rules in `policy` make of a request.
function Try({ policy }) {
  const t = useWords();
  const form = useForm({ peer: '10.0.0.1', forwarded_for: '203.0.113.9', connecting_ip: '' });
  const answer = client_address(policy, form.values);
  const sessions = useCall('/v1/me/sessions');
  const mine = sessions.body?.find((one) => one.current)?.client_ip;
  return html`<section class="panel"><h2>${t('gateway.try')}</h2><p>${t('gateway.try_text')}</p>
    <${Form} form=${form} label=${t('gateway.try')} on_submit=${() => {}}>
      <${Field} form=${form} name="peer" label=${t('gateway.peer')} autocomplete="off" />
      ${
        policy.ip_mode !== 'cdn' &&
        html`<${Field} form=${form} name="forwarded_for" label=${t('gateway.forwarded')}
          autocomplete="off" />`
      }
      ${
        policy.ip_mode === 'cdn' &&
        html`<${Field} form=${form} name="connecting_ip" label=${t('gateway.connecting')}
          autocomplete="off" />`
      }
    <//>
    ${
      mine &&
      html`<p class="dim">${t('gateway.mine', { address: mine })}${' '}<button type="button"
        class="link" onClick=${() => form.set('peer', mine)}>${t('gateway.use_mine')}</button></p>`
    }
    <div role="status">${
      answer
        ? html`<p><strong>${t('gateway.answer', { address: answer.address })}</strong></p>
          <p>${t(`gateway.why.${answer.why}`)}</p>`
        : html`<p>${t('gateway.no_peer')}</p>`
    }</div></section>`;
}

function Rules({ config, on_done }) {
  const t = useWords();
  const form = useForm({
    ip_mode: config.ip_mode,
    trusted_cidrs: config.trusted_cidrs.join('\n'),
    risk_reject_threshold: String(config.risk_reject_threshold),
  });
  const { ip_mode, trusted_cidrs } = form.values;
  return html`<div class="panels"><${PanelForm} form=${form} title=${t('gateway.rules')}
      text=${t('gateway.change_text')} on_submit=${async (values) => {
        const { body } = await api.put(path, {
          ip_mode: values.ip_mode,
          trusted_cidrs: list_in(values.trusted_cidrs),
          risk_reject_threshold: number_or_none(values.risk_reject_threshold),
        });
        on_done(body);
      }}>
      <${Field} form=${form} name="ip_mode" label=${t('gateway.mode')}
        options=${modes.map((mode) => [mode, t(`gateway.mode.${mode}`)])} />
      <${Field} form=${form} name="trusted_cidrs" rows=${4} label=${t('gateway.trusted')}
        hint=${t('gateway.trusted_hint')} spellcheck=${false} />
      <${Field} form=${form} name="risk_reject_threshold" label=${t('gateway.risk')}
        hint=${t('gateway.risk_hint')} inputmode="decimal" />
      <div class="actions"><${Submit} form=${form}>${t('platform.change')}<//></div><//>
    <${Try} policy=${{ ip_mode, trusted_cidrs: list_in(trusted_cidrs) }} /></div>`;
}

export function Gateway() {
  const t = useWords();
  const call = useCall(path);
  return html`<h1>${t('gateway.title')}</h1><${Changed} />
    <${ErrorBox} error=${call.error} on_retry=${call.reload} />
    ${
      call.body &&
      html`<${Rules} config=${call.body} key=${JSON.stringify(call.body)} on_done=${(body) => {
        call.set(body);
        show_change({ action: 'gateway.config_set' });
      }} />`
    }`;
}

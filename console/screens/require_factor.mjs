// The switch that requires two-step verification of everybody who acts in an organization.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { show_change } from '../org/change.mjs';
import { reload_session } from '../session.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { ask } from '../ui/dialog.mjs';
import { toast } from '../ui/error.mjs';
import { Form, Submit, useForm } from '../ui/form.mjs';
import { useCall } from '../ui/list.mjs';
import '../words/require_factor.mjs';

/** @param {{org: import('../types/calls').Schemas['Org']}} props */
export function RequireFactor({ org }) {
  const t = useWords();
  const form = useForm({});
  const factors = useCall('/v1/me/factors');
  const is_on = org.require_factor;
  const action = t(is_on ? 'require.turn_off' : 'require.turn_on');
  const lacks_one = factors.body?.length === 0;
  const turn = async () => {
    const text = [
      t(is_on ? 'require.off_text' : 'require.text'),
      !is_on && lacks_one && t('require.you_too'),
    ];
    const agreed = await ask({
      title: action,
      text: text.filter(Boolean).join(' '),
      action,
      is_danger: is_on,
    });
    if (!agreed) return;
    await with_fresh_login(() => api.patch(`/v1/orgs/${org.id}`, { require_factor: !is_on }));
    await reload_session();
    toast(t('saved'));
    await show_change({ action: 'orgs.update', target_id: org.id });
  };
  return html`<section class="panel"><h2>${t('require.title')}${' '}<span
      class=${is_on ? 'mark good' : 'mark'}>${t(is_on ? 'require.on' : 'require.off')}</span></h2>
    <p>${t('require.text')}</p>
    <${Form} form=${form} label=${t('require.title')} on_submit=${turn}>
      <div class="actions"><${Submit} form=${form} kind="">${action}<//></div>
    <//></section>`;
}

// Subjects of budgets: their names, and the fields that choose one.
import { api, with_query } from '../api.mjs';
import { html, useEffect, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { may, session } from '../session.mjs';
import { useStore } from '../store.mjs';
import { Field } from '../ui/form.mjs';
import '../words/budgets.mjs';

export const subject_types = ['org', 'member', 'api_key', 'end_user', 'persona', 'thread'];

const nobody = { member: [], api_key: [], persona: [] };

// Lists of those that have names: [id, name]. What the user may not read stays without.
async function read_choices(org_id) {
  const none = async () => ({ body: [] });
  const limit = 200;
  const [members, keys, personas] = await Promise.all([
    api.get(with_query(`/v1/orgs/${org_id}/members`, { limit })),
    may('data.api_keys.manage') ? api.get(with_query('/v1/api-keys', { limit })) : none(),
    api.get(with_query('/v1/personas', { limit })),
  ]);
  const persona_keys = [...new Set(personas.body.map((one) => one.persona_key))];
  return {
    member: members.body.map((one) => [one.user_id, one.username]),
    api_key: keys.body.map((one) => [one.id, one.name]),
    persona: persona_keys.map((key) => [key, key]),
  };
}

// {choices, name_of(budget)}. Names are of the organization that is acted in; elsewhere, and where
// they cannot be read, the id stands for them.
export function useSubjects(items) {
  const t = useWords();
  const { me } = useStore(session);
  const [choices, set_choices] = useState(nobody);
  useEffect(() => {
    read_choices(me.org_id).then(set_choices, () => set_choices(nobody));
  }, [me.org_id, items.length]);
  const name_of = ({ org_id, subject: { type, id } }) => {
    if (type === 'org') return org_id === me.org_id ? me.org_name : id;
    if (type === 'end_user' && id === '*') return t('budgets.everyone');
    return choices[type]?.find(([known]) => known === id)?.[1] ?? id;
  };
  return { choices, name_of };
}

// The field of the subject's id, by its type. `is_elsewhere`: of another organization, whose names
// are not known here.
export function SubjectField({ form, choices, is_elsewhere }) {
  const t = useWords();
  const { subject_type: type } = form.values;
  if (type === 'org') return null;
  const label = t(`budgets.type.${type}`);
  const known = is_elsewhere ? [] : (choices[type] ?? []);
  if (type === 'member' && known.length > 0) {
    const options = [['', t('budgets.choose')], ...known];
    return html`<${Field} form=${form} name="subject" label=${label} options=${options} />`;
  }
  const list = known.length > 0 ? 'budget-subjects' : undefined;
  return html`<${Field} form=${form} name="subject" label=${label} list=${list} dir="auto"
      hint=${t(`budgets.hint.${type}`)} maxlength="256" autocomplete="off" spellcheck="false" />
    ${
      list &&
      html`<datalist id=${list}>${known.map(
        ([id, name]) => html`<option value=${id} label=${name} key=${id} />`,
      )}</datalist>`
    }`;
}

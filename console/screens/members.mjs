// The organization: its name, members and invitations; opening another one.
import { api } from '../api.mjs';
import { html, useRef, useState } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { Changed, show_change } from '../org/change.mjs';
import { go } from '../router.mjs';
import { may, reload_session, session, switch_org } from '../session.mjs';
import { useStore } from '../store.mjs';
import { Copy } from '../ui/copy.mjs';
import { ask, Dialog } from '../ui/dialog.mjs';
import { toast, toast_error } from '../ui/error.mjs';
import { changes_of, Field, Form, Submit, useForm } from '../ui/form.mjs';
import { PageEnd, Table, usePages } from '../ui/list.mjs';
import { Day } from '../ui/when.mjs';
import { Export } from './exports.mjs';
import { DeletedOrgs, DeleteOrg } from './org_end.mjs';
import { RequireFactor } from './require_factor.mjs';

const roles = ['member', 'admin', 'owner'];

/** @param {{org: import('../types/calls').Schemas['Org'], [more: string]: any}} props */
function Invite({ org, on_sent, on_close }) {
  const t = useWords();
  const form = useForm({ email: '', role: 'member' });
  return html`<${Dialog} title=${t('members.invite')} on_close=${on_close}>
    <${Form} form=${form} label=${t('members.invite')} on_submit=${async (values, key) => {
      const { body } = await api.post(
        `/v1/orgs/${org.id}/invitations`,
        { ...values, email: values.email.trim() },
        { idempotency_key: key },
      );
      toast(t('members.invited', { email: values.email.trim() }));
      if (body.warning) toast(body.warning);
      on_sent(body);
      await show_change({ action: 'invitations.create', target_id: body.id });
    }}>
      <${Field} form=${form} name="email" type="email" label=${t('code.email')}
        autocomplete="off" autofocus />
      <${Field} form=${form} name="role" label=${t('members.role')}
        options=${['member', 'admin'].map((role) => [role, t(`role.${role}`)])} />
      <div class="actions"><${Submit} form=${form}>${t('members.invite')}<//></div>
    <//><//>`;
}

const slug_of = (name) =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64);

function NewOrg({ on_close }) {
  const t = useWords();
  const form = useForm({ name: '', slug: '' });
  // Until somebody writes another one.
  const is_typed = useRef(false);
  return html`<${Dialog} title=${t('org.new')} on_close=${on_close}>
    <${Form} form=${form} label=${t('org.new')} on_submit=${async (values, key) => {
      const { body } = await api.post('/v1/orgs', values, { idempotency_key: key });
      await switch_org(body.id);
      on_close();
    }}>
      <${Field} form=${form} name="name" label=${t('org.name')} dir="auto" maxlength="200"
        autocomplete="off" autofocus
        on_change=${(name) => is_typed.current || form.set('slug', slug_of(name))} />
      <${Field} form=${form} name="slug" label=${t('org.slug')} hint=${t('org.slug_hint')}
        maxlength="64" autocomplete="off" spellcheck="false"
        on_change=${(slug) => (is_typed.current = slug !== '')} />
      <div class="actions"><${Submit} form=${form}>${t('org.new')}<//></div>
    <//><//>`;
}

/** @param {{org: import('../types/calls').Schemas['Org']}} props */
function Name({ org }) {
  const t = useWords();
  const form = useForm({ name: org.name, slug: org.slug });
  return html`<section class="panel"><${Form} form=${form} label=${t('org.rename')}
    on_submit=${async (values) => {
      const changes = changes_of(values, org);
      if (!changes) return;
      await api.patch(`/v1/orgs/${org.id}`, changes);
      await reload_session();
      toast(t('saved'));
      await show_change({ action: 'orgs.update', target_id: org.id });
    }}>
      <${Field} form=${form} name="name" label=${t('org.name')} dir="auto" maxlength="200"
        autocomplete="off" />
      ${
        org.type === 'workspace' &&
        html`<${Field} form=${form} name="slug" label=${t('org.slug')} hint=${t('org.slug_hint')}
          maxlength="64" autocomplete="off" spellcheck="false" />`
      }
      <div class="actions"><${Submit} form=${form} kind="">${t('org.rename')}<//></div>
    <//></section>`;
}

/**
 * @param {{org: import('../types/calls').Schemas['Org'],
 *   pages: ReturnType<typeof usePages<`/v1/orgs/${string}/invitations`>>,
 *   on_taken_back: (one: {id: string}) => void}} props
 */
function Invitations({ pages, org, on_taken_back }) {
  const t = useWords();
  const take_back = async (one) => {
    try {
      await api.del(`/v1/orgs/${org.id}/invitations/${one.id}`);
      pages.change((items) => items.filter((item) => item.id !== one.id));
      on_taken_back(one);
      await show_change({ action: 'invitations.revoke', target_id: one.id });
    } catch (error) {
      toast_error(error);
    }
  };
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('code.email'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.email}</bdi>`,
    },
    { title: t('members.role'), cell: (one) => t(`role.${one.role}`) },
    {
      title: t('members.until'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.expires_at} />${
        new Date(one.expires_at) < new Date() &&
        html` <span class="mark warn">${t('keys_screen.expired')}</span>`
      }`,
    },
    {
      title: '',
      cell: (one) => html`<button type="button" class="small"
      aria-label=${`${t('members.take_back')}: ${one.email}`} onClick=${() => take_back(one)}>
      ${t('members.take_back')}</button>`,
    },
  ];
  return html`<h2>${t('members.invitations')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('members.invitations')} />`;
}

/**
 * @param {{org: import('../types/calls').Schemas['Org'],
 *   me: import('../types/calls').Schemas['Me']}} props
 */
function Members({ org, me }) {
  const t = useWords();
  const pages = usePages(`/v1/orgs/${org.id}/members`);
  const may_manage = may('org.members.manage') && org.type === 'workspace';
  // Only owners make, change or remove owners.
  const may_own = may('org.manage');
  const may_change = (one) => may_manage && (may_own || one.role !== 'owner');
  const offered = roles.filter((role) => may_own || role !== 'owner');
  // The change under way: typing the name of a role chooses it with each letter.
  const chosen = useRef('');
  const change_role = async (member, role) => {
    const choice = `${member.user_id} ${role}`;
    if (role === member.role || choice === chosen.current) return undefined;
    chosen.current = choice;
    const is_me = member.user_id === me.id;
    // Changes that users cannot undo themselves.
    const is_far = role === 'owner' || is_me;
    const question = {
      title: `${t('members.role')}: ${t(`role.${role}`)}`,
      text: t(is_me ? 'members.role_me' : 'members.role_owner', {
        name: member.username,
        role: t(`role.${role}`),
      }),
      action: t('members.change_role'),
    };
    if (is_far && !(await ask(question))) {
      chosen.current = '';
      return pages.reload();
    }
    try {
      const { body } = await api.patch(`/v1/orgs/${org.id}/members/${member.user_id}`, { role });
      pages.change((items) => items.map((item) => (item.user_id === member.user_id ? body : item)));
      if (is_me) await reload_session();
      await show_change({ action: 'orgs.member_role', target_id: member.user_id });
    } catch (error) {
      toast_error(error);
      pages.reload();
    }
    chosen.current = '';
    return undefined;
  };
  const remove = async (member) => {
    const is_me = member.user_id === me.id;
    const words = is_me ? 'members.leave' : 'members.remove';
    if (
      !(await ask({
        title: t(words),
        action: t(words),
        text: t(is_me ? 'members.leave_text' : 'members.remove_text', {
          name: member.username,
          org: org.name,
        }),
      }))
    )
      return;
    try {
      await api.del(`/v1/orgs/${org.id}/members/${member.user_id}`);
      if (is_me) {
        await switch_org('');
        go('/organization', {}, { replace: true });
      } else {
        pages.change((items) => items.filter((item) => item.user_id !== member.user_id));
        await show_change({ action: 'orgs.member_removed', target_id: member.user_id });
      }
    } catch (error) {
      toast_error(error);
    }
  };
  const leave_or_remove = (one) => t(one.user_id === me.id ? 'members.leave' : 'members.remove');
  /** @type {import('../types/calls').Columns<typeof pages>} */
  const columns = [
    {
      title: t('account.username'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<bdi>${one.username}</bdi>
      ${one.user_id === me.id && html` <span class="mark">${t('members.me')}</span>`}`,
    },
    { title: t('code.email'), is_wide: true, cell: (one) => html`<bdi>${one.email}</bdi>` },
    {
      title: t('members.role'),
      cell: (one) =>
        may_change(one)
          ? html`<select aria-label=${`${t('members.role')}: ${one.username}`} value=${one.role}
        onChange=${(event) => change_role(one, event.currentTarget.value)}>${offered.map(
          (role) => html`
          <option value=${role} selected=${role === one.role}>${t(`role.${role}`)}</option>`,
        )}</select>`
          : t(`role.${one.role}`),
    },
    {
      title: t('members.since'),
      is_time: true,
      cell: (one) => html`<${Day} at=${one.created_at} />`,
    },
    org.type === 'workspace' && {
      title: '',
      cell: (one) =>
        (may_change(one) || one.user_id === me.id) &&
        html`<button type="button" class="small danger" onClick=${() => remove(one)}
        aria-label=${`${leave_or_remove(one)}: ${one.username}`}>
        ${leave_or_remove(one)}</button>`,
    },
  ];
  return html`<h2>${t('members.title')}</h2>
    <${Table} pages=${pages} columns=${columns} label=${t('members.title')}
      key_of=${(one) => one.user_id} />`;
}

export function Organization() {
  const t = useWords();
  const { me, orgs } = useStore(session);
  const [opened, set_opened] = useState('');
  // The newest invitation made here: its token is given this once.
  const [made, set_made] = useState(null);
  const org = orgs.find((one) => one.id === me.org_id);
  const may_invite = org?.type === 'workspace' && may('org.members.manage');
  const invitations = usePages(may_invite ? `/v1/orgs/${me.org_id}/invitations` : null);
  if (!org) return html`<${PageEnd} pages=${{ items: [], is_loading: false, has_more: false }} />`;
  return html`<div class="head"><h1><bdi>${org.name}</bdi></h1><span
    class="mark">${t(`org.${org.type}`)}</span>
      <span class="dim">${t(`role.${me.role}`)}</span><span class="space"></span>
      ${
        may_invite &&
        html`<button type="button" class="main" onClick=${() => set_opened('invite')}>
        ${t('members.invite')}</button>`
      }
      <button type="button" onClick=${() => set_opened('new')}>${t('org.new')}</button></div>
    <${Changed} />
    ${
      made &&
      html`<p class="notice" role="status">${t('members.by_link')}${' '}<${Copy}
        text=${`${location.origin}${location.pathname}#/invitation?token=${made.token}`}
        label=${t('account.invite_link')} /></p>`
    }
    ${may('org.manage') && html`<${Name} org=${org} key=${org.id} />`}
    ${
      may('org.manage') &&
      org.type === 'workspace' &&
      html`<${RequireFactor} org=${org} key=${`factor ${org.id}`} />`
    }
    <${Members} org=${org} me=${me} />
    ${
      may_invite &&
      html`<${Invitations} pages=${invitations} org=${org}
        on_taken_back=${(one) => one.id === made?.id && set_made(null)} />`
    }
    ${
      may('org.manage') &&
      org.type === 'workspace' &&
      html`<div class="panels"><${Export} path=${`/v1/orgs/${org.id}/export`} key=${org.id}
        title=${t('export.org')} text=${t('export.org_text')} /><${DeleteOrg} org=${org} /></div>`
    }
    <${DeletedOrgs} orgs=${orgs} />
    ${
      opened === 'invite' &&
      html`<${Invite} org=${org} on_close=${() => set_opened('')} on_sent=${(sent) => {
        set_opened('');
        set_made(sent);
        invitations.reload();
      }} />`
    }
    ${opened === 'new' && html`<${NewOrg} on_close=${() => set_opened('')} />`}`;
}

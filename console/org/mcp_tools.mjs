// The tools of an MCP server. What waits for approval stands first, with what it differs in from
// what was approved: nobody approves words that they were not shown.
import { api } from '../api.mjs';
import { html } from '../html.mjs';
import { useWords } from '../i18n.mjs';
import { address } from '../router.mjs';
import { with_fresh_login } from '../ui/confirm.mjs';
import { toast_error } from '../ui/error.mjs';
import { Table } from '../ui/list.mjs';
import { When } from '../ui/when.mjs';
import '../words/org_mcp.mjs';
import '../words/org_tools.mjs';
import { show_change } from './change.mjs';
import { Differences } from './diff.mjs';
import { scope_query } from './scope.mjs';

const marks = { approved: 'good', new: 'live', changed: 'warn', gone: '' };
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function Hints({ annotations }) {
  const t = useWords();
  return hints
    .filter((hint) => typeof annotations?.[hint] === 'boolean')
    .map(
      (hint) => html`<span class=${`mark ${
        hint === 'destructiveHint' && annotations[hint] ? 'warn' : ''
      }`}>${t(`mcp.${hint}.${annotations[hint]}`)}</span> `,
    );
}

const shown = ['title', 'description', 'input_schema', 'output_schema', 'annotations'];
const only_given = (tool) =>
  Object.fromEntries(shown.filter((name) => tool[name] !== null).map((name) => [name, tool[name]]));

// Both sides of the differences of a changed tool; of a new one, all that the model would read.
function sides_of(tool) {
  if (tool.state !== 'changed') return [null, only_given(tool)];
  const side = (which) =>
    Object.fromEntries(tool.diff.map((each) => [each.member, each[which] ?? undefined]));
  return [side('approved'), side('now')];
}

function Waiting({ tool, may_approve, on_approve }) {
  const t = useWords();
  const [before, after] = sides_of(tool);
  return html`<section class="panel wide to-approve" aria-label=${tool.name}>
    <div class="head"><h3><code>${tool.name}</code></h3>
      <span class=${`mark ${marks[tool.state]}`}>${t(`mcp.state.${tool.state}`)}</span>
      <span class="dim">${t(`mcp.state_text.${tool.state}`)}</span></div>
    <${Differences} before=${before} after=${after}
      names=${[t('mcp.as_approved'), t('mcp.as_now')]} />
    ${
      may_approve &&
      html`<div class="actions"><button type="button" class="main" onClick=${on_approve}
        aria-label=${`${t('mcp.approve')}: ${tool.name}`}>${t('mcp.approve')}</button>
        <code class="dim" title=${tool.hash}>${tool.hash.slice(0, 12)}</code></div>`
    }
  </section>`;
}

export function McpTools({ server, scope, pages, may_approve }) {
  const t = useWords();
  const approve = async (tool) => {
    const path = /** @type {`/v1/mcp-servers/${string}/tools/${string}:approve`} */ (
      `/v1/mcp-servers/${server.id}/tools/${tool.name}:approve`
    );
    try {
      await with_fresh_login(() => api.post(path, { hash: tool.hash }, { query: { scope } }));
      await show_change({ action: 'mcp_servers.approve', target_id: server.id });
    } catch (error) {
      toast_error(error);
    }
    pages.reload();
  };
  const waiting = pages.items.filter((one) => one.state === 'new' || one.state === 'changed');
  const columns = [
    {
      title: t('mcp.tool'),
      is_title: true,
      is_wide: true,
      cell: (one) => html`<code>${one.name}</code>${
        one.name !== `${server.key}__${one.original_name}` &&
        html`<br /><span class="dim">${t('mcp.original')} <bdi>${one.original_name}</bdi></span>`
      }`,
    },
    {
      title: t('org_ui.state'),
      cell: (one) => html`<span class=${`mark ${marks[one.state]}`}
        title=${t(`mcp.state_text.${one.state}`)}>${t(`mcp.state.${one.state}`)}</span>`,
    },
    {
      title: t('tools.description'),
      is_wide: true,
      cell: (one) => html`<bdi>${one.description}</bdi>
        <details><summary>${t('mcp.all_of_it')}</summary>
        <pre tabindex="0">${JSON.stringify(only_given(one), null, 2)}</pre></details>`,
    },
    { title: t('mcp.hints'), cell: (one) => html`<${Hints} annotations=${one.annotations} />` },
    {
      title: t('mcp.approved'),
      cell: (one) =>
        one.approved_at &&
        html`<${When} at=${one.approved_at} />${
          !one.approved_by_user_id && html` <span class="dim">${t('mcp.by_registering')}</span>`
        }`,
    },
    {
      title: t('mcp.used'),
      cell: (one) => html`<${When} at=${one.used_at} />`,
    },
  ];
  const offered = pages.items.filter((one) => one.state === 'approved').length;
  return html`${
    waiting.length > 0 &&
    html`<h2>${t('mcp.to_approve')}</h2>${waiting.map(
      (tool) => html`<${Waiting} tool=${tool} may_approve=${may_approve} key=${tool.name}
        on_approve=${() => approve(tool)} />`,
    )}`
  }
    <div class="head"><h2>${t('mcp.tools')}</h2><span class="space"></span>
      ${
        offered > 0 &&
        html`<a class="button" href=${address('/personas/new', {
          tools: `${server.key}__*`,
          ...scope_query(scope),
        })}>${t('mcp.to_persona')}</a>`
      }</div>
    <${Table} pages=${pages} columns=${columns} label=${t('mcp.tools')}
      key_of=${(one) => one.name} empty=${t('mcp.no_tools')} />`;
}

// The screens of those who run an organization, and where they stand in the navigation. They come
// in a part of their own.
import { lazy } from '../lazy.mjs';
import '../words/org_screens.mjs';

const Organization = lazy(() => import('../screens/members.mjs'), 'Organization');
const Personas = lazy(() => import('./personas.mjs'), 'Personas');
const NewPersona = lazy(() => import('./personas.mjs'), 'NewPersona');
const Persona = lazy(() => import('./personas.mjs'), 'Persona');
const Providers = lazy(() => import('./providers.mjs'), 'Providers');
const McpServers = lazy(() => import('./mcp_servers.mjs'), 'McpServers');
const McpServer = lazy(() => import('./mcp_server.mjs'), 'McpServer');
const McpConnected = lazy(() => import('./mcp_servers.mjs'), 'McpConnected');
const Tools = lazy(() => import('./tools.mjs'), 'Tools');
const ToolProviders = lazy(() => import('./tool_providers.mjs'), 'ToolProviders');
const Webhooks = lazy(() => import('./webhooks.mjs'), 'Webhooks');
const Webhook = lazy(() => import('./webhooks.mjs'), 'Webhook');
const IpRules = lazy(() => import('./ip_rules.mjs'), 'IpRules');
const Limits = lazy(() => import('./limits.mjs'), 'Limits');
const IdentityProviders = lazy(() => import('./identity_providers.mjs'), 'IdentityProviders');
const Budgets = lazy(() => import('./budgets.mjs'), 'Budgets');
const Audit = lazy(() => import('./audit.mjs'), 'Audit');

export const org_screens = [
  ['/organization', Organization, { title: 'org.title' }],
  ['/personas', Personas, { title: 'personas.title' }],
  ['/personas/new', NewPersona, { title: 'personas.title' }],
  ['/personas/:persona_id', Persona, { title: 'personas.title' }],
  ['/providers', Providers, { title: 'providers.title' }],
  ['/tools', Tools, { title: 'tools.title' }],
  ['/mcp-servers', McpServers, { title: 'mcp.title' }],
  ['/mcp-servers/:server_id', McpServer, { title: 'mcp.title' }],
  // The service leads users here after they connected (fcgi/api/catalog/mcp_connections.cpp).
  ['/mcp-connected', McpConnected, { title: 'mcp.title' }],
  ['/tool-providers', ToolProviders, { title: 'tool_providers.title' }],
  ['/webhooks', Webhooks, { title: 'webhooks.title' }],
  ['/webhooks/:endpoint_id', Webhook, { title: 'webhooks.title' }],
  ['/ip-rules', IpRules, { title: 'ip_rules.title' }],
  ['/limits', Limits, { title: 'limits.title' }],
  ['/identity-providers', IdentityProviders, { title: 'identity.title' }],
  ['/budgets', Budgets, { title: 'budgets.title' }],
  ['/audit', Audit, { title: 'audit.title' }],
];

const entry = (path, title, keys, permission = '', has_platform = false) => ({
  path,
  icon: path.slice(1).replace('-', '_'),
  title,
  keys,
  permission,
  has_platform,
  group: 'navigation.org',
});
export const org_navigation = [
  entry('/organization', 'org.members', 'g o'),
  entry('/personas', 'personas.title', 'g p', 'data.personas.manage', true),
  entry('/providers', 'providers.title', 'g m', 'data.llm_providers.manage', true),
  entry('/tools', 'tools.title', 'g l', 'data.personas.manage', true),
  entry('/mcp-servers', 'mcp.title', 'g e', 'data.personas.manage', true),
  entry('/tool-providers', 'tool_providers.title', 'g v', 'data.secrets', true),
  entry('/webhooks', 'webhooks.title', 'g w', 'data.webhooks.manage'),
  entry('/ip-rules', 'ip_rules.title', 'g n', 'org.ip_rules.manage'),
  entry('/identity-providers', 'identity.title', 'g x', 'org.manage', true),
  entry('/limits', 'limits.title', 'g q'),
  entry('/budgets', 'budgets.title', 'g b'),
  entry('/audit', 'audit.title', 'g d', 'org.audit.read', true),
];

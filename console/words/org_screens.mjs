// Names of the screens of those who run an organization.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'navigation.org': 'Organization',
    'org.members': 'Members',
    'personas.title': 'Personas',
    'providers.title': 'Models',
    'tools.title': 'Webhook tools',
    'mcp.title': 'MCP servers',
    'tool_providers.title': 'Tool providers',
    'webhooks.title': 'Webhooks',
    'ip_rules.title': 'IP rules',
    'identity.title': 'Single sign-on',
    'limits.title': 'Limits',
    'budgets.title': 'Budgets',
    'audit.title': 'Audit log',
  },
  {
    'navigation.org': '组织',
    'org.members': '成员',
    'personas.title': '人设',
    'providers.title': '模型',
    'tools.title': 'Webhook 工具',
    'mcp.title': 'MCP 服务器',
    'tool_providers.title': '工具提供商',
    'webhooks.title': 'Webhook',
    'ip_rules.title': 'IP 规则',
    'identity.title': '单点登录',
    'limits.title': '限额',
    'budgets.title': '预算',
    'audit.title': '审计日志',
  },
);

// Words of the providers of built-in tools.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'tool_providers.resolved': 'Provider in use',
    'tool_providers.group': 'Tool',
    'tool_providers.web_search': 'Web search',
    'tool_providers.web_fetch': 'Web page reader',
    'tool_providers.used': 'In use',
    'tool_providers.why': 'Reason',
    'tool_providers.why.org': 'The organization activated it below.',
    'tool_providers.why.platform':
      'The organization has activated none, so the platform’s provider is used.',
    'tool_providers.why.legacy':
      'No provider is activated, so the one in the installation’s settings is used.',
    'tool_providers.why.none':
      'No provider is activated and the settings name none, so the tool fails.',
    'tool_providers.provider': 'Provider',
    'tool_providers.active': 'active',
    'tool_providers.ready': 'set up',
    'tool_providers.not_ready': 'not set up',
    'tool_providers.key': 'API key',
    'tool_providers.activate': 'Activate',
    'tool_providers.first': 'Set it up first',
    'tool_providers.deactivate': 'Deactivate',
    'tool_providers.set_up': 'Set up',
    'tool_providers.forget': 'Delete key',
    'tool_providers.forget_text':
      'This deletes the key {key} of {provider} permanently. The tool fails while the provider ' +
      'stays active without a key.',
    'tool_providers.key_stays':
      'Leave empty to keep {key}. Enter it again if you change the server.',
    'tool_providers.url_needed': 'The address of your server.',
    'tool_providers.url_own': 'Leave empty for the provider’s own address.',
  },
  {
    'tool_providers.resolved': '当前使用的提供商',
    'tool_providers.group': '工具',
    'tool_providers.web_search': '网页搜索',
    'tool_providers.web_fetch': '网页读取',
    'tool_providers.used': '使用中',
    'tool_providers.why': '原因',
    'tool_providers.why.org': '组织已在下方启用。',
    'tool_providers.why.platform': '组织未启用任何提供商，因此使用平台的提供商。',
    'tool_providers.why.legacy': '没有启用任何提供商，因此使用系统设置中的提供商。',
    'tool_providers.why.none': '没有启用任何提供商，系统设置也未指定，因此该工具无法使用。',
    'tool_providers.provider': '提供商',
    'tool_providers.active': '已启用',
    'tool_providers.ready': '已配置',
    'tool_providers.not_ready': '未配置',
    'tool_providers.key': 'API 密钥',
    'tool_providers.activate': '启用',
    'tool_providers.first': '请先配置',
    'tool_providers.deactivate': '停用',
    'tool_providers.set_up': '配置',
    'tool_providers.forget': '删除密钥',
    'tool_providers.forget_text': '{provider} 的密钥 {key} 将被永久删除。如果提供商仍处于启用状态，工具会因没有密钥而失败。',
    'tool_providers.key_stays': '留空则保留 {key}。更换服务器时须重新填写。',
    'tool_providers.url_needed': '您的服务器地址。',
    'tool_providers.url_own': '留空则使用提供商的默认地址。',
  },
);

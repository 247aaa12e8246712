// Words of the providers of built-in tools.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'tool_providers.resolved': 'Which one is used, and why',
    'tool_providers.group': 'Tool',
    'tool_providers.web_search': 'Searching the web',
    'tool_providers.web_fetch': 'Reading pages',
    'tool_providers.used': 'Used',
    'tool_providers.why': 'Why',
    'tool_providers.why.org': 'The organization made it active below.',
    'tool_providers.why.platform':
      'The organization has none active, so the platform’s active one serves.',
    'tool_providers.why.legacy':
      'Nobody has one active, so the one in the installation’s settings serves.',
    'tool_providers.why.none': 'Nobody has one active, and the settings name none: the tool fails.',
    'tool_providers.provider': 'Provider',
    'tool_providers.active': 'active',
    'tool_providers.ready': 'set up',
    'tool_providers.not_ready': 'not set up',
    'tool_providers.key': 'API key',
    'tool_providers.activate': 'Use this one',
    'tool_providers.deactivate': 'Do not use',
    'tool_providers.set_up': 'Set up',
    'tool_providers.forget': 'Delete the key',
    'tool_providers.forget_text':
      'The key {key} of {provider} is deleted for good. While it stays active, its tool fails.',
    'tool_providers.key_stays':
      '{key} stays where nothing is given. Another server needs it again.',
    'tool_providers.url_needed': 'Where your server answers.',
    'tool_providers.url_own': 'Empty: the maker’s own address.',
  },
  {
    'tool_providers.resolved': '当前使用哪一个及原因',
    'tool_providers.group': '工具',
    'tool_providers.web_search': '网页搜索',
    'tool_providers.web_fetch': '网页读取',
    'tool_providers.used': '使用中',
    'tool_providers.why': '原因',
    'tool_providers.why.org': '组织在下方启用了它。',
    'tool_providers.why.platform': '组织未启用任何一个，因此使用平台启用的。',
    'tool_providers.why.legacy': '均未启用，因此使用系统配置中的。',
    'tool_providers.why.none': '均未启用，系统配置也未指定：该工具会失败。',
    'tool_providers.provider': '提供方',
    'tool_providers.active': '启用',
    'tool_providers.ready': '已配置',
    'tool_providers.not_ready': '未配置',
    'tool_providers.key': 'API 密钥',
    'tool_providers.activate': '使用',
    'tool_providers.deactivate': '停用',
    'tool_providers.set_up': '配置',
    'tool_providers.forget': '删除密钥',
    'tool_providers.forget_text': '{provider} 的密钥 {key} 将被永久删除。若仍启用，其工具会失败。',
    'tool_providers.key_stays': '留空则保留 {key}。更换服务器时须重新填写。',
    'tool_providers.url_needed': '您的服务器地址。',
    'tool_providers.url_own': '留空：使用厂商地址。',
  },
);

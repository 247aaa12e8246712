// Words of the rules about addresses.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'ip_rules.explain':
      'Addresses on the blocklist are refused. If there is an allowlist, all addresses outside ' +
      'it are refused too.',
    'ip_rules.empty': 'No rules: the organization can be used from any address.',
    'ip_rules.new': 'New rule',
    'ip_rules.type': 'List',
    'ip_rules.allowlist': 'allowlist',
    'ip_rules.blocklist': 'blocklist',
    'ip_rules.allowlist_hint':
      'After the first allowlist rule, all addresses outside the list are refused.',
    'ip_rules.blocklist_hint': 'These addresses are refused even if they are on the allowlist.',
    'ip_rules.cidr': 'Address or network',
    'ip_rules.cidr_hint': 'For example 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48.',
    'ip_rules.note': 'Note',
    'ip_rules.made': 'Created',
    'ip_rules.remove_allowlist':
      'This removes {cidr} from the allowlist. Its addresses are refused then, unless another ' +
      'allowlist rule contains them or this was the last one.',
    'ip_rules.remove_blocklist':
      'This removes {cidr} from the blocklist. Requests from there are answered again.',
    'ip_rules.lock_out': 'This would lock you out',
    'ip_rules.lock_out_text':
      'From your current address you could no longer use the organization, including this page.',
    'ip_rules.insist': 'Continue anyway',
    'ip_rules.check': 'Check an address',
    'ip_rules.address': 'IP address',
    'ip_rules.do_check': 'Check',
    'ip_rules.passes': 'is allowed',
    'ip_rules.refused': 'is refused',
    'ip_rules.by_rule': 'by the rule {rule}',
    'ip_rules.by_none': 'no rule contains it',
    'ip_rules.by_absence': 'it is not on the allowlist',
  },
  {
    'ip_rules.explain': '黑名单中的地址会被拒绝。如果设置了白名单，不在白名单中的地址也会被拒绝。',
    'ip_rules.empty': '没有规则：可从任何地址使用该组织。',
    'ip_rules.new': '新建规则',
    'ip_rules.type': '名单',
    'ip_rules.allowlist': '白名单',
    'ip_rules.blocklist': '黑名单',
    'ip_rules.allowlist_hint': '添加第一条白名单规则后，名单以外的地址都会被拒绝。',
    'ip_rules.blocklist_hint': '这些地址会被拒绝，即使也在白名单中。',
    'ip_rules.cidr': '地址或网段',
    'ip_rules.cidr_hint': '例如 203.0.113.7、203.0.113.0/24 或 2001:db8::/48。',
    'ip_rules.note': '备注',
    'ip_rules.made': '创建时间',
    'ip_rules.remove_allowlist': '{cidr} 将从白名单中移除。除非另有白名单规则包含这些地址，或这是最后一条规则，否则它们会被拒绝。',
    'ip_rules.remove_blocklist': '{cidr} 将从黑名单中移除，来自这些地址的请求将恢复正常。',
    'ip_rules.lock_out': '您将无法访问',
    'ip_rules.lock_out_text': '您将无法再从当前地址使用该组织，包括此页面。',
    'ip_rules.insist': '仍然继续',
    'ip_rules.check': '检查地址',
    'ip_rules.address': 'IP 地址',
    'ip_rules.do_check': '检查',
    'ip_rules.passes': '允许访问',
    'ip_rules.refused': '被拒绝',
    'ip_rules.by_rule': '依据规则 {rule}',
    'ip_rules.by_none': '没有规则包含它',
    'ip_rules.by_absence': '不在白名单中',
  },
);

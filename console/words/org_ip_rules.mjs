// Words of the rules about addresses.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'ip_rules.explain':
      'An address on the blocklist is refused. When there is an allowlist, any other address ' +
      'than its own is refused too.',
    'ip_rules.empty': 'No rule: the organization may be used from anywhere.',
    'ip_rules.new': 'New rule',
    'ip_rules.type': 'List',
    'ip_rules.allowlist': 'allowlist',
    'ip_rules.blocklist': 'blocklist',
    'ip_rules.allowlist_hint': 'With the first such rule, every address outside is refused.',
    'ip_rules.blocklist_hint': 'Addresses in it are refused, on the allowlist or not.',
    'ip_rules.cidr': 'Address or network',
    'ip_rules.cidr_hint': 'Such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48.',
    'ip_rules.note': 'Note',
    'ip_rules.made': 'Since',
    'ip_rules.remove_allowlist':
      '{cidr} leaves the allowlist. Addresses there are refused unless another rule of it ' +
      'has them, or it was the last one.',
    'ip_rules.remove_blocklist':
      '{cidr} leaves the blocklist: calls from there are answered again.',
    'ip_rules.lock_out': 'This would lock you out',
    'ip_rules.lock_out_text':
      'From where you are, the organization could not be used any more, this page included.',
    'ip_rules.insist': 'Do it anyway',
    'ip_rules.check': 'Would this address pass?',
    'ip_rules.address': 'Address',
    'ip_rules.do_check': 'Check',
    'ip_rules.passes': 'passes',
    'ip_rules.refused': 'is refused',
    'ip_rules.by_rule': 'by the rule {rule}',
    'ip_rules.by_none': 'no rule holds it',
    'ip_rules.by_absence': 'there is an allowlist, and it is not on it',
  },
  {
    'ip_rules.explain': '黑名单中的地址会被拒绝。存在白名单时，其外的地址也会被拒绝。',
    'ip_rules.empty': '没有规则：可从任何地址使用该组织。',
    'ip_rules.new': '新建规则',
    'ip_rules.type': '名单',
    'ip_rules.allowlist': '白名单',
    'ip_rules.blocklist': '黑名单',
    'ip_rules.allowlist_hint': '添加第一条后，其外的地址全部被拒绝。',
    'ip_rules.blocklist_hint': '其中的地址被拒绝，无论是否在白名单中。',
    'ip_rules.cidr': '地址或网段',
    'ip_rules.cidr_hint': '例如 203.0.113.7、203.0.113.0/24 或 2001:db8::/48。',
    'ip_rules.note': '备注',
    'ip_rules.made': '创建时间',
    'ip_rules.remove_allowlist':
      '{cidr} 将移出白名单。除非另有白名单规则包含或这是最后一条，否则其中的地址会被拒绝。',
    'ip_rules.remove_blocklist': '{cidr} 将移出黑名单：来自其中的调用恢复响应。',
    'ip_rules.lock_out': '这会将您锁在外面',
    'ip_rules.lock_out_text': '您将无法再从当前地址使用该组织，包括此页面。',
    'ip_rules.insist': '仍然执行',
    'ip_rules.check': '此地址能否通过？',
    'ip_rules.address': '地址',
    'ip_rules.do_check': '检查',
    'ip_rules.passes': '通过',
    'ip_rules.refused': '被拒绝',
    'ip_rules.by_rule': '依据规则 {rule}',
    'ip_rules.by_none': '没有规则包含它',
    'ip_rules.by_absence': '存在白名单，而它不在其中',
  },
);

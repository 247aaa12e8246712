// Words of identity providers, granted mail domains, and what the platform sets.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'identity.about.org':
      'People sign in with your company’s OpenID Connect provider, for example Entra ID, Google, ' +
      'Okta or Keycloak. Its sessions act in this organization only.',
    'identity.about.platform':
      'Everybody can sign in with these providers. Their buttons are on the sign-in page.',
    'identity.new': 'New provider',
    'identity.edit': 'Edit identity provider',
    'identity.empty':
      'No identity providers yet. Add one so that people sign in without a password.',
    'identity.key': 'Key',
    'identity.key_hint':
      'a-z, 0-9 and -. It is part of the redirect URI and can’t be changed later.',
    'identity.callback': 'Redirect URI',
    'identity.logout': 'Back-channel logout URI',
    'identity.issuer': 'Issuer',
    'identity.issuer_hint':
      'The https URL exactly as the provider’s metadata name it. Hostler reads them at once.',
    'identity.client_id': 'Client ID',
    'identity.secret': 'Client secret',
    'identity.secret_hint': 'Stored encrypted. Leave empty for a public client.',
    'identity.secret_stays': 'Leave empty to keep it. A new issuer needs it again.',
    'identity.secret_set': 'stored',
    'identity.public': 'none (public client)',
    'identity.domains': 'Mail domains',
    'identity.domains_hint.org':
      'One per line. The provider speaks for addresses in these domains. The operator of this ' +
      'server grants them first.',
    'identity.domains_hint.platform':
      'One per line. Leave empty if the provider speaks for every verified address.',
    'identity.any_domain': 'every verified address',
    'identity.no_domain': 'none: nobody is found by an address',
    'identity.scopes': 'Scopes',
    'identity.groups_claim': 'Groups claim',
    'identity.groups_hint': 'The claim of ID tokens that names a person’s groups, often groups.',
    'identity.role_map': 'Roles by group',
    'identity.role_hint':
      'One per line, for example engineers: admin. Roles are admin and member. The highest ' +
      'counts at each sign-in.',
    'identity.bad_role': '“{line}” is not like engineers: admin',
    'identity.create_users': 'Create accounts',
    'identity.create_users_hint': 'People without an account get one when they sign in.',
    'identity.trust_email': 'Addresses count as verified',
    'identity.trust_email_hint':
      'For providers that do not say whether an address is verified, such as Entra ID.',
    'identity.has_second_factor': 'Asks for a second factor itself',
    'identity.has_second_factor_hint':
      'Sign-ins with it need no second factor here. Platform administrators are always asked.',
    'identity.is_required': 'Require this provider',
    'identity.is_required_hint': 'Only sessions that it began act in the organization.',
    'identity.required_text':
      'Members who signed in another way are shut out at once, also you, until they sign in with ' +
      'this provider. API keys work only while their owner is linked with it. Sign in with it ' +
      'yourself first. If it breaks, only an owner with two-step verification, or the operator of ' +
      'this server, can undo this.',
    'identity.is_active': 'Active',
    'identity.is_active_hint': 'An inactive provider signs nobody in.',
    'identity.ends_text':
      'All sessions and links of this provider end. People are linked again at their next ' +
      'sign-in.',
    'identity.do_it': 'Save',
    'identity.remove_text':
      'All sessions and links of this provider end. People without a password sign in with an ' +
      'emailed code.',
    'identity.mark.required': 'required',
    'identity.mark.create_users': 'creates accounts',
    'identity.mark.trust_email': 'addresses count as verified',
    'identity.mark.has_second_factor': 'asks for a second factor',
    'domains.title.org': 'Granted mail domains of this organization',
    'domains.title.platform': 'Granted mail domains',
    'domains.none': 'No mail domains granted yet.',
    'domains.domain': 'Mail domain',
    'domains.hint': 'For example example.com. Subdomains are not included.',
    'domains.since': 'Granted',
    'domains.grant': 'Grant domain',
    'domains.grant_text':
      'Check first that the domain is the organization’s. Its identity providers can then sign ' +
      'in every address in it. A domain belongs to one organization.',
    'domains.end': 'End grant',
    'domains.end_text': 'Links and sessions that were made by {domain} end.',
    'marks.title': 'What only you set for an organization’s provider',
    'marks.text': 'Its owners cannot set these two.',
    'marks.id': 'ID of the provider',
    'marks.id_hint': 'Owners find it on their page of identity providers.',
    'marks.leave': 'Leave as it is',
    'marks.no': 'No',
    'marks.saved': '“{name}” saved.',
    'done.identity_providers.create': 'Identity provider added',
    'done.identity_providers.update': 'Identity provider saved',
    'done.identity_providers.delete': 'Identity provider deleted',
    'done.org_domains.grant': 'Domain granted',
    'done.org_domains.revoke': 'Grant ended',
  },
  {
    'identity.about.org':
      '成员使用公司的 OpenID Connect 身份提供商登录，例如 Entra ID、Google、Okta 或 Keycloak。其会话仅在此组织中有效。',
    'identity.about.platform': '所有人均可使用这些身份提供商登录，登录页面会显示对应的按钮。',
    'identity.new': '新建提供商',
    'identity.edit': '编辑身份提供商',
    'identity.empty': '暂无身份提供商。添加后即可无需密码登录。',
    'identity.key': '标识',
    'identity.key_hint': 'a-z、0-9 和 -。它是重定向 URI 的一部分，之后无法更改。',
    'identity.callback': '重定向 URI',
    'identity.logout': '后端通道登出 URI',
    'identity.issuer': '颁发者（Issuer）',
    'identity.issuer_hint': '与提供商元数据完全一致的 https 地址，保存时立即读取。',
    'identity.client_id': '客户端 ID',
    'identity.secret': '客户端密钥',
    'identity.secret_hint': '加密保存。公共客户端请留空。',
    'identity.secret_stays': '留空则保留。更换颁发者时需重新填写。',
    'identity.secret_set': '已保存',
    'identity.public': '无（公共客户端）',
    'identity.domains': '邮箱域名',
    'identity.domains_hint.org': '每行一个。提供商负责这些域名下的邮箱，需先由此服务器的运营者授予。',
    'identity.domains_hint.platform': '每行一个。留空则负责所有已验证的邮箱。',
    'identity.any_domain': '所有已验证的邮箱',
    'identity.no_domain': '无：无法通过邮箱找到用户',
    'identity.scopes': '范围（scope）',
    'identity.groups_claim': '用户组声明',
    'identity.groups_hint': 'ID 令牌中列出用户组的声明，通常为 groups。',
    'identity.role_map': '用户组对应的角色',
    'identity.role_hint': '每行一个，例如 engineers: admin。角色为 admin 或 member，每次登录时以最高的为准。',
    'identity.bad_role': '“{line}”的格式不是 engineers: admin',
    'identity.create_users': '创建账号',
    'identity.create_users_hint': '没有账号的人登录时会自动创建。',
    'identity.trust_email': '邮箱视为已验证',
    'identity.trust_email_hint': '用于不说明邮箱是否已验证的提供商，例如 Entra ID。',
    'identity.has_second_factor': '提供商自行要求第二重验证',
    'identity.has_second_factor_hint': '以其登录时此处不再要求第二重验证，平台管理员除外。',
    'identity.is_required': '必须使用此提供商',
    'identity.is_required_hint': '只有以其开始的会话才能在此组织中操作。',
    'identity.required_text':
      '以其他方式登录的成员（包括您）会立即无法访问，直到使用此提供商登录。API 密钥仅在其所有者已关联时有效。' +
      '请先自己以其登录一次。如果提供商出现故障，只有开启两步验证的所有者或此服务器的运营者可以撤销。',
    'identity.is_active': '启用',
    'identity.is_active_hint': '停用的提供商无法用于登录。',
    'identity.ends_text': '此提供商的所有会话和关联都会结束，用户下次登录时重新关联。',
    'identity.do_it': '保存',
    'identity.remove_text': '此提供商的所有会话和关联都会结束。没有密码的用户可使用邮件验证码登录。',
    'identity.mark.required': '必须使用',
    'identity.mark.create_users': '创建账号',
    'identity.mark.trust_email': '邮箱视为已验证',
    'identity.mark.has_second_factor': '自行要求第二重验证',
    'domains.title.org': '授予此组织的邮箱域名',
    'domains.title.platform': '已授予的邮箱域名',
    'domains.none': '尚未授予邮箱域名。',
    'domains.domain': '邮箱域名',
    'domains.hint': '例如 example.com，不含子域名。',
    'domains.since': '授予时间',
    'domains.grant': '授予域名',
    'domains.grant_text':
      '请先确认域名属于该组织。之后其身份提供商可以登录该域名下的任何邮箱。一个域名只属于一个组织。',
    'domains.end': '取消授予',
    'domains.end_text': '通过 {domain} 建立的关联和会话都会结束。',
    'marks.title': '仅由您为组织的提供商设置',
    'marks.text': '所有者无法设置这两项。',
    'marks.id': '提供商 ID',
    'marks.id_hint': '所有者可在其身份提供商页面上找到。',
    'marks.leave': '保持不变',
    'marks.no': '否',
    'marks.saved': '“{name}”已保存。',
    'done.identity_providers.create': '身份提供商已添加',
    'done.identity_providers.update': '身份提供商已保存',
    'done.identity_providers.delete': '身份提供商已删除',
    'done.org_domains.grant': '域名已授予',
    'done.org_domains.revoke': '已取消授予',
  },
);

// Words of an account's links with identity providers.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'identities.title': 'Linked accounts',
    'identities.about':
      'With these accounts you sign in here without your password. A link is made when you ' +
      'sign in with a provider.',
    'identities.none': 'No linked accounts.',
    'identities.since': 'Linked',
    'identities.used': 'last used',
    'identities.remove': 'Remove link',
    'identities.remove_text':
      'You no longer sign in with {name}. Sessions that began with it end. An email confirms it.',
    'identities.removed': 'The link with {name} is removed.',
  },
  {
    'identities.title': '关联账号',
    'identities.about': '使用这些账号无需密码即可登录。以身份提供商登录时会建立关联。',
    'identities.none': '没有关联账号。',
    'identities.since': '关联于',
    'identities.used': '最近使用',
    'identities.remove': '取消关联',
    'identities.remove_text': '您将无法再使用 {name} 登录，以其开始的会话会结束。系统会发送确认邮件。',
    'identities.removed': '已取消与 {name} 的关联。',
  },
);

// Words of the switch that requires two-step verification of an organization's members.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'require.title': 'Two-step verification',
    'require.text':
      'Everybody who acts in this organization needs an authenticator app or a passkey. Members ' +
      'without one can do nothing here until they add one, which takes a code that we email ' +
      'them. API keys keep working.',
    'require.on': 'required',
    'require.off': 'not required',
    'require.turn_on': 'Require it',
    'require.turn_off': 'No longer require it',
    'require.you_too':
      'You have not turned it on yourself. The console then asks you to, before you can go on.',
    'require.off_text': 'Members can then act here without a second step.',
  },
  {
    'require.title': '两步验证',
    'require.text':
      '在此组织中操作的所有人都必须拥有身份验证器应用或通行密钥。没有的成员须先添加（需要邮件验证码），在此之前无法在此执行任何操作。API 密钥不受影响。',
    'require.on': '必需',
    'require.off': '非必需',
    'require.turn_on': '设为必需',
    'require.turn_off': '不再要求',
    'require.you_too': '您自己尚未开启。开启此要求后，控制台会先请您添加，然后才能继续。',
    'require.off_text': '成员将可以不经第二步验证在此操作。',
  },
);
